//! The records of jobs that share nodes, pause or move.

use super::tally::SharingTally;
use crate::referee::record_table::records;
use hansa_sim::grid::Needs;

records! { SharingTally (book), (names)
    "suspended" Suspended { task } => suspended, format!("suspends task {task}");
    "resumed" Resumed { task, cores } => resumed, format!("resumes task {task} on cores {cores}");
    "moved" Moved { task, cores } => moved, format!("moves task {task} to cores {cores}");
    "shared" Shared { task, share } => shared, format!("gives task {task} a yield of {share}");
    "stacked" Stacked { task, cores } => stacked, format!("puts another part of task {task} on cores {cores}");
    "needs" Needs { job, needs } => needs, {
        let Needs { cpu, memory } = needs;
        format!("is told that tasks of job {job} need {cpu} of a node's processors and {memory} of its memory")
    };
}
