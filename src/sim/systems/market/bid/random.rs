//! Random: the baseline, a new draw for every task at every instant.

use super::{BidPolicy, BidPolicyRow, BidUnit, Bidder, Instant, Trend, Winner};
use crate::random::mix_bits;

pub const ROW: BidPolicyRow = BidPolicyRow {
    name: "random",
    about: "a new random draw at every instant",
    unit: BidUnit::Number,
    build: |_, seed| Box::new(Random { seed }),
};

struct Random {
    seed: u64,
}

impl Random {
    /// The common part of all draws of an instant.
    fn instant_bits(&self, at: &Instant) -> u64 {
        mix_bits(self.seed.wrapping_add(at.number))
    }
}

/// A draw of 53 bits, as many as a float holds.
fn draw_bits(instant: u64, number: u64) -> f64 {
    (mix_bits(instant ^ number) >> 11) as i64 as f64
}

impl BidPolicy for Random {
    /// Drawn by number instead of from a stream, so that the order in which bids are asked for does not matter.
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        draw_bits(self.instant_bits(at), u64::from(bidder.job.first_task) + bidder.task as u64)
    }

    fn draw_bids(&self, numbers: &[u64], at: &Instant, bids: &mut Vec<f64>) -> bool {
        let instant = self.instant_bits(at);
        bids.extend(numbers.iter().map(|&number| draw_bits(instant, number)));
        true
    }

    fn winner_rule(&self) -> Winner {
        Winner::Largest
    }

    fn bid_trend(&self) -> Trend {
        Trend::Redrawn
    }
}
