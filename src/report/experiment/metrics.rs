//! Metrics that an experiment can record of each run.

use crate::Better::{self, Less, More, Neither};
use crate::Family::{self, Fairness, Knowledge, Slowdowns, Use, Value, Waits, Work};
use crate::Unit::{self, CoreHours, CoreSeconds, Count, Ratio, Seconds, Share};
use crate::{SizeGroup, Summary, measures};

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

pub fn find(name: &str) -> Option<Metric> {
    all().find(|metric| metric.name == name)
}

/// True if a metric is of one tenth of the jobs.
pub fn is_of_a_tenth(name: &str) -> bool {
    find(name).is_some_and(|metric| matches!(metric.of, Of::Tenth(..)))
}

const fn run(
    name: &'static str,
    about: &'static str,
    family: Family,
    unit: Unit,
    better: Better,
    of: fn(&Summary) -> Option<f64>,
) -> Metric {
    Metric { name, about, family, unit, better, of: Of::Run(of) }
}

/// All metrics in the order of their columns. Times are in seconds of virtual time.
pub fn all() -> impl Iterator<Item = Metric> + Clone {
    let of_subjects = measures()
        .map(|measure| run(measure.name, measure.about, measure.family, measure.unit, measure.better, measure.of));
    RUN.iter().copied().chain(of_subjects).chain(of_tenths())
}

const RUN: &[Metric] = &[
    run("value", "value obtained, as a share of all there was", Value, Share, More, |s| s.value?.proportion),
    run("starved", "share of the jobs that starved", Value, Share, Less, |s| {
        share(s.starved?, s.counted_jobs().submitted)
    }),
    run("in_time", "share of the jobs with a deadline that finished before it", Value, Share, More, |s| s.in_time),
    run(
        "stretch_mean",
        "mean bounded stretch of finished jobs, with a threshold of 10 s",
        Slowdowns,
        Ratio,
        Less,
        |s| Some(s.stretch?.mean),
    ),
    run(
        "stretch_p99",
        "the bounded stretch that 99 % of the finished jobs do not exceed",
        Fairness,
        Ratio,
        Less,
        |s| Some(s.stretch?.p99),
    ),
    run("stretch_max", "the largest bounded stretch of a finished job", Fairness, Ratio, Less, |s| {
        Some(s.stretch?.max)
    }),
    run("core_hours", "core hours in use", Use, CoreHours, Neither, |s| Some(s.utilisation.all.busy / 3_600.0)),
    run("jobs", "jobs submitted", Work, Count, Neither, |s| Some(s.jobs.submitted as f64)),
    run("tasks", "tasks submitted", Work, Count, Neither, |s| Some(s.tasks.submitted as f64)),
    run("finished", "share of the jobs that finished", Work, Share, More, |s| {
        share(s.counted_jobs().finished, s.counted_jobs().submitted)
    }),
    run("refused", "share of the jobs that were refused", Work, Share, Less, |s| {
        share(s.counted_jobs().refused, s.counted_jobs().submitted)
    }),
    run("utilisation", "share of core time in use while jobs arrived", Use, Share, More, |s| {
        s.utilisation.all.arrivals
    }),
    run("useful", "share of the work for jobs with a worth that brought value", Value, Share, More, |s| s.useful),
    run("slr", "mean SLR of finished jobs", Slowdowns, Ratio, Less, |s| s.slr),
    run("job_wait", "mean wait of jobs for their first start", Waits, Seconds, Less, |s| Some(s.job_wait?.mean)),
    run("job_wait_p95", "the wait that 95 % of the jobs do not exceed", Waits, Seconds, Less, |s| {
        Some(s.job_wait?.p95)
    }),
    run("task_wait", "mean wait of tasks that were ready", Waits, Seconds, Less, |s| Some(s.task_wait?.mean)),
    run(
        "lag",
        "mean time until the router knew that a task had ended, or had the offer of its cores",
        Knowledge,
        Seconds,
        Less,
        |s| Some(s.view.map_or(0.0, |v| v.lag_mean)),
    ),
    run(
        "unseen",
        "core seconds that were free while the router believed they were in use",
        Knowledge,
        CoreSeconds,
        Less,
        |s| Some(s.view.map_or(0.0, |view| view.unseen)),
    ),
    run("makespan", "time from the first arrival to the end", Use, Seconds, Less, |s| s.makespan),
];

/// Metrics of each tenth of the jobs.
fn of_tenths() -> impl Iterator<Item = Metric> + Clone {
    let metrics = |of: &'static Tenths| {
        let metric = move |(name, tenth)| {
            let of_group = Of::Tenth(tenth, of.groups, of.of);
            Metric { name, about: of.about, family: of.family, unit: of.unit, better: Less, of: of_group }
        };
        of.names.into_iter().zip(0..).map(metric)
    };
    TENTHS.iter().flatten().flat_map(metrics)
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
