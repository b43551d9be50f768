//! A stepped clock for programs outside: time stands still while any of their threads runs, and jumps to the earliest
//! deadline once all are asleep. Here are the state that they share and the rules of a step; `edge::clock` has the
//! processes.

pub mod state;
pub mod steps;
#[cfg(test)]
mod tests;
