//! Standings for terminals and for programs.

use super::super::figures::wrap_lines;
use super::super::range::NONE;
use super::super::rows::join_cells;
use super::{Panel, Standings};
use hansa_sim::numerals::format_counted;

/// Columns of a terminal.
const WIDTH: usize = 100;

/// A table for a terminal: means, with a star beside those that are not significantly worse than the best. Columns that
/// do not fit continue below. Metrics of which no run has a number are only named.
pub fn entrants_table(standings: &Standings) -> String {
    let mut text = String::new();
    let names: Vec<&str> = standings.entrants.iter().map(|entrant| entrant.name.as_str()).collect();
    let label = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for panel in &standings.panels {
        if !panel.settings.is_empty() {
            text.push_str(&format!("{}\n\n", settings_text(panel)));
        }
        let (shown, absent): (Vec<usize>, Vec<usize>) =
            (0..standings.metrics.len()).partition(|&metric| panel.has_metric(metric));
        let mut columns: Vec<Shown> = shown.into_iter().map(|metric| Shown::of(standings, panel, metric)).collect();
        while !columns.is_empty() {
            let mut room = WIDTH.saturating_sub(label);
            let count = columns
                .iter()
                .take_while(|column| {
                    let fits = column.width + GAP.len() <= room;
                    room = room.saturating_sub(column.width + GAP.len());
                    fits
                })
                .count()
                .max(1);
            let block: Vec<Shown> = columns.drain(..count).collect();
            for (place, name) in [""].iter().chain(&names).enumerate() {
                let cells = block.iter().map(|column| format!("{GAP}{}", column.cell_text(place)));
                text.push_str(format!("{name:<label$}{}", cells.collect::<String>()).trim_end());
                text.push('\n');
            }
            text.push('\n');
        }
        if !absent.is_empty() {
            let absent: Vec<&str> = absent.into_iter().map(|metric| standings.metrics[metric].name).collect();
            text.push_str(&wrap_lines(&format!("No run has a number for {}.", absent.join(", "))));
            text.push_str("\n\n");
        }
    }
    if !standings.others.is_empty() {
        let count = format_counted(standings.others.len() as u64, "more metric");
        let words = format!("One metric of each family; standings.csv has {count}, and `metrics = [...]` chooses.");
        text.push_str(&format!("{}\n\n", wrap_lines(&words)));
    }
    text
}

const GAP: &str = "  ";

/// A column of the terminal: its name, and a number per entrant.
struct Shown {
    cells: Vec<(String, bool)>,
    /// Includes the star.
    width: usize,
}

impl Shown {
    fn of(standings: &Standings, panel: &Panel, metric: usize) -> Shown {
        let digits = panel.mean_digits(metric);
        let name = (standings.metrics[metric].name.to_owned(), false);
        let cells: Vec<(String, bool)> = [name]
            .into_iter()
            .chain(panel.rows.iter().map(|row| match &row[metric].estimate {
                Some(estimate) => (digits.show_number(estimate.mean), row[metric].is_best),
                None => (NONE.to_owned(), false),
            }))
            .collect();
        let width = cells.iter().map(|(cell, _)| cell.chars().count()).max().unwrap_or(0) + 1;
        Shown { cells, width }
    }

    fn cell_text(&self, place: usize) -> String {
        let (cell, is_best) = &self.cells[place];
        format!("{cell:>width$}{}", if *is_best { "*" } else { " " }, width = self.width - 1)
    }
}

pub(super) fn settings_text(panel: &Panel) -> String {
    let settings: Vec<String> = panel.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    settings.join(", ")
}

/// `standings.csv`: a row per panel, entrant and metric.
pub fn standings_csv(standings: &Standings) -> String {
    let keys: Vec<&str> = standings
        .panels
        .first()
        .map_or_else(Vec::new, |panel| panel.settings.iter().map(|(key, _)| key.as_str()).collect());
    let columns = ["entrant", "metric", "runs", "mean", "within", "difference", "difference_within", "best"];
    let mut text = join_cells(keys.into_iter().chain(columns));
    for panel in &standings.panels {
        for (entrant, row) in standings.entrants.iter().zip(&panel.rows) {
            for (metric, cell) in standings.metrics.iter().zip(row) {
                let count = cell.estimate.map_or(0, |estimate| estimate.count).to_string();
                let mean = cell.estimate.map(|it| it.mean);
                let within = cell.estimate.and_then(|it| it.within);
                let by = cell.difference.map(|it| it.mean);
                let by_within = cell.difference.and_then(|it| it.within);
                let numbers = [exact_number(mean), exact_number(within), exact_number(by), exact_number(by_within)];
                let best = if cell.is_best { "1" } else { "0" };
                let fixed = panel.settings.iter().map(|(_, value)| value.as_str());
                let told = [entrant.name.as_str(), metric.name, &count].into_iter();
                text.push_str(&join_cells(fixed.chain(told).chain(numbers.iter().map(String::as_str)).chain([best])));
            }
        }
    }
    text
}

fn exact_number(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}
