//! The HEFT paper: its runs are plans, not grids.

use std::path::Path;

use super::super::Failure;
use super::{all, publish};
use crate::experiment::heft::{Extent, Outcome};
use crate::experiment::plot;

/// Runs the HEFT paper's experiment.
pub fn heft(extent: Extent, out: &Path, threads: Option<usize>) -> Result<(), Failure> {
    let runs = all("graphs", extent.graphs(), out, threads, |graph| extent.runs(graph))?;
    let outcome = Outcome::of(extent, runs.into_iter().flatten().collect());
    let (tables, verdicts) = (outcome.tables_text(), outcome.verdicts());
    let told = format!("{tables}\n{verdicts}");
    let files = [
        ("runs.csv", outcome.runs_csv()),
        ("tables.csv", outcome.tables_csv()),
        ("tables.txt", tables),
        ("verdicts.txt", verdicts),
    ];
    publish(out, &files, &plot::heft(&outcome), &told)
}
