//! Results of single jobs.

use crate::Tally;
use crate::referee::tally::JobRow;
use hansa_sim::time::Span;

/// Times of a job that ran.
#[derive(Clone, Copy, Debug)]
pub struct QueuedTimes {
    pub wait: Span,
    pub turnaround: Span,
    /// Duration on nodes of its own, actual or hypothetical.
    pub runtime: Span,
}

const SHORT: Span = Span::from_secs(10);

impl QueuedTimes {
    pub fn of(tally: &Tally, row: &JobRow) -> Option<QueuedTimes> {
        let task = row.tasks.first()?;
        let (start, end) = task.start.zip(task.end)?;
        let arrive = row.job.arrive;
        let shares = task.site.is_some_and(|site| tally.sites[site as usize].is_shared);
        let needs = &row.job.tasks[0];
        let runtime = match task.setbacks {
            _ if shares => needs.runtime,
            // Repeated work and checkpoints do not count.
            Some(_) => needs.runtime.min(needs.walltime),
            None => end.since(start),
        };
        Some(QueuedTimes { wait: start.since(arrive), turnaround: end.since(arrive), runtime })
    }

    pub fn slowdown(&self) -> f64 {
        self.turnaround.micros() as f64 / self.runtime.micros().max(1) as f64
    }

    pub fn bounded_slowdown(&self) -> f64 {
        (self.turnaround.micros() as f64 / self.runtime.max(SHORT).micros() as f64).max(1.0)
    }
}
