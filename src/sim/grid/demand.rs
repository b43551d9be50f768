//! Resources that a task takes of each of its nodes.

use std::fmt;

/// A fraction of a whole, in billionths: integers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

/// Resources that a task takes of each of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Processor share that it can use.
    pub cpu: Share,
    /// Memory share that it fills.
    pub memory: Share,
}

impl Share {
    pub const WHOLE: Share = Share(1_000_000_000);
    /// The largest share below a whole node.
    pub const ALL_BUT_ALL: Share = Share(Share::WHOLE.0 - 1);

    /// Nearest share; `None` for values outside of 0 to 1.
    pub fn of(part: f64) -> Option<Share> {
        let billionths = part * f64::from(Share::WHOLE.0);
        ((0.0..=1.0).contains(&part)).then(|| Share(billionths.round() as u32))
    }

    pub fn part(self) -> f64 {
        f64::from(self.0) / f64::from(Share::WHOLE.0)
    }

    pub fn billionths(self) -> u64 {
        self.0.into()
    }
}

impl Demand {
    /// A whole node.
    pub const NODE: Demand = Demand { cpu: Share::WHOLE, memory: Share::WHOLE };
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.part())
    }
}
