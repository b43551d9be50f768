//! Processor time and its cost.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use crate::time::{Seconds, Span};

/// Processors times time, exact to the processor-microsecond: usage, capacity losses and payments. Saturates at its
/// maximum, which nothing real comes near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Area(u64);

/// Price of a processor, in thousandths of the best-effort price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rate(pub u32);

impl Area {
    pub const ZERO: Area = Area(0);
    pub const MAX: Area = Area(u64::MAX);

    pub const fn of(procs: u32, span: Span) -> Area {
        Area((procs as u64).saturating_mul(span.micros()))
    }

    pub const fn from_micros(micros: u64) -> Area {
        Area(micros)
    }

    pub const fn micros(self) -> u64 {
        self.0
    }

    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Cost at a rate.
    pub fn cost_at(self, rate: Rate) -> Area {
        self.part(rate.0)
    }

    /// This many thousandths of the area.
    pub fn part(self, thousandths: u32) -> Area {
        let product = u128::from(self.0) * u128::from(thousandths) / 1_000;
        Area(u64::try_from(product).unwrap_or(u64::MAX))
    }

    pub const fn saturating_sub(self, other: Area) -> Area {
        Area(self.0.saturating_sub(other.0))
    }

    /// Processor-seconds, for statistics.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Rate {
    pub const ONE: Rate = Rate(1_000);
}

impl Add for Area {
    type Output = Area;

    fn add(self, other: Area) -> Area {
        Area(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Area {
    fn add_assign(&mut self, other: Area) {
        *self = *self + other;
    }
}

impl Sum for Area {
    fn sum<I: Iterator<Item = Area>>(areas: I) -> Area {
        areas.fold(Area::ZERO, Add::add)
    }
}

/// Displays processor-seconds, exact.
impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds: Seconds = Span::from_micros(self.0).seconds();
        seconds.fmt(f)
    }
}
