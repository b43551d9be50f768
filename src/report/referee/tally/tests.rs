use std::sync::Arc;

use proptest::prelude::*;

use super::row::Setbacks;
use super::stints::{StintEnd, Stints};
use super::*;
use crate::Status;
use crate::tests::{BOB, ROUTER, YORK, names, story, table, topology};
use hansa_sim::grid::{Edge, Graph, Job, Kind, NodeSet, Task, TaskId};
use hansa_sim::systems::Service;
use hansa_sim::systems::market::{Figures, Market};
use hansa_sim::time::{Span, Stamp, Time};

/// A job whose tasks follow each other; every other one has run.
pub fn row(job: u32, tasks: u32) -> JobRow {
    let task = |index: u32| Task::new(Span::from_secs(u64::from(index + job % 5)), 1 + index, Kind(0));
    let ran = |index: u32| {
        let moment = |seconds: u32| Some(Time::ZERO + Span::from_secs(u64::from(seconds)));
        let cores = NodeSet::all(1 + index);
        TaskRow {
            site: Some(1),
            assigned: moment(index),
            start: moment(index),
            end: moment(index + 1),
            cores,
            killed: false,
            preempted: index % 5 == 3,
            is_sent_again: false,
            entered: true,
            stints: index.is_multiple_of(4).then(|| {
                let mut stints = None;
                let begun = Stints::of(&mut stints, Time::ZERO);
                begun.leave_nodes(Time::from_micros(5), &NodeSet::from_run(2, 2 + index), StintEnd::Suspended);
                moment(index).into_iter().for_each(|at| begun.enter_nodes(at));
                stints.expect("it has begun")
            }),
            setbacks: index.is_multiple_of(3).then(|| {
                let mut setbacks = Setbacks::default();
                setbacks.record_checkpoints(u64::from(index) + 1, Span::from_secs(2), 1 + index);
                setbacks.record_loss(Time::from_micros(7), Span::from_secs(9), Span::from_secs(1), 1 + index);
                setbacks.record_requeue(Span::from_secs(3), 1 + index);
                Box::new(setbacks)
            }),
        }
    };
    let asked = Job {
        id: JobId(job),
        arrive: Time::from_micros(job.into()),
        tasks: (0..tasks).map(task).collect(),
        edges: (1..tasks).map(|to| Edge::new(to - 1, to)).collect(),
        ..Job::default()
    };
    JobRow {
        job: Arc::new(asked),
        user: BOB,
        system: 0,
        fate: Fate::Removed { at: Time::from_micros(7) },
        critical_path: Span::from_secs(3),
        tasks: (0..tasks).map(|index| if index % 2 == 0 { ran(index) } else { TaskRow::default() }).collect(),
        answered: None,
        shapes: None,
        needs: None,
        bargain: None,
    }
}

fn render_tally(tally: &Tally) -> (String, String) {
    (table(tally, "jobs.csv"), format!("{:?}", tally.summary(7, Status::Complete, String::new())))
}

proptest! {
    /// Wherever the log ends.
    #[test]
    fn a_tally_that_puts_aside_what_is_over_tells_the_same(until in 0usize..25) {
        let mut keeping = Tally::new(&topology(), &names());
        let mut putting_aside = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
        for entry in story().iter().take(until) {
            keeping.add(entry).unwrap();
            putting_aside.add(entry).unwrap();
        }
        prop_assert_eq!(render_tally(&keeping), render_tally(&putting_aside));
        prop_assert_eq!(keeping.jobs_ended(), putting_aside.jobs_ended());
    }
}

#[test]
fn the_critical_path_is_the_one_that_the_market_reckons_with() {
    let share = 900_000;
    let tick = Span::from_minutes(1);
    let market = Market { ccr_millionths: share, tick, ..Market::default() };
    let grid = Topology { systems: vec![Service::new(market.clone())], ..topology() };
    let task = |kind| Task::new(Span::from_secs(61), 1, Kind(kind));
    let job = Job { tasks: vec![task(0), task(1)], edges: vec![Edge::new(0, 1)], ..(*row(1, 2).job).clone() };
    let figures = Figures::of_job(&job, &Graph::new(2, &job.edges), &market, None, false).unwrap();
    let mut tally = Tally::new(&grid, &names());
    let record = Record::Arrived { job: Arc::new(job), user: BOB };
    tally.add(&Entry { stamp: Stamp::ZERO, actor: ROUTER, record }).unwrap();
    assert_eq!(tally.jobs[&JobId(1)].critical_path, figures.critical_path);
}

#[test]
fn what_is_over_leaves_memory_and_is_still_known() {
    let mut tally = Tally::putting_aside(&topology(), &names(), Box::new(Vec::new()));
    story().iter().for_each(|entry| tally.add(entry).unwrap());
    // Of the job that was given up one task still runs, and the last one still waits.
    assert_eq!(tally.jobs.keys().map(|job| job.0).collect::<Vec<_>>(), [4, 5]);

    let mut add_record = |actor, record| {
        let entry = Entry { stamp: Stamp::at(tally.last), actor, record };
        tally.add(&entry).map_err(|error| error.to_string())
    };
    let task = |job, index| TaskId { job: JobId(job), index };
    assert_eq!(add_record(YORK, Record::Finished { task: task(0, 0) }), Err("job 0 has ended already".to_owned()));
    assert_eq!(add_record(ROUTER, Record::Removed { job: JobId(3) }), Err("job 3 has ended already".to_owned()));
    assert_eq!(add_record(ROUTER, Record::Removed { job: JobId(9) }), Err("job 9 has not arrived".to_owned()));
    let again = Record::Arrived { job: row(1, 1).job, user: BOB };
    assert_eq!(add_record(ROUTER, again), Err("job 1 arrives twice".to_owned()));
    assert_eq!(add_record(YORK, Record::Finished { task: task(4, 0) }), Ok(()));
    assert_eq!(tally.jobs.keys().map(|job| job.0).collect::<Vec<_>>(), [5]);
}

#[test]
fn a_task_is_where_its_stints_were() {
    let at =
        |minute: u64, record| Entry { stamp: Stamp::at(Time::ZERO + Span::from_minutes(minute)), actor: YORK, record };
    let task = TaskId { job: JobId(0), index: 0 };
    let cores = |text| NodeSet::parse(text).unwrap();
    let tally_of = |entries: &[Entry<Record>]| {
        let mut tally = Tally::new(&topology(), &names());
        story()[..3].iter().chain(entries).try_for_each(|entry| tally.add(entry)).map(|()| tally)
    };
    let tally = tally_of(&[
        at(2, Record::Suspended { task }),
        at(5, Record::Resumed { task, cores: cores("1-2") }),
        at(6, Record::Shared { task, share: 0.5 }),
        at(7, Record::Moved { task, cores: cores("0 3") }),
        at(9, Record::Finished { task }),
    ])
    .unwrap();
    let now = Time::ZERO + Span::from_minutes(20);
    let stints = tally.jobs[&JobId(0)].tasks[0].stints(now);
    let stints: Vec<_> = stints.map(|stint| (stint.from, stint.to, stint.nodes.to_string(), stint.share)).collect();
    let minute = |minute| Time::ZERO + Span::from_minutes(minute);
    let there = |from, to, cores: &str, share| (minute(from), minute(to), cores.to_owned(), share);
    let expected = [there(0, 2, "0-1", 1.0), there(5, 6, "1-2", 1.0), there(6, 7, "1-2", 0.5), there(7, 9, "0 3", 0.5)];
    assert_eq!(stints, expected);

    assert!(tally_of(&[at(2, Record::Resumed { task, cores: cores("0") })]).is_err());
    assert!(tally_of(&[at(2, Record::Suspended { task }), at(3, Record::Finished { task })]).is_err());
    assert!(tally_of(&[at(2, Record::Shared { task, share: 1.5 })]).is_err());
    assert!(tally_of(&[at(2, Record::Suspended { task }), at(3, Record::Moved { task, cores: cores("0") })]).is_err());
}
