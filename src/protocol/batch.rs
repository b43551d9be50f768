//! Batch queues: a user hands a job in, the dispatcher passes it on to a site, and users hear of what they wait for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grid::{Job, JobId, Kind, Needs, Staging, TaskId};
use crate::kernel::ActorId;
use crate::time::Span;

/// A user hands in a job of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Enqueue {
    pub job: Arc<Job>,
    /// The only site that it may go to, if its user has chosen.
    pub site: Option<ActorId>,
    /// The kind of core that it needs; none if it does not say.
    pub kind: Option<Kind>,
    /// Its user wants to hear of its end, for something is to be handed in this long after it.
    pub think: Option<Span>,
    /// What each of its task's cores stands for needs of its node, if it does not need all of it.
    pub needs: Option<Needs>,
    /// The data that goes with it, if any does.
    pub staging: Option<Staging>,
}

/// The dispatcher puts a job into the queue of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    pub job: JobId,
    pub nodes: u32,
    /// What the site's policy knows.
    pub walltime: Span,
    /// What only the job itself knows.
    pub runtime: Span,
    /// How often it has been lost already.
    pub losses: u32,
    /// Where nodes may fail: for how long after it comes none does, so that nobody hears of its loss sooner.
    pub safe: Option<Span>,
}

/// The dispatcher gives a job to a site whose jobs share its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Admit {
    pub job: JobId,
    /// Parallel tasks.
    pub tasks: u32,
    /// What each of them needs of its node.
    pub needs: Needs,
    /// How long it would run on nodes of its own, which only the job itself knows.
    pub runtime: Span,
    /// How often it has been lost already.
    pub losses: u32,
}

/// The dispatcher gives a job to a site for which a program outside decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrust {
    pub job: JobId,
    pub nodes: u32,
    /// What the program knows.
    pub walltime: Span,
    /// What only the job itself knows.
    pub runtime: Span,
    /// How often it has been lost already.
    pub losses: u32,
}

/// Such a site does not take a job that it has been given: it has not run there and will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    pub task: TaskId,
}

/// A job is over that its user waits for, in whatever way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnded {
    pub job: JobId,
    pub think: Span,
}

impl Queue {
    /// How long the job holds its nodes: at its walltime it is killed.
    pub fn lasts(&self) -> Span {
        self.runtime.min(self.walltime)
    }
}
