//! Constant bids: a heap, and no task is asked twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Bids, Jobs, Lane, Rank, TaskHandle};

#[derive(Default)]
pub(super) struct Fixed {
    /// The tasks that have joined since the lane was last open.
    fresh: Vec<TaskHandle>,
    order: BinaryHeap<Reverse<Rank>>,
}

impl Lane for Fixed {
    fn add(&mut self, handle: TaskHandle, _: &mut Jobs) {
        self.fresh.push(handle);
    }

    fn open(&mut self, bids: &mut Bids<'_>) {
        if self.fresh.is_empty() {
            return;
        }
        self.fresh.retain(|&handle| bids.is_queued(handle));
        bids.ask_together(&self.fresh);
        self.order.extend(self.fresh.drain(..).map(|handle| Reverse(bids.rank(handle))));
    }

    fn best(&mut self, bids: &mut Bids<'_>) -> Option<Rank> {
        while let Some(&Reverse(rank)) = self.order.peek() {
            if bids.is_queued(rank.handle()) {
                return Some(rank);
            }
            self.order.pop();
        }
        None
    }
}
