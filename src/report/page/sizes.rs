//! Jobs in groups by the work they bring, from the smallest to the largest.

use std::collections::BTreeMap;

use super::Page;
use super::html::{counted, number};
use crate::grid::JobId;
use crate::report::Tally;
use crate::report::summary::work;
use crate::report::tally::JobRow;

/// Ten equal groups of jobs by (work, id), as the summary has them.
pub(super) fn tenths(tally: &Tally) -> Vec<Vec<&JobRow>> {
    let mut rows: Vec<&JobRow> = tally.jobs.values().collect();
    rows.sort_by_key(|row| (work(row), row.job.id));
    let tenth = |tenth: usize| rows[tenth * rows.len() / 10..(tenth + 1) * rows.len() / 10].to_vec();
    (0..10).map(tenth).filter(|tenth| !tenth.is_empty()).collect()
}

impl Page<'_> {
    pub(super) fn tenths_in_words(&self) -> String {
        let (Some(first), Some(last)) = (self.tenths.first(), self.tenths.last()) else { return String::new() };
        let hours = |row: Option<&&JobRow>| number(row.map_or(0, |row| work(row)) as f64 / 3.6e9);
        let groups = match self.tenths.len() {
            10 => "The jobs in ten equal groups by their amount of work".to_owned(),
            few => {
                format!("With {}, each is a group of its own, ordered by amount of work", counted(few as u64, "job"))
            }
        };
        format!(
            "{groups}: from {} core hours in the first to {} in the last.",
            hours(first.first()),
            hours(last.last())
        )
    }

    /// Ten groups of jobs from those with the least work to those with the most, which bring equal work.
    pub(super) fn parts_of_work(&self) -> BTreeMap<JobId, usize> {
        let all: u128 = self.tenths.iter().flatten().map(|row| work(row)).sum();
        let mut before = 0;
        let jobs = self.tenths.iter().flatten().map(|row| {
            let middle = before + work(row) / 2;
            before += work(row);
            (row.job.id, (middle.saturating_mul(10) / all.max(1)).min(9) as usize)
        });
        jobs.collect()
    }
}
