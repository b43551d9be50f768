//! Auctions of a market that records them: how many, the outcomes of bids, and one auction explained.

mod account;
pub(crate) mod bids;
mod fields;
mod figures;
mod records;
mod section;
mod tally;
#[cfg(test)]
pub(super) mod tests;

use self::account::AuctionAccount;
pub(crate) use self::bids::BIDS;
pub use self::figures::Auctions;
use self::figures::lines;
use self::tally::AuctionTally;
use super::{PLAIN, Subject, SubjectReport};
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};
use hansa_sim::systems::BidUnit;
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
        let unit = market.recorded_bids()?;
        let policy = market.main_policy();
        Some(Box::new(RecordedMarket { policy: policy.name.to_owned(), about: policy.about, unit }))
    }
}

impl SubjectReport for RecordedMarket {
    fn open_account<'a>(&'a self, tally: &'a Tally, _: bool) -> Box<dyn Account + 'a> {
        Box::new(AuctionAccount(tally))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        section::auction_section(self, page)
    }
}
