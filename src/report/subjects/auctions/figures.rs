//! The numbers of auctions: the part of a summary, and its line.

use serde::{Deserialize, Serialize};

use crate::{Summary, SummaryPart};
use hansa_sim::numerals::{format_count, format_counted};

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

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(Auctions { auctions, bids, won, .. }) = summary.read_part() else { return Vec::new() };
    let bids = format_counted(bids, "bid");
    let text =
        format!("{} with {bids}, of which {} won; bids.csv lists them", format_count(auctions), format_count(won));
    vec![("auctions", text)]
}
