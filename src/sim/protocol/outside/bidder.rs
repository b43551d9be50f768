//! The conversation with a bid policy.

use serde::{Deserialize, Serialize};

use super::Answer;
use crate::grid::{JobId, Worth};

/// Facts for a bidder.
#[derive(Debug, Serialize)]
pub struct BidderFacts<'a> {
    /// The times at which the program is asked for bids.
    pub ask: &'static str,
    /// Bid that wins: `largest` or `smallest`.
    pub winner: &'static str,
    pub tick: f64,
    pub sites: Vec<ClusterLine<'a>>,
}

#[derive(Debug, Serialize)]
pub struct ClusterLine<'a> {
    pub name: &'a str,
    pub cores: u32,
    pub kind: &'a str,
}

#[derive(Debug, Serialize)]
pub struct BidderQuestion<'a> {
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

impl Answer for BidderAnswer {
    const KIND: &'static str = "bids";
    const EXAMPLE: &'static str = r#"{"type":"bids","ask":1,"bids":[3.5]}"#;

    fn question_number(&self) -> u64 {
        self.ask
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BidsWord {
    Bids,
}
