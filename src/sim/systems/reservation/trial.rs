//! One policy on one workload and one cluster, as measured in the paper: requests arrive one at a time, and accepted
//! ones run exactly as long as requested.

use serde::{Deserialize, Serialize};

use super::book::ClusterBook;
use super::fit::Fit;
use super::rules::RectEnd;
use crate::grid::Request;

/// Results of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of valid requests.
    pub valid: u32,
    pub accepted: u32,
    /// Mean over accepted requests; None if there are none.
    pub slowdown: Option<f64>,
}

impl Trial {
    /// Runs a trial; the requests must be in order of arrival.
    pub fn run_requests(requests: &[Request], nodes: u32, fit: &'static Fit, rect_end: RectEnd) -> Trial {
        let mut book = ClusterBook::new(nodes, fit, rect_end);
        let mut trial = Trial::default();
        let mut slowdowns = 0.0;
        for request in requests.iter().filter(|request| request.check(nodes).is_ok()) {
            trial.valid += 1;
            if let Some(offer) = book.find(request.arrive, request) {
                let end = offer.start + request.duration;
                book.add(offer.start, end, &offer.nodes).expect("what is offered is free");
                trial.accepted += 1;
                slowdowns += request.slowdown(end);
            }
        }
        trial.slowdown = (trial.accepted > 0).then(|| slowdowns / f64::from(trial.accepted));
        trial
    }

    pub fn acceptance(&self) -> Option<f64> {
        (self.valid > 0).then(|| f64::from(self.accepted) / f64::from(self.valid))
    }
}
