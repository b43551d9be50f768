//! How good a schedule was. Section 5 of the paper.

use serde::{Deserialize, Serialize};

use super::{Changes, Need, Timed};
use crate::few;
use crate::grid::TaskId;
use crate::time::{Span, Time};

/// Below this neither run times nor turnarounds count.
pub(super) const SHORT: f64 = 10.0;

/// How many times longer a job took than it would have on nodes of its own; what took less than 10 s counts as 10 s.
pub fn bounded_stretch(turnaround: Span, runtime: Span) -> f64 {
    seconds(turnaround).max(SHORT) / seconds(runtime).max(SHORT)
}

/// What had to be paused and moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    pub preemptions: u64,
    pub migrations: u64,
    /// Memory that was put aside by pauses, and memory that went elsewhere by migrations, in nodes.
    pub paused: f64,
    pub migrated: f64,
}

impl Moves {
    pub fn add(&mut self, other: &Moves) {
        self.preemptions += other.preemptions;
        self.migrations += other.migrations;
        self.paused += other.paused;
        self.migrated += other.migrated;
    }

    pub fn count(&mut self, changes: &Changes, need: impl Fn(TaskId) -> Need) {
        self.preemptions += changes.paused.len() as u64;
        self.migrations += changes.migrated.len() as u64;
        self.paused += changes.paused.iter().map(|job| need(*job).total_memory()).sum::<f64>();
        let migrated = changes.migrated.iter().map(|placed| f64::from(placed.moved) * need(placed.job).memory);
        self.migrated += migrated.sum::<f64>();
    }
}

/// What was done with a cluster while there was something to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Node-seconds of processors that could have been used at the time and were not.
    pub missed: f64,
    /// Node-seconds of processors that all jobs needed.
    pub work: f64,
}

impl Usage {
    /// What was missed for each unit of work.
    pub fn normalised(&self) -> f64 {
        self.missed / self.work
    }
}

/// From when jobs ended, however they were run. What is used adds up to the work, so it is enough to know how much
/// could have been: the smaller of what live jobs asked for and what there is. O(jobs log jobs).
pub fn underutilisation(nodes: u32, jobs: impl IntoIterator<Item = (Timed, Time)>) -> Usage {
    let mut work = 0.0;
    let mut steps: Vec<(Time, f64)> = Vec::new();
    for (job, end) in jobs {
        let asked = job.need.total_cpu();
        work += seconds(job.runtime) * asked;
        steps.extend([(job.submit, asked), (end, -asked)]);
    }
    few::sort_by_key(&mut steps, |step| step.0);
    let (mut usable, mut asked) = (0.0, 0.0);
    for pair in steps.windows(2) {
        asked += pair[0].1;
        usable += f64::min(nodes.into(), asked) * seconds(pair[1].0 - pair[0].0);
    }
    Usage { missed: usable - work, work }
}

/// The work of jobs for what the cluster could do between the first submission and the last; of jobs that all come at
/// once, no number.
pub fn offered_load(nodes: u32, jobs: &[Timed]) -> f64 {
    let work: f64 = jobs.iter().map(|job| seconds(job.runtime) * job.need.total_cpu()).sum();
    let span = match jobs {
        [first, .., last] => last.submit - first.submit,
        _ => Span::ZERO,
    };
    work / (f64::from(nodes) * seconds(span))
}

pub(super) fn seconds(span: Span) -> f64 {
    span.micros() as f64 / 1e6
}
