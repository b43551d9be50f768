//! Just in time: a task goes into a queue when all that it waits for has ended and arrived.

use super::Application;
use crate::few;
use crate::time::Time;

/// A workflow on its way through queues.
#[derive(Clone, Debug)]
pub struct BestEffort<'a> {
    application: &'a Application,
    /// Of how many others each task still has to hear.
    missing: Vec<u32>,
    /// By task: where it runs or ran, and when it ended.
    placed: Vec<(u32, Time)>,
    left: usize,
}

/// A task can be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    pub task: usize,
    pub site: usize,
    /// When its data is there.
    pub at: Time,
}

impl<'a> BestEffort<'a> {
    pub fn new(application: &'a Application) -> BestEffort<'a> {
        let missing = (0..application.tasks()).map(|task| application.before(task).count() as u32).collect();
        let placed = vec![(0, Time::ZERO); application.tasks()];
        BestEffort { application, missing, placed, left: application.tasks() }
    }

    /// Those that wait for nobody, in the order of HEFT.
    pub fn first(&self) -> Vec<usize> {
        self.application.order().iter().map(|task| *task as usize).filter(|task| self.missing[*task] == 0).collect()
    }

    /// Some tasks have ended: who waits for nobody any more, in the order of HEFT.
    pub fn ended(&mut self, now: Time, tasks: &[usize]) -> Vec<usize> {
        let mut ready = Vec::new();
        for &task in tasks {
            self.placed[task].1 = now;
            self.left -= 1;
            for after in self.application.after(task) {
                self.missing[after] -= 1;
                if self.missing[after] == 0 {
                    ready.push(after);
                }
            }
        }
        few::sort_by_key(&mut ready, |task| self.application.place(*task));
        ready
    }

    /// Sends a task that is ready to a site: when it can be submitted there.
    pub fn send(&mut self, now: Time, task: usize, site: usize) -> Submission {
        self.placed[task].0 = site as u32;
        Submission { task, site, at: self.application.ready(task, site, &self.placed).max(now) }
    }

    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

/// Of the sites that are large enough the one with the fewest jobs that run or wait; of equal ones the first.
pub fn least_loaded(procs: u32, sites: impl IntoIterator<Item = (u32, usize)>) -> Option<usize> {
    let large = sites.into_iter().enumerate().filter(|(_, (size, _))| *size >= procs);
    large.min_by_key(|(site, (_, jobs))| (*jobs, *site)).map(|(site, _)| site)
}
