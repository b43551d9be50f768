//! Tournaments: evaluates the rows of an experiment whose first axis is its entrants, as standings.
//!
//! Runs that differ in nothing but a seed are repetitions. One seed draws the same jobs for all entrants, so they are
//! compared seed by seed: the mean of such differences is known better than the difference of two means. Each
//! combination of the other axes is a panel.

mod page;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;

use super::file::{ENTRANT, Entrant, Experiment};
use super::repeats::{self, Distinct, distinct_rows};
use super::rows::RunRow;
use super::statistics::Estimate;
use crate::{Better, Family, Unit};
use hansa_sim::near::nearest_name;
use hansa_sim::numerals::Digits;

pub use page::standings_page;
pub use text::{entrants_table, standings_csv};

#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    pub name: String,
    pub about: Option<String>,
    pub entrants: Vec<Entrant>,
    /// Index of the entrant that all others are compared with.
    pub against: usize,
    pub metrics: Vec<Column>,
    /// Largest number of distinct runs that a number is the mean of.
    pub repetitions: usize,
    /// Sentence about runs that repeat another run; None if all are distinct.
    pub note: Option<String>,
    pub panels: Vec<Panel>,
    /// Metrics that are left out of tables and pictures, if only one of each family is shown.
    pub others: Vec<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: &'static str,
    pub about: &'static str,
    pub unit: Unit,
    pub better: Better,
    pub family: Family,
}

/// Results under one combination of settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Keys and values; empty if only seeds vary.
    pub settings: Vec<(String, String)>,
    /// A row per entrant, with a cell per metric.
    pub rows: Vec<Vec<Cell>>,
}

impl Panel {
    /// The form of a metric's means.
    fn mean_digits(&self, metric: usize) -> Digits {
        Digits::for_numbers(self.rows.iter().filter_map(|row| Some(row[metric].estimate?.mean)))
    }

    /// True if some entrant has this metric.
    fn has_metric(&self, metric: usize) -> bool {
        self.rows.iter().any(|row| row[metric].estimate.is_some())
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// None if no run of this entrant has the number.
    pub estimate: Option<Estimate>,
    /// Difference from the entrant that all are compared with.
    pub difference: Option<Estimate>,
    /// True if it is the best mean, or not significantly different from it (paired t, 95 %).
    pub is_best: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStandings {
    #[error("it has no [[entrant]]: `hansa sweep` is for experiments that only vary keys")]
    NoEntrants,
    #[error("there is no entrant {0}: expected one of {1}{2}")]
    Unknown(String, String, String),
}

impl Standings {
    /// One metric of each family, the first with a direction that most entrants have; and further ones for entrants
    /// that have none of these in a family, so that each kind of system has its own.
    pub fn of_families(&self) -> Standings {
        let mut chosen: Vec<usize> = Vec::new();
        for (_, family, _) in Family::ALL {
            let mut lacking: Vec<usize> = (0..self.entrants.len()).collect();
            let mut metrics: Vec<usize> = (0..self.metrics.len())
                .filter(|metric| {
                    self.metrics[*metric].family == *family && self.metrics[*metric].better != Better::Neither
                })
                .collect();
            while let Some(best) = self.most_served(&metrics, &lacking) {
                lacking.retain(|entrant| !self.has_metric(best, *entrant));
                metrics.retain(|metric| *metric != best);
                chosen.push(best);
            }
        }
        chosen.sort_unstable();
        Standings {
            metrics: chosen.iter().map(|metric| self.metrics[*metric].clone()).collect(),
            panels: self
                .panels
                .iter()
                .map(|panel| Panel {
                    settings: panel.settings.clone(),
                    rows: panel
                        .rows
                        .iter()
                        .map(|row| chosen.iter().map(|metric| row[*metric].clone()).collect())
                        .collect(),
                })
                .collect(),
            others: (0..self.metrics.len())
                .filter(|metric| {
                    !chosen.contains(metric)
                        && (0..self.entrants.len()).any(|entrant| self.has_metric(*metric, entrant))
                })
                .map(|metric| self.metrics[metric].name)
                .collect(),
            ..self.clone()
        }
    }

    /// The first of these metrics that most of these entrants have. None if none has any.
    fn most_served(&self, metrics: &[usize], entrants: &[usize]) -> Option<usize> {
        let best = metrics.iter().copied().rev().max_by_key(|metric| self.count_served(*metric, entrants))?;
        (self.count_served(best, entrants) > 0).then_some(best)
    }

    fn count_served(&self, metric: usize, entrants: &[usize]) -> usize {
        entrants.iter().filter(|entrant| self.has_metric(metric, **entrant)).count()
    }

    fn has_metric(&self, metric: usize, entrant: usize) -> bool {
        self.panels.iter().any(|panel| panel.rows[entrant][metric].estimate.is_some())
    }
}

/// Index of the entrant to compare with: the named one, or the first.
pub fn reference_index(experiment: &Experiment, against: Option<&str>) -> Result<usize, NoStandings> {
    let entrants = &experiment.entrants;
    if entrants.is_empty() {
        return Err(NoStandings::NoEntrants);
    }
    let Some(name) = against else { return Ok(0) };
    entrants.iter().position(|entrant| entrant.name == name).ok_or_else(|| {
        let all: Vec<&str> = entrants.iter().map(|entrant| entrant.name.as_str()).collect();
        let meant =
            nearest_name(name, all.iter().copied()).map_or(String::new(), |near| format!("; did you mean {near}?"));
        NoStandings::Unknown(name.to_owned(), all.join(", "), meant)
    })
}

/// Evaluates the rows of a whole experiment; all entrants are compared with `against`, or with the first one.
///
/// Cost: O(rows * (metrics + log rows)).
pub fn make_standings(
    experiment: &Experiment,
    rows: &[RunRow],
    against: Option<&str>,
) -> Result<Standings, NoStandings> {
    let against = reference_index(experiment, against)?;
    let Experiment { name, about, entrants, .. } = experiment.clone();
    let metrics: Vec<Column> = experiment
        .metrics
        .iter()
        .map(|metric| Column {
            name: metric.name,
            about: metric.about,
            unit: metric.unit,
            better: metric.better,
            family: metric.family,
        })
        .collect();
    let Distinct { rows: kept, repeated } = distinct_rows(experiment, rows);
    let runs = in_order(experiment, &kept);
    let alike = runs.chunk_by(|one, next| one.settings == next.settings);
    let panels: Vec<Panel> = alike
        .map(|runs| Panel {
            settings: panel_settings(experiment, runs[0].row),
            rows: panel_rows(runs, entrants.len(), &metrics, against),
        })
        .collect();
    let most = runs.chunk_by(|one, next| one.settings == next.settings).map(<[_]>::len).max().unwrap_or(0);
    let repetitions = most / entrants.len().max(1);
    let note = repeats::repeats_note(repeated, rows.len());
    Ok(Standings { name, about, entrants, against, metrics, repetitions, note, panels, others: Vec::new() })
}

/// A run, with the indices of its values on their axes.
struct Run<'r> {
    /// Indices of the values of its panel, by axis.
    settings: Vec<usize>,
    seeds: Vec<usize>,
    entrant: usize,
    row: &'r RunRow,
}

/// Runs sorted by panel, then by seed, in the order of the axes.
fn in_order<'r>(experiment: &Experiment, rows: &[&'r RunRow]) -> Vec<Run<'r>> {
    let places: Vec<BTreeMap<&str, usize>> =
        experiment.axes.iter().map(|axis| axis.values.iter().map(String::as_str).zip(0..).collect()).collect();
    let mut runs: Vec<Run<'_>> = rows
        .iter()
        .filter_map(|row| {
            let mut run = Run { settings: Vec::new(), seeds: Vec::new(), entrant: 0, row };
            for ((axis, places), value) in experiment.axes.iter().zip(&places).zip(&row.values) {
                let place = *places.get(value.as_str())?;
                match axis.key.as_str() {
                    ENTRANT => run.entrant = place,
                    _ if axis.is_repetition() => run.seeds.push(place),
                    _ => run.settings.push(place),
                }
            }
            Some(run)
        })
        .collect();
    runs.sort_by(|one, other| (&one.settings, &one.seeds).cmp(&(&other.settings, &other.seeds)));
    runs
}

/// Settings of the panel of a row.
fn panel_settings(experiment: &Experiment, row: &RunRow) -> Vec<(String, String)> {
    let settings =
        experiment.axes.iter().zip(&row.values).filter(|(axis, _)| axis.key != ENTRANT && !axis.is_repetition());
    settings.map(|(axis, value)| (axis.key.clone(), value.clone())).collect()
}

/// Rows of a panel, one per entrant, with a cell per metric. A single run of each does not show which is best.
fn panel_rows(runs: &[Run<'_>], entrants: usize, metrics: &[Column], against: usize) -> Vec<Vec<Cell>> {
    let by_seed: Vec<Vec<Option<&RunRow>>> = runs
        .chunk_by(|one, next| one.seeds == next.seeds)
        .map(|runs| {
            let mut of_entrants = vec![None; entrants];
            runs.iter().for_each(|run| of_entrants[run.entrant] = Some(run.row));
            of_entrants
        })
        .collect();
    let mut rows = vec![vec![Cell::default(); metrics.len()]; entrants];
    for (metric, column) in metrics.iter().enumerate() {
        // An entrant's numbers, one per seed.
        let numbers: Vec<Vec<Option<f64>>> =
            (0..entrants).map(|entrant| by_seed.iter().map(|rows| rows[entrant]?.metrics[metric]).collect()).collect();
        let means: Vec<Option<Estimate>> =
            numbers.iter().map(|numbers| estimate_known(numbers.iter().copied())).collect();
        let best = if runs.len() > entrants { best_entrant(&means, column.better) } else { None };
        for (entrant, row) in rows.iter_mut().enumerate() {
            let beside = |other: usize| estimate_known(paired_differences(&numbers[entrant], &numbers[other]));
            row[metric] = Cell {
                estimate: means[entrant],
                difference: if entrant == against { None } else { beside(against) },
                is_best: best
                    .is_some_and(|best| entrant == best || beside(best).is_some_and(|apart| !apart.is_significant())),
            };
        }
    }
    rows
}

/// Estimate of the numbers that exist.
fn estimate_known(numbers: impl Iterator<Item = Option<f64>>) -> Option<Estimate> {
    Estimate::of(&numbers.flatten().collect::<Vec<_>>())
}

/// Differences, seed by seed, where both have a number.
fn paired_differences(numbers: &[Option<f64>], others: &[Option<f64>]) -> impl Iterator<Item = Option<f64>> {
    numbers.iter().zip(others).map(|(number, other)| Some((*number)? - (*other)?))
}

fn best_entrant(means: &[Option<Estimate>], better: Better) -> Option<usize> {
    if better == Better::Neither {
        return None;
    }
    let known = means.iter().enumerate().filter_map(|(entrant, mean)| Some((entrant, mean.as_ref()?.mean)));
    let best = known.reduce(|best, next| if better.is_better(next.1, best.1) { next } else { best });
    best.map(|(entrant, _)| entrant)
}

impl Estimate {
    /// True if the interval excludes zero; false for a single number.
    pub fn is_significant(&self) -> bool {
        self.within.is_some_and(|within| self.mean.abs() > within)
    }
}
