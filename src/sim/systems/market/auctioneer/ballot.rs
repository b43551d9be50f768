//! The record of an auction: all offers and bids, with their outcomes.
//!
//! Lanes avoid most bids, so a record asks for the others: O(n log n) for `n` waiting tasks of the kinds considered.

use std::collections::BTreeSet;

use super::Auctioneer;
use crate::grid::{Kind, Task, TaskId};
use crate::protocol::{BidOutcome, CoreOffer, LossReason, Record, TaskBid};
use crate::systems::market::bid::Instant;
use crate::systems::market::queue::{BidRank, Bids, TaskHandle};
use crate::time::Time;

/// The queued tasks, by kind.
pub(super) struct WaitingTasks(Vec<BTreeSet<TaskHandle>>);

/// Offers and bids of an auction before its first assignment.
pub(super) struct Ballot {
    offers: Vec<CoreOffer>,
    /// Ranks of the bidders, the best first.
    ranks: Vec<BidRank>,
}

impl WaitingTasks {
    pub fn new(kinds: usize) -> WaitingTasks {
        WaitingTasks(vec![BTreeSet::new(); kinds])
    }

    pub fn add(&mut self, handle: TaskHandle, kind: Kind) {
        self.0[usize::from(kind.0)].insert(handle);
    }

    pub fn remove(&mut self, handle: TaskHandle, kind: Kind) {
        self.0[usize::from(kind.0)].remove(&handle);
    }
}

impl Auctioneer {
    /// The offers and bids of some lanes. None if bids are not recorded.
    pub(super) fn ballot(&mut self, lanes: &[bool], at: &Instant) -> Option<Ballot> {
        let waiting = self.waiting.as_ref()?;
        let bids = Bids { jobs: &mut self.jobs, policy: self.policy.as_ref(), at: *at };
        let mut offers = Vec::new();
        let mut ranks = Vec::new();
        for kind in (0..lanes.len()).filter(|lane| lanes[*lane]) {
            let clusters = self.clusters.of(Kind(kind as u16)).iter();
            offers.extend(
                clusters.map(|&cluster| CoreOffer {
                    site: self.clusters.site(cluster),
                    cores: self.clusters.free(cluster),
                }),
            );
            ranks.extend(waiting.0[kind].iter().map(|&handle| bids.rank(handle)));
        }
        ranks.sort_unstable();
        Some(Ballot { offers, ranks })
    }

    /// The record of an auction after its last assignment; `won` has the winners in order, with their clusters.
    pub(super) fn record_of(&self, ballot: Ballot, won: &[(TaskHandle, usize)], now: Time) -> Record {
        let mut winners = won.iter().peekable();
        let bids = ballot
            .ranks
            .into_iter()
            .map(|rank| {
                let handle = rank.handle();
                let task = TaskId { job: self.live(handle).job.id, index: handle.task };
                // Winners are served in the order of their bids.
                let outcome = match winners.next_if(|(winner, _)| *winner == handle) {
                    Some((_, cluster)) => BidOutcome::Won(self.clusters.site(*cluster)),
                    None => BidOutcome::Lost(self.loss(handle, now)),
                };
                TaskBid { task, bid: rank.bid(self.policy.winner_rule()), outcome }
            })
            .collect();
        Record::Auctioned { offers: ballot.offers, bids }
    }

    /// The reason for which a task is still queued after the last assignment.
    fn loss(&self, handle: TaskHandle, now: Time) -> LossReason {
        let Task { kind, cores, .. } = self.live(handle).job.tasks[handle.task as usize];
        match self.cluster_for(handle, now) {
            Some(_) => LossReason::Behind,
            None if self.clusters.has_free(kind, cores) => LossReason::NoData,
            None => LossReason::NoRoom,
        }
    }
}
