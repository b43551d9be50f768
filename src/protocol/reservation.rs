//! Reservations: a user asks and takes back, the meta-scheduler answers, and tells a site what to hold.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Invalid, Job, JobId, NodeSet, TaskId};
use crate::kernel::{ActorId, Reaction};
use crate::time::{Span, Time};

/// A user asks for the nodes of a job's one task, for its walltime, between two times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reserve {
    pub job: Arc<Job>,
    pub ready: Time,
    pub deadline: Time,
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
    pub answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
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
}

/// The meta-scheduler takes back a task that has not started; whatever its site has said about its end is void.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Withdraw {
    pub task: TaskId,
}

impl Reserve {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}

impl Cancel {
    pub fn reaction(&self) -> Reaction {
        Reaction::Now
    }
}

impl Answered {
    /// Users ask by their own calendar.
    pub fn reaction(&self) -> Reaction {
        Reaction::Never
    }
}

impl Hold {
    /// A task starts when it is told of or later, and ends after its runtime.
    pub fn reaction(&self) -> Reaction {
        Reaction::After(self.runtime)
    }
}

impl Withdraw {
    pub fn reaction(&self) -> Reaction {
        Reaction::Never
    }
}
