//! PVDSQ: the squared density of projected value.
//!
//! Taken literally this orders tasks as PVD does, as no density is negative, though the paper reports other results for
//! it. Squaring only the remaining work gives the behaviour that the paper describes, and is the default.

use super::super::rules::Pvdsq as Squared;
use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "pvdsq",
    about: "the largest projected value per remaining core-tick squared",
    unit: BidUnit::Number,
    build: |market, _| Box::new(Pvdsq { squared: market.pvdsq }),
};

struct Pvdsq {
    squared: Squared,
}

impl BidPolicy for Pvdsq {
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        let density = bidder.projected_value(at) / bidder.successor_work;
        match self.squared {
            Squared::ResourceSquared => density / bidder.successor_work,
            Squared::Literal => density * density,
        }
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
