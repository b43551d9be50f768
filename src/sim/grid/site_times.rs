//! Run times of tasks that are stated for each site, as a matrix of tasks and sites.

use serde::{Deserialize, Serialize};

use super::Speed;
use crate::kernel::ActorId;
use crate::time::Span;

/// Largest number of run times of a job's tasks at sites, so that a job fits into one message.
pub const SITE_TIMES_MAX: usize = 500_000;

/// Run times of a job's tasks by site, where a task has not one run time for all sites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTimes {
    /// One row per task, ascending by site; empty if the task has one run time for all sites.
    rows: Vec<Vec<SiteTime>>,
}

/// Run time of a task at a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTime {
    pub site: ActorId,
    pub runtime: Span,
}

/// Reason why a row is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadRow {
    /// Sites are out of order or named twice.
    Unsorted,
    /// A task takes no time at a site, or its least run time is not the one that the task states.
    Runtime,
}

impl SiteTimes {
    /// The rows of a job's tasks, each in any order; None if all of them are empty.
    pub fn new(mut rows: Vec<Vec<SiteTime>>) -> Option<SiteTimes> {
        rows.iter_mut().for_each(|row| row.sort_unstable_by_key(|time| time.site));
        rows.iter().any(|row| !row.is_empty()).then_some(SiteTimes { rows })
    }

    /// Run times of a task, ascending by site; None if it has one run time for all sites.
    pub fn of(&self, task: usize) -> Option<&[SiteTime]> {
        self.rows.get(task).map(Vec::as_slice).filter(|row| !row.is_empty())
    }

    /// Number of tasks.
    pub fn tasks(&self) -> usize {
        self.rows.len()
    }

    /// Number of run times in all.
    pub fn count(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Checks the row of a task whose least run time is `least`.
    pub fn check(&self, task: usize, least: Span) -> Result<(), BadRow> {
        let Some(row) = self.of(task) else { return Ok(()) };
        if row.windows(2).any(|pair| pair[0].site >= pair[1].site) {
            return Err(BadRow::Unsorted);
        }
        let found = row.iter().map(|time| time.runtime).min();
        if found == Some(least) && !least.is_zero() { Ok(()) } else { Err(BadRow::Runtime) }
    }
}

/// Run time of a task at a site of this speed, by the run times of its job; None if the task may not run there.
pub fn runtime_at(times: Option<&SiteTimes>, task: usize, runtime: Span, site: ActorId, speed: Speed) -> Option<Span> {
    match times.and_then(|times| times.of(task)) {
        Some(row) => time_at(row, site),
        None => Some(speed.time(runtime)),
    }
}

/// Run time at a site among those of a row; None if the task may not run there.
fn time_at(row: &[SiteTime], site: ActorId) -> Option<Span> {
    row.binary_search_by_key(&site, |time| time.site).ok().map(|at| row[at].runtime)
}
