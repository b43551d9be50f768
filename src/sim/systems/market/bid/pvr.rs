//! PVR: the smallest projected remaining value, the area under the rest of the value curve. A task that can no longer
//! earn anything goes first; the removal of jobs limits the harm.

use super::super::rules::Pvr as Units;
use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "pvr",
    about: "the smallest projected remaining value",
    unit: BidUnit::Number,
    build: |market, _| Box::new(Pvr { units: market.pvr }),
};

struct Pvr {
    units: Units,
}

impl BidPolicy for Pvr {
    /// A job without a value curve can wait for ever.
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        let Some(worth) = &bidder.job.worth else { return f64::INFINITY };
        let remaining = worth.curve.remaining(bidder.projected_slr(at));
        match self.units {
            Units::Value => worth.max * remaining,
            Units::Factor => remaining,
        }
    }

    fn winner_rule(&self) -> Winner {
        Winner::Smallest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Falling
    }
}
