//! Bids that only improve: an old bid is no bound, but the bid to come at a later time bounds all until then.
//!
//! So every task is parked: it lies in a heap by the bid that it will have at a time of its own, and until that time it
//! cannot do better. The top of the heap is asked for its present bid, until the best of the tasks asked is not behind
//! the next bid to come. A task whose time is up is asked as well. At the end of the instant all tasks asked and not
//! placed are parked again.
//!
//! Any time would be correct; a good one is late, with a bid still behind the best. A task is parked until its bid has
//! come at most half-way to the best one of the instant. If the best stays about as good, the number of looks at a task
//! on its way to the top grows with the logarithm of the distance, and each look finds the time by doubling: O(log n)
//! for each task in the queue, independent of the others.
//!
//! Where bids rise with the longest queued path, a bid to come is a bound only while that path does not get shorter.
//! When it does, all tasks are asked again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{AuctionedJobs, BidRank, Bids, Lane, TaskHandle};
use crate::systems::market::bid::Trend;
use crate::time::{Span, Time};

pub(super) struct Improving {
    /// The tasks to be asked when the lane is next open.
    fresh: Vec<TaskHandle>,
    parked: BinaryHeap<Reverse<Parked>>,
    /// Times until which tasks are parked.
    expiries: BinaryHeap<Reverse<(Time, u64, TaskHandle)>>,
    /// The tasks whose bids are computed in this instant, by rank.
    asked: BinaryHeap<Reverse<BidRank>>,
    /// Number of the last parking, from 1. A task is marked with its own, or with zero while it has none.
    number: u64,
    /// The longest queued path in the bids to come, where they depend on it.
    path: Option<Span>,
    queued: usize,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Parked {
    /// Rank with the bid at the time of waking.
    rank: BidRank,
    number: u64,
}

/// Longest time to look ahead, in microseconds: about nine years.
const AHEAD_MAX: u64 = 1 << 48;

impl Improving {
    pub fn new(trend: Trend) -> Improving {
        Improving {
            fresh: Vec::new(),
            parked: BinaryHeap::new(),
            expiries: BinaryHeap::new(),
            asked: BinaryHeap::new(),
            number: 0,
            path: (trend == Trend::Rising).then_some(Span::ZERO),
            queued: 0,
        }
    }

    fn is_parked(bids: &Bids<'_>, handle: TaskHandle, number: u64) -> bool {
        bids.is_queued(handle) && bids.mark(handle) == number
    }

    fn unpark_all(&mut self, bids: &Bids<'_>) {
        let parked = self.parked.drain().map(|Reverse(parked)| parked);
        let still = parked.filter(|parked| Improving::is_parked(bids, parked.rank.handle(), parked.number));
        self.fresh.extend(still.map(|parked| parked.rank.handle()));
        self.expiries.clear();
    }

    fn unpark_what_is_due(&mut self, bids: &Bids<'_>) {
        while let Some(&Reverse((until, number, handle))) = self.expiries.peek()
            && until < bids.at.now
        {
            self.expiries.pop();
            if Improving::is_parked(bids, handle, number) {
                self.fresh.push(handle);
            }
        }
    }

    fn compute_rank(&mut self, handle: TaskHandle, bids: &mut Bids<'_>) {
        bids.set_mark(handle, 0);
        self.asked.push(Reverse(bids.rank(handle)));
    }

    fn park(&mut self, rank: BidRank, best: &BidRank, bids: &mut Bids<'_>) {
        let (until, to_come) = come_half_way(rank, best, bids);
        self.number += 1;
        bids.set_mark(rank.handle(), self.number);
        self.parked.push(Reverse(Parked { rank: to_come, number: self.number }));
        self.expiries.push(Reverse((until, self.number, rank.handle())));
    }

    /// Heaps drop entries that come up; the others must not accumulate.
    fn drop_stale(&mut self, bids: &Bids<'_>) {
        let most = 4 * self.queued + 1024;
        if self.parked.len() > most {
            self.parked.retain(|Reverse(parked)| Improving::is_parked(bids, parked.rank.handle(), parked.number));
        }
        if self.expiries.len() > most {
            self.expiries.retain(|&Reverse((_, number, handle))| Improving::is_parked(bids, handle, number));
        }
    }
}

/// The time until which a bid comes at most half-way to the best one, and the bid then.
fn come_half_way(rank: BidRank, best: &BidRank, bids: &Bids<'_>) -> (Time, BidRank) {
    let aim = rank.half_way_to(best);
    let mut reached = (bids.at.now, rank);
    let mut ahead = bids.at.tick.micros().max(1);
    while ahead <= AHEAD_MAX {
        let Some(until) = bids.at.now.micros().checked_add(ahead).map(Time::from_micros) else { break };
        let to_come = bids.rank_at(rank.handle(), until);
        if to_come.bid < aim {
            break;
        }
        reached = (until, to_come);
        ahead *= 2;
    }
    reached
}

impl Lane for Improving {
    fn add_task(&mut self, handle: TaskHandle, _: &mut AuctionedJobs) {
        self.fresh.push(handle);
        self.queued += 1;
    }

    fn remove_task(&mut self, _: TaskHandle, _: &mut AuctionedJobs) {
        self.queued -= 1;
    }

    fn open_auction(&mut self, bids: &mut Bids<'_>) {
        match &mut self.path {
            Some(path) if bids.at.longest_path < *path => {
                *path = bids.at.longest_path;
                self.unpark_all(bids);
            }
            Some(path) => *path = bids.at.longest_path,
            None => {}
        }
        self.unpark_what_is_due(bids);
        let mut fresh = std::mem::take(&mut self.fresh);
        for handle in fresh.drain(..) {
            if bids.is_queued(handle) {
                self.compute_rank(handle, bids);
            }
        }
        self.fresh = fresh;
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
            match (best, self.parked.peek().map(|Reverse(parked)| parked.rank)) {
                (_, None) => return best,
                (Some(best), Some(to_come)) if best < to_come => return Some(best),
                _ => {}
            }
            if let Some(Reverse(parked)) = self.parked.pop() {
                let handle = parked.rank.handle();
                if Improving::is_parked(bids, handle, parked.number) {
                    self.compute_rank(handle, bids);
                }
            }
        }
    }

    fn close_auction(&mut self, bids: &mut Bids<'_>) {
        let Some(best) = self.best_bidder(bids) else { return };
        let mut asked = std::mem::take(&mut self.asked).into_vec();
        for Reverse(rank) in asked.drain(..) {
            if bids.is_queued(rank.handle()) {
                self.park(rank, &best, bids);
            }
        }
        self.asked = asked.into();
        self.drop_stale(bids);
    }
}
