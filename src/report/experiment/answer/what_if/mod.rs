//! The answer to "whose waits change by how much": a grid as it is, the baseline, beside changes of it, on the same
//! jobs in several phases.
//!
//! A phase submits all jobs a little later, so that they meet a scheduler that works in cycles at another moment of its
//! cycles. Differences are paired phase by phase, and intervals are over phases. Where no phase changes any wait, as
//! under policies that only react to events, one phase stands for all, and intervals are over parts of the log.

mod page;
mod recorded;
mod sentences;
mod starts;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use self::recorded::{RecordedWaits, compare_recorded};
use self::sentences::{group_sentence, method_sentences, verdict_sentence};
use self::starts::Starts;
use super::by_group::{GroupTable, SortedGroups, group_heads, list_groups, quantity_numbers};
use super::common::{ClusterSum, CommonJobs, JobQuantity, mean_difference, mean_of_clusters};
use super::log_facts::LogFacts;
use super::shown::{show_difference, show_estimate};
use super::table::{Mark, NamedTable, TableCell, TableHead};
use super::{Contest, work};
use crate::RunOutcomes;
use crate::experiment::figures::wrap_lines;
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::format_counted;

/// Runs of a baseline and of changes of it. Contender 0 of the contest is the baseline; its repetitions are phases.
pub struct WhatIf<'a> {
    /// Name of the topology.
    pub name: String,
    pub contest: Contest<'a>,
    /// Digests of the runs of each phase, by contender.
    pub digests: Vec<Vec<String>>,
    pub facts: &'a LogFacts,
    /// Facts about each change, in the order of the contenders.
    pub changes: Vec<ChangeFacts>,
}

/// A change of the baseline, as its user wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeFacts {
    pub name: String,
    /// Path of its file.
    pub file: String,
    pub about: Option<String>,
    /// Settings, or lines that it removes and adds.
    pub lines: Vec<String>,
}

/// Basis of intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phases {
    /// Several phases that differ in some wait.
    Differ(usize),
    /// Several phases with equal waits: intervals are over parts of the log.
    Agree(usize),
    /// One phase, which has no intervals.
    Single,
}

impl Phases {
    fn of(outcomes: &[Vec<&RunOutcomes>]) -> Phases {
        match outcomes {
            [_] => Phases::Single,
            [first, others @ ..] if others.iter().all(|other| have_equal_waits(first, other)) => {
                Phases::Agree(outcomes.len())
            }
            _ => Phases::Differ(outcomes.len()),
        }
    }

    /// Number of clusters that have the same jobs.
    fn repeats(self) -> usize {
        if let Phases::Differ(count) = self { count } else { 1 }
    }

    /// Jobs of a phase in all runs, in clusters for intervals. None if they cannot be matched.
    fn common_jobs<'a>(self, outcomes: &[Vec<&'a RunOutcomes>]) -> Option<CommonJobs<'a>> {
        match self {
            Phases::Differ(_) => CommonJobs::of(outcomes),
            Phases::Agree(_) => CommonJobs::of(&outcomes[..1]),
            Phases::Single => CommonJobs::of(outcomes).map(CommonJobs::without_parts),
        }
    }
}

/// True if each job waits as long, and ends in the same way, in the runs of two phases.
fn have_equal_waits(one: &[&RunOutcomes], other: &[&RunOutcomes]) -> bool {
    let are_equal = |(one, other): (&&RunOutcomes, &&RunOutcomes)| {
        let pairs = one.jobs.iter().zip(&other.jobs);
        one.jobs.len() == other.jobs.len()
            && pairs.clone().all(|(a, b)| a.log == b.log && a.end == b.end && a.wait() == b.wait())
    };
    one.iter().zip(other).all(are_equal)
}

/// The answer: sentences, tables and pictures as values, for a terminal, a page and programs.
pub struct WhatIfAnswer {
    name: String,
    /// A sentence or two for each change.
    verdicts: Vec<String>,
    /// Sentences about the basis of the numbers.
    method: Vec<String>,
    warnings: Vec<String>,
    waits: NamedTable,
    by_group: Option<NamedTable>,
    work: Option<NamedTable>,
    recorded: Option<RecordedWaits>,
    starts: Option<Starts>,
    changes: Vec<ChangeFacts>,
    names: Vec<String>,
    groups: Vec<SortedGroups>,
}

/// Waits of all contenders over the jobs that ended in the same way under all of them.
struct WaitSums {
    /// Sums per contender and cluster.
    own: Vec<Vec<ClusterSum>>,
}

impl WaitSums {
    fn mean(&self, contender: usize) -> Option<Estimate> {
        mean_of_clusters(&self.own[contender])
    }

    fn difference(&self, contender: usize) -> Option<Estimate> {
        mean_difference(&self.own[contender], &self.own[0])
    }
}

/// Makes the answer. None if the jobs of some run are not kept, or no job ended in the same way in all runs.
/// O(jobs log jobs + contenders * jobs * groups).
pub fn answer_what_if(what_if: WhatIf<'_>) -> Option<WhatIfAnswer> {
    let contest = &what_if.contest;
    let outcomes = contest.run_outcomes()?;
    let phases = Phases::of(&outcomes);
    let common = phases.common_jobs(&outcomes)?;
    let contenders = contest.names.len();
    let sums = WaitSums { own: common.quantity_sums(JobQuantity::Wait, contenders) };
    let numbers = quantity_numbers(JobQuantity::Wait, contenders);
    let table = GroupTable {
        names: &contest.names,
        reference: 0,
        jobs: &common,
        facts: what_if.facts,
        numbers: &numbers,
        repeats: phases.repeats(),
        is_complete: true,
    };
    let groups = table.sort_all();
    let mut verdicts = Vec::new();
    for contender in 1..contenders {
        let is_idle = what_if.digests.iter().all(|digests| digests[contender] == digests[0]);
        let mut verdict = verdict_sentence(&contest.names[contender], is_idle, &sums, contender);
        if let Some(sentence) = group_sentence(&groups, contender).filter(|_| !is_idle) {
            verdict = format!("{verdict} {sentence}");
        }
        verdicts.push(verdict);
    }
    let work_sums = work::work_of(contest);
    let work_sums = work_sums.as_deref();
    let mut warnings = work_sums.map_or_else(Vec::new, |sums| work::work_warnings(contest, sums, Some(&common)));
    warnings.extend(uncommon_note(&common));
    warnings.extend(never_ended_note(&common, phases));
    let has_lost_work = work_sums.is_some_and(work::work_differs);
    Some(WhatIfAnswer {
        verdicts,
        method: method_sentences(phases, &common),
        warnings,
        waits: waits_table(contest, &common, &sums, phases),
        by_group: group_table(&table, &groups, phases),
        work: work_sums.filter(|_| has_lost_work).map(|sums| work::work_table(contest, sums, Some(&common))),
        starts: Starts::of(&contest.names, &common, phases),
        recorded: compare_recorded(&outcomes, what_if.facts, phases),
        names: contest.names.clone(),
        name: what_if.name,
        changes: what_if.changes,
        groups,
    })
}

/// Sentence about jobs that are in no mean. None if there are none.
fn uncommon_note(common: &CommonJobs<'_>) -> Option<String> {
    (common.others > 0).then(|| {
        format!(
            "{} ended in some runs only, or were killed in some only, and count in no mean here.",
            format_counted(common.others, "job")
        )
    })
}

/// Sentence about jobs that ended in no run. None if there are none.
fn never_ended_note(common: &CommonJobs<'_>, phases: Phases) -> Option<String> {
    let jobs = common.never_ended.div_ceil(phases.repeats() as u64);
    (jobs > 0).then(|| {
        format!(
            "{} ended in no run (rejected by a site, or unfinished at the end of the run) and count in no mean here.",
            format_counted(jobs, "job")
        )
    })
}

/// Means and percentiles of the waits: a row per contender.
fn waits_table(contest: &Contest<'_>, common: &CommonJobs<'_>, sums: &WaitSums, phases: Phases) -> NamedTable {
    let mut heads = vec![TableHead::label("Variant")];
    heads.extend(["mean wait, s", "difference", "median", "95th percentile", "longest"].map(TableHead::number));
    let mut rows = Vec::new();
    for (contender, name) in contest.names.iter().enumerate() {
        let mut row = vec![TableCell::text(name.as_str())];
        row.push(sums.mean(contender).map_or_else(TableCell::none, |mean| show_estimate(&mean, true)));
        let apart = sums.difference(contender).filter(|_| contender > 0);
        row.push(apart.map_or_else(TableCell::none, |apart| show_difference(&apart).with_mark(mark_of(&apart))));
        for share in [0.5, 0.95, 1.0] {
            let of_phases: Vec<f64> = phase_percentiles(common, contender, share, phases);
            row.push(Estimate::of(&of_phases).map_or_else(TableCell::none, |mean| show_estimate(&mean, false)));
        }
        rows.push(row);
    }
    NamedTable { name: "waits", title: "Waits", heads, rows, notes: Vec::new() }
}

/// Percentile of the waits under a contender in each phase.
fn phase_percentiles(common: &CommonJobs<'_>, contender: usize, share: f64, phases: Phases) -> Vec<f64> {
    let mut of_phases: Vec<Vec<f64>> = vec![Vec::new(); phases.repeats()];
    for (cluster, job) in common.in_clusters() {
        let phase = if phases.repeats() > 1 { cluster } else { 0 };
        of_phases[phase].extend(job.quantity_of(JobQuantity::Wait, contender));
    }
    of_phases.retain(|waits| !waits.is_empty());
    let percentile = |mut waits: Vec<f64>| {
        waits.sort_by(f64::total_cmp);
        let rank = (share * waits.len() as f64).ceil() as usize;
        waits[rank.clamp(1, waits.len()) - 1]
    };
    of_phases.into_iter().map(percentile).collect()
}

/// Emphasis of a difference of waits.
fn mark_of(apart: &Estimate) -> Mark {
    match apart.is_significant() {
        true if apart.mean < 0.0 => Mark::Better,
        true => Mark::Worse,
        false => Mark::Plain,
    }
}

/// Differences of the mean waits of groups: a row per group. None without groups.
fn group_table(table: &GroupTable<'_>, groups: &[SortedGroups], phases: Phases) -> Option<NamedTable> {
    let changes = &table.names[1..];
    let mut tests = 0;
    let rows = list_groups(groups, |group| {
        let mut cells = vec![group.own_mean(0).map_or_else(TableCell::none, |mean| show_estimate(&mean, true))];
        for contender in 1..=changes.len() {
            let apart = group.difference(contender);
            tests += u64::from(apart.is_some_and(|apart| apart.within.is_some()));
            cells.push(apart.map_or_else(TableCell::none, |apart| show_difference(&apart).with_mark(mark_of(&apart))));
        }
        Some(cells)
    });
    let heads = group_heads(["baseline"].into_iter().chain(changes.iter().map(String::as_str)));
    let mut notes = vec![
        "The column baseline has mean waits in s, those of the changes have differences from it: positive is a longer wait."
            .to_owned(),
    ];
    notes.extend(table.basis_note(tests).filter(|_| phases != Phases::Single));
    (!rows.is_empty()).then_some(NamedTable { name: "for_whom", title: "Whose waits change", heads, rows, notes })
}

impl WhatIfAnswer {
    /// The answer for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let warnings = self.warnings.iter().map(|warning| format!("Warning: {warning}"));
        for sentence in self.verdicts.iter().cloned().chain(warnings) {
            text.push_str(&format!("{}\n", wrap_lines(&sentence)));
        }
        text.push('\n');
        text.push_str(&self.waits.text());
        for sentence in &self.method {
            text.push_str(&format!("{}\n", wrap_lines(sentence)));
        }
        for table in [&self.by_group, &self.work].into_iter().flatten() {
            text.push_str(&format!("\n{}\n{}", table.title, table.text()));
        }
        if let Some(recorded) = &self.recorded {
            text.push_str(&format!("\n{}", recorded.text()));
        }
        if let Some(Starts { table, .. }) = &self.starts {
            text.push_str(&format!("\n{}\n{}", table.title, table.text()));
        }
        text
    }

    pub fn json(&self) -> Value {
        let starts = self.starts.as_ref().map(|starts| &starts.table);
        let tables = std::iter::once(&self.waits).chain(&self.by_group).chain(&self.work).chain(starts);
        let changes = self.changes.iter().map(
            |change| json!({ "name": change.name, "file": change.file, "about": change.about, "lines": change.lines }),
        );
        json!({
            "topology": self.name,
            "baseline": self.names[0],
            "changes": changes.collect::<Vec<_>>(),
            "verdicts": self.verdicts,
            "method": self.method,
            "warnings": self.warnings,
            "tables": tables.map(NamedTable::json).collect::<Vec<_>>(),
            "recorded": self.recorded.as_ref().map(RecordedWaits::json),
        })
    }
}
