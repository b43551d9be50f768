//! HEFT and its network-aware variant: M. M. Yousaf and M. Welzl, "Network-Aware HEFT Scheduling for Grid", based on H.
//! Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling for heterogeneous
//! computing".
//!
//! A [`Problem`] is a graph of tasks, their run times at each site, and the network between the sites.
//! [`plan_schedule`] makes a [`Schedule`] by HEFT with insertion, as if every transfer had the network to itself.
//! [`replay_plan()`] executes that schedule on the network, where transfers share links: it is *stretched*.
//! [`improve_plan()`] feeds the actual times of the transfers back into HEFT and keeps the best of the plans.
//!
//! Ours: a site may have several cores, each with its own gaps, and a task may need several at once. Data between cores
//! of one site takes no time. With one core per site this is the paper's processor.
//!
//! Cost, for `v` tasks, `e` edges and `q` cores: a plan takes O(e q + v (log v + q g)), where `g` is the cost of
//! finding a gap, O(log v) except for gaps that are too short; a replay has at most `v + 2 e` events of O(log v), plus
//! the cost of changes to the flows ([`crate::network`]).

mod awareness;
mod build;
mod improve;
pub mod paper;
mod planner;
mod planning;
pub mod plans;
mod problem;
mod replay;
mod schedule;
#[cfg(test)]
mod tests;
mod workflows;

pub use super::plans::{Cycle, Round};
pub use crate::network::Paths;
pub use awareness::Awareness;
pub use build::ROW;
pub use improve::{Improved, Improvement, StopReason, improve_around, improve_plan};
pub use planner::Planner;
pub use planning::{Planning, Policy, StopRule, Update};
pub use problem::{CORES_MAX, Problem, ProblemError, Resource, Work};
pub use replay::{Clock, PeriodRounding, Replay, Replaying, TransferTrace, replay_plan};
pub use schedule::{HeftPlacement, Schedule, Timetable, TransferTimes, plan_into, plan_schedule};
