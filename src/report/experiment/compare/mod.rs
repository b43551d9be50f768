//! Comparison of the results of several runs: metrics, jobs, use over time, settings, and the first event that differs.
//!
//! The first result is the reference: every difference and ratio is against it. Results may come from different
//! systems; a metric that a run lacks, or a job that it does not have, is left out of differences and counted.

mod groups;
mod jobs;
mod json;
mod page;
mod settings;
mod sweeps;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use super::answer::{Answer, Contest, ContestRun, NoAnswer, make_answer};
use super::metrics::{self, Metric};
use crate::present::page::log_calendar;
use crate::{
    Better, Course, Difference, Family, Manifest, RunOutcomes, Schedule, Status, SummaryFile, Window, WorkDone,
    changed_inputs,
};
use hansa_sim::numerals::{format_count, signed_span};
use hansa_sim::settings::format_counted;

use self::jobs::{JobChanges, Matching};
pub use self::jobs::{JobReader, JobTable};
use self::settings::Setting;
pub use self::sweeps::{Sweep, Sweeps, compare_sweeps};

/// Most results of one comparison: pictures have a colour or a dash pattern for each.
pub const RESULTS_MAX: usize = 16;

/// Number of steps of a course.
pub const PARTS: usize = 320;

/// One of the results.
pub struct Side {
    /// Path of its folder, as typed.
    pub name: String,
    pub manifest: Manifest,
    pub summary: SummaryFile,
    pub jobs: JobTable,
    /// None if its log does not fit this version, or no job arrived.
    pub course: Option<Course>,
    /// Comparison of its log with that of the first result.
    pub log: LogComparison,
    /// Names of its files that are not as its manifest describes them.
    pub changed: Vec<String>,
}

/// Comparison of a log with that of the first result.
#[derive(Clone, Debug, PartialEq)]
pub enum LogComparison {
    /// It is the first result.
    Reference,
    Same,
    Differs(Difference),
    /// Live runs have no comparable logs.
    Live,
}

/// The comparison of two or more results.
pub struct Comparison {
    sides: Vec<Side>,
    /// Interval of the courses.
    window: Window,
    settings: Vec<Setting>,
    /// Differences besides settings and jobs, in words.
    notes: Vec<String>,
    /// Metrics that at least one run has.
    metrics: Vec<MetricRow>,
    /// Names of metrics that no run has.
    absent: Vec<&'static str>,
    /// Changes of jobs against the first result, one entry per other result.
    changes: Vec<JobChanges>,
    answer: Option<Answer>,
}

/// A metric with its value in each run.
struct MetricRow {
    metric: Metric,
    values: Vec<Option<f64>>,
}

impl MetricRow {
    /// Difference of a run's value from that of the first run.
    fn value_difference(&self, run: usize) -> Option<f64> {
        Some(self.values[run]? - self.values[0]?)
    }

    /// A run's value as a multiple of that of the first run; None if that is 0.
    fn value_ratio(&self, run: usize) -> Option<f64> {
        Some(self.values[run]? / self.values[0]?).filter(|ratio| ratio.is_finite())
    }

    /// True if every run has this value.
    fn is_constant(&self) -> bool {
        self.values.iter().all(|value| *value == self.values[0])
    }

    /// True for the best value, if values differ and one direction is better.
    fn is_best(&self, run: usize) -> bool {
        let Some(value) = self.values[run].filter(|_| self.metric.better != Better::Neither) else { return false };
        let others = || self.values.iter().flatten();
        others().any(|other| self.metric.better.is_better(value, *other))
            && !others().any(|other| self.metric.better.is_better(*other, value))
    }

    /// Direction of a run's value against the first run's: better, worse, or neither.
    fn run_verdict(&self, run: usize) -> Verdict {
        match (self.values[run], self.values[0]) {
            (Some(here), Some(first)) if self.metric.better.is_better(here, first) => Verdict::Better,
            (Some(here), Some(first)) if self.metric.better.is_better(first, here) => Verdict::Worse,
            _ => Verdict::Neither,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Better,
    Worse,
    Neither,
}

/// Compares results by a metric, by default by turnaround; an error in words if no result has it, or if two of them
/// have jobs and no job in common.
pub fn make_comparison(sides: Vec<Side>, window: Window, by: Option<&str>) -> Result<Comparison, String> {
    let matching = Matching::of(&sides);
    let others = sides.iter().enumerate().skip(1);
    let changes: Vec<JobChanges> = others.map(|(run, side)| matching.compare_jobs(&sides[0], run, side)).collect();
    for (side, changes) in sides[1..].iter().zip(&changes) {
        let first = &sides[0];
        if let (0, Some(ours), Some(theirs)) = (changes.matched, first.jobs.number_range(), side.jobs.number_range()) {
            return Err(format!(
                "{} and {} have no job in common: expected results of the same jobs, but the first has jobs {ours}, the \
                 other {theirs}",
                first.name, side.name
            ));
        }
    }
    let texts: Vec<&str> = sides.iter().map(|side| side.manifest.topology.as_str()).collect();
    let settings = settings::differing_settings(&texts);
    let notes = comparison_notes(&sides, &changes, &matching);
    let mut rows = Vec::new();
    let mut absent = Vec::new();
    for metric in metrics::all_metrics() {
        let values: Vec<Option<f64>> =
            sides.iter().map(|side| metric.of(&side.summary.results).filter(|value| value.is_finite())).collect();
        match values.iter().any(Option::is_some) {
            true => rows.push(MetricRow { metric, values }),
            false => absent.push(metric.name),
        }
    }
    let mut calendars: Vec<_> = sides.iter().map(|side| log_calendar(&side.summary.results)).collect();
    calendars.dedup();
    let calendar = if let [one] = calendars[..] { one } else { None };
    let window = Window { calendar, ..window };
    let answer = match answer_of(&sides, by) {
        // Runs without any job have nothing to answer.
        Err(NoAnswer::Nothing) if by.is_none() => None,
        answered => Some(answered.map_err(|error| error.to_string())?),
    };
    // Runs of other jobs are no contest.
    let answer = answer.filter(|_| changes.iter().all(JobChanges::are_of_the_same_jobs));
    Ok(Comparison { sides, window, settings, notes, metrics: rows, absent, changes, answer })
}

/// The answer about results as runs of one repetition.
fn answer_of(sides: &[Side], by: Option<&str>) -> Result<Answer, NoAnswer> {
    let outcomes: Vec<RunOutcomes> = sides.iter().map(|side| side.jobs.run_outcomes(side.time_of_day())).collect();
    let runs = sides.iter().zip(&outcomes).map(|(side, outcomes)| {
        let results = &side.summary.results;
        let metrics = metrics::all_metrics().map(|metric| metric.of(results)).collect();
        let has_jobs = !outcomes.jobs.is_empty();
        Some(ContestRun { metrics, work: Some(WorkDone::of(results)), outcomes: has_jobs.then_some(outcomes) })
    });
    let contest = Contest {
        names: (0..sides.len()).map(run_letter).collect(),
        reference: 0,
        one: "run",
        repetition: "repetition",
        repetitions: vec![runs.collect()],
    };
    make_answer(&contest, by)
}

impl Side {
    /// Time of day at virtual time zero in microseconds, if its log says so.
    fn time_of_day(&self) -> Option<u64> {
        let schedule = self.summary.results.read_part::<Schedule>()?;
        let seconds = schedule.logs.iter().find_map(|log| log.time_of_day)?;
        Some((seconds * 1e6) as u64)
    }
}

/// Sentences on results that cannot be compared without reserve.
fn comparison_notes(sides: &[Side], changes: &[JobChanges], matching: &Matching) -> Vec<String> {
    let mut notes = Vec::new();
    let first = &sides[0].manifest;
    let mut inputs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (run, side) in sides.iter().enumerate().skip(1) {
        for path in changed_inputs(first, &side.manifest) {
            inputs.entry(path).or_default().push(run_letter(run));
        }
        if side.manifest.version != first.version {
            let version = &side.manifest.version;
            let other = &first.version;
            notes.push(format!("{} was made by Hansa {version}, A by Hansa {other}", named_run(run, sides)));
        }
    }
    for (path, runs) in inputs {
        notes.push(format!("the input {path} of {} differs from that of A", all_of(&runs)));
    }
    for (run, side) in sides.iter().enumerate() {
        if let Status::Partial(why) = &side.manifest.status {
            notes.push(format!(
                "{} is partial, so its numbers would be different at the end: {why}",
                named_run(run, sides)
            ));
        }
        if !side.changed.is_empty() {
            let have = if side.changed.len() == 1 { "has" } else { "have" };
            let files = all_of(&side.changed);
            notes.push(format!(
                "{files} of {} {have} been changed since the run, so its numbers may not be those of the run",
                named_run(run, sides)
            ));
        }
        if side.course.is_none() && side.summary.results.jobs.submitted > 0 {
            notes.push(format!(
                "{} is not in the picture over time: its topology is not valid for this version",
                named_run(run, sides)
            ));
        }
    }
    if matching == &Matching::ByRun {
        notes.push("a number of a log occurs twice, so jobs are matched by their numbers in the run".to_owned());
    }
    for (run, changes) in (1..).zip(changes) {
        let lacking = [(0, changes.only_first), (run, changes.only_here)];
        for (run, count) in lacking.into_iter().filter(|(_, count)| *count > 0) {
            let jobs = format_counted(count, "job");
            let letter = run_letter(run);
            let other = if run == 0 { self::run_letter(changes.run) } else { self::run_letter(0) };
            notes.push(format!("{jobs} of {letter} {} not in {other}", if count == 1 { "is" } else { "are" }));
        }
        if changes.unlike > 0 {
            let both = format_counted(changes.matched, "job");
            let unlike = format_count(changes.unlike);
            let letter = run_letter(run);
            notes.push(match changes.are_of_the_same_jobs() {
                true => format!("of {both} in both A and {letter}, {unlike} differ in user, size, worth or times"),
                false => format!(
                    "of {both} in both A and {letter}, {unlike} differ in user, size, worth or times, so {letter} is not \
                     compared with A job by job"
                ),
            });
        }
    }
    notes
}

fn named_run(run: usize, sides: &[Side]) -> String {
    format!("{} ({})", run_letter(run), sides[run].name)
}

/// Names in a sentence: B, C and D.
fn all_of(names: &[String]) -> String {
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

/// Short name of a result: A for the first.
fn run_letter(run: usize) -> String {
    char::from(b'A' + run as u8).to_string()
}

impl Comparison {
    /// True if all results are of one topology name.
    fn common_topology(&self) -> Option<&str> {
        let name = &self.sides[0].summary.results.topology;
        self.sides.iter().all(|side| side.summary.results.topology == *name).then_some(name)
    }

    /// True if a result is compared with the first one job by job.
    fn compares_jobs(&self, run: usize) -> bool {
        let changes = &self.changes[run - 1];
        self.sides[run].log != LogComparison::Same && changes.matched > 0 && changes.are_of_the_same_jobs()
    }

    /// Sentence on a result with the same events as the first one.
    fn same_events(&self, run: usize) -> String {
        let letter = run_letter(run);
        match (self.has_changed(0), self.has_changed(run)) {
            (false, false) => format!("{letter} is the same run as A: no event differs."),
            (true, false) => format!("No event of {letter} differs from A, but files of A have been changed since."),
            (false, true) => {
                format!("No event of {letter} differs from A, but files of {letter} have been changed since.")
            }
            (true, true) => format!("No event of {letter} differs from A, but files of both have been changed since."),
        }
    }

    fn has_changed(&self, run: usize) -> bool {
        !self.sides[run].changed.is_empty()
    }

    /// Sentence on a result against the first one.
    fn verdict_sentence(&self, run: usize) -> String {
        let side = &self.sides[run];
        let changes = &self.changes[run - 1];
        if side.log == LogComparison::Same {
            return self.same_events(run);
        }
        if !changes.are_of_the_same_jobs() {
            return format!(
                "{} against A: no verdict, as these are not runs of the same jobs: of {} with one number in both, {} \
                 differ in user, size, worth or times.",
                run_letter(run),
                format_counted(changes.matched, "job"),
                format_count(changes.unlike)
            );
        }
        let mut text = format!("{} against A: ", run_letter(run));
        if let Some(turnaround) = changes.quantities.first().filter(|_| self.compares_jobs(run)) {
            text.push_str(&format!(
                "of {} that ended in both, {} took less time, {} took more, {} in the mean; ",
                format_counted(turnaround.count(), "job"),
                format_count(turnaround.better),
                format_count(turnaround.worse),
                signed_span(turnaround.mean)
            ));
        }
        text + &format!("{}.", self.families_in_words(run))
    }

    /// Families of metrics in which a result is better, and worse, each by its first metric that both have.
    fn families_in_words(&self, run: usize) -> String {
        let mut names: BTreeMap<Verdict, Vec<&str>> = BTreeMap::new();
        for (word, family, _) in Family::ALL {
            let first = self
                .metrics
                .iter()
                .filter(|row| row.metric.family == *family && row.metric.better != Better::Neither)
                .find(|row| row.values[0].is_some() && row.values[run].is_some());
            if let Some(row) = first {
                names.entry(row.run_verdict(run)).or_default().push(word);
            }
        }
        let parts =
            [(list_words(Verdict::Better, &names), "better in"), (list_words(Verdict::Worse, &names), "worse in")];
        let parts: Vec<String> =
            parts.into_iter().filter_map(|(names, words)| Some(format!("{words} {}", names?))).collect();
        if parts.is_empty() { "equal in all families of metrics".to_owned() } else { parts.join("; ") }
    }
}

fn list_words(verdict: Verdict, names: &BTreeMap<Verdict, Vec<&str>>) -> Option<String> {
    names.get(&verdict).map(|words| words.join(", "))
}
