//! The account of offers: their sums, which the tally has.

use super::Offers;
use super::tally::OfferTally;
use crate::referee::tally::JobRow;
use crate::results::account::Account;
use crate::{Summary, Tally};
use hansa_sim::time::Time;

pub struct OfferAccount<'a>(pub &'a Tally);

impl Account for OfferAccount<'_> {
    fn job(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn add_uncounted(&mut self, _: &JobRow, _: &[Option<Time>]) {}

    fn close(&mut self, summary: &mut Summary) {
        let sums = self.0.state::<OfferTally>().sums;
        let age_mean = if sums.given == 0 { 0.0 } else { sums.ages as f64 / sums.given as f64 / 1e6 };
        let (offers, given, age_max) = (sums.offers, sums.given, sums.age_max as f64 / 1e6);
        summary.put_part(&Offers { offers, given, age_mean, age_max });
    }
}
