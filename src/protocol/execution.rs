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
    /// Set if nodes may fail: the task is not lost earlier than this long after its arrival, which bounds the reaction.
    pub safe: Option<Span>,
    /// Cores that a plan assigns, as numbers of the site; empty if there is no plan.
    pub planned: NodeSet,
}

/// End of a task, sent by its site as of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    pub task: TaskId,
    pub started: Time,
}

/// Loss of a task as one of its nodes failed, sent by its site as of that moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lost {
    pub task: TaskId,
    pub started: Time,
    /// Saved part of its work.
    pub saved: Span,
}
