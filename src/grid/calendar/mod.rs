//! The calendar of a site's nodes: which of them are busy when, by identity.
//!
//! One structure serves planners of queues (backfilling), reservations and slots. It is a list of records
//! `(time, busy nodes)`, each lasting until the next one and the last one for ever, in canonical form: neighbours
//! differ, the last is empty. A tree over the records keeps what is busy in whole stretches of them (`tree/`), so that
//! booking, freeing and asking cost O(log records) steps. A step costs a few words for up to 1024 nodes, and the runs
//! of a set beyond that. How many are busy is counted beside it (`grid/counts.rs`): counts cost least to ask for, and
//! rule most starts out.
//!
//! The calendar knows nothing of jobs and policies: whoever books, frees what was booked.

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

/// Which nodes of a site are busy when.
#[derive(Clone)]
pub struct Calendar {
    nodes: u32,
    counts: Counts,
    kept: TreeByWidth,
}

/// A booking or release that does not fit what is in the calendar; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    #[error("some of these nodes are busy in that time")]
    DoubleBooking,
    #[error("some of these nodes are free in that time")]
    NotBooked,
    #[error("a booking needs at least one node, all nodes on the site, and an end after its start")]
    Empty,
}

/// The same tree over the kinds of sets.
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
    /// A site's nodes `0..nodes`, all free.
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
            let (start, set) = (start.max(tree.first_start()), Set::of(nodes));
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

    /// Frees nodes that are busy throughout `[start, end)`: a whole booking, or any part of one.
    pub fn remove(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash> {
        self.check(start, end, nodes)?;
        with!(&mut self.kept, tree => {
            let (start, set) = (start.max(tree.first_start()), Set::of(nodes));
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

    /// Forgets everything before a time, at which a record begins from then on if anything is busy.
    pub fn advance(&mut self, now: Time) {
        self.counts.advance(now);
        with!(&mut self.kept, tree => tree.forget(now));
    }

    /// The nodes that are busy at some time of `[start, end)`.
    pub fn busy_over(&self, start: Time, end: Time) -> NodeSet {
        with!(&self.kept, tree => gathered(tree, start, end).nodes())
    }

    /// The nodes that are free throughout `[start, end)`.
    pub fn free_over(&self, start: Time, end: Time) -> NodeSet {
        self.busy_over(start, end).complement(self.nodes)
    }

    /// The earliest start from `from` up to and with `latest` at which `width` nodes are free for `span`, and the
    /// lowest of them.
    pub fn earliest(&self, from: Time, span: Span, width: u32, latest: Time) -> Option<(Time, NodeSet)> {
        let limit = self.nodes.checked_sub(width)?;
        let starts = from..latest + Span::from_micros(1);
        let (start, busy) = with!(&self.kept, tree => {
            let (start, busy) = earliest(tree, &self.counts, starts, span, limit, None)?;
            (start, busy.nodes())
        });
        Some((start, self.lowest_beside(&busy, width)))
    }

    /// Where a booking of `nodes` from `start` on would be if it were made anew: at the earliest of `starts` that is
    /// not behind its own, on the lowest nodes. `None` if that is where it is, or if there is no such start.
    pub fn improved(&self, starts: Range<Time>, start: Time, span: Span, nodes: &NodeSet) -> Option<(Time, NodeSet)> {
        let limit = self.nodes.checked_sub(nodes.len())?;
        let (at, busy) = with!(&self.kept, tree => {
            let held = Held { start, nodes: &Set::of(nodes) };
            let ahead = earliest(tree, &self.counts, starts.clone(), span, limit, Some(&held));
            let (at, busy) = ahead.or_else(|| if start < starts.end { lower(tree, span, &held) } else { None })?;
            (at, busy.nodes())
        });
        Some((at, self.lowest_beside(&busy, nodes.len())))
    }

    /// The lowest of some nodes, of which there are enough, that are free for `span` from `start` on; or else when the
    /// last obstacle ends, before which none of them could begin.
    pub fn lowest_of(&self, nodes: &NodeSet, start: Time, span: Span, width: u32) -> Result<NodeSet, Time> {
        let others = nodes.complement(self.nodes);
        let busy = with!(&self.kept, tree => {
            let mut busy = Set::of(&others);
            match tree.last_shortage(start, start + span, self.nodes - width, &mut busy) {
                None => busy.nodes(),
                Some(shortage_end) => return Err(shortage_end),
            }
        });
        Ok(self.lowest_beside(&busy, width))
    }

    /// The first time from `from` on at which `width` nodes are free, for however short a time.
    pub fn next_room(&self, from: Time, width: u32) -> Option<Time> {
        let limit = self.nodes.checked_sub(width)?;
        Some(self.counts.earliest(from, Span::from_micros(1), limit))
    }

    /// How many nodes are free when most are, between two times that differ.
    pub fn most_free(&self, start: Time, end: Time) -> u32 {
        self.nodes - self.counts.fewest(start, end)
    }

    /// The first time after `after` at which what is busy changes.
    pub fn next_change(&self, after: Time) -> Option<Time> {
        with!(&self.kept, tree => tree.next_start(after))
    }

    /// The times from `from` up to and with `to` at which what is busy changes, ascending.
    pub fn changes(&self, from: Time, to: Time) -> Vec<Time> {
        let mut changes = Vec::new();
        with!(&self.kept, tree => {
            tree.starts(from, to, &mut |start| changes.push(start));
            // Before the first record nothing is busy, and it may go on so.
            if changes.first() == Some(&tree.first_start()) && self.is_free_at(tree.first_start()) {
                changes.remove(0);
            }
        });
        changes
    }

    /// When nodes that are free throughout `[start, end)` have become free, not before `floor`, and when they cease to
    /// be, which may be never: the ends of the largest rectangle around that span.
    pub fn stretch(&self, start: Time, end: Time, nodes: &NodeSet, floor: Time) -> (Time, Time) {
        with!(&self.kept, tree => {
            let set = Set::of(nodes);
            let begin = if floor < start { tree.last_meeting(floor, start, &set).unwrap_or(floor) } else { start };
            (begin.max(floor).min(start), tree.first_meeting(end, Time::NEVER, &set).unwrap_or(Time::NEVER))
        })
    }

    /// The records: from when on which nodes are busy.
    pub fn records(&self) -> Vec<(Time, NodeSet)> {
        let mut records = Vec::new();
        with!(&self.kept, tree => tree.records(&mut |start, busy| records.push((start, busy.nodes()))));
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

    /// The tree is sound, and what is counted beside it is what it says.
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

fn gathered<S: Set>(tree: &Tree<S>, start: Time, end: Time) -> S {
    let mut busy = S::default();
    if start < end {
        tree.gather(start, end, &mut busy);
    }
    busy
}

/// A booking that is in nobody's way, as long as the question is where else it could be.
struct Held<'s, S> {
    start: Time,
    nodes: &'s S,
}

/// The earliest of `starts`, ahead of a booking if there is one, at which at most `limit` nodes are busy in the whole
/// span, and those that are.
///
/// Whatever blocks one start blocks all later ones up to its end, so each failure jumps to the end of the last obstacle
/// in the window.
fn earliest<S: Set>(
    tree: &Tree<S>,
    counts: &Counts,
    mut starts: Range<Time>,
    span: Span,
    limit: u32,
    held: Option<&Held<'_, S>>,
) -> Option<(Time, S)> {
    // From here on the booking takes up some of what is busy.
    let ahead = held.map_or(Time::NEVER, |held| held.start);
    loop {
        let start = counts.earliest_ahead(starts.clone(), span, limit, ahead)?;
        let (end, apart) = (start + span, (start + span).min(ahead));
        let mut busy = S::default();
        if let Some(held) = held {
            busy = gathered(tree, ahead, end);
            busy.take(held.nodes);
        }
        match tree.last_shortage(start, apart, limit, &mut busy) {
            None => return Some((start, busy)),
            Some(shortage_end) => starts.start = shortage_end,
        }
    }
}

/// What is busy beside a booking while it lasts, if there are lower nodes for it.
fn lower<S: Set>(tree: &Tree<S>, span: Span, held: &Held<'_, S>) -> Option<(Time, S)> {
    let mut busy = gathered(tree, held.start, held.start + span);
    let has_gaps = !busy.holds_below(held.nodes);
    busy.take(held.nodes);
    has_gaps.then_some((held.start, busy))
}

impl fmt::Debug for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.records().iter().map(|(time, busy)| (time.micros(), busy.to_string()))).finish()
    }
}
