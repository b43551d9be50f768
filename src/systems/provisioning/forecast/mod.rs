//! How likely a job is to start in time, judged by how long others have waited.

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

/// Foretells waits in a site's queue.
pub trait Forecast: Send {
    /// A job of the queue has started.
    fn record(&mut self, procs: u32, walltime: Span, wait: Span);

    /// The chance that a job that is submitted now starts within a time.
    fn chance(&mut self, procs: u32, walltime: Span, within: Span) -> f64;

    /// Another one that has seen the same.
    fn copy(&self) -> Box<dyn Forecast>;
}

impl Clone for Box<dyn Forecast> {
    fn clone(&self) -> Self {
        self.copy()
    }
}
