//! Bids that only get worse: an old bid is never worse than the one of now.
//!
//! So tasks lie in a heap by the bid they were last asked for. Whoever is on top is asked again, until the best of
//! those who were asked is not behind the next old bid. Nobody below can be better: its old bid already is not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Bids, Jobs, Lane, Rank, TaskHandle};

#[derive(Default)]
pub(super) struct Worsening {
    fresh: Vec<TaskHandle>,
    /// By old bids.
    old: BinaryHeap<Reverse<Rank>>,
    /// Those who were asked at this instant.
    asked: BinaryHeap<Reverse<Rank>>,
}

impl Lane for Worsening {
    fn add(&mut self, handle: TaskHandle, _: &mut Jobs) {
        self.fresh.push(handle);
    }

    fn open(&mut self, bids: &mut Bids<'_>) {
        let queued = self.fresh.drain(..).filter(|&handle| bids.is_queued(handle));
        self.old.extend(queued.map(|handle| Reverse(bids.rank(handle))));
    }

    fn best(&mut self, bids: &mut Bids<'_>) -> Option<Rank> {
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

    fn close(&mut self, _: &mut Bids<'_>) {
        self.old.extend(self.asked.drain());
    }
}
