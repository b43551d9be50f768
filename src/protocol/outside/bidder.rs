//! The conversation with a bid policy.

use serde::{Deserialize, Serialize};

use crate::grid::{JobId, Worth};

#[derive(Debug, Serialize)]
pub struct Hello<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub version: u32,
    pub role: &'static str,
    pub topology: &'a str,
    pub seed: u64,
    pub ask: &'static str,
    pub winner: &'static str,
    pub tick: f64,
    pub sites: Vec<Cluster<'a>>,
}

#[derive(Debug, Serialize)]
pub struct Cluster<'a> {
    pub name: &'a str,
    pub cores: u32,
    pub kind: &'a str,
}

#[derive(Debug, Serialize)]
pub struct Question<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub ask: u64,
    pub t: f64,
    /// Tasks that the program has not heard of.
    pub new: Vec<TaskLine<'a>>,
    /// Tasks that it has heard of and will not hear of again: their jobs are over.
    pub over: Vec<String>,
    /// Whose bids are wanted, in this order.
    pub queue: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct TaskLine<'a> {
    pub task: String,
    pub job: JobId,
    /// When the job was submitted.
    pub submitted: f64,
    pub runtime: f64,
    pub cores: u32,
    pub kind: &'a str,
    /// The longest way from the task's start to the end of the job, and from the job's start.
    pub rank: f64,
    pub critical_path: f64,
    pub worth: &'a Option<Worth>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
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
