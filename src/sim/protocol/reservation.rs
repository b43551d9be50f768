//! Reservations: a user requests and cancels, the meta-scheduler answers and tells a site which nodes to hold.
//!
//! Where a site gets work from no other source, the meta-scheduler that books its nodes knows their state: the site
//! *holds* as ordered and need not answer, so nothing waits for it. Where a site has a queue too, only it knows what
//! runs there: it is asked to *book*, and answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Invalid, Job, JobId, JobShape, NodeSet, Staging, TaskId};
use crate::kernel::{ActorId, Reaction};
use crate::time::{Span, Time};

/// Request of a user for the nodes of a job's one task, for its walltime, between two times; or for one of its other
/// shapes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reserve {
    pub job: Arc<Job>,
    pub ready: Time,
    pub deadline: Time,
    /// All shapes of a malleable job, first that of its task; empty if it has only that.
    pub shapes: Vec<JobShape>,
    /// Data of the job; `None` if it has none.
    pub staging: Option<Staging>,
}

/// Cancellation of a request by its user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancel {
    pub job: JobId,
}

/// Outcome of a request, sent by the meta-scheduler to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    pub job: JobId,
    pub answer: ReserveAnswer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReserveAnswer {
    Accepted {
        site: ActorId,
        start: Time,
        nodes: NodeSet,
    },
    /// The request is valid, but there is no room.
    Declined,
    Invalid(Invalid),
}

/// Start of a task at a fixed time on exactly these nodes, sent by the meta-scheduler to a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    pub task: TaskId,
    pub start: Time,
    pub nodes: NodeSet,
    pub runtime: Span,
    /// The task is killed at its walltime, as its nodes are booked for no longer.
    pub walltime: Span,
    /// Set if nodes may fail, or if other tasks may start because of this message: none of them is lost or ends earlier
    /// than this long after its arrival, which bounds the reaction.
    pub safe: Option<Span>,
}

impl Hold {
    /// The task starts at its time or not at all. If nodes may fail, others may be lost or ended sooner.
    pub fn reaction(&self) -> Reaction {
        let lasts = self.runtime.min(self.walltime);
        match self.safe {
            None => Reaction::Until(self.start + lasts),
            Some(safe) => Reaction::After(safe.min(lasts)),
        }
    }
}

/// Withdrawal of a task that has not started, by the meta-scheduler; its site's report of its end is void.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Withdraw {
    pub task: TaskId,
}

/// Request to a site with a queue to start a task at a fixed time on exactly these nodes, and to keep them for its
/// walltime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    pub task: TaskId,
    pub start: Time,
    pub nodes: NodeSet,
    /// Known to the site's queue, which plans around it.
    pub walltime: Span,
    /// Run time, which only the task itself knows.
    pub runtime: Span,
    /// True if the task must not start before [`Provided`] arrives; the nodes are kept for it all the same.
    pub awaits_input: bool,
}

/// Arrival of the input of a booked task: it may start, in the rest of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    pub task: TaskId,
}

/// Answer to [`Book`]. If granted, the site also reports the end of the task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booked {
    pub task: TaskId,
    pub granted: bool,
    /// If refused: nodes free for that time, from which others could be chosen; empty if there are too few.
    pub free: NodeSet,
}

/// Runs of nodes that suffice for a choice: the fragments of a large site would not fit into a frame.
const RUNS_NAMED: usize = 1024;

impl Booked {
    pub fn granted(task: TaskId) -> Booked {
        Booked { task, granted: true, free: NodeSet::default() }
    }

    /// Refusal that names the lowest of the free nodes.
    pub fn refused(task: TaskId, free: &NodeSet) -> Booked {
        Booked { task, granted: false, free: free.lowest_runs(RUNS_NAMED) }
    }
}

/// Recall of a queued or booked task by its sender, from a site with a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    pub task: TaskId,
}

/// Answer to a recall. If it was in time, the task has not run and will not, and any report of its end is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    pub task: TaskId,
    pub in_time: bool,
    /// Losses so far, if sites count them: the next site continues from there.
    pub losses: u32,
}

/// Release of the rest of a booking whose task was lost at a site with a queue, by the sender of the booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    pub task: TaskId,
}
