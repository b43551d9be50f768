//! Roles of a run other than the router: sites, users, and the policies that they use.

pub mod outside;
pub mod queue;
pub mod scheduler;
pub mod site;
mod user;

pub use site::Site;
pub use user::{Follower, Followers, JobStore, Out, Planner, Resubmit, Script, SplitPlanner, StreamedJobs, User};

use crate::grid::Named;

/// Schedulers that a site may name.
pub fn scheduler_names() -> Vec<Named> {
    scheduler::ALL.iter().map(|row| Named { name: row.name, about: row.about }).collect()
}
