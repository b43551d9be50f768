//! Workflows of parallel tasks, and the ways in which their users obtain processors for them.
//!
//! Each file holds one way to plan: `moga.rs` chooses among advertised slots, `greedy.rs` buys one start after another,
//! and `best_effort.rs` uses the queues. All of them consider tasks in HEFT order and place each where it starts first.

mod best_effort;
mod choice;
mod evaluation;
mod greedy;
mod limits;
mod moga;
mod pareto;
mod problem;
#[cfg(test)]
mod tests;

pub use best_effort::{BestEffort, Submission, least_loaded};
pub use choice::{choose_best, choose_offer, choose_quoted, rank_options};
pub use evaluation::{ApplicationPlan, Cost, Evaluator, PlannedBooking, TaskPlace};
pub use greedy::{GreedyPlan, PriceQuery};
pub use limits::{Broken, Limits};
pub use moga::{Aims, Front, MogaSettings, plan_application, plan_at_prices};
pub use pareto::{Archive, dominates};
pub use problem::{Application, SiteLink};
