//! The numbers of queues: the part of a summary, and its metrics, cards and lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::is_zero;
use super::log::LogFacts;
use crate::present::page::html::unbroken_number;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, SummaryPart};
use hansa_sim::numerals::{Digits, format_count, format_counted};
use hansa_sim::workload::{FAULTS_FEW, faults_by_kind};

pub const METRICS: &[Metric] = &[
    Metric::new(
        "turnaround",
        "mean time from submission to end of jobs that ended; where jobs queue, of those in queues",
        Family::Turnaround,
        Unit::Seconds,
        Better::Less,
        |summary| match summary.read_part::<Schedule>() {
            Some(schedule) => schedule.mean_turnaround_time,
            None => summary.turnaround,
        },
    ),
    Metric::new(
        "bounded_slowdown",
        "mean bounded slowdown of jobs in queues, with a threshold of 10 s",
        Family::Slowdowns,
        Unit::Ratio,
        Better::Less,
        |summary| summary.read_part::<Schedule>()?.mean_bounded_slowdown,
    ),
    Metric::new(
        "stretch",
        "mean turnaround time of jobs in queues, by their run time",
        Family::Slowdowns,
        Unit::Ratio,
        Better::Less,
        |summary| summary.read_part::<Schedule>()?.mean_slowdown,
    ),
    Metric::new(
        "killed",
        "share of the jobs in queues that were killed at their walltime",
        Family::Work,
        Unit::Share,
        Better::Less,
        |summary| {
            let Schedule { nb_jobs, nb_jobs_killed, .. } = summary.read_part()?;
            (nb_jobs > 0).then(|| nb_jobs_killed as f64 / nb_jobs as f64)
        },
    ),
    Metric::new(
        "underutilisation",
        "additional work that nodes could have done for jobs in queues, as a share of what they did",
        Family::Use,
        Unit::Ratio,
        Better::Less,
        |summary| summary.read_part::<Schedule>()?.underutilisation,
    ),
];

/// `nb_jobs` is the sum of `nb_jobs_success`, `nb_jobs_killed`, `nb_jobs_preempted`, `nb_jobs_rejected` and
/// `nb_jobs_unfinished`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    pub nb_computing_machines: u64,
    pub nb_jobs: u64,
    /// Jobs in a warm-up or a cool-down, which are in no other number or mean of jobs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_jobs_not_counted: u64,
    /// Successful, killed and preempted jobs.
    pub nb_jobs_finished: u64,
    pub nb_jobs_success: u64,
    pub nb_jobs_killed: u64,
    /// Jobs that their sites ended for others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_jobs_preempted: u64,
    /// Number of times that a site gave the nodes of a job to another one, and started it again later.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_requeues: u64,
    /// Number of jobs that the main scheduler of a real Slurm started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_jobs_in_turn: u64,
    /// Number of jobs that the backfilling of a real Slurm started.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_jobs_backfilled: u64,
    pub nb_jobs_rejected: u64,
    pub nb_jobs_unfinished: u64,
    /// Number of jobs taken back from a queue and submitted elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nb_resubmissions: u64,
    pub success_rate: Option<f64>,
    pub makespan: Option<f64>,
    pub mean_waiting_time: Option<f64>,
    pub max_waiting_time: Option<f64>,
    pub mean_turnaround_time: Option<f64>,
    pub max_turnaround_time: Option<f64>,
    pub mean_slowdown: Option<f64>,
    pub max_slowdown: Option<f64>,
    pub mean_bounded_slowdown: Option<f64>,
    pub max_bounded_slowdown: Option<f64>,
    /// Share of node time from the first submission to the last end.
    pub utilisation: Option<f64>,
    /// Additional work that nodes could have done for present jobs, as a share of their work.
    pub underutilisation: Option<f64>,
    /// Number of rejected jobs, by reason.
    pub rejected: BTreeMap<String, u64>,
    pub logs: Vec<LogFacts>,
}

impl SummaryPart for Schedule {
    const NAME: &'static str = "schedule";
}

impl Schedule {
    pub fn add_up(&self) -> bool {
        let ends = self.nb_jobs_finished + self.nb_jobs_rejected + self.nb_jobs_unfinished;
        self.nb_jobs == ends
            && self.nb_jobs_finished == self.nb_jobs_success + self.nb_jobs_killed + self.nb_jobs_preempted
    }
}

pub fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let Some(schedule) = summary.read_part::<Schedule>() else { return Vec::new() };
    let mean = schedule.mean_bounded_slowdown.map_or("–".to_owned(), |mean| format!("{mean:.2}"));
    let most =
        schedule.max_bounded_slowdown.map_or(String::new(), |most| format!(", at most {}", unbroken_number(most)));
    vec![("Bounded slowdown", mean, format!("mean of jobs that ran{most}"))]
}

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(schedule) = summary.read_part::<Schedule>() else { return Vec::new() };
    let mut lines = Vec::new();
    let under = schedule.underutilisation.map_or(String::new(), |share| format!("; underutilisation {share:.3}"));
    if let Some((mean, max)) = schedule.mean_bounded_slowdown.zip(schedule.max_bounded_slowdown) {
        let [mean, max] = [mean, max].map(|slowdown| Digits::for_numbers([mean, max]).show_number(slowdown));
        lines.push(("slowdown", format!("of queued jobs, bounded: mean {mean}, at most {max}{under}")));
    }
    if schedule.nb_jobs_preempted + schedule.nb_requeues > 0 {
        let ended = format_counted(schedule.nb_jobs_preempted, "job");
        let again = format_counted(schedule.nb_requeues, "time");
        lines.push(("preempted", format!("{ended} ended for others; jobs requeued {again}")));
    }
    if schedule.nb_jobs_in_turn + schedule.nb_jobs_backfilled > 0 {
        let in_turn = format_counted(schedule.nb_jobs_in_turn, "job");
        let backfilled = format_count(schedule.nb_jobs_backfilled);
        lines.push(("starts", format!("{in_turn} by Slurm's main scheduler, {backfilled} by its backfilling")));
    }
    lines.extend(schedule.rejected.iter().map(|(why, jobs)| ("refused", format!("{}: {why}", format_count(*jobs)))));
    if !schedule.rejected.is_empty() {
        lines.push(("", "  jobs.csv lists these as REJECTED".to_owned()));
    }
    for log in &schedule.logs {
        let LogFacts { file, jobs, faults, .. } = log;
        lines.push(("log", format!("{} of {file}", format_counted(*jobs, "job"))));
        let counts = log.special_counts("without the job that they follow");
        lines.extend(counts.map(|(many, what)| ("", format!("{} {what}", format_count(many)))));
        lines.extend(log.by_reason.iter().map(|left_out| ("", format!("  {left_out}"))));
        let (few, listed) = faults_by_kind(faults, FAULTS_FEW);
        lines.extend(few.into_iter().map(|line| ("", format!("  {line}"))));
        let by_reason: u64 = log.by_reason.iter().map(|left_out| left_out.count).sum();
        let all = log.left_out + log.put_in_order + log.released - by_reason;
        if !faults.is_empty() && all > listed {
            lines.push(("", format!("  and {} more", format_count(all - listed))));
        }
        lines.extend(log.note.iter().map(|note| ("", note.clone())));
    }
    lines
}
