//! Batch queues: rigid jobs, a queue at each site, and the policies that everybody compares with.
//!
//! A job asks for nodes and a walltime, and gets them whole or waits. Which one starts when is up to the site's policy;
//! at its walltime it is killed. Ours: nodes by identity where others count them, and the places named in each
//! policy where others differ.

mod cast;
mod claims;
mod desk;
mod dispatcher;
mod known_site;
mod remedy;
mod rules;
mod stock;
#[cfg(test)]
mod tests;

pub use cast::{ROW, policies};
pub use desk::Desk;
pub use dispatcher::Dispatcher;
pub use known_site::{KnownSite, Takes};
pub use rules::{Batch, Dispatch};
