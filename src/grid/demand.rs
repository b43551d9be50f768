//! What a task takes of each node that it is on.

use std::fmt;

/// A share of something, in billionths: whole numbers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

/// What a task takes of each of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// What it can use of the processors.
    pub cpu: Share,
    /// What it fills of the memory.
    pub memory: Share,
}

impl Share {
    pub const WHOLE: Share = Share(1_000_000_000);
    /// The largest that leaves something.
    pub const ALL_BUT_ALL: Share = Share(Share::WHOLE.0 - 1);

    /// The nearest share; `None` for what is none of a whole.
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
    /// A node to itself.
    pub const NODE: Demand = Demand { cpu: Share::WHOLE, memory: Share::WHOLE };
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.part())
    }
}
