//! Results of a sweep: a mean over seeds for each combination of the other settings.

mod curves;
mod page;
mod quantity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::file::Experiment;
use super::metrics::Metric;
use super::repeats::{self, Distinct, distinct_rows};
use super::rows::{RunRow, csv_number, join_cells};
use super::statistics::Estimate;

pub use page::means_page;

pub struct Means {
    pub name: String,
    pub about: Option<String>,
    pub metrics: Vec<Metric>,
    /// Axes other than seeds.
    pub axes: Vec<Varying>,
    /// Number of runs of each combination.
    pub repetitions: usize,
    /// Number of runs that repeat another run; they count in no mean.
    repeated: usize,
    /// Number of distinct runs of each combination.
    runs: Vec<usize>,
    /// Numbers of each combination, one per metric; the first axis changes slowest.
    cells: Vec<Vec<Option<Estimate>>>,
}

/// A key and its values.
pub struct Varying {
    pub key: String,
    pub values: Vec<String>,
}

/// True if values are distinct numbers of one kind.
pub(super) fn are_numbers(values: &[String]) -> bool {
    quantity::distinct_numbers(values).is_some()
}

/// Computes the means of the rows of a whole experiment.
///
/// Cost: O(rows * (metrics + axes * log values of an axis)).
pub fn compute_means(experiment: &Experiment, rows: &[RunRow]) -> Means {
    let Experiment { name, about, metrics, .. } = experiment.clone();
    let varying = || experiment.axes.iter().enumerate().filter(|(_, axis)| !axis.is_repetition());
    let axes: Vec<Varying> =
        varying().map(|(_, axis)| Varying { key: axis.key.clone(), values: axis.values.clone() }).collect();
    let count: usize = axes.iter().map(|axis| axis.values.len()).product();
    let places: Vec<BTreeMap<&str, usize>> =
        varying().map(|(_, axis)| axis.values.iter().map(String::as_str).zip(0..).collect()).collect();
    let mut numbers = vec![vec![Vec::new(); metrics.len()]; count];
    let mut runs = vec![0; count];
    let Distinct { rows: kept, repeated } = distinct_rows(experiment, rows);
    for row in kept {
        let place = varying().zip(&places).try_fold(0, |place, ((column, axis), places)| {
            Some(place * axis.values.len() + places.get(row.values[column].as_str())?)
        });
        let Some(place) = place else { continue };
        runs[place] += 1;
        for (numbers, number) in numbers[place].iter_mut().zip(&row.metrics) {
            numbers.extend(number);
        }
    }
    let cells = numbers.iter().map(|of| of.iter().map(|numbers| Estimate::of(numbers)).collect()).collect();
    Means { name, about, metrics, axes, repetitions: rows.len() / count.max(1), repeated, runs, cells }
}

impl Means {
    /// The combinations, each as indices of its values on their axes, with their numbers.
    fn combinations(&self) -> impl Iterator<Item = (Vec<usize>, &[Option<Estimate>])> {
        self.cells.iter().enumerate().map(move |(place, cells)| (self.nth_combination(place), &cells[..]))
    }

    fn nth_combination(&self, mut rest: usize) -> Vec<usize> {
        let mut picks: Vec<usize> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let pick = rest % axis.values.len();
                rest /= axis.values.len();
                pick
            })
            .collect();
        picks.reverse();
        picks
    }

    /// Sentence about runs that repeat another run; None if all are distinct.
    pub fn repeats_note(&self) -> Option<String> {
        repeats::repeats_note(self.repeated, self.repetitions * self.cells.len())
    }

    /// True if every run has this number of the metric.
    fn are_all(&self, metric: usize, mean: f64) -> bool {
        self.cells.iter().zip(&self.runs).all(|(cells, runs)| {
            cells[metric].is_some_and(|one| {
                one.mean == mean && one.count == *runs && one.within.is_none_or(|within| within == 0.0)
            })
        })
    }

    /// The number of a metric for one combination.
    fn cell_mean(&self, picks: &[usize], metric: usize) -> Option<Estimate> {
        let place = self.axes.iter().zip(picks).fold(0, |place, (axis, pick)| place * axis.values.len() + pick);
        self.cells[place][metric]
    }
}

/// `means.csv`: a row per combination and metric.
pub fn means_csv(means: &Means) -> String {
    let keys = means.axes.iter().map(|axis| axis.key.as_str());
    let mut text = join_cells(keys.chain(["metric", "runs", "mean", "within"]));
    for (picks, cells) in means.combinations() {
        for (metric, cell) in means.metrics.iter().zip(cells) {
            let count = cell.map_or(0, |estimate| estimate.count).to_string();
            let mean = csv_number(cell.map(|it| it.mean));
            let within = csv_number(cell.and_then(|it| it.within));
            let values = means.axes.iter().zip(&picks).map(|(axis, pick)| axis.values[*pick].as_str());
            text.push_str(&join_cells(values.chain([metric.name, &count, &mean, &within])));
        }
    }
    text
}
