//! Jobs that count in means: all, unless a workload has a warm-up or a cool-down.
//!
//! A job of a log counts by its submission in the log, so it is the same jobs under every policy, even where a job
//! waits for the one that it follows. If the log is missing, the submission in the run decides.

use crate::referee::tally::JobRow;
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;
use hansa_sim::workload::Source;
use hansa_sim::workload::rigids::CountedPart;

/// Parts of the workloads that count.
#[derive(Clone, Debug, Default)]
pub(crate) struct CountedJobs {
    /// Workloads that have a warm-up or a cool-down, in order of their jobs.
    parts: Vec<WorkloadPart>,
    /// True if some workload counts completely.
    has_whole: bool,
}

#[derive(Clone, Copy, Debug)]
struct WorkloadPart {
    /// Numbers of its jobs in the run; the second one is excluded.
    jobs: (u32, u32),
    part: CountedPart,
}

/// Place of a job beside the counted part of its workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobPart {
    WarmUp,
    Counted,
    CoolDown,
}

impl CountedJobs {
    pub fn of(topology: &Topology) -> CountedJobs {
        let mut counted = CountedJobs::default();
        let mut next = 0;
        for workload in &topology.workloads {
            let first = next;
            next += workload.source.job_source().jobs_in_all() as u32;
            match &workload.source {
                Source::Rigid(rigids) if rigids.content.counted.is_some() => {
                    let part = rigids.content.counted;
                    counted.parts.extend(part.map(|part| WorkloadPart { jobs: (first, next), part }));
                }
                _ => counted.has_whole |= next > first,
            }
        }
        counted
    }

    /// True if some jobs may not count.
    pub fn leaves_out(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Part of its workload to which a job belongs. O(log workloads).
    pub fn part_of(&self, row: &JobRow) -> JobPart {
        let job = row.job.id.0;
        let at = self.parts.partition_point(|part| part.jobs.0 <= job);
        let Some(WorkloadPart { jobs, part }) = at.checked_sub(1).map(|at| self.parts[at]) else {
            return JobPart::Counted;
        };
        let place = job - jobs.0;
        let (is_early, is_late) = match part.places {
            _ if job >= jobs.1 => return JobPart::Counted,
            Some((from, to)) => (place < from, place >= to),
            None => (row.job.arrive < part.times.0, row.job.arrive >= part.times.1),
        };
        match (is_early, is_late) {
            (true, _) => JobPart::WarmUp,
            (false, true) => JobPart::CoolDown,
            (false, false) => JobPart::Counted,
        }
    }

    pub fn is_counted(&self, row: &JobRow) -> bool {
        self.part_of(row) == JobPart::Counted
    }

    /// The part of the interval from the first submission to the last one in which jobs that count are submitted.
    pub fn counted_interval(&self, arrivals: (Time, Time)) -> (Time, Time) {
        if self.has_whole || self.parts.is_empty() {
            return arrivals;
        }
        let from = self.parts.iter().map(|part| part.part.times.0).min().unwrap_or(arrivals.0).max(arrivals.0);
        let to = self.parts.iter().map(|part| part.part.times.1).max().unwrap_or(arrivals.1).min(arrivals.1);
        (from, to.max(from))
    }
}
