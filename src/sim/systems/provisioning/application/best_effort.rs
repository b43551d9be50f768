//! Just in time: a task enters a queue when all tasks it depends on have ended and their data has arrived.

use super::Application;
use crate::time::Time;

/// A workflow whose tasks pass through queues.
#[derive(Clone, Debug)]
pub struct BestEffort<'a> {
    application: &'a Application,
    /// Number of predecessors of each task that have not ended yet.
    missing: Vec<u32>,
    /// Site and end of each task, by its number.
    placed: Vec<(u32, Time)>,
    left: usize,
}

/// A task that can be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    pub task: usize,
    pub site: usize,
    /// Arrival of its data at the site.
    pub at: Time,
}

impl<'a> BestEffort<'a> {
    pub fn new(application: &'a Application) -> BestEffort<'a> {
        let missing = (0..application.tasks()).map(|task| application.predecessors(task).count() as u32).collect();
        let placed = vec![(0, Time::ZERO); application.tasks()];
        BestEffort { application, missing, placed, left: application.tasks() }
    }

    /// The tasks without predecessors, in HEFT order.
    pub fn first(&self) -> Vec<usize> {
        self.application.order().iter().map(|task| *task as usize).filter(|task| self.missing[*task] == 0).collect()
    }

    /// Records that some tasks have ended. Returns the tasks that depend on none any more, in HEFT order.
    pub fn record_ends(&mut self, now: Time, tasks: &[usize]) -> Vec<usize> {
        let mut ready = Vec::new();
        for &task in tasks {
            self.placed[task].1 = now;
            self.left -= 1;
            for after in self.application.successors(task) {
                self.missing[after] -= 1;
                if self.missing[after] == 0 {
                    ready.push(after);
                }
            }
        }
        ready.sort_by_key(|task| self.application.place(*task));
        ready
    }

    /// Sends a ready task to a site. The submission says when its data is there.
    pub fn send(&mut self, now: Time, task: usize, site: usize) -> Submission {
        self.placed[task].0 = site as u32;
        Submission { task, site, at: self.application.ready(task, site, &self.placed).max(now) }
    }

    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

/// The site with the fewest running and waiting jobs among those large enough; of equal ones the first.
pub fn least_loaded(procs: u32, sites: impl IntoIterator<Item = (u32, usize)>) -> Option<usize> {
    let large = sites.into_iter().enumerate().filter(|(_, (size, _))| *size >= procs);
    large.min_by_key(|(site, (_, jobs))| (*jobs, *site)).map(|(site, _)| site)
}
