//! A run over time: its busy cores and its waiting tasks.

use crate::Tally;
use crate::present::page::chart::{Levels, Window};

/// Means over equal parts of an interval, which may be longer than the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Share of all cores that are busy.
    pub busy: Vec<f64>,
    /// Number of tasks that are ready and have not started.
    pub waiting: Vec<f64>,
}

impl Course {
    /// The course of a run, from a tally that keeps all jobs. O(tasks + parts).
    pub fn of(tally: &Tally, window: Window, parts: usize) -> Course {
        let mut busy = Levels::new(window, parts);
        let mut waiting = Levels::new(window, parts);
        tally.each_use(|_, from, to, used| busy.add(from, to, used));
        tally.waiting().for_each(|(_, from, to)| waiting.add(from, to, 1.0));
        let cores: u64 = tally.sites.iter().map(|site| u64::from(site.cores)).sum();
        let busy = busy.part_means().into_iter().map(|used| used / cores.max(1) as f64).collect();
        Course { busy, waiting: waiting.part_means() }
    }
}
