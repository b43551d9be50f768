//! The run of a job on shared nodes: its yield over time, and its pauses.

use std::collections::BTreeSet;

use serde::Serialize;

use super::lines::{StoryLines, moment_words};
use super::stay::{SiteStays, Stay};
use crate::Tally;
use crate::referee::tally::{JobRow, Stint, StintEnd};
use hansa_sim::numerals::{format_count, format_counted, format_percent, format_span};
use hansa_sim::time::Time;

/// Pauses and intervals of one yield that are printed, of each.
const SHOWN: usize = 10;
/// Jobs that are named beside a pause.
const NAMED: usize = 3;

/// Yields and pauses of a task on shared nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharingStory {
    /// Adjacent intervals from the start to the end. Those with equal yields on other nodes are apart.
    pub yields: Vec<YieldInterval>,
    pub pauses: Vec<PauseStory>,
}

/// Times are in seconds from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct YieldInterval {
    pub from: f64,
    pub to: f64,
    /// Share of the processors that it could use; 0 during a pause.
    #[serde(rename = "yield")]
    pub share: f64,
    /// Reason for the end of the interval: `shared` (another yield), `moved`, `paused`, `lost`, `requeued`; none if it
    /// ended or is a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<&'static str>,
}

/// A pause, and the jobs for which the policy made it and after which it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PauseStory {
    pub from: f64,
    /// None if it was not over at the end of the log.
    pub to: Option<f64>,
    pub seconds: f64,
    /// Jobs that got nodes of the site in the moment in which it was paused, those on its own nodes first.
    pub for_jobs: Vec<String>,
    /// Jobs that left nodes of the site in the moment in which it went on.
    pub after_jobs: Vec<String>,
}

impl SharingStory {
    /// The story of a task. None if it had its nodes to itself without a break. O(tasks of the site and their stints).
    pub(super) fn of(stays: &SiteStays<'_>, row: &JobRow, index: usize) -> Option<SharingStory> {
        let tally = stays.tally;
        let task = &row.tasks[index];
        task.stints.as_ref()?;
        let site = task.site?;
        let stints: Vec<Stint<'_>> = task.stints(tally.last).collect();
        let is_plain = stints.len() == 1 && stints[0].share == 1.0;
        if is_plain || stints.is_empty() {
            return None;
        }
        let others: Vec<&Stay<'_>> =
            stays.at(site).iter().filter(|stay| stay.row.job.id != row.job.id || stay.index != index).collect();
        let mut story = SharingStory { yields: Vec::new(), pauses: Vec::new() };
        for (place, stint) in stints.iter().enumerate() {
            story.yields.push(YieldInterval {
                from: seconds(stint.from),
                to: seconds(stint.to),
                share: stint.share,
                left: stint.left.map(end_word),
            });
            let next = stints.get(place + 1).map(|next| next.from);
            let until = next.or(task.end).unwrap_or(tally.last);
            if until <= stint.to || (next.is_none() && task.end.is_some()) {
                continue;
            }
            story.yields.push(YieldInterval { from: seconds(stint.to), to: seconds(until), share: 0.0, left: None });
            if stint.left == Some(StintEnd::Suspended) {
                story.pauses.push(PauseStory {
                    from: seconds(stint.to),
                    to: next.map(seconds),
                    seconds: until.since(stint.to).micros() as f64 / 1e6,
                    for_jobs: jobs_that_come(tally, &others, stint),
                    after_jobs: next.map_or_else(Vec::new, |at| jobs_that_leave(tally, &others, at)),
                });
            }
        }
        Some(story)
    }

    /// Lines of the yields and of the pauses.
    pub(super) fn add_lines(&self, lines: &mut StoryLines) {
        for (index, interval) in self.yields.iter().take(SHOWN).enumerate() {
            let label = if index == 0 { "yield" } else { "" };
            let state = match interval.share {
                0.0 => "off its cores".to_owned(),
                share => format_percent(share),
            };
            let span = format_span(interval.to - interval.from);
            lines.add(label, format!("{state} from {} on, for {span}", moment_words(interval.from)));
        }
        if self.yields.len() > SHOWN {
            lines.continue_line(format!(
                "and {} more; --json has all",
                format_counted((self.yields.len() - SHOWN) as u64, "interval")
            ));
        }
        for (index, pause) in self.pauses.iter().take(SHOWN).enumerate() {
            lines.add(if index == 0 { "paused" } else { "" }, pause.words());
        }
        if self.pauses.len() > SHOWN {
            lines.continue_line(format!("and {} more", format_counted((self.pauses.len() - SHOWN) as u64, "pause")));
        }
    }
}

impl PauseStory {
    fn words(&self) -> String {
        let by = match name_jobs(&self.for_jobs) {
            Some(jobs) => format!("when {jobs} got nodes"),
            None => "when no other job got nodes: its yield would have been too low, or its share went to running jobs"
                .to_owned(),
        };
        let after = match (self.to, name_jobs(&self.after_jobs)) {
            (None, _) => "; it did not go on".to_owned(),
            (Some(_), Some(jobs)) => format!("; it went on when {jobs} left nodes"),
            (Some(_), None) => "; no job left nodes when it went on".to_owned(),
        };
        format!("at {} for {}, {by}{after}", moment_words(self.from), format_span(self.seconds))
    }
}

/// Jobs that started, went on or moved at the site in the moment in which a stint ended: those on its nodes first.
fn jobs_that_come(tally: &Tally, others: &[&Stay<'_>], stint: &Stint<'_>) -> Vec<String> {
    let mut come = BTreeSet::new();
    for stay in others {
        let began = stay.row.tasks[stay.index].stints(tally.last).filter(|other| other.from == stint.to);
        let mut before = stay.row.tasks[stay.index].stints(tally.last).filter(|other| other.to == stint.to);
        let is_only_shared = before.any(|other| other.left == Some(StintEnd::Shared));
        for other in began.filter(|_| !is_only_shared) {
            let is_elsewhere = !other.node_layers().any(|nodes| nodes.meets(stint.nodes));
            come.insert((is_elsewhere, stay.row.job.id, tally.task_label(stay.row, stay.index)));
        }
    }
    come.into_iter().map(|(_, _, label)| label).collect()
}

/// Jobs that ended at a time.
fn jobs_that_leave(tally: &Tally, others: &[&Stay<'_>], at: Time) -> Vec<String> {
    let leave = others.iter().filter(|stay| stay.end == at && stay.start.is_some_and(|start| start < at));
    leave.map(|stay| tally.task_label(stay.row, stay.index)).collect()
}

/// The first jobs of a list in words. None if it is empty.
fn name_jobs(jobs: &[String]) -> Option<String> {
    let named = jobs.iter().take(NAMED).map(String::as_str).collect::<Vec<&str>>().join(", ");
    let more = jobs.len().saturating_sub(NAMED) as u64;
    match (jobs.len(), more) {
        (0, _) => None,
        (1, _) => Some(format!("job {named}")),
        (_, 0) => Some(format!("jobs {named}")),
        (_, more) => Some(format!("jobs {named} and {} more", format_count(more))),
    }
}

fn end_word(end: StintEnd) -> &'static str {
    match end {
        StintEnd::Shared => "shared",
        StintEnd::Moved => "moved",
        StintEnd::Suspended => "paused",
        StintEnd::Lost => "lost",
        StintEnd::Requeued => "requeued",
    }
}

fn seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}
