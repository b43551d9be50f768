//! EDF: earliest deadline first. The paper does not say which deadline; it is that of the value curve, and an option
//! selects its initial or final one.

use super::super::rules::EdfDeadline;
use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};
use crate::systems::market::figures::span_ticks;
use crate::time::Time;

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "edf",
    about: "the earliest deadline of the job",
    unit: BidUnit::Number,
    build: |market, _| Box::new(Edf { deadline: market.edf }),
};

struct Edf {
    deadline: EdfDeadline,
}

impl BidPolicy for Edf {
    /// A job without a value curve has no deadline.
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        let Some(worth) = &bidder.job.worth else { return f64::INFINITY };
        let slr = match self.deadline {
            EdfDeadline::Initial => worth.curve.initial(),
            EdfDeadline::Final => worth.curve.final_(),
        };
        span_ticks(bidder.job.arrive.since(Time::ZERO), at.tick) + slr * span_ticks(bidder.critical_path, at.tick)
    }

    fn winner_rule(&self) -> Winner {
        Winner::Smallest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Fixed
    }
}
