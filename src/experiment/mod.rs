//! Experiments: one topology run many times with varying settings, and the evaluation of the results.
//!
//! Grids are run by the caller: an experiment is read and expanded to runs, and results come back as rows. Experiments
//! of papers that need no grid, such as plans, are computed here, unit by unit. Nothing here does file I/O or uses
//! threads.

mod claims;
pub mod compare;
pub mod dfrs;
mod dots;
mod figures;
mod file;
pub mod heft;
mod kept;
pub mod market;
pub mod means;
mod metrics;
mod plot;
pub mod provisioning;
mod range;
mod repeats;
mod reproduction;
pub mod reservation;
mod rows;
mod statistics;
#[cfg(test)]
pub(crate) mod tests;
pub mod tournament;

pub use claims::{Findings, verdicts};
pub use file::{Axis, ENTRANT, Entrant, Experiment, RUNS_MAX, Run, keys, read};
pub use metrics::{Metric, all as metrics};
pub use plot::Figure;
pub use repeats::idle_seeds;
pub use rows::{DIGEST, RunRow, Table};
pub use statistics::Estimate;
