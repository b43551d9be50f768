//! LRTF: longest remaining time first.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "lrtf",
    about: "the longest remaining path to the end of the job",
    unit: BidUnit::SpanMicros,
    build: |_, _| Box::new(Lrtf),
};

struct Lrtf;

impl BidPolicy for Lrtf {
    fn bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        bidder.rank.micros() as f64
    }

    fn winner(&self) -> Winner {
        Winner::Largest
    }

    fn trend(&self) -> Trend {
        Trend::Fixed
    }
}
