//! Threads of a trace in which nothing overlaps.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use hansa_sim::time::Time;

/// Lanes of a site: the lowest that is free is taken.
#[derive(Default)]
pub struct Lanes {
    free: BTreeSet<u32>,
    taken: BinaryHeap<Reverse<(Time, u32)>>,
    count: u32,
}

impl Lanes {
    /// Number of lanes.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The lane for the next item in order of starts; true if it is new.
    pub fn take_lane(&mut self, start: Time, end: Time) -> (u32, bool) {
        while let Some(&Reverse((until, lane))) = self.taken.peek()
            && until <= start
        {
            self.taken.pop();
            self.free.insert(lane);
        }
        let (lane, is_new) = match self.free.pop_first() {
            Some(lane) => (lane, false),
            None => {
                self.count += 1;
                (self.count, true)
            }
        };
        // An item of no length takes its place too, so that its arrow points at nothing else.
        let until = end.max(Time::from_micros(start.micros().saturating_add(1)));
        self.taken.push(Reverse((until, lane)));
        (lane, is_new)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lanes_are_free_when_taken_and_no_more_than_needed(
            mut stretches in prop::collection::vec((0u64..60, 0u64..20), 0..60),
        ) {
            stretches.sort_unstable();
            let mut lanes = Lanes::default();
            let mut until: BTreeMap<u32, u64> = BTreeMap::new();
            for (start, length) in stretches {
                let busy = until.values().filter(|until| **until > start).count();
                let (lane, is_new) =
                    lanes.take_lane(Time::from_micros(start), Time::from_micros(start + length));
                let before = until.insert(lane, start + length.max(1));
                prop_assert_eq!(is_new, before.is_none());
                prop_assert!(before.is_none_or(|until| until <= start));
                prop_assert!(!is_new || busy + 1 == until.len());
            }
        }
    }
}
