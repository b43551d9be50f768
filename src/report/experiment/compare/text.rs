//! The comparison as text for a terminal of 100 columns.

use std::fmt;

use super::groups::{Division, Group};
use super::jobs::{Change, Changes, JobChanges, QUANTILES};
use super::settings::Setting;
use super::{Comparison, LogComparison, MetricRow, run_letter};
use crate::Unit;
use crate::experiment::figures::{axis_name, wrap_lines};
use crate::experiment::metrics::is_of_a_tenth;
use crate::experiment::range::NONE;
use hansa_sim::numerals::{
    Digits, format_count, format_counted, format_number, format_percent, format_span, signed_span,
};

/// Largest number of other results beside the first one in a table of metrics.
const OTHERS: usize = 2;
/// Largest number of settings that are listed.
const SETTINGS_MAX: usize = 40;
/// Largest number of groups of one division that are listed.
const GROUPS_MAX: usize = 12;
/// Quantiles that fit beside each other: indices into `QUANTILES`.
const SHOWN: std::ops::Range<usize> = 1..6;
/// Widest value of a setting.
const VALUE_MAX: usize = 24;

/// Digits of the ratios of all metrics.
pub(super) fn ratio_digits(comparison: &Comparison) -> Digits {
    let runs = 1..comparison.sides.len();
    Digits::for_numbers(comparison.metrics.iter().flat_map(|row| runs.clone().filter_map(|run| row.value_ratio(run))))
}

impl MetricRow {
    /// Digits of the values of all runs.
    pub(super) fn value_digits(&self) -> Digits {
        Digits::for_numbers(self.values.iter().flatten().copied())
    }

    /// Name with its unit.
    pub(super) fn label(&self) -> String {
        axis_name(self.metric.name, self.metric.unit)
    }

    pub(super) fn value_text(&self, run: usize) -> String {
        self.values[run].map_or(NONE.to_owned(), |value| self.value_digits().show_number(value))
    }

    pub(super) fn difference_text(&self, run: usize) -> String {
        self.value_difference(run).map_or(NONE.to_owned(), |difference| self.value_digits().show_signed(difference))
    }

    pub(super) fn ratio_text(&self, run: usize, digits: Digits) -> String {
        self.value_ratio(run).map_or(NONE.to_owned(), |ratio| digits.show_number(ratio))
    }
}

impl Changes {
    /// A difference of this quantity.
    pub(super) fn show_difference(&self, difference: f64) -> String {
        match self.is_time {
            true => signed_span(difference),
            false => Digits::for_numbers(self.quantiles).show_signed(difference),
        }
    }
}

impl Change {
    /// Cells of a row: number, user, submission, cores, both turnarounds, difference.
    pub(super) fn cells(&self) -> [String; 7] {
        [
            self.label.clone(),
            self.user.clone(),
            format_span(self.submitted),
            self.cores.map_or(NONE.to_owned(), format_count),
            format_span(self.first),
            format_span(self.here),
            signed_span(self.difference()),
        ]
    }
}

impl Group {
    /// Cells of a row: label, jobs, shares of better and worse, both means, their difference.
    pub(super) fn cells(&self) -> [String; 7] {
        [
            self.label.clone(),
            format_count(self.jobs),
            self.job_share(self.better),
            self.job_share(self.worse),
            format_span(self.first),
            format_span(self.here),
            signed_span(self.here - self.first),
        ]
    }

    fn job_share(&self, number: u64) -> String {
        format_percent(number as f64 / self.jobs as f64)
    }
}

impl JobChanges {
    /// Sentences on jobs that ended in one of the two results only.
    pub(super) fn ended_in_one(&self) -> Option<String> {
        let mut words = Vec::new();
        for (number, run) in [(self.ended_only_first, 0), (self.ended_only_here, self.run)] {
            if number > 0 {
                words.push(format!("{} ended in {} only", format_counted(number, "job"), run_letter(run)));
            }
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (run, side) in self.sides.iter().enumerate() {
            writeln!(f, "{}  {}\n   {}", run_letter(run), side.name, self.run_facts(run))?;
        }
        writeln!(f)?;
        if let Some(answer) = &self.answer {
            writeln!(f, "{}", answer.text(true))?;
        }
        (1..self.sides.len()).try_for_each(|run| writeln!(f, "{}", wrap_lines(&self.verdict_sentence(run))))?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{}", wrap_lines(&format!("Note: {note}."))))?;
        self.settings_table(f)?;
        for block in (1..self.sides.len()).collect::<Vec<_>>().chunks(OTHERS) {
            self.metrics_table(f, block)?;
        }
        self.write_constants(f)?;
        self.changes.iter().try_for_each(|changes| self.jobs_table(f, changes))?;
        self.first_differences(f)
    }
}

impl Comparison {
    /// Facts about a run: topology, seed, jobs, status, digest.
    pub(super) fn run_facts(&self, run: usize) -> String {
        let side = &self.sides[run];
        let results = &side.summary.results;
        let end = match (&side.log, results.digest.as_str()) {
            (LogComparison::Live, _) | (_, "") => "a live run".to_owned(),
            (_, digest) => format!("digest {digest}"),
        };
        format!("{}, seed {}, {}, {end}", results.topology, results.seed, format_counted(results.jobs.submitted, "job"))
    }

    fn run_letters(&self) -> Vec<String> {
        (0..self.sides.len()).map(run_letter).collect()
    }

    fn settings_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.settings.is_empty() {
            return writeln!(f, "\nNo setting differs.");
        }
        let heads = std::iter::once("Setting that differs".to_owned()).chain(self.run_letters()).collect();
        let rows: Vec<Vec<String>> = self
            .settings
            .iter()
            .take(SETTINGS_MAX)
            .map(|Setting { key, values }| {
                let values = values.iter().map(|value| {
                    value.as_deref().map_or(NONE.to_owned(), |text| match text.chars().count() > VALUE_MAX {
                        true => text.chars().take(VALUE_MAX - 1).chain(['…']).collect(),
                        false => text.to_owned(),
                    })
                });
                std::iter::once(key.clone()).chain(values).collect()
            })
            .collect();
        write!(f, "\n{}", aligned_table(&heads, &rows, usize::MAX))?;
        match self.settings.len().saturating_sub(SETTINGS_MAX) {
            0 => Ok(()),
            more => writeln!(f, "and {} more (--json lists all)", format_count(more as u64)),
        }
    }

    fn metrics_table(&self, f: &mut fmt::Formatter<'_>, others: &[usize]) -> fmt::Result {
        let ratios = ratio_digits(self);
        let mut heads = vec!["Metric (* best)".to_owned(), "A".to_owned()];
        for run in others {
            let letter = run_letter(*run);
            heads.extend([letter.clone(), format!("{letter} - A"), format!("{letter} / A")]);
        }
        let rows = self.metrics.iter().filter(|row| !row.is_constant() && !is_of_a_tenth(row.metric.name));
        let rows: Vec<Vec<String>> = rows
            .map(|row| {
                let mut cells = vec![row.label(), starred_text(row, 0)];
                for run in others {
                    cells.extend([starred_text(row, *run), row.difference_text(*run), row.ratio_text(*run, ratios)]);
                }
                cells
            })
            .collect();
        match rows.is_empty() {
            true => writeln!(f, "\nNo metric differs."),
            false => write!(f, "\n{}", aligned_table(&heads, &rows, 1)),
        }
    }

    /// Names of metrics that are not in the table.
    fn write_constants(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constant = self.metrics.iter().filter(|row| row.is_constant() && !is_of_a_tenth(row.metric.name));
        let constant: Vec<String> = constant.map(|row| constant_text(row).trim_end().to_owned()).collect();
        if !constant.is_empty() {
            writeln!(f, "\n{}", wrap_lines(&format!("The same in all: {}.", constant.join("; "))))?;
        }
        let has_tenths = self.metrics.iter().any(|row| is_of_a_tenth(row.metric.name) && !row.is_constant());
        if has_tenths { writeln!(f, "Metrics of tenths of the jobs, by size: see --json or --page.") } else { Ok(()) }
    }

    fn jobs_table(&self, f: &mut fmt::Formatter<'_>, changes: &JobChanges) -> fmt::Result {
        let JobChanges { run, matched, quantities, largest, .. } = changes;
        if !self.compares_jobs(*run) {
            return Ok(());
        }
        let letter = run_letter(*run);
        writeln!(f, "\nJobs, {letter} against A: {} in both", format_count(*matched))?;
        if let Some(words) = changes.ended_in_one() {
            writeln!(f, "{words}.")?;
        }
        if quantities.is_empty() {
            return Ok(());
        }
        let heads = ["", "better", "worse", "same", "mean change"].map(str::to_owned).to_vec();
        let rows: Vec<Vec<String>> = quantities
            .iter()
            .map(|all| {
                let share = |number: u64| {
                    format!("{} ({})", format_count(number), format_percent(number as f64 / all.count() as f64))
                };
                let name = format!("{}, {}", all.name, all.about);
                vec![name, share(all.better), share(all.worse), share(all.same), all.show_difference(all.mean)]
            })
            .collect();
        write!(f, "{}", aligned_table(&heads, &rows, 1))?;
        let heads = std::iter::once(format!("Quantiles of {letter} - A"))
            .chain(QUANTILES[SHOWN].iter().map(|at| quantile_name(*at)))
            .collect();
        let rows: Vec<Vec<String>> = quantities
            .iter()
            .map(|all| {
                let quantiles = all.quantiles[SHOWN].iter().map(|difference| all.show_difference(*difference));
                std::iter::once(all.name.to_owned()).chain(quantiles).collect()
            })
            .collect();
        write!(f, "\n{}", aligned_table(&heads, &rows, 1))?;
        self.division_tables(f, changes)?;
        if largest.is_empty() {
            return Ok(());
        }
        let heads = ["Largest changes: job", "user", "submitted at", "cores", "A", &letter, &format!("{letter} - A")];
        let rows: Vec<Vec<String>> = largest.iter().map(|change| change.cells().to_vec()).collect();
        write!(f, "\n{}", aligned_table(&heads.map(str::to_owned).to_vec(), &rows, 2))
    }

    /// Mean turnaround by user, size, run time and end.
    fn division_tables(&self, f: &mut fmt::Formatter<'_>, changes: &JobChanges) -> fmt::Result {
        let letter = run_letter(changes.run);
        for Division { name, groups } in &changes.divisions {
            let heads =
                [&format!("Turnaround by {name}"), "jobs", "better", "worse", "A", &letter, &format!("{letter} - A")];
            let rows: Vec<Vec<String>> = groups.iter().take(GROUPS_MAX).map(|group| group.cells().to_vec()).collect();
            write!(f, "\n{}", aligned_table(&heads.map(str::to_owned).to_vec(), &rows, 1))?;
            if let Some(more @ 1..) = groups.len().checked_sub(GROUPS_MAX) {
                writeln!(f, "and {} more (--json and --page list all)", format_count(more as u64))?;
            }
        }
        Ok(())
    }

    fn first_differences(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (run, side) in self.sides.iter().enumerate() {
            let letter = run_letter(run);
            match &side.log {
                LogComparison::Reference | LogComparison::Same => {}
                LogComparison::Live => writeln!(f, "\nNo event of {letter} is compared: a run was live.")?,
                LogComparison::Differs(difference) => {
                    let line = format_count(difference.line);
                    let what = &difference.what;
                    let head =
                        format!("First event of {letter} that differs from A: line {line} of events.jsonl ({what})");
                    writeln!(f, "\n{}", wrap_lines(&head))?;
                    writeln!(
                        f,
                        "  A  {}\n  {letter}  {}",
                        event_in_words(&difference.a),
                        event_in_words(&difference.b)
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn constant_text(row: &MetricRow) -> String {
    format!("{} {} {}", row.metric.name, row.value_text(0), shown_unit(row).unwrap_or_default())
}

fn starred_text(row: &MetricRow, run: usize) -> String {
    format!("{}{}", row.value_text(run), if row.is_best(run) { "*" } else { " " })
}

fn shown_unit(row: &MetricRow) -> Option<&str> {
    Some(row.metric.unit.name()).filter(|_| row.metric.unit != Unit::Share)
}

fn event_in_words(event: &Option<String>) -> String {
    event.clone().unwrap_or_else(|| "(the log ends)".to_owned())
}

/// Name of a quantile.
pub(super) fn quantile_name(percent: u64) -> String {
    match percent {
        0 => "least".to_owned(),
        50 => "median".to_owned(),
        100 => "most".to_owned(),
        percent => format!("{} %", format_number(percent as f64)),
    }
}

/// Rows below heads; columns are as wide as their widest cell. The first `left` columns are set to the left, all others
/// to the right.
pub(super) fn aligned_table(heads: &Vec<String>, rows: &[Vec<String>], left: usize) -> String {
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| rows.iter().chain([heads]).map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in [heads].into_iter().chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line.push_str(if column > 0 { "  " } else { "" });
            line.push_str(&if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
