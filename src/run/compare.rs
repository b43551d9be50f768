//! `hansa compare`: results of runs, or of sweeps, side by side.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::csv::CsvReader;
use super::disk::{io_reason, operation_failure, write_named};
use super::files::{self, EVENTS, JOBS, MANIFEST, STATE};
use super::report::{read_manifest_topology, replay_result};
use super::sweep::{RUNS, SweepState};
use super::terminal::Activity;
use super::{Failure, out};
use hansa_report::experiment::answer::find_metric;
use hansa_report::experiment::compare::{
    Comparison, JobReader, JobTable, LogComparison, PARTS, RESULTS_MAX, Side, Sweep, compare_sweeps, make_comparison,
};
use hansa_report::{Course, SummaryFile, Window, first_difference};
use hansa_sim::settings::format_counted;
use hansa_sim::time::Time;
use hansa_sim::workload::swf;

/// A result folder as it is opened: everything but its course and its log.
type Opened = hansa_report::Side<BufReader<File>>;

/// Compares result folders, or folders of sweeps; the first is the reference. Prints a table or JSON, and writes a page
/// if one is wanted.
pub fn compare_results(folders: &[PathBuf], by: Option<&str>, json: bool, page: Option<&Path>) -> Result<(), Failure> {
    check_distinct(folders)?;
    by.map(find_metric).transpose().map_err(|error| Failure::Input(error.to_string()))?;
    let activity = Activity::new(format!("comparing {}", format_counted(folders.len() as u64, "result")));
    let is_sweep = |folder: &&PathBuf| !folder.join(MANIFEST).exists() && folder.join(STATE).exists();
    let (text, json, html) = match folders.iter().find(is_sweep) {
        None => {
            let all = compare_folders(folders, by)?;
            (all.to_string(), json.then(|| all.json()), page.map(|_| all.page()))
        }
        Some(sweep) => {
            if let Some(run) = folders.iter().find(|folder| !is_sweep(folder)) {
                // A folder that is neither has a message of its own.
                files::open_result(run)?;
                let sweep = sweep.display();
                let run = run.display();
                return Err(Failure::Input(format!(
                    "{sweep} holds the results of an experiment, {run} those of a run: expected results of one kind"
                )));
            }
            let sweeps: Vec<Sweep> = folders.iter().map(|folder| read_sweep(folder)).collect::<Result<_, _>>()?;
            let mut all = compare_sweeps(&sweeps).map_err(Failure::Input)?;
            if let Some(name) = by.filter(|name| !all.put_first(name)) {
                return Err(Failure::Input(format!("--by {name}: these sweeps have no such column")));
            }
            (all.to_string(), json.then(|| all.json()), page.map(|_| all.page()))
        }
    };
    drop(activity);
    if let (Some(path), Some(html)) = (page, html) {
        write_named(path, html)?;
    }
    if let Some(json) = json {
        return out::always(&format!("{json:#}\n"));
    }
    // Quiet or not: the table goes to no file.
    out::always(&text)?;
    page.map_or(Ok(()), |path| out::unless_quiet(&format!("\npage  {}\n", path.display())))
}

/// A sweep: its state, and the cells of its rows.
fn read_sweep(folder: &Path) -> Result<Sweep, Failure> {
    let path = folder.join(RUNS);
    let Some(state) = SweepState::read_state(folder)? else {
        return Err(Failure::Input(format!("{} has no {STATE}", folder.display())));
    };
    let mut table = CsvReader::new(BufReader::new(files::open_part(folder, RUNS)?));
    let mut next = || table.next_row().map_err(|error| operation_failure("read", &path, &error));
    let heading = next()?.unwrap_or_default();
    let mut rows = Vec::new();
    while let Some(row) = next()? {
        rows.push(row);
    }
    let name = files::name_of(folder);
    let SweepState { experiment, status, repeats, .. } = state;
    Ok(Sweep { name, experiment, status, repeats, heading, rows })
}

/// Refuses a folder that is given twice, and more folders than can be told apart.
fn check_distinct(folders: &[PathBuf]) -> Result<(), Failure> {
    if folders.len() > RESULTS_MAX {
        let text = format!("expected at most {RESULTS_MAX} results, but there are {}", folders.len());
        return Err(Failure::Input(text));
    }
    let real: Vec<PathBuf> =
        folders.iter().map(|folder| fs::canonicalize(folder).unwrap_or_else(|_| folder.clone())).collect();
    for (later, folder) in real.iter().enumerate() {
        if let Some(earlier) = real[..later].iter().position(|other| other == folder) {
            let one = folders[earlier].display();
            let other = folders[later].display();
            return Err(Failure::Input(format!("{one} and {other} are the same folder: expected different results")));
        }
    }
    Ok(())
}

fn compare_folders(folders: &[PathBuf], by: Option<&str>) -> Result<Comparison, Failure> {
    let opened: Vec<Opened> = folders.iter().map(|folder| files::open_result(folder)).collect::<Result<_, _>>()?;
    let tables: Vec<JobTable> =
        folders.iter().zip(&opened).map(|(folder, side)| read_jobs(folder, &side.summary)).collect::<Result<_, _>>()?;
    let window = common_window(&opened);
    let logs: Vec<LogComparison> =
        (0..folders.len()).map(|run| compare_log(folders, &opened, run)).collect::<Result<_, _>>()?;
    let mut sides = Vec::new();
    for (((folder, opened), jobs), log) in folders.iter().zip(opened).zip(tables).zip(logs) {
        let hansa_report::Side { name, manifest, summary, events } = opened;
        let topology = read_manifest_topology(folder, &manifest.topology, &manifest.names);
        let changed = files::changed_names(folder, &manifest);
        let course = match topology {
            Ok(topology) => {
                let tally = replay_result(folder, &topology, &manifest.names, &summary, events)?;
                Some(Course::of(&tally, window, PARTS))
            }
            // Made by another version, perhaps: its numbers can be compared all the same.
            Err(_) => None,
        };
        sides.push(Side { name, manifest, summary, jobs, course, log, changed });
    }
    make_comparison(sides, window, by).map_err(Failure::Input)
}

/// The interval from the first arrival of all runs to the last end.
fn common_window(opened: &[Opened]) -> Window {
    let mut from: Option<Time> = None;
    let mut until = Time::ZERO;
    for results in opened.iter().map(|side| &side.summary.results) {
        from = from.into_iter().chain(results.first_arrival.map(time_of_seconds)).min();
        until = until.max(results.end.or(results.last_arrival).map_or(until, time_of_seconds));
    }
    let from = from.unwrap_or(Time::ZERO);
    Window::new(from, until.max(from))
}

fn time_of_seconds(seconds: f64) -> Time {
    Time::from_micros((seconds * 1e6).round() as u64)
}

/// The log of a run beside that of the first one.
fn compare_log(folders: &[PathBuf], opened: &[Opened], run: usize) -> Result<LogComparison, Failure> {
    let first = &opened[0];
    let here = &opened[run];
    if run == 0 {
        return Ok(LogComparison::Reference);
    }
    if [first, here].iter().any(|side| side.summary.run.live.is_some()) {
        return Ok(LogComparison::Live);
    }
    let events =
        |run: usize| files::open_part(&folders[run], EVENTS).map(|file| BufReader::with_capacity(1 << 16, file));
    let difference = first_difference((&first.manifest.names, events(0)?), (&here.manifest.names, events(run)?));
    match difference.map_err(|error| Failure::System(format!("cannot read the events: {}", io_reason(&error))))? {
        Some(difference) => Ok(LogComparison::Differs(difference)),
        None => Ok(LogComparison::Same),
    }
}

/// The jobs of a result, from `jobs.csv`.
fn read_jobs(folder: &Path, summary: &SummaryFile) -> Result<JobTable, Failure> {
    let path = folder.join(JOBS);
    let damaged = |what: String| Failure::Input(format!("{} is damaged: {what}", path.display()));
    let mut table = CsvReader::new(BufReader::new(files::open_part(folder, JOBS)?));
    let mut next = || {
        table.next_row().map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => damaged("it is not text".to_owned()),
            _ => operation_failure("read", &path, &error),
        })
    };
    let mut reader = JobReader::new(&next()?.unwrap_or_default()).map_err(damaged)?;
    let mut number = 1;
    while let Some(row) = next()? {
        number += 1;
        reader.take_row(&row, &summary.results.topology).map_err(|what| damaged(format!("row {number}, {what}")))?;
    }
    let mut table = reader.finish(summary.results.jobs.submitted).map_err(damaged)?;
    table.take_log(&logged_users(folder));
    Ok(table)
}

/// Users and groups of a log by the numbers of its jobs, from `result.swf`; empty if there is no such file.
fn logged_users(folder: &Path) -> BTreeMap<u64, (Option<u32>, Option<u32>)> {
    let Ok(file) = files::open_part(folder, RESULT_LOG) else { return BTreeMap::new() };
    let trace = swf::read_log(BufReader::new(file)).unwrap_or_default();
    trace.jobs.iter().map(|job| (job.number, (job.user, job.group))).collect()
}

/// Results of queued jobs as a log.
const RESULT_LOG: &str = "result.swf";
