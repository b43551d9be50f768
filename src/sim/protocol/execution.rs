//! Router to site and back: run a task; the task has ended.

use serde::{Deserialize, Serialize};

use crate::grid::{NodeSet, TaskId};
use crate::time::{Span, Time};

/// Start of a task at a site, sent by the router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub task: TaskId,
    pub cores: u32,
    pub runtime: Span,
    /// Set if nodes may fail, or if other tasks may start because of this message: none of them is lost or ends earlier
    /// than this long after its arrival, which bounds the reaction.
    pub safe: Option<Span>,
    /// Cores that a plan assigns, as numbers of the site; empty if there is no plan.
    pub planned: NodeSet,
}

impl Run {
    /// Time and content of the message on the task's end, if it starts on arrival and nothing stops it. None if the
    /// task is empty, or a node may fail before.
    pub fn foretold(&self, arrival: Time) -> Option<(Time, Ended)> {
        let is_certain = self.safe.is_none() && self.cores > 0 && !self.runtime.is_zero();
        is_certain.then(|| (arrival + self.runtime, Ended { task: self.task, started: arrival }))
    }
}

/// End of a task. Its site may send the message ahead of time, but stamps it with the time of the end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub task: TaskId,
    pub started: Time,
}

/// Loss of a task because one of its nodes failed. Its site stamps the message with the time of the failure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    pub task: TaskId,
    pub started: Time,
    /// Part of its work that checkpoints have saved.
    pub saved: Span,
}
