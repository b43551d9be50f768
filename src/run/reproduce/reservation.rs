//! The reservation paper.

use super::super::Failure;
use super::{Making, PAGE, Pieces, all, publish};
use hansa_papers::reservation::{Extent, Outcome, figures, runs_csv};

/// Runs the reservation paper's experiment.
pub fn reservation(extent: Extent, making: &Making) -> Result<(), Failure> {
    let pieces = Pieces { paper: "reservation", what: "runs", all: extent.pieces(), key: format!("{extent:?}") };
    let Some(rows) = all(pieces, making, |piece| extent.run(*piece))? else { return Ok(()) };
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    let outcome = Outcome::of(extent, &rows);
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    let told = format!("{summary}\n{verdicts}");
    let files = [
        ("runs.csv", runs_csv(&rows)),
        ("summary.csv", outcome.summary_csv()),
        ("summary.txt", summary),
        ("verdicts.txt", verdicts),
        (PAGE, outcome.page()),
    ];
    publish(&making.out, &files, &figures::figures(&outcome), &told)
}
