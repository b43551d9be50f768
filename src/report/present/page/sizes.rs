//! Jobs in groups by the work they bring, from the smallest to the largest.

use std::collections::BTreeMap;

use super::Page;
use super::html::{format_counted, unbroken_number};
use crate::referee::tally::JobRow;
use crate::results::summary::work_micros;
use hansa_sim::grid::JobId;

/// Ten equal groups of jobs by (work, id), as the summary has them.
pub(super) fn work_tenths<'a>(jobs: impl Iterator<Item = &'a JobRow>) -> Vec<Vec<&'a JobRow>> {
    let rows = by_work(jobs);
    let tenth = |tenth: usize| rows[tenth * rows.len() / 10..(tenth + 1) * rows.len() / 10].to_vec();
    (0..10).map(tenth).filter(|tenth| !tenth.is_empty()).collect()
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

fn by_work<'a>(jobs: impl Iterator<Item = &'a JobRow>) -> Vec<&'a JobRow> {
    let mut rows: Vec<&JobRow> = jobs.collect();
    rows.sort_by_key(|row| (work_micros(row), row.job.id));
    rows
}

impl Page<'_> {
    /// Ten groups of jobs from those with the least work to those with the most, which bring equal work.
    pub(super) fn parts_of_work(&self) -> BTreeMap<JobId, usize> {
        let rows = by_work(self.tally.jobs.values());
        let all: u128 = rows.iter().map(|row| work_micros(row)).sum();
        let mut before = 0;
        let jobs = rows.iter().map(|row| {
            let middle = before + work_micros(row) / 2;
            before += work_micros(row);
            (row.job.id, (middle.saturating_mul(10) / all.max(1)).min(9) as usize)
        });
        BTreeMap::from_iter(jobs)
    }
}
