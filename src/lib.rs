//! Hansa, a grid emulator: sites, a router and users exchange messages in deterministic virtual time.
//!
//! The modules in reading order, lowest first; each may use only those above it or in its own group. Only `edge` does
//! I/O: sockets, files, processes, the terminal and the wall clock.

pub mod clock;
mod decimal;
pub mod math;
mod min_tree;
pub mod near;
mod numerals;
pub mod random;
pub mod time;
mod words;

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

pub mod report;

pub mod experiment;

pub mod catalog;

#[cfg(feature = "edge")]
pub mod edge;
