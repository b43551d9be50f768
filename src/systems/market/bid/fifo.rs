//! FIFO: first in, first out.

use super::{BidPolicy, Bidder, Course, Instant, Row, Winner};

pub const ROW: Row = Row { name: "fifo", about: "the job that arrived first", build: |_, _| Box::new(Fifo) };

struct Fifo;

impl BidPolicy for Fifo {
    fn bid(&self, bidder: &Bidder<'_>, _: &Instant) -> f64 {
        bidder.job.arrive.micros() as f64
    }

    fn winner(&self) -> Winner {
        Winner::Smallest
    }

    fn course(&self) -> Course {
        Course::Fixed
    }
}
