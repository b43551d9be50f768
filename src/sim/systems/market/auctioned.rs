//! A job that the auctioneer has accepted, with the state of each task.

use std::sync::Arc;

use smallvec::SmallVec;

use super::bid::Bidder;
use super::figures::{Figures, span_ticks};
use super::rules::{Market, Network, Removal};
use crate::grid::{Graph, Job};
use crate::kernel::ActorId;
use crate::time::{Span, Time};

pub(super) struct AuctionedJob {
    pub job: Arc<Job>,
    pub user: ActorId,
    pub graph: Graph,
    figures: Figures,
    pub tasks: Vec<AuctionedState>,
    pub queued: u32,
    pub running: u32,
    pub unfinished: u32,
    pub removed: bool,
    /// Time from which the job is worthless; it is removed if any of its tasks is queued.
    pub deadline: Time,
    /// Time by which admission expects the job to be complete.
    pub due: Time,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct AuctionedState {
    pub phase: JobPhase,
    /// Time from which the data of all predecessors is on every cluster.
    pub everywhere: Time,
    /// Used by its lane while it is queued there.
    pub mark: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobPhase {
    /// Number of predecessors that have not ended.
    Held(u32),
    /// All predecessors have ended, but their data is on no cluster yet that could run it.
    Awaiting,
    Queued,
    /// Assigned to a cluster, with the number of inputs still on their way there.
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

/// Times from which the data of a task is at each cluster.
pub(super) struct DataReady {
    /// The clusters that made some of it, ascending; never later than elsewhere.
    pub makers: SmallVec<[(usize, Time); 4]>,
    /// Time at which the inputs are at all other clusters, which are alike.
    pub elsewhere: Time,
}

/// Location of the output of a predecessor.
struct TaskOutput {
    /// Cluster on which the predecessor ran, and its end.
    cluster: usize,
    at: Time,
    /// Time at which the output is at other clusters.
    away: Time,
}

impl DataReady {
    fn at_time(time: Time) -> DataReady {
        DataReady { makers: SmallVec::new(), elsewhere: time }
    }

    fn by_maker(outputs: impl Iterator<Item = TaskOutput>) -> DataReady {
        let mut outputs: SmallVec<[TaskOutput; 4]> = outputs.collect();
        outputs.sort_unstable_by_key(|output| output.cluster);
        // The last arrival elsewhere, and the last among the outputs of clusters other than that one's.
        let mut last = (usize::MAX, Time::ZERO);
        let mut other = Time::ZERO;
        for output in &outputs {
            if output.cluster == last.0 {
                last.1 = last.1.max(output.away);
            } else if output.away > last.1 {
                (last, other) = ((output.cluster, output.away), last.1);
            } else {
                other = other.max(output.away);
            }
        }
        let makers = outputs
            .chunk_by(|one, next| one.cluster == next.cluster)
            .map(|own| {
                let made = own.iter().map(|output| output.at).max().expect("a maker has made something");
                let cluster = own[0].cluster;
                (cluster, made.max(if cluster == last.0 { other } else { last.1 }))
            })
            .collect();
        DataReady { makers, elsewhere: last.1 }
    }
}

impl AuctionedJob {
    pub fn new(job: Arc<Job>, user: ActorId, graph: Graph, figures: Figures, tick: Span, due: Time) -> AuctionedJob {
        let tasks: Vec<AuctionedState> = (0..job.tasks.len())
            .map(|task| {
                let phase = JobPhase::Held(graph.predecessors(task).len() as u32);
                AuctionedState { phase, everywhere: Time::ZERO, mark: 0 }
            })
            .collect();
        let unfinished = tasks.len() as u32;
        let deadline = value_end(&job, figures.critical_path, tick);
        AuctionedJob {
            job,
            user,
            graph,
            figures,
            tasks,
            queued: 0,
            running: 0,
            unfinished,
            removed: false,
            deadline,
            due,
        }
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
        self.tasks[task].phase == JobPhase::Queued
    }

    /// True if all tasks of the job have ended.
    pub fn is_over(&self) -> bool {
        self.unfinished == 0 || (self.removed && self.running == 0)
    }

    /// The worth of a result at this time.
    pub fn value(&self, now: Time) -> Option<f64> {
        let worth = self.job.worth.as_ref()?;
        let age = now.since(self.job.arrive);
        let slr = age.micros() as f64 / self.critical_path().micros() as f64;
        Some(worth.max * worth.curve.factor(slr))
    }

    /// The times from which a task whose predecessors have ended may start at each cluster: O(p log p) with `p`
    /// predecessors, independent of the number of clusters.
    pub fn ready(&self, task: usize, network: Network) -> DataReady {
        let output = |&before: &u32| {
            let before = before as usize;
            let JobPhase::Done { cluster, at } = self.tasks[before].phase else {
                panic!("data is asked for once all predecessors have ended")
            };
            TaskOutput { cluster, at, away: at + self.figures.delays[before] }
        };
        match (self.graph.predecessors(task), network) {
            ([], _) => DataReady::at_time(self.job.arrive),
            // Most tasks have one predecessor.
            ([before], Network::PerCluster) => {
                let TaskOutput { cluster, at, away } = output(before);
                DataReady { makers: SmallVec::from_buf_and_len([(cluster, at); 4], 1), elsewhere: away }
            }
            (all, Network::PerCluster) => DataReady::by_maker(all.iter().map(output)),
            (all, Network::KindChangeOnly) => {
                let kind = self.job.tasks[task].kind;
                let there = all.iter().map(|before| {
                    let moves = self.job.tasks[*before as usize].kind != kind;
                    if moves { output(before).away } else { output(before).at }
                });
                DataReady::at_time(there.max().expect("there are some"))
            }
        }
    }

    /// The first time at which the job is to be removed if this task is still queued then.
    pub fn given_up(&self, task: usize, market: &Market) -> Time {
        let Some(worth) = self.job.worth.as_ref().filter(|_| market.removal == Removal::Projected) else {
            return self.deadline;
        };
        let final_ = worth.curve.final_();
        let path = self.critical_path();
        let rank = self.figures.ranks[task];
        let age = first_age(final_ * path.micros() as f64 - rank.micros() as f64, |age| {
            (rank + age).micros() as f64 / path.micros() as f64 >= final_
        });
        self.deadline.min(self.job.arrive + age)
    }
}

fn value_end(job: &Job, path: Span, tick: Span) -> Time {
    let Some(worth) = &job.worth else { return Time::NEVER };
    let age = worth.curve.final_() * span_ticks(path, tick);
    job.arrive + first_age(age * tick.micros() as f64, |span| span_ticks(span, tick) >= age)
}

/// The first age in microseconds from which `reached` holds; `guess` differs from it by no more than rounding.
fn first_age(guess: f64, reached: impl Fn(Span) -> bool) -> Span {
    // From here on not every microsecond is a float, and no job waits for centuries.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares with the definition, for each cluster separately.
        #[test]
        fn data_is_ready_when_the_last_of_it_has_come(
            outputs in prop::collection::vec((0usize..4, 1u64..20, 0u64..20), 1..8),
        ) {
            let ready = DataReady::by_maker(outputs.iter().map(|&(cluster, at, delay)| {
                let at = Time::from_micros(at);
                TaskOutput { cluster, at, away: at + Span::from_micros(delay) }
            }));
            let on = |cluster: usize| {
                let there = |&(made, at, delay): &(usize, u64, u64)| if made == cluster { at } else { at + delay };
                Time::from_micros(outputs.iter().map(there).max().unwrap())
            };
            let mut makers: Vec<usize> = outputs.iter().map(|output| output.0).collect();
            makers.sort_unstable();
            makers.dedup();
            let expected: Vec<(usize, Time)> = makers.into_iter().map(|cluster| (cluster, on(cluster))).collect();
            prop_assert_eq!(ready.makers.to_vec(), expected);
            prop_assert_eq!(ready.elsewhere, on(9));
        }
    }
}
