//! Dispatcher, sites and users together, in one place.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::policy::ALL;
use super::{Dispatch, Dispatcher, Place, Queue, Ran, Rigid, play, policy};
use crate::grid::{Invalid, Job, JobId, Kind, NodeSet, Task};
use crate::kernel::{Actor, ActorId, Entry, judge};
use crate::protocol::{Enqueue, Message, Record};
use crate::roles::{Site, User};
use crate::time::{Span, Time};

const ROUTER: ActorId = ActorId(0);

type Cast = Vec<Box<dyn Actor<Message, Record> + Send>>;

fn second(second: u64) -> Time {
    Time::ZERO + Span::from_secs(second)
}

fn job(number: u32, rigid: &Rigid) -> Arc<Job> {
    let Rigid { submit, nodes, walltime, runtime } = *rigid;
    let task = Task { runtime, cores: nodes, kind: Kind(0), walltime };
    let id = JobId(number);
    Arc::new(Job { id, arrive: submit, first_task: number, tasks: vec![task], edges: Vec::new(), worth: None })
}

fn rigid(submit: u64, nodes: u32, walltime: u64, runtime: u64) -> Rigid {
    Rigid { submit: second(submit), nodes, walltime: Span::from_secs(walltime), runtime: Span::from_secs(runtime) }
}

fn cast(sites: &[(u32, &str)], dispatch: Dispatch, users: Vec<User>) -> Cast {
    let places = sites.iter().zip(1..).map(|((nodes, _), id)| Place::new(ActorId(id), *nodes)).collect();
    let mut cast: Cast = vec![Box::new(Dispatcher::new(places, dispatch))];
    for (nodes, name) in sites {
        let policy = (policy::find(name).unwrap().build)(*nodes, &[]);
        cast.push(Box::new(Site::new(*nodes, Box::new(Queue::new(policy)), [ROUTER])));
    }
    cast.extend(users.into_iter().map(|user| Box::new(user) as Box<dyn Actor<Message, Record> + Send>));
    cast
}

fn says(jobs: &[Rigid], site: Option<ActorId>) -> Vec<(Time, ActorId, Message)> {
    let enqueue = |(number, rigid): (u32, &Rigid)| {
        (rigid.submit, ROUTER, Message::Enqueue(Enqueue { job: job(number, rigid), site, think: None }))
    };
    (0..).zip(jobs).map(enqueue).collect()
}

/// Start, end and nodes of each job, by number.
fn ran(log: &[Entry<Record>]) -> BTreeMap<u32, Ran> {
    let mut ran = BTreeMap::new();
    for Entry { stamp, record, .. } in log {
        match record {
            Record::Started { task, cores } => {
                let started = Ran { start: stamp.time, end: Time::NEVER, nodes: cores.clone(), moves: Vec::new() };
                assert!(ran.insert(task.job.0, started).is_none());
            }
            Record::Finished { task } | Record::Killed { task } => {
                ran.get_mut(&task.job.0).unwrap().end = stamp.time;
            }
            _ => {}
        }
    }
    ran
}

fn assigned(log: &[Entry<Record>]) -> Vec<u32> {
    let site = |entry: &Entry<Record>| match entry.record {
        Record::Assigned { site, .. } => Some(site.0),
        _ => None,
    };
    log.iter().filter_map(site).collect()
}

#[test]
fn jobs_go_where_the_rule_says() {
    let jobs = [rigid(0, 2, 10, 10), rigid(0, 2, 10, 10), rigid(1, 4, 10, 10), rigid(2, 1, 5, 5), rigid(3, 1, 5, 5)];
    let sites = [(2, "easy"), (4, "easy")];
    let play = |dispatch| {
        let user = User::saying(says(&jobs, None));
        assigned(&judge::run(cast(&sites, dispatch, vec![user]), &[Span::ZERO; 4]))
    };
    assert_eq!(play(Dispatch::First), [1, 1, 2, 1, 1]);
    assert_eq!(play(Dispatch::RoundRobin), [1, 2, 2, 1, 2]);
    // 20 node seconds at the first; then 20 at the second; then 40 more there; after that the first has less a node.
    assert_eq!(play(Dispatch::LeastWork), [1, 2, 2, 1, 1]);

    let user = User::saying(says(&jobs, Some(ActorId(1))));
    let log = judge::run(cast(&sites, Dispatch::LeastWork, vec![user]), &[Span::ZERO; 4]);
    assert_eq!(assigned(&log), [1, 1, 1, 1]);
    let rejected: Vec<_> = log
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::Rejected { job, why, .. } => Some((job.id.0, *why)),
            _ => None,
        })
        .collect();
    assert_eq!(rejected, [(2, Invalid::TooManyNodes)]);
}

#[test]
fn who_follows_comes_when_the_other_is_over_and_its_user_has_thought() {
    // Job 1 follows job 0, which is killed after 10 s; job 3 follows job 2, which is rejected.
    let jobs = [rigid(0, 2, 10, 30), rigid(0, 1, 5, 5), rigid(4, 9, 5, 5), rigid(0, 1, 7, 7)];
    let all: Vec<Arc<Job>> = (0..).zip(&jobs).map(|(number, rigid)| job(number, rigid)).collect();
    let enqueue = |number: usize, think| Enqueue { job: all[number].clone(), site: None, think };
    let (five, two) = (Span::from_secs(5), Span::from_secs(2));
    let says = vec![
        (second(0), ROUTER, Message::Enqueue(enqueue(0, Some(five)))),
        (second(4), ROUTER, Message::Enqueue(enqueue(2, Some(two)))),
    ];
    let then = BTreeMap::from([
        (JobId(0), vec![(five, ROUTER, enqueue(1, None))]),
        (JobId(2), vec![(two, ROUTER, enqueue(3, None))]),
    ]);
    for latency in [0, 1] {
        let user = User::saying(says.clone()).then(then.clone());
        let latency = Span::from_secs(latency);
        let log = judge::run(cast(&[(2, "easy")], Dispatch::First, vec![user]), &[Span::ZERO, Span::ZERO, latency]);
        let there_and_back = latency.micros() / 1_000_000;
        let starts: Vec<_> = ran(&log).iter().map(|(number, ran)| (*number, ran.start.micros() / 1_000_000)).collect();
        // The follower of the one that was rejected finds the nodes busy until the first is killed.
        let first = there_and_back;
        assert_eq!(starts, [(0, first), (1, first + 10 + 5 + 2 * there_and_back), (3, first + 10)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 40 } else { 200 }))]

    /// With all its messages and promises, a site does what its policy does alone; nobody breaks a promise.
    #[test]
    fn a_site_with_a_queue_is_its_policy(
        jobs in prop::collection::vec((0u64..40, 1u32..=7, 1u64..14, 1u64..12), 1..30),
        latencies in prop::collection::vec(0u64..3, 3),
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|job| job.0);
        let jobs: Vec<Rigid> =
            jobs.into_iter().map(|(submit, nodes, walltime, runtime)| rigid(submit, nodes, walltime, runtime)).collect();
        // The router has no way to itself.
        let latencies: Vec<Span> = [0, latencies[1], latencies[2]].map(Span::from_secs).into();
        let there = latencies.iter().fold(Span::ZERO, |sum, one| sum + *one);
        for entry in ALL {
            let user = User::saying(says(&jobs, None));
            let log = judge::run(cast(&[(6, entry.name)], Dispatch::First, vec![user]), &latencies);
            let later: Vec<Rigid> = jobs.iter().map(|job| Rigid { submit: job.submit + there, ..*job }).collect();
            let alone = play(&mut *(entry.build)(6, &[]), 6, &later);
            let alone: BTreeMap<u32, Ran> =
                (0..).zip(alone).filter_map(|(number, ran)| Some((number, ran?))).collect();
            prop_assert_eq!(ran(&log), alone, "{}", entry.name);
            let ends = log.iter().filter(|entry| {
                matches!(entry.record, Record::Completed { .. } | Record::Rejected { .. })
            });
            prop_assert_eq!(ends.count(), jobs.len());
        }
    }
}

#[test]
fn what_strangers_send_does_no_harm() {
    struct Stranger;
    impl Actor<Message, Record> for Stranger {
        fn handle(
            &mut self,
            _: crate::time::Stamp,
            batch: &mut Vec<crate::kernel::Event<Message>>,
            out: &mut crate::kernel::Outbox<Message, Record>,
        ) {
            if !batch.drain(..).any(|event| event.cause == crate::kernel::Cause::Start) {
                return;
            }
            let good = job(5, &rigid(0, 1, 5, 5));
            let none = Arc::new(Job { tasks: Vec::new(), ..(*good).clone() });
            let empty = job(6, &rigid(0, 0, 5, 5));
            let brief = job(7, &rigid(0, 1, 0, 5));
            for job in [good.clone(), good, none, empty, brief] {
                out.send(ROUTER, Message::Enqueue(Enqueue { job, site: None, think: None }));
            }
            let queue = crate::protocol::Queue { job: JobId(9), nodes: 1, walltime: Span::ZERO, runtime: Span::ZERO };
            out.send(ActorId(1), Message::Queue(queue));
        }
    }
    let mut cast = cast(&[(2, "easy")], Dispatch::First, Vec::new());
    cast.push(Box::new(Stranger));
    let log = judge::run(cast, &[Span::ZERO; 3]);
    let ran = ran(&log);
    assert_eq!(ran.keys().copied().collect::<Vec<_>>(), [5]);
    assert_eq!(ran[&5].nodes, NodeSet::all(1));
}
