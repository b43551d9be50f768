//! Types of time for flows: floating point, or fixed point with the same resolution at any time.

use std::fmt::Debug;

use crate::time::Time;

/// A point of time at or after zero. Lengths of time are `f64` in the same unit.
pub trait FlowTime: Copy + PartialOrd + Debug {
    /// Sort key, in the order of time.
    type Key: Copy + Ord + Debug;

    const START: Self;
    /// Key of an event that does not happen; later than all other keys.
    const NEVER: Self::Key;

    fn sort_key(self) -> Self::Key;
    fn from_key(key: Self::Key) -> Self;

    /// Time `span` later; `span` is not negative.
    fn later_by(self, span: f64) -> Self;

    /// Time since an earlier time; zero or less if `earlier` is not earlier.
    fn elapsed_since(self, earlier: Self) -> f64;
}

/// Time in any unit. Its resolution is relative to its distance from zero.
impl FlowTime for f64 {
    /// The bits of the number: they sort like the numbers, as none is negative.
    type Key = u64;

    const START: f64 = 0.0;
    const NEVER: u64 = f64::INFINITY.to_bits();

    fn sort_key(self) -> u64 {
        super::sortable_bits(self)
    }

    fn from_key(key: u64) -> f64 {
        f64::from_bits(key)
    }

    fn later_by(self, span: f64) -> f64 {
        self + span
    }

    fn elapsed_since(self, earlier: f64) -> f64 {
        self - earlier
    }
}

/// Virtual time in fixed point: whole microseconds in the upper 64 bits, the fraction in the lower 64.
///
/// Only differences of moments are floating-point numbers. So the behaviour of flows depends on the time between their
/// releases and not on the distance from zero, and shifting all releases by whole microseconds shifts all ends by
/// exactly as much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowMoment(u128);

/// Units of a [`FlowMoment`] per microsecond.
const PARTS_PER_MICRO: f64 = (1u128 << 64) as f64;

impl FlowMoment {
    /// The last moment. Later ones are clamped to it.
    const LAST: FlowMoment = FlowMoment(u128::MAX - 1);

    /// First whole microsecond at or after this moment; a fraction of up to `forgiven` microseconds is rounded down.
    pub fn round_up(self, forgiven: f64) -> Time {
        let whole = (self.0 >> 64) as u64;
        let part = self.0 as u64;
        Time::from_micros(whole.saturating_add(u64::from(part as f64 > forgiven * PARTS_PER_MICRO)))
    }
}

impl From<Time> for FlowMoment {
    fn from(time: Time) -> FlowMoment {
        FlowMoment(u128::from(time.micros()) << 64)
    }
}

impl FlowTime for FlowMoment {
    type Key = u128;

    const START: FlowMoment = FlowMoment(0);
    const NEVER: u128 = u128::MAX;

    fn sort_key(self) -> u128 {
        self.0
    }

    fn from_key(key: u128) -> FlowMoment {
        FlowMoment(key)
    }

    fn later_by(self, span: f64) -> FlowMoment {
        // Scaling by a power of two is exact, and the conversion saturates.
        FlowMoment(self.0.saturating_add((span * PARTS_PER_MICRO) as u128)).min(FlowMoment::LAST)
    }

    fn elapsed_since(self, earlier: FlowMoment) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / PARTS_PER_MICRO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_the_same_resolution_at_the_end_of_time() {
        for start in [0, 1 << 53, Time::LATEST.micros()].map(Time::from_micros) {
            let start_of = FlowMoment::from(start);
            let later = start_of.later_by(2.25);
            assert_eq!(later.elapsed_since(start_of), 2.25);
            assert_eq!(start_of.elapsed_since(later), 0.0);
            let rounded = |span: f64| start_of.later_by(span).round_up(1e-3).since(start).micros();
            assert_eq!([0.0, 1e-4, 0.002, 1.0, 2.25, 3.0005].map(rounded), [0, 0, 1, 1, 3, 3]);
        }
    }

    #[test]
    fn times_after_the_last_moment_are_clamped_to_it() {
        for span in [1e19, 1e300, f64::INFINITY] {
            let last = FlowMoment::from(Time::LATEST).later_by(span);
            assert_eq!(last, FlowMoment::LAST);
            assert!(last.sort_key() < FlowMoment::NEVER);
            assert_eq!(last.round_up(1e-3), Time::NEVER);
        }
    }
}
