//! A stepped clock for external programs: time stands still while any of their threads runs, and jumps to the earliest
//! deadline once all sleep. Here are the rules of a step, and the controller, which moves the clock and has the
//! programs as its children. `hansa_preload` has the page that they share and the library that is loaded into them;
//! `hansa_run` has the command line, and the conversation with a program that drives the clock.

#![allow(clippy::disallowed_types, reason = "real time decides when to look at a process, and nothing that it sees")]

pub use hansa_preload::{LIBRARY, state};

pub mod controller;
pub mod page;
pub mod proc;
pub mod processes;
pub mod steps;
#[cfg(test)]
mod tests;
pub mod turns;
