//! Names and numbers of jobs in their logs, where they differ from the run's numbers.

use std::collections::BTreeMap;
use std::sync::Arc;

use hansa_sim::grid::JobId;
use hansa_sim::topology::Topology;
use hansa_sim::workload::packed::Packed;
use hansa_sim::workload::rigids::{Content, Deal};
use hansa_sim::workload::{Rigid, Source};

/// The jobs of all workloads, if a system has jobs of one task each: only these have numbers of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogNumbers {
    /// Workloads of rigid jobs, by their first job.
    numbered: Vec<Numbered>,
    /// True for each workload that is a log, which knows its users.
    logged: Vec<bool>,
    /// True if a log is divided by its groups or users, so that a user may get nothing.
    divided: bool,
    /// The first job of each workload.
    first: Vec<u32>,
    /// Numbers from a result's table, where the logs are not at hand, in order of the jobs.
    read: Vec<(JobId, u64)>,
    read_names: BTreeMap<JobId, String>,
}

/// A workload of rigid jobs.
#[derive(Clone, Debug)]
struct Numbered {
    /// The run's number of the first job.
    first: u32,
    jobs: Arc<Packed>,
    /// Names of the jobs' profiles.
    profiles: Arc<Vec<String>>,
    /// Names of jobs that are not their numbers.
    ids: Arc<BTreeMap<u64, String>>,
}

impl LogNumbers {
    pub fn of(topology: &Topology) -> LogNumbers {
        let mut numbers = LogNumbers::default();
        if !topology.systems.iter().any(|system| system.system_row().traits.is_rigid) {
            return numbers;
        }
        let mut next = 0;
        for workload in &topology.workloads {
            numbers.first.push(next);
            let is_logged = matches!(&workload.source, Source::Rigid(rigids) if rigids.origin.log().is_some());
            numbers.logged.push(is_logged);
            if let Source::Rigid(rigids) = &workload.source {
                numbers.divided |= rigids.deal != Deal::RoundRobin;
                let Content { jobs, profiles, ids, .. } = &*rigids.content;
                let jobs = jobs.clone();
                let profiles = profiles.clone();
                let ids = ids.clone();
                numbers.numbered.push(Numbered { first: next, jobs, profiles, ids });
            }
            next += workload.source.job_source().jobs_in_all() as u32;
        }
        numbers
    }

    /// The job as its log has it.
    pub fn rigid_job(&self, job: JobId) -> Option<Rigid> {
        let (log, place) = self.log_of(job)?;
        log.jobs.get(place)
    }

    pub fn are_divided(&self) -> bool {
        self.divided
    }

    /// Name of a job's profile, if its log has profiles.
    pub fn profile_name(&self, job: JobId) -> Option<&str> {
        let (log, place) = self.log_of(job)?;
        // Most have none, and finding a job takes a while.
        if log.profiles.is_empty() {
            return None;
        }
        log.profiles.get(log.jobs.get(place)?.profile? as usize).map(String::as_str)
    }

    /// True if jobs are from logs that have not been read.
    pub fn are_missing(&self) -> bool {
        self.logged.contains(&true) && self.numbered.iter().any(|log| log.jobs.is_empty())
    }

    /// Takes numbers and names from a result's table of jobs instead.
    pub fn take_numbers(&mut self, jobs: impl Iterator<Item = (JobId, u64, Option<String>)>) {
        for (job, number, name) in jobs {
            if self.is_logged(job) {
                self.read.push((job, number));
                self.read_names.extend(name.map(|name| (job, name)));
            }
        }
        self.read.sort_unstable();
    }

    /// Name of a job in its log, if that is not its number.
    pub fn id(&self, job: JobId) -> Option<&str> {
        if let Some(name) = self.read_names.get(&job) {
            return Some(name);
        }
        let (log, place) = self.log_of(job)?;
        if log.ids.is_empty() {
            return None;
        }
        log.ids.get(&log.jobs.number(place)?).map(String::as_str)
    }

    /// The log that a job may be from, and its index there.
    fn log_of(&self, job: JobId) -> Option<(&Numbered, usize)> {
        let at = self.numbered.partition_point(|log| log.first <= job.0).checked_sub(1)?;
        let log = &self.numbered[at];
        Some((log, (job.0 - log.first) as usize))
    }

    /// Number of a job in its log, or else in the run.
    pub fn log_number(&self, job: JobId) -> u64 {
        // Mostly all jobs are in the table, each in the place of its number.
        let guessed = self.read.get(job.0 as usize).filter(|(numbered, _)| *numbered == job);
        let find =
            || self.read.binary_search_by_key(&job, |(numbered, _)| *numbered).ok().map(|place| &self.read[place]);
        let numbered = guessed.or_else(find).map(|(_, number)| *number);
        let logged = || self.log_of(job).and_then(|(log, place)| log.jobs.number(place));
        numbered.or_else(logged).unwrap_or(job.0.into())
    }

    pub fn is_logged(&self, job: JobId) -> bool {
        let workload = self.first.partition_point(|first| *first <= job.0).checked_sub(1);
        workload.and_then(|workload| self.logged.get(workload)).copied().unwrap_or(false)
    }

    /// Number of a job's workload, if there are several.
    pub fn workload_number(&self, job: JobId) -> Option<usize> {
        (self.first.len() > 1).then(|| self.first.partition_point(|first| *first <= job.0))
    }
}
