//! A stepped clock for external programs: time stands still while any of their threads runs, and jumps to the earliest
//! deadline once all sleep. Here are the rules of a step; `hansa_preload` has the shared state and the library that is
//! loaded into the programs, and `hansa_run` the processes.

pub use hansa_preload::{LIBRARY, state};

pub mod steps;
#[cfg(test)]
mod tests;
