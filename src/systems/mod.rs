//! What the papers describe, one folder a paper.

pub mod batch;
pub mod heft;
pub mod market;
pub mod reservation;
