//! Who takes part in a run besides what the router does, and what each delegates.

pub mod outside;
pub mod queue;
pub mod scheduler;
pub mod site;
mod user;

pub use site::Site;
pub use user::{Follower, Later, Out, Planner, Resubmit, Script, Sides, Stock, Then, User};

use crate::grid::Named;

/// How a site may run what it is given.
pub fn schedulers() -> Vec<Named> {
    scheduler::ALL.iter().map(|row| Named { name: row.name, about: row.about }).collect()
}
