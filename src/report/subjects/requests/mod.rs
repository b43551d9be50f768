//! Results of requests for reservations: a part of the summary, and `reservations.csv` with one row per request.

mod account;
mod calendar;
mod figures;
mod records;
mod rectangles;
mod section;
mod tally;

pub use self::account::RESERVATIONS;
use self::account::RequestAccount;
pub(crate) use self::account::{request, until as booked_until};
pub use self::figures::{ByShape, Reservations};
use self::figures::{METRICS, cards, lines};
use self::rectangles::rectangles_section;
use self::tally::RequestTally;
use super::{PLAIN, Subject, SubjectReport, Words};
use crate::markup::Html;
use crate::present::page::Page;
use crate::results::account::Account;
use crate::{SummaryPart, Tally};
use hansa_sim::systems::starts::StartRule;
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
    metrics: METRICS,
    records: Some(records::RECORDS),
    tally: Some(|_, _| Box::new(RequestTally)),
    ..PLAIN
};

/// Facts from the topology.
#[derive(Debug)]
struct Requests {
    /// The systems with reservations.
    systems: Vec<u32>,
    /// The rule of the first of them for starts.
    rule: Option<Box<dyn StartRule>>,
}

impl Requests {
    fn of(topology: &Topology, systems: Vec<u32>) -> Option<Box<dyn SubjectReport>> {
        let first = systems.first().and_then(|system| topology.systems.get(*system as usize));
        let rule = first.and_then(|system| system.start_rule());
        Some(Box::new(Requests { systems, rule }))
    }
}

impl SubjectReport for Requests {
    fn open_account<'a>(&'a self, tally: &'a Tally, tables: bool) -> Box<dyn Account + 'a> {
        Box::new(RequestAccount::new(tally, &self.systems, tables))
    }

    fn page_section(&self, page: &Page<'_>) -> Html {
        let sites = page.tally.sites_of(&self.systems);
        section::answers_section(page, &sites)
            + self.rule.as_ref().map_or_else(Html::default, |rule| rectangles_section(page.tally, rule.as_ref()))
            + calendar::calendar_charts(page.tally, &sites)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::tests::{BOB, ROUTER, YORK, names, table, topology};
    use crate::{Status, summary_table};
    use hansa_sim::grid::{
        Checkpoint, Every, Failure, FailurePattern, FailureTarget, Invalid, Job, JobId, JobShape, Kind, NodeSet,
        Recovery, Task, TaskId,
    };
    use hansa_sim::kernel::{ActorId, Entry};
    use hansa_sim::protocol::{Record, ReserveAnswer};
    use hansa_sim::systems::Service;
    use hansa_sim::systems::reservation::Reservation;
    use hansa_sim::time::{Span, Stamp, Time};

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
        let all = summary.read_part::<Reservations>().unwrap();
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
        let header = String::from_utf8(RESERVATIONS.header_line(&[])).unwrap();
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
        let all = summary.read_part::<Reservations>().unwrap();
        let fewer = ByShape { fewer_nodes: 1, ..ByShape::default() };
        assert_eq!((all.by_shape, all.reshaped(), all.slowdown), (Some(fewer), Some(1.0), Some(2.0)));
        // Twice the shorter run time, though it ran for the longer one.
        assert_eq!(tally.jobs[&id].stretch_factor(), Some(2.0));
        // Its row has what it asked for first.
        let job = table(&tally, "jobs.csv");
        assert_eq!(job.lines().nth(1).unwrap().split(',').collect::<Vec<_>>()[3..6], ["0", "2", "600"]);
        assert_eq!(all.released, 720.0);
        let message = "of 1 malleable request: 1 on fewer nodes";
        // It is broken into lines.
        let printed = summary_table(&summary, None);
        assert!(printed.split_whitespace().collect::<Vec<_>>().join(" ").contains(message), "{printed}");

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
        let all = summary.read_part::<Reservations>().unwrap();
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
        let all = summary.read_part::<Reservations>().unwrap();
        assert_eq!((all.shortened, all.moved, all.finished), (1, 0, 2));
        // Of two nodes half a minute each: they were booked from 10 min to 21.5.
        assert_eq!(all.released, 2.0 * 2.0 * 30.0);
        let text = table(&tally, "reservations.csv");
        let ends: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').nth(11).unwrap()).collect();
        assert_eq!(ends, ["1290", "2490", "1290"]);
    }
}
