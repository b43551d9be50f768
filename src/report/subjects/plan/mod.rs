//! A plan for people and for other programs: as a table, as JSON, as a picture.

mod choices;
mod gantt;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::ops::Range;

use crate::present::table::shorten_text;
use hansa_sim::settings::{format_counted, make_printable};
use hansa_sim::systems::plans::{Planned, Schedule, TaskRow, TransferRow};

pub fn plan_json(plan: &Planned) -> String {
    format!("{}\n", serde_json::to_string_pretty(plan).expect("names and numbers are JSON"))
}

/// Text for a terminal.
pub fn plan_table(plan: &Planned) -> String {
    match plan {
        Planned::Schedule(schedule) => of_schedule(schedule),
        Planned::Choices(choices) => choices::choices_table(choices),
    }
}

/// A picture as SVG: cores and links over time, or cost against makespan.
pub fn plan_picture(plan: &Planned) -> String {
    match plan {
        Planned::Schedule(schedule) => gantt::gantt_picture(schedule).into(),
        Planned::Choices(choices) => choices::scatter_picture(choices).into(),
    }
}

/// Tasks in order of their start, then transfers.
fn of_schedule(plan: &Schedule) -> String {
    let mut text = format!(
        "{} on {}, planned by {}: {} s planned, {} s on the shared network\n",
        make_printable(&plan.workflow),
        format_counted(plan.sites.len() as u64, "site"),
        plan.policy,
        format_number(plan.planned),
        format_number(plan.realistic)
    );
    if plan.rounds.len() > 1 {
        let first = plan.rounds[0];
        let circle = plan.cycle.map_or(String::new(), |cycle| match cycle.period {
            1 => format!("; from {} on, plans are the same", cycle.first),
            period => format!("; from {} on, {period} plans repeat in a cycle", cycle.first),
        });
        let _ = writeln!(
            text,
            "plan {} of {}, the first of which takes {} s{circle}",
            plan.best,
            plan.rounds.len(),
            format_number(first.realistic)
        );
    }
    let rows = task_rows(plan);
    text.push_str(&aligned_columns(
        &["task", "site", "cores", "planned (s)", "to (s)", "starts (s)", "ends (s)"],
        &rows,
        3..7,
    ));
    if !plan.transfers.is_empty() {
        let volume = format!("volume ({})", plan.data);
        let heads = ["from", "to", &volume, "released (s)", "there (s)", "links"];
        text.push_str(&aligned_columns(&heads, &transfer_rows(plan), 2..5));
    }
    text
}

fn task_rows(plan: &Schedule) -> Vec<Vec<String>> {
    let mut order: Vec<&TaskRow> = plan.tasks.iter().collect();
    order.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.site.cmp(&b.site)).then(a.cores.cmp(&b.cores)));
    order
        .into_iter()
        .map(|task| {
            let cores: Vec<String> = task.cores.iter().map(u32::to_string).collect();
            let times = [task.planned_start, task.planned_end, task.start, task.end].map(format_number);
            [make_printable(&task.name), plan.sites[task.site].name.clone(), cores.join(" ")]
                .into_iter()
                .chain(times)
                .collect()
        })
        .collect()
}

fn transfer_rows(plan: &Schedule) -> Vec<Vec<String>> {
    let mut order: Vec<&TransferRow> = plan.transfers.iter().collect();
    order.sort_by(|a, b| a.release.total_cmp(&b.release).then((a.from, a.to).cmp(&(b.from, b.to))));
    order
        .into_iter()
        .map(|transfer| {
            let links: Vec<&str> = transfer.links.iter().map(|link| plan.links[*link as usize].as_str()).collect();
            let numbers = [transfer.volume, transfer.release, transfer.end].map(format_number);
            [task_name(transfer.from, plan), task_name(transfer.to, plan)]
                .into_iter()
                .chain(numbers)
                .chain([links.join(", ")])
                .collect()
        })
        .collect()
}

fn task_name(task: usize, plan: &Schedule) -> String {
    make_printable(&plan.tasks[task].name)
}

/// At most six decimals, and none that are zero.
fn format_number(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Columns as wide as they must be; numbers to the right, with as many decimals as the one that needs most, words to
/// the left, and those behind the numbers whole, however long they are.
fn aligned_columns(heads: &[&str], rows: &[Vec<String>], numbers: Range<usize>) -> String {
    let rows = &align_decimals(rows, &numbers);
    let widths: Vec<usize> = (0..heads.len()).map(|column| column_width(column, heads, rows)).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            _ if numbers.contains(&column) => format!("{:>width$}", shorten_text(cell, width)),
            _ if column < numbers.start => format!("{:<width$}", shorten_text(cell, width)),
            _ => cell.to_owned(),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = format!("\n{}", line(&mut heads.iter().copied()));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

fn column_width(column: usize, heads: &[&str], rows: &[Vec<String>]) -> usize {
    let cells = rows.iter().map(|row| row[column].chars().count());
    cells.chain([heads[column].chars().count()]).max().unwrap_or(0).min(WIDEST)
}

fn align_decimals(rows: &[Vec<String>], numbers: &Range<usize>) -> Vec<Vec<String>> {
    let most: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(|column| most_decimals(column, rows)).collect();
    rows.iter()
        .map(|row| {
            row.iter()
                .enumerate()
                .map(|(column, cell)| match most[column] {
                    most if !numbers.contains(&column) || most == 0 => cell.clone(),
                    most => {
                        let point = if cell.contains('.') { "" } else { "." };
                        format!("{cell}{point}{}", "0".repeat(most - count_decimals(cell)))
                    }
                })
                .collect()
        })
        .collect()
}

fn most_decimals(column: usize, rows: &[Vec<String>]) -> usize {
    rows.iter().map(|row| count_decimals(&row[column])).max().unwrap_or(0)
}

fn count_decimals(cell: &str) -> usize {
    cell.split_once('.').map_or(0, |(_, fraction)| fraction.len())
}

const WIDEST: usize = 40;
