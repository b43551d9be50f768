//! Facts of logs about their jobs that runs do not keep: quality of service, partition, and the recorded wait.

use std::collections::BTreeMap;

use super::common::CommonJob;
use hansa_sim::topology::Topology;
use hansa_sim::workload::{LogNames, Rigid, Source};

/// Facts about the jobs of the logs of a topology, by workload and number there.
///
/// Outcomes of runs only have the numbers of users and accounts; names, and all that a run does not depend on, are
/// looked up here. Empty for runs whose topology is not at hand.
#[derive(Clone, Debug, Default)]
pub struct LogFacts {
    jobs: BTreeMap<(u32, u64), LoggedJob>,
    /// Names by workload.
    names: Vec<LogNames>,
    /// True if some log is a dump of Slurm's accounting.
    has_accounting: bool,
}

#[derive(Clone, Copy, Debug)]
struct LoggedJob {
    user: Option<u32>,
    account: Option<u32>,
    quality: Option<u32>,
    partition: Option<u32>,
    /// Recorded wait in seconds.
    wait: Option<f64>,
}

impl LogFacts {
    /// Facts of the logs of a topology; models have none. O(jobs log jobs).
    pub fn of_topology(topology: &Topology) -> LogFacts {
        let mut facts = LogFacts::default();
        for (index, workload) in topology.workloads.iter().enumerate() {
            let Source::Rigid(rigids) = &workload.source else {
                facts.names.push(LogNames::default());
                continue;
            };
            facts.names.push(LogNames::clone(&rigids.content.names));
            facts.has_accounting |= workload.source.job_source().source_name() == "sacct";
            let is_log = rigids.origin.log().is_some();
            for job in rigids.content.jobs.iter().filter(|_| is_log) {
                facts.jobs.insert((index as u32 + 1, job.number), LoggedJob::of(&job));
            }
        }
        facts
    }

    fn of_job(&self, job: &CommonJob<'_>) -> Option<&LoggedJob> {
        self.jobs.get(&job.outcomes[0].log)
    }

    fn names_of(&self, job: &CommonJob<'_>) -> Option<&LogNames> {
        self.names.get((job.outcomes[0].log.0 as usize).checked_sub(1)?)
    }

    /// True if a job has a recorded wait.
    pub fn has_waits(&self) -> bool {
        self.jobs.values().any(|job| job.wait.is_some())
    }

    pub fn has_accounting(&self) -> bool {
        self.has_accounting
    }

    pub(super) fn recorded_wait(&self, job: &CommonJob<'_>) -> Option<f64> {
        self.of_job(job)?.wait
    }

    /// Number of the quality of service, and its name or number as text.
    pub(super) fn quality_of(&self, job: &CommonJob<'_>) -> Option<(u64, String)> {
        Some(labelled(self.of_job(job)?.quality?, &self.names_of(job)?.queues))
    }

    pub(super) fn partition_of(&self, job: &CommonJob<'_>) -> Option<(u64, String)> {
        Some(labelled(self.of_job(job)?.partition?, &self.names_of(job)?.partitions))
    }

    pub(super) fn user_of(&self, job: &CommonJob<'_>) -> Option<(u64, String)> {
        Some(labelled(self.of_job(job)?.user?, &self.names_of(job)?.users))
    }

    pub(super) fn account_of(&self, job: &CommonJob<'_>) -> Option<(u64, String)> {
        Some(labelled(self.of_job(job)?.account?, &self.names_of(job)?.groups))
    }
}

impl LoggedJob {
    fn of(job: &Rigid) -> LoggedJob {
        LoggedJob {
            user: job.user,
            account: job.group,
            quality: job.queue,
            partition: job.partition,
            wait: job.wait.map(|wait| wait.micros() as f64 / 1e6),
        }
    }
}

fn labelled(number: u32, names: &BTreeMap<u32, String>) -> (u64, String) {
    (number.into(), names.get(&number).cloned().unwrap_or_else(|| number.to_string()))
}
