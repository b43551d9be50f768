//! Router to site and back: run this task; it has ended.

use serde::{Deserialize, Serialize};

use crate::grid::TaskId;
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
