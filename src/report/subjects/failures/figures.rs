//! The numbers of failures: the part of a summary, and its metrics, cards and lines.

use serde::{Deserialize, Serialize};

use crate::present::page::html;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, SummaryPart};
use hansa_sim::numerals::{format_count, format_number, format_percent, format_span, format_volume};
use hansa_sim::settings::format_counted;

pub const METRICS: &[Metric] = &[
    Metric::new(
        "availability",
        "share of the time of nodes for which they were up",
        Family::Failures,
        Unit::Share,
        Better::Neither,
        |summary| summary.read_part::<Failures>()?.availability,
    ),
    Metric::new(
        "goodput",
        "work that became results, as a share of what nodes could have done while they were up",
        Family::Failures,
        Unit::Share,
        Better::More,
        |summary| summary.read_part::<Failures>()?.goodput,
    ),
    Metric::new(
        "efficiency",
        "work that became results, as a share of what nodes did where failures and checkpoints cost some",
        Family::Failures,
        Unit::Share,
        Better::More,
        |summary| summary.read_part::<Failures>()?.efficiency,
    ),
    Metric::new(
        "lost_tasks",
        "number of times that a task was lost because its node failed",
        Family::Failures,
        Unit::Count,
        Better::Less,
        |summary| Some(summary.read_part::<Failures>()?.tasks_lost as f64),
    ),
    Metric::new(
        "link_availability",
        "share of the time for which the links that fail were up",
        Family::Failures,
        Unit::Share,
        Better::Neither,
        |summary| summary.read_part::<Failures>()?.network.as_ref()?.availability,
    ),
    Metric::new(
        "held_up",
        "time for which data was held up by links that were down, seconds, over all flows",
        Family::Failures,
        Unit::Seconds,
        Better::Less,
        |summary| Some(summary.read_part::<Failures>()?.network.as_ref()?.held_up),
    ),
    Metric::new(
        "bytes_again",
        "bytes that were sent again because a link failed",
        Family::Failures,
        Unit::Bytes,
        Better::Less,
        |summary| Some(summary.read_part::<Failures>()?.network.as_ref()?.bytes_again as f64),
    ),
];

/// Totals. `work` is the sum of `work_useful`, `work_lost`, `work_checkpoints` and `work_unfinished`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Failures {
    /// Number of node failures.
    pub node_failures: u64,
    pub availability: Option<f64>,
    /// Numbers of losses and of restarts of tasks.
    pub tasks_lost: u64,
    pub restarts: u64,
    /// Jobs that were given up after they had run.
    pub given_up: u64,
    /// Mean duration from a loss until the task ran again.
    pub mean_recovery: Option<f64>,
    pub checkpoints: u64,
    pub work: f64,
    pub work_useful: f64,
    pub work_lost: f64,
    pub work_checkpoints: f64,
    pub work_unfinished: f64,
    pub goodput: Option<f64>,
    pub efficiency: Option<f64>,
    /// The sites that fail.
    pub sites: Vec<FailingSite>,
    /// The links, where some fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<FailingLinks>,
}

/// Effects of failed links on data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailingLinks {
    pub link_failures: u64,
    /// Mean availability of the links that fail.
    pub availability: Option<f64>,
    /// Number of flows that were held up, and number of stalls.
    pub flows_held_up: u64,
    pub times_held_up: u64,
    /// Sum of the delays, from the failure of a link until links are used again.
    pub held_up: f64,
    /// Number of detours over other links.
    pub reroutes: u64,
    pub bytes_again: u64,
    /// The links that fail.
    pub links: Vec<FailingLink>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailingLink {
    pub name: String,
    pub failures: u64,
    /// Time for which it was down, in seconds.
    pub down: f64,
    pub availability: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailingSite {
    pub name: String,
    pub nodes: u64,
    pub node_failures: u64,
    /// Time for which its nodes were down, in node seconds.
    pub down: f64,
    pub availability: Option<f64>,
    pub tasks_lost: u64,
}

impl SummaryPart for Failures {
    const NAME: &'static str = "failures";
}

pub fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let Some(failures) = summary.read_part::<Failures>() else { return Vec::new() };
    let recovery = failures
        .mean_recovery
        .map_or(String::new(), |mean| format!(", running again {} later", html::unbroken_span(mean)));
    let mut cards = Vec::new();
    if let Some(network) = &failures.network {
        let FailingLinks { link_failures, flows_held_up, reroutes, .. } = network;
        cards.push((
            "Links available",
            unbroken_share(network.availability),
            format!("of the time of those that fail; {}", format_counted(*link_failures, "link failure")),
        ));
        cards.push((
            "Data held up",
            html::unbroken_span(network.held_up),
            format!(
                "{}; {}, {} sent again",
                format_counted(*flows_held_up, "flow"),
                format_counted(*reroutes, "reroute"),
                html::unbroken_volume(network.bytes_again as f64)
            ),
        ));
    }
    if failures.sites.is_empty() {
        return cards;
    }
    cards.extend([
        (
            "Availability",
            unbroken_share(failures.availability),
            format!("of node time; {}", format_counted(failures.node_failures, "node failure")),
        ),
        ("Goodput", unbroken_share(failures.goodput), "of the time that nodes were up became results".to_owned()),
        (
            "Tasks lost",
            format_count(failures.tasks_lost),
            format!("{} started again{recovery}", format_count(failures.restarts)),
        ),
    ]);
    cards
}

fn unbroken_share(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), html::unbroken_percent)
}

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(failures) = summary.read_part::<Failures>() else { return Vec::new() };
    let Failures { work_lost, work_checkpoints, tasks_lost, restarts, given_up, node_failures, .. } = failures;
    let recovery = failures.mean_recovery.map_or(String::new(), |mean| format!(" after {}", format_span(mean)));
    let mut lines = Vec::new();
    if let Some(network) = &failures.network {
        let FailingLinks { link_failures, flows_held_up, reroutes, .. } = network;
        lines.push((
            "links",
            format!(
                "{}, up for {} of their time",
                format_counted(*link_failures, "failure"),
                share_text(network.availability)
            ),
        ));
        let (held_up, again) = (format_span(network.held_up), format_volume(network.bytes_again as f64));
        lines.push((
            "data",
            format!(
                "{} held up for {held_up} in all; {}, {again} sent again",
                format_counted(*flows_held_up, "flow"),
                format_counted(*reroutes, "reroute")
            ),
        ));
    }
    if failures.sites.is_empty() {
        return lines;
    }
    lines.extend([
        (
            "failures",
            format!(
                "{}; nodes were up {} of the time, goodput {} of that",
                format_counted(node_failures, "node failure"),
                share_text(failures.availability),
                share_text(failures.goodput)
            ),
        ),
        (
            "lost",
            format!(
                "{} (counting each loss); {}{recovery}; {} given up",
                format_counted(tasks_lost, "task"),
                format_counted(restarts, "restart"),
                format_counted(given_up, "job")
            ),
        ),
        (
            "work",
            format!(
                "{} of what ran became results; {} node h lost, {} in {}",
                share_text(failures.efficiency),
                hours_text(work_lost),
                hours_text(work_checkpoints),
                format_counted(failures.checkpoints, "checkpoint")
            ),
        ),
    ]);
    lines
}

fn hours_text(work: f64) -> String {
    format_number(work / 3600.0)
}

fn share_text(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), format_percent)
}
