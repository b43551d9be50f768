//! The records of auctions.

use super::tally::AuctionTally;
use crate::referee::record_table::records;
use hansa_sim::protocol::BidOutcome;
use hansa_sim::settings::format_counted;

records! { AuctionTally (book), (names)
    "auctioned" Auctioned { offers, bids } => auctioned, {
        let won = bids.iter().filter(|bid| matches!(bid.outcome, BidOutcome::Won(_))).count();
        let free: u64 = offers.iter().map(|offer| u64::from(offer.cores)).sum();
        format!(
            "holds an auction of {}: {}, of which {won} won", format_counted(free, "free core"),
            format_counted(bids.len() as u64, "bid"))
    };
}
