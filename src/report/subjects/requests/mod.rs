//! Results of requests for reservations: a part of the summary, and `reservations.csv` with one row per request.

mod calendar;
mod records;
mod section;
mod tally;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use self::tally::RequestTally;
use super::{PLAIN, Subject, SubjectReport, Words, is_zero};
use crate::SummaryPart;
use crate::markup::Html;
use crate::present::page::Page;
use crate::present::page::html;
use crate::referee::tally::{AnsweredRow, Fate, JobRow, ShapesRow};
use crate::results::account::Account;
use crate::results::metric::{Better, Family, Metric, Unit};
use crate::tables::columns::OpenTable;
use crate::tables::columns::{self, TableForm, seconds, text, whole};
use crate::tables::csv::CsvRow;
use crate::{Summary, Tally};
use hansa_sim::grid::{NodeSet, Request};
use hansa_sim::numerals::{count, counted, number, percent};
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;

pub const SUBJECT: Subject = Subject {
    systems: &["reservation"],
    part: Reservations::NAME,
    one_task: true,
    words: Some(Words {
        removed: "taken back or given up",
        wanted: ("Ready", "the ready time"),
        waiting: "An accepted job waits from its ready time until it starts or is taken back.",
    }),
    section: ("reservations", "Reservations"),
    open: Requests::of,
    cards,
    lines,
    metrics: &[
        Metric::new(
            "acceptance",
            "share of the requests for reservations that make sense that were accepted",
            Family::Work,
            Unit::Share,
            Better::More,
            |summary| summary.part::<Reservations>()?.acceptance,
        ),
        Metric::new(
            "broken_promises",
            "accepted reservations that were broken because nodes failed",
            Family::Failures,
            Unit::Count,
            Better::Less,
            |summary| Some(summary.part::<Reservations>()?.broken as f64),
        ),
        Metric::new(
            "slowdown",
            "mean slowdown of accepted requests",
            Family::Slowdowns,
            Unit::Ratio,
            Better::Less,
            |summary| summary.part::<Reservations>()?.slowdown,
        ),
        Metric::new(
            "reshaped",
            "share of the accepted malleable requests that were booked in another shape than their first",
            Family::Work,
            Unit::Share,
            Better::Neither,
            |summary| summary.part::<Reservations>()?.reshaped(),
        ),
    ],
    records: Some(records::RECORDS),
    tally: Some(|_, _| Box::new(RequestTally)),
    ..PLAIN
};

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
    /// Their input came too late: none of their time was left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub given_up: u64,
    /// Their nodes failed, and no others were free in time.
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
    /// Another shape, with as many nodes.
    pub same_nodes: u64,
}

impl ByShape {
    fn add(&mut self, row: &ShapesRow) {
        let nodes = |shape: usize| row.shapes.get(shape).map(|shape| shape.nodes);
        let requests = match nodes(row.chosen as usize).cmp(&nodes(0)) {
            _ if row.chosen == 0 => &mut self.first,
            Ordering::Less => &mut self.fewer_nodes,
            Ordering::Greater => &mut self.more_nodes,
            Ordering::Equal => &mut self.same_nodes,
        };
        *requests += 1;
    }

    /// Each number, with what it counts.
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

pub const RESERVATIONS: TableForm = TableForm {
    file: "reservations.csv",
    about: "One row per request of an advance reservation.",
    columns: &[
        whole("request", "number of the job"),
        text("user", "the user that asked"),
        seconds("arrival", "when the request was made"),
        seconds("ready", "the earliest start"),
        seconds("duration", "the time asked for, at speed 1, in the chosen shape"),
        seconds("deadline", "the latest end"),
        whole("nodes", "nodes asked for, in the chosen shape"),
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
        whole("moved", "times that it was booked anew because nodes had failed"),
        columns::number("compensation", "node seconds", "what its user got for a broken promise"),
        whole("shapes", "how many shapes it has"),
        whole("shape", "the chosen one of several shapes, from 0; the first if it is not booked"),
    ],
};

/// Facts from the topology.
#[derive(Debug)]
struct Requests {
    /// The systems with reservations.
    systems: Vec<u32>,
}

impl Requests {
    fn of(_: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
        Some(Box::new(Requests { systems }))
    }
}

impl SubjectReport for Requests {
    fn account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a> {
        let text = tables.then(|| RESERVATIONS.header(&[]));
        let systems = &self.systems;
        let sum = Reservations::default();
        Box::new(RequestAccount { tally, systems, text, sum, slowdowns: 0.0, late: BTreeMap::new() })
    }

    fn section(&self, page: &Page<'_>) -> Html {
        let sites = page.tally.sites_of(&self.systems);
        section::answers(page, &sites) + calendar::calendars(page.tally, &sites)
    }
}

/// The account of requests.
struct RequestAccount<'a> {
    tally: &'a Tally,
    systems: &'a [u32],
    text: Option<Vec<u8>>,
    sum: Reservations,
    slowdowns: f64,
    /// Nodes of jobs that started late at sites that fail, by site and start.
    late: BTreeMap<(usize, Time), Vec<NodeSet>>,
}

impl RequestAccount<'_> {
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
                let failing = self.tally.site_index(*site).filter(|site| self.tally.failing.does(*site));
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
            self.tally.failing.each(site, self.tally.last, |down| {
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

    fn uncounted(&mut self, row: &JobRow, _: &[Option<Time>]) {
        if let Some(answered) = row.answered.as_ref().filter(|_| self.systems.contains(&row.system)) {
            self.row(row, answered);
        }
    }

    fn tables(&mut self) -> Vec<OpenTable<'_>> {
        self.text.as_mut().map(|text| (RESERVATIONS.file, text)).into_iter().collect()
    }

    fn close(&mut self, summary: &mut Summary) {
        let mut sum = std::mem::take(&mut self.sum);
        sum.shortened = self.shortened();
        assert!(sum.add_up(), "every request is counted once");
        let valid = sum.accepted + sum.declined;
        sum.acceptance = (valid > 0).then(|| sum.accepted as f64 / valid as f64);
        sum.slowdown = (sum.accepted > 0).then(|| self.slowdowns / sum.accepted as f64);
        summary.put(&sum);
    }
}

fn cards(summary: &Summary) -> Vec<(&'static str, String, String)> {
    let asked = |all: &Reservations| all.accepted + all.declined + all.invalid + all.cancelled + all.unanswered > 0;
    let Some(all) = summary.part::<Reservations>().filter(asked) else { return Vec::new() };
    let share = all.acceptance.map_or("–".to_owned(), html::percent);
    let accepted = count(all.accepted);
    let valid = count(all.accepted + all.declined);
    let mean = all.slowdown.map_or("–".to_owned(), |mean| format!("{mean:.3}"));
    let small = format!("mean; those that finished gave {} node hours back early", html::number(all.released / 3600.0));
    let mut cards = vec![
        ("Requests accepted", share, format!("{accepted} of {valid} valid ones")),
        ("Slowdown of requests", mean, small),
    ];
    if all.broken + all.moved > 0 {
        let given = html::number(all.compensation / 3600.0);
        let small = format!("{} moved as nodes failed; {given} node hours of compensation", count(all.moved));
        cards.push(("Broken promises", count(all.broken), small));
    }
    cards
}

fn lines(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(all) = summary.part::<Reservations>() else { return Vec::new() };
    let share = all.acceptance.map_or(String::new(), |share| format!(" = {}", percent(share)));
    let others = [
        (all.invalid, "invalid"),
        (all.cancelled, "taken back"),
        (all.given_up, "given up because their input came too late"),
        (all.unanswered, "unanswered"),
    ];
    let others: String =
        others.iter().filter(|(many, _)| *many > 0).map(|(many, what)| format!("; {} {what}", count(*many))).collect();
    let accepted = format!("{} of {} requests{share}{others}", count(all.accepted), count(all.accepted + all.declined));
    let slowdown = all.slowdown.map(|mean| ("slowdown", format!("of reserved jobs: mean {mean:.3}")));
    let suffered = all.moved + all.shortened + all.broken > 0;
    let promises = suffered.then(|| {
        let given = number(all.compensation / 3600.0);
        let Reservations { moved, shortened, broken, .. } = &all;
        let told = format!("{broken} broken, for {given} node h; {moved} moved, {shortened} late as nodes failed");
        ("promises", told)
    });
    let shapes = all.by_shape.map(|by_shape| {
        let some = by_shape.each().into_iter().filter(|(_, requests)| *requests > 0);
        let each: Vec<String> = some.map(|(what, requests)| format!("{} {what}", count(requests))).collect();
        ("shapes", format!("of {}: {}", counted(by_shape.all(), "malleable request"), each.join("; ")))
    });
    [("accepted", accepted)].into_iter().chain(slowdown).chain(shapes).chain(promises).collect()
}

fn request(row: &JobRow, answered: &AnsweredRow) -> Option<Request> {
    Request::of(&row.job, answered.ready, answered.deadline).ok()
}

/// Slowdown of a request that is booked until `end`: of several shapes, the shortest counts.
fn slowdown(row: &JobRow, answered: &AnsweredRow, end: Time) -> f64 {
    let Some(request) = request(row, answered) else { return 0.0 };
    let duration = row.shapes.as_ref().map_or(request.duration, |shapes| shapes.shortest());
    Request { duration, ..request }.slowdown(end)
}

/// End of the last booking, if there is one; checkpoints take time as well.
fn until(tally: &Tally, row: &JobRow, answered: &AnsweredRow) -> Option<Time> {
    let ReserveAnswer::Accepted { site, start, .. } = answered.answer else { return None };
    let booked = || {
        let site = tally.site_index(site)?;
        let Request { duration, nodes, .. } = request(row, answered)?;
        Some(start + tally.failing.stretched(site, tally.sites[site].speed.time(duration), nodes))
    };
    answered.until.or_else(booked)
}

/// Node seconds left of the last booking.
fn released(tally: &Tally, row: &JobRow, answered: &AnsweredRow) -> f64 {
    let [task] = row.job.tasks.as_slice() else { return 0.0 };
    // Idle time before a late start was not returned.
    let left = until(tally, row, answered).zip(row.tasks[0].end).map(|(until, end)| until.since(end));
    left.map_or(0.0, |left| f64::from(task.cores) * left.micros() as f64 / 1e6)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tests::{BOB, ROUTER, YORK, names, table, topology};
    use crate::{Status, summary_table};
    use hansa_sim::grid::{
        Checkpoint, Every, Failure, FailurePattern, FailureTarget, Invalid, Job, JobId, JobShape, Kind, Recovery, Task,
        TaskId,
    };
    use hansa_sim::kernel::{ActorId, Entry};
    use hansa_sim::protocol::Record;
    use hansa_sim::systems::Service;
    use hansa_sim::systems::reservation::Reservation;
    use hansa_sim::time::{Span, Stamp};
    use hansa_sim::topology::Topology;

    fn minute(minutes: u64) -> Time {
        Time::ZERO + Span::from_minutes(minutes)
    }

    pub fn reserving() -> Topology {
        Topology { systems: vec![Service::new(Reservation::default())], ..topology() }
    }

    /// Five requests: one runs and ends early, one waits, one is taken back, one is declined, one makes no sense.
    pub fn tally() -> Tally {
        tally_of(&reserving())
    }

    fn tally_of(topology: &Topology) -> Tally {
        let mut tally = Tally::new(topology, &names());
        let mut add = |at: u64, actor: ActorId, record: Record| {
            tally.add(&Entry { stamp: Stamp::at(minute(at)), actor, record }).unwrap();
        };
        let nodes = || NodeSet::all(2);
        let mut ask = |id: u32, answer: ReserveAnswer| {
            let task = Task { walltime: Span::from_minutes(10), ..Task::new(Span::from_minutes(4), 2, Kind(0)) };
            let job = JobId(id);
            let arrive = minute(u64::from(id));
            let asked =
                Job { id: job, arrive, first_task: id, tasks: vec![task], edges: Vec::new(), worth: None, times: None };
            add(u64::from(id), ROUTER, Record::Arrived { job: Arc::new(asked), user: BOB });
            let ready = minute(10);
            let deadline = minute(60);
            add(u64::from(id), ROUTER, Record::Answered { job, ready, deadline, answer });
        };
        let accepted = |start: u64| ReserveAnswer::Accepted { site: YORK, start: minute(start), nodes: nodes() };
        ask(0, accepted(10));
        ask(1, accepted(20));
        ask(2, accepted(30));
        ask(3, ReserveAnswer::Declined);
        ask(4, ReserveAnswer::Invalid(Invalid::NoNodes));
        let task = TaskId { job: JobId(0), index: 0 };
        add(10, YORK, Record::Started { task, cores: nodes() });
        add(11, ROUTER, Record::Cancelled { job: JobId(2) });
        add(14, YORK, Record::Finished { task });
        add(14, ROUTER, Record::Completed { job: JobId(0), value: None });
        tally
    }

    #[test]
    fn every_request_is_counted_once() {
        let tally = tally();
        let summary = tally.summary(1, Status::Complete, String::new());
        let all = summary.part::<Reservations>().unwrap();
        assert!(all.add_up());
        assert_eq!((all.submitted, all.accepted, all.declined, all.invalid), (5, 3, 1, 1));
        assert_eq!((all.finished, all.cancelled, all.unfinished), (1, 1, 1));
        // Two nodes for six minutes; starts at the ready time, 10 and 20 minutes after it.
        assert_eq!((all.released, all.acceptance, all.slowdown), (720.0, Some(0.75), Some(2.0)));
        assert_eq!((summary.jobs.refused, summary.jobs.removed, summary.jobs.unfinished), (2, 1, 1));
        // The one that ran was ready at its start, whenever it was asked for.
        assert_eq!((summary.job_wait.unwrap().mean, summary.task_wait.unwrap().mean), (0.0, 0.0));
        let table = summary_table(&summary, None);
        assert!(!table.contains("SLR"), "{table}");
        assert!(
            table.contains("5 submitted: 1 finished, 1 taken back or given up, 2 refused, 1 unfinished"),
            "{table}"
        );
        assert!(table.contains("3 of 4 requests = 75.0 %; 1 invalid; 1 taken back"), "{table}");
    }

    #[test]
    fn a_job_is_its_one_task() {
        let jobs = table(&tally(), "jobs.csv");
        let tasks = table(&tally(), "tasks.csv");
        let row: Vec<&str> = jobs.lines().nth(1).unwrap().split(',').collect();
        assert_eq!((&row[2..6], &row[14], tasks.as_str()), (&["rigid", "0", "2", "600"][..], &"0-1", ""));
        assert_eq!(&row[17..23], ["0", "bob", "york", "cpu", "0-1", "600"]);
    }

    #[test]
    fn the_table_has_a_row_a_request() {
        let text = table(&tally(), "reservations.csv");
        let header = String::from_utf8(RESERVATIONS.header(&[])).unwrap();
        assert_eq!(
            text,
            format!(
                "{header}\
                 0,bob,0,600,600,3600,2,accepted,,york,600,1200,0-1,1,600,840,finished,0,,1,\n\
                 1,bob,60,600,600,3600,2,accepted,,york,1200,1800,0-1,2,,,unfinished,0,,1,\n\
                 2,bob,120,600,600,3600,2,accepted,,york,1800,2400,0-1,3,,,cancelled,0,,1,\n\
                 3,bob,180,600,600,3600,2,declined,,,,,,,,,,,,1,\n\
                 4,bob,240,600,600,3600,2,invalid,no_nodes,,,,,,,,,,,1,\n"
            )
        );
        let columns = |line: &str| line.split(',').count();
        assert!(text.lines().all(|line| columns(line) == RESERVATIONS.columns.len()));
    }

    /// Two nodes for ten minutes, or one for twenty: the slowdown goes by the ten.
    #[test]
    fn a_malleable_request_counts_in_its_chosen_shape() {
        let shape = |nodes, minutes, runtime| JobShape {
            nodes,
            duration: Span::from_minutes(minutes),
            runtime: Span::from_minutes(runtime),
        };
        let shapes = vec![shape(2, 10, 4), shape(1, 20, 8)];
        let task = Task { walltime: Span::from_minutes(10), ..Task::new(Span::from_minutes(4), 2, Kind(0)) };
        let id = JobId(0);
        let arrive = minute(0);
        let job = Job { id, arrive, first_task: 0, tasks: vec![task], edges: Vec::new(), worth: None, times: None };
        let node = NodeSet::parse("3").unwrap();
        let own = TaskId { job: id, index: 0 };
        let answer = ReserveAnswer::Accepted { site: YORK, start: minute(10), nodes: node.clone() };
        let malleable = Record::Malleable { job: id, shapes: shapes.clone() };
        let before = [(0, ROUTER, Record::Arrived { job: Arc::new(job), user: BOB }), (0, ROUTER, malleable)];
        let after = [
            (0, ROUTER, Record::Answered { job: id, ready: minute(10), deadline: minute(60), answer }),
            (10, YORK, Record::Started { task: own, cores: node }),
            (18, YORK, Record::Finished { task: own }),
            (18, ROUTER, Record::Completed { job: id, value: None }),
        ];
        let shaped = |shape| (0, ROUTER, Record::Shaped { job: id, shape });
        let add = |entries: &[(u64, ActorId, Record)]| {
            let mut tally = Tally::new(&reserving(), &names());
            let added = entries.iter().cloned().try_for_each(|(at, actor, record)| {
                tally.add(&Entry { stamp: Stamp::at(minute(at)), actor, record }).map(|_| ())
            });
            added.map(|()| tally).map_err(|error| error.to_string())
        };
        let tally = add(&[&before[..], &[shaped(0), shaped(1)], &after].concat()).unwrap();
        let text = table(&tally, "reservations.csv");
        let row = "0,bob,0,600,1200,3600,1,accepted,,york,600,1800,3,2,600,1080,finished,0,,2,1";
        assert_eq!(text.lines().nth(1), Some(row));
        let summary = tally.summary(1, Status::Complete, String::new());
        let all = summary.part::<Reservations>().unwrap();
        let fewer = ByShape { fewer_nodes: 1, ..ByShape::default() };
        assert_eq!((all.by_shape, all.reshaped(), all.slowdown), (Some(fewer), Some(1.0), Some(2.0)));
        // Twice the shorter run time, though it ran for the longer one.
        assert_eq!(tally.jobs[&id].stretch(), Some(2.0));
        // Its row has what it asked for first.
        let job = table(&tally, "jobs.csv");
        assert_eq!(job.lines().nth(1).unwrap().split(',').collect::<Vec<_>>()[3..6], ["0", "2", "600"]);
        assert_eq!(all.released, 720.0);
        let told = "of 1 malleable request: 1 on fewer nodes";
        // It is broken into lines.
        let printed = summary_table(&summary, None);
        assert!(printed.split_whitespace().collect::<Vec<_>>().join(" ").contains(told), "{printed}");

        // A shape that it does not have; a second set of shapes; a change while it runs; shapes of another task.
        let wrong = |entries: &[(u64, ActorId, Record)]| add(entries).err();
        let why = Some("job 0 is given shapes that it cannot have, or one that it does not have".to_owned());
        assert_eq!(wrong(&[&before[..], &[shaped(2)]].concat()), why);
        assert_eq!(wrong(&[&before[..], &before[1..]].concat()), why);
        assert_eq!(wrong(&[&before[..], &after[..2], &[shaped(1)]].concat()), why);
        let others = Record::Malleable { job: id, shapes: vec![shape(2, 10, 5), shape(1, 20, 8)] };
        assert_eq!(wrong(&[before[0].clone(), (0, ROUTER, others)]), why);
        // A request that is declined after all is that of its first shape.
        let answer = ReserveAnswer::Declined;
        let declined = Record::Answered { job: id, ready: minute(10), deadline: minute(60), answer };
        let tally = add(&[&before[..], &[shaped(1), (0, ROUTER, declined)]].concat()).unwrap();
        let text = table(&tally, "reservations.csv");
        assert_eq!(text.lines().nth(1), Some("0,bob,0,600,600,3600,2,declined,,,,,,,,,,,,2,0"));
    }

    /// At twice the speed ten minutes are five; the slowdown goes by the ten.
    #[test]
    fn bookings_at_a_fast_site_are_shorter() {
        let mut fast = reserving();
        fast.sites[0].speed_millionths = 2_000_000;
        let tally = tally_of(&fast);
        let text = table(&tally, "reservations.csv");
        let rows: Vec<Vec<&str>> = text.lines().skip(1).take(3).map(|line| line.split(',').collect()).collect();
        let ends: Vec<[&str; 3]> = rows.iter().map(|row| [row[4], row[11], row[13]]).collect();
        assert_eq!(ends, [["600", "900", "0.5"], ["600", "1500", "1.5"], ["600", "2100", "2.5"]]);
        let summary = tally.summary(1, Status::Complete, String::new());
        let all = summary.part::<Reservations>().unwrap();
        assert_eq!((all.released, all.slowdown), (120.0, Some(1.5)));
    }

    /// Nodes 0 and 1 are down until 12 min, and a checkpoint takes half a minute after three minutes of work.
    #[test]
    fn what_failures_and_checkpoints_take_is_told_and_late_input_is_not_theirs() {
        let failure = Failure {
            what: FailureTarget::Nodes { site: 0, nodes: NodeSet::all(2) },
            pattern: FailurePattern::Once { at: minute(8), lasts: Span::from_minutes(4) },
            announced: true,
        };
        let saves = Checkpoint { every: Every::Span(Span::from_minutes(3)), cost: Span::from_secs(30) };
        let recovery = Recovery { checkpoint: Some(saves), ..Recovery::default() };
        let topology = Topology { failures: vec![failure], recovery, ..reserving() };
        let mut tally = Tally::new(&topology, &names());
        let mut add = |at: u64, actor: ActorId, record: Record| {
            tally.add(&Entry { stamp: Stamp::at(minute(at)), actor, record }).unwrap();
        };
        // The first waits for its nodes, the second for its input when these are back, the third for its input on
        // others.
        let asked = [(10, 12, "0-1"), (30, 33, "0-1"), (10, 12, "2-3")];
        for (id, (start, _, nodes)) in (0..).zip(asked) {
            let task = Task { walltime: Span::from_minutes(10), ..Task::new(Span::from_minutes(9), 2, Kind(0)) };
            let job = JobId(id);
            let arrive = minute(0);
            let asked =
                Job { id: job, arrive, first_task: id, tasks: vec![task], edges: Vec::new(), worth: None, times: None };
            add(0, ROUTER, Record::Arrived { job: Arc::new(asked), user: BOB });
            let nodes = NodeSet::parse(nodes).unwrap();
            let answer = ReserveAnswer::Accepted { site: YORK, start: minute(start), nodes };
            add(0, ROUTER, Record::Answered { job, ready: minute(10), deadline: minute(60), answer });
        }
        add(8, YORK, Record::Down { cores: NodeSet::all(2), since: minute(8) });
        add(12, YORK, Record::Up { cores: NodeSet::all(2), since: minute(12) });
        for (id, at) in [(0, 12), (2, 12), (1, 33)] {
            let task = TaskId { job: JobId(id), index: 0 };
            let cores = NodeSet::parse(asked[id as usize].2).unwrap();
            add(at, YORK, Record::Started { task, cores });
            if id == 2 {
                for id in [0, 2] {
                    add(21, YORK, Record::Finished { task: TaskId { job: JobId(id), index: 0 } });
                    add(21, ROUTER, Record::Completed { job: JobId(id), value: None });
                }
            }
        }
        let summary = tally.summary(1, Status::Complete, String::new());
        let all = summary.part::<Reservations>().unwrap();
        assert_eq!((all.shortened, all.moved, all.finished), (1, 0, 2));
        // Of two nodes half a minute each: they were booked from 10 min to 21.5.
        assert_eq!(all.released, 2.0 * 2.0 * 30.0);
        let text = table(&tally, "reservations.csv");
        let ends: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').nth(11).unwrap()).collect();
        assert_eq!(ends, ["1290", "2490", "1290"]);
    }
}
