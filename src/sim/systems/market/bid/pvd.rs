//! PVD: the largest projected value per remaining work.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "pvd",
    about: "the largest projected value per remaining core-tick",
    unit: BidUnit::Number,
    build: |_, _| Box::new(Pvd),
};

struct Pvd;

impl BidPolicy for Pvd {
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        bidder.projected_value(at) / bidder.successor_work
    }

    fn winner_rule(&self) -> Winner {
        Winner::Largest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Falling
    }

    fn weighs_successors(&self) -> bool {
        true
    }
}
