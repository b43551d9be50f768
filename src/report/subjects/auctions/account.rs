//! The account of auctions: their sums, which the tally has.

use super::Auctions;
use super::tally::AuctionTally;
use crate::referee::tally::JobRow;
use crate::results::account::Account;
use crate::subjects::auctions::tally::AuctionSums;
use crate::{Summary, Tally};
use hansa_sim::protocol::LossReason;
use hansa_sim::time::Time;

pub struct AuctionAccount<'a>(pub &'a Tally);

impl Account for AuctionAccount<'_> {
    fn job(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn add_uncounted(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn close(&mut self, summary: &mut Summary) {
        let sums = self.0.state::<AuctionTally>().sums;
        summary.put_part(&Auctions {
            auctions: sums.auctions,
            bids: sums.bids(),
            won: sums.won,
            no_room: lost_by(LossReason::NoRoom, sums),
            no_data: lost_by(LossReason::NoData, sums),
            behind: lost_by(LossReason::Behind, sums),
        });
    }
}

fn lost_by(reason: LossReason, sums: AuctionSums) -> u64 {
    sums.lost[reason as usize]
}
