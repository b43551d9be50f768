//! The conversation with a bid policy.

use serde::{Deserialize, Serialize};

use super::{VERSION, seconds};
use crate::grid::{JobId, Worth};
use crate::time::Span;

#[derive(Debug, Serialize)]
pub struct BidderHello<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u32,
    role: &'static str,
    topology: &'a str,
    seed: u64,
    ask: &'static str,
    winner: &'static str,
    tick: f64,
    sites: Vec<ClusterLine<'a>>,
}

impl<'a> BidderHello<'a> {
    /// Hello to a program that is asked then; `wins` is the kind of bid that wins.
    pub fn new(
        topology: &'a str,
        seed: u64,
        (ask, winner): (&'static str, &'static str),
        tick: Span,
        sites: Vec<ClusterLine<'a>>,
    ) -> BidderHello<'a> {
        let tick = seconds(tick.micros());
        BidderHello { kind: "hello", version: VERSION, role: "bidder", topology, seed, ask, winner, tick, sites }
    }
}

#[derive(Debug, Serialize)]
pub struct ClusterLine<'a> {
    pub name: &'a str,
    pub cores: u32,
    pub kind: &'a str,
}

#[derive(Debug, Serialize)]
pub struct BidderQuestion<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub ask: u64,
    pub t: f64,
    /// Tasks that are new to the program.
    pub new: Vec<TaskLine<'a>>,
    /// Tasks known to the program whose jobs are over; they do not appear again.
    pub over: Vec<String>,
    /// Tasks that need bids, in this order.
    pub queue: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct TaskLine<'a> {
    pub task: String,
    pub job: JobId,
    /// Submission of the job.
    pub submitted: f64,
    pub runtime: f64,
    pub cores: u32,
    pub kind: &'a str,
    /// Longest path from the task's start to the end of the job, and from the job's start.
    pub rank: f64,
    pub critical_path: f64,
    pub worth: &'a Option<Worth>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BidderAnswer {
    #[serde(rename = "type")]
    _kind: BidsWord,
    pub ask: u64,
    pub bids: Vec<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BidsWord {
    Bids,
}
