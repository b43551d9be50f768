//! A stepped clock for external programs: time stands still while any of their threads runs, and jumps to the earliest
//! deadline once all sleep. Here are the shared state and the rules of a step; `hansa_run` has the processes.

pub mod state;
pub mod steps;
#[cfg(test)]
mod tests;
