//! Standings for terminals and for programs.

use super::super::answer::fold_columns;
use super::super::figures::wrap_lines;
use super::super::range::NONE;
use super::super::rows::{csv_number, join_cells};
use super::{Panel, Standings};
use hansa_sim::numerals::format_counted;

/// Width of a terminal in columns.
const WIDTH: usize = 100;

/// A table for a terminal: means, with a star beside those that are not significantly worse than the best. Columns that
/// do not fit continue below. Metrics of which no run has a number are only named.
pub fn entrants_table(standings: &Standings) -> String {
    let mut text = String::new();
    let names = standings.entrants.iter().map(|entrant| entrant.name.clone());
    let labels: [Vec<String>; 1] = [std::iter::once(String::new()).chain(names).collect()];
    for panel in &standings.panels {
        if !panel.settings.is_empty() {
            text.push_str(&format!("{}\n\n", settings_text(panel)));
        }
        let (shown, absent): (Vec<usize>, Vec<usize>) =
            (0..standings.metrics.len()).partition(|&metric| panel.has_metric(metric));
        let columns: Vec<Vec<String>> = shown.into_iter().map(|metric| list_means(standings, panel, metric)).collect();
        if !columns.is_empty() {
            fold_columns(&labels, columns, WIDTH).iter().for_each(|block| text.push_str(&format!("{block}\n")));
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

/// A column of the terminal: its name, and a mean per entrant, with a star beside the best.
fn list_means(standings: &Standings, panel: &Panel, metric: usize) -> Vec<String> {
    let digits = panel.mean_digits(metric);
    let means = panel.rows.iter().map(|row| match &row[metric].estimate {
        Some(estimate) if row[metric].is_best => format!("{}*", digits.show_number(estimate.mean)),
        Some(estimate) => format!("{} ", digits.show_number(estimate.mean)),
        None => format!("{NONE} "),
    });
    std::iter::once(format!("{} ", standings.metrics[metric].name)).chain(means).collect()
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
                let numbers = [csv_number(mean), csv_number(within), csv_number(by), csv_number(by_within)];
                let best = if cell.is_best { "1" } else { "0" };
                let fixed = panel.settings.iter().map(|(_, value)| value.as_str());
                let facts = [entrant.name.as_str(), metric.name, &count].into_iter();
                text.push_str(&join_cells(fixed.chain(facts).chain(numbers.iter().map(String::as_str)).chain([best])));
            }
        }
    }
    text
}
