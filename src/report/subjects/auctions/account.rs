//! The account of auctions: their sums, which the tally has.

use super::Auctions;
use super::tally::AuctionTally;
use crate::referee::tally::JobRow;
use crate::results::account::Account;
use crate::{Summary, Tally};
use hansa_sim::protocol::LossReason;
use hansa_sim::time::Time;

pub struct AuctionAccount<'a>(pub &'a Tally);

impl Account for AuctionAccount<'_> {
    fn job(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn add_uncounted(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn close(&mut self, summary: &mut Summary) {
        let sums = self.0.state::<AuctionTally>().sums;
        let lost = |reason: LossReason| sums.lost[reason as usize];
        summary.put_part(&Auctions {
            auctions: sums.auctions,
            bids: sums.bids(),
            won: sums.won,
            no_room: lost(LossReason::NoRoom),
            no_data: lost(LossReason::NoData),
            behind: lost(LossReason::Behind),
        });
    }
}
