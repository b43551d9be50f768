use std::sync::Arc;

use super::*;
use crate::tests::{BOB, ROUTER, YORK, names, topology};
use crate::{RecordError, Status};
use hansa_sim::grid::{Failure, FailurePattern, FailureTarget, Job, JobId, Kind, NodeSet, Task, TaskId};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::systems::Service;
use hansa_sim::systems::batch::Batch;
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::Topology;

fn minutes(minutes: u64) -> Span {
    Span::from_minutes(minutes)
}

/// York's node 3, on which no job runs here, is down for the second hour.
fn failing() -> Tally {
    let what = FailureTarget::Nodes { site: 0, nodes: NodeSet::from_run(3, 3) };
    let once = FailurePattern::Once { at: Time::ZERO + minutes(60), lasts: minutes(60) };
    let failures = vec![Failure { what, pattern: once, announced: true }];
    let topology = Topology { systems: vec![Service::new(Batch::default())], failures, ..topology() };
    Tally::new(&topology, &names())
}

fn add(tally: &mut Tally, at: u64, actor: ActorId, record: Record) -> Result<(), RecordError> {
    tally.add(&Entry { stamp: Stamp::at(Time::ZERO + minutes(at)), actor, record }).map(drop)
}

fn come(tally: &mut Tally, job: u32) -> TaskId {
    let task = Task { walltime: minutes(90), ..Task::new(minutes(60), 1, Kind(0)) };
    let asked = Job { id: JobId(job), first_task: job, tasks: vec![task], ..Job::default() };
    add(tally, 0, ROUTER, Record::Arrived { job: Arc::new(asked), user: BOB }).unwrap();
    let task = TaskId { job: JobId(job), index: 0 };
    add(tally, 0, ROUTER, Record::Assigned { task, site: YORK }).unwrap();
    task
}

#[test]
fn what_is_saved_counts_unless_it_is_thrown_away_or_killed() {
    let mut tally = failing();
    let core = |number: u32| NodeSet::from_run(number, number);
    let killed = come(&mut tally, 0);
    let again = come(&mut tally, 1);
    let whole = come(&mut tally, 2);
    let mut send = |at: u64, actor: ActorId, record: Record| add(&mut tally, at, actor, record).unwrap();
    send(0, YORK, Record::Started { task: killed, cores: core(0) });
    send(0, YORK, Record::Started { task: again, cores: core(1) });
    send(0, YORK, Record::Started { task: whole, cores: core(2) });
    // Of 30 minutes 20 are saved, and saving them took one.
    for task in [killed, again, whole] {
        send(30, YORK, Record::Checkpointed { task, times: 1, spent: minutes(1) });
        send(30, YORK, Record::Lost { task, saved: minutes(20) });
    }
    // One goes on and is killed, one is handed in anew, one goes on to its end.
    send(35, ROUTER, Record::Withdrawn { task: again });
    send(40, YORK, Record::Started { task: killed, cores: core(0) });
    send(50, ROUTER, Record::Assigned { task: again, site: YORK });
    send(50, YORK, Record::Started { task: again, cores: core(1) });
    send(60, YORK, Record::Killed { task: killed });
    send(60, ROUTER, Record::Completed { job: JobId(0), value: None });
    send(70, YORK, Record::Started { task: whole, cores: core(2) });
    for (job, task) in [(1, again), (2, whole)] {
        send(110, YORK, Record::Finished { task });
        send(110, ROUTER, Record::Completed { job: JobId(job), value: None });
    }

    let summary = tally.summary(1, Status::Complete, String::new());
    let all = summary.read_part::<Failures>().unwrap();
    let hours = |node_minutes: u64| (node_minutes * 60) as f64;
    // 50, 90 and 70 minutes.
    assert_eq!(all.work, hours(50 + 90 + 70));
    assert_eq!(all.work_checkpoints, hours(3));
    // All but the checkpoint, all of the first stint but that, and the ten minutes that were not saved, less the minute
    // that saving took.
    assert_eq!(all.work_lost, hours(49 + 29 + 9));
    assert_eq!(all.work_useful, hours(60 + 60));
    assert_eq!((all.work_unfinished, all.tasks_lost, all.restarts), (0.0, 3, 3));
    // Ten, twenty and forty minutes from the loss on.
    assert_eq!(all.mean_recovery, Some(hours(70) / 3.0));
    // Until 110 minutes, when all work is over, one node was down for 50.
    assert_eq!((all.node_failures, all.sites[0].down), (1, hours(50)));
}

#[test]
fn nobody_saves_more_than_it_ran() {
    let mut tally = failing();
    let task = come(&mut tally, 0);
    add(&mut tally, 0, YORK, Record::Started { task, cores: NodeSet::from_run(0, 0) }).unwrap();
    for record in [
        Record::Checkpointed { task, times: 1, spent: minutes(31) },
        Record::Checkpointed { task, times: u64::MAX, spent: minutes(1) },
    ] {
        let message = add(&mut tally, 30, YORK, record).unwrap_err().to_string();
        assert_eq!(message, "task 0.0 is said to have saved more than it ran");
    }
    assert!(add(&mut tally, 30, YORK, Record::Lost { task, saved: Span::MAX }).is_err());
}

#[test]
fn who_was_moved_and_is_lost_has_run_for_nothing_since_the_start() {
    let mut tally = failing();
    let task = come(&mut tally, 0);
    let mut send = |at: u64, record: Record| add(&mut tally, at, YORK, record).unwrap();
    send(0, Record::Started { task, cores: NodeSet::from_run(0, 0) });
    send(20, Record::Moved { task, cores: NodeSet::from_run(1, 1) });
    send(30, Record::Lost { task, saved: Span::ZERO });
    send(30, Record::Started { task, cores: NodeSet::from_run(0, 0) });
    send(90, Record::Finished { task });
    add(&mut tally, 90, ROUTER, Record::Completed { job: JobId(0), value: None }).unwrap();
    let summary = tally.summary(1, Status::Complete, String::new());
    let all = summary.read_part::<Failures>().unwrap();
    assert_eq!((all.work, all.work_lost, all.work_useful), (5400.0, 1800.0, 3600.0));
}
