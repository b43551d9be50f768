//! The experiment of "Dynamic Fractional Resource Scheduling vs. Batch Scheduling" (H. Casanova, M. Stillwell, F.
//! Vivien, INRIA RR-7659): algorithms that share nodes, compared with queues and with a clairvoyant bound, on generated
//! traces and on weeks of a log.
//!
//! Points that the paper leaves open are choices ([`Settings`]), with their options and reasons in
//! `experiments/papers/dfrs.toml`.

mod claims;
mod figures;
mod published;
#[cfg(test)]
mod tests;
mod text;
mod traces;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use hansa_report::experiment::program::ProgramFile;
use hansa_sim::grid::{PenaltyRule, QueueOrder};
use hansa_sim::roles::queue;
use hansa_sim::settings::{SPAN, Walk, key};
use hansa_sim::systems::dfrs::{
    Algorithm, Bound, Fractional, Moves, Timed, VirtualTime, bounded_stretch, compute_bound, measure_underutilisation,
    run_alone,
};
use hansa_sim::time::{Span, Time};
use hansa_sim::words::words;
use hansa_sim::workload::lublin::Types;

pub use traces::{Week, split_weeks};

/// Path of the file with the choices, and its text.
const FILE: (&str, &str) = ("experiments/papers/dfrs.toml", include_str!("dfrs.toml"));

words! {
    /// Jobs behind the head of the queue that EASY starts.
    Scan {
        /// Each job that fits.
        All = "all",
        /// Jobs ahead of the first one that does not fit.
        FirstMisfit = "first-misfit",
    }
    /// Model and seeds of the generated traces.
    Draw {
        /// Two types of jobs, seeds from 1 on.
        TwoTypes = "two-types",
        /// Two types of jobs, other seeds.
        OtherSeeds = "other-seeds",
        /// One type of jobs.
        OneType = "one-type",
    }
}

impl Scan {
    /// Name of the policy. Nodes are counted: a task has one to itself, whichever it is.
    fn policy(self) -> &'static str {
        match self {
            Scan::All => "easy-count",
            Scan::FirstMisfit => "easy-first-misfit",
        }
    }
}

impl Draw {
    /// Seed of the trace with this number.
    fn seed(self, number: u32) -> u32 {
        if self == Draw::OtherSeeds { number + 1_000 } else { number }
    }

    fn types(self) -> Types {
        if self == Draw::OneType { Types::One } else { Types::Two }
    }
}

/// Settings that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub scan: Scan,
    /// Jobs that wait for the penalty.
    pub pays: PenaltyRule,
    pub penalty: Span,
    pub virtual_time: VirtualTime,
    pub draw: Draw,
}

impl Default for Settings {
    /// The usual option of each choice.
    fn default() -> Settings {
        let file = choices();
        file.settings(&file.choices.usual_selection())
    }
}

impl Settings {
    fn walk(&mut self, w: &mut dyn Walk) {
        w.set(key("scan", "the jobs that EASY lets overtake the head"), &mut self.scan, Scan::ALL);
        w.set(key("pays", "the jobs that wait for the penalty"), &mut self.pays, PenaltyRule::ALL);
        w.set(key("penalty", "the time without progress"), &mut self.penalty, SPAN);
        w.set(key("virtual_time", "the virtual time under the penalty"), &mut self.virtual_time, VirtualTime::ALL);
        w.set(key("draw", "the model and seeds of the generated traces"), &mut self.draw, Draw::ALL);
    }

    /// An algorithm of the paper with the rules of these settings. The paper's name for it says nothing about them.
    fn apply(self, rules: Fractional) -> Fractional {
        Fractional { pays: self.pays, penalty: self.penalty, virtual_time: self.virtual_time, ..rules }
    }

    /// Sentence on the settings.
    fn words(self) -> String {
        format!(
            "The paper leaves open what follows: EASY's scan is `{}`, the penalty of {} is paid by `{}`, virtual time is\n\
             `{}`, and the traces are `{}`.\n",
            self.scan.word(),
            self.penalty,
            self.pays.word(),
            self.virtual_time.word(),
            self.draw.word(),
        )
    }
}

/// The choices of the experiment.
pub fn choices() -> ProgramFile<Settings> {
    let unset = Settings {
        scan: Scan::All,
        pays: PenaltyRule::Moves,
        penalty: Span::from_secs(300),
        virtual_time: VirtualTime::Yield,
        draw: Draw::TwoTypes,
    };
    let (path, text) = FILE;
    ProgramFile::read_text(path, text, unset, Settings::walk).unwrap_or_else(|wrong| panic!("{wrong}"))
}

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

/// Size for all variants of the choices in a few minutes.
pub const CHOICES: Extent = Extent { unscaled: 20, scaled: 4, all: 4, every_week: 12 };

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

/// Sets of traces whose numbers are evaluated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Unsplit,
    Weeks,
    Unscaled,
    Scaled,
    /// Scaled traces with a load of at least 0.7.
    High,
    /// Scaled traces with this load, in tenths.
    Load(u32),
}

impl Group {
    /// The sets of the paper's tables.
    pub const ALL: [Group; 3] = [Group::Weeks, Group::Unscaled, Group::Scaled];

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
/// The algorithm that calls MCB8 most often, whose calls the paper counts.
const EAGER: &str = "MCB8 */opt=min";
/// Number of jobs up to which the paper calls a call of MCB8 small.
const FEW: usize = 10;

/// Periods of the recommended algorithm up to the longest of the paper's figures, in seconds; the first is the default.
const PERIODS: [u64; 7] = [600, 900, 1_200, 3_000, 3_600, 6_000, LONGEST];
const LONGEST: u64 = 12_000;
/// Longer periods, of the paper's appendix B.
const LONG_PERIODS: [u64; 4] = [15_000, 20_000, 30_000, 60_000];

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
    /// Missed work per unit of work.
    pub underutilisation: f64,
    pub moves: Moves,
    /// Calls of MCB8 by the number of jobs that they place; empty if they are not counted.
    pub calls: Vec<u32>,
}

impl AlgorithmRun {
    /// Maximum stretch divided by its lower bound.
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
        let loads =
            (1..=9).flat_map(|tenths| self.piece_numbers(tenths).map(move |number| (Set::Scaled(tenths), number)));
        let scaled = loads.map(|(set, number)| Piece { set, number, all: false });
        unsplit.chain(weeks).chain(unscaled).chain(scaled).collect()
    }

    fn piece_numbers(&self, tenths: u32) -> RangeInclusive<u32> {
        self.first_number(tenths) + 1..=self.first_number(tenths) + self.scaled
    }

    fn first_number(&self, tenths: u32) -> u32 {
        if self.scaled < FULL.scaled { (tenths - 1) * self.scaled } else { 0 }
    }

    pub fn size_words(&self) -> String {
        let others = if self.scaled < FULL.scaled { ", of other jobs at each" } else { "" };
        let Extent { unscaled, scaled, .. } = self;
        format!("{unscaled} unscaled traces of {} jobs and {scaled} at each of nine loads{others}", traces::JOBS)
    }
}

/// Runs a unit under all of its algorithms.
pub fn run_piece(settings: Settings, piece: Piece, weeks: &[Week]) -> Vec<AlgorithmRun> {
    let is_generated = matches!(piece.set, Set::Unscaled | Set::Scaled(_));
    let number = if is_generated { settings.draw.seed(piece.number) } else { piece.number };
    let piece = Piece { number, ..piece };
    let generated = || traces::generate_trace(settings.draw.types(), number.into());
    let (nodes, jobs) = match piece.set {
        Set::Unscaled => (traces::NODES, generated()),
        Set::Scaled(tenths) => (traces::NODES, traces::scale_load(&generated(), f64::from(tenths) / 10.0)),
        Set::Weeks => (traces::LOG_NODES, weeks[piece.number as usize].jobs.clone()),
        Set::Unsplit => (traces::LOG_NODES, traces::join_weeks(weeks)),
    };
    if jobs.is_empty() {
        return Vec::new();
    }
    if piece.set == Set::Unsplit {
        let name = PERIODS.get(piece.number as usize).map_or("EASY".to_owned(), |period| with_period(*period));
        let algorithm = Algorithm::parse(&name).expect("names of the paper are in its grammar");
        return vec![run_algorithm(settings, piece, nodes, &jobs, Bound { lo: 1.0, hi: 1.0 }, &algorithm)];
    }
    let bound = compute_bound(nodes, &jobs);
    let all = list_algorithms(piece.all);
    all.iter().map(|algorithm| run_algorithm(settings, piece, nodes, &jobs, bound, algorithm)).collect()
}

/// Algorithms of tables 2 and 3, and the recommended one with each period; with `all`, all others too.
fn list_algorithms(all: bool) -> Vec<Algorithm> {
    let second = published::TABLE_2.iter().map(|row| row.0);
    let third = published::TABLE_3.iter().map(|row| row.0);
    let names: BTreeSet<String> =
        second.chain(third).map(str::to_owned).chain(all_periods().map(with_period)).collect();
    let more = Algorithm::all_published().iter().map(Algorithm::to_string).filter(|_| all).collect::<Vec<_>>();
    let names: BTreeSet<String> = names.into_iter().chain(more).collect();
    names.iter().map(|name| Algorithm::parse(name).expect("names of the paper are in its grammar")).collect()
}

fn run_algorithm(
    settings: Settings,
    piece: Piece,
    nodes: u32,
    jobs: &[Timed],
    bound: Bound,
    algorithm: &Algorithm,
) -> AlgorithmRun {
    let name = algorithm.to_string();
    let are_counted = name == EAGER && piece.set == Set::Unscaled;
    let mut calls = Vec::new();
    let (ends, moves) = match algorithm {
        Algorithm::Dfrs(rules) => {
            let outcome = run_alone(settings.apply(*rules), nodes, jobs, |_, cluster, _| {
                // It calls MCB8 at each instant with a submission or an end, if any jobs are live then.
                if are_counted && !cluster.live().is_empty() {
                    let placed = cluster.running().count();
                    calls.resize(calls.len().max(placed + 1), 0);
                    calls[placed] += 1;
                }
            });
            (outcome.ends, outcome.moves)
        }
        Algorithm::Fcfs => (queue_ends("fcfs-count", nodes, jobs), Moves::default()),
        Algorithm::Easy => (queue_ends(settings.scan.policy(), nodes, jobs), Moves::default()),
    };
    let ended: Vec<(Timed, Time)> = jobs.iter().zip(ends).filter_map(|(job, end)| Some((*job, end?))).collect();
    let stretches = ended.iter().map(|(job, end)| bounded_stretch(*end - job.submit, job.runtime));
    let last = ended.iter().map(|(_, end)| *end).max().unwrap_or(jobs[0].submit);
    AlgorithmRun {
        set: piece.set,
        number: piece.number,
        algorithm: name,
        jobs: ended.len(),
        hours: (last - jobs[0].submit).micros() as f64 / 3_600e6,
        stretch: stretches.fold(1.0, f64::max),
        bound,
        underutilisation: measure_underutilisation(nodes, ended.iter().copied()).missed_per_work(),
        moves,
        calls,
    }
}

/// Ends under a queue: each task has a node to itself, and walltimes equal run times.
fn queue_ends(policy: &str, nodes: u32, jobs: &[Timed]) -> Vec<Option<Time>> {
    let jobs: Vec<queue::Rigid> = jobs
        .iter()
        .map(|job| queue::Rigid {
            submit: job.submit,
            nodes: job.need.tasks,
            walltime: job.runtime,
            runtime: job.runtime,
        })
        .collect();
    let policy = queue::find_policy(policy).expect("the policies that count nodes are there");
    let ran = queue::play_jobs(&mut *(policy.build)(nodes, &[], QueueOrder::Arrival.into()), nodes, &jobs);
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
    /// Metrics of pauses and moves, in the order of table 3.
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
    /// Lower bound on the maximum stretch of that trace.
    pub bound: f64,
    /// One call of MCB8 that places 100 jobs.
    pub mcb8: f64,
}

/// All runs, by algorithm.
pub struct Outcome {
    pub extent: Extent,
    pub settings: Settings,
    pub speed: Option<Speed>,
    rows: BTreeMap<String, Vec<AlgorithmRun>>,
}

impl Outcome {
    pub fn of(extent: Extent, settings: Settings, all: Vec<AlgorithmRun>, speed: Option<Speed>) -> Outcome {
        let mut rows: BTreeMap<String, Vec<AlgorithmRun>> = BTreeMap::new();
        all.into_iter().for_each(|row| rows.entry(row.algorithm.clone()).or_default().push(row));
        Outcome { extent, settings, speed, rows }
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
        rows.map(|row| match row.set {
            Set::Unscaled => format!("the trace with seed {}", row.number),
            Set::Scaled(tenths) => format!("the trace with seed {} at load 0.{tenths}", row.number),
            Set::Weeks => format!("week {}", row.number + 1),
            Set::Unsplit => "the log".to_owned(),
        })
        .collect()
    }

    /// Degradations of an algorithm on the traces on which another one was run, too.
    fn paired_degradations(&self, group: Group, algorithm: &str, other: &str) -> Vec<f64> {
        let of = |name| self.rows.get(name).into_iter().flatten().filter(|row: &&AlgorithmRun| group.holds(row.set));
        let others: BTreeSet<_> = of(other).map(|row| (row.set, row.number)).collect();
        let both = of(algorithm).filter(|row| others.contains(&(row.set, row.number)));
        both.map(AlgorithmRun::degradation).collect()
    }

    /// Calls of MCB8 of each unscaled trace, by the number of jobs that they place.
    fn calls(&self) -> impl Iterator<Item = &[u32]> {
        let rows = self.rows.get(EAGER).into_iter().flatten();
        rows.map(|row| &row.calls[..]).filter(|calls| !calls.is_empty())
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
pub fn speed_inputs() -> (Vec<Timed>, Vec<Timed>) {
    let trace = traces::generate_trace(Types::Two, 1);
    let crowd = trace[..100].iter().map(|job| Timed { submit: Time::ZERO, ..*job }).collect();
    (trace, crowd)
}

pub use traces::NODES;
