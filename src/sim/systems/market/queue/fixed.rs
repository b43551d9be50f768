//! Constant bids: a heap, and no task is asked twice.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{AuctionedJobs, BidRank, Bids, Lane, TaskHandle};

#[derive(Default)]
pub(super) struct FixedLane {
    /// The tasks that have joined since the lane was last open.
    fresh: Vec<TaskHandle>,
    order: BinaryHeap<Reverse<BidRank>>,
}

impl Lane for FixedLane {
    fn add_task(&mut self, handle: TaskHandle, _: &mut AuctionedJobs) {
        self.fresh.push(handle);
    }

    fn open_auction(&mut self, bids: &mut Bids<'_>) {
        if self.fresh.is_empty() {
            return;
        }
        self.fresh.retain(|&handle| bids.is_queued(handle));
        bids.announce_bidders(&self.fresh);
        self.order.extend(self.fresh.drain(..).map(|handle| Reverse(bids.rank(handle))));
    }

    fn best_bidder(&mut self, bids: &mut Bids<'_>) -> Option<BidRank> {
        while let Some(&Reverse(rank)) = self.order.peek() {
            if bids.is_queued(rank.handle()) {
                return Some(rank);
            }
            self.order.pop();
        }
        None
    }
}
