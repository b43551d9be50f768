//! Batch queues: rigid jobs, a queue at each site, and the policies that all later work is compared with.
//!
//! A job requests nodes and a walltime, and gets all of them or waits. The site's policy decides which job starts when;
//! at its walltime a job is killed. Ours: nodes have identities where others count them, and the differences named in
//! each policy.

mod build;
mod claims;
mod dispatcher;
mod known_site;
mod queue_manager;
mod remedy;
mod rules;
mod stock;
#[cfg(test)]
mod tests;

pub use build::{ROW, policy_names};
pub use dispatcher::Dispatcher;
pub use known_site::{KnownSite, Takes};
pub use queue_manager::QueueManager;
pub use rules::{Batch, Dispatch};
