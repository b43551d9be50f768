//! LRTF: longest remaining time first.

use super::{BidPolicy, Bidder, Course, Instant, Row, Winner};

pub const ROW: Row =
    Row { name: "lrtf", about: "the longest remaining path to the end of the job", build: |_, _| Box::new(Lrtf) };

struct Lrtf;

impl BidPolicy for Lrtf {
    fn bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        bidder.rank.micros() as f64
    }

    fn winner(&self) -> Winner {
        Winner::Largest
    }

    fn course(&self) -> Course {
        Course::Fixed
    }
}
