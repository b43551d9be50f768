//! `summary.json`: a run in numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::reservations::Reservations;
use super::schedule::Schedule;
use super::tally::{JobRow, Standing};
use super::transfers::Carried;
use super::view::{View, view};
use super::{LiveFacts, Status, Tally};
use crate::grid::JobId;
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
    pub value: Option<Value>,
    /// Jobs: from submission, or the ready time of a reservation, to the start of their first task.
    pub job_wait: Option<Spread>,
    /// Tasks: from the end of their last predecessor, or as above where they have none, to their start.
    pub task_wait: Option<Spread>,
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
    /// The share of all work done that went into jobs whose users got something for them.
    pub useful: Option<f64>,
    /// What the router did not see in time; nothing, if it saw everything at once.
    pub view: Option<View>,
    /// What became of requests for reservations, where a topology is about these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservations: Option<Reservations>,
    /// What crossed the links, where a topology has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<Carried>,
    /// What queues made of rigid jobs, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
}

/// How many there were, and what became of them; `submitted` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub submitted: u64,
    pub finished: u64,
    /// Ended at their walltime.
    #[serde(default)]
    pub killed: u64,
    /// Given up after the job's final deadline; of reservations, taken back by their user.
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

/// One of ten equal groups of jobs by (work, id).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeGroup {
    pub jobs: u64,
    /// Mean over those that finished.
    pub slr: Option<f64>,
    /// Mean over all with a deadline, where each starved one counts with its final deadline.
    pub slr_censored: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    pub all: Use,
    pub kinds: Vec<Use>,
    pub sites: Vec<Use>,
}

/// How busy some cores were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Of these: from the first event to the last.
    pub run_seconds: f64,
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
    /// Whether each job is a single task that keeps its nodes: SLR is then no more than a slowdown, of which there are
    /// better ones.
    pub(super) fn is_rigid(&self) -> bool {
        self.reservations.is_some() || self.schedule.is_some()
    }

    /// How many of its jobs or tasks did not finish, in the words that people read.
    pub(super) fn others(&self, counts: Counts) -> impl Iterator<Item = (u64, &'static str)> + use<> {
        let removed = if self.reservations.is_some() { "taken back" } else { "given up" };
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

impl Counts {
    fn of(standings: impl Iterator<Item = Standing>) -> Counts {
        let mut counts = Counts::default();
        for standing in standings {
            counts.submitted += 1;
            *match standing {
                Standing::Finished => &mut counts.finished,
                Standing::Killed => &mut counts.killed,
                Standing::Removed => &mut counts.removed,
                Standing::Refused => &mut counts.refused,
                Standing::Unfinished => &mut counts.unfinished,
            } += 1;
        }
        assert!(counts.add_up(), "every job and task is counted once");
        counts
    }

    pub fn add_up(&self) -> bool {
        self.submitted == self.finished + self.killed + self.removed + self.refused + self.unfinished
    }
}

impl Tally {
    pub fn summary(&self, seed: u64, status: Status, digest: String) -> Summary {
        let rows = || self.jobs.values();
        let tasks = || rows().flat_map(|row| (0..row.tasks.len()).map(move |index| (row, index)));
        let arrivals = rows().map(|row| row.job.arrive).min().zip(rows().map(|row| row.job.arrive).max());
        let end = tasks().filter_map(|(row, index)| self.held(row, index)).map(|(_, end)| end).max();
        let whole = arrivals.zip(end).map(|((first, _), end)| (first, end));
        let job_waits = rows().filter_map(JobRow::wait).collect();
        let task_waits = rows().flat_map(task_waits).collect();
        Summary {
            topology: self.topology.clone(),
            seed,
            status,
            digest,
            entries: self.entries,
            jobs: Counts::of(rows().map(JobRow::standing)),
            tasks: Counts::of(tasks().map(|(row, index)| row.task_standing(index))),
            starved: rows().filter_map(JobRow::starved).map(u64::from).reduce(|sum, one| sum + one),
            value: self.value(),
            job_wait: Spread::of(job_waits),
            task_wait: Spread::of(task_waits),
            slr: mean(rows().filter_map(JobRow::slr)),
            slr_by_size: self.by_size(),
            first_arrival: arrivals.map(|(first, _)| seconds(first)),
            last_arrival: arrivals.map(|(_, last)| seconds(last)),
            end: end.map(seconds),
            makespan: whole.map(|(first, end)| end.since(first).micros() as f64 / 1e6),
            utilisation: self.utilisation(arrivals, whole),
            useful: self.useful(),
            view: view(self),
            reservations: self.reservations(),
            transfers: self.transfers.carried(),
            schedule: self.schedule(),
        }
    }

    fn value(&self) -> Option<Value> {
        let worths = || self.jobs.values().filter_map(|row| Some((row.value()?, row.job.worth.as_ref()?.max)));
        let (obtained, max) = worths().reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))?;
        Some(Value { obtained, max, proportion: (max > 0.0).then(|| obtained / max) })
    }

    fn by_size(&self) -> Vec<SizeGroup> {
        let mut rows: Vec<(u128, JobId, &JobRow)> =
            self.jobs.values().map(|row| (work(row), row.job.id, row)).collect();
        rows.sort_unstable_by_key(|(work, job, _)| (*work, *job));
        let rows: Vec<&JobRow> = rows.into_iter().map(|(_, _, row)| row).collect();
        let groups = (0..10).map(|group| &rows[group * rows.len() / 10..(group + 1) * rows.len() / 10]);
        groups.filter(|group| !group.is_empty()).map(size_group).collect()
    }

    /// From when to when a task held its cores, as far as the log goes.
    fn held(&self, row: &JobRow, index: usize) -> Option<(Time, Time)> {
        let task = &row.tasks[index];
        Some((task.start?, task.end.unwrap_or(self.last)))
    }

    fn utilisation(&self, arrivals: Option<(Time, Time)>, whole: Option<(Time, Time)>) -> Utilisation {
        let mut sites = vec![Busy::default(); self.sites.len()];
        for row in self.jobs.values() {
            for (index, task) in row.tasks.iter().enumerate() {
                if let (Some(site), Some(held)) = (task.site, self.held(row, index)) {
                    let cores = row.job.tasks[index].cores;
                    sites[site as usize].add(held, cores, arrivals, whole);
                }
            }
        }
        for (busy, site) in sites.iter_mut().zip(&self.sites) {
            busy.cores = site.cores.into();
        }

        let usage = |name: &str, busy: &Busy| busy.usage(name, arrivals, whole);
        let sum = |kind: Option<usize>| {
            let of_kind = |site: usize| kind.is_none_or(|kind| usize::from(self.sites[site].kind.0) == kind);
            (0..sites.len()).filter(|&site| of_kind(site)).map(|site| &sites[site]).fold(Busy::default(), Busy::plus)
        };
        Utilisation {
            all: usage("all", &sum(None)),
            kinds: self.names.kinds.iter().enumerate().map(|(kind, name)| usage(name, &sum(Some(kind)))).collect(),
            sites: self.sites.iter().zip(&sites).map(|(site, busy)| usage(&site.name, busy)).collect(),
        }
    }

    fn useful(&self) -> Option<f64> {
        self.jobs.values().find(|row| row.job.worth.is_some())?;
        let done = |row: &JobRow| -> u128 {
            let held = |index| {
                let (start, end) = self.held(row, index)?;
                Some(u128::from(end.since(start).micros()) * u128::from(row.job.tasks[index].cores))
            };
            (0..row.tasks.len()).filter_map(held).sum()
        };
        let all: u128 = self.jobs.values().map(done).sum();
        let paid = self.jobs.values().filter(|row| row.value().is_some_and(|value| value > 0.0));
        (all > 0).then(|| paid.map(done).sum::<u128>() as f64 / all as f64)
    }
}

/// Core microseconds, whole and within the windows.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    cores: u64,
    tasks: u64,
    total: u128,
    arrivals: u128,
    whole: u128,
}

impl Busy {
    fn add(&mut self, held: (Time, Time), cores: u32, arrivals: Option<(Time, Time)>, whole: Option<(Time, Time)>) {
        let cores = u128::from(cores);
        self.tasks += 1;
        self.total += cores * u128::from(held.1.since(held.0).micros());
        self.arrivals += cores * overlap(held, arrivals);
        self.whole += cores * overlap(held, whole);
    }

    fn plus(self, other: &Busy) -> Busy {
        Busy {
            cores: self.cores + other.cores,
            tasks: self.tasks + other.tasks,
            total: self.total + other.total,
            arrivals: self.arrivals + other.arrivals,
            whole: self.whole + other.whole,
        }
    }

    fn usage(&self, name: &str, arrivals: Option<(Time, Time)>, whole: Option<(Time, Time)>) -> Use {
        let share = |busy: u128, window: Option<(Time, Time)>| {
            let available = window.map_or(0, |(from, to)| u128::from(to.since(from).micros()) * u128::from(self.cores));
            (available > 0).then(|| busy as f64 / available as f64)
        };
        Use {
            name: name.to_owned(),
            cores: self.cores,
            tasks: self.tasks,
            busy: self.total as f64 / 1e6,
            arrivals: share(self.arrivals, arrivals),
            makespan: share(self.whole, whole),
        }
    }
}

fn overlap(held: (Time, Time), window: Option<(Time, Time)>) -> u128 {
    window.map_or(0, |(from, to)| held.1.min(to).since(held.0.max(from)).micros().into())
}

fn task_waits(row: &JobRow) -> Vec<Span> {
    let waits = row.tasks.iter().zip(row.ready()).filter_map(|(task, from)| Some(task.start?.since(from?)));
    waits.collect()
}

fn size_group(group: &[&JobRow]) -> SizeGroup {
    let censored = |row: &&JobRow| match row.starved()? {
        true => Some(row.job.worth.as_ref()?.curve.final_()),
        false => row.slr(),
    };
    SizeGroup {
        jobs: group.len() as u64,
        slr: mean(group.iter().filter_map(|row| row.slr())),
        slr_censored: mean(group.iter().filter_map(censored)),
    }
}

pub(super) fn work(row: &JobRow) -> u128 {
    row.job.tasks.iter().map(|task| u128::from(task.runtime.micros()) * u128::from(task.cores)).sum()
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = numbers.fold((0u64, 0.0), |(count, sum), number| (count + 1, sum + number));
    (count > 0).then(|| sum / count as f64)
}

fn seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}
