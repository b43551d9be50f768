//! The numbers of requests: the part of a summary, and its metrics, cards and lines.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::super::is_zero;
use crate::present::page::html;
use crate::referee::tally::ShapesRow;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::{Summary, SummaryPart};
use hansa_sim::numerals::{format_count, format_counted, format_number, format_percent};

pub const METRICS: &[Metric] = &[
    Metric::new(
        "acceptance",
        "share of the requests for reservations that make sense that were accepted",
        Family::Work,
        Unit::Share,
        Better::More,
        |summary| summary.read_part::<Reservations>()?.acceptance,
    ),
    Metric::new(
        "broken_promises",
        "accepted reservations that were broken because nodes failed",
        Family::Failures,
        Unit::Count,
        Better::Less,
        |summary| Some(summary.read_part::<Reservations>()?.broken as f64),
    ),
    Metric::new(
        "slowdown",
        "mean slowdown of accepted requests",
        Family::Slowdowns,
        Unit::Ratio,
        Better::Less,
        |summary| summary.read_part::<Reservations>()?.slowdown,
    ),
    Metric::new(
        "reshaped",
        "share of the accepted malleable requests that were booked in another shape than their first",
        Family::Work,
        Unit::Share,
        Better::Neither,
        |summary| summary.read_part::<Reservations>()?.reshaped(),
    ),
];

/// Counts of requests by result. `submitted` is the sum of `invalid`, `declined`, `accepted` and `unanswered`;
/// `accepted` that of `finished`, `cancelled`, `given_up`, `broken` and `unfinished`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reservations {
    pub submitted: u64,
    pub invalid: u64,
    pub declined: u64,
    pub accepted: u64,
    pub unanswered: u64,
    pub finished: u64,
    pub cancelled: u64,
    /// Requests whose input came too late: none of their time was left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_up: u64,
    /// Requests whose nodes failed, and for which no others were free in time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub broken: u64,
    pub unfinished: u64,
    /// Requests with at least one new booking because nodes failed, and requests that started later than last booked
    /// because nodes were down.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub moved: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shortened: u64,
    /// Compensation for broken promises, in node seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub compensation: f64,
    /// None if no accepted request has several shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_shape: Option<ByShape>,
    /// Accepted share of the valid requests.
    pub acceptance: Option<f64>,
    /// Mean over accepted requests.
    pub slowdown: Option<f64>,
    /// Node seconds of finished jobs that were booked and not used, since jobs ended early.
    pub released: f64,
}

/// Numbers of accepted requests with several shapes, by the chosen one against the first of the request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByShape {
    pub first: u64,
    pub fewer_nodes: u64,
    pub more_nodes: u64,
    /// Accepted requests that got another shape with as many nodes.
    pub same_nodes: u64,
}

impl ByShape {
    pub fn add(&mut self, row: &ShapesRow) {
        let requests = match nodes_of_shape(row.chosen as usize, row).cmp(&nodes_of_shape(0, row)) {
            _ if row.chosen == 0 => &mut self.first,
            Ordering::Less => &mut self.fewer_nodes,
            Ordering::Greater => &mut self.more_nodes,
            Ordering::Equal => &mut self.same_nodes,
        };
        *requests += 1;
    }

    /// Each number with its description.
    pub fn each(&self) -> [(&'static str, u64); 4] {
        [
            ("as first listed", self.first),
            ("on fewer nodes", self.fewer_nodes),
            ("on more nodes", self.more_nodes),
            ("on as many nodes, for another time", self.same_nodes),
        ]
    }

    pub fn all(&self) -> u64 {
        self.each().iter().map(|(_, requests)| requests).sum()
    }
}

fn nodes_of_shape(shape: usize, row: &ShapesRow) -> Option<u32> {
    row.shapes.get(shape).map(|shape| shape.nodes)
}

impl SummaryPart for Reservations {
    const NAME: &'static str = "reservations";
}

impl Reservations {
    /// Share of the accepted requests with several shapes that are not booked in their first; None if there are none.
    pub fn reshaped(&self) -> Option<f64> {
        let by_shape = self.by_shape.filter(|by_shape| by_shape.all() > 0)?;
        Some((by_shape.all() - by_shape.first) as f64 / by_shape.all() as f64)
    }

    pub fn add_up(&self) -> bool {
        self.submitted == self.invalid + self.declined + self.accepted + self.unanswered
            && self.accepted == self.finished + self.cancelled + self.given_up + self.broken + self.unfinished
    }
}

pub fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let Some(all) = summary
        .read_part::<Reservations>()
        .filter(|all| all.accepted + all.declined + all.invalid + all.cancelled + all.unanswered > 0)
    else {
        return Vec::new();
    };
    let share = all.acceptance.map_or("–".to_owned(), html::unbroken_percent);
    let (accepted, valid) = (format_count(all.accepted), format_count(all.accepted + all.declined));
    let mean = all.slowdown.map_or("–".to_owned(), |mean| format!("{mean:.3}"));
    let small = format!(
        "mean; those that finished gave {} node hours back early",
        html::unbroken_number(all.released / 3600.0)
    );
    let mut cards = vec![
        ("Requests accepted", share, format!("{accepted} of {valid} valid ones")),
        ("Slowdown of requests", mean, small),
    ];
    if all.broken + all.moved > 0 {
        let given = html::unbroken_number(all.compensation / 3600.0);
        let small = format!("{} moved as nodes failed; {given} node hours of compensation", format_count(all.moved));
        cards.push(("Broken promises", format_count(all.broken), small));
    }
    cards
}

pub fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(all) = summary.read_part::<Reservations>() else { return Vec::new() };
    let share = all.acceptance.map_or(String::new(), |share| format!(" = {}", format_percent(share)));
    let others = [
        (all.invalid, "invalid"),
        (all.cancelled, "taken back"),
        (all.given_up, "given up because their input came too late"),
        (all.unanswered, "unanswered"),
    ];
    let others: String = others
        .iter()
        .filter(|(many, _)| *many > 0)
        .map(|(many, what)| format!("; {} {what}", format_count(*many)))
        .collect();
    let accepted = format!(
        "{} of {} requests{share}{others}",
        format_count(all.accepted),
        format_count(all.accepted + all.declined)
    );
    let slowdown = all.slowdown.map(|mean| ("slowdown", format!("of reserved jobs: mean {mean:.3}")));
    let suffered = all.moved + all.shortened + all.broken > 0;
    let promises = suffered.then(|| {
        let given = format_number(all.compensation / 3600.0);
        let Reservations { moved, shortened, broken, .. } = &all;
        let text = format!("{broken} broken, for {given} node h; {moved} moved, {shortened} late as nodes failed");
        ("promises", text)
    });
    let shapes = all.by_shape.map(|by_shape| {
        let some = by_shape.each().into_iter().filter(|(_, requests)| *requests > 0);
        let each: Vec<String> = some.map(|(what, requests)| format!("{} {what}", format_count(requests))).collect();
        ("shapes", format!("of {}: {}", format_counted(by_shape.all(), "malleable request"), each.join("; ")))
    });
    [("accepted", accepted)].into_iter().chain(slowdown).chain(shapes).chain(promises).collect()
}
