//! `hansa tournament`: runs an experiment with entrants, and ranks them.

use super::Failure;
use super::disk::replace_file;
use super::sweep::{
    FileCache, STANDINGS, STANDINGS_PAGE, Sweeping, check_metric, dry_run, read_experiment, run_experiment,
    verdict_list,
};
use hansa_report::experiment::tournament::{
    entrants_table, make_standings, reference_index, standings_csv, standings_page,
};

/// Runs the experiment in a file, except for runs that are there, and writes standings next to its rows; `only_dry`
/// prints what would be run.
pub fn run_tournament(
    path: &str,
    against: Option<&str>,
    by: Option<&str>,
    only_dry: bool,
    sweeping: &Sweeping,
) -> Result<(), Failure> {
    check_metric(by)?;
    let mut files = FileCache::default();
    let no_standings = |error| Failure::Input(format!("{path}: {error}"));
    reference_index(&read_experiment(path, &mut files)?, against).map_err(no_standings)?;
    if only_dry {
        return dry_run(path, &mut files, sweeping);
    }
    let swept = run_experiment(path, &mut files, sweeping)?;
    if swept.part.is_some() {
        // A share has no standings, as these need all runs.
        return super::out::unless_quiet(&swept.describe_runs());
    }
    let standings = make_standings(&swept.experiment, &swept.rows, against).map_err(no_standings)?;
    let findings = swept.judge_claims(path)?;
    replace_file(&swept.out.join(STANDINGS), standings_csv(&standings))?;
    let answers = swept.answer_question(standings.against, by)?;
    let standings = if swept.experiment.keeps_all_metrics { standings.of_families() } else { standings };
    let facts = swept.page_facts(path, STANDINGS);
    replace_file(
        &swept.out.join(STANDINGS_PAGE),
        standings_page(&standings, answers.as_ref(), findings.as_ref(), &facts),
    )?;
    let other = &standings.entrants[standings.against].name;
    let stars = match standings.repetitions {
        0 | 1 if standings.note.is_some() => {
            "one distinct run of each does not show which is better: let windows of the log be repetitions \
             (`workload.0.repeat`)"
                .to_owned()
        }
        0 | 1 => {
            "one run of each does not show which is better: let `seed` vary, or for a log, which no seed changes, let \
             its windows be repetitions (`workload.0.repeat`)"
                .to_owned()
        }
        runs => format!("* best, or not significantly different from the best ({runs} runs each)"),
    };
    let note = standings.note.as_ref().map_or(String::new(), |note| format!("{note}\n"));
    let page = swept.out.join(STANDINGS_PAGE);
    super::out::unless_quiet(&format!(
        "{}{}{note}{stars}\n{}{}: the page, with differences from {other} and charts\n",
        answers.map_or(String::new(), |answers| answers.text()),
        entrants_table(&standings),
        verdict_list(findings.as_ref()),
        page.display()
    ))
}
