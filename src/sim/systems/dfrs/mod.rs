//! Dynamic fractional resource scheduling: jobs share the nodes of one cluster, are paused and moved, and have no
//! run-time estimates.
//!
//! H. Casanova, M. Stillwell, F. Vivien, "Dynamic Fractional Resource Scheduling vs. Batch Scheduling", INRIA RR-7659,
//! 2011.
//!
//! An [`Algorithm`] has the paper's name for it. A [`Cluster`] follows one: it receives the completions and submissions
//! of one instant after another, and returns the starts, pauses and moves, and the fraction of its need that each job
//! gets, its *yield*.
//!
//! Decisions of ours where the paper is silent: the time under a penalty adds nothing to a job's virtual time;
//! `GreedyP` may displace any running job; the greedy fill continues after a failure; ticks count from the first
//! submission of a job that is not refused; a job that is placed and displaced within one instant has never run; MCB8
//! searches list C first on a node with equal free memory and processor. The cost of a move in addition to the penalty,
//! if images take time, is also ours: docs/dfrs.md has the rule.

mod algorithm;
mod alone;
mod cluster;
mod greedy;
mod idle;
mod manager;
mod mcb8;
mod name;
mod ranking;
mod room;
mod stretch;
#[cfg(test)]
mod tests;
mod yields;

pub use crate::grid::sharing::{
    BadNeed, Bound, MappingRefusal, Moves, Need, Timed, Usage, bound_within, bounded_stretch, compute_bound,
    measure_underutilisation, offered_load,
};
pub use algorithm::{Action, Algorithm, Fractional, Grace, Optimise, Periodic, VirtualTime};
pub use alone::{ClusterRun, run_alone, run_on};
pub use cluster::{Changes, Cluster, ClusterJob, Events, JobStage, Placed};
pub use manager::KIND;
pub use name::NameError;
pub use room::TaskPlaces;
