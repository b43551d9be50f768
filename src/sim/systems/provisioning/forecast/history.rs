//! Waits by class of job, in the manner of J. Brevik, D. Nurmi, R. Wolski, "Predicting bounds on queuing delay for
//! batch-scheduled parallel machines", 2006 (BMBP, QBETS).
//!
//! Ours: the classes are given, and outages of the site are not detected.

use super::{Forecast, Series};
use crate::time::Span;

/// The waits seen at a site's queue. Recording and asking cost at most O(length of a series), independently of the
/// number of past jobs.
#[derive(Clone, Debug)]
pub struct History {
    all: Series,
    by_nodes: Vec<Series>,
    /// Series of waits, indexed by class of nodes, then by class of time.
    by_both: Vec<Series>,
}

/// Upper bound of each class but the last.
const NODES: [u32; 3] = [4, 16, 64];
const HOURS: [u64; 3] = [1, 4, 12];

/// Least number of waits from which a series has a forecast.
const ENOUGH: usize = 20;

impl History {
    pub fn new() -> History {
        let nodes = NODES.len() + 1;
        let times = HOURS.len() + 1;
        History {
            all: Series::new(),
            by_nodes: vec![Series::new(); nodes],
            by_both: vec![Series::new(); nodes * times],
        }
    }
}

impl Default for History {
    fn default() -> Self {
        History::new()
    }
}

impl Forecast for History {
    fn record_start(&mut self, procs: u32, walltime: Span, wait: Span) {
        let (nodes, both) = history_classes(procs, walltime);
        self.by_both[both].add(wait);
        self.by_nodes[nodes].add(wait);
        self.all.add(wait);
    }

    /// The forecast of the narrowest class with enough waits; zero if none has.
    fn start_chance(&mut self, procs: u32, walltime: Span, within: Span) -> f64 {
        let (nodes, both) = history_classes(procs, walltime);
        let series = [&self.by_both[both], &self.by_nodes[nodes], &self.all];
        series.into_iter().find(|series| series.len() >= ENOUGH).map_or(0.0, |series| series.chance(within))
    }

    fn boxed_copy(&self) -> Box<dyn Forecast> {
        Box::new(self.clone())
    }
}

fn history_classes(procs: u32, walltime: Span) -> (usize, usize) {
    let nodes = NODES.iter().take_while(|most| procs > **most).count();
    let time = HOURS.iter().take_while(|most| walltime > Span::from_minutes(**most * 60)).count();
    (nodes, nodes * (HOURS.len() + 1) + time)
}
