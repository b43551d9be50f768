//! Calendar of a site's nodes: the busy nodes over time, by number.
//!
//! One structure serves planners of queues (backfilling), reservations and slots. It is a list of records `(time, busy
//! nodes)`, each lasting until the next one and the last one for ever, in canonical form: neighbours differ, the last
//! is empty. A tree over the records summarises stretches of them (`tree/`), so that bookings, releases and queries
//! cost O(log records) steps. A step costs a few words for up to 1024 nodes, and the runs of a set beyond that. The
//! number of busy nodes is maintained separately (`grid/counts.rs`): counts are cheapest to query, and rule out most
//! starts.
//!
//! The calendar is independent of jobs and policies: the caller releases its bookings.

mod rectangles;
mod set;
#[cfg(test)]
mod tests;
mod tree;

use std::fmt;
use std::ops::Range;

pub use self::rectangles::{Bounds, Rectangle, RectangleQuery};
pub use self::set::{Bits, Set};
use self::tree::Tree;
use super::{Counts, NodeSet};
use crate::time::{Span, Time};

/// Busy nodes of a site over time.
#[derive(Clone)]
pub struct Calendar {
    nodes: u32,
    counts: Counts,
    kept: TreeByWidth,
}

/// A booking or release that contradicts the calendar, which is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    #[error("some of these nodes are busy in that time")]
    DoubleBooking,
    #[error("some of these nodes are free in that time")]
    NotBooked,
    #[error("a booking needs at least one node, all nodes on the site, and an end after its start")]
    Empty,
}

/// The tree for each width of sets.
#[derive(Clone)]
enum TreeByWidth {
    Few(Tree<Bits<4>>),
    Some(Tree<Bits<16>>),
    Many(Tree<NodeSet>),
}

macro_rules! with {
    ($kept:expr, $tree:ident => $body:expr) => {
        match $kept {
            TreeByWidth::Few($tree) => $body,
            TreeByWidth::Some($tree) => $body,
            TreeByWidth::Many($tree) => $body,
        }
    };
}

impl Calendar {
    /// A site with nodes `0..nodes`, all free.
    pub fn new(nodes: u32) -> Calendar {
        let kept = match nodes {
            0..=256 => TreeByWidth::Few(Tree::new()),
            257..=1024 => TreeByWidth::Some(Tree::new()),
            _ => TreeByWidth::Many(Tree::new()),
        };
        Calendar { nodes, counts: Counts::default(), kept }
    }

    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Books nodes for `[start, end)`.
    pub fn insert(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.check(start, end, nodes)?;
        with!(&mut self.kept, tree => {
            let start = start.max(tree.first_start());
            let set = Set::from_nodes(nodes);
            if start >= end {
                return Ok(());
            }
            if tree.meets(start, end, &set) {
                return Err(Clash::DoubleBooking);
            }
            tree.add(start, end, &set);
            self.counts.insert(start, end, set.len());
        });
        Ok(())
    }

    /// Releases nodes that are busy throughout `[start, end)`: a whole booking, or any part of one.
    pub fn remove(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.check(start, end, nodes)?;
        with!(&mut self.kept, tree => {
            let start = start.max(tree.first_start());
            let set = Set::from_nodes(nodes);
            if start >= end {
                return Ok(());
            }
            if !tree.covers(start, end, &set) {
                return Err(Clash::NotBooked);
            }
            tree.take(start, end, &set);
            self.counts.remove(start, end, set.len());
        });
        Ok(())
    }

    /// Drops everything before a time; a record begins there if anything is busy.
    pub fn advance(&mut self, now: Time) {
        self.counts.advance(now);
        with!(&mut self.kept, tree => tree.forget(now));
    }

    /// Nodes that are busy at any time of `[start, end)`.
    pub fn busy_over(&self, start: Time, end: Time) -> NodeSet {
        with!(&self.kept, tree => gather_busy(tree, start, end).to_nodes())
    }

    /// Nodes that are free throughout `[start, end)`.
    pub fn free_over(&self, start: Time, end: Time) -> NodeSet {
        self.busy_over(start, end).complement(self.nodes)
    }

    /// Earliest start from `from` to `latest` inclusive at which `width` nodes are free for `span`, and the lowest of
    /// them.
    pub fn earliest(&self, from: Time, span: Span, width: u32, latest: Time) -> Option<(Time, NodeSet)> {
        let limit = self.nodes.checked_sub(width)?;
        let starts = from..latest + Span::from_micros(1);
        let (start, busy) = with!(&self.kept, tree => {
            let (start, busy) = find_earliest(tree, &self.counts, starts, span, limit, None)?;
            (start, busy.to_nodes())
        });
        Some((start, self.lowest_beside(&busy, width)))
    }

    /// Position of a booking of `nodes` at `start` if it were made anew: the earliest of `starts` that is not after its
    /// own, on the lowest nodes. `None` if this is its position already, or if there is no such start.
    pub fn improved(&self, starts: Range<Time>, start: Time, span: Span, nodes: &NodeSet) -> Option<(Time, NodeSet)> {
        let limit = self.nodes.checked_sub(nodes.len())?;
        let (at, busy) = with!(&self.kept, tree => {
            let held = Held { start, nodes: &Set::from_nodes(nodes) };
            let ahead = find_earliest(tree, &self.counts, starts.clone(), span, limit, Some(&held));
            let (at, busy) = ahead.or_else(|| if start < starts.end { find_lower_nodes(tree, span, &held) } else { None })?;
            (at, busy.to_nodes())
        });
        Some((at, self.lowest_beside(&busy, nodes.len())))
    }

    /// The lowest `width` of `nodes`, which has enough of them, that are free for `span` from `start` on; or else the
    /// end of the last obstacle, before which no start is possible.
    pub fn lowest_of(&self, nodes: &NodeSet, start: Time, span: Span, width: u32) -> Result<NodeSet, Time> {
        let others = nodes.complement(self.nodes);
        let busy = with!(&self.kept, tree => {
            let mut busy = Set::from_nodes(&others);
            match tree.last_shortage(start, start + span, self.nodes - width, &mut busy) {
                None => busy.to_nodes(),
                Some(shortage_end) => return Err(shortage_end),
            }
        });
        Ok(self.lowest_beside(&busy, width))
    }

    /// First time from `from` on at which `width` nodes are free, however briefly.
    pub fn next_room(&self, from: Time, width: u32) -> Option<Time> {
        let limit = self.nodes.checked_sub(width)?;
        Some(self.counts.earliest(from, Span::from_micros(1), limit))
    }

    /// Largest number of free nodes between two different times.
    pub fn most_free(&self, start: Time, end: Time) -> u32 {
        self.nodes - self.counts.fewest(start, end)
    }

    /// First change after `after`.
    pub fn next_change(&self, after: Time) -> Option<Time> {
        with!(&self.kept, tree => tree.next_start(after))
    }

    /// Times of changes from `from` to `to` inclusive, ascending.
    pub fn changes(&self, from: Time, to: Time) -> Vec<Time> {
        let mut changes = Vec::new();
        with!(&self.kept, tree => {
            tree.starts(from, to, &mut |start| changes.push(start));
            // Nothing is busy before the first record, which may be empty too.
            if changes.first() == Some(&tree.first_start()) && self.is_free_at(tree.first_start()) {
                changes.remove(0);
            }
        });
        changes
    }

    /// Largest interval around `[start, end)` in which `nodes`, which are free throughout it, are free: from `floor` at
    /// the earliest, and possibly without end.
    pub fn stretch(&self, start: Time, end: Time, nodes: &NodeSet, floor: Time) -> (Time, Time) {
        with!(&self.kept, tree => {
            let set = Set::from_nodes(nodes);
            let begin = if floor < start { tree.last_meeting(floor, start, &set).unwrap_or(floor) } else { start };
            (begin.max(floor).min(start), tree.first_meeting(end, Time::NEVER, &set).unwrap_or(Time::NEVER))
        })
    }

    /// Records: start and busy nodes.
    pub fn records(&self) -> Vec<(Time, NodeSet)> {
        let mut records = Vec::new();
        with!(&self.kept, tree => tree.records(&mut |start, busy| records.push((start, busy.to_nodes()))));
        if records[0].1.is_empty() {
            records.remove(0);
        }
        records
    }

    fn is_free_at(&self, at: Time) -> bool {
        self.busy_over(at, at + Span::from_micros(1)).is_empty()
    }

    fn lowest_beside(&self, busy: &NodeSet, width: u32) -> NodeSet {
        busy.complement(self.nodes).lowest(width).expect("the free nodes have been counted")
    }

    /// Checks that the tree is consistent and agrees with the counts.
    #[cfg(test)]
    fn check_tree(&self) -> u32 {
        for (start, busy) in self.records() {
            let next = self.next_change(start).unwrap_or(Time::NEVER);
            assert_eq!((self.counts.fewest(start, next), self.counts.most(start, next)), (busy.len(), busy.len()));
        }
        with!(&self.kept, tree => tree.check())
    }

    fn check(&self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        let last = nodes.runs().last().map(|run| run.1);
        let fits = last.is_some_and(|last| last < self.nodes) && start < end && end < Time::NEVER;
        if fits { Ok(()) } else { Err(Clash::Empty) }
    }
}

fn gather_busy<S: Set>(tree: &Tree<S>, start: Time, end: Time) -> S {
    let mut busy = S::default();
    if start < end {
        tree.gather(start, end, &mut busy);
    }
    busy
}

/// A booking that is ignored in a search for a better position for it.
struct Held<'s, S> {
    start: Time,
    nodes: &'s S,
}

/// Earliest of `starts`, before a booking `held` if there is one, at which at most `limit` nodes are busy in the whole
/// span, and these nodes.
///
/// An obstacle of one start blocks all later starts up to its end, so each failure jumps to the end of the last
/// obstacle in the window.
fn find_earliest<S: Set>(
    tree: &Tree<S>,
    counts: &Counts,
    mut starts: Range<Time>,
    span: Span,
    limit: u32,
    held: Option<&Held<'_, S>>,
) -> Option<(Time, S)> {
    // From here on the booking itself accounts for some of the busy nodes.
    let ahead = held.map_or(Time::NEVER, |held| held.start);
    loop {
        let start = counts.earliest_ahead(starts.clone(), span, limit, ahead)?;
        let end = start + span;
        let apart = (start + span).min(ahead);
        let mut busy = S::default();
        if let Some(held) = held {
            busy = gather_busy(tree, ahead, end);
            busy.remove_all(held.nodes);
        }
        match tree.last_shortage(start, apart, limit, &mut busy) {
            None => return Some((start, busy)),
            Some(shortage_end) => starts.start = shortage_end,
        }
    }
}

/// Nodes that are busy beside a booking while it lasts, if there are lower nodes for it.
fn find_lower_nodes<S: Set>(tree: &Tree<S>, span: Span, held: &Held<'_, S>) -> Option<(Time, S)> {
    let mut busy = gather_busy(tree, held.start, held.start + span);
    let has_gaps = !busy.holds_below(held.nodes);
    busy.remove_all(held.nodes);
    has_gaps.then_some((held.start, busy))
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.records().iter().map(|(time, busy)| (time.micros(), busy.to_string()))).finish()
    }
}
