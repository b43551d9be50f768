//! Forecasts of waits from the waits of some jobs of a queue.

use super::settings::Predictor;
use hansa_sim::systems::provisioning::forecast::{Forecast, History};
use hansa_sim::time::Span;

/// A history that tells only some properties of jobs apart.
#[derive(Clone)]
struct CoarseHistory {
    predictor: Predictor,
    history: History,
}

impl CoarseHistory {
    /// The processors and the requested time by which the history tells a job apart.
    fn class(&self, procs: u32, walltime: Span) -> (u32, Span) {
        match self.predictor {
            Predictor::SizesAndTimes => (procs, walltime),
            Predictor::Sizes => (procs, Span::ZERO),
            Predictor::AllJobs => (1, Span::ZERO),
        }
    }
}

impl Forecast for CoarseHistory {
    fn record_start(&mut self, procs: u32, walltime: Span, wait: Span) {
        let (procs, walltime) = self.class(procs, walltime);
        self.history.record_start(procs, walltime, wait);
    }

    fn start_chance(&mut self, procs: u32, walltime: Span, within: Span) -> f64 {
        let (procs, walltime) = self.class(procs, walltime);
        self.history.start_chance(procs, walltime, within)
    }

    fn boxed_copy(&self) -> Box<dyn Forecast> {
        Box::new(self.clone())
    }
}

impl Predictor {
    pub(super) fn history(self) -> Box<dyn Forecast> {
        Box::new(CoarseHistory { predictor: self, history: History::new() })
    }
}
