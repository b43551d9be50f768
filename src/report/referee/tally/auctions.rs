//! Recorded auctions: their sums, their rows in `bids.csv`, and the one that a page explains.

use super::counting::{CountResult, Reporter};
use super::{Inconsistent, Tally};
use crate::present::page::ROWS_MAX;
use crate::subjects::auctions::bids::{BIDS, BidRow};
use crate::tables::csv::field;
use hansa_sim::grid::Task;
use hansa_sim::protocol::{BidOutcome, CoreOffer, LossReason, TaskBid};
use hansa_sim::systems::market::Market;
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;

#[derive(Clone, Debug, Default)]
pub struct AuctionLog {
    pub sums: AuctionSums,
    /// The auction with most bidders, among those in which some won and some lost, if there are any.
    pub shown: Option<ShownAuction>,
    /// Rows of the table that have not been taken. None if no table is written.
    rows: Option<Vec<u8>>,
}

/// Numbers of auctions, and of bids by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuctionSums {
    pub auctions: u64,
    pub won: u64,
    pub lost: [u64; LossReason::ALL.len()],
}

/// An auction as a page shows it.
#[derive(Clone, Debug)]
pub struct ShownAuction {
    pub number: u64,
    pub time: Time,
    pub offers: Vec<CoreOffer>,
    /// The best bids, each with its task.
    pub bids: Vec<(TaskBid, Task)>,
    pub sums: AuctionSums,
}

impl AuctionSums {
    fn of(bids: &[TaskBid]) -> AuctionSums {
        let mut sums = AuctionSums { auctions: 1, ..AuctionSums::default() };
        for bid in bids {
            match bid.outcome {
                BidOutcome::Won(_) => sums.won += 1,
                BidOutcome::Lost(reason) => sums.lost[reason as usize] += 1,
            }
        }
        sums
    }

    fn plus(self, other: AuctionSums) -> AuctionSums {
        let mut lost = self.lost;
        lost.iter_mut().zip(other.lost).for_each(|(sum, more)| *sum += more);
        AuctionSums { auctions: self.auctions + other.auctions, won: self.won + other.won, lost }
    }

    pub fn bids(&self) -> u64 {
        self.won + self.lost.iter().sum::<u64>()
    }

    /// Order of auctions by what they show: both outcomes, then many bidders.
    fn interest(&self) -> (bool, u64) {
        (self.won > 0 && self.bids() > self.won, self.bids())
    }
}

impl Tally {
    /// Collects the rows of `bids.csv` from now on, if the topology has a market that records bids.
    pub fn with_bid_rows(mut self, topology: &Topology) -> Tally {
        let mut markets = topology.systems.iter().filter_map(|system| system.settings::<Market>());
        self.auctions.rows = markets.any(Market::records_bids).then(|| BIDS.header(&[]));
        self
    }

    /// The rows of `bids.csv` that are known so far; each is returned once.
    pub fn bids_so_far(&mut self) -> Option<&mut Vec<u8>> {
        self.auctions.rows.as_mut()
    }

    pub fn auctioned(&mut self, by: Reporter, offers: &[CoreOffer], bids: &[TaskBid]) -> CountResult {
        offers.iter().try_for_each(|offer| self.is_offered(offer))?;
        let tasks = bids.iter().map(|bid| self.bidding(bid, offers)).collect::<Result<Vec<Task>, _>>()?;
        let sums = AuctionSums::of(bids);
        self.auctions.sums = self.auctions.sums.plus(sums);
        let number = self.auctions.sums.auctions;
        if self.auctions.rows.is_some() {
            self.put_bids(number, by.now, offers, bids, &tasks);
        }
        if self.auctions.shown.as_ref().is_none_or(|shown| shown.sums.interest() < sums.interest()) {
            let bids = bids.iter().copied().zip(tasks).take(ROWS_MAX).collect();
            self.auctions.shown = Some(ShownAuction { number, time: by.now, offers: offers.to_vec(), bids, sums });
        }
        Ok(None)
    }

    /// Checks that a site has the cores that it offers.
    fn is_offered(&self, offer: &CoreOffer) -> Result<(), Inconsistent> {
        let site = &self.sites[self.site(offer.site)? as usize];
        if offer.cores <= site.cores { Ok(()) } else { Err(Inconsistent::NotOffered(site.name.clone())) }
    }

    /// The task of a bid, which has to wait for a site, and to go to one that offers enough if it wins.
    fn bidding(&self, bid: &TaskBid, offers: &[CoreOffer]) -> Result<Task, Inconsistent> {
        let row = self.jobs.get(&bid.task.job).ok_or(Inconsistent::NotBidding(bid.task))?;
        let index = bid.task.index as usize;
        let (task, wish) =
            row.tasks.get(index).zip(row.job.tasks.get(index)).ok_or(Inconsistent::UnknownTask(bid.task))?;
        let waits = task.site.is_none() || (task.is_lost() && !task.is_sent_again);
        if !waits || bid.bid.is_nan() {
            return Err(Inconsistent::NotBidding(bid.task));
        }
        if let BidOutcome::Won(site) = bid.outcome
            && !offers.iter().any(|offer| offer.site == site && offer.cores >= wish.cores)
        {
            return Err(Inconsistent::NotOffered(self.names.of_actor(site)));
        }
        Ok(*wish)
    }

    fn put_bids(&mut self, auction: u64, time: Time, offers: &[CoreOffer], bids: &[TaskBid], tasks: &[Task]) {
        let Some(mut rows) = self.auctions.rows.take() else { return };
        let kinds: Vec<String> = self.names.kinds.iter().map(|kind| field(kind)).collect();
        let sites: Vec<String> = self.sites.iter().map(|site| field(&site.name)).collect();
        let kind = |kind: usize| kinds.get(kind).map_or("", String::as_str);
        for offer in offers {
            let site = self.site_of[&offer.site] as usize;
            let kind = kind(self.sites[site].kind.0.into());
            let site = &sites[site];
            BidRow { auction, time, kind, site, cores: offer.cores }.put_offer(&mut rows);
        }
        for ((bid, task), place) in bids.iter().zip(tasks).zip(1..) {
            let site = match bid.outcome {
                BidOutcome::Won(site) => &sites[self.site_of[&site] as usize],
                BidOutcome::Lost(_) => "",
            };
            let row = BidRow { auction, time, kind: kind(task.kind.0.into()), site, cores: task.cores };
            row.put_bid(bid, place, &mut rows);
        }
        self.auctions.rows = Some(rows);
    }
}
