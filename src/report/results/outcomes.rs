//! Outcomes of jobs: what comparisons need of each job of a run, without its tables.

use std::io;

use serde::{Deserialize, Serialize};

use crate::referee::tally::{JobRow, Standing};
use crate::{CountedSummary, Counts, Summary, Tally};
use hansa_sim::topology::Topology;
use hansa_sim::workload::Source;

/// End of a job in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    Finished,
    /// Killed at its walltime.
    Killed,
    /// Ended for another job.
    Preempted,
    Removed,
    Refused,
    Unfinished,
}

/// A job in a run. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobOutcome {
    /// Number of its workload, from 1, and its number there.
    pub log: (u32, u64),
    /// Number in the run.
    pub run: u64,
    /// Index into the names of users.
    pub user: u32,
    /// User and group of the log, where it has these.
    pub logged: (Option<u32>, Option<u32>),
    pub cores: Option<u32>,
    pub submitted: u64,
    pub started: Option<u64>,
    /// End of a job that finished, was killed or was preempted.
    pub ended: Option<u64>,
    pub end: JobEnd,
    /// False if it is in a warm-up or a cool-down.
    pub counts: bool,
    /// True if backfilling gave it its first start, false if the main scheduler did; None where that is not known.
    pub backfilled: Option<bool>,
}

/// The jobs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunOutcomes {
    pub users: Vec<String>,
    /// Time of day at virtual time zero in microseconds, if a log says so.
    pub time_of_day: Option<u64>,
    pub jobs: Vec<JobOutcome>,
}

/// Numbers of a run's jobs by their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkDone {
    /// Jobs that count, by their ends, and those that do not.
    pub counted: CountedSummary,
    pub idle_users: Vec<String>,
}

impl WorkDone {
    pub fn of(summary: &Summary) -> WorkDone {
        let all = CountedSummary { jobs: summary.jobs, ..CountedSummary::default() };
        WorkDone { counted: summary.counted.unwrap_or(all), idle_users: summary.idle_users.clone() }
    }

    pub fn jobs(&self) -> Counts {
        self.counted.jobs
    }
}

impl From<Standing> for JobEnd {
    fn from(standing: Standing) -> JobEnd {
        match standing {
            Standing::Finished => JobEnd::Finished,
            Standing::Killed => JobEnd::Killed,
            Standing::Preempted => JobEnd::Preempted,
            Standing::Removed => JobEnd::Removed,
            Standing::Refused => JobEnd::Refused,
            Standing::Unfinished => JobEnd::Unfinished,
        }
    }
}

impl JobOutcome {
    /// Seconds from submission to end; None unless it finished, was killed or was preempted.
    pub fn turnaround_seconds(&self) -> Option<f64> {
        Some(to_seconds(self.ended?.saturating_sub(self.submitted)))
    }

    /// Seconds from submission to the first start.
    pub fn wait(&self) -> Option<f64> {
        Some(to_seconds(self.started?.saturating_sub(self.submitted)))
    }

    /// Seconds from the first start to the end.
    pub fn execution_seconds(&self) -> Option<f64> {
        Some(to_seconds(self.ended?.saturating_sub(self.started?)))
    }

    /// True if it ended in the same way as in another run.
    pub fn ended_like(&self, other: &JobOutcome) -> bool {
        self.ended.is_some() && other.ended.is_some() && self.end == other.end
    }
}

fn to_seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

impl Tally {
    /// Outcomes of all jobs, by number. O(jobs).
    pub fn job_outcomes(&self, topology: &Topology) -> io::Result<RunOutcomes> {
        let mut outcomes = RunOutcomes { time_of_day: time_of_day(topology), ..RunOutcomes::default() };
        outcomes.users = topology.users.iter().map(|user| user.name.clone()).collect();
        let mut rows = self.rows()?;
        while let Some(row) = rows.next()? {
            outcomes.jobs.push(self.job_outcome(&row));
        }
        Ok(outcomes)
    }

    fn job_outcome(&self, row: &JobRow) -> JobOutcome {
        let logged = self.log_numbers.rigid_job(row.job.id).filter(|_| self.log_numbers.is_logged(row.job.id));
        let one = self.is_one_task(row).then(|| row.requested_size(&row.job.tasks[0]).0);
        let ended = self.turnaround(row).map(|turnaround| (row.job.arrive + turnaround).micros());
        JobOutcome {
            log: (self.workload(row.job.id).unwrap_or(1) as u32, self.number(row.job.id)),
            run: row.job.id.0.into(),
            user: self.user_index(row.user).unwrap_or_default() as u32,
            logged: logged.map_or((None, None), |job| (job.user, job.group)),
            cores: one,
            submitted: row.job.arrive.micros(),
            started: row.start().map(|start| start.micros()),
            ended,
            end: row.standing().into(),
            counts: self.counted.is_counted(row),
            backfilled: self.is_backfilled(row),
        }
    }
}

/// Time of day at virtual time zero, by the first log that has one.
fn time_of_day(topology: &Topology) -> Option<u64> {
    topology.workloads.iter().find_map(|workload| match &workload.source {
        Source::Rigid(rigids) => rigids.content.time_of_day.map(|time| time.micros()),
        _ => None,
    })
}
