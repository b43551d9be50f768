//! FIFO: first in, first out.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "fifo",
    about: "the job that arrived first",
    unit: BidUnit::TimeMicros,
    build: |_, _| Box::new(Fifo),
};

struct Fifo;

impl BidPolicy for Fifo {
    fn compute_bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        bidder.job.arrive.micros() as f64
    }

    fn winner_rule(&self) -> Winner {
        Winner::Smallest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Fixed
    }
}
