//! The HEFT paper: its runs are plans, not grids.

use super::super::Failure;
use super::super::choosing::{ChoiceReport, Choosing};
use super::{Making, PAGE, PaperProgram, publish_files};
use hansa_papers::heft::{Extent, Graph, Outcome, draw_figures, read_choices};

/// Usual CPU time of a draw of costs under both laws.
const SECONDS_PER_DRAW: f64 = 0.000_7;

/// Runs the HEFT paper's experiment.
pub fn reproduce_heft(extent: Extent, choosing: &Choosing, making: &Making) -> Result<(), Failure> {
    let file = read_choices();
    let key = format!("{extent:?}");
    let program = PaperProgram {
        paper: "heft",
        what: "graphs",
        file: &file,
        pieces: extent.graphs(),
        seconds: &|_: &Graph| SECONDS_PER_DRAW * f64::from(extent.draws),
        key,
    };
    let Some(variants) =
        program.run(choosing, making, |settings, _| *settings, |settings, graph| extent.run_graph(*settings, graph))?
    else {
        return Ok(());
    };
    let mut judged = Vec::new();
    let mut outcomes = Vec::new();
    for one in variants {
        let outcome = Outcome::of(extent, one.settings, one.results.into_iter().flatten().collect());
        judged.push((one.variant, outcome.judge_claims()));
        outcomes.push(outcome);
    }
    let report = ChoiceReport::of_variants(&file.choices, &judged);
    let outcome = &outcomes[0];
    let tables = outcome.tables_text();
    let verdicts = outcome.verdicts_text();
    let shown = format!("{tables}\n{}", report.for_terminal(&verdicts));
    let files = [
        ("runs.csv", outcome.runs_csv()),
        ("tables.csv", outcome.tables_csv()),
        ("tables.txt", tables),
        ("verdicts.txt", verdicts),
        (PAGE, outcome.page(&report.html)),
    ];
    report.publish(&making.out)?;
    publish_files(&making.out, &files, &draw_figures(outcome), &shown)
}
