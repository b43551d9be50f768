//! The experiment of "Dynamic Fractional Resource Scheduling vs. Batch Scheduling" (H. Casanova, M. Stillwell, F.
//! Vivien, INRIA RR-7659): algorithms that share nodes, compared with queues and with a clairvoyant bound, on generated
//! traces and on weeks of a log.

mod claims;
pub mod figures;
mod published;
#[cfg(test)]
mod tests;
mod text;
mod traces;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use hansa_sim::grid::QueueOrder;
use hansa_sim::roles::queue;
use hansa_sim::systems::dfrs::{Algorithm, Bound, Moves, Timed, bound, bounded_stretch, run, underutilisation};
use hansa_sim::time::Time;

pub use traces::{Week, weeks};

/// Size of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of generated traces without scaling.
    pub unscaled: u32,
    /// Number of traces scaled to each load. With as many as in the paper, all loads have the same traces; otherwise
    /// each load has its own, since the worst of ten traces dominates the mean of some algorithms, and must not do so
    /// at every load.
    pub scaled: u32,
    /// Number of unscaled traces on which all algorithms run, not only those of tables 2 and 3.
    pub all: u32,
    /// Step through the weeks of a log; with 1, all algorithms run on each week.
    pub every_week: u32,
}

/// Size for a few minutes.
pub const SMALL: Extent = Extent { unscaled: 60, scaled: 16, all: 16, every_week: 6 };

/// Size of the paper.
pub const FULL: Extent = Extent { unscaled: 100, scaled: 100, all: 100, every_week: 1 };

/// Sources of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Set {
    /// Generated traces.
    Unscaled,
    /// Generated traces scaled to an offered load, in tenths.
    Scaled(u32),
    /// Weeks of the log.
    Weeks,
    /// The whole log as one trace, which has no bound: it is too large.
    Unsplit,
}

/// Sets whose numbers are evaluated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Unsplit,
    Weeks,
    Unscaled,
    Scaled,
    /// Scaled to at least 0.7.
    High,
    /// Scaled to this many tenths.
    Load(u32),
}

impl Group {
    /// The sets of the paper's tables.
    pub const ALL: [Group; 3] = [Group::Weeks, Group::Unscaled, Group::Scaled];
    pub const SYNTHETIC: [Group; 2] = [Group::Unscaled, Group::Scaled];

    fn holds(self, set: Set) -> bool {
        match (self, set) {
            (Group::Unsplit, Set::Unsplit) => true,
            (Group::Weeks, Set::Weeks) | (Group::Unscaled, Set::Unscaled) | (Group::Scaled, Set::Scaled(_)) => true,
            (Group::High, Set::Scaled(tenths)) => tenths >= 7,
            (Group::Load(load), Set::Scaled(tenths)) => load == tenths,
            _ => false,
        }
    }

    pub fn words(self) -> String {
        match self {
            Group::Unsplit => "HPC2N unsplit".to_owned(),
            Group::Weeks => "HPC2N".to_owned(),
            Group::Unscaled => "unscaled".to_owned(),
            Group::Scaled => "scaled".to_owned(),
            Group::High => "load >= 0.7".to_owned(),
            Group::Load(tenths) => format!("load 0.{tenths}"),
        }
    }
}

/// The algorithm that the paper recommends, and its twin that moves no job for an arriving one.
pub const BEST: &str = "GreedyPM */per/opt=min/minvt=600";
const TWIN: &str = "GreedyP */per/opt=min/minvt=600";
/// The recommended algorithm with virtual time as the paper defines it: it runs on under the penalty.
const RUNNING_ON: &str = "GreedyPM */per/opt=min/minvt=600/vt=yield";

/// Periods of the recommended algorithm up to the longest of the paper's figures, in seconds; the first is the default.
const PERIODS: [u64; 7] = [600, 900, 1_200, 3_000, 3_600, 6_000, LONGEST];
const LONGEST: u64 = 12_000;
/// Longer periods, of the paper's appendix B.
const LONG_PERIODS: [u64; 3] = [15_000, 20_000, 30_000];

fn all_periods() -> impl Iterator<Item = u64> {
    PERIODS.into_iter().chain(LONG_PERIODS)
}

fn with_period(period: u64) -> String {
    if period == PERIODS[0] { BEST.to_owned() } else { format!("{BEST}/period={period}") }
}

/// A unit of work for one processor: one trace, to be run under several algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub set: Set,
    /// Seed, or number of the week.
    pub number: u32,
    pub all: bool,
}

/// A run of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlgorithmRun {
    pub set: Set,
    pub number: u32,
    pub algorithm: String,
    pub jobs: usize,
    /// Time from the first submission to the last end.
    pub hours: f64,
    pub stretch: f64,
    pub bound: Bound,
    /// Normalised.
    pub underutilisation: f64,
    pub moves: Moves,
}

impl AlgorithmRun {
    /// Degradation from bound.
    pub fn degradation(&self) -> f64 {
        self.stretch / self.bound.hi
    }

    fn gigabytes_a_second(&self, nodes: f64) -> f64 {
        let node = if matches!(self.set, Set::Weeks | Set::Unsplit) { 2.0 } else { 8.0 };
        nodes * node / (self.hours * 3_600.0)
    }
}

impl Extent {
    /// Units of work, the largest first, so that no processor waits for a large one at the end. With weeks, there is
    /// the whole log, too: a unit per period, and one for EASY.
    pub fn pieces(&self, weeks: usize) -> Vec<Piece> {
        let unsplit = (0..if weeks > 0 { PERIODS.len() as u32 + 1 } else { 0 }).map(|number| Piece {
            set: Set::Unsplit,
            number,
            all: false,
        });
        let weeks = (0..weeks as u32).step_by(self.every_week as usize);
        let weeks = weeks.map(|number| Piece { set: Set::Weeks, number, all: self.every_week == 1 });
        let unscaled = (1..=self.unscaled).map(|number| Piece { set: Set::Unscaled, number, all: number <= self.all });
        let first = |tenths: u32| if self.scaled < FULL.scaled { (tenths - 1) * self.scaled } else { 0 };
        let numbers = |tenths: u32| first(tenths) + 1..=first(tenths) + self.scaled;
        let loads = (1..=9).flat_map(|tenths| numbers(tenths).map(move |number| (Set::Scaled(tenths), number)));
        let scaled = loads.map(|(set, number)| Piece { set, number, all: false });
        unsplit.chain(weeks).chain(unscaled).chain(scaled).collect()
    }

    pub fn words(&self) -> String {
        let others = if self.scaled < FULL.scaled { ", of other jobs at each" } else { "" };
        let Extent { unscaled, scaled, .. } = self;
        format!("{unscaled} unscaled traces of {} jobs and {scaled} at each of nine loads{others}", traces::JOBS)
    }
}

/// Runs a unit under all of its algorithms.
pub fn rows(piece: Piece, weeks: &[Week]) -> Vec<AlgorithmRun> {
    let (nodes, jobs) = match piece.set {
        Set::Unscaled => (traces::NODES, traces::generated(piece.number.into())),
        Set::Scaled(tenths) => {
            (traces::NODES, traces::scaled(&traces::generated(piece.number.into()), f64::from(tenths) / 10.0))
        }
        Set::Weeks => (traces::LOG_NODES, weeks[piece.number as usize].jobs.clone()),
        Set::Unsplit => (traces::LOG_NODES, traces::unsplit(weeks)),
    };
    if jobs.is_empty() {
        return Vec::new();
    }
    if piece.set == Set::Unsplit {
        let name = PERIODS.get(piece.number as usize).map_or("EASY".to_owned(), |period| with_period(*period));
        let algorithm = Algorithm::parse(&name).expect("names of the paper are in its grammar");
        return vec![row(piece, nodes, &jobs, Bound { lo: 1.0, hi: 1.0 }, &algorithm)];
    }
    let bound = bound(nodes, &jobs);
    algorithms(piece.all).into_iter().map(|algorithm| row(piece, nodes, &jobs, bound, &algorithm)).collect()
}

/// Algorithms of tables 2 and 3, the recommended one with each period and with the paper's virtual time; with `all`,
/// all others too.
fn algorithms(all: bool) -> Vec<Algorithm> {
    let second = published::TABLE_2.iter().map(|row| row.0);
    let third = published::TABLE_3.iter().map(|row| row.0);
    let names: BTreeSet<String> =
        second.chain(third).chain([RUNNING_ON]).map(str::to_owned).chain(all_periods().map(with_period)).collect();
    let more = Algorithm::published().iter().map(Algorithm::to_string).filter(|_| all).collect::<Vec<_>>();
    let names: BTreeSet<String> = names.into_iter().chain(more).collect();
    names.iter().map(|name| Algorithm::parse(name).expect("names of the paper are in its grammar")).collect()
}

fn row(piece: Piece, nodes: u32, jobs: &[Timed], bound: Bound, algorithm: &Algorithm) -> AlgorithmRun {
    let (ends, moves) = match algorithm {
        Algorithm::Dfrs(rules) => {
            let outcome = run(*rules, nodes, jobs, |_, _, _| {});
            (outcome.ends, outcome.moves)
        }
        Algorithm::Fcfs => (queued("fcfs-count", nodes, jobs), Moves::default()),
        Algorithm::Easy => (queued("easy-count", nodes, jobs), Moves::default()),
    };
    let ended: Vec<(Timed, Time)> = jobs.iter().zip(ends).filter_map(|(job, end)| Some((*job, end?))).collect();
    let stretches = ended.iter().map(|(job, end)| bounded_stretch(*end - job.submit, job.runtime));
    let last = ended.iter().map(|(_, end)| *end).max().unwrap_or(jobs[0].submit);
    AlgorithmRun {
        set: piece.set,
        number: piece.number,
        algorithm: algorithm.to_string(),
        jobs: ended.len(),
        hours: (last - jobs[0].submit).micros() as f64 / 3_600e6,
        stretch: stretches.fold(1.0, f64::max),
        bound,
        underutilisation: underutilisation(nodes, ended.iter().copied()).normalised(),
        moves,
    }
}

/// Ends under a queue: each task has a node to itself, and walltimes equal run times.
fn queued(policy: &str, nodes: u32, jobs: &[Timed]) -> Vec<Option<Time>> {
    let jobs: Vec<queue::Rigid> = jobs
        .iter()
        .map(|job| queue::Rigid {
            submit: job.submit,
            nodes: job.need.tasks,
            walltime: job.runtime,
            runtime: job.runtime,
        })
        .collect();
    let policy = queue::find(policy).expect("the policies that count nodes are there");
    let ran = queue::play(&mut *(policy.build)(nodes, &[], QueueOrder::Arrival), nodes, &jobs);
    ran.into_iter().map(|ran| ran.map(|ran| ran.end)).collect()
}

/// Mean, deviation and maximum over traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub mean: f64,
    pub deviation: f64,
    pub max: f64,
}

impl Spread {
    fn of(numbers: &[f64]) -> Option<Spread> {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean) * (number - mean)).sum();
        let max = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (!numbers.is_empty()).then(|| Spread { mean, deviation: (squares / count).sqrt(), max })
    }
}

/// Metrics of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    Degradation,
    Underutilisation,
    PauseBandwidth,
    MoveBandwidth,
    PausesAnHour,
    MovesAnHour,
    PausesAJob,
    MovesAJob,
}

impl Metric {
    /// In the order of table 3.
    pub const MOVES: [Metric; 6] = [
        Metric::PauseBandwidth,
        Metric::MoveBandwidth,
        Metric::PausesAnHour,
        Metric::MovesAnHour,
        Metric::PausesAJob,
        Metric::MovesAJob,
    ];

    fn of(self, row: &AlgorithmRun) -> f64 {
        let Moves { preemptions, migrations, paused, migrated } = row.moves;
        match self {
            Metric::Degradation => row.degradation(),
            Metric::Underutilisation => row.underutilisation,
            Metric::PauseBandwidth => row.gigabytes_a_second(paused),
            Metric::MoveBandwidth => row.gigabytes_a_second(migrated),
            Metric::PausesAnHour => preemptions as f64 / row.hours,
            Metric::MovesAnHour => migrations as f64 / row.hours,
            Metric::PausesAJob => preemptions as f64 / row.jobs as f64,
            Metric::MovesAJob => migrations as f64 / row.jobs as f64,
        }
    }
}

/// Durations in seconds of one processor; measured by callers with a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// First unscaled trace under the recommended algorithm.
    pub run: f64,
    /// Bound of that trace.
    pub bound: f64,
    /// One MCB8 call for 100 jobs.
    pub mcb8: f64,
}

/// All runs, by algorithm.
pub struct Outcome {
    pub extent: Extent,
    pub speed: Option<Speed>,
    rows: BTreeMap<String, Vec<AlgorithmRun>>,
}

impl Outcome {
    pub fn of(extent: Extent, all: Vec<AlgorithmRun>, speed: Option<Speed>) -> Outcome {
        let mut rows: BTreeMap<String, Vec<AlgorithmRun>> = BTreeMap::new();
        all.into_iter().for_each(|row| rows.entry(row.algorithm.clone()).or_default().push(row));
        Outcome { extent, speed, rows }
    }

    pub fn spread(&self, group: Group, algorithm: &str, metric: Metric) -> Option<Spread> {
        Spread::of(&self.samples(group, algorithm, metric))
    }

    fn samples(&self, group: Group, algorithm: &str, metric: Metric) -> Vec<f64> {
        let rows = self.rows.get(algorithm).into_iter().flatten().filter(|row| group.holds(row.set));
        rows.map(|row| metric.of(row)).collect()
    }

    /// Names of the traces of these samples, in their order.
    fn sample_names(&self, group: Group, algorithm: &str) -> Vec<String> {
        let rows = self.rows.get(algorithm).into_iter().flatten().filter(|row| group.holds(row.set));
        let name = |row: &AlgorithmRun| match row.set {
            Set::Unscaled => format!("the trace with seed {}", row.number),
            Set::Scaled(tenths) => format!("the trace with seed {} at load 0.{tenths}", row.number),
            Set::Weeks => format!("week {}", row.number + 1),
            Set::Unsplit => "the log".to_owned(),
        };
        rows.map(name).collect()
    }

    /// Degradations of an algorithm on the traces on which another one was run, too.
    fn beside(&self, group: Group, algorithm: &str, other: &str) -> Vec<f64> {
        let of = |name| self.rows.get(name).into_iter().flatten().filter(|row: &&AlgorithmRun| group.holds(row.set));
        let others: BTreeSet<_> = of(other).map(|row| (row.set, row.number)).collect();
        let both = of(algorithm).filter(|row| others.contains(&(row.set, row.number)));
        both.map(AlgorithmRun::degradation).collect()
    }

    /// True if there are runs of the group.
    fn has(&self, group: Group) -> bool {
        self.all().any(|row| group.holds(row.set))
    }

    fn all(&self) -> impl Iterator<Item = &AlgorithmRun> {
        self.rows.values().flatten()
    }
}

/// Inputs of the speed measurement: the trace, and a crowd of 100 jobs at one instant.
pub fn timed() -> (Vec<Timed>, Vec<Timed>) {
    let trace = traces::generated(1);
    let crowd = trace[..100].iter().map(|job| Timed { submit: Time::ZERO, ..*job }).collect();
    (trace, crowd)
}

pub use traces::NODES;
