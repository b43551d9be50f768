//! `--dry-run`: the runs that a sweep would make, and about how long they would take. Nothing is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::super::Failure;
use super::super::inline::{Trial, try_run, watch_for_interrupts};
use super::super::outside::Stop;
use super::book::{SweepWork, find_made};
use super::made::MadeRuns;
use super::{CheckedExperiment, FileCache, Sweeping, in_run, load_run, read_checked, settings_of};
use hansa_report::experiment::{Experiment, Run, RunRow, idle_seeds};
use hansa_sim::numerals::{format_percent, format_span};
use hansa_sim::settings::format_counted;
use hansa_sim::time::Time;
use hansa_sim::topology::Topology;
use hansa_sim::workload::{Source, Workload};

/// Most runs that are listed.
const LISTED_MAX: usize = 12;

/// Time limit of the run that is made for an estimate.
const TRIAL_MAX: Duration = Duration::from_secs(10);

/// Interval between looks for an interrupt during a trial.
const LOOK: Duration = Duration::from_millis(50);

/// Prints what the same call without `--dry-run` would run.
pub fn dry_run(path: &str, files: &mut FileCache, sweeping: &Sweeping) -> Result<(), Failure> {
    let (experiment, checked) = read_checked(path, files, &sweeping.choosing)?;
    let interrupted = watch_for_interrupts()?;
    dry_run_checked(&experiment, &checked, files, sweeping, &interrupted)
}

/// Prints what a sweep of an experiment that has been checked would run.
pub fn dry_run_checked(
    experiment: &Experiment,
    checked: &CheckedExperiment,
    files: &FileCache,
    sweeping: &Sweeping,
    interrupted: &Stop,
) -> Result<(), Failure> {
    let (_, out, part) = sweeping.folder_places(experiment);
    let work = SweepWork::of_checked(experiment, checked, part);
    let (made, missing) = split_runs(&work, &out, sweeping)?;

    let share = part.map_or(String::new(), |part| format!("share {part}: "));
    let axes = experiment.axes.iter().map(|axis| format!("{} of {}", axis.values.len(), axis.key));
    let mut text = format!(
        "{share}{} ({}) in {}: {} there already, {} to make\n",
        format_counted(work.count() as u64, "run"),
        axes.collect::<Vec<_>>().join(", "),
        out.display(),
        made.rows.len(),
        missing.len()
    );
    for run in &missing[..missing.len().min(LISTED_MAX)] {
        let _ = writeln!(text, "  run {}: {}", run.number, settings_of(experiment, run));
    }
    if missing.len() > LISTED_MAX {
        let _ = writeln!(text, "  and {} more", missing.len() - LISTED_MAX);
    }
    if made.others > 0 {
        let _ = writeln!(text, "{}", made.left_out());
    }
    let rows: Vec<RunRow> = made.rows.values().cloned().collect();
    for seed in idle_seeds(experiment, &rows) {
        let _ =
            writeln!(text, "{seed} changes nothing in the runs that are there (equal digests): one value is enough");
    }
    if !missing.is_empty() {
        text.push_str(&estimate_missing(&work, &missing, &made, files, sweeping, interrupted)?);
    }
    super::super::out::always(&text)
}

/// The runs of an experiment that its folder does not have.
pub fn missing_runs(
    experiment: &Experiment,
    checked: &CheckedExperiment,
    sweeping: &Sweeping,
) -> Result<Vec<Run>, Failure> {
    let (_, out, part) = sweeping.folder_places(experiment);
    let work = SweepWork::of_checked(experiment, checked, part);
    split_runs(&work, &out, sweeping).map(|(_, missing)| missing)
}

/// Notes before a sweep how many runs it makes, and about how long they take.
pub fn announce_missing(
    experiment: &Experiment,
    checked: &CheckedExperiment,
    files: &FileCache,
    sweeping: &Sweeping,
    interrupted: &Stop,
) -> Result<(), Failure> {
    let (_, out, part) = sweeping.folder_places(experiment);
    let work = SweepWork::of_checked(experiment, checked, part);
    let (made, missing) = split_runs(&work, &out, sweeping)?;
    if !missing.is_empty() {
        let runs = format_counted(missing.len() as u64, "run");
        let estimate = estimate_missing(&work, &missing, &made, files, sweeping, interrupted)?;
        super::super::err::note(&format!("{runs} to make: {}", estimate.trim_end()));
    }
    Ok(())
}

/// The runs that are in a folder, and those of the work that are not.
fn split_runs(work: &SweepWork<'_>, out: &Path, sweeping: &Sweeping) -> Result<(MadeRuns, Vec<Run>), Failure> {
    let made = find_made(out, work, sweeping.fresh)?.unwrap_or_default();
    let missing = work.runs().filter(|run| !made.rows.contains_key(&run.number)).collect();
    Ok((made, missing))
}

/// Time of the missing runs, from those that are there or from a trial.
fn estimate_missing(
    work: &SweepWork<'_>,
    missing: &[Run],
    made: &MadeRuns,
    files: &FileCache,
    sweeping: &Sweeping,
    interrupted: &Stop,
) -> Result<String, Failure> {
    let threads = sweeping.thread_count().min(missing.len());
    match estimate_seconds(work, missing, made) {
        Some(seconds) => Ok(estimate_text(seconds, threads, &format!("from {} there", times_text(made.seconds.len())))),
        None => time_trial(work, missing, files, threads, interrupted),
    }
}

fn times_text(runs: usize) -> String {
    format!("the times of {}", format_counted(runs as u64, "run"))
}

fn estimate_text(seconds: f64, threads: usize, from: &str) -> String {
    let threads_text = format_counted(threads as u64, "thread");
    format!("about {} on {threads_text}, {from}\n", format_span(seconds / threads as f64))
}

/// Sum of the times of the missing runs: each takes the mean of those that differ from it in seeds only, or of all if
/// there is none. None if no time is known.
fn estimate_seconds(work: &SweepWork<'_>, missing: &[Run], made: &MadeRuns) -> Option<f64> {
    let mut times: BTreeMap<Vec<String>, (f64, f64)> = BTreeMap::new();
    let mut all = (0.0, 0.0);
    for (number, seconds) in &made.seconds {
        let own = times.entry(setting_of(work, &made.rows[number].values)).or_default();
        for (sum, count) in [own, &mut all] {
            *sum += seconds;
            *count += 1.0;
        }
    }
    if all.1 == 0.0 {
        return None;
    }
    let mut seconds = 0.0;
    for run in missing {
        let (sum, count) = times.get(&setting_of(work, &run.values)).copied().unwrap_or(all);
        seconds += sum / count;
    }
    Some(seconds)
}

/// The values of a run besides seeds.
fn setting_of(work: &SweepWork<'_>, values: &[String]) -> Vec<String> {
    let axes = work.experiment.axes.iter().zip(values);
    axes.filter(|(axis, _)| !axis.is_repetition()).map(|(_, value)| value.clone()).collect()
}

/// Makes the first missing run for its time, and keeps nothing of it.
fn time_trial(
    work: &SweepWork<'_>,
    missing: &[Run],
    files: &FileCache,
    threads: usize,
    interrupted: &Stop,
) -> Result<String, Failure> {
    let run = &missing[0];
    let experiment = work.experiment;
    let opened = Instant::now();
    let loaded = load_run(experiment, run, files)?;
    let stop = Stop::default();
    let began = Instant::now();
    let reading = (began - opened).as_secs_f64();
    let tried = std::thread::scope(|scope| {
        let (over, ended) = channel::<()>();
        let stop = &stop;
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) || began.elapsed() >= TRIAL_MAX {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let tried = try_run(&loaded.topology, &experiment.topology, stop);
        drop(over);
        tried
    });
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted".to_owned()));
    }
    let tried = match tried {
        // It was stopped while it started an external program.
        Err(Failure::Interrupted(_)) => Trial { is_whole: false, reached: Time::ZERO },
        tried => tried.map_err(|failure| in_run(run, experiment, failure))?,
    };
    let which = format!("run {} ({})", run.number, settings_of(experiment, run));
    let seconds = began.elapsed().as_secs_f64();
    let runs = missing.len() as f64;
    let submitted = share_submitted(&loaded.topology, tried.reached);
    Ok(match submitted {
        _ if tried.is_whole => {
            estimate_text((reading + seconds) * runs, threads, &format!("from {which}, made now and not kept"))
        }
        Some(share) if share >= SHARE_MIN => {
            let share_text = format_percent(share);
            let from =
                format!("from {} of {which}, which passed {share_text} of its submissions", format_span(seconds));
            estimate_text((reading + seconds / share) * runs, threads, &from)
        }
        _ => {
            let limit = TRIAL_MAX.as_secs_f64();
            let least = format_span(limit * runs / threads as f64);
            let threads = format_counted(threads as u64, "thread");
            format!("more than {least} on {threads}: {which} was stopped after {}\n", format_span(limit))
        }
    })
}

/// Least share of the submissions that says something about the rest.
const SHARE_MIN: f64 = 0.01;

/// Share of the time of submissions that has passed; None if it is not known when the last job is submitted.
fn share_submitted(topology: &Topology, reached: Time) -> Option<f64> {
    let last_submission = |workload: &Workload| match &workload.source {
        Source::Rigid(rigids) => rigids.content.jobs.last().map(|job| job.submit),
        Source::Table(table) => table.jobs.last().map(|job| job.arrive + table.delay),
        _ => None,
    };
    let last = topology.workloads.iter().map(last_submission).collect::<Option<Vec<Time>>>()?.into_iter().max()?;
    let all = last.micros().max(1) as f64;
    Some((reached.micros() as f64 / all).min(1.0))
}
