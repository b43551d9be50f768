//! Workflows of parallel tasks, and how their users get processors for them.
//!
//! One file a way to plan: `moga.rs` chooses among advertised slots, `greedy.rs` buys start after start,
//! `best_effort.rs` takes what queues give. Tasks are always looked at in the order of HEFT, and placed where they
//! start first.

mod best_effort;
mod choice;
mod evaluation;
mod greedy;
mod moga;
mod pareto;
mod problem;
#[cfg(test)]
mod tests;

pub use best_effort::{BestEffort, Submission, least_loaded};
pub use choice::{choose, choose_offer, choose_quoted, ranked};
pub use evaluation::{Booked, Cost, Evaluator, Placed, Plan};
pub use greedy::{Greedy, Wish};
pub use moga::{Front, Settings, plan};
pub use pareto::{Archive, dominates};
pub use problem::{Application, Link};
