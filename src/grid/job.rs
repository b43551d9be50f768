//! Jobs of dependent tasks.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Curve;
use crate::time::{Span, Time};

/// A job's number: its place in the run's workloads, in the order the topology names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u32);

/// One task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TaskId {
    pub job: JobId,
    pub index: u32,
}

/// The way of one task's output to another task of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EdgeId {
    pub job: JobId,
    pub from: u32,
    pub to: u32,
}

/// A kind of core: an index into the topology's list of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Kind(pub u16);

/// Work that is submitted as one, and is done when all its tasks are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    /// When its user submits it.
    pub arrive: Time,
    /// How many tasks the run's earlier jobs have: task `i` of this job has the global number `first_task + i`.
    pub first_task: u32,
    /// In topological order: a task's number is larger than those of its predecessors.
    pub tasks: Vec<Task>,
    /// Ascending by (from, to), none twice.
    pub edges: Vec<Edge>,
    /// What it is worth to its user; `None` where the workload has no notion of value.
    pub worth: Option<Worth>,
}

/// A rigid piece of work: so many cores of one kind for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub runtime: Span,
    pub cores: u32,
    pub kind: Kind,
    /// The time that its user asks for, where anybody counts on that; its runtime where nobody was asked.
    pub walltime: Span,
}

impl Task {
    /// A task whose run time is known.
    pub fn new(runtime: Span, cores: u32, kind: Kind) -> Task {
        Task { runtime, cores, kind, walltime: runtime }
    }
}

/// Task `to` needs what task `from` has produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Bytes.
    pub data: u64,
}

impl EdgeId {
    /// In the place of a task: where the job's data is at home.
    pub const HOME: u32 = u32::MAX;

    /// The way of a job's input to its one task.
    pub fn input(job: JobId) -> EdgeId {
        EdgeId { job, from: EdgeId::HOME, to: 0 }
    }

    /// The way of what its one task has produced back to its user.
    pub fn output(job: JobId) -> EdgeId {
        EdgeId { job, from: 0, to: EdgeId::HOME }
    }
}

impl Edge {
    /// An edge along which nobody counts the bytes.
    pub fn new(from: u32, to: u32) -> Edge {
        Edge { from, to, data: 0 }
    }
}

/// The value of a job's result as it ages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The value of a result that comes early enough.
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
