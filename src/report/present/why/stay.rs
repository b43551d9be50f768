//! The tasks that were at a site, each with its times there.

use std::cell::OnceCell;

use crate::Tally;
use crate::referee::tally::{JobRow, TaskRow};
use hansa_sim::grid::JobId;
use hansa_sim::time::Time;

/// A task at a site.
#[derive(Clone)]
pub(crate) struct Stay<'a> {
    pub row: &'a JobRow,
    pub index: usize,
    /// Time at which it joined the queue.
    pub came: Time,
    pub start: Option<Time>,
    /// Time at which it left its cores or the queue; the last time of the log if it is there.
    pub end: Time,
    pub cores: u32,
}

/// Order of arrivals at a site: time, job, and index of the task.
pub(super) type ArrivalKey = (Time, JobId, usize);

impl Stay<'_> {
    pub(super) fn arrival_key(&self) -> ArrivalKey {
        (self.came, self.row.job.id, self.index)
    }

    /// Time at which it left the queue: its start, or its end if it never started.
    pub(super) fn leaves_queue(&self) -> Time {
        self.start.unwrap_or(self.end)
    }

    /// True if it was on its cores at a time.
    pub(super) fn runs_at(&self, time: Time) -> bool {
        self.start.is_some_and(|start| start <= time) && self.end > time
    }
}

/// The stays at each site, collected when they are first asked for and shared by all stories.
pub(crate) struct SiteStays<'a> {
    pub tally: &'a Tally,
    by_site: Vec<OnceCell<Vec<Stay<'a>>>>,
}

impl<'a> SiteStays<'a> {
    pub fn of(tally: &'a Tally) -> SiteStays<'a> {
        SiteStays { tally, by_site: vec![const { OnceCell::new() }; tally.sites.len()] }
    }

    /// All tasks that were given to a site, by job and index.
    pub fn at(&self, site: u32) -> &[Stay<'a>] {
        self.by_site[site as usize].get_or_init(|| self.tally.site_stays(site))
    }
}

impl Tally {
    /// Time from which on a task could have run.
    pub(super) fn wanted_at(&self, row: &JobRow, index: usize) -> Time {
        let mut ready = Vec::new();
        row.ready_into(&mut ready);
        ready[index].unwrap_or(self.last)
    }

    /// All tasks that were given to a site, by job and index. O(tasks of the run).
    pub(crate) fn site_stays(&self, site: u32) -> Vec<Stay<'_>> {
        let mut stays = Vec::new();
        let latency = self.sites[site as usize].latency;
        for row in self.jobs.values() {
            let there = |(_, task): &(usize, &TaskRow)| task.site == Some(site);
            for (index, task) in row.tasks.iter().enumerate().filter(there) {
                let assigned = task.assigned.or(task.start).unwrap_or(row.earliest_start());
                stays.push(Stay {
                    row,
                    index,
                    came: task.start.unwrap_or(Time::NEVER).min(assigned + latency),
                    start: task.start,
                    end: task.end.or(row.given_up().filter(|_| task.start.is_none())).unwrap_or(self.last),
                    cores: row.job.tasks[index].cores,
                });
            }
        }
        stays
    }
}
