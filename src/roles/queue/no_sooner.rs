//! What is known of a plan: that nothing of some width and length starts sooner than at some time.
//!
//! Where a queue is long, most who look for a place find out what others have found out before them: whoever wants at
//! least as many nodes for at least as long has to look no sooner than they. That holds for as long as nothing is
//! freed, and where something is, it ends with the first start from which work would reach into it. So a search begins
//! where the last one that tells of it has ended, instead of now.

use crate::time::{Span, Time};

/// More than these say little that is new, and each search reads all of them.
const MOST: usize = 12;

#[derive(Clone, Debug, Default)]
pub(super) struct NoSooner {
    /// No two of which one says all that the other does, the oldest first.
    known: Vec<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    nodes: u32,
    span: Span,
    /// No start before this has room.
    until: Time,
}

impl Known {
    fn tells_of(&self, nodes: u32, span: Span) -> bool {
        self.nodes <= nodes && self.span <= span
    }

    fn says_all_of(&self, other: &Known) -> bool {
        self.tells_of(other.nodes, other.span) && self.until >= other.until
    }
}

impl NoSooner {
    /// Before this there is no room for so many nodes for so long.
    pub fn than(&self, nodes: u32, span: Span) -> Time {
        let telling = self.known.iter().filter(|known| known.tells_of(nodes, span));
        telling.map(|known| known.until).max().unwrap_or(Time::ZERO)
    }

    /// There is no room for so many nodes for so long before a time.
    pub fn note(&mut self, nodes: u32, span: Span, until: Time) {
        let new = Known { nodes, span, until };
        if self.known.iter().any(|known| known.says_all_of(&new)) {
            return;
        }
        self.known.retain(|known| !new.says_all_of(known));
        if self.known.len() == MOST {
            self.known.remove(0);
        }
        self.known.push(new);
    }

    /// Something has become free, from a time on.
    pub fn freed(&mut self, from: Time) {
        self.known.retain_mut(|known| {
            known.until = known.until.min(first_that_reaches(from, known.span));
            known.until > Time::ZERO
        });
    }
}

/// The first start of so long a span that reaches beyond a time.
pub(super) fn first_that_reaches(time: Time, span: Span) -> Time {
    match time.micros().checked_sub(span.micros()) {
        Some(ends_there) => Time::from_micros(ends_there + 1),
        None => Time::ZERO,
    }
}
