//! The baseline against the waits that a log has recorded: how far to believe the rest.

use serde_json::{Value, json};

use super::super::by_group::{GroupTable, group_heads, list_groups};
use super::super::common::{ClusterSum, CommonJob, CommonJobs, JobQuantity, mean_of_clusters};
use super::super::log_facts::LogFacts;
use super::super::shown::{show_difference, show_estimate};
use super::super::table::{NamedTable, TableCell};
use super::Phases;
use crate::RunOutcomes;
use crate::experiment::figures::wrap_lines;
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::{format_count, format_number, format_span};

/// Comparison of the baseline with recorded waits.
pub(super) struct RecordedWaits {
    pub sentences: Vec<String>,
    pub table: Option<NamedTable>,
}

impl RecordedWaits {
    pub fn text(&self) -> String {
        let sentences = self.sentences.iter().map(|sentence| format!("{}\n", wrap_lines(sentence)));
        let table = self.table.as_ref().map(|table| format!("\n{}\n{}", table.title, table.text()));
        sentences.chain(table).collect()
    }

    pub fn json(&self) -> Value {
        json!({ "sentences": self.sentences, "table": self.table.as_ref().map(NamedTable::json) })
    }
}

/// Recorded wait and that of the baseline; None for jobs without the first.
fn both_waits(facts: &LogFacts, job: &CommonJob<'_>) -> Option<(f64, f64)> {
    Some((facts.recorded_wait(job)?, job.quantity_of(JobQuantity::Wait, 0)?))
}

/// Compares the waits of the baseline with those of the log; None if no log has any.
pub(super) fn compare_recorded(
    outcomes: &[Vec<&RunOutcomes>],
    facts: &LogFacts,
    phases: Phases,
) -> Option<RecordedWaits> {
    if !facts.has_waits() {
        return None;
    }
    let baseline: Vec<Vec<&RunOutcomes>> = outcomes.iter().map(|runs| vec![runs[0]]).collect();
    let common = phases.common_jobs(&baseline)?;
    let mut recorded: Vec<ClusterSum> = vec![(0.0, 0.0); common.clusters.len()];
    let mut own = recorded.clone();
    let mut errors = Vec::new();
    for (cluster, job) in common.in_clusters() {
        let Some((then, here)) = both_waits(facts, job) else { continue };
        recorded[cluster] = (recorded[cluster].0 + then, recorded[cluster].1 + 1.0);
        own[cluster] = (own[cluster].0 + here, own[cluster].1 + 1.0);
        errors.push((here - then).abs());
    }
    let then = mean_of_clusters(&recorded)?;
    let here = mean_of_clusters(&own)?;
    errors.sort_by(f64::total_cmp);
    let median = errors[errors.len() / 2];
    let jobs = format_count((errors.len() / phases.repeats()) as u64);
    let mut sentences = vec![format!(
        "The log records waits of {jobs} jobs, on average {} s. In the baseline these jobs wait {} s ({}). Half of them \
         wait within {} of what the log says.",
        format_number(then.mean.round()),
        show_estimate(&here, true).text,
        relative_error(here.mean, then.mean),
        format_span(median)
    )];
    sentences.push(lacking_sentence(facts));
    Some(RecordedWaits { sentences, table: recorded_table(&common, facts, phases) })
}

fn relative_error(here: f64, then: f64) -> String {
    if then <= 0.0 {
        return "no job waited in the log".to_owned();
    }
    let percent = 100.0 * (here - then) / then;
    format!("{percent:+.0} %")
}

/// Facts that a log lacks.
fn lacking_sentence(facts: &LogFacts) -> String {
    let log = if facts.has_accounting() { "A dump of sacct" } else { "A log" };
    let eligible = match facts.has_accounting() {
        true => " Waits count from the time at which a job became eligible, where the dump has it.",
        false => "",
    };
    format!(
        "{log} has no dependencies, holds, past reservations, nodes that were down, and jobs that were cancelled while they \
         waited, and the grid is empty when it begins: the error has these causes besides the model's own.{eligible} A \
         difference between changes that is smaller than this error may still be right, as all of them share it."
    )
}

fn recorded_table(common: &CommonJobs<'_>, facts: &LogFacts, phases: Phases) -> Option<NamedTable> {
    let names = ["log".to_owned(), "baseline".to_owned()];
    let numbers = |job: &CommonJob<'_>| match both_waits(facts, job) {
        Some((then, here)) => vec![Some(then), Some(here)],
        None => vec![None, None],
    };
    let table = GroupTable {
        names: &names,
        reference: 0,
        jobs: common,
        facts,
        numbers: &numbers,
        repeats: phases.repeats(),
        is_complete: true,
    };
    let groups = table.sort_all();
    let rows = list_groups(&groups, |group| {
        let then = Estimate { within: None, ..group.own_mean(0)? };
        let here = group.own_mean(1)?;
        let apart = group.difference(1).map_or_else(TableCell::none, |apart| show_difference(&apart));
        let percent = (then.mean > 0.0).then(|| 100.0 * (here.mean - then.mean) / then.mean);
        let percent = percent.map_or_else(TableCell::none, |percent| TableCell {
            text: format!("{percent:+.0}"),
            number: Some(percent),
            ..TableCell::default()
        });
        Some(vec![show_estimate(&then, false), show_estimate(&here, true), apart, percent])
    });
    let heads = group_heads(["log", "baseline", "error", "error, %"]);
    let notes = vec!["Mean waits in s; the error is the baseline less the log.".to_owned()];
    let title = "The baseline against the log";
    (!rows.is_empty()).then_some(NamedTable { name: "recorded", title, heads, rows, notes })
}
