//! A job that the auctioneer has taken in, and where each of its tasks stands.

use std::sync::Arc;

use super::bid::Bidder;
use super::figures::{Figures, ticks};
use super::rules::{Market, Network, Removal};
use crate::grid::{Graph, Job};
use crate::kernel::ActorId;
use crate::time::{Span, Time};

pub(super) struct Live {
    pub job: Arc<Job>,
    pub user: ActorId,
    pub graph: Graph,
    figures: Figures,
    pub tasks: Vec<TaskState>,
    pub queued: u32,
    pub running: u32,
    pub unfinished: u32,
    pub removed: bool,
    /// From when on the job is worthless, and removed if anything of it is queued.
    pub deadline: Time,
    /// Until when admission counts on it.
    pub due: Time,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TaskState {
    pub phase: Phase,
    /// From when on the data of all predecessors is on every cluster.
    pub everywhere: Time,
    /// For its lane to write on, while it is queued there.
    pub mark: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// So many predecessors have not ended.
    Held(u32),
    /// All have, but their data is on no cluster yet that could run it.
    Awaiting,
    Queued,
    /// Given to a cluster, while so many of its inputs are on their way there.
    Fetching {
        cluster: usize,
        missing: u32,
    },
    Running {
        cluster: usize,
    },
    Done {
        cluster: usize,
        at: Time,
    },
}

impl Live {
    pub fn new(job: Arc<Job>, user: ActorId, graph: Graph, figures: Figures, tick: Span, due: Time) -> Live {
        let state = |task| {
            let phase = Phase::Held(graph.predecessors(task).len() as u32);
            TaskState { phase, everywhere: Time::ZERO, mark: 0 }
        };
        let tasks: Vec<TaskState> = (0..job.tasks.len()).map(state).collect();
        let unfinished = tasks.len() as u32;
        let deadline = deadline(&job, figures.critical_path, tick);
        Live { job, user, graph, figures, tasks, queued: 0, running: 0, unfinished, removed: false, deadline, due }
    }

    pub fn critical_path(&self) -> Span {
        self.figures.critical_path
    }

    pub fn bidder(&self, task: usize) -> Bidder<'_> {
        Bidder {
            job: &self.job,
            critical_path: self.figures.critical_path,
            task,
            rank: self.figures.ranks[task],
            successor_work: self.figures.successor_work.get(task).copied().unwrap_or(0.0),
        }
    }

    pub fn is_queued(&self, task: usize) -> bool {
        self.tasks[task].phase == Phase::Queued
    }

    /// Whether nothing of it is left to wait for.
    pub fn is_over(&self) -> bool {
        self.unfinished == 0 || (self.removed && self.running == 0)
    }

    /// What a result at this time is worth to the user.
    pub fn value(&self, now: Time) -> Option<f64> {
        let worth = self.job.worth.as_ref()?;
        let age = now.since(self.job.arrive);
        let slr = age.micros() as f64 / self.critical_path().micros() as f64;
        Some(worth.max * worth.curve.factor(slr))
    }

    /// From when on a task whose predecessors have ended may start on that cluster.
    pub fn ready(&self, task: usize, cluster: usize, network: Network) -> Time {
        let arrival = |&before: &u32| {
            let before = before as usize;
            let Phase::Done { cluster: made, at } = self.tasks[before].phase else {
                panic!("data is asked for once all predecessors have ended")
            };
            let moves = match network {
                Network::PerCluster => made != cluster,
                Network::KindChangeOnly => self.job.tasks[before].kind != self.job.tasks[task].kind,
            };
            if moves { at + self.figures.delays[before] } else { at }
        };
        self.graph.predecessors(task).iter().map(arrival).max().unwrap_or(self.job.arrive)
    }

    /// The first time at which the job is to be removed if this task is still queued then.
    pub fn given_up(&self, task: usize, market: &Market) -> Time {
        let Some(worth) = self.job.worth.as_ref().filter(|_| market.removal == Removal::Projected) else {
            return self.deadline;
        };
        let (final_, path, rank) = (worth.curve.final_(), self.critical_path(), self.figures.ranks[task]);
        let hopeless = |age: Span| (rank + age).micros() as f64 / path.micros() as f64 >= final_;
        let age = first_age(final_ * path.micros() as f64 - rank.micros() as f64, hopeless);
        self.deadline.min(self.job.arrive + age)
    }
}

fn deadline(job: &Job, path: Span, tick: Span) -> Time {
    let Some(worth) = &job.worth else { return Time::NEVER };
    let age = worth.curve.final_() * ticks(path, tick);
    job.arrive + first_age(age * tick.micros() as f64, |span| ticks(span, tick) >= age)
}

/// The first age in microseconds at which `reached` holds, which it does from there on, and which `guess` misses by
/// no more than rounding.
fn first_age(guess: f64, reached: impl Fn(Span) -> bool) -> Span {
    // From here on not every microsecond is a float, and nobody waits for centuries.
    if guess >= (1u64 << 53) as f64 {
        return Span::MAX;
    }
    let mut age = guess as u64;
    while age > 0 && reached(Span::from_micros(age - 1)) {
        age -= 1;
    }
    while !reached(Span::from_micros(age)) {
        age += 1;
    }
    Span::from_micros(age)
}
