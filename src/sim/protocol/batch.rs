//! Batch queues: a user submits a job, the dispatcher passes it on to a site, and the user learns of the end of jobs
//! that it waits for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Job, JobId, Kind, Needs, Staging, TaskId};
use crate::kernel::ActorId;
use crate::time::Span;

/// Submission of a job of one task by a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enqueue {
    pub job: Arc<Job>,
    /// The only eligible site, if the user has chosen one.
    pub site: Option<ActorId>,
    /// Kind of core that the job needs; `None` for any.
    pub kind: Option<Kind>,
    /// Think time: the user is to be informed of the job's end, as it submits another job this long after it.
    pub think: Option<Span>,
    /// Needs per core of each task; `None` if it needs whole nodes.
    pub needs: Option<Needs>,
    /// Data of the job; `None` if it has none.
    pub staging: Option<Staging>,
}

/// Placement of a job in the queue of a site by the dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub job: JobId,
    pub nodes: u32,
    /// Requested time, which the site's policy knows.
    pub walltime: Span,
    /// Run time, which only the job itself knows.
    pub runtime: Span,
    /// Number of times that the job has been lost before.
    pub losses: u32,
    /// Set if nodes may fail, or if other jobs may start because of this one: none of them is lost or ends earlier than
    /// this long after the arrival of the job, which bounds the reaction.
    pub safe: Option<Span>,
}

/// Placement of a job at a site whose jobs share its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Admit {
    pub job: JobId,
    /// Number of parallel tasks.
    pub tasks: u32,
    /// Needs of each task.
    pub needs: Needs,
    /// Run time on nodes of its own, known only to the job itself.
    pub runtime: Span,
    /// Number of times that the job has been lost before.
    pub losses: u32,
}

/// Placement of a job at a site that an external program manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrust {
    pub job: JobId,
    pub nodes: u32,
    /// Requested time, which the program knows.
    pub walltime: Span,
    /// Run time, which only the job itself knows.
    pub runtime: Span,
    /// Number of times that the job has been lost before.
    pub losses: u32,
}

/// Refusal by an externally managed site of a job placed there: it has not run there and will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    pub task: TaskId,
}

/// End, of any kind, of a job that its user waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnded {
    pub job: JobId,
    pub think: Span,
}

impl Queue {
    /// Time that the job holds its nodes; it is killed at its walltime.
    pub fn held_time(&self) -> Span {
        self.runtime.min(self.walltime)
    }
}
