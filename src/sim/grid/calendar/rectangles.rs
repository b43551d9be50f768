//! Largest free rectangles in which a booking could begin.

use super::set::Set;
use super::tree::Tree;
use super::{Calendar, Counts, TreeByWidth};
use crate::time::{Span, Time};

/// Query for rectangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RectangleQuery {
    pub from: Time,
    /// Latest start.
    pub latest: Time,
    pub span: Span,
    pub width: u32,
}

/// Limits of rectangles on both sides of the booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub floor: Time,
    pub ceiling: Time,
}

/// All nodes that are free for the span from a start, and the interval in which all of them are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    pub start: Time,
    pub width: u32,
    pub begin: Time,
    /// At most the ceiling, which may be [`Time::NEVER`].
    pub end: Time,
}

impl Calendar {
    /// Calls `each` with the rectangles of all relevant starts, in order of time: the first and the last of the query,
    /// and the starts at which something before the booking ends or something after it begins. If any start is
    /// possible, one of these is, and the earliest of all is among them. Without bounds a rectangle is as long as the
    /// booking.
    pub fn rectangles(&self, query: &RectangleQuery, bounds: Option<Bounds>, each: &mut impl FnMut(Rectangle)) {
        if self.nodes < query.width {
            return;
        }
        match &self.kept {
            TreeByWidth::Few(tree) => visit_rectangles(tree, &self.counts, self.nodes, query, bounds, each),
            TreeByWidth::Some(tree) => visit_rectangles(tree, &self.counts, self.nodes, query, bounds, each),
            TreeByWidth::Many(tree) => visit_rectangles(tree, &self.counts, self.nodes, query, bounds, each),
        }
    }
}

fn visit_rectangles<S: Set>(
    tree: &Tree<S>,
    counts: &Counts,
    nodes: u32,
    query: &RectangleQuery,
    bounds: Option<Bounds>,
    each: &mut impl FnMut(Rectangle),
) {
    let limit = nodes - query.width;
    let all = S::from_nodes(&super::NodeSet::all(nodes));
    // End of the last obstacle, before which no start is possible.
    let mut blocked_before = query.from;
    let mut last: Option<(S, Rectangle)> = None;
    for start in candidate_starts(tree, query) {
        if start < blocked_before {
            continue;
        }
        let end = start + query.span;
        let mut busy = S::default();
        let blocked = counts.last_crowd(start, end, limit);
        if let Some(until) = blocked.or_else(|| tree.last_shortage(start, end, limit, &mut busy)) {
            blocked_before = until;
            continue;
        }
        let rectangle = match (&last, bounds) {
            (_, None) => Rectangle { start, width: nodes - busy.len(), begin: start, end },
            // Equal nodes within the rectangle measured last.
            (Some((same, rectangle)), _) if *same == busy && end <= rectangle.end => Rectangle { start, ..*rectangle },
            (_, Some(Bounds { floor, ceiling })) => {
                let mut free = all.clone();
                free.remove_all(&busy);
                let begin = if floor < start { tree.last_meeting(floor, start, &free).unwrap_or(floor) } else { start };
                let until = if end < ceiling { tree.first_meeting(end, ceiling, &free) } else { None };
                Rectangle { start, width: free.len(), begin, end: until.unwrap_or(ceiling) }
            }
        };
        each(rectangle);
        last = Some((busy, rectangle));
    }
}

fn candidate_starts<S: Set>(tree: &Tree<S>, query: &RectangleQuery) -> Vec<Time> {
    let mut starts = vec![query.from, query.latest];
    tree.starts(query.from, query.latest, &mut |start| starts.push(start));
    tree.starts(query.from + query.span, query.latest + query.span, &mut |start| {
        starts.push(latest_start(start, query))
    });
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn latest_start(end: Time, query: &RectangleQuery) -> Time {
    Time::from_micros(end.micros() - query.span.micros())
}
