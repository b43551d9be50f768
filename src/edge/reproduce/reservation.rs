//! The reservation paper.

use std::path::Path;

use super::super::Failure;
use super::{all, publish};
use crate::experiment::reservation::{Extent, Outcome, figures, runs_csv};

/// Runs the reservation paper's experiment.
pub fn reservation(extent: Extent, out: &Path, threads: Option<usize>) -> Result<(), Failure> {
    let rows = all("runs", extent.pieces(), out, threads, |piece| extent.run(*piece))?;
    let rows: Vec<_> = rows.into_iter().flatten().collect();
    let outcome = Outcome::of(extent, &rows);
    let (summary, verdicts) = (outcome.summary_text(), outcome.verdicts());
    let told = format!("{summary}\n{verdicts}");
    let files = [
        ("runs.csv", runs_csv(&rows)),
        ("summary.csv", outcome.summary_csv()),
        ("summary.txt", summary),
        ("verdicts.txt", verdicts),
    ];
    publish(out, &files, &figures::figures(&outcome), &told)
}
