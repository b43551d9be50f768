//! P-SLR: the largest projected SLR, with a bonus for tasks that have waited longer than the longest queued job would
//! run.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "p-slr",
    about: "the largest projected SLR, with a quadratic term against starvation",
    unit: BidUnit::Number,
    build: |_, _| Box::new(PSlr),
};

struct PSlr;

impl BidPolicy for PSlr {
    /// One tick is added to the projected SLR, so that of two critical tasks that arrive together the smaller one goes
    /// first.
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        let age = bidder.age(at);
        let slr = (bidder.rank + age + at.tick).micros() as f64 / bidder.critical_path.micros() as f64;
        let starved = (age.micros() / at.longest_path.micros()) as f64;
        slr + starved * starved
    }

    fn winner_rule(&self) -> Winner {
        Winner::Largest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Rising
    }
}
