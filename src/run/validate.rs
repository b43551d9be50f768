//! `hansa validate`: checks that a topology, or all runs of an experiment, can run, and lists the parts of logs that
//! would be left out.

use serde_json::json;

use super::input::{STANDARD_INPUT, has_key, load_or_list, single_fault};
use super::sanitize::sanitize_text;
use super::sweep::{self, FileCache, read_experiment};
use super::terminal::ItemCounter;
use super::{Failure, err, logs, out, outside};
use hansa_report::experiment::{ENTRANT, Experiment};
use hansa_sim::settings::format_counted;
use hansa_sim::topology::{self, Loaded, Override};

/// Checks a topology or an experiment. With `strict`, jobs and fields that would be left out are errors, and so are
/// missing programs.
pub fn validate_file(path: &str, overrides: &[Override], strict: bool, json: bool) -> Result<(), Failure> {
    if is_experiment(path) {
        if !overrides.is_empty() {
            return Err(Failure::Input(format!("{path} is an experiment: --set and --seed are for topologies")));
        }
        return validate_experiment(path, strict, json);
    }
    let checked = load_or_list(path, overrides).and_then(|loaded| check_builds(loaded, strict).map_err(single_fault));
    if json {
        let value = match &checked {
            Ok((loaded, left_out)) => {
                let in_short = loaded.topology.in_short();
                json!({ "topology": path, "fine": true, "in_short": in_short.trim_end(), "left_out": left_out })
            }
            Err((failure, all)) => {
                json!({ "topology": path, "fine": false, "wrong": failure.to_string(), "complaints": all })
            }
        };
        out::always(&format!("{value:#}\n"))?;
        return checked.map(drop).map_err(|(failure, _)| Failure::Exit(failure.exit_code()));
    }
    let (loaded, left_out) = checked.map_err(|(failure, _)| failure)?;
    left_out.iter().for_each(|one| err::warning(one));
    out::unless_quiet(&format!("{}: fine\n{}", sanitize_text(path), loaded.topology.in_short()))
}

/// Only experiments name a topology.
fn is_experiment(path: &str) -> bool {
    path != STANDARD_INPUT && has_key(path, &["topology", "vary", ENTRANT])
}

fn validate_experiment(path: &str, strict: bool, json: bool) -> Result<(), Failure> {
    let checked = check_runs(path, strict);
    if json {
        let value = match &checked {
            Ok((experiment, left_out)) => {
                json!({ "experiment": path, "fine": true, "in_short": in_short(experiment), "left_out": left_out })
            }
            Err(failure) => json!({ "experiment": path, "fine": false, "wrong": failure.to_string() }),
        };
        out::always(&format!("{value:#}\n"))?;
        return checked.map(drop).map_err(|failure| Failure::Exit(failure.exit_code()));
    }
    let (experiment, left_out) = checked?;
    left_out.iter().for_each(|one| err::warning(one));
    out::unless_quiet(&format!("{}: fine\n{}\n", sanitize_text(path), in_short(&experiment)))
}

/// Checks the topology of every run. Returns the distinct remarks on all of them.
fn check_runs(path: &str, strict: bool) -> Result<(Experiment, Vec<String>), Failure> {
    let mut files = FileCache::default();
    let experiment = read_experiment(path, &mut files)?;
    let mut progress = ItemCounter::new("runs", experiment.count(), 0);
    let mut faults: Vec<String> = Vec::new();
    for run in experiment.runs() {
        let loaded = sweep::load_run(&experiment, &run, &files)?;
        let (_, new) = check_builds(loaded, strict).inspect_err(|_| progress.clear())?;
        new.into_iter().for_each(|one| {
            if !faults.contains(&one) {
                faults.push(one)
            }
        });
        progress.update(run.number);
    }
    progress.clear();
    Ok((experiment, faults))
}

/// The number of runs, and the axes.
fn in_short(experiment: &Experiment) -> String {
    let axes: Vec<String> =
        experiment.axes.iter().map(|axis| format!("{} of {}", axis.values.len(), axis.key)).collect();
    format!("{}: {}", format_counted(experiment.count() as u64, "run"), axes.join(", "))
}

/// Fails if a job of a topology can run at no site.
pub fn refuse_misfits(loaded: &Loaded) -> Result<(), Failure> {
    check_misfits(loaded, true).map(drop)
}

/// Remarks on workloads with jobs that can run at no site; with `strict` they are an error.
fn check_misfits(loaded: &Loaded, strict: bool) -> Result<Vec<String>, Failure> {
    let jobs = topology::check_jobs(&loaded.topology).map_err(|error| Failure::Input(loaded.error_text(&error)))?;
    if strict && !jobs.is_empty() { Err(Failure::Input(jobs.join("\n"))) } else { Ok(jobs) }
}

/// Builds all that a run would build, and returns remarks on its logs.
fn check_builds(loaded: Loaded, strict: bool) -> Result<(Loaded, Vec<String>), Failure> {
    if strict {
        logs::check_logs(&loaded.topology)?;
    }
    let jobs = check_misfits(&loaded, strict)?;
    let absent = outside::look_for(&loaded);
    if strict && !absent.programs.is_empty() {
        return Err(absent.missing_failure());
    }
    let mut warnings = loaded.topology.warnings();
    warnings.extend(loaded.notes.iter().cloned());
    // Files and programs may exist on the machines that run these parts of the grid.
    warnings.extend(absent.programs.into_iter().chain(absent.files));
    warnings.extend(logs::log_remarks(&loaded.topology, true));
    warnings.extend(jobs);
    Ok((loaded, warnings))
}
