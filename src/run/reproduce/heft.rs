//! The HEFT paper: its runs are plans, not grids.

use super::super::Failure;
use super::{Making, PAGE, Pieces, all, publish};
use hansa_papers::heft::{Extent, Outcome, figures};

/// Runs the HEFT paper's experiment.
pub fn heft(extent: Extent, making: &Making) -> Result<(), Failure> {
    let pieces = Pieces { paper: "heft", what: "graphs", all: extent.graphs(), key: format!("{extent:?}") };
    let Some(runs) = all(pieces, making, |graph| extent.runs(graph))? else { return Ok(()) };
    let outcome = Outcome::of(extent, runs.into_iter().flatten().collect());
    let (tables, verdicts) = (outcome.tables_text(), outcome.verdicts());
    let told = format!("{tables}\n{verdicts}");
    let files = [
        ("runs.csv", outcome.runs_csv()),
        ("tables.csv", outcome.tables_csv()),
        ("tables.txt", tables),
        ("verdicts.txt", verdicts),
        (PAGE, outcome.page()),
    ];
    publish(&making.out, &files, &figures(&outcome), &told)
}
