//! Bids that only get worse: an old bid is never worse than the present one.
//!
//! So tasks lie in a heap by their last known bids. The top of the heap is asked again, until the best of the tasks
//! asked is not behind the next old bid. No task below can be better, since even its old bid is not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{AuctionedJobs, BidRank, Bids, Lane, TaskHandle};

#[derive(Default)]
pub(super) struct Worsening {
    fresh: Vec<TaskHandle>,
    /// Queued tasks, ranked by their last computed bids.
    old: BinaryHeap<Reverse<BidRank>>,
    /// The tasks whose bids are computed in this instant, by rank.
    asked: BinaryHeap<Reverse<BidRank>>,
}

impl Lane for Worsening {
    fn add_task(&mut self, handle: TaskHandle, _: &mut AuctionedJobs) {
        self.fresh.push(handle);
    }

    fn open_auction(&mut self, bids: &mut Bids<'_>) {
        let queued = self.fresh.drain(..).filter(|&handle| bids.is_queued(handle));
        self.old.extend(queued.map(|handle| Reverse(bids.rank(handle))));
    }

    fn best_bidder(&mut self, bids: &mut Bids<'_>) -> Option<BidRank> {
        loop {
            let best = self.asked.peek().map(|&Reverse(rank)| rank);
            if let Some(best) = best
                && !bids.is_queued(best.handle())
            {
                self.asked.pop();
                continue;
            }
            let old = self.old.peek().map(|&Reverse(rank)| rank);
            match (best, old) {
                (_, None) => return best,
                (Some(best), Some(old)) if best < old => return Some(best),
                (_, Some(old)) => {
                    self.old.pop();
                    if bids.is_queued(old.handle()) {
                        self.asked.push(Reverse(bids.rank(old.handle())));
                    }
                }
            }
        }
    }

    fn close_auction(&mut self, _: &mut Bids<'_>) {
        self.old.extend(self.asked.drain());
    }
}
