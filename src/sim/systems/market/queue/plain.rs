//! The reference: asks all tasks at every instant and sorts them.

use super::{AuctionedJobs, BidRank, Bids, Lane, TaskHandle};

#[derive(Default)]
pub(in crate::systems::market) struct PlainLane {
    members: Vec<TaskHandle>,
    /// The ranks, the best last.
    order: Vec<BidRank>,
}

impl Lane for PlainLane {
    fn add_task(&mut self, handle: TaskHandle, _: &mut AuctionedJobs) {
        self.members.push(handle);
    }

    fn remove_task(&mut self, handle: TaskHandle, _: &mut AuctionedJobs) {
        self.members.retain(|&member| member != handle);
    }

    fn open_auction(&mut self, bids: &mut Bids<'_>) {
        self.order = self.members.iter().map(|&handle| bids.rank(handle)).collect();
        self.order.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn best_bidder(&mut self, bids: &mut Bids<'_>) -> Option<BidRank> {
        while self.order.pop_if(|rank| !bids.is_queued(rank.handle())).is_some() {}
        self.order.last().copied()
    }
}
