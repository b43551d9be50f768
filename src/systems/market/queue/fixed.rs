//! Bids that stay as they are: a heap, and nobody is asked twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Bids, Jobs, Lane, Place, Rank};

#[derive(Default)]
pub(super) struct Fixed {
    /// Those that have joined since the lane was last open.
    fresh: Vec<Place>,
    order: BinaryHeap<Reverse<Rank>>,
}

impl Lane for Fixed {
    fn add(&mut self, place: Place, _: &mut Jobs) {
        self.fresh.push(place);
    }

    fn open(&mut self, bids: &mut Bids<'_>) {
        if self.fresh.is_empty() {
            return;
        }
        self.fresh.retain(|&place| bids.is_queued(place));
        bids.ask_together(&self.fresh);
        self.order.extend(self.fresh.drain(..).map(|place| Reverse(bids.rank(place))));
    }

    fn best(&mut self, bids: &mut Bids<'_>) -> Option<Rank> {
        while let Some(&Reverse(rank)) = self.order.peek() {
            if bids.is_queued(rank.place()) {
                return Some(rank);
            }
            self.order.pop();
        }
        None
    }
}
