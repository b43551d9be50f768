//! Dynamic fractional resource scheduling: jobs share the nodes of one cluster, are paused and moved, and nobody says
//! how long they run.
//!
//! H. Casanova, M. Stillwell, F. Vivien, "Dynamic Fractional Resource Scheduling vs. Batch Scheduling", INRIA RR-7659,
//! 2011.
//!
//! An [`Algorithm`] is known by the paper's name for it. A [`Cluster`] follows one: it is told of one instant after
//! another who has ended and who has come, and says who starts, is paused, moved, and how much of its need each job
//! gets, its *yield*.
//!
//! What is ours where the paper leaves it open: the time under a penalty adds nothing to a job's virtual time;
//! `GreedyP` may displace any running job; the greedy fill goes on after a failure; ticks count from the first
//! submission of a job that is not refused; a job that is placed and displaced within one instant has never run; MCB8
//! searches list C first on a node with as much memory as processor. So is what a move costs beside the penalty where
//! images take time: docs/dfrs.md has the rule.

mod algorithm;
mod alone;
mod bound;
mod cluster;
mod greedy;
mod idle;
mod manager;
mod mcb8;
mod measures;
mod name;
mod need;
mod ranking;
mod room;
mod stretch;
#[cfg(test)]
mod tests;
mod yields;

pub use algorithm::{Action, Algorithm, Fractional, Grace, Optimise, Periodic};
pub use alone::{Outcome, Timed, run, run_on};
pub use bound::{Bound, bound, bound_within};
pub use cluster::{Changes, Cluster, Events, Live, Placed, Stage};
pub use manager::KIND;
pub use measures::{Moves, Usage, bounded_stretch, offered_load, underutilisation};
pub use name::NameError;
pub use need::{BadNeed, Need, Refusal};
pub use room::Places;
