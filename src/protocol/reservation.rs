//! Reservations: a user asks and takes back, the meta-scheduler answers, and tells a site what to hold.
//!
//! Where nobody else gives a site work, whoever books its nodes knows all about it: a site *holds* what it is told to,
//! and need not answer, so nobody waits for it. Where a site has a queue too, only it knows what runs there: it is
//! asked to *book*, and answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Invalid, Job, JobId, NodeSet, Staging, TaskId};
use crate::kernel::ActorId;
use crate::time::{Span, Time};

/// A user asks for the nodes of a job's one task, for its walltime, between two times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reserve {
    pub job: Arc<Job>,
    pub ready: Time,
    pub deadline: Time,
    /// The data that goes with it, if any does.
    pub staging: Option<Staging>,
}

/// A user takes a request back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancel {
    pub job: JobId,
}

/// The meta-scheduler tells a user what became of a request.
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
    /// It makes sense, but there is no room.
    Declined,
    Invalid(Invalid),
}

/// The meta-scheduler gives a task to a site, which starts it then and on exactly these nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    pub task: TaskId,
    pub start: Time,
    pub nodes: NodeSet,
    pub runtime: Span,
    /// At its end the task is killed: nodes are only booked for so long.
    pub walltime: Span,
    /// Where nodes may fail: for how long after it comes none does, so that nobody hears of its loss sooner.
    pub safe: Option<Span>,
}

/// The meta-scheduler takes back a task that has not started; whatever its site has said about its end is void.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Withdraw {
    pub task: TaskId,
}

/// Somebody asks a site with a queue to start a task then and on exactly these nodes, and to keep them for its
/// walltime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Book {
    pub task: TaskId,
    pub start: Time,
    pub nodes: NodeSet,
    /// What the site's queue plans around.
    pub walltime: Span,
    /// What only the task itself knows.
    pub runtime: Span,
    /// It is not to start before it is told that the task's input is there; the nodes are kept for it all the same.
    pub awaits_input: bool,
}

/// The input of a booked task is there: it may start, in what is left of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provided {
    pub task: TaskId,
}

/// The site says whether it will. If so, it also says when the task ends, in its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booked {
    pub task: TaskId,
    pub granted: bool,
    /// If not: from which nodes others could be chosen for that time; none, if the site knows of too few.
    pub free: NodeSet,
}

/// Of so many runs of nodes a choice is good enough: what is scattered over a large site would not fit into a frame.
const RUNS_NAMED: usize = 1024;

impl Booked {
    pub fn granted(task: TaskId) -> Booked {
        Booked { task, granted: true, free: NodeSet::default() }
    }

    /// With the lowest of the nodes that are free.
    pub fn refused(task: TaskId, free: &NodeSet) -> Booked {
        Booked { task, granted: false, free: free.lowest_runs(RUNS_NAMED) }
    }
}

/// Whoever gave a task to a site with a queue takes it back, be it queued or booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recall {
    pub task: TaskId,
}

/// The site says whether it was in time: then the task has not run and will not, and whatever has been said about its
/// end is void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalled {
    pub task: TaskId,
    pub in_time: bool,
    /// How often it has been lost so far, if it is for sites to count that: whoever gets it next goes on from there.
    pub losses: u32,
}

/// A task that was booked at a site with a queue has been lost there, and whoever booked its nodes does not want what
/// is left of their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    pub task: TaskId,
}
