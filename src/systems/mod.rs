//! What the papers describe, one folder a paper.

pub mod market;
