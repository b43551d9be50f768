//! Verdicts of the claims of an experiment's file.

use super::super::file::Experiment;
use super::super::repeats::distinct;
use super::super::rows::RunRow;
use super::account::{Findings, JudgedClaim};

/// Verdicts of the claims of a whole experiment, with the means of its rows over seeds; None if it has no claims.
///
/// Cost: O(rows * (metrics + axes * values of an axis) + comparisons * seeds).
pub fn verdicts(experiment: &Experiment, rows: &[RunRow]) -> Option<Findings> {
    if experiment.claims.is_empty() {
        return None;
    }
    let columns: Vec<usize> = (0..experiment.axes.len()).filter(|axis| !experiment.axes[*axis].is_seed()).collect();
    let mut cells = experiment.cells();
    for row in distinct(experiment, rows).rows {
        let values: Vec<&str> = columns.iter().map(|column| row.values[*column].as_str()).collect();
        cells.add(&values, &row.metrics);
    }
    let all: Vec<JudgedClaim> =
        (1..).zip(&experiment.claims).map(|(number, claim)| claim.judge(number, &cells)).collect();
    Some(Findings { all })
}
