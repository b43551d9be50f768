//! The simulated grid of Hansa: actors that exchange messages in deterministic virtual time.
//!
//! The modules in reading order, lowest first; each may use only those above it or in its own group. Nothing here does
//! I/O: no sockets, files, processes, terminal or wall clock.

#[cfg(test)]
extern crate self as hansa_sim;

pub mod decimal;
pub mod math;
pub mod min_tree;
pub mod near;
pub mod numerals;
pub mod random;
pub mod time;
pub mod words;

pub mod kernel;

pub mod grid;

pub mod protocol;

pub mod recovery;

pub mod settings;

pub mod network;
pub mod workload;

pub mod roles;

pub mod systems;

pub mod topology;

#[cfg(test)]
#[path = "tests/play.rs"]
mod play;
