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
        let later = phase_delay(options.cycle, phase);
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

/// Delay of a phase: a part of the cycle by the golden ratio, in thousandths. Any number of phases from the first on is
/// spread evenly over the cycle and over each whole part of it, so that none repeats a phase of a shorter cycle; and
/// more phases keep the earlier ones.
fn phase_delay(cycle: Span, phase: u64) -> Span {
    const GOLDEN_THOUSANDTHS: u64 = 618;
    Span::from_micros(cycle.micros() / 1000 * (phase * GOLDEN_THOUSANDTHS % 1000))
}

/// Name of the first variant under which no job ended in the first phase. None if some ended under each.
fn idle_variant(contest: &Contest<'_>) -> Option<String> {
    let runs = contest.repetitions.first()?;
    let has_end = |run: &Option<ContestRun<'_>>| {
        let outcomes = run.as_ref().and_then(|run| run.outcomes);
        outcomes.is_none_or(|outcomes| outcomes.jobs.iter().any(|job| job.ended.is_some()))
    };
    let idle = runs.iter().position(|run| !has_end(run))?;
    contest.names.get(idle).cloned()
}

/// The settings of the command, for the foot of the page. None if there are none.
fn setting_facts(options: &WhatIfOptions) -> Option<String> {
    let settings: Vec<String> = options
        .overrides
        .iter()
        .map(|setting| setting.parts())
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    (!settings.is_empty()).then(|| format!("All runs with {}.", settings.join(", ")))
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
    let idle = idle_variant(&what_if.contest);
    let Some(answer) = answer_what_if(what_if) else {
        let out = swept.out.display();
        return Err(Failure::Input(match idle {
            Some(name) => format!(
                "{out}: no job ended under {name}, so there are no waits to compare: the warnings of its runs say why"
            ),
            None => format!(
                "{out}: no job ended in the same way in all runs, or the jobs of some runs are not kept (--fresh makes \
                 these again)"
            ),
        }));
    };
    let json = pretty_json(&answer.json());
    replace_file(&swept.out.join(ANSWER), &json)?;
    let page = swept.out.join(WHAT_IF_PAGE);
    let mut facts = swept.page_facts(&options.topology, ANSWER).to_vec();
    facts.extend(setting_facts(options));
    replace_file(&page, answer.page(&facts))?;
    if options.json {
        return super::out::always(&String::from_utf8_lossy(&json));
    }
    super::out::unless_quiet(&format!("{}\n{}: the page\n", answer.text(), page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_spread_over_a_cycle_and_its_parts() {
        let cycle = Span::from_secs(60);
        for parts in [1, 2, 3, 4, 5] {
            let part = cycle.micros() / parts;
            for count in [2u64, 3, 5, 10, 20] {
                let mut places: Vec<u64> = (0..count).map(|phase| phase_delay(cycle, phase).micros() % part).collect();
                places.sort_unstable();
                let first = places[0] + part;
                let gaps = places.iter().skip(1).copied().chain([first]).zip(&places).map(|(next, place)| next - place);
                let widest = gaps.max().unwrap();
                assert!(2 * count * widest <= 7 * part, "{count} phases leave {widest} of a cycle of {part}");
            }
        }
    }
}
