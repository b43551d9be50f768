//! Metrics: numbers of a run with a name, a meaning, a unit and a desired direction, and those that every run has.
//!
//! Subjects list theirs in `figures.rs`. Experiments keep metrics, comparisons show them, and the table of
//! docs/results.md is made from them.

use super::summary::{SizeGroup, Summary};
use Better::{Less, More, Neither};
use Family::{Fairness, Knowledge, Slowdowns, Use, Value, Waits, Work};
use Unit::{CoreHours, CoreSeconds, Count, Ratio, Seconds, Share};
use hansa_sim::words::words;

/// A number of a run's summary, with a name.
#[derive(Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    pub about: &'static str,
    pub family: Family,
    pub unit: Unit,
    pub better: Better,
    of: Of,
}

#[derive(Clone, Copy)]
enum Of {
    Run(fn(&Summary) -> Option<f64>),
    /// Number of one tenth of the jobs; tenths are ascending by size and counted from 0.
    Tenth(usize, Groups, fn(&SizeGroup) -> Option<f64>),
}

/// Tenths of the jobs of a run by some size.
type Groups = fn(&Summary) -> &[SizeGroup];

impl Metric {
    /// A metric of a run, computed from its summary by `of`.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        family: Family,
        unit: Unit,
        better: Better,
        of: fn(&Summary) -> Option<f64>,
    ) -> Metric {
        Metric { name, about, family, unit, better, of: Of::Run(of) }
    }

    /// True if it is of one tenth of the jobs.
    pub fn is_of_a_tenth(&self) -> bool {
        matches!(self.of, Of::Tenth(..))
    }

    /// Value for a run; None if the run has no such number.
    pub fn of(&self, summary: &Summary) -> Option<f64> {
        match self.of {
            Of::Run(of) => of(summary),
            Of::Tenth(tenth, groups, of) => groups(summary).get(tenth).and_then(of),
        }
    }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

words! {
    /// Groups of numbers that say the same in several ways. A comparison counts a family once, by its first number that
    /// all runs have.
    Family {
        /// Time from submission to end.
        Turnaround = "turnaround",
        /// Time until something starts.
        Waits = "waits",
        /// Time as a multiple of the time that was needed.
        Slowdowns = "slowdowns",
        /// The worst treatment of single jobs.
        Fairness = "fairness",
        /// Use of cores.
        Use = "use",
        /// Value and deadlines.
        Value = "value",
        /// Payments, pauses and moves.
        Costs = "costs",
        /// Jobs that were done.
        Work = "work done",
        /// Failures of nodes and links.
        Failures = "failures",
        /// Age of the knowledge behind decisions.
        Knowledge = "knowledge",
    }
}

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A part of a whole, from 0 to 1.
    Share,
    /// A multiple of another number.
    Ratio,
    /// A number of jobs, tasks or events.
    Count,
    Seconds,
    CoreSeconds,
    CoreHours,
    Bytes,
    Gigabytes,
}

impl Unit {
    /// Name that follows a number; empty if none is needed.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Share => "share",
            Unit::Ratio | Unit::Count => "",
            Unit::Seconds => "s",
            Unit::CoreSeconds => "core s",
            Unit::CoreHours => "core h",
            Unit::Bytes => "bytes",
            Unit::Gigabytes => "GB",
        }
    }
}

/// The desired direction of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    More,
    Less,
    /// Depends on the purpose.
    Neither,
}

impl Better {
    /// True if a number is better than another one.
    pub fn is_better(self, number: f64, other: f64) -> bool {
        match self {
            Better::More => number > other,
            Better::Less => number < other,
            Better::Neither => false,
        }
    }
}

/// The metrics of every run.
pub const RUN: &[Metric] = &[
    Metric::new("value", "value obtained, as a share of all there was", Value, Share, More, |s| s.value?.proportion),
    Metric::new("starved", "share of the jobs that starved", Value, Share, Less, |s| {
        share(s.starved?, s.counted_jobs().submitted)
    }),
    Metric::new("in_time", "share of the jobs with a deadline that finished before it", Value, Share, More, |s| {
        s.in_time
    }),
    Metric::new(
        "stretch_mean",
        "mean bounded stretch of finished jobs, with a threshold of 10 s",
        Slowdowns,
        Ratio,
        Less,
        |s| Some(s.stretch?.mean),
    ),
    Metric::new(
        "stretch_p99",
        "the bounded stretch that 99 % of the finished jobs do not exceed",
        Fairness,
        Ratio,
        Less,
        |s| Some(s.stretch?.p99),
    ),
    Metric::new("stretch_max", "the largest bounded stretch of a finished job", Fairness, Ratio, Less, |s| {
        Some(s.stretch?.max)
    }),
    Metric::new("core_hours", "core hours in use", Use, CoreHours, Neither, |s| Some(s.utilisation.all.busy / 3_600.0)),
    Metric::new("jobs", "jobs submitted", Work, Count, Neither, |s| Some(s.jobs.submitted as f64)),
    Metric::new("tasks", "tasks submitted", Work, Count, Neither, |s| Some(s.tasks.submitted as f64)),
    Metric::new("finished", "share of the jobs that finished", Work, Share, More, |s| {
        share(s.counted_jobs().finished, s.counted_jobs().submitted)
    }),
    Metric::new("refused", "share of the jobs that were refused", Work, Share, Less, |s| {
        share(s.counted_jobs().refused, s.counted_jobs().submitted)
    }),
    Metric::new("utilisation", "share of core time in use while jobs arrived", Use, Share, More, |s| {
        s.utilisation.all.arrivals
    }),
    Metric::new("useful", "share of the work for jobs with a worth that brought value", Value, Share, More, |s| {
        s.useful
    }),
    Metric::new("slr", "mean SLR of finished jobs", Slowdowns, Ratio, Less, |s| s.slr),
    Metric::new("job_wait", "mean wait of jobs for their first start", Waits, Seconds, Less, |s| {
        Some(s.job_wait?.mean)
    }),
    Metric::new("job_wait_p95", "the wait that 95 % of the jobs do not exceed", Waits, Seconds, Less, |s| {
        Some(s.job_wait?.p95)
    }),
    Metric::new("task_wait", "mean wait of tasks that were ready", Waits, Seconds, Less, |s| Some(s.task_wait?.mean)),
    Metric::new(
        "lag",
        "mean time until the router knew that a task had ended, or had the offer of its cores",
        Knowledge,
        Seconds,
        Less,
        |s| Some(s.view.map_or(0.0, |v| v.lag_mean)),
    ),
    Metric::new(
        "unseen",
        "core seconds that were free while the router believed they were in use",
        Knowledge,
        CoreSeconds,
        Less,
        |s| Some(s.view.map_or(0.0, |view| view.unseen)),
    ),
    Metric::new("makespan", "time from the first arrival to the end", Use, Seconds, Less, |s| s.makespan),
];

/// Metrics of each tenth of the jobs.
pub fn of_tenths() -> impl Iterator<Item = Metric> + Clone {
    TENTHS.iter().flatten().flat_map(|of| {
        of.names.into_iter().zip(0..).map(move |(name, tenth)| {
            let of_group = Of::Tenth(tenth, of.groups, of.of);
            Metric { name, about: of.about, family: of.family, unit: of.unit, better: Less, of: of_group }
        })
    })
}

/// Ten metrics, one for each tenth of the jobs by some size, ascending.
struct Tenths {
    names: [&'static str; 10],
    about: &'static str,
    family: Family,
    unit: Unit,
    groups: Groups,
    of: fn(&SizeGroup) -> Option<f64>,
}

macro_rules! each_tenth {
    ($name:literal, $size:literal) => { each_tenth!($name, $size: 1 2 3 4 5 6 7 8 9 10) };
    ($name:literal, $size:literal: $($tenth:literal)*) => { [$(concat!($name, $size, "_", $tenth)),*] };
}

/// The three numbers of each tenth of the jobs by a size, with its names in metrics and in words.
macro_rules! tenths_by {
    ($size:literal, $words:literal, $groups:expr) => {
        [
            Tenths {
                names: each_tenth!("slr", $size),
                about: concat!("mean SLR of the finished jobs of a tenth by ", $words),
                family: Slowdowns,
                unit: Ratio,
                groups: $groups,
                of: |group| group.slr,
            },
            Tenths {
                names: each_tenth!("slr_censored", $size),
                about: concat!(
                    "mean SLR of the jobs with a deadline of a tenth by ",
                    $words,
                    "; a starved job counts with its final deadline"
                ),
                family: Slowdowns,
                unit: Ratio,
                groups: $groups,
                of: |group| group.slr_censored,
            },
            Tenths {
                names: each_tenth!("starved", $size),
                about: concat!("share of the jobs with a deadline of a tenth by ", $words, " that starved"),
                family: Value,
                unit: Share,
                groups: $groups,
                of: |group| group.starved,
            },
        ]
    };
}

/// In the order of [`Size`].
static TENTHS: [[Tenths; 3]; 3] = [
    tenths_by!("", "work", |summary| &summary.slr_by_size),
    tenths_by!("_by_runtime", "the run time of all tasks together", |summary| &summary.slr_by_runtime),
    tenths_by!("_by_critical_path", "critical path", |summary| &summary.slr_by_critical_path),
];

/// Meanings of the size of a job.
#[derive(Clone, Copy)]
pub enum Size {
    Work,
    /// The run time of all tasks together.
    Runtime,
    CriticalPath,
}

/// Names of metrics of the tenths of jobs by a size: mean SLR of finished jobs, mean SLR with starved ones, share of
/// starved ones.
pub fn tenths(size: Size) -> [[&'static str; 10]; 3] {
    TENTHS[size as usize].each_ref().map(|tenths| tenths.names)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
