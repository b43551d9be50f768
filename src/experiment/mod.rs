//! Experiments: one topology run many times, with settings that vary, and what the results say.
//!
//! Grids are run by others: an experiment is read and written out as runs, and results come back as rows. What a paper
//! needs no grid for, such as plans, is computed here, piece by piece. Nothing here knows of files or threads.

mod claims;
pub mod dfrs;
mod dots;
mod figures;
mod file;
pub mod heft;
mod kept;
pub mod market;
pub mod means;
mod metrics;
#[cfg(feature = "edge")]
mod plot;
pub mod provisioning;
mod range;
mod repeats;
pub mod reservation;
mod rows;
mod statistics;
#[cfg(test)]
mod tests;
pub mod tournament;

pub use file::{Axis, ENTRANT, Entrant, Experiment, RUNS_MAX, Run, keys, read};
pub use metrics::{Metric, all as metrics};
#[cfg(feature = "edge")]
pub use plot::Figure;
pub use rows::{Row, Table};
pub use statistics::Estimate;
