//! Auctions of a market that records them: how many, the outcomes of bids, and one auction explained.

pub(crate) mod bids;
mod fields;
mod records;
mod section;
mod tally;
#[cfg(test)]
pub(super) mod tests;

pub(crate) use self::bids::BIDS;
use serde::{Deserialize, Serialize};

use self::tally::AuctionTally;
use super::{PLAIN, Subject, SubjectReport};
use crate::SummaryPart;
use crate::markup::Html;
use crate::present::page::Page;
use crate::referee::tally::JobRow;
use crate::results::account::Account;
use crate::{Summary, Tally};
use hansa_sim::numerals::{count, counted};
use hansa_sim::protocol::LossReason;
use hansa_sim::systems::market::Market;
use hansa_sim::systems::market::bid::{self, BidUnit};
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;

pub const SUBJECT: Subject = Subject {
    systems: &["market"],
    part: Auctions::NAME,
    section: ("auctions", "One auction"),
    open: RecordedMarket::of,
    lines,
    metrics: &[],
    records: Some(records::RECORDS),
    tally: Some(|_, _| Box::new(AuctionTally::default())),
    ..PLAIN
};

/// The part of a summary. `bids` is the sum of the four outcomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Auctions {
    /// Auctions in which a task might start.
    pub auctions: u64,
    pub bids: u64,
    pub won: u64,
    /// Bids of tasks that need more cores than any site of their kind had left.
    pub no_room: u64,
    /// Bids of tasks whose data was at no site with enough cores left.
    pub no_data: u64,
    /// Bids of tasks that would have fit, but not overtaken a better bidder.
    pub behind: u64,
}

impl SummaryPart for Auctions {
    const NAME: &'static str = "auctions";
}

/// The policy of a market that records its auctions.
#[derive(Debug)]
struct RecordedMarket {
    policy: String,
    about: &'static str,
    unit: BidUnit,
}

impl RecordedMarket {
    fn of(topology: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
        let market = &topology.systems[*systems.first()? as usize];
        let records = market.settings().is_some_and(Market::records_bids);
        let policy = market.policy();
        let unit = bid::find(policy.name).map_or(BidUnit::Number, |row| row.unit);
        let report = RecordedMarket { policy: policy.name.to_owned(), about: policy.about, unit };
        if records { Some(Box::new(report)) } else { None }
    }
}

impl SubjectReport for RecordedMarket {
    fn account<'a>(&'a self, tally: &'a Tally, _: bool) -> Box<dyn Account + 'a> {
        Box::new(AuctionAccount(tally))
    }

    fn section(&self, page: &Page<'_>) -> Html {
        section::auction(self, page)
    }
}

struct AuctionAccount<'a>(&'a Tally);

impl Account for AuctionAccount<'_> {
    fn job(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn uncounted(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn close(&mut self, summary: &mut Summary) {
        let sums = self.0.state::<AuctionTally>().sums;
        let lost = |reason: LossReason| sums.lost[reason as usize];
        summary.put(&Auctions {
            auctions: sums.auctions,
            bids: sums.bids(),
            won: sums.won,
            no_room: lost(LossReason::NoRoom),
            no_data: lost(LossReason::NoData),
            behind: lost(LossReason::Behind),
        });
    }
}

fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(Auctions { auctions, bids, won, .. }) = summary.part() else { return Vec::new() };
    let bids = counted(bids, "bid");
    let text = format!("{} with {bids}, of which {} won; bids.csv lists them", count(auctions), count(won));
    vec![("auctions", text)]
}
