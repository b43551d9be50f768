//! Facts of logs, and of options of `sbatch`, about jobs that runs do not keep: quality of service, partition, and the
//! recorded wait.

use std::collections::BTreeMap;

use super::common::CommonJob;
use hansa_sim::grid::JobId;
use hansa_sim::topology::Topology;
use hansa_sim::workload::facts::{JobFacts, JobFactsIndex};
use hansa_sim::workload::{LogNames, Rigid, Source};

/// Facts about the jobs of the logs and tables of a topology, by workload and number there.
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
    /// Facts of the logs of a topology, and of the options of jobs of its tables; models have none. O(jobs log jobs).
    pub fn of_topology(topology: &Topology) -> LogFacts {
        let mut facts = LogFacts::default();
        let stated = JobFactsIndex::of_workloads(&topology.workloads);
        let mut first = 0;
        for (index, workload) in topology.workloads.iter().enumerate() {
            let jobs = first..first + workload.source.job_source().jobs_in_all() as u32;
            first = jobs.end;
            let Source::Rigid(rigids) = &workload.source else {
                let mut numbers = StatedNames::default();
                if matches!(workload.source, Source::Table(_)) {
                    let logged = jobs.map(|job| (job, numbers.logged_job(stated.get(JobId(job)))));
                    let known = logged.filter(|(_, job)| job.is_known());
                    facts.jobs.extend(known.map(|(job, logged)| ((index as u32 + 1, job.into()), logged)));
                }
                facts.names.push(numbers.names());
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

/// Names that options of `sbatch` state, with a number for each in order of appearance.
#[derive(Default)]
struct StatedNames {
    users: BTreeMap<String, u32>,
    groups: BTreeMap<String, u32>,
    queues: BTreeMap<String, u32>,
    partitions: BTreeMap<String, u32>,
}

impl StatedNames {
    fn logged_job(&mut self, facts: JobFacts) -> LoggedJob {
        LoggedJob {
            user: number_of(facts.user, &mut self.users),
            account: number_of(facts.account, &mut self.groups),
            quality: number_of(facts.qos, &mut self.queues),
            partition: number_of(facts.partition, &mut self.partitions),
            wait: None,
        }
    }

    fn names(self) -> LogNames {
        LogNames {
            users: names_by_number(self.users),
            groups: names_by_number(self.groups),
            queues: names_by_number(self.queues),
            partitions: names_by_number(self.partitions),
        }
    }
}

fn names_by_number(names: BTreeMap<String, u32>) -> BTreeMap<u32, String> {
    names.into_iter().map(|(name, number)| (number, name)).collect()
}

fn number_of(name: Option<String>, numbers: &mut BTreeMap<String, u32>) -> Option<u32> {
    let next = numbers.len() as u32 + 1;
    Some(*numbers.entry(name?).or_insert(next))
}

impl LoggedJob {
    /// True if anything is known about the job.
    fn is_known(&self) -> bool {
        self.user.or(self.account).or(self.quality).or(self.partition).is_some()
    }

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
