//! The experiments of five papers, computed unit by unit without a grid, with their claims and figures.
//!
//! Threads and files are the caller's.

pub mod dfrs;
#[cfg(test)]
#[path = "../report/experiment/tests/grid.rs"]
mod grid;
pub mod heft;
pub mod market;
pub mod provisioning;
pub mod reservation;
