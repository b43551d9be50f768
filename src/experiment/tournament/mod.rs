//! Who wins at what: the rows of an experiment whose first axis is its entrants, as standings.
//!
//! Runs that differ in nothing but a seed are repetitions of each other. The same seed draws the same jobs for all entrants, so they
//! are compared seed by seed: the mean of such differences is known better than the difference of two means. What varies beside
//! seeds makes a panel of its own.

mod page;
#[cfg(test)]
mod tests;
mod text;

use super::file::{ENTRANT, Entrant, Experiment};
use super::metrics::Metric;
use super::rows::Row;
use super::statistics::Estimate;
use crate::report::Better;

pub use page::page;
pub use text::{csv, table};

#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    pub name: String,
    pub about: Option<String>,
    pub entrants: Vec<Entrant>,
    /// Whom all are compared with.
    pub against: usize,
    pub metrics: Vec<Column>,
    /// How many runs each number is of.
    pub repetitions: usize,
    pub panels: Vec<Panel>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: &'static str,
    pub about: &'static str,
    pub better: Better,
}

/// What is the same for all in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Keys and values; none, if only seeds vary.
    pub settings: Vec<(String, String)>,
    /// A row an entrant, with a cell a metric.
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// `None`, if no run of this entrant has such a number.
    pub estimate: Option<Estimate>,
    /// By how much it is more than that of whom it is compared with.
    pub difference: Option<Estimate>,
    /// Nobody's mean is better, or it cannot be told apart from the best one.
    pub is_best: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStandings {
    #[error("it has no [[entrant]]: `hansa sweep` is for experiments that only vary keys")]
    NoEntrants,
    #[error("there is no entrant {0}: expected one of {1}")]
    Unknown(String, String),
}

/// Which entrant all are compared with: this one, or the first.
pub fn compared(experiment: &Experiment, against: Option<&str>) -> Result<usize, NoStandings> {
    let entrants = &experiment.entrants;
    if entrants.is_empty() {
        return Err(NoStandings::NoEntrants);
    }
    let Some(name) = against else { return Ok(0) };
    entrants.iter().position(|entrant| entrant.name == name).ok_or_else(|| {
        let all: Vec<&str> = entrants.iter().map(|entrant| entrant.name.as_str()).collect();
        NoStandings::Unknown(name.to_owned(), all.join(", "))
    })
}

/// What rows of a whole experiment say; all are compared with this entrant, or with the first one.
///
/// Cost: O(rows * metrics).
pub fn standings(experiment: &Experiment, rows: &[Row], against: Option<&str>) -> Result<Standings, NoStandings> {
    let against = compared(experiment, against)?;
    let entrants = &experiment.entrants;
    let index = |name: &str| entrants.iter().position(|entrant| entrant.name == name);
    let axis = experiment.axes.iter().position(|axis| axis.key == ENTRANT).ok_or(NoStandings::NoEntrants)?;

    // In the order in which they first come: panels, and the seeds of each.
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let Some(entrant) = index(&row.values[axis]) else { continue };
        let others = || experiment.axes.iter().zip(&row.values).filter(|(other, _)| other.key != ENTRANT);
        let settings: Vec<(String, String)> = others()
            .filter(|(axis, _)| !is_seed(&axis.key))
            .map(|(axis, value)| (axis.key.clone(), value.clone()))
            .collect();
        let seeds: Vec<&str> =
            others().filter(|(axis, _)| is_seed(&axis.key)).map(|(_, value)| value.as_str()).collect();
        let place = groups.iter().position(|group| group.settings == settings).unwrap_or_else(|| {
            groups.push(Group { settings, runs: Vec::new() });
            groups.len() - 1
        });
        groups[place].runs.push(Repetition { entrant, seeds: seeds.join(","), numbers: &row.metrics });
    }

    let column = |metric: &Metric| Column { name: metric.name, about: metric.about, better: metric.better };
    let metrics: Vec<Column> = experiment.metrics.iter().map(column).collect();
    let panels: Vec<Panel> = groups.into_iter().map(|group| group.panel(entrants.len(), &metrics, against)).collect();
    let repetitions = rows.len() / (entrants.len() * panels.len()).max(1);
    let (name, about, entrants) = (experiment.name.clone(), experiment.about.clone(), entrants.clone());
    Ok(Standings { name, about, entrants, against, metrics, repetitions, panels })
}

/// `seed`, and those of workloads.
fn is_seed(key: &str) -> bool {
    key.rsplit('.').next() == Some("seed")
}

struct Group<'r> {
    settings: Vec<(String, String)>,
    runs: Vec<Repetition<'r>>,
}

struct Repetition<'r> {
    entrant: usize,
    seeds: String,
    numbers: &'r [Option<f64>],
}

impl Group<'_> {
    /// One run of each says nothing of who is better.
    fn panel(self, entrants: usize, metrics: &[Column], against: usize) -> Panel {
        let repeated = self.runs.len() > entrants;
        let mut rows = vec![vec![Cell::default(); metrics.len()]; entrants];
        for (metric, column) in metrics.iter().enumerate() {
            let numbers: Vec<Vec<(&str, f64)>> = (0..entrants).map(|entrant| self.numbers(entrant, metric)).collect();
            let means: Vec<Option<Estimate>> = numbers.iter().map(|numbers| Estimate::of(&only(numbers))).collect();
            let best = if repeated { best(&means, column.better) } else { None };
            for (entrant, row) in rows.iter_mut().enumerate() {
                let beside = |other: usize| Estimate::of(&paired(&numbers[entrant], &numbers[other]));
                row[metric] = Cell {
                    estimate: means[entrant],
                    difference: if entrant == against { None } else { beside(against) },
                    is_best: best
                        .is_some_and(|best| entrant == best || beside(best).is_some_and(|apart| !apart.tells())),
                };
            }
        }
        Panel { settings: self.settings, rows }
    }

    /// An entrant's numbers, with their seeds.
    fn numbers(&self, entrant: usize, metric: usize) -> Vec<(&str, f64)> {
        let its = self.runs.iter().filter(|run| run.entrant == entrant);
        its.filter_map(|run| Some((run.seeds.as_str(), run.numbers[metric]?))).collect()
    }
}

fn only(numbers: &[(&str, f64)]) -> Vec<f64> {
    numbers.iter().map(|(_, number)| *number).collect()
}

/// Differences from the other's numbers, seed by seed, where both have one.
fn paired(numbers: &[(&str, f64)], others: &[(&str, f64)]) -> Vec<f64> {
    let beside = |(seed, number): &(&str, f64)| {
        let (_, other) = others.iter().find(|(other, _)| other == seed)?;
        Some(number - other)
    };
    numbers.iter().filter_map(beside).collect()
}

fn best(means: &[Option<Estimate>], better: Better) -> Option<usize> {
    if better == Better::Neither {
        return None;
    }
    let known = means.iter().enumerate().filter_map(|(entrant, mean)| Some((entrant, mean.as_ref()?.mean)));
    let best = known.reduce(|best, next| if better.is_better(next.1, best.1) { next } else { best });
    best.map(|(entrant, _)| entrant)
}

impl Estimate {
    /// Whether it lies on one side of zero; a single number never tells.
    pub fn tells(&self) -> bool {
        self.within.is_some_and(|within| self.mean.abs() > within)
    }
}
