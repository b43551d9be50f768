//! Router to site and back: run this task; it has ended.

use serde::{Deserialize, Serialize};

use crate::grid::TaskId;
use crate::kernel::Reaction;
use crate::time::{Span, Time};

/// The router gives a task to a site.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub task: TaskId,
    pub cores: u32,
    pub runtime: Span,
    /// Where nodes may fail: for how long after it comes none does, so that nobody hears of its loss sooner.
    pub safe: Option<Span>,
}

/// The site says that a task has ended; sent as of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub task: TaskId,
    pub started: Time,
}

/// The site says that a node of a task has failed, and with it the task; sent as of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    pub task: TaskId,
    pub started: Time,
    /// How much of its work is saved.
    pub saved: Span,
}

impl Run {
    /// A task that starts at once ends after its runtime, and not sooner; it may be lost as soon as a node fails.
    pub fn reaction(&self) -> Reaction {
        Reaction::After(self.safe.map_or(self.runtime, |safe| safe.min(self.runtime)))
    }
}

impl Lost {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}

impl Ended {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}
