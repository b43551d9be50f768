//! Plans without a run: the policies that make them, their inputs and their results.
//!
//! A system's row lists its policies that plan ahead ([`super::SystemRow::plans`]), each with a function that plans one
//! workflow. The result is names and numbers that people know, for every policy; reports determine its appearance.

use serde::{Deserialize, Serialize};

use super::{Grid, Service, Submissions};
use crate::grid::Area;
use crate::time::{Span, Time};
use crate::workload::workflow::WorkflowFile;

/// A policy that plans ahead.
pub struct Maker {
    pub name: &'static str,
    pub about: &'static str,
    /// True if it plans on the free slots of a moment, and weighs cost against time.
    pub bargains: bool,
    pub make: fn(&PlanRequest<'_>) -> Result<Planned, Unplannable>,
}

/// The input of a planning policy.
pub struct PlanRequest<'a> {
    pub policy: &'static str,
    /// The system with its settings in the topology, or its defaults.
    pub service: &'a Service,
    pub grid: &'a Grid<'a>,
    /// Names of the links of the grid's network.
    pub links: Vec<String>,
    pub work: &'a WorkflowFile,
    /// Its name in tables, traces and pages.
    pub name: &'a str,
    /// Weight of the cost in the objective, from 0 (an early end) to 1 (a low cost).
    pub alpha: f64,
    /// The most that a plan may cost, and how long it may take, if there are limits.
    pub budget: Option<Area>,
    pub deadline: Option<Span>,
    /// The moment of planning.
    pub at: Time,
    /// The jobs that the system's users submit themselves, by user number.
    pub load: &'a [Submissions],
}

/// The reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unplannable(pub String);

/// The plan of a workflow. All times are seconds since the moment of planning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Planned {
    Schedule(Schedule),
    Choices(Choices),
}

/// One plan: the place and time of each task, and the transfers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    pub workflow: String,
    pub policy: &'static str,
    /// End of the last task if no transfers shared a link.
    pub planned: f64,
    /// End of the last task on the actual network.
    pub realistic: f64,
    /// All plans that were made.
    pub rounds: Vec<Round>,
    /// Index in `rounds` of the plan that was chosen.
    pub best: usize,
    pub cycle: Option<Cycle>,
    pub sites: Vec<SiteRow>,
    pub tasks: Vec<TaskRow>,
    pub transfers: Vec<TransferRow>,
    pub links: Vec<String>,
    /// The unit of volumes.
    pub data: &'static str,
}

/// The expected and the actual end of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Round {
    pub planned: f64,
    pub realistic: f64,
}

/// A cycle of plans: from plan `first` on, the same `period` plans repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    pub first: usize,
    pub period: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRow {
    pub name: String,
    pub cores: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    pub name: String,
    pub site: usize,
    /// Numbers of its cores at the site, from 0.
    pub cores: Vec<u32>,
    pub planned_start: f64,
    pub planned_end: f64,
    pub start: f64,
    pub end: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransferRow {
    /// Sender, as an index into the list of tasks.
    pub from: usize,
    pub to: usize,
    /// Bytes; in a table of costs, seconds at full capacity.
    pub volume: f64,
    /// Links of the route, as indices into the list of links.
    pub links: Vec<u32>,
    pub release: f64,
    pub end: f64,
}

/// Several plans, as an earlier end costs more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choices {
    pub workflow: String,
    pub policy: &'static str,
    /// True if the search had the weighted sum of cost and makespan as its only aim.
    pub is_weighted: bool,
    pub alpha: f64,
    /// The moment of planning, counted from the start of a run.
    pub at: f64,
    pub sites: Vec<PlanningSite>,
    /// Number of plans evaluated.
    pub evaluated: usize,
    /// Least processor time of the tasks: no plan costs less at the default price.
    pub work: f64,
    /// Limits of cost and makespan, and the number of plans, or of purchases, that break them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
    /// The plans, the cheapest first. None dominates another, unless it is marked.
    pub plans: Vec<Choice>,
    /// The plan that alpha selects.
    pub chosen: usize,
    /// Tasks of the chosen plan, in order of their starts.
    pub tasks: Vec<PlacedTask>,
}

/// A site at the moment of planning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanningSite {
    pub name: String,
    pub cores: u32,
    /// Number of advertised slots.
    pub slots: usize,
    pub running: usize,
    pub waiting: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Cost in processor-seconds.
    pub cost: f64,
    pub makespan: f64,
    pub bookings: usize,
    /// True if another plan costs no more and takes no longer.
    pub dominated: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacedTask {
    pub task: String,
    pub site: String,
    pub cores: u32,
    pub start: f64,
    pub end: f64,
}
