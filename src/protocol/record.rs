//! The records of the run's log: what happened, as the actor that it happened to tells it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Answer;
use crate::grid::{EdgeId, Invalid, Job, JobId, Needs, NodeSet, TaskId};
use crate::kernel::ActorId;
use crate::time::Time;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The router took in a job of a user.
    Arrived { job: Arc<Job>, user: ActorId },
    /// The router turned a job away: one of its tasks fits no site.
    Refused { job: Arc<Job>, user: ActorId, task: u32 },
    /// The router gave a task to a site.
    Assigned { task: TaskId, site: ActorId },
    /// A site started a task on these cores.
    Started { task: TaskId, cores: NodeSet },
    /// A site saw a task end.
    Finished { task: TaskId },
    /// The router saw the last task of a job end; `value` is what its user got for it, if it has a value curve.
    Completed { job: JobId, value: Option<f64> },
    /// The router gave a job up after its final deadline.
    Removed { job: JobId },
    /// The router turned a job away: with what it has promised already, the job would come too late.
    NotAdmitted { job: Arc<Job>, user: ActorId },
    /// The router answered a request for nodes between two times.
    Answered { job: JobId, ready: Time, deadline: Time, answer: Answer },
    /// A user took a request back in time.
    Cancelled { job: JobId },
    /// The router turned a job away that no queue will take.
    Rejected { job: Arc<Job>, user: ActorId, why: Invalid },
    /// A site ended a task that had had its walltime.
    Killed { task: TaskId },
    /// The router let data go from one site to another; it uses its links from `active` on.
    Sent { edge: EdgeId, from: ActorId, to: ActorId, bytes: u64, active: Time },
    /// All of that data has arrived.
    Delivered { edge: EdgeId },
    /// A site took a task off its cores, to go on later.
    Suspended { task: TaskId },
    /// A site let a suspended task go on, on these cores.
    Resumed { task: TaskId, cores: NodeSet },
    /// A site put a running task on other cores.
    Moved { task: TaskId, cores: NodeSet },
    /// A site gives a task this much of what it could use of its cores from now on; until then, all of it.
    Shared { task: TaskId, share: f64 },
    /// The router took a task back from the site that it had given it to; it has not run there.
    Withdrawn { task: TaskId },
    /// The parallel tasks of the job that has just arrived need only so much of their nodes.
    Needs { job: JobId, needs: Needs },
    /// Of the nodes that a site has just put a task on, these have one more of its parallel tasks than was told before.
    Stacked { task: TaskId, cores: NodeSet },
}

/// Who writes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Router,
    Site,
    User,
}

impl Record {
    /// The one role that writes records of this kind. Users write none: what they hand in, the router tells.
    ///
    /// Whether it was about a job or a task of theirs is for the report to see, which knows all that was told before.
    pub fn author(&self) -> Author {
        match self {
            Record::Started { .. }
            | Record::Finished { .. }
            | Record::Killed { .. }
            | Record::Suspended { .. }
            | Record::Resumed { .. }
            | Record::Moved { .. }
            | Record::Shared { .. }
            | Record::Stacked { .. } => Author::Site,
            Record::Arrived { .. }
            | Record::Refused { .. }
            | Record::NotAdmitted { .. }
            | Record::Rejected { .. }
            | Record::Assigned { .. }
            | Record::Answered { .. }
            | Record::Completed { .. }
            | Record::Removed { .. }
            | Record::Cancelled { .. }
            | Record::Sent { .. }
            | Record::Delivered { .. }
            | Record::Withdrawn { .. }
            | Record::Needs { .. } => Author::Router,
        }
    }

    /// What is wrong if somebody of this role has written it.
    pub fn written_by(&self, author: Author) -> Result<(), &'static str> {
        match self.author() {
            right if right == author => Ok(()),
            Author::Router => Err("a record that only the router writes"),
            Author::Site => Err("a record that only sites write"),
            Author::User => Err("a record that only users write"),
        }
    }
}
