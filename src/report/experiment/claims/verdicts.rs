//! Verdicts of the claims of an experiment's file.

use super::super::file::Experiment;
use super::super::repeats::idle_seeds;
use super::super::rows::RunRow;
use super::account::{Findings, JudgedClaim};

/// Verdicts of the claims of a whole experiment, with the means of its rows over seeds; None if it has no claims.
///
/// A seed that changes no run at all counts with its first value only. If it changes some runs, all its values count,
/// so that numbers are compared seed by seed.
///
/// Cost: O(rows * (metrics + axes * (values of an axis + log rows)) + numbers in comparisons * seeds).
pub fn judge_experiment(experiment: &Experiment, rows: &[RunRow]) -> Option<Findings> {
    if experiment.claims.is_empty() {
        return None;
    }
    let columns: Vec<usize> =
        (0..experiment.axes.len()).filter(|axis| !experiment.axes[*axis].is_repetition()).collect();
    let idle = idle_seeds(experiment, rows);
    let mut cells = experiment.cells();
    let firsts = rows.iter().filter(|row| {
        let mut axes = experiment.axes.iter().zip(&row.values);
        axes.all(|(axis, value)| !idle.contains(&axis.key.as_str()) || axis.values.first() == Some(value))
    });
    for row in firsts {
        let values: Vec<&str> = columns.iter().map(|column| row.values[*column].as_str()).collect();
        cells.add(&values, &row.metrics);
    }
    let all: Vec<JudgedClaim> =
        (1..).zip(&experiment.claims).map(|(number, claim)| claim.judge(number, &cells)).collect();
    Some(Findings { all })
}
