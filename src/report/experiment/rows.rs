//! `runs.csv`: one row per run, one column per axis and per metric.

use super::file::Experiment;
use crate::field;

/// Record of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Number of the run, from 1.
    pub run: usize,
    /// Values of the axes, one per axis.
    pub values: Vec<String>,
    /// One per metric; None if the run has no such number.
    pub metrics: Vec<Option<f64>>,
    pub digest: String,
}

/// Columns of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub axes: Vec<String>,
    pub metrics: Vec<&'static str>,
}

impl Table {
    pub fn of(experiment: &Experiment) -> Table {
        Table {
            axes: experiment.axes.iter().map(|axis| axis.key.clone()).collect(),
            metrics: experiment.metrics.iter().map(|metric| metric.name).collect(),
        }
    }

    /// Header line of the table.
    pub fn header_line(&self) -> String {
        let axes = self.axes.iter().map(String::as_str);
        join_cells(["run"].into_iter().chain(axes).chain(self.metrics.iter().copied()).chain(["digest"]))
    }

    pub fn row_line(&self, row: &RunRow) -> String {
        let metrics: Vec<String> = row.metrics.iter().map(|n| n.map_or(String::new(), |n| n.to_string())).collect();
        let values = row.values.iter().chain(&metrics).map(String::as_str);
        join_cells([row.run.to_string().as_str()].into_iter().chain(values).chain([row.digest.as_str()]))
    }

    /// Parses a line; None if it is not a complete row of this table.
    pub fn parse_row(&self, line: &str) -> Option<RunRow> {
        let (cells, is_closed) = split_cells(line.strip_suffix('\n')?);
        if !is_closed || cells.len() != self.axes.len() + self.metrics.len() + 2 {
            return None;
        }
        let (axes, metrics) = cells[1..cells.len() - 1].split_at(self.axes.len());
        let digest = cells.last()?.clone();
        (digest.len() == DIGEST).then_some(())?;
        Some(RunRow {
            run: cells[0].parse().ok()?,
            values: axes.to_vec(),
            metrics: metrics
                .iter()
                .map(|cell| if cell.is_empty() { Some(None) } else { cell.parse().ok().map(Some) })
                .collect::<Option<_>>()?,
            digest,
        })
    }

    /// Column of an axis.
    pub fn axis(&self, key: &str) -> Option<usize> {
        self.axes.iter().position(|axis| axis == key)
    }
}

/// Length of a digest, in letters.
pub const DIGEST: usize = 32;

pub fn join_cells<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.map(field).collect();
    format!("{}\n", cells.join(","))
}

/// A number as a cell; empty if there is none.
pub fn csv_number(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// Cells of a row, and true if all of its quotes are closed.
pub fn split_cells(row: &str) -> (Vec<String>, bool) {
    let mut cells = vec![String::new()];
    if !row.contains('"') {
        split_plain_cells(row, &mut cells);
        return (cells, true);
    }
    let mut inside = false;
    let mut letters = row.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(cell) = cells.last_mut() else { break };
        match letter {
            '"' if inside && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => inside = !inside,
            ',' if !inside => cells.push(String::new()),
            letter => cell.push(letter),
        }
    }
    (cells, !inside)
}

/// Splits a row without quotes, into the memory of an earlier row.
pub fn split_plain_cells(row: &str, cells: &mut Vec<String>) {
    let mut count = 0;
    let mut begin = 0;
    let commas = row.bytes().enumerate().filter(|(_, byte)| *byte == b',').map(|(at, _)| at);
    for end in commas.chain([row.len()]) {
        if count == cells.len() {
            cells.push(String::new());
        }
        cells[count].clear();
        cells[count].push_str(&row[begin..end]);
        count += 1;
        begin = end + 1;
    }
    cells.truncate(count);
}
