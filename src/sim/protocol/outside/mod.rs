//! Messages to and from external programs: the conversations of docs/outside.md, and Batsim's.
//!
//! Only the content is here. Transport and failures of programs are up to the edge; `roles/outside/` checks that an
//! answer is about jobs that the program may decide on.

pub mod allocator;
pub mod batsim;
pub mod bidder;
pub mod manager;
pub mod planner;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::grid::{Expected, JobId, NodeSet};
use crate::time::{Span, Time};

/// Version of the line conversation. It increases when a program of the last version would be misunderstood; additional
/// keys in the messages of Hansa do not count.
pub const VERSION: u32 = 1;

/// An event at a site that an external program manages.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteEvent {
    /// A job arrived. Only the job itself knows its run time; each conversation decides if the program learns it.
    Submitted { job: JobId, nodes: u32, walltime: Span, runtime: Span },
    /// A job has left these nodes for good, with this part of its work done.
    Ended { job: JobId, how: JobEnd, on: NodeSet, progress: f64 },
    /// A running job has left all its nodes, as one failed; `waits` is its new walltime if it is queued here again, and
    /// `runtime` what it then runs, which only the job itself knows.
    Lost { job: JobId, on: NodeSet, waits: Option<Span>, runtime: Span },
    /// These nodes are down, and all others are up.
    Nodes { down: Vec<Expected> },
    /// A waiting job was recalled.
    Recalled { job: JobId },
    /// The time at which the program asked to be called.
    Called,
}

/// End of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobEnd {
    Done,
    /// Killed at its walltime.
    Walltime,
    /// Killed by the program.
    Killed,
}

/// An action that an external program requests at its site.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteAction {
    /// Starts a job on these nodes, or on the lowest free ones.
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
    /// Takes a running job off its nodes for another one, and lets it wait here, to start again from the beginning.
    Requeue {
        job: JobId,
    },
    /// Ends a running job so that another one gets its nodes.
    Preempt {
        job: JobId,
    },
    /// States that backfilling started a job, which has just been started.
    RecordBackfill {
        job: JobId,
    },
    /// Requests a call at this time, even without events.
    Call {
        at: Time,
    },
}

/// Requested actions with their times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Actions, ordered by time; never before the question.
    pub actions: Vec<(Time, SiteAction)>,
    /// End of the program's thinking time, in virtual time; no events are delivered to it before.
    pub ready: Time,
}

/// First message to every program that uses lines: the run, and facts for the program's role.
#[derive(Debug, Serialize)]
pub struct Hello<'a, T> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u32,
    role: &'static str,
    topology: &'a str,
    seed: u64,
    #[serde(flatten)]
    facts: T,
}

impl<'a, T> Hello<'a, T> {
    pub fn new(role: &'static str, topology: &'a str, seed: u64, facts: T) -> Hello<'a, T> {
        Hello { kind: "hello", version: VERSION, role, topology, seed, facts }
    }
}

/// A question to a program that uses lines.
#[derive(Debug, Serialize)]
pub struct Question<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Number of the question, from 1.
    ask: u64,
    t: f64,
    #[serde(flatten)]
    content: T,
}

impl<T> Question<T> {
    pub fn new(kind: &'static str, ask: u64, now: Time, content: T) -> Question<T> {
        Question { kind, ask, t: to_seconds(now.micros()), content }
    }
}

/// An answer of a program that uses lines.
pub trait Answer: DeserializeOwned {
    /// Type of the answer and of its question.
    const KIND: &'static str;
    /// An example, for error messages.
    const EXAMPLE: &'static str;

    /// Number of the question that it answers.
    fn question_number(&self) -> u64;
}

/// First answer of every program that uses lines.
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

/// A site as described to programs.
#[derive(Debug, Serialize)]
pub struct SiteLine<'a> {
    pub name: &'a str,
    pub nodes: u32,
}

/// Seconds, as usual in other programs. Equal numbers of microseconds give equal numbers.
pub fn to_seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Time in microseconds for a number of seconds; `None` if no run lasts that long.
pub fn time_of_seconds(seconds: f64) -> Option<Time> {
    let micros = (seconds * 1e6).round();
    // Integers up to 2^53, which doubles represent exactly.
    (0.0..=9_007_199_254_740_992.0).contains(&micros).then(|| Time::from_micros(micros as u64))
}

/// Requested call time of a program that uses lines.
fn call_time(t: f64) -> Result<Time, String> {
    time_of_seconds(t).ok_or_else(|| format!("asks to be called at {t} s, which is not a time of the run"))
}

/// Reads a set of nodes that a program names.
fn parse_nodes(text: &str) -> Result<NodeSet, String> {
    NodeSet::parse(text).ok_or_else(|| {
        format!("names the nodes {:?}, where numbers in order such as \"0-3 7\" were expected", shorten_output(text))
    })
}

/// The beginning of a program's output that can be shown.
pub fn shorten_output(output: &str) -> String {
    output
        .trim_end()
        .chars()
        .take(200)
        .map(|letter| if letter.is_control() { letter.escape_default().collect() } else { letter.to_string() })
        .collect()
}
