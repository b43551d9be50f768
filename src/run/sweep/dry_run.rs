//! `--dry-run`: the runs that a sweep would make, and about how long they would take. Nothing is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::super::Failure;
use super::super::inline::watch_for_interrupts;
use super::super::outside::Stop;
use super::book::{SweepWork, find_made};
use super::made::MadeRuns;
use super::{CheckedExperiment, FileCache, Sweeping, make_run, read_checked, settings_of};
use hansa_report::experiment::{Run, RunRow, idle_seeds};
use hansa_sim::numerals::format_span;
use hansa_sim::settings::format_counted;

/// Most runs that are listed.
const LISTED_MAX: usize = 12;

/// Time limit of the run that is made for an estimate.
const TRIAL_MAX: Duration = Duration::from_secs(10);

/// Interval between looks for an interrupt during a trial.
const LOOK: Duration = Duration::from_millis(50);

/// Prints what the same call without `--dry-run` would run.
pub fn dry_run(path: &str, files: &mut FileCache, sweeping: &Sweeping) -> Result<(), Failure> {
    let (experiment, CheckedExperiment { fingerprint, inputs, .. }) = read_checked(path, files, &sweeping.choosing)?;
    let (_, out, part) = sweeping.folder_places(&experiment);
    let work =
        SweepWork { experiment: &experiment, fingerprint: &fingerprint, inputs: &inputs, part, keeps_jobs: false };
    let made = find_made(&out, &work, sweeping.fresh)?.unwrap_or_default();
    let missing: Vec<Run> = work.runs().filter(|run| !made.rows.contains_key(&run.number)).collect();

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
        let _ = writeln!(text, "  run {}: {}", run.number, settings_of(&experiment, run));
    }
    if missing.len() > LISTED_MAX {
        let _ = writeln!(text, "  and {} more", missing.len() - LISTED_MAX);
    }
    if made.others > 0 {
        let _ = writeln!(text, "{}", made.left_out());
    }
    let rows: Vec<RunRow> = made.rows.values().cloned().collect();
    for seed in idle_seeds(&experiment, &rows) {
        let _ =
            writeln!(text, "{seed} changes nothing in the runs that are there (equal digests): one value is enough");
    }
    if !missing.is_empty() {
        let threads = sweeping.thread_count().min(missing.len());
        text.push_str(&match estimate_seconds(&work, &missing, &made) {
            Some(seconds) => estimate_text(seconds, threads, &format!("from {} there", times_text(made.seconds.len()))),
            None => time_trial(&work, &missing, files, threads)?,
        });
    }
    super::super::out::always(&text)
}

fn times_text(runs: usize) -> String {
    format!("the times of {}", format_counted(runs as u64, "run"))
}

fn estimate_text(seconds: f64, threads: usize, from: &str) -> String {
    let threads_told = format_counted(threads as u64, "thread");
    format!("about {} on {threads_told}, {from}\n", format_span(seconds / threads as f64))
}

/// Sum of the times of the missing runs: each takes the mean of those that differ from it in seeds only, or of all if
/// there is none. None if no time is known.
fn estimate_seconds(work: &SweepWork<'_>, missing: &[Run], made: &MadeRuns) -> Option<f64> {
    let setting = |values: &[String]| -> Vec<String> {
        let axes = work.experiment.axes.iter().zip(values);
        axes.filter(|(axis, _)| !axis.is_repetition()).map(|(_, value)| value.clone()).collect()
    };
    let mut times: BTreeMap<Vec<String>, (f64, f64)> = BTreeMap::new();
    let mut all = (0.0, 0.0);
    for (number, seconds) in &made.seconds {
        let own = times.entry(setting(&made.rows[number].values)).or_default();
        for (sum, count) in [own, &mut all] {
            *sum += seconds;
            *count += 1.0;
        }
    }
    let mean = |(sum, count): (f64, f64)| sum / count;
    let of = |run: &Run| times.get(&setting(&run.values)).copied().map_or(mean(all), mean);
    (all.1 > 0.0).then(|| missing.iter().map(of).sum())
}

/// Makes the first missing run for its time, and keeps nothing of it.
fn time_trial(work: &SweepWork<'_>, missing: &[Run], files: &FileCache, threads: usize) -> Result<String, Failure> {
    let run = &missing[0];
    let interrupted = watch_for_interrupts()?;
    let stop = Stop::default();
    let began = Instant::now();
    let made = std::thread::scope(|scope| {
        let (over, ended) = channel::<()>();
        let stop = &stop;
        let interrupted = &interrupted;
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) || began.elapsed() >= TRIAL_MAX {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let made = make_run(work, run, files, stop);
        drop(over);
        made
    })?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted".to_owned()));
    }
    let which = format!("run {} ({})", run.number, settings_of(work.experiment, run));
    Ok(match made.and_then(|(made, _)| made.seconds) {
        Some(seconds) => {
            estimate_text(seconds * missing.len() as f64, threads, &format!("from {which}, made now and not kept"))
        }
        None => {
            let limit = TRIAL_MAX.as_secs_f64();
            let least = format_span(limit * missing.len() as f64 / threads as f64);
            let threads = format_counted(threads as u64, "thread");
            format!("more than {least} on {threads}: {which} was stopped after {}\n", format_span(limit))
        }
    })
}
