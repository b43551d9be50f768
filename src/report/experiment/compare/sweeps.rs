//! Comparison of sweeps: means over seeds for each setting, and their differences, seed by seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};

use super::page::shown_quantity;
use super::run_letter;
use super::text::aligned_table;
use crate::experiment::figures::{axis_name, better_words, wrap_lines};
use crate::experiment::file::{ENTRANT, is_repetition};
use crate::experiment::metrics::{self, Metric};
use crate::experiment::range::NONE;
use crate::experiment::statistics::Estimate;
use crate::html;
use crate::markup::{Html, cells};
use crate::{Better, Status};
use hansa_sim::numerals::{Digits, capitalize_first, format_count, format_counted};

/// Largest number of settings of a table on a terminal.
const SETTINGS_MAX: usize = 24;

/// One of the sweeps: its folder, and the cells of `runs.csv`.
pub struct Sweep {
    pub name: String,
    pub experiment: String,
    pub status: Status,
    /// Keys that are declared as repetitions.
    pub repeats: Vec<String>,
    pub heading: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The comparison of two or more sweeps over the same keys. The first one is the reference.
pub struct Sweeps {
    sides: Vec<(String, String, usize)>,
    notes: Vec<String>,
    /// Keys that vary, but for seeds.
    keys: Vec<String>,
    metrics: Vec<Compared>,
}

/// A metric, compared at each setting.
struct Compared {
    metric: Metric,
    /// Values of the keys, and a cell per other sweep.
    settings: Vec<(Vec<String>, Vec<Option<Cell>>)>,
}

/// Two means over the same seeds.
#[derive(Clone, Copy)]
struct Cell {
    first: f64,
    other: f64,
    difference: Estimate,
}

/// A run: the values of all keys, the metrics, and the digest.
struct Run<'s> {
    values: Vec<&'s str>,
    metrics: BTreeMap<&'s str, f64>,
    digest: &'s str,
}

impl Sweep {
    /// Columns of keys, in order.
    fn key_columns(&self) -> Vec<(usize, &str)> {
        let columns = self.heading.iter().map(String::as_str).enumerate();
        columns.filter(|(_, name)| !matches!(*name, "run" | "digest") && metrics::find_metric(name).is_none()).collect()
    }

    /// The runs, with values in the order of `keys`; an error names a row that is none.
    fn list_runs<'s>(&'s self, keys: &[&str]) -> Result<Vec<Run<'s>>, String> {
        let digest = self.column_of("digest").ok_or("it has no column `digest`")?;
        let places: Vec<usize> = keys.iter().filter_map(|key| self.column_of(key)).collect();
        let read = |(number, row): (usize, &'s Vec<String>)| -> Result<Run<'s>, String> {
            if row.len() != self.heading.len() {
                return Err(damaged_row(
                    format!("expected {} cells, but there are {}", self.heading.len(), row.len()),
                    number,
                ));
            }
            let mut numbers = BTreeMap::new();
            let cells = self
                .heading
                .iter()
                .zip(row)
                .filter(|(name, cell)| !cell.is_empty() && metrics::find_metric(name).is_some());
            for (name, cell) in cells {
                numbers.insert(
                    name.as_str(),
                    cell.parse().map_err(|_| {
                        damaged_row(format!("column `{name}`: expected a number, found `{cell}`"), number)
                    })?,
                );
            }
            let values = places.iter().map(|place| row[*place].as_str()).collect();
            Ok(Run { values, metrics: numbers, digest: &row[digest] })
        };
        self.rows.iter().enumerate().map(read).collect()
    }

    fn column_of(&self, name: &str) -> Option<usize> {
        self.heading.iter().position(|column| column == name)
    }
}

fn damaged_row(what: String, number: usize) -> String {
    format!("row {}, {what}", number + 2)
}

/// Compares sweeps; an error in words if their keys differ, a table is damaged, or no run is in common.
pub fn compare_sweeps(sweeps: &[Sweep]) -> Result<Sweeps, String> {
    let first = &sweeps[0];
    let keys: Vec<&str> = first.key_columns().into_iter().map(|(_, key)| key).collect();
    for sweep in &sweeps[1..] {
        let mut theirs: Vec<&str> = sweep.key_columns().into_iter().map(|(_, key)| key).collect();
        let mut ours = keys.clone();
        theirs.sort_unstable();
        ours.sort_unstable();
        if ours != theirs {
            return Err(format!(
                "{} varies {}, but {} varies {}: expected sweeps over the same keys",
                first.name,
                list_keys(&ours),
                sweep.name,
                list_keys(&theirs)
            ));
        }
    }
    let runs: Vec<Vec<Run<'_>>> = sweeps
        .iter()
        .map(|sweep| sweep.list_runs(&keys).map_err(|what| damaged_sweep(sweep, what)))
        .collect::<Result<_, _>>()?;
    let by_values: Vec<BTreeMap<&[&str], &Run<'_>>> =
        runs.iter().map(|runs| runs.iter().map(|run| (&run.values[..], run)).collect()).collect();

    let mut notes = Vec::new();
    for (place, sweep) in sweeps.iter().enumerate() {
        if let Status::Partial(why) = &sweep.status {
            notes.push(format!("{} ({}) is partial: {why}", run_letter(place), sweep.name));
        }
    }
    for (place, theirs) in by_values.iter().enumerate().skip(1) {
        let common = runs[0].iter().filter(|run| theirs.contains_key(&run.values[..])).count();
        if common == 0 {
            let first = &first.name;
            let other = &sweeps[place].name;
            return Err(format!("{first} and {other} have no run in common: expected equal values of what varies"));
        }
        if common < runs[0].len().max(runs[place].len()) {
            let ours = format_count(runs[0].len() as u64);
            let others = format_count(runs[place].len() as u64);
            let common = format_counted(common as u64, "run");
            let letter = run_letter(place);
            notes
                .push(format!("{common} of {ours} in A and {others} in {letter} are in both; only these are compared"));
        }
    }

    let places: Vec<usize> = (0..keys.len()).filter(|place| varies_in(&keys[*place], sweeps)).collect();
    let mut settings: Vec<Vec<String>> = Vec::new();
    for run in &runs[0] {
        if !settings.contains(&run_setting(run, &places)) {
            settings.push(run_setting(run, &places));
        }
    }
    let cell = |metric: &str, values: &Vec<String>, other: usize| {
        // Runs of equal digests are one run: a seed that changes nothing adds no evidence.
        let mut seen = BTreeSet::new();
        let pairs = runs[0].iter().filter(|run| run_setting(run, &places) == *values).filter_map(|run| {
            let there = by_values[other].get(&run.values[..])?;
            let pair = (*run.metrics.get(metric)?, *there.metrics.get(metric)?);
            seen.insert((run.digest, there.digest)).then_some(pair)
        });
        let pairs: Vec<(f64, f64)> = pairs.collect();
        Some(Cell {
            first: mean_of_pairs(|pair| pair.0, &pairs)?.mean,
            other: mean_of_pairs(|pair| pair.1, &pairs)?.mean,
            difference: mean_of_pairs(|pair| pair.1 - pair.0, &pairs)?,
        })
    };
    let compared = |metric: Metric| Compared {
        metric,
        settings: settings
            .iter()
            .map(|values| {
                let cells = (1..sweeps.len()).map(|other| cell(metric.name, values, other)).collect();
                (values.clone(), cells)
            })
            .collect(),
    };
    Ok(Sweeps {
        sides: sweeps.iter().map(|one| (one.name.clone(), one.experiment.clone(), one.rows.len())).collect(),
        notes,
        keys: places.iter().map(|place| keys[*place].to_owned()).collect(),
        metrics: metrics::all_metrics()
            .map(compared)
            .filter(|compared| compared.settings.iter().any(|(_, cells)| cells.iter().any(Option::is_some)))
            .collect(),
    })
}

fn list_keys(keys: &[&str]) -> String {
    if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") }
}

fn damaged_sweep(sweep: &Sweep, what: String) -> String {
    format!("{}/runs.csv is damaged: {what}", sweep.name)
}

fn varies_in(key: &&str, sweeps: &[Sweep]) -> bool {
    *key == ENTRANT
        || !(is_repetition(key) || sweeps.iter().any(|sweep| sweep.repeats.iter().any(|repeat| repeat == key)))
}

fn run_setting(run: &Run<'_>, places: &[usize]) -> Vec<String> {
    places.iter().map(|place| run.values[*place].to_owned()).collect::<Vec<String>>()
}

fn mean_of_pairs(of: fn(&(f64, f64)) -> f64, pairs: &[(f64, f64)]) -> Option<Estimate> {
    Estimate::of(&pairs.iter().map(of).collect::<Vec<_>>())
}

impl Cell {
    /// True if the difference is larger than its confidence interval.
    fn is_significant(&self) -> bool {
        self.difference.within.is_some_and(|within| self.difference.mean.abs() > within)
    }

    fn json(&self) -> Value {
        json!({
            "first": self.first, "other": self.other, "difference": self.difference.mean,
            "within": self.difference.within, "ratio": self.value_ratio(), "runs": self.difference.count,
        })
    }

    fn value_ratio(&self) -> Option<f64> {
        Some(self.other / self.first).filter(|ratio| ratio.is_finite())
    }

    fn cell_verdict(&self, better: Better) -> &'static str {
        match self.is_significant() {
            true if better.is_better(self.other, self.first) => "better",
            true if better.is_better(self.first, self.other) => "worse",
            _ => "",
        }
    }
}

impl Compared {
    fn mean_digits(&self) -> Digits {
        let cells = self.settings.iter().flat_map(|(_, cells)| cells).flatten();
        Digits::for_numbers(cells.flat_map(|cell| [cell.first, cell.other]))
    }

    fn column_heads(&self, keys: &[String], sides: usize) -> Vec<String> {
        let mut heads: Vec<String> = keys.to_vec();
        if heads.is_empty() {
            heads.push("setting".to_owned());
        }
        heads.push("A".to_owned());
        for letter in (1..sides).map(run_letter) {
            heads.extend([letter.clone(), format!("{letter} - A"), format!("{letter} / A"), String::new()]);
        }
        heads
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let digits = self.mean_digits();
        let cells = || self.settings.iter().flat_map(|(_, cells)| cells).flatten();
        let ratios = Digits::for_numbers(cells().filter_map(Cell::value_ratio));
        let row = |(values, cells): &(Vec<String>, Vec<Option<Cell>>)| {
            let mut row = values.clone();
            if row.is_empty() {
                row.push("all".to_owned());
            }
            let first = cells.iter().flatten().next();
            row.push(first.map_or(NONE.to_owned(), |cell| digits.show_number(cell.first)));
            for cell in cells {
                let Some(cell) = cell else {
                    row.extend([NONE, NONE, NONE, ""].map(str::to_owned));
                    continue;
                };
                let within = cell.difference.within;
                let within = within.map_or(String::new(), |within| format!(" ±{}", digits.show_interval(within)));
                row.push(digits.show_number(cell.other));
                row.push(format!("{}{within}", digits.show_signed(cell.difference.mean)));
                row.push(cell.value_ratio().map_or(NONE.to_owned(), |ratio| ratios.show_number(ratio)));
                row.push(cell.cell_verdict(self.metric.better).to_owned());
            }
            row
        };
        self.settings.iter().map(row).collect()
    }

    /// Numbers of settings in which another sweep is better, worse, and neither.
    fn count_verdicts(&self, other: usize) -> [u64; 3] {
        let mut counts = [0; 3];
        for cell in self.settings.iter().filter_map(|(_, cells)| cells[other - 1]) {
            let place = ["better", "worse"].iter().position(|word| *word == cell.cell_verdict(self.metric.better));
            counts[place.unwrap_or(2)] += 1;
        }
        counts
    }

    fn summary(&self, sides: usize) -> String {
        (1..sides)
            .map(|other| {
                let [better, worse, neither] = self.count_verdicts(other).map(format_count);
                format!("{} better in {better}, worse in {worse}, neither in {neither}", run_letter(other))
            })
            .collect::<Vec<_>>()
            .join("; ")
    }
}

const INTERVAL: &str = "± is half the width of the 95 % confidence interval of the mean difference, seed by seed; better \
                        and worse stand where the difference is larger than that";

impl fmt::Display for Sweeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, experiment, runs)) in self.sides.iter().enumerate() {
            writeln!(f, "{}  {name}\n   {experiment}, {}", run_letter(place), format_counted(*runs as u64, "run"))?;
        }
        writeln!(f)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{}", wrap_lines(&format!("Note: {note}."))))?;
        writeln!(f, "{}", wrap_lines(&format!("{INTERVAL}.")))?;
        for compared in &self.metrics {
            let Metric { name, unit, about, better, .. } = compared.metric;
            let head = format!("{}: {about}{}", axis_name(name, unit), better_words(better));
            writeln!(f, "\n{}", wrap_lines(&head))?;
            match compared.settings.len() > SETTINGS_MAX {
                true => writeln!(f, "{} (--json and --page have all settings)", compared.summary(self.sides.len()))?,
                false => {
                    let heads = compared.column_heads(&self.keys, self.sides.len());
                    f.write_str(&aligned_table(&heads, &compared.rows(), self.keys.len().max(1)))?;
                }
            }
        }
        Ok(())
    }
}

impl Sweeps {
    /// Puts a metric first; false if no sweep has it.
    pub fn put_first(&mut self, name: &str) -> bool {
        let Some(place) = self.metrics.iter().position(|compared| compared.metric.name == name) else { return false };
        self.metrics[..=place].rotate_right(1);
        true
    }

    /// The whole comparison. `differences` have one entry per other sweep.
    pub fn json(&self) -> Value {
        let sides = self.sides.iter().enumerate().map(|(place, (name, experiment, runs))| {
            json!({ "result": run_letter(place), "folder": name, "experiment": experiment, "runs": runs })
        });
        let metrics = self.metrics.iter().map(|compared| {
            let settings = compared.settings.iter().map(|(values, cells)| {
                let differences: Vec<_> = cells.iter().map(|cell| cell.as_ref().map(Cell::json)).collect();
                json!({ "values": values, "differences": differences })
            });
            json!({
                "name": compared.metric.name,
                "unit": compared.metric.unit.name(),
                "settings": settings.collect::<Vec<_>>(),
            })
        });
        json!({
            "sweeps": sides.collect::<Vec<_>>(),
            "notes": self.notes,
            "keys": self.keys,
            "metrics": metrics.collect::<Vec<_>>(),
        })
    }

    /// The page, which loads nothing.
    pub fn page(&self) -> String {
        let sides = self.sides.len();
        let mut body = html!("<header><p class=\"kicker\">A comparison of Hansa</p><h1>Sweeps side by side</h1>\n");
        let rows = self.sides.iter().enumerate().map(sweep_row);
        body += html::table_html(&["Sweep", "Folder", "Experiment", "#Runs"], rows);
        body += self.notes.iter().map(|note| html!("<p>{note}.</p>\n", note)).collect();
        body += html!("</header>\n<section><h2>At a glance</h2>\n");
        let glance = self.metrics.iter().flat_map(|compared| {
            (1..sides).map(|other| {
                let [better, worse, neither] = compared.count_verdicts(other).map(format_count);
                let name = compared.metric.name;
                cells![html!("<a href=\"#{name}\">{name}</a>", name), run_letter(other), better, worse, neither]
            })
        });
        body += html::table_html(&["Metric", "Sweep", "#Better", "#Worse", "#Neither"], glance);
        body += html!("<p class=\"soft\">Numbers of settings. {INTERVAL}.</p></section>\n", INTERVAL);
        for compared in &self.metrics {
            let Metric { name, about, better, unit, .. } = compared.metric;
            let heads = compared.column_heads(&self.keys, sides);
            let keys = self.keys.len().max(1);
            let heads: Vec<String> = heads
                .into_iter()
                .enumerate()
                .map(|(place, head)| match head.as_str() {
                    "" => "\u{a0}".to_owned(),
                    _ if place < keys => head,
                    _ => format!("#{}", head.replace('-', "−")),
                })
                .collect();
            let rows = compared.rows().into_iter().map(|row| {
                row.into_iter()
                    .enumerate()
                    .map(|(place, cell)| if place < keys { cell } else { shown_quantity(&cell) })
                    .map(Html::from)
                    .collect()
            });
            let title = axis_name(name, unit);
            let about = capitalize_first(about);
            let table = html::table_html(&heads, rows);
            body += html!(
                "<section><h2 id=\"{name}\">{title}</h2>\n<p>{about}{}.</p>\n{table}</section>\n",
                better_words(better),
                [name, title, about, table]
            );
        }
        body += html!("<footer>Made from runs.csv of these folders.</footer>");
        html::document_html("Sweeps side by side: a comparison of Hansa", body)
    }
}

fn sweep_row((place, (name, experiment, runs)): (usize, &(String, String, usize))) -> Vec<Html> {
    cells![run_letter(place), html!("<code>{name}</code>", name), experiment, format_count(*runs as u64)]
}
