//! How likely a job is to start in time, judged by how long others have waited.

mod history;
mod series;
#[cfg(test)]
mod tests;

pub use history::History;
pub use series::Series;

use std::collections::BTreeMap;

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

/// Chances that were recorded, by how long there was to start in: the last that is no more than what is asked for. For tests,
/// and to hold a site against what another one has said.
#[derive(Clone, Debug)]
pub struct Recorded(pub BTreeMap<Span, f64>);

impl Forecast for Recorded {
    fn record(&mut self, _: u32, _: Span, _: Span) {}

    fn chance(&mut self, _: u32, _: Span, within: Span) -> f64 {
        self.0.range(..=within).next_back().map_or(0.0, |(_, chance)| *chance)
    }

    fn copy(&self) -> Box<dyn Forecast> {
        Box::new(self.clone())
    }
}

/// Always the same chance, for tests.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub f64);

impl Forecast for Constant {
    fn record(&mut self, _: u32, _: Span, _: Span) {}

    fn chance(&mut self, _: u32, _: Span, _: Span) -> f64 {
        self.0
    }

    fn copy(&self) -> Box<dyn Forecast> {
        Box::new(*self)
    }
}
