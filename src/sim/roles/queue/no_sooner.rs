//! Lower bounds on starts in a plan: no place of some width and length starts before some time.
//!
//! In a long queue most searches for a place repeat earlier ones: a job that needs at least as many nodes for at least
//! as long as an earlier one cannot start before it. A bound holds until something is freed; then it is lowered to the
//! first start whose job would reach into the freed time. A search begins at the highest bound that applies, instead of
//! now.

use crate::time::{Span, Time};

/// Most bounds kept: more add little, and each search reads all of them.
const MOST: usize = 12;

#[derive(Clone, Debug, Default)]
pub(super) struct NoSooner {
    /// Known bounds, the oldest first.
    known: Vec<KnownStart>,
}

#[derive(Clone, Copy, Debug)]
struct KnownStart {
    nodes: u32,
    span: Span,
    /// Time before which no start has room.
    until: Time,
}

impl KnownStart {
    fn applies_to(&self, nodes: u32, span: Span) -> bool {
        self.nodes <= nodes && self.span <= span
    }

    fn implies_bound(&self, other: &KnownStart) -> bool {
        self.applies_to(other.nodes, other.span) && self.until >= other.until
    }
}

impl NoSooner {
    /// Time before which there is no room for this many nodes for this long.
    pub fn than(&self, nodes: u32, span: Span) -> Time {
        let applying = self.known.iter().filter(|known| known.applies_to(nodes, span));
        applying.map(|known| known.until).max().unwrap_or(Time::ZERO)
    }

    /// Adds a bound: no room for this many nodes for this long before `until`.
    pub fn add_bound(&mut self, nodes: u32, span: Span, until: Time) {
        let new = KnownStart { nodes, span, until };
        if self.known.iter().any(|known| known.implies_bound(&new)) {
            return;
        }
        self.known.retain(|known| !new.implies_bound(known));
        if self.known.len() == MOST {
            self.known.remove(0);
        }
        self.known.push(new);
    }

    /// Lowers the bounds after nodes became free at `from`.
    pub fn lower_bounds(&mut self, from: Time) {
        for known in &mut self.known {
            known.until = known.until.min(first_that_reaches(from, known.span));
        }
    }

    /// Drops the bounds before `now`.
    pub fn advance(&mut self, now: Time) {
        self.known.retain(|known| known.until > now);
    }
}

/// First start from which a span reaches beyond `time`.
pub(super) fn first_that_reaches(time: Time, span: Span) -> Time {
    match time.micros().checked_sub(span.micros()) {
        Some(ends_there) => Time::from_micros(ends_there + 1),
        None => Time::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::grid::Counts;

    const NODES: u32 = 8;

    fn at(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[derive(Clone, Debug)]
    enum Event {
        Insert(u64, u64, u32),
        Remove(usize),
        Look(u32, u64),
        Advance(u64),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            2 => (0u64..60, 1u64..20, 1..=NODES).prop_map(|(start, length, nodes)| Event::Insert(start, length, nodes)),
            1 => (0usize..100).prop_map(Event::Remove),
            4 => (1..=NODES, 1u64..20).prop_map(|(nodes, span)| Event::Look(nodes, span)),
            1 => (0u64..3).prop_map(Event::Advance),
        ]
    }

    proptest! {
        /// In any story, to the last tick, a search from a bound finds the same place as a full one.
        #[test]
        fn bounds_skip_no_place(events in prop::collection::vec(event(), 1..80)) {
            let mut counts = Counts::default();
            let mut no_sooner = NoSooner::default();
            let mut now = 0;
            let mut placed: Vec<(u64, u64, u32)> = Vec::new();
            for event in events {
                match event {
                    Event::Insert(start, length, nodes) => {
                        let start = start.max(now);
                        let end = start + length;
                        if counts.most(at(start), at(end)) + nodes <= NODES {
                            counts.insert(at(start), at(end), nodes);
                            placed.push((start, end, nodes));
                        }
                    }
                    Event::Remove(place) if !placed.is_empty() => {
                        let (start, end, nodes) = placed.swap_remove(place % placed.len());
                        if end > now {
                            counts.remove(at(start.max(now)), at(end), nodes);
                            no_sooner.lower_bounds(at(start.max(now)));
                        }
                    }
                    Event::Remove(_) => {}
                    Event::Look(nodes, micros) => {
                        let span = Span::from_micros(micros);
                        let from = no_sooner.than(nodes, span).max(at(now));
                        let found = counts.earliest(from, span, NODES - nodes);
                        prop_assert_eq!(found, counts.earliest(at(now), span, NODES - nodes));
                        no_sooner.add_bound(nodes, span, found);
                        prop_assert!(no_sooner.known.len() <= MOST);
                    }
                    Event::Advance(by) => {
                        now += by;
                        no_sooner.advance(at(now));
                    }
                }
            }
        }
    }
}
