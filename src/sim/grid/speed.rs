//! Speeds of sites.

use crate::time::Span;

/// Speed of a site, in millionths: a task takes its run time divided by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(pub u64);

impl Speed {
    pub const USUAL: Speed = Speed(1_000_000);

    /// Duration of this work, rounded to the nearest microsecond, and at least one.
    pub fn time(self, work: Span) -> Span {
        let work = u128::from(work.micros()) * 1_000_000;
        let speed = u128::from(self.0.max(1));
        Span::from_micros(u64::try_from((work + speed / 2) / speed).unwrap_or(u64::MAX).max(1))
    }

    /// Work that is done in this time, rounded down to a microsecond.
    pub fn work(self, time: Span) -> Span {
        let work = u128::from(time.micros()) * u128::from(self.0) / 1_000_000;
        Span::from_micros(u64::try_from(work).unwrap_or(u64::MAX))
    }
}
