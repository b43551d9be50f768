//! The account of requests, and `reservations.csv` with one row per request.

use std::collections::{BTreeMap, BTreeSet};

use super::Reservations;
use crate::referee::tally::{AnsweredRow, Fate, JobRow};
use crate::results::account::Account;
use crate::tables::columns::{self, OpenTable, TableForm, seconds, text, whole_number};
use crate::tables::csv::CsvRow;
use crate::{Summary, Tally};
use hansa_sim::grid::{NodeSet, Request};
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

pub const RESERVATIONS: TableForm = TableForm {
    file: "reservations.csv",
    about: "One row per request of an advance reservation.",
    columns: &[
        whole_number("request", "number of the job"),
        text("user", "the user that asked"),
        seconds("arrival", "when the request was made"),
        seconds("ready", "the earliest start"),
        seconds("duration", "the time asked for, at speed 1, in the chosen shape"),
        seconds("deadline", "the latest end"),
        whole_number("nodes", "nodes asked for, in the chosen shape"),
        text("answer", "`accepted`, `declined` or `invalid`"),
        text("reason", "why it is invalid"),
        text("site", "where it is booked"),
        seconds("start", "start of the last booking"),
        seconds("end", "end of the last booking"),
        text("allocated", "nodes of the last booking: `0-3 7`"),
        columns::number("slowdown", "", "(`end` - `ready`) / `duration`, or by the shortest duration of its shapes"),
        seconds("real_start", "when it started"),
        seconds("real_end", "when it ended"),
        text(
            "state",
            "`finished`, `cancelled`, `given_up` (late input), `broken` (nodes) or `unfinished`; empty if not booked",
        ),
        whole_number("moved", "times that it was booked anew because nodes had failed"),
        columns::number("compensation", "node seconds", "what its user got for a broken promise"),
        whole_number("shapes", "how many shapes it has"),
        whole_number("shape", "the chosen one of several shapes, from 0; the first if it is not booked"),
    ],
};

/// The account of requests.
pub struct RequestAccount<'a> {
    tally: &'a Tally,
    systems: &'a [u32],
    text: Option<Vec<u8>>,
    sum: Reservations,
    slowdowns: f64,
    /// Nodes of jobs that started late at sites that fail, by site and start.
    late: BTreeMap<(usize, Time), Vec<NodeSet>>,
}

impl<'a> RequestAccount<'a> {
    /// The account of the requests to these systems, with or without a table.
    pub fn new(tally: &'a Tally, systems: &'a [u32], tables: bool) -> RequestAccount<'a> {
        let text = tables.then(|| RESERVATIONS.header_line(&[]));
        let sum = Reservations::default();
        RequestAccount { tally, systems, text, sum, slowdowns: 0.0, late: BTreeMap::new() }
    }

    fn count(&mut self, row: &JobRow) {
        let sum = &mut self.sum;
        sum.submitted += 1;
        match row.answered.as_ref().map(|answered| (&answered.answer, answered)) {
            None => sum.unanswered += 1,
            Some((ReserveAnswer::Invalid(_), _)) => sum.invalid += 1,
            Some((ReserveAnswer::Declined, _)) => sum.declined += 1,
            Some((ReserveAnswer::Accepted { site, start, nodes }, answered)) => {
                sum.accepted += 1;
                sum.moved += u64::from(answered.moved > 0);
                let late = row.tasks.first().and_then(|task| task.start).filter(|at| at > start && answered.moved == 0);
                let failing = self.tally.site_index(*site).filter(|site| self.tally.failing.can_fail(*site));
                if let Some(late) = failing.zip(late) {
                    self.late.entry(late).or_default().push(nodes.clone());
                }
                sum.compensation += answered.broken.map_or(0.0, |given| given.micros() as f64 / 1e6);
                let end = until(self.tally, row, answered).unwrap_or(*start);
                self.slowdowns += slowdown(row, answered, end);
                if let Some(shapes) = &row.shapes {
                    sum.by_shape.get_or_insert_default().add(shapes);
                }
                match row.fate {
                    Fate::Completed { .. } => {
                        sum.finished += 1;
                        sum.released += released(self.tally, row, answered);
                    }
                    Fate::Cancelled { .. } => sum.cancelled += 1,
                    Fate::Removed { .. } if answered.broken.is_some() => sum.broken += 1,
                    Fate::Removed { .. } => sum.given_up += 1,
                    _ => sum.unfinished += 1,
                }
            }
        }
    }

    /// Number of late jobs that waited for nodes: some of theirs came back at the start. The others waited for input.
    fn shortened(&self) -> u64 {
        let mut shortened = 0;
        for site in self.late.keys().map(|(site, _)| *site).collect::<BTreeSet<usize>>() {
            let mut waited: BTreeMap<Time, NodeSet> = BTreeMap::new();
            self.tally.failing.each_outage(site, self.tally.last, |down| {
                if self.late.contains_key(&(site, down.to)) {
                    waited.entry(down.to).or_default().unite(&down.nodes);
                }
            });
            for (at, back) in waited {
                shortened += self.late[&(site, at)].iter().filter(|nodes| nodes.meets(&back)).count() as u64;
            }
        }
        shortened
    }

    fn row(&mut self, row: &JobRow, answered: &AnsweredRow) {
        let Some(text) = &mut self.text else { return };
        let AnsweredRow { ready, deadline, answer, moved, broken, .. } = answered;
        let request = request(row, answered);
        let mut line = RESERVATIONS.row(text);
        line.number(row.job.id.0).text(&self.tally.names.of_actor(row.user)).time(row.job.arrive).time(*ready);
        line.maybe(request, |line, request| line.span(request.duration)).time(*deadline);
        line.maybe(request, |line, request| line.number(request.nodes));
        match answer {
            ReserveAnswer::Declined => line.text("declined"),
            ReserveAnswer::Invalid(invalid) => line.text("invalid").text(invalid.name()),
            ReserveAnswer::Accepted { site, start, nodes } => {
                let end = until(self.tally, row, answered).unwrap_or(*start);
                let ran = row.tasks.first();
                line.text("accepted").until("site").text(&self.tally.names.of_actor(*site)).time(*start).time(end);
                line.cores(nodes, 0).float(slowdown(row, answered, end));
                line.maybe(ran.and_then(|ran| ran.start), CsvRow::time)
                    .maybe(ran.and_then(|ran| ran.end), CsvRow::time);
                line.text(match row.fate {
                    Fate::Completed { .. } => "finished",
                    Fate::Cancelled { .. } => "cancelled",
                    Fate::Removed { .. } if broken.is_some() => "broken",
                    Fate::Removed { .. } => "given_up",
                    _ => "unfinished",
                });
                line.number(*moved).maybe(*broken, |line, given| line.span(Span::from_micros(given.micros())))
            }
        };
        line.until("shapes").number(row.shapes.as_ref().map_or(1, |shapes| shapes.shapes.len() as u32));
        line.maybe(row.shapes.as_ref(), |line, shapes| line.number(shapes.chosen));
        line.end();
    }
}

impl Account for RequestAccount<'_> {
    fn job(&mut self, row: &JobRow, _: &[Option<Time>]) {
        if !self.systems.contains(&row.system) {
            return;
        }
        self.count(row);
        if let Some(answered) = &row.answered {
            self.row(row, answered);
        }
    }

    fn add_uncounted(&mut self, row: &JobRow, _: &[Option<Time>]) {
        if let Some(answered) = row.answered.as_ref().filter(|_| self.systems.contains(&row.system)) {
            self.row(row, answered);
        }
    }

    fn open_tables(&mut self) -> Vec<OpenTable<'_>> {
        self.text.as_mut().map(|text| (RESERVATIONS.file, text)).into_iter().collect()
    }

    fn close(&mut self, summary: &mut Summary) {
        let mut sum = std::mem::take(&mut self.sum);
        sum.shortened = self.shortened();
        assert!(sum.add_up(), "every request is counted once");
        let valid = sum.accepted + sum.declined;
        sum.acceptance = (valid > 0).then(|| sum.accepted as f64 / valid as f64);
        sum.slowdown = (sum.accepted > 0).then(|| self.slowdowns / sum.accepted as f64);
        summary.put_part(&sum);
    }
}

pub fn request(row: &JobRow, answered: &AnsweredRow) -> Option<Request> {
    Request::from_job(&row.job, answered.ready, answered.deadline).ok()
}

/// Slowdown of a request that is booked until `end`: of several shapes, the shortest counts.
fn slowdown(row: &JobRow, answered: &AnsweredRow, end: Time) -> f64 {
    let Some(request) = request(row, answered) else { return 0.0 };
    let duration = row.shapes.as_ref().map_or(request.duration, |shapes| shapes.shortest_duration());
    Request { duration, ..request }.slowdown(end)
}

/// End of the last booking, if there is one; checkpoints take time as well.
pub fn until(tally: &Tally, row: &JobRow, answered: &AnsweredRow) -> Option<Time> {
    let ReserveAnswer::Accepted { site, start, .. } = answered.answer else { return None };
    answered.until.or_else(|| {
        let (site, Request { duration, nodes, .. }) = (tally.site_index(site)?, request(row, answered)?);
        Some(start + tally.failing.stretched_work(site, tally.sites[site].speed.time(duration), nodes))
    })
}

/// Node seconds left of the last booking.
fn released(tally: &Tally, row: &JobRow, answered: &AnsweredRow) -> f64 {
    let [task] = row.job.tasks.as_slice() else { return 0.0 };
    // Idle time before a late start was not returned.
    let left = until(tally, row, answered).zip(row.tasks[0].end).map(|(until, end)| until.since(end));
    left.map_or(0.0, |left| f64::from(task.cores) * left.micros() as f64 / 1e6)
}
