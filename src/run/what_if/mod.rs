//! `hansa whatif`: whose waits change by how much if a topology is changed.
//!
//! A sweep underneath: the variants are its entrants, the phases its repetitions. So it grows, resumes, and is shared
//! among machines like any other.

mod changes;

use std::sync::atomic::Ordering;

use self::changes::{Change, check_conf_starts, read_changes};
use super::Failure;
use super::disk::replace_file;
use super::inline::watch_for_interrupts;
use super::input::load_topology;
use super::outside;
use super::sweep::{
    ANSWER, FileCache, Sweeping, Swept, WHAT_IF_PAGE, announce_missing, check_all, dry_run_checked, missing_runs,
    run_checked,
};
use hansa_report::experiment::answer::{ChangeFacts, Contest, ContestRun, LogFacts, WhatIf, answer_what_if};
use hansa_report::experiment::{Experiment, NamedSettings, Run};
use hansa_report::pretty_json;
use hansa_sim::time::Span;
use hansa_sim::topology::{Loaded, Override};
use hansa_sim::workload::Source;

/// Name of the variant without a change.
pub const BASELINE: &str = "baseline";

/// Options of a what-if.
pub struct WhatIfOptions {
    pub topology: String,
    pub overrides: Vec<Override>,
    /// Files of changes as typed: `FILE`, or `SITE=FILE`.
    pub changes: Vec<String>,
    pub phases: u32,
    /// Time over which the phases are spread.
    pub cycle: Span,
    pub json: bool,
    pub only_dry: bool,
    pub sweeping: Sweeping,
}

/// Runs the baseline and all changes in all phases, except runs that are there, and answers whose waits change.
pub fn run_what_if(options: WhatIfOptions) -> Result<(), Failure> {
    let WhatIfOptions { topology: path, overrides, .. } = &options;
    let loaded = load_topology(path, overrides)?;
    loaded.topology.warnings().iter().chain(&loaded.notes).for_each(|warning| super::err::warning(warning));
    let changes = read_changes(&loaded, overrides, &options.changes)?;
    let absent = outside::look_for(&loaded);
    if !absent.programs.is_empty() {
        return Err(absent.missing_failure());
    }
    let experiment = make_experiment(&options, &loaded, &changes)?;
    let mut files = FileCache::default();
    let checked = check_all(&experiment, &mut files)?;
    if !checked.keeps_jobs() {
        let text = "the outcomes of so many jobs cannot be kept: fewer --phases, or a part of the log \
                    (--set workload.0.to=\"7 d\"), make them fewer";
        return Err(Failure::Input(text.to_owned()));
    }
    let interrupted = watch_for_interrupts()?;
    let missing = missing_runs(&experiment, &checked, &options.sweeping)?;
    for change in changes.iter().filter(|change| is_to_run(change, &missing)) {
        check_conf_starts(change, &loaded, overrides, &interrupted)?;
    }
    if interrupted.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("interrupted".to_owned()));
    }
    if options.only_dry {
        return dry_run_checked(&experiment, &checked, &files, &options.sweeping, &interrupted);
    }
    announce_missing(&experiment, &checked, &files, &options.sweeping, &interrupted)?;
    let swept = run_checked(experiment, checked, &files, &options.sweeping, &interrupted)?;
    if swept.part.is_some() {
        // A share has no answer, as this needs all runs.
        return super::out::unless_quiet(&swept.describe_runs());
    }
    publish_answer(&options, &loaded, changes, &swept)
}

/// True if some run of a change has still to be made.
fn is_to_run(change: &Change, missing: &[Run]) -> bool {
    missing.iter().any(|run| run.values.first() == Some(&change.name))
}

/// The experiment underneath: the baseline and the changes, in each phase.
fn make_experiment(options: &WhatIfOptions, loaded: &Loaded, changes: &[Change]) -> Result<Experiment, Failure> {
    let mut variants: Vec<NamedSettings> = vec![(BASELINE.to_owned(), Vec::new())];
    variants.extend(changes.iter().map(|change| (change.name.clone(), change.settings.clone())));
    let phases = make_phases(options, loaded)?;
    let name = format!("{}-what-if", loaded.topology.name);
    Ok(Experiment::of_variants(&name, &options.topology, options.overrides.clone(), variants, phases))
}

/// Settings of each phase: all jobs are submitted later by a part of the cycle.
fn make_phases(options: &WhatIfOptions, loaded: &Loaded) -> Result<Vec<NamedSettings>, Failure> {
    let count = u64::from(options.phases);
    if count == 1 {
        return Ok(vec![("0 s".to_owned(), Vec::new())]);
    }
    let mut delays = Vec::new();
    for (index, workload) in loaded.topology.workloads.iter().enumerate() {
        delays.push(match &workload.source {
            Source::Rigid(rigids) => rigids.delay,
            Source::Table(table) => table.delay,
            other => {
                let source = other.job_source().source_name();
                return Err(Failure::Input(format!(
                    "{}: workload.{index} (source = \"{source}\") cannot be submitted later, so there are no phases: \
                     expected jobs of a log, of source = \"lublin\" or of source = \"table\", or --phases 1",
                    options.topology
                )));
            }
        });
    }
    let mut phases = Vec::new();
    for phase in 0..count {
        let later = Span::from_micros(options.cycle.micros() * phase / count);
        let mut settings = Vec::new();
        for (index, delay) in delays.iter().enumerate().filter(|_| phase > 0) {
            let text = format!("workload.{index}.delay=\"{}\"", *delay + later);
            settings.push(Override::parse(&text).map_err(|error| Failure::Internal(error.to_string()))?);
        }
        let label = if phase == 0 { "0 s".to_owned() } else { later.to_string() };
        phases.push((label, settings));
    }
    Ok(phases)
}

/// Answers the question of a complete sweep, prints the answer and writes the page.
fn publish_answer(
    options: &WhatIfOptions,
    loaded: &Loaded,
    changes: Vec<Change>,
    swept: &Swept,
) -> Result<(), Failure> {
    let kept = swept.read_kept()?;
    let phases = options.phases as usize;
    let variants = changes.len() + 1;
    let mut repetitions: Vec<Vec<Option<ContestRun<'_>>>> = Vec::new();
    let mut digests: Vec<Vec<String>> = Vec::new();
    for phase in 0..phases {
        let of_phase = || (0..variants).map(|variant| &swept.rows[variant * phases + phase]);
        repetitions.push(of_phase().map(|row| swept.contest_run(row, &kept)).collect());
        digests.push(of_phase().map(|row| row.digest.clone()).collect());
    }
    let names = std::iter::once(BASELINE.to_owned()).chain(changes.iter().map(|change| change.name.clone()));
    let contest = Contest { names: names.collect(), reference: 0, one: "variant", repetition: "phase", repetitions };
    let facts = LogFacts::of_topology(&loaded.topology);
    let changes: Vec<ChangeFacts> = changes.into_iter().map(Change::into_facts).collect();
    let what_if = WhatIf { name: loaded.topology.name.clone(), contest, digests, facts: &facts, changes };
    let Some(answer) = answer_what_if(what_if) else {
        return Err(Failure::Input(format!(
            "{}: no job ended in the same way in all runs, or the jobs of some runs are not kept (--fresh makes these \
             again)",
            swept.out.display()
        )));
    };
    let json = pretty_json(&answer.json());
    replace_file(&swept.out.join(ANSWER), &json)?;
    let page = swept.out.join(WHAT_IF_PAGE);
    replace_file(&page, answer.page(&swept.page_facts(&options.topology, ANSWER)))?;
    if options.json {
        return super::out::always(&String::from_utf8_lossy(&json));
    }
    super::out::unless_quiet(&format!("{}\n{}: the page\n", answer.text(), page.display()))
}
