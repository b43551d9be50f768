//! "The longest waits": whose first task took longest to start.

use super::Page;
use super::html::{Digits, format_count, format_counted, moment_text, table_html, unbroken_micros};
use super::value::maximum_worth;
use crate::markup::{Html, cells, html};
use crate::present::why::SharedRun;
use crate::referee::tally::{JobRow, Standing};
use crate::results::summary::work_micros;

const LONGEST: usize = 12;

impl Page<'_> {
    pub(super) fn longest_waits(&self) -> Html {
        let mut waits: Vec<(u64, &JobRow)> = self
            .tally
            .jobs
            .values()
            .filter(|row| row.standing() != Standing::Refused)
            .map(|row| {
                let until = row.start().or(row.given_up()).unwrap_or(self.tally.last);
                (until.since(row.earliest_start()).micros(), row)
            })
            .collect();
        // Equal waits stay in the order of jobs.
        waits.sort_by_key(|(wait, _)| std::cmp::Reverse(*wait));
        if waits.first().is_none_or(|(wait, _)| *wait == 0) {
            let mut tasks = self.tally.jobs.values().flat_map(|row| &row.tasks);
            let later = match tasks.any(|task| SharedRun::of(task, self.tally.last).is_some()) {
                true => " Later some were paused, moved or lost, or shared their cores.",
                false => "",
            };
            return html!("<p>No job had to wait for its first task to start.{later}</p>\n", later);
        }
        let all = waits.len();
        let or_not = match waits.iter().all(|(_, row)| row.start().is_some()) {
            true => "",
            false => ", or, where it never did, until it was given up or the log ended",
        };
        let hours = |row: &JobRow| work_micros(row) as f64 / 3.6e9 * self.tally.part_of_nodes(row);
        let digits = Digits::for_numbers(waits.iter().take(LONGEST).map(|(_, row)| hours(row)));
        let values = Digits::for_numbers(
            waits.iter().take(LONGEST).flat_map(|(_, row)| [row.value().unwrap_or(0.0), maximum_worth(row)]),
        );
        let rows = waits.iter().take(LONGEST).map(|(wait, row)| {
            cells![
                self.story_link(row, *wait),
                self.tally.names.of_actor(row.user),
                moment_text(row.earliest_start()),
                unbroken_micros(*wait),
                format_count(match row.job.tasks.first() {
                    Some(task) if self.tally.has_only_single_tasks() => task.cores.into(),
                    _ => row.tasks.len() as u64,
                }),
                digits.show_number(hours(row)),
                match row.value() {
                    Some(value) =>
                        format!("{} of {}", values.show_number(value), values.show_number(maximum_worth(row))),
                    None => "–".to_owned(),
                },
                self.outcome_of(row),
            ]
        });
        let (from, since) = self.tally.report_words().wanted;
        let (tasks, started) = match self.tally.has_only_single_tasks() {
            true => ("#Nodes", "the job started"),
            false => ("#Tasks", "the first task of the job started"),
        };
        let value = if self.has_worth() { "#Value" } else { "" };
        let columns = ["#Job", "User", &format!("#{from}"), "#Waited", tasks, "#Core hours", value, "Outcome"];
        let rows = table_html(&columns, rows);
        html!(
            "<p>From {since} until {started}{or_not}: the {} longest of {}.</p>\n{rows}",
            LONGEST.min(all),
            format_counted(all as u64, "job"),
            [since, started, or_not, rows]
        )
    }

    /// State of a job in words.
    fn outcome_of(&self, row: &JobRow) -> String {
        let slr = row.slr().filter(|_| !self.results.has_only_single_tasks());
        match (row.start(), row.standing(), slr) {
            (_, Standing::Finished, Some(slr)) => format!("finished, SLR {slr:.2}"),
            (_, Standing::Finished, None) => "finished".to_owned(),
            (_, Standing::Killed, _) => "killed at its walltime".to_owned(),
            (_, Standing::Preempted, _) => "ended for another job".to_owned(),
            (None, Standing::Removed, _) if row.is_cancelled() => "never started, taken back".to_owned(),
            (None, Standing::Removed, _) => "never started, given up".to_owned(),
            (Some(_), Standing::Removed, _) => "started, then given up".to_owned(),
            (None, ..) => "not started yet".to_owned(),
            (Some(_), ..) => "not finished yet".to_owned(),
        }
    }
}
