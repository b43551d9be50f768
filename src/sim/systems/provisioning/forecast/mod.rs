//! Probability that a job starts in time, from the waits of other jobs.

mod history;
mod series;
#[cfg(test)]
mod stubs;
#[cfg(test)]
mod tests;

pub use history::History;
pub use series::Series;
#[cfg(test)]
pub use stubs::{Constant, Recorded};

use crate::time::Span;

/// Forecasts waits in a site's queue.
pub trait Forecast: Send {
    /// Records that a job of the queue has started.
    fn record_start(&mut self, procs: u32, walltime: Span, wait: Span);

    /// Probability that a job submitted now starts within a time.
    fn start_chance(&mut self, procs: u32, walltime: Span, within: Span) -> f64;

    /// A copy with the same history.
    fn boxed_copy(&self) -> Box<dyn Forecast>;
}

impl Clone for Box<dyn Forecast> {
    fn clone(&self) -> Self {
        self.boxed_copy()
    }
}
