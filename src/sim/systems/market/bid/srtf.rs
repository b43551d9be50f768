//! SRTF: shortest remaining time first.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "srtf",
    about: "the shortest remaining path to the end of the job",
    unit: BidUnit::SpanMicros,
    build: |_, _| Box::new(Srtf),
};

struct Srtf;

impl BidPolicy for Srtf {
    fn compute_bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        bidder.rank.micros() as f64
    }

    fn winner_rule(&self) -> Winner {
        Winner::Smallest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Fixed
    }
}
