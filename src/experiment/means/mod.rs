//! What the rows of a sweep say: a mean over seeds for each combination of everything else that varies.

mod curves;
mod page;
mod quantity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::file::Experiment;
use super::metrics::Metric;
use super::rows::{Row, line};
use super::statistics::Estimate;

pub use page::page;

pub struct Means {
    pub name: String,
    pub about: Option<String>,
    pub metrics: Vec<Metric>,
    /// What varies besides seeds.
    pub axes: Vec<Varying>,
    /// How many runs each mean is of.
    pub repetitions: usize,
    /// The numbers of each combination, one for each metric; the first axis changes slowest.
    cells: Vec<Vec<Option<Estimate>>>,
}

/// A key and the values that it takes.
pub struct Varying {
    pub key: String,
    pub values: Vec<String>,
}

/// The means of the rows of a whole experiment.
///
/// Cost: O(rows * (metrics + axes * log values of an axis)).
pub fn means(experiment: &Experiment, rows: &[Row]) -> Means {
    let Experiment { name, about, metrics, .. } = experiment.clone();
    let varying = || experiment.axes.iter().enumerate().filter(|(_, axis)| !axis.is_seed());
    let axes: Vec<Varying> =
        varying().map(|(_, axis)| Varying { key: axis.key.clone(), values: axis.values.clone() }).collect();
    let count: usize = axes.iter().map(|axis| axis.values.len()).product();
    let places: Vec<BTreeMap<&str, usize>> =
        varying().map(|(_, axis)| axis.values.iter().map(String::as_str).zip(0..).collect()).collect();
    let mut numbers = vec![vec![Vec::new(); metrics.len()]; count];
    for row in rows {
        let place = varying().zip(&places).try_fold(0, |place, ((column, axis), places)| {
            Some(place * axis.values.len() + places.get(row.values[column].as_str())?)
        });
        let Some(place) = place else { continue };
        for (numbers, number) in numbers[place].iter_mut().zip(&row.metrics) {
            numbers.extend(number);
        }
    }
    let cells = numbers.iter().map(|of| of.iter().map(|numbers| Estimate::of(numbers)).collect()).collect();
    Means { name, about, metrics, axes, repetitions: rows.len() / count.max(1), cells }
}

impl Means {
    /// The combinations, each as the places of its values on their axes, with their numbers.
    fn combinations(&self) -> impl Iterator<Item = (Vec<usize>, &[Option<Estimate>])> {
        let picks = |mut rest: usize| {
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
        };
        self.cells.iter().enumerate().map(move |(place, cells)| (picks(place), &cells[..]))
    }

    /// Whether these are the numbers of all runs, and the same.
    fn are_all(&self, known: &[Estimate], mean: f64) -> bool {
        let is_it = |one: &Estimate| {
            one.mean == mean && one.count == self.repetitions && one.within.is_none_or(|within| within == 0.0)
        };
        known.len() == self.cells.len() && known.iter().all(is_it)
    }

    /// The number of a metric for one combination.
    fn cell(&self, picks: &[usize], metric: usize) -> Option<Estimate> {
        let place = self.axes.iter().zip(picks).fold(0, |place, (axis, pick)| place * axis.values.len() + pick);
        self.cells[place][metric]
    }
}

/// `means.csv`: a row a metric of each combination.
pub fn csv(means: &Means) -> String {
    let keys = means.axes.iter().map(|axis| axis.key.as_str());
    let mut text = line(keys.chain(["metric", "runs", "mean", "within"]));
    for (picks, cells) in means.combinations() {
        for (metric, cell) in means.metrics.iter().zip(cells) {
            let exact = |number: Option<f64>| number.map_or(String::new(), |number| number.to_string());
            let count = cell.map_or(0, |estimate| estimate.count).to_string();
            let (mean, within) = (exact(cell.map(|it| it.mean)), exact(cell.and_then(|it| it.within)));
            let values = means.axes.iter().zip(&picks).map(|(axis, pick)| axis.values[*pick].as_str());
            text.push_str(&line(values.chain([metric.name, &count, &mean, &within])));
        }
    }
    text
}
