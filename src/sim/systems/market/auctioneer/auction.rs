//! One auction: the open lanes, their best bidders, and the cluster of each winner.

use smallvec::SmallVec;

use super::{Auctioneer, Out};
use crate::grid::{Kind, Task};
use crate::systems::market::bid::Instant;
use crate::systems::market::queue::{Bids, Lane, TaskHandle};
use crate::systems::market::rules::Blocking;
use crate::time::{Span, Time};

impl Auctioneer {
    /// Assigns tasks to sites, the best bidder first, until the best one does not fit; no bidder is overtaken.
    pub(super) fn auction(&mut self, now: Time, out: &mut Out) {
        if !(0..self.lanes.len()).any(|lane| self.may_place(lane)) {
            return;
        }
        let mut open: SmallVec<[bool; 8]> = (0..self.lanes.len()).map(|lane| self.may_place(lane)).collect();
        if self.market.blocking == Blocking::Global {
            // No task of these kinds can start, but they can block the others.
            open.iter_mut().zip(&self.lanes).for_each(|(open, (_, demand))| *open = !demand.is_empty());
        }
        let looked_at = open.clone();
        let at = self.at(now);
        self.for_each_lane(&looked_at, &at, |lane, bids| lane.open_auction(bids));
        let ballot = self.ballot(&looked_at, &at);
        let mut won: SmallVec<[(TaskHandle, usize); 8]> = SmallVec::new();
        while let Some((lane, best)) = self.best(&open, &at)
            && !self.policy.has_failed()
        {
            match (self.cluster_for(best, now), self.market.blocking) {
                (Some(cluster), _) => {
                    self.reserve(best, cluster);
                    won.push((best, cluster));
                }
                // Tasks behind it may need fewer cores, but no bidder is overtaken.
                (None, Blocking::PerKind) => open[lane] = false,
                (None, Blocking::Global) => break,
            }
        }
        self.for_each_lane(&looked_at, &at, |lane, bids| lane.close_auction(bids));
        if let Some(ballot) = ballot
            && !self.policy.has_failed()
        {
            out.log(self.record_of(ballot, &won, now));
        }
        for (winner, cluster) in won {
            self.assign(winner, cluster, now, out);
        }
    }

    /// True if a queued task of a kind could fit anywhere.
    fn may_place(&self, lane: usize) -> bool {
        let demand = &self.lanes[lane].1;
        !demand.is_empty() && self.clusters.has_free(Kind(lane as u16), demand.least())
    }

    fn at(&self, now: Time) -> Instant {
        let longest_path = self.paths.last_key_value().map_or(Span::ZERO, |(&path, _)| path);
        Instant { now, number: self.instant.1, tick: self.market.tick, longest_path }
    }

    fn for_each_lane(&mut self, which: &[bool], at: &Instant, mut act: impl FnMut(&mut dyn Lane, &mut Bids<'_>)) {
        let mut bids = Bids { jobs: &mut self.jobs, policy: self.policy.as_ref(), at: *at };
        for ((lane, _), _) in self.lanes.iter_mut().zip(which).filter(|(_, which)| **which) {
            act(lane.as_mut(), &mut bids);
        }
    }

    /// The best bidder of the open lanes.
    fn best(&mut self, open: &[bool], at: &Instant) -> Option<(usize, TaskHandle)> {
        let mut bids = Bids { jobs: &mut self.jobs, policy: self.policy.as_ref(), at: *at };
        let lanes = self.lanes.iter_mut().enumerate().filter(|(lane, _)| open[*lane]);
        let best = lanes.filter_map(|(lane, (queue, _))| Some((queue.best_bidder(&mut bids)?, lane))).min()?;
        Some((best.1, best.0.handle()))
    }

    pub(super) fn cluster_for(&self, handle: TaskHandle, now: Time) -> Option<usize> {
        let live = self.live(handle);
        let task = handle.task as usize;
        let Task { kind, cores, .. } = live.job.tasks[task];
        if live.tasks[task].everywhere <= now {
            return self.clusters.roomiest(kind, cores);
        }
        if !self.clusters.has_free(kind, cores) {
            return None;
        }
        // Its data is never available elsewhere sooner than where some of it was made, so until it is everywhere, it is
        // there or nowhere.
        let ready = live.ready(task, self.market.network);
        let there = ready.makers.iter().filter(|(_, there)| *there <= now).map(|(cluster, _)| *cluster);
        self.clusters.roomiest_of(kind, cores, there)
    }
}
