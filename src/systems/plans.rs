//! Plans without a run: which policies make some, what they are told, and what comes of it.
//!
//! A system's row lists its policies that plan ahead ([`super::Row::plans`]), each with how it makes a plan of one
//! workflow. The result is names and numbers that people know, whoever made it; how it looks is for reports.

use serde::{Deserialize, Serialize};

use super::{Grid, Lines, Service};
use crate::time::Time;
use crate::workload::workflow::Written;

/// A policy that plans ahead.
pub struct Maker {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it plans on what is free at a moment, and weighs cost against time.
    pub bargains: bool,
    pub make: fn(&Order<'_>) -> Result<Planned, Unplannable>,
}

/// What is to be planned, and on what.
pub struct Order<'a> {
    pub policy: &'static str,
    /// The system as the topology has set it up, or as it usually is.
    pub service: &'a Service,
    pub grid: &'a Grid<'a>,
    /// What the links of the grid's network are called.
    pub links: Vec<String>,
    pub work: &'a Written,
    /// Its name in tables, traces and pages.
    pub name: &'a str,
    /// What to optimise: 0 is an early end, 1 is a low cost.
    pub alpha: f64,
    /// The moment of planning.
    pub at: Time,
    /// What the users of the system hand in by themselves, by their numbers.
    pub load: &'a [Lines],
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unplannable(pub String);

/// What a policy has made of a workflow. All times are seconds since the moment of planning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Planned {
    Schedule(Schedule),
    Choices(Choices),
}

/// One plan: where and when each task runs, and how its data moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    pub workflow: String,
    pub policy: &'static str,
    /// When the last task would end if no transfers shared a link.
    pub planned: f64,
    /// When it ends on the network that there is.
    pub realistic: f64,
    /// Every plan that was made.
    pub rounds: Vec<Round>,
    /// Which of them this is.
    pub best: usize,
    pub cycle: Option<Cycle>,
    pub sites: Vec<SiteRow>,
    pub tasks: Vec<TaskRow>,
    pub transfers: Vec<TransferRow>,
    pub links: Vec<String>,
    /// The unit of volumes.
    pub data: &'static str,
}

/// What a plan expects, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Round {
    pub planned: f64,
    pub realistic: f64,
}

/// From plan `first` on, the same `period` plans come again and again.
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
    /// Of the site, counted from 0.
    pub cores: Vec<u32>,
    pub planned_start: f64,
    pub planned_end: f64,
    pub start: f64,
    pub end: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransferRow {
    /// Tasks by their places in the list.
    pub from: usize,
    pub to: usize,
    /// Bytes; in a table of costs, seconds at full capacity.
    pub volume: f64,
    /// By their places in the list.
    pub links: Vec<u32>,
    pub release: f64,
    pub end: f64,
}

/// Several plans, as who wants it soon pays more.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choices {
    pub workflow: String,
    pub policy: &'static str,
    pub alpha: f64,
    /// The moment of planning, counted from the start of a run.
    pub at: f64,
    pub sites: Vec<Market>,
    /// How many plans were looked at.
    pub evaluated: usize,
    /// What the tasks take where they take least: nothing costs less at the usual price.
    pub work: f64,
    /// The cheapest first. No other one is as good in both and better in one, unless it says so.
    pub plans: Vec<Choice>,
    /// The one that alpha takes.
    pub chosen: usize,
    /// Its tasks, in order of their starts.
    pub tasks: Vec<PlacedTask>,
}

/// A site at the moment of planning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Market {
    pub name: String,
    pub cores: u32,
    /// What it advertises.
    pub slots: usize,
    pub running: usize,
    pub waiting: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// In processor-seconds.
    pub cost: f64,
    pub makespan: f64,
    pub bookings: usize,
    /// Some other one costs no more and takes no longer.
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
