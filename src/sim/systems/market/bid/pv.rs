//! PV: the largest projected value.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "pv",
    about: "the largest projected value",
    unit: BidUnit::Number,
    build: |_, _| Box::new(Pv),
};

struct Pv;

impl BidPolicy for Pv {
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        bidder.projected_value(at)
    }

    fn winner_rule(&self) -> Winner {
        Winner::Largest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Falling
    }
}
