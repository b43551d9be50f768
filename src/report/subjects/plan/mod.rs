//! A plan for people and for other programs: as a table, as JSON, as a picture.

mod gantt;
#[cfg(test)]
mod tests;

use std::fmt::Write;

use serde::Serialize;

use crate::systems::heft::{Cycle, Improved, Problem, Round};

pub use gantt::gantt;

/// What a plan is about, by the names that people know. All times are seconds since the workflow came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanReport {
    pub workflow: String,
    pub policy: &'static str,
    /// When the last task would end if no transfers shared a link.
    pub planned: f64,
    /// When it ends on the network that there is.
    pub realistic: f64,
    /// Every plan that was made.
    pub rounds: Vec<RoundTimes>,
    /// Which of them this is.
    pub best: usize,
    pub cycle: Option<CycleTold>,
    pub sites: Vec<SiteRow>,
    pub tasks: Vec<TaskRow>,
    pub transfers: Vec<TransferRow>,
    pub links: Vec<String>,
    /// The unit of volumes.
    pub data: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundTimes {
    pub planned: f64,
    pub realistic: f64,
}

/// From plan `first` on, the same `period` plans come again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CycleTold {
    pub first: usize,
    pub period: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRow {
    pub name: String,
    pub cores: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskRow {
    pub name: String,
    pub site: usize,
    /// Of the site, counted from 0.
    pub cores: Vec<u32>,
    pub planned_start: f64,
    pub planned_end: f64,
    pub start: f64,
    pub end: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransferRow {
    /// Tasks by their places in the list.
    pub from: usize,
    pub to: usize,
    /// Bytes; in a table of costs, seconds at full capacity.
    pub volume: f64,
    /// By their places in the list.
    pub links: Vec<u32>,
    pub release: f64,
    pub end: f64,
}

/// How a problem's names are known.
pub struct Known<'n> {
    pub workflow: &'n str,
    pub policy: &'static str,
    pub tasks: Vec<&'n str>,
    pub sites: Vec<&'n str>,
    /// By the problem's links.
    pub links: Vec<String>,
    /// How many of the problem's units of time are a second: the nearest number to a whole microsecond is then printed as one.
    pub unit: f64,
    /// In which unit the problem has its data.
    pub data: &'static str,
}

impl PlanReport {
    pub fn new(problem: &Problem, improved: &Improved, known: Known<'_>) -> PlanReport {
        let seconds = |time: f64| time / known.unit;
        let mut first = vec![0u32];
        for cores in problem.cores() {
            first.push(first[first.len() - 1] + cores);
        }
        let tasks = improved.schedule.placed.iter().zip(&improved.replay.tasks).zip(&known.tasks);
        let tasks = tasks.map(|((placed, &(start, end)), name)| TaskRow {
            name: (*name).to_owned(),
            site: placed.site as usize,
            cores: placed.cores.iter().map(|core| core - first[placed.site as usize]).collect(),
            planned_start: seconds(placed.start),
            planned_end: seconds(placed.end),
            start: seconds(start),
            end: seconds(end),
        });
        let site = |task: u32| improved.schedule.placed[task as usize].site as usize;
        let transfers = problem.edges().zip(&improved.replay.moved).filter_map(|((from, to, volume), moved)| {
            let moved = (*moved)?;
            Some(TransferRow {
                from: from as usize,
                to: to as usize,
                volume,
                links: problem.paths().route(site(from), site(to)).iter().map(|link| link.0).collect(),
                release: seconds(moved.release),
                end: seconds(moved.end),
            })
        });
        let round = |round: &Round| RoundTimes { planned: seconds(round.planned), realistic: seconds(round.realistic) };
        let sites = known.sites.iter().zip(problem.cores());
        PlanReport {
            workflow: known.workflow.to_owned(),
            policy: known.policy,
            planned: seconds(improved.schedule.makespan),
            realistic: seconds(improved.replay.makespan),
            rounds: improved.rounds.iter().map(round).collect(),
            best: improved.best,
            cycle: improved.cycle.map(|Cycle { first, period }| CycleTold { first, period }),
            sites: sites.map(|(name, &cores)| SiteRow { name: (*name).to_owned(), cores }).collect(),
            tasks: tasks.collect(),
            transfers: transfers.collect(),
            links: known.links,
            data: known.data,
        }
    }

    pub fn json(&self) -> String {
        format!("{}\n", serde_json::to_string_pretty(self).expect("names and numbers are JSON"))
    }

    /// For a terminal: tasks in order of their start, then transfers.
    pub fn table(&self) -> String {
        let mut text = format!(
            "{} on {} sites, planned by {}: {} s planned, {} s on the shared network\n",
            self.workflow,
            self.sites.len(),
            self.policy,
            number(self.planned),
            number(self.realistic)
        );
        if self.rounds.len() > 1 {
            let first = self.rounds[0];
            let circle = self.cycle.map_or(String::new(), |cycle| {
                format!("; from {} on, {} plans come again and again", cycle.first, cycle.period)
            });
            let _ = writeln!(
                text,
                "plan {} of {}, the first of which takes {} s{circle}",
                self.best,
                self.rounds.len(),
                number(first.realistic)
            );
        }
        let rows = self.task_rows();
        text.push_str(&columns(
            &["task", "site", "cores", "planned (s)", "to (s)", "starts (s)", "ends (s)"],
            &rows,
            3,
        ));
        if !self.transfers.is_empty() {
            let volume = format!("volume ({})", self.data);
            let heads = ["from", "to", "links", &volume, "released (s)", "there (s)"];
            text.push_str(&columns(&heads, &self.transfer_rows(), 3));
        }
        text
    }

    fn task_rows(&self) -> Vec<Vec<String>> {
        let mut order: Vec<&TaskRow> = self.tasks.iter().collect();
        order.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.site.cmp(&b.site)).then(a.cores.cmp(&b.cores)));
        let row = |task: &TaskRow| {
            let cores: Vec<String> = task.cores.iter().map(u32::to_string).collect();
            let times = [task.planned_start, task.planned_end, task.start, task.end].map(number);
            [task.name.clone(), self.sites[task.site].name.clone(), cores.join(" ")].into_iter().chain(times).collect()
        };
        order.into_iter().map(row).collect()
    }

    fn transfer_rows(&self) -> Vec<Vec<String>> {
        let mut order: Vec<&TransferRow> = self.transfers.iter().collect();
        order.sort_by(|a, b| a.release.total_cmp(&b.release).then((a.from, a.to).cmp(&(b.from, b.to))));
        let row = |transfer: &TransferRow| {
            let name = |task: usize| self.tasks[task].name.clone();
            let links: Vec<&str> = transfer.links.iter().map(|link| self.links[*link as usize].as_str()).collect();
            let numbers = [transfer.volume, transfer.release, transfer.end].map(number);
            [name(transfer.from), name(transfer.to), links.join(", ")].into_iter().chain(numbers).collect()
        };
        order.into_iter().map(row).collect()
    }
}

/// At most six decimals, and none that are zero.
fn number(number: f64) -> String {
    let text = format!("{number:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Columns as wide as they must be; the first `words` to the left, numbers to the right, with as many decimals as the one
/// that needs most.
fn columns(heads: &[&str], rows: &[Vec<String>], words: usize) -> String {
    let rows = &aligned(rows, words);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].chars().count()]).max().unwrap_or(0).min(WIDEST)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells = cells.zip(&widths).enumerate().map(|(column, (cell, &width))| {
            let cell = shortened(cell, width);
            if column < words { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = format!("\n{}", line(&mut heads.iter().copied()));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

fn aligned(rows: &[Vec<String>], words: usize) -> Vec<Vec<String>> {
    let decimals = |cell: &str| cell.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let most = |column: usize| rows.iter().map(|row| decimals(&row[column])).max().unwrap_or(0);
    let most: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(most).collect();
    let cell = |(column, cell): (usize, &String)| match most[column] {
        most if column < words || most == 0 => cell.clone(),
        most => {
            let point = if cell.contains('.') { "" } else { "." };
            format!("{cell}{point}{}", "0".repeat(most - decimals(cell)))
        }
    };
    rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect()
}

const WIDEST: usize = 40;

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width - 3).collect();
    format!("{start}...")
}
