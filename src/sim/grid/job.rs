//! Jobs of dependent tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::encoded::EncodedJob;
use super::{Curve, SiteTime, SiteTimes, Speed, runtime_at};
use crate::kernel::ActorId;
use crate::time::{Span, Time};

/// Number of a job: its index over the run's workloads, in the order in which the topology names them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u32);

/// One task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    pub job: JobId,
    pub index: u32,
}

/// An edge: the transfer of one task's output to another task of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EdgeId {
    pub job: JobId,
    pub from: u32,
    pub to: u32,
}

/// A kind of core: an index into the topology's list of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kind(pub u16);

/// Work that is submitted as a unit, and is done when all its tasks are.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "EncodedJob")]
pub struct Job {
    pub id: JobId,
    /// Time of submission.
    pub arrive: Time,
    /// Number of tasks of the run's earlier jobs: task `i` of this job has the global number `first_task + i`.
    pub first_task: u32,
    /// In topological order: a task has a larger number than its predecessors.
    pub tasks: Vec<Task>,
    /// Edges, ascending by (from, to) and unique.
    pub edges: Vec<Edge>,
    /// Value for its user; `None` if the workload has no values.
    pub worth: Option<Worth>,
    /// Run times by site; None if each task has one run time for all sites.
    pub times: Option<SiteTimes>,
}

/// A rigid task: a number of cores of one kind for a fixed time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Run time at speed 1, or the least run time if it has one per site.
    pub runtime: Span,
    pub cores: u32,
    pub kind: Kind,
    /// Time requested by its user, for schedulers that rely on it; the run time if none was requested.
    pub walltime: Span,
}

impl Job {
    /// Run time of a task at a site of this speed; None if the task may not run there. A run time that is stated for
    /// the site does not depend on its speed.
    pub fn runtime_at(&self, task: usize, site: ActorId, speed: Speed) -> Option<Span> {
        runtime_at(self.times.as_ref(), task, self.tasks[task].runtime, site, speed)
    }

    /// Run times of a task by site; None if it has one for all sites.
    pub fn times_of(&self, task: usize) -> Option<&[SiteTime]> {
        self.times.as_ref()?.of(task)
    }
}

impl Task {
    /// A task whose run time is known.
    pub fn new(runtime: Span, cores: u32, kind: Kind) -> Task {
        Task { runtime, cores, kind, walltime: runtime }
    }
}

/// Task `to` needs the output of task `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Volume in bytes.
    pub data: u64,
}

impl EdgeId {
    /// Replaces a task: the site where the job's data is stored.
    pub const HOME: u32 = u32::MAX;

    /// Transfer of a job's input to its one task.
    pub fn for_input(job: JobId) -> EdgeId {
        EdgeId { job, from: EdgeId::HOME, to: 0 }
    }

    /// Transfer of the output of a job's one task back to its user.
    pub fn for_output(job: JobId) -> EdgeId {
        EdgeId { job, from: 0, to: EdgeId::HOME }
    }
}

impl Edge {
    /// An edge without data.
    pub fn new(from: u32, to: u32) -> Edge {
        Edge { from, to, data: 0 }
    }
}

/// The value of a job's result as it ages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// Value of a result that is in time.
    pub max: f64,
    pub curve: Curve,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// `12.3`: task 3 of job 12.
impl fmt::Display for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.to) {
            (EdgeId::HOME, to) => write!(f, "{}.home-{to}", self.job),
            (from, EdgeId::HOME) => write!(f, "{}.{from}-home", self.job),
            (from, to) => write!(f, "{}.{from}-{to}", self.job),
        }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.job.0, self.index)
    }
}
