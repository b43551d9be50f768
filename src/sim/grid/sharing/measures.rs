//! Quality of a schedule of jobs that share nodes, by section 5 of the paper.

use serde::{Deserialize, Serialize};

use super::Timed;
use crate::time::{Span, Time};

/// Threshold of run times and turnarounds, in seconds.
pub(super) const SHORT: f64 = 10.0;

/// Turnaround relative to the run time on exclusive nodes; times below 10 s count as 10 s.
pub fn bounded_stretch(turnaround: Span, runtime: Span) -> f64 {
    to_seconds(turnaround).max(SHORT) / to_seconds(runtime).max(SHORT)
}

/// Counts of pauses and moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    pub preemptions: u64,
    pub migrations: u64,
    /// Memory that pauses have put aside, and memory that migrations have moved, in nodes.
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
}

/// Use of a cluster while there was demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usage {
    /// Node-seconds of processors that could have been used at the time and were not.
    pub missed: f64,
    /// Node-seconds of processors that all jobs needed.
    pub work: f64,
}

impl Usage {
    /// Missed work per unit of work.
    pub fn missed_per_work(&self) -> f64 {
        self.missed / self.work
    }
}

/// Underutilisation, from the ends of jobs under any policy. Used processor time equals the work, so it suffices to
/// compute the usable one: the smaller of the demand of live jobs and the capacity. O(jobs log jobs).
pub fn measure_underutilisation(nodes: u32, jobs: impl IntoIterator<Item = (Timed, Time)>) -> Usage {
    let mut work = 0.0;
    let mut steps: Vec<(Time, f64)> = Vec::new();
    for (job, end) in jobs {
        let asked = job.need.total_cpu();
        work += to_seconds(job.runtime) * asked;
        steps.extend([(job.submit, asked), (end, -asked)]);
    }
    steps.sort_by_key(|step| step.0);
    let mut usable = 0.0;
    let mut asked = 0.0;
    for pair in steps.windows(2) {
        asked += pair[0].1;
        usable += f64::min(nodes.into(), asked) * to_seconds(pair[1].0 - pair[0].0);
    }
    Usage { missed: usable - work, work }
}

/// Work of the jobs relative to the capacity of the cluster between the first submission and the last; not finite if
/// all jobs arrive at once.
pub fn offered_load(nodes: u32, jobs: &[Timed]) -> f64 {
    let work: f64 = jobs.iter().map(|job| to_seconds(job.runtime) * job.need.total_cpu()).sum();
    let span = match jobs {
        [first, .., last] => last.submit - first.submit,
        _ => Span::ZERO,
    };
    work / (f64::from(nodes) * to_seconds(span))
}

pub(crate) fn to_seconds(span: Span) -> f64 {
    span.micros() as f64 / 1e6
}
