//! `summary.json`: the numbers of a run.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Status;
use crate::referee::tally::{JobRow, Standing};
use crate::results::counted::CountedSummary;
use hansa_sim::time::Span;

/// The whole file: results, which topology and seed determine, and facts about this run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryFile {
    pub results: Summary,
    pub run: RunFacts,
}

/// The results, which are the same in every layout. All times in seconds of virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub topology: String,
    pub seed: u64,
    pub status: Status,
    pub digest: String,
    /// Entries in the log.
    pub entries: u64,
    pub jobs: Counts,
    pub tasks: Counts,
    /// Jobs that count in means, if some do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedSummary>,
    /// Mean time from submission to end of jobs that finished or were killed, in seconds.
    #[serde(default)]
    pub turnaround: Option<f64>,
    /// Jobs with a deadline that never finished or finished too late to be worth anything.
    pub starved: Option<u64>,
    /// Share of jobs with a deadline that finished before it.
    #[serde(default)]
    pub in_time: Option<f64>,
    pub value: Option<Value>,
    /// Wait of jobs, from submission, or the ready time of a reservation, to the start of the first task.
    pub job_wait: Option<Spread>,
    /// Wait of tasks, from the end of the last predecessor, or as above without any, to the start.
    pub task_wait: Option<Spread>,
    /// Stretch of finished jobs.
    #[serde(default)]
    pub stretch: Option<Stretch>,
    /// Mean duration of finished jobs, as a multiple of their critical path.
    pub slr: Option<f64>,
    /// Tenths of the jobs, from those with the least work to those with the most.
    pub slr_by_size: Vec<SizeGroup>,
    /// As above, by the run times of all tasks of a job together; empty where each job is a single task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slr_by_runtime: Vec<SizeGroup>,
    /// Mean SLR per decile of critical path length.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slr_by_critical_path: Vec<SizeGroup>,
    pub first_arrival: Option<f64>,
    pub last_arrival: Option<f64>,
    /// End of the last task, or of the log if a task was running then.
    pub end: Option<f64>,
    /// Duration from the first arrival to the end.
    pub makespan: Option<f64>,
    pub utilisation: Utilisation,
    /// Share of the work for jobs with a worth that went into jobs whose users got a result of worth.
    pub useful: Option<f64>,
    /// The delay of the router's knowledge; none, if it saw everything at once.
    pub view: Option<Staleness>,
    /// The part of each subject of the run, by its name.
    #[serde(flatten)]
    pub(crate) parts: BTreeMap<String, serde_json::Value>,
    /// Traffic of the links, where a topology has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Carried>,
    /// True if there are jobs of several tasks beside those that only wait for nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
    /// Users that got no job of a log that is divided by its groups or users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_users: Vec<String>,
}

/// Most users without a job that are named.
const IDLE_MAX: usize = 8;

impl Summary {
    /// True if jobs arrived for most of the run, so that the utilisation in that time has a meaning: a workflow
    /// submitted at once has nearly all of its run after that.
    pub fn arrivals_matter(&self) -> bool {
        let share = self.arrival_span().zip(self.makespan);
        share.is_some_and(|(during, makespan)| during > 0.0 && during >= makespan / 2.0)
    }

    /// Duration from the first arrival to the last.
    pub(crate) fn arrival_span(&self) -> Option<f64> {
        self.first_arrival.zip(self.last_arrival).map(|(first, last)| last - first)
    }

    /// Counts of the jobs that count in means.
    pub fn counted_jobs(&self) -> Counts {
        self.counted.map_or(self.jobs, |counted| counted.jobs)
    }

    /// Sentence about the users without a job.
    pub fn idle_note(&self) -> String {
        let users = &self.idle_users;
        match &users[..] {
            [one] => format!("user {one} got no job of the log"),
            _ if users.len() <= IDLE_MAX => format!("users {} got no job of the log", users.join(", ")),
            _ => {
                let first = users[..IDLE_MAX].join(", ");
                let more = users.len() - IDLE_MAX;
                format!("users {first} and {more} more got no job of the log")
            }
        }
    }

    /// Utilisation of some cores, while jobs arrived or else over the makespan.
    pub fn utilisation_of(&self, cores: &Use) -> Option<f64> {
        cores.arrivals.filter(|_| self.arrivals_matter()).or(cores.makespan)
    }

    /// The interval of [`Summary::utilisation_of`].
    pub fn utilisation_interval(&self) -> &'static str {
        if self.arrivals_matter() { "while jobs arrived" } else { "over the makespan" }
    }
}

/// A subject's own part of a summary.
pub trait SummaryPart: Serialize + DeserializeOwned {
    const NAME: &'static str;
}

/// Counts by state; `submitted` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub submitted: u64,
    pub finished: u64,
    /// Ended at their walltime.
    #[serde(default)]
    pub killed: u64,
    /// Ended by their sites for others, before they were done.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub preempted: u64,
    /// Given up after the job's final deadline, or taken back by their user.
    pub removed: u64,
    pub refused: u64,
    /// Waiting or running when the log ended.
    pub unfinished: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub obtained: f64,
    /// The value if every job with a value had finished in time.
    pub max: f64,
    pub proportion: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    pub mean: f64,
    pub median: f64,
    /// 95 % waited no longer.
    pub p95: f64,
}

/// Durations of jobs from their earliest starts to their ends, as multiples of their critical paths; neither counts as
/// less than 10 s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    pub mean: f64,
    /// 99 % of the jobs had no more.
    pub p99: f64,
    pub max: f64,
}

/// One of ten equal groups of jobs by size; equal ones by id.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeGroup {
    pub jobs: u64,
    /// Mean over the finished ones.
    pub slr: Option<f64>,
    /// Mean over all with a deadline, where each starved one counts with its final deadline.
    pub slr_censored: Option<f64>,
    /// Share of those with a deadline that starved.
    #[serde(default)]
    pub starved: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    pub all: Use,
    pub kinds: Vec<Use>,
    pub sites: Vec<Use>,
}

/// Utilisation of some cores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Use {
    pub name: String,
    pub cores: u64,
    pub tasks: u64,
    /// Core seconds of work, over the whole run.
    pub busy: f64,
    /// Share of core time between the first and the last arrival.
    pub arrivals: Option<f64>,
    /// Share of core time over the makespan.
    pub makespan: Option<f64>,
}

/// All flows that have ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    pub flows: u64,
    /// Flows that were under way when the log ended.
    pub unfinished: u64,
    pub bytes: u64,
    /// Mean over flows that moved anything, in bytes a second.
    pub rate: Option<f64>,
    /// Mean over the same flows of how many times as long as alone they took.
    pub stretch: Option<f64>,
}

/// The effect of an old view over a run. Times in seconds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staleness {
    /// Delay from the end of a task to its report, or to the offer of its cores, by links and periods; mean over ended
    /// tasks.
    pub lag_mean: f64,
    pub lag_max: f64,
    /// Core seconds that were free in this time, but in use as far as the router knew.
    pub unseen: f64,
    /// True if sites offer their cores, so that the router learns of free cores by offers and not by reports of ends.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_offers: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Staleness {
    /// True if the delay is more than that of a fast network.
    pub fn is_noticeable(&self) -> bool {
        self.lag_max >= 1.0
    }
}

/// Results of a live run. Errors are `|measured / model - 1|`, over flows with a modelled duration above zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveFacts {
    /// Virtual seconds per second of real time.
    pub speed: f64,
    pub flows: u64,
    pub median_error: Option<f64>,
    /// 95 % of the flows had no larger error.
    pub p95_error: Option<f64>,
    pub max_error: Option<f64>,
    /// Sum of all durations, as a multiple of the model's sum.
    pub overall: Option<f64>,
}

/// A median error far above that of a machine that keeps up.
const DOUBTFUL: f64 = 0.05;

impl LiveFacts {
    /// A warning before conclusions from the measurement, if it is far off.
    pub fn doubt_warning(&self) -> Option<String> {
        let (median, overall) = self.median_error.zip(self.overall)?;
        (median > DOUBTFUL).then(|| {
            format!("flows took {overall:.2} times as long as in the model: is this machine too slow for them?")
        })
    }
}

/// Bytes that were really moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFacts {
    pub flows: u64,
    pub bytes: u64,
}

/// Cost of a run, which differs between machines. A layout leaves inapplicable fields empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    pub layout: String,
    /// Duration from the start of the program to the writing of this.
    pub wall_seconds: f64,
    /// Part of it until all members had joined and were ready.
    pub join_seconds: f64,
    /// Part of it from the first event to the last, without the writing.
    pub run_seconds: f64,
    /// Part of it for the log, the tables and everything made of them.
    #[serde(default)]
    pub write_seconds: f64,
    /// Events handled; at the hub only, where there is one.
    pub events: u64,
    pub events_per_second: Option<f64>,
    /// Number of waits of the hub for leaves.
    pub hub_waits: Option<u64>,
    pub messages: Option<u64>,
    pub messages_per_packet: Option<f64>,
    /// Frames between the hub and its leaves, both ways.
    pub frames: Option<u64>,
    /// Number of waits of the hub, by leaf.
    pub waits: BTreeMap<String, u64>,
    /// Seconds of waiting of the hub, by leaf.
    pub blocked_seconds: BTreeMap<String, f64>,
    /// Bytes sent from site to site for the flows of the network, each load checked at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<MovedFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveFacts>,
}

impl Summary {
    /// The part of a subject, if the run has it.
    pub fn read_part<P: SummaryPart>(&self) -> Option<P> {
        P::deserialize(self.parts.get(P::NAME)?).ok()
    }

    pub(crate) fn put_part<P: SummaryPart>(&mut self, part: &P) {
        let value = serde_json::to_value(part).expect("a part of a summary is always JSON");
        self.parts.insert(P::NAME.to_owned(), value);
    }
}

impl Spread {
    /// The spread of some durations; none without any. The median of an even number is the mean of the middle two.
    pub(crate) fn of(mut spans: Vec<Span>) -> Option<Spread> {
        spans.sort_unstable();
        let count = spans.len();
        (count > 0).then(|| Spread {
            mean: spans.iter().map(|span| u128::from(span.micros())).sum::<u128>() as f64 / count as f64 / 1e6,
            median: (u128::from(micros_at((count - 1) / 2, &spans)) + u128::from(micros_at(count / 2, &spans))) as f64
                / 2e6,
            p95: micros_at((count * 95).div_ceil(100) - 1, &spans) as f64 / 1e6,
        })
    }
}

fn micros_at(place: usize, spans: &[Span]) -> u64 {
    spans[place].micros()
}

impl Stretch {
    /// The stretch of some jobs; none without any.
    pub(crate) fn of(mut all: Vec<f64>) -> Option<Stretch> {
        all.sort_unstable_by(f64::total_cmp);
        let max = *all.last()?;
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Some(Stretch { mean, p99: all[(all.len() * 99).div_ceil(100) - 1], max })
    }
}

impl Counts {
    pub(crate) fn add(&mut self, standing: Standing) {
        self.submitted += 1;
        *match standing {
            Standing::Finished => &mut self.finished,
            Standing::Killed => &mut self.killed,
            Standing::Preempted => &mut self.preempted,
            Standing::Removed => &mut self.removed,
            Standing::Refused => &mut self.refused,
            Standing::Unfinished => &mut self.unfinished,
        } += 1;
    }

    pub fn add_up(&self) -> bool {
        let ended = self.finished + self.killed + self.preempted;
        self.submitted == ended + self.removed + self.refused + self.unfinished
    }
}

/// True if a number may be left out of a summary.
pub(crate) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

pub(crate) fn work_micros(row: &JobRow) -> u128 {
    row.job.tasks.iter().map(|task| u128::from(task.runtime.micros()) * u128::from(task.cores)).sum()
}
