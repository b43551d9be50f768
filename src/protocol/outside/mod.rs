//! What programs outside are told and what they say: the conversations of docs/outside.md, and Batsim's.
//!
//! Here is only what is said. Who says it over what, and what becomes of a program that does not answer, is the edge's
//! business; what an answer may ask for is for those to check whom it is about (`roles/outside/`).

pub mod batsim;
pub mod bidder;
pub mod manager;
pub mod planner;

use serde::{Deserialize, Serialize};

use crate::grid::{Expected, JobId, NodeSet};
use crate::time::{Span, Time};

/// The version of the conversation in lines. It goes up when a program that kept to the last one would be
/// misunderstood; more keys in what Hansa says do not count.
pub const VERSION: u32 = 1;

/// What has happened at a site that a program outside manages.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteEvent {
    /// A job has come. How long it runs, only the job itself knows: whether a program is told is for its conversation
    /// to say.
    Submitted { job: JobId, nodes: u32, walltime: Span, runtime: Span },
    /// A job has left these nodes for good, having done this part of its work.
    Ended { job: JobId, how: End, on: NodeSet, progress: f64 },
    /// A node of a running job has failed, so it has left all of them; how long it may run from now on, if it waits
    /// here again.
    Lost { job: JobId, on: NodeSet, waits: Option<Span> },
    /// These nodes are down, and all others are up.
    Nodes { down: Vec<Expected> },
    /// A job that waited has been taken back.
    Recalled { job: JobId },
    /// The time has come at which the program wanted to be asked.
    Called,
}

/// How a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// Its walltime was over.
    Walltime,
    /// The program has ordered it.
    Killed,
}

/// What a program outside wants to be done at its site.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteAction {
    /// On these nodes, or on the lowest that are free.
    Start {
        job: JobId,
        on: Option<NodeSet>,
    },
    Reject {
        job: JobId,
    },
    Kill {
        job: JobId,
    },
    /// It wants to be asked then, whatever happens until then.
    Call {
        at: Time,
    },
}

/// What a program wants, and when.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// None is for a time before the question.
    pub wishes: Vec<(Time, SiteAction)>,
    /// The program has been thinking until then, in virtual time, and hears of nothing before.
    pub ready: Time,
}

/// The first answer of every program that talks in lines.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HelloAnswer {
    #[serde(rename = "type")]
    _kind: HelloWord,
    pub version: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HelloWord {
    Hello,
}

/// A site as programs are told of it.
#[derive(Debug, Serialize)]
pub struct SiteLine<'a> {
    pub name: &'a str,
    pub nodes: u32,
}

/// Seconds, as programs everywhere like them. All that has one number of microseconds has one number here.
pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// The time that a program means, to the microsecond; `None` if no run goes on for so long.
pub fn moment(seconds: f64) -> Option<Time> {
    let micros = (seconds * 1e6).round();
    // What a double counts without gaps.
    (0.0..=9_007_199_254_740_992.0).contains(&micros).then(|| Time::from_micros(micros as u64))
}

/// When a program that talks in lines wants to be called.
fn call(t: f64) -> Result<Time, String> {
    moment(t).ok_or_else(|| format!("asks to be called at {t} s, which is not a time of the run"))
}

/// Of what a program says so much as can be shown.
pub fn brief(said: &str) -> String {
    let shown = |letter: char| if letter.is_control() { letter.escape_default().collect() } else { letter.to_string() };
    said.trim_end().chars().take(200).map(shown).collect()
}
