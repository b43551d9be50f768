//! Random: the yardstick, a new draw for every task at every instant.

use super::{BidPolicy, Bidder, Course, Entry, Instant, Winner};
use crate::random::mix;

pub const ENTRY: Entry =
    Entry { name: "random", about: "a new draw at every instant", build: |_, seed| Box::new(Random { seed }) };

struct Random {
    seed: u64,
}

impl BidPolicy for Random {
    /// Drawn by number instead of from a stream, so that the order in which bids are asked for does not matter.
    fn bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64 {
        let task = u64::from(bidder.job.first_task) + bidder.task as u64;
        // 53 bits: what a float holds.
        (mix(mix(self.seed.wrapping_add(at.number)) ^ task) >> 11) as f64
    }

    fn winner(&self) -> Winner {
        Winner::Largest
    }

    fn course(&self) -> Course {
        Course::Redrawn
    }
}
