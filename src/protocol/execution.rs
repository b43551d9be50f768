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
}

/// The site says that a task has ended; sent as of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub task: TaskId,
    pub started: Time,
}

impl Run {
    /// A task that starts at once ends after its runtime, and not sooner.
    pub fn reaction(&self) -> Reaction {
        Reaction::After(self.runtime)
    }
}

impl Ended {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}
