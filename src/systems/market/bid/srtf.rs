//! SRTF: shortest remaining time first.

use super::{BidPolicy, Bidder, Course, Instant, Row, Winner};

pub const ROW: Row =
    Row { name: "srtf", about: "the shortest remaining path to the end of the job", build: |_, _| Box::new(Srtf) };

struct Srtf;

impl BidPolicy for Srtf {
    fn bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        bidder.rank.micros() as f64
    }

    fn winner(&self) -> Winner {
        Winner::Smallest
    }

    fn course(&self) -> Course {
        Course::Fixed
    }
}
