//! MCB8-stretch: places all live jobs for the lowest maximum stretch at the next tick. Section 4.4 of the paper.
//!
//! A job with flow time `f` and virtual time `v` has the stretch `(f + T) / (v + y T)` after another period `T` at
//! yield `y`. The search is for the highest *pace* `x`, the inverse of the stretch; a pace requires the yield `(x (f +
//! T) - v) / T`, or 0.

mod average;
mod maximum;

use super::algorithm::Sort;
use super::mcb8::{Candidate, Packer, bisect_highest, drop_until_found};
use super::room::TaskPlaces;
use crate::grid::sharing::need::TOLERANCE;
pub(super) use average::average_yields;
pub(super) use maximum::maximum_yields;

/// Inputs of a job's stretch, in units of the period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age {
    /// Flow time at the next tick.
    pub flow: f64,
    /// Virtual time now.
    pub done: f64,
}

impl Age {
    pub fn new(flow: f64, done: f64, period: f64) -> Age {
        Age { flow: (flow + period) / period, done: done / period }
    }

    /// Yield that a pace requires; above 1 if it is impossible.
    fn required_yield(&self, pace: f64) -> f64 {
        (pace * self.flow - self.done).max(0.0)
    }

    /// Pace up to which its yield is 0, and pace at which it is 1.
    fn yield_range(&self) -> [f64; 2] {
        [self.done / self.flow, (self.done + 1.0) / self.flow]
    }
}

/// Placement of each job, and the pace found. `order` has all jobs from highest to lowest priority; the lowest are left
/// out until the memory suffices.
pub(super) fn map_jobs(
    nodes: u32,
    jobs: &[Candidate<'_>],
    order: &[usize],
    ages: &[Age],
    sort: Sort,
) -> (Vec<TaskPlaces>, f64) {
    let mut packer = Packer::new(nodes, jobs, sort);
    let found = drop_until_found(&mut packer, order, |packer| {
        let mut at = |pace: f64| {
            let can_be_had = packer.kept().iter().all(|job| ages[*job].required_yield(pace) <= 1.0 + TOLERANCE);
            can_be_had.then(|| packer.pack(|job| ages[job].required_yield(pace) * jobs[job].need.cpu)).flatten()
        };
        if let Some(packing) = at(1.0) {
            return Some((packing, 1.0));
        }
        let mut best = at(0.0)?;
        let pace = bisect_highest(0.0, 1.0, |pace| at(pace).map(|packing| best = packing).is_some());
        Some((best, pace))
    });
    match found {
        Some((packing, pace)) => (packing.places(jobs), pace),
        None => (vec![TaskPlaces::new(); jobs.len()], 0.0),
    }
}
