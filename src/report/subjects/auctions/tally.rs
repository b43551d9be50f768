//! Recorded auctions: their sums, their rows in `bids.csv`, and the one that a page explains.

use super::bids::{BIDS, BidRow};
use crate::referee::tally::{CountResult, Inconsistent, JobBook, Reporter, SubjectTally};
use crate::tables::columns::OpenTable;
use crate::tables::csv::field;
use hansa_sim::grid::Task;
use hansa_sim::protocol::{BidOutcome, CoreOffer, LossReason, Record, TaskBid};
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;

/// Largest number of bids of the auction that a page explains.
const BIDS_SHOWN: usize = 40;

#[derive(Clone, Debug, Default)]
pub struct AuctionTally {
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

impl SubjectTally for AuctionTally {
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult> {
        self.take_record(book, by, record)
    }

    fn begin_table(&mut self, topology: &Topology) {
        let is_recorded = topology.systems.iter().any(|system| system.recorded_bids().is_some());
        self.rows = is_recorded.then(|| BIDS.header_line(&[]));
    }

    fn table(&mut self) -> Option<OpenTable<'_>> {
        Some((BIDS.file, self.rows.as_mut()?))
    }
}

impl AuctionTally {
    pub fn auctioned(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        offers: &[CoreOffer],
        bids: &[TaskBid],
    ) -> CountResult {
        offers.iter().try_for_each(|offer| check_offer(book, offer))?;
        let tasks = bids.iter().map(|bid| find_bidder(book, bid, offers)).collect::<Result<Vec<Task>, _>>()?;
        let sums = AuctionSums::of(bids);
        self.sums = self.sums.plus(sums);
        let number = self.sums.auctions;
        if self.rows.is_some() {
            self.put_bids(book, number, by.now, offers, bids, &tasks);
        }
        if self.shown.as_ref().is_none_or(|shown| shown.sums.interest() < sums.interest()) {
            let bids = bids.iter().copied().zip(tasks).take(BIDS_SHOWN).collect();
            self.shown = Some(ShownAuction { number, time: by.now, offers: offers.to_vec(), bids, sums });
        }
        Ok(None)
    }

    fn put_bids(
        &mut self,
        book: &JobBook,
        auction: u64,
        time: Time,
        offers: &[CoreOffer],
        bids: &[TaskBid],
        tasks: &[Task],
    ) {
        let Some(mut rows) = self.rows.take() else { return };
        let kinds: Vec<String> = book.names.kinds.iter().map(|kind| field(kind)).collect();
        let sites: Vec<String> = book.sites.iter().map(|site| field(&site.name)).collect();
        for offer in offers {
            let site = book.site_of[&offer.site] as usize;
            let (kind, site) = (kind_name(book.sites[site].kind.0.into(), &kinds), &sites[site]);
            BidRow { auction, time, kind, site, cores: offer.cores }.put_offer(&mut rows);
        }
        for ((bid, task), place) in bids.iter().zip(tasks).zip(1..) {
            let site = match bid.outcome {
                BidOutcome::Won(site) => &sites[book.site_of[&site] as usize],
                BidOutcome::Lost(_) => "",
            };
            let row = BidRow { auction, time, kind: kind_name(task.kind.0.into(), &kinds), site, cores: task.cores };
            row.put_bid(bid, place, &mut rows);
        }
        self.rows = Some(rows);
    }
}

fn kind_name(kind: usize, kinds: &[String]) -> &str {
    kinds.get(kind).map_or("", String::as_str)
}

/// Checks that a site has the cores that it offers.
fn check_offer(book: &JobBook, offer: &CoreOffer) -> Result<(), Inconsistent> {
    let site = &book.sites[book.site(offer.site)? as usize];
    if offer.cores <= site.cores { Ok(()) } else { Err(Inconsistent::NotOffered(site.name.clone())) }
}

/// The task of a bid, which has to wait for a site, and to go to one that offers enough if it wins.
fn find_bidder(book: &JobBook, bid: &TaskBid, offers: &[CoreOffer]) -> Result<Task, Inconsistent> {
    let row = book.jobs.get(&bid.task.job).ok_or(Inconsistent::NotBidding(bid.task))?;
    let index = bid.task.index as usize;
    let (task, needs) =
        row.tasks.get(index).zip(row.job.tasks.get(index)).ok_or(Inconsistent::UnknownTask(bid.task))?;
    let waits = task.site.is_none() || (task.awaits_restart() && !task.is_sent_again);
    if !waits || bid.bid.is_nan() {
        return Err(Inconsistent::NotBidding(bid.task));
    }
    if let BidOutcome::Won(site) = bid.outcome
        && !offers.iter().any(|offer| offer.site == site && offer.cores >= needs.cores)
    {
        return Err(Inconsistent::NotOffered(book.names.of_actor(site)));
    }
    Ok(*needs)
}
