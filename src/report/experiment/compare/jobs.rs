//! Jobs of several results, matched by number.

use std::collections::BTreeMap;

use super::Side;
use super::groups::{Division, divide_jobs};
use crate::{Better, JobEnd, JobOutcome, RunOutcomes};

/// The number of jobs that are listed with the largest changes.
const LARGEST: usize = 10;

/// Percentages of the quantiles of a distribution.
pub const QUANTILES: [u64; 7] = [0, 5, 25, 50, 75, 95, 100];

/// Microseconds in a second.
pub(super) const MICROS_PER_SECOND: f64 = 1e6;

/// Columns of `jobs.csv` that every table has.
const COLUMNS: [&str; 13] = [
    "job_id",
    "workload_name",
    "job",
    "user",
    "name",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "final_state",
    "starting_time",
    "finish_time",
    "value",
    "value_max",
];

/// Reads rows of `jobs.csv`, given its heading.
pub struct JobReader {
    /// Index in the heading of each of `COLUMNS`.
    places: [usize; COLUMNS.len()],
    /// Index of the column that tells which jobs count; None if the table has no such column.
    counted: Option<usize>,
    /// Index of the column that tells which jobs were backfilled; None if the table has no such column.
    backfilled: Option<usize>,
    width: usize,
    table: JobTable,
}

/// The jobs of a result.
#[derive(Clone, Debug, Default)]
pub struct JobTable {
    jobs: Vec<JobLine>,
}

/// A job: one row of `jobs.csv`. Times are in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLine {
    /// Workload, from 1, and number in its log.
    log: (u32, u64),
    /// Number in the run.
    run: u64,
    pub(super) user: String,
    /// Its name in the input; empty if it has none.
    name: String,
    /// User and group of its log, where known.
    logged: (Option<u32>, Option<u32>),
    submitted: i64,
    /// Requested cores and time; None if it has several tasks.
    pub(super) cores: Option<u64>,
    walltime: Option<i64>,
    /// Its largest possible value, as written.
    worth: String,
    has_ended: bool,
    end: JobEnd,
    /// False if it is in a warm-up or a cool-down.
    pub(super) counts: bool,
    /// True if backfilling started it, false if the main scheduler did; None where that is not known.
    backfilled: Option<bool>,
    /// True if it was ended before it was done: at its walltime, or for another job.
    pub(super) was_killed: bool,
    pub(super) started: Option<i64>,
    pub(super) ended: Option<i64>,
    value: Option<f64>,
}

impl JobReader {
    /// A reader of rows below this heading; an error names the missing column.
    pub fn new(heading: &[String]) -> Result<JobReader, String> {
        let mut places = [0; COLUMNS.len()];
        for (place, name) in places.iter_mut().zip(COLUMNS) {
            *place = find_column(name, heading)?;
        }
        let counted = find_column("counted", heading).ok();
        let backfilled = find_column("backfilled", heading).ok();
        Ok(JobReader { places, counted, backfilled, width: heading.len(), table: JobTable::default() })
    }

    /// Takes the next row; an error says what is wrong with it. `topology` is the name of the result's topology.
    pub fn take_row(&mut self, row: &[String], topology: &str) -> Result<(), String> {
        if row.len() != self.width {
            return Err(format!("expected {} cells, but there are {}", self.width, row.len()));
        }
        let cells = self.places.map(|place| row[place].as_str());
        let [number, workload, run, user, name, submitted, cores, walltime, state, started, ended, value, worth] =
            cells;
        let suffix = workload.strip_prefix(topology).and_then(|rest| rest.strip_prefix('.'));
        let workload = suffix.and_then(|number| number.parse().ok()).unwrap_or(1);
        let submitted = parse_time("submission_time", submitted)?.ok_or_else(|| wrong_number("submission_time", ""))?;
        let value =
            nonempty(value).map(|cell| cell.parse::<f64>().map_err(|_| wrong_number("value", cell))).transpose()?;
        let end = end_of(state);
        self.table.jobs.push(JobLine {
            log: (workload, parse_whole("job_id", number)?),
            run: parse_whole("job", run)?,
            user: user.to_owned(),
            name: name.to_owned(),
            logged: (None, None),
            submitted,
            cores: nonempty(cores).map(|cell| parse_whole("requested_number_of_resources", cell)).transpose()?,
            walltime: parse_time("requested_time", walltime)?,
            worth: worth.to_owned(),
            end,
            counts: self.counted.is_none_or(|column| row[column] != "0"),
            backfilled: self.backfilled.and_then(|column| nonempty(&row[column])).map(|cell| cell != "0"),
            has_ended: matches!(end, JobEnd::Finished | JobEnd::Killed | JobEnd::Preempted),
            was_killed: matches!(end, JobEnd::Killed | JobEnd::Preempted),
            started: parse_time("starting_time", started)?,
            ended: parse_time("finish_time", ended)?,
            value: value.filter(|value| value.is_finite()),
        });
        Ok(())
    }

    /// The jobs read; an error unless there are `expected`, as the summary counts them.
    pub fn finish(self, expected: u64) -> Result<JobTable, String> {
        match self.table.jobs.len() as u64 {
            found if found == expected => Ok(self.table),
            found => Err(format!("it has {found} jobs, but the summary counts {expected}")),
        }
    }
}

fn parse_whole(what: &str, cell: &str) -> Result<u64, String> {
    cell.parse::<u64>().map_err(|_| wrong_number(what, cell))
}

fn parse_time(what: &str, cell: &str) -> Result<Option<i64>, String> {
    nonempty(cell).map(|cell| parse_micros(cell).ok_or_else(|| wrong_number(what, cell))).transpose()
}

fn find_column(name: &str, heading: &[String]) -> Result<usize, String> {
    let place = heading.iter().position(|column| column == name);
    place.ok_or_else(|| format!("it has no column `{name}`"))
}

fn nonempty(cell: &str) -> Option<&str> {
    Some(cell).filter(|cell| !cell.is_empty())
}

/// End of a job by its `final_state`.
fn end_of(state: &str) -> JobEnd {
    match state {
        "COMPLETED_SUCCESSFULLY" => JobEnd::Finished,
        "COMPLETED_WALLTIME_REACHED" => JobEnd::Killed,
        "PREEMPTED" => JobEnd::Preempted,
        "COMPLETED_KILLED" => JobEnd::Removed,
        "REJECTED" => JobEnd::Refused,
        _ => JobEnd::Unfinished,
    }
}

fn wrong_number(column: &str, cell: &str) -> String {
    let found: String = cell.chars().take(40).collect();
    format!("column `{column}`: expected a number, found `{found}`")
}

/// Seconds as written in tables, in microseconds.
fn parse_micros(cell: &str) -> Option<i64> {
    let seconds = cell.parse::<f64>().ok().filter(|seconds| (0.0..1e12).contains(seconds))?;
    Some((seconds * MICROS_PER_SECOND).round() as i64)
}

impl JobLine {
    /// True unless it is certainly another job. Runs may shift submissions, or request other times, for the same job.
    fn is_like(&self, other: &JobLine) -> bool {
        let is_when = self.submitted == other.submitted;
        let is_as_long = self.walltime.is_some() && self.walltime == other.walltime;
        (is_when || is_as_long) && (self.cores, &self.user, &self.worth) == (other.cores, &other.user, &other.worth)
    }

    /// Time from submission to end; None if it has not ended.
    pub(super) fn turnaround_micros(&self) -> Option<i64> {
        Some(self.ended? - self.submitted).filter(|_| self.has_ended)
    }
}

impl JobTable {
    /// Outcomes of the jobs, without users and groups of a log. O(jobs log users).
    pub fn run_outcomes(&self, time_of_day: Option<u64>) -> RunOutcomes {
        let mut users: Vec<String> = self.jobs.iter().map(|job| job.user.clone()).collect();
        users.sort_unstable();
        users.dedup();
        let jobs = self
            .jobs
            .iter()
            .map(|job| JobOutcome {
                log: job.log,
                run: job.run,
                user: users.binary_search(&job.user).unwrap_or_default() as u32,
                logged: job.logged,
                cores: job.cores.and_then(|cores| u32::try_from(cores).ok()),
                submitted: clamp_micros(job.submitted),
                started: job.started.map(clamp_micros),
                ended: job.ended.filter(|_| job.has_ended).map(clamp_micros),
                end: job.end,
                counts: job.counts,
                backfilled: job.backfilled,
            })
            .collect();
        RunOutcomes { users, time_of_day, jobs }
    }

    /// Sets the users and groups of a log, by the numbers of its jobs; none if numbers occur twice.
    pub fn take_log(&mut self, logged: &BTreeMap<u64, (Option<u32>, Option<u32>)>) {
        if !self.has_repeated_numbers() && self.jobs.iter().all(|job| job.log.0 <= 1) {
            self.jobs.iter_mut().for_each(|job| job.logged = logged.get(&job.log.1).copied().unwrap_or_default());
        }
    }

    /// The least and the largest number, in words; None without jobs.
    pub fn number_range(&self) -> Option<String> {
        let numbers = || self.jobs.iter().map(|job| job.log.1);
        let least = numbers().min()?;
        let largest = numbers().max()?;
        Some(if least == largest { least.to_string() } else { format!("{least} to {largest}") })
    }

    fn has_repeated_numbers(&self) -> bool {
        let mut numbers: Vec<(u32, u64)> = self.jobs.iter().map(|job| job.log).collect();
        numbers.sort_unstable();
        numbers.windows(2).any(|pair| pair[0] == pair[1])
    }
}

fn clamp_micros(time: i64) -> u64 {
    time.max(0) as u64
}

/// The numbers by which jobs are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// Number of the workload, and number in its log.
    ByLog,
    /// Number in the run, if numbers of logs occur twice.
    ByRun,
}

/// Changes of the jobs of a result against the first result.
pub struct JobChanges {
    /// Index of the result.
    pub run: usize,
    pub matched: u64,
    pub only_first: u64,
    pub only_here: u64,
    /// Matched jobs that are certainly different jobs: another user, size or worth, or other times.
    pub unlike: u64,
    /// Jobs that ended in one of the two only.
    pub ended_only_first: u64,
    pub ended_only_here: u64,
    /// Turnaround, wait and value, as far as jobs have them.
    pub quantities: Vec<Changes>,
    /// The jobs whose turnaround changed most.
    pub largest: Vec<Change>,
    /// Changes of turnaround by user, size, run time and end.
    pub divisions: Vec<Division>,
    /// Differences of turnaround in seconds, ascending.
    pub sorted: Vec<f64>,
}

/// Changes of one quantity.
pub struct Changes {
    pub name: &'static str,
    pub about: &'static str,
    pub is_time: bool,
    pub better: u64,
    pub worse: u64,
    pub same: u64,
    pub mean: f64,
    /// Differences at `QUANTILES`.
    pub quantiles: [f64; QUANTILES.len()],
}

/// The turnaround of a job in two results, in seconds.
pub struct Change {
    pub label: String,
    pub user: String,
    pub submitted: f64,
    pub cores: Option<u64>,
    pub first: f64,
    pub here: f64,
}

impl JobChanges {
    /// True if the changes are mostly those of the same jobs.
    pub fn are_of_the_same_jobs(&self) -> bool {
        self.unlike * 2 <= self.matched
    }
}

impl Change {
    pub fn difference(&self) -> f64 {
        self.here - self.first
    }
}

impl Changes {
    /// Number of jobs with the quantity in both results.
    pub fn count(&self) -> u64 {
        self.better + self.worse + self.same
    }
}

impl Matching {
    /// The numbers that identify jobs in all results. O(jobs log jobs).
    pub fn of(sides: &[Side]) -> Matching {
        match sides.iter().any(|side| side.jobs.has_repeated_numbers()) {
            true => Matching::ByRun,
            false => Matching::ByLog,
        }
    }

    fn key(self, job: &JobLine) -> (u32, u64) {
        match self {
            Matching::ByLog => job.log,
            Matching::ByRun => (0, job.run),
        }
    }

    /// Compares the jobs of two results. O(jobs log jobs).
    pub fn compare_jobs(self, first: &Side, run: usize, here: &Side) -> JobChanges {
        let by_number: BTreeMap<(u32, u64), &JobLine> =
            first.jobs.jobs.iter().map(|job| (self.key(job), job)).collect();
        let mut pairs: Vec<(&JobLine, &JobLine)> = Vec::new();
        let mut only_here = 0;
        for job in &here.jobs.jobs {
            match by_number.get(&self.key(job)) {
                Some(other) => pairs.push((other, job)),
                None => only_here += 1,
            }
        }
        let several = pairs.iter().any(|(job, _)| job.log.0 > 1);
        let count = |of: &dyn Fn(&(&JobLine, &JobLine)) -> bool| pairs.iter().filter(|pair| of(pair)).count() as u64;
        let counted: Vec<(&JobLine, &JobLine)> = pairs.iter().copied().filter(|(a, b)| a.counts && b.counts).collect();
        let times = |of: &dyn Fn(&JobLine) -> Option<i64>| -> Vec<f64> {
            counted.iter().filter_map(|(a, b)| Some((of(b)? - of(a)?) as f64 / MICROS_PER_SECOND)).collect()
        };
        let mut sorted = times(&JobLine::turnaround_micros);
        sorted.sort_unstable_by(f64::total_cmp);
        let values = counted.iter().filter_map(|(a, b)| Some(b.value? - a.value?)).collect();
        let quantities = [
            Changes::of("turnaround", "from submission to end", Better::Less, sorted.clone()),
            Changes::of(
                "wait",
                "from submission to first start",
                Better::Less,
                times(&|job: &JobLine| Some(job.started? - job.submitted)),
            ),
            Changes::of("value", "value obtained", Better::More, values),
        ];
        JobChanges {
            run,
            matched: pairs.len() as u64,
            only_first: first.jobs.jobs.len() as u64 - pairs.len() as u64,
            only_here,
            unlike: count(&|(a, b)| !a.is_like(b)),
            ended_only_first: count(&|(a, b)| a.has_ended && !b.has_ended),
            ended_only_here: count(&|(a, b)| !a.has_ended && b.has_ended),
            quantities: quantities.into_iter().flatten().collect(),
            largest: largest_changes(&pairs, several),
            divisions: divide_jobs(&pairs, run),
            sorted,
        }
    }
}

/// The jobs whose turnaround changed most, in order of that; equal changes in order of numbers.
fn largest_changes(pairs: &[(&JobLine, &JobLine)], several: bool) -> Vec<Change> {
    let both = pairs.iter().filter_map(|(a, b)| Some((a.turnaround_micros()?, b.turnaround_micros()?, *a)));
    let mut changed: Vec<(i64, i64, &JobLine)> = both.filter(|(a, b, _)| a != b).collect();
    changed.sort_unstable_by_key(|(a, b, job)| (std::cmp::Reverse((b - a).abs()), job.log, job.run));
    changed.truncate(LARGEST);
    changed.into_iter().map(|one| job_change(one, several)).collect()
}

fn job_change((first, here, job): (i64, i64, &JobLine), several: bool) -> Change {
    let number = match several {
        true => format!("{} of workload {}", job.log.1, job.log.0),
        false => job.log.1.to_string(),
    };
    Change {
        label: if job.name.is_empty() { number } else { format!("{number} ({})", job.name) },
        user: job.user.clone(),
        submitted: job.submitted as f64 / MICROS_PER_SECOND,
        cores: job.cores,
        first: first as f64 / MICROS_PER_SECOND,
        here: here as f64 / MICROS_PER_SECOND,
    }
}

impl Changes {
    /// None without differences.
    fn of(name: &'static str, about: &'static str, better: Better, mut differences: Vec<f64>) -> Option<Changes> {
        differences.sort_unstable_by(f64::total_cmp);
        let count = differences.len();
        (count > 0).then(|| Changes {
            name,
            about,
            is_time: better == Better::Less,
            better: count_differences(&|difference| better.is_better(difference, 0.0), &differences),
            worse: count_differences(&|difference| better.is_better(0.0, difference), &differences),
            same: count_differences(&|difference| difference == 0.0, &differences),
            mean: differences.iter().sum::<f64>() / count as f64,
            quantiles: QUANTILES
                .map(|percent| differences[((count as u64 * percent).div_ceil(100) as usize).saturating_sub(1)]),
        })
    }
}

fn count_differences(of: &dyn Fn(f64) -> bool, differences: &[f64]) -> u64 {
    differences.iter().filter(|difference| of(**difference)).count() as u64
}
