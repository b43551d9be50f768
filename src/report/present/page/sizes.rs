//! Jobs in groups by the work they bring, from the smallest to the largest.

use super::Page;
use super::html::{format_counted, unbroken_number};
use crate::referee::tally::JobRow;
use crate::results::summary::work_micros;
use hansa_sim::grid::JobId;

/// Ten equal groups of jobs by (work, id), as the summary has them.
pub(super) fn work_tenths<'a>(jobs: impl Iterator<Item = &'a JobRow>) -> Vec<Vec<&'a JobRow>> {
    let rows = by_work(jobs);
    let tenths = (0..10).map(|tenth| &rows[tenth * rows.len() / 10..(tenth + 1) * rows.len() / 10]);
    tenths.filter(|tenth| !tenth.is_empty()).map(|tenth| tenth.iter().map(|(_, row)| *row).collect()).collect()
}

/// Label of an axis with a column per group.
pub(super) fn axis_of(groups: usize) -> &'static str {
    if groups < 10 { "job, by work" } else { "tenth of the jobs, by work" }
}

/// Groups of jobs, called so, in words.
pub(super) fn tenths_in_words(tenths: &[Vec<&JobRow>], jobs: &str) -> String {
    let (Some(first), Some(last)) = (tenths.first(), tenths.last()) else { return String::new() };
    let hours = |row: Option<&&JobRow>| unbroken_number(row.map_or(0, |row| work_micros(row)) as f64 / 3.6e9);
    let groups = match tenths.len() {
        10 => format!("The {jobs} in ten equal groups by their amount of work"),
        few => {
            format!("With {}, each is a group of its own, ordered by amount of work", format_counted(few as u64, "job"))
        }
    };
    format!("{groups}: from {} core hours in the first to {} in the last.", hours(first.first()), hours(last.last()))
}

/// Jobs, which come in the order of their numbers, by (work, id).
fn by_work<'a>(jobs: impl Iterator<Item = &'a JobRow>) -> Vec<(u128, &'a JobRow)> {
    let mut rows: Vec<(u128, &JobRow)> = jobs.map(|row| (work_micros(row), row)).collect();
    // The sort is stable.
    rows.sort_by_key(|(work, _)| *work);
    rows
}

/// Ten groups of jobs from those with the least work to those with the most, which bring equal work.
pub(super) struct WorkParts {
    /// The first job of each group, with its work.
    first: Vec<(u128, JobId)>,
    /// The number of each group: a job that brings the work of several leaves some empty.
    parts: Vec<usize>,
}

impl WorkParts {
    pub fn part_of(&self, row: &JobRow) -> usize {
        let own = (work_micros(row), row.job.id);
        let begun = self.first.partition_point(|first| *first <= own);
        begun.checked_sub(1).map_or(0, |place| self.parts[place])
    }
}

impl Page<'_> {
    pub(super) fn parts_of_work(&self) -> WorkParts {
        let rows = by_work(self.tally.jobs.values());
        let all: u128 = rows.iter().map(|(work, _)| work).sum();
        let mut groups = WorkParts { first: Vec::new(), parts: Vec::new() };
        let mut before = 0;
        for (work, row) in rows {
            let middle: u128 = before + work / 2;
            before += work;
            let part = (middle.saturating_mul(10) / all.max(1)).min(9) as usize;
            if groups.parts.last() != Some(&part) {
                groups.first.push((work, row.job.id));
                groups.parts.push(part);
            }
        }
        groups
    }
}
