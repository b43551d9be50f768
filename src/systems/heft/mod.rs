//! HEFT, and its network-aware kin: M. M. Yousaf and M. Welzl, "Network-Aware HEFT Scheduling for Grid", on top of
//! H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling for heterogeneous
//! computing".
//!
//! A [`Problem`] is a graph of tasks, what each takes at each site, and the network between the sites. [`plan`] makes a
//! [`Schedule`] by HEFT with insertion, as if every transfer had the network to itself. [`replay()`] lets that schedule
//! happen on the network, where transfers share links: it is *stretched*. [`improve()`] feeds the times that transfers
//! took back into HEFT and keeps the best of what comes out.
//!
//! What is ours: a site may have several cores, each with gaps of its own, and a task may need several at once; data
//! between cores of one site takes no time. With one core a site this is the paper's processor.
//!
//! Cost, for `v` tasks, `e` edges and `q` cores: a plan takes O(e q + v (log v + q g)), where `g` is what it takes to
//! find a gap, O(log v) but for gaps that are too short; a replay has at most `v + 2 e` events of O(log v), and what
//! the flows' own changes cost ([`crate::network`]).

mod cast;
mod improve;
mod live;
pub mod paper;
mod planner;
mod planning;
pub mod plans;
mod problem;
mod replay;
mod schedule;
#[cfg(test)]
mod tests;

pub use super::plans::{Cycle, Round};
pub use crate::network::Paths;
pub use cast::ROW;
pub use improve::{Improved, Improvement, Stop, improve, improve_around};
pub use planner::Planner;
pub use planning::{Planning, Policy, StopRule, Update};
pub use problem::{Awareness, CORES_MAX, Problem, ProblemError, Resource};
pub use replay::{Clock, Moved, PeriodRounding, Replay, Replaying, replay};
pub use schedule::{Costs, Placed, Schedule, Timetable, plan, plan_into};
