//! `summary.json`: a run in numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::subjects::{self, Subject, SummaryPart, USUAL};
use super::tally::{JobRow, Standing};
use super::transfers::Carried;
use super::view::View;
use super::{LiveFacts, Status, Tally};
use crate::time::{Span, Time};

/// The whole file: what every run of the topology and seed gives, and what this one took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryFile {
    pub results: Summary,
    pub run: RunFacts,
}

/// The part that is the same wherever a run's parts run. All times in seconds of virtual time.
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
    /// Jobs with a deadline that never finished or finished too late to be worth anything.
    pub starved: Option<u64>,
    /// The share of jobs with a deadline that finished before it.
    #[serde(default)]
    pub in_time: Option<f64>,
    pub value: Option<Value>,
    /// Jobs: from submission, or the ready time of a reservation, to the start of their first task.
    pub job_wait: Option<Spread>,
    /// Tasks: from the end of their last predecessor, or as above where they have none, to their start.
    pub task_wait: Option<Spread>,
    /// Of finished jobs.
    #[serde(default)]
    pub stretch: Option<Stretch>,
    /// Mean over finished jobs of the time they took as a multiple of their critical path.
    pub slr: Option<f64>,
    /// Tenths of the jobs, from those with the least work to those with the most.
    pub slr_by_size: Vec<SizeGroup>,
    pub first_arrival: Option<f64>,
    pub last_arrival: Option<f64>,
    /// When the last task ended, or what was running when the log ended.
    pub end: Option<f64>,
    /// From the first arrival to the end.
    pub makespan: Option<f64>,
    pub utilisation: Utilisation,
    /// The share of the work done for jobs with a worth that went into those whose users got something for them.
    pub useful: Option<f64>,
    /// What the router did not see in time; nothing, if it saw everything at once.
    pub view: Option<View>,
    /// What each subject of the run says of it, by its name.
    #[serde(flatten)]
    parts: BTreeMap<String, serde_json::Value>,
    /// What crossed the links, where a topology has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Carried>,
    /// Whether there are jobs of several tasks beside those that only wait for nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
}

impl Summary {
    /// Whether jobs came for most of the run, so that it says something how busy the grid was meanwhile: a workflow
    /// that is handed in at once has nearly all of its run after that.
    pub fn arrivals_tell(&self) -> bool {
        let share = self.arriving().zip(self.makespan);
        share.is_some_and(|(during, makespan)| during > 0.0 && during >= makespan / 2.0)
    }

    /// From the first arrival to the last.
    pub(super) fn arriving(&self) -> Option<f64> {
        self.first_arrival.zip(self.last_arrival).map(|(first, last)| last - first)
    }

    /// How much of some cores was used, while jobs arrived or else over the makespan.
    pub fn used(&self, cores: &Use) -> Option<f64> {
        cores.arrivals.filter(|_| self.arrivals_tell()).or(cores.makespan)
    }

    /// When that was.
    pub fn used_when(&self) -> &'static str {
        if self.arrivals_tell() { "while jobs arrived" } else { "over the makespan" }
    }
}

/// How many there were, and what became of them; `submitted` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub submitted: u64,
    pub finished: u64,
    /// Ended at their walltime.
    #[serde(default)]
    pub killed: u64,
    /// Given up after the job's final deadline, or taken back by their user.
    pub removed: u64,
    pub refused: u64,
    /// Waiting or running when the log ended.
    pub unfinished: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    pub obtained: f64,
    /// If every job with a value had been done in time.
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

/// Times from when jobs were wanted to their ends, by their critical paths, where neither counts as less than 10 s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    pub mean: f64,
    /// 99 % of the jobs had no more.
    pub p99: f64,
    pub max: f64,
}

/// One of ten equal groups of jobs by (work, id).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeGroup {
    pub jobs: u64,
    /// Mean over those that finished.
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

/// How busy some cores were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Use {
    pub name: String,
    pub cores: u64,
    pub tasks: u64,
    /// Core seconds of work, over the whole run.
    pub busy: f64,
    /// The share of core time between the first and the last arrival.
    pub arrivals: Option<f64>,
    /// The share of core time over the makespan.
    pub makespan: Option<f64>,
}

/// What was really moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedFacts {
    pub flows: u64,
    pub bytes: u64,
}

/// What a run took, which differs from machine to machine. What a layout does not have stays empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    pub layout: String,
    /// From the start of the program to the writing of this.
    pub wall_seconds: f64,
    /// Of these: until everybody had joined and was ready.
    pub join_seconds: f64,
    /// Of these: from the first event to the last, without what was spent on writing them down.
    pub run_seconds: f64,
    /// Of these: for the log, the tables and all that is made of them.
    #[serde(default)]
    pub write_seconds: f64,
    /// Events handled: at the hub alone, where there is one.
    pub events: u64,
    pub events_per_second: Option<f64>,
    /// How often the hub had to wait for a leaf.
    pub hub_waits: Option<u64>,
    pub messages: Option<u64>,
    pub messages_per_packet: Option<f64>,
    /// Frames between the hub and its leaves, both ways.
    pub frames: Option<u64>,
    /// How often the hub had to wait for each leaf.
    pub waits: BTreeMap<String, u64>,
    /// Seconds that the hub spent waiting, by the leaf it waited for.
    pub blocked_seconds: BTreeMap<String, f64>,
    /// Bytes that went from site to site for the flows of the network, each load checked at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<MovedFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveFacts>,
}

impl Summary {
    /// What a subject says of the run, if it is one of its subjects.
    pub fn part<P: SummaryPart>(&self) -> Option<P> {
        P::deserialize(self.parts.get(P::NAME)?).ok()
    }

    pub(super) fn put<P: SummaryPart>(&mut self, part: &P) {
        let value = serde_json::to_value(part).expect("a part of a summary is always JSON");
        self.parts.insert(P::NAME.to_owned(), value);
    }

    /// The subjects that have a part in it.
    pub(super) fn subjects(&self) -> impl Iterator<Item = &'static Subject> {
        subjects::ALL.iter().filter(|subject| self.parts.contains_key(subject.part))
    }

    /// Whether each job is a single task that keeps its nodes: SLR is then no more than a slowdown, of which there are
    /// better ones.
    pub(super) fn has_only_single_tasks(&self) -> bool {
        !self.mixed && self.subjects().any(|subject| subject.one_task)
    }

    /// How many of its jobs or tasks did not finish, in the words that people read.
    pub(super) fn others(&self, counts: Counts) -> impl Iterator<Item = (u64, &'static str)> + use<> {
        let words = self.subjects().find_map(|subject| subject.words).filter(|_| !self.mixed);
        let removed = words.unwrap_or(USUAL).removed;
        let others = [
            (counts.killed, "killed at the walltime"),
            (counts.removed, removed),
            (counts.refused, "refused"),
            (counts.unfinished, "unfinished"),
        ];
        others.into_iter().filter(|(count, _)| *count > 0)
    }
}

impl Spread {
    /// Of nothing there is none. The median of an even number lies between the two in the middle.
    pub(super) fn of(mut spans: Vec<Span>) -> Option<Spread> {
        spans.sort_unstable();
        let count = spans.len();
        let at = |place: usize| spans[place].micros();
        (count > 0).then(|| Spread {
            mean: spans.iter().map(|span| u128::from(span.micros())).sum::<u128>() as f64 / count as f64 / 1e6,
            median: (u128::from(at((count - 1) / 2)) + u128::from(at(count / 2))) as f64 / 2e6,
            p95: at((count * 95).div_ceil(100) - 1) as f64 / 1e6,
        })
    }
}

impl Stretch {
    /// Of nothing there is none.
    pub(super) fn of(mut all: Vec<f64>) -> Option<Stretch> {
        all.sort_unstable_by(f64::total_cmp);
        let max = *all.last()?;
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Some(Stretch { mean, p99: all[(all.len() * 99).div_ceil(100) - 1], max })
    }
}

impl Counts {
    pub(super) fn add(&mut self, standing: Standing) {
        self.submitted += 1;
        *match standing {
            Standing::Finished => &mut self.finished,
            Standing::Killed => &mut self.killed,
            Standing::Removed => &mut self.removed,
            Standing::Refused => &mut self.refused,
            Standing::Unfinished => &mut self.unfinished,
        } += 1;
    }

    pub fn add_up(&self) -> bool {
        self.submitted == self.finished + self.killed + self.removed + self.refused + self.unfinished
    }
}

impl Summary {
    /// One that knows of no job yet.
    pub(super) fn begin(tally: &Tally, seed: u64, status: Status, digest: String) -> Summary {
        let arrivals = tally.totals.arrivals;
        let end = tally.end_of_work();
        let whole = arrivals.zip(end).map(|((first, _), end)| end.since(first));
        Summary {
            topology: tally.topology.clone(),
            seed,
            status,
            digest,
            entries: tally.entries,
            jobs: Counts::default(),
            tasks: Counts::default(),
            starved: None,
            in_time: None,
            value: None,
            job_wait: None,
            task_wait: None,
            stretch: None,
            slr: None,
            slr_by_size: Vec::new(),
            first_arrival: arrivals.map(|(first, _)| seconds(first)),
            last_arrival: arrivals.map(|(_, last)| seconds(last)),
            end: end.map(seconds),
            makespan: whole.map(|whole| whole.micros() as f64 / 1e6),
            utilisation: Utilisation::default(),
            useful: None,
            view: None,
            parts: BTreeMap::new(),
            transfers: tally.transfers.carried(),
            mixed: tally.is_mixed(),
        }
    }
}

pub(super) fn work(row: &JobRow) -> u128 {
    row.job.tasks.iter().map(|task| u128::from(task.runtime.micros()) * u128::from(task.cores)).sum()
}

fn seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}
