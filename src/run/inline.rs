//! A run in one process: the same actors, no network.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::Failure;
use super::computing::ActorWatch;
use super::disk::io_reason;
use super::drive_hub::RunOutcome;
use super::lifeline::{INTERRUPTED_TWICE, leave_at_once};
use super::outside::{self, ExternalClocks, Stop};
use super::partial_dir::PartialDir;
use super::results::{Results, RunSetting, SummaryFormat};
use super::signals::on_interrupt;
use hansa_report::{Names, Recorder, RunOutcomes, Status, Summary, Tally};
use hansa_sim::kernel::{Breach, Place};
use hansa_sim::time::{Stamp, Time};
use hansa_sim::topology::{self, Loaded, Roster, Topology};

/// Batches between two checks for interrupts and for time to write.
const BATCHES_PER_LOOK: usize = 4096;

/// Checks after every batch if there are external programs, as each decision may take long.
fn batches_per_look(topology: &Topology) -> usize {
    if outside::is_wanted(topology) { 1 } else { BATCHES_PER_LOOK }
}

/// Runs a topology in this process. `began` is the start of the command.
pub fn run_inline(
    loaded: &Loaded,
    began: Instant,
    out: Option<PathBuf>,
    keep: bool,
    format: SummaryFormat,
    parquet: bool,
    stall_after: Duration,
) -> Result<(), Failure> {
    let made = Arc::new(OnceLock::<PartialDir>::new());
    let doomed = made.clone();
    let watched = ActorWatch::default();
    let interrupted = watch_with(
        move || doomed.get().into_iter().for_each(|results: &PartialDir| _ = results.give_up()),
        Some(watched.clone()),
    )?;
    let roster = Roster::of_topology(&loaded.topology);
    let (deciders, fault) = outside::start_programs(
        &loaded.topology,
        &roster.all(),
        loaded.path(),
        &interrupted,
        &ExternalClocks::default(),
    )?;
    let batches = batches_per_look(&loaded.topology);
    let actors = topology::build_with(&loaded.topology, &roster.all(), deciders)
        .map_err(|error| Failure::Input(loaded.error_text(&error)))?;
    let mut place = Place::new(actors, roster.latencies.clone());
    watched.watch(place.activity(), &roster.names);
    watched.report_long_batches(stall_after)?;
    let mut results = Results::create(out.as_deref(), loaded, keep, false)?;
    results.set_format(format);
    results.with_parquet(parquet);
    let _ = made.set(results.partial_dir().clone());
    let mut progress = results.progress_line();

    let joined = began.elapsed();
    let end = loop {
        match place.run_before(Stamp::NEVER, batches) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(breach) => break Err(breach_failure(&breach, &roster)),
        }
        progress.update(place.now().time, place.events(), place.log());
        results.record(place.take_log())?;
        if let Some(failure) = fault.take_failure() {
            break Err(failure);
        }
        if interrupted.load(Ordering::Relaxed) {
            break Err(Failure::Interrupted("interrupted".to_owned()));
        }
    };
    let end = fault.prefer_fault(end);
    results.record(place.take_log())?;
    progress.clear();
    let reached = place.now().time;
    let events = place.events();
    drop(place);

    let outcome = RunOutcome {
        reached,
        events,
        waits: 0,
        leaves: Vec::new(),
        end,
        wall: began.elapsed().saturating_sub(joined + results.written_for()),
    };
    results.write_outcome(outcome, RunSetting { layout: "inline".to_owned(), began, joined, moved: None, live: None })
}

/// The summary of a run without network and files. None if it was stopped.
pub fn summarize_run(topology: &Topology, written_in: &str, stop: &Stop) -> Result<Option<Summary>, Failure> {
    let (recorder, _) = record_run(topology, written_in, stop)?;
    Ok(recorder.map(|recorder| summary_of(topology, recorder)))
}

/// The summary of a run, and the outcomes of its jobs. None if it was stopped.
pub fn summary_with_jobs(
    topology: &Topology,
    written_in: &str,
    stop: &Stop,
) -> Result<Option<(Summary, RunOutcomes)>, Failure> {
    let (Some(recorder), _) = record_run(topology, written_in, stop)? else { return Ok(None) };
    let outcomes = recorder.tally.job_outcomes(topology).map_err(|error| Failure::System(io_reason(&error)))?;
    Ok(Some((summary_of(topology, recorder), outcomes)))
}

fn summary_of(topology: &Topology, recorder: Recorder) -> Summary {
    let digest = recorder.digest();
    recorder.tally.summary(topology.seed, Status::Complete, digest)
}

/// A run that was made for its time.
pub struct Trial {
    /// False if it was stopped.
    pub is_whole: bool,
    /// Virtual time that it reached.
    pub reached: Time,
}

/// Runs a topology for its time, until it ends or is stopped.
pub fn try_run(topology: &Topology, written_in: &str, stop: &Stop) -> Result<Trial, Failure> {
    let (recorder, reached) = record_run(topology, written_in, stop)?;
    Ok(Trial { is_whole: recorder.is_some(), reached })
}

/// Runs a topology without network and files, and returns the virtual time that it reached. No recorder if it was
/// stopped.
fn record_run(topology: &Topology, written_in: &str, stop: &Stop) -> Result<(Option<Recorder>, Time), Failure> {
    let roster = Roster::of_topology(topology);
    let (deciders, fault) =
        outside::start_programs(topology, &roster.all(), written_in, stop, &ExternalClocks::default())?;
    let batches = batches_per_look(topology);
    let actors =
        topology::build_with(topology, &roster.all(), deciders).map_err(|error| Failure::Input(error.to_string()))?;
    let mut place = Place::new(actors, roster.latencies.clone());
    let mut recorder = Recorder::new(Tally::putting_aside(topology, &Names::of(topology), Box::new(Vec::new())));
    loop {
        let more = place.run_before(Stamp::NEVER, batches).map_err(|breach| breach_failure(&breach, &roster))?;
        for entry in place.log() {
            let recorded = recorder.record(entry);
            recorded.map_err(|error| Failure::Internal(format!("the log is inconsistent: {error}")))?;
        }
        place.clear_log();
        if let Some(failure) = fault.take_failure() {
            return Err(failure);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok((None, place.now().time));
        }
        if !more {
            return Ok((Some(recorder), place.now().time));
        }
    }
}

fn breach_failure(breach: &Breach, roster: &Roster) -> Failure {
    // A run in one process has no leaves.
    Failure::of_breach(breach, &roster.names, |_| String::new())
}

/// A flag that is set by Ctrl-C.
pub fn watch_for_interrupts() -> Result<Stop, Failure> {
    watch_with(|| {}, None)
}

/// Like `watch_for_interrupts`; a second Ctrl-C calls `last` and ends the process, and so does the first if one of
/// these actors computes on.
fn watch_with(last: impl Fn() + Clone + Send + 'static, actors: Option<ActorWatch>) -> Result<Stop, Failure> {
    let flag = Stop::default();
    let raised = flag.clone();
    on_interrupt(move || {
        // A second Ctrl-C does not wait for an orderly end.
        if raised.swap(true, Ordering::Relaxed) {
            last();
            leave_at_once(INTERRUPTED_TWICE, None);
        }
        let last = last.clone();
        if let Some(actors) = &actors {
            actors.interrupt(move |why| {
                last();
                leave_at_once(why, None);
            });
        }
    })?;
    Ok(flag)
}
