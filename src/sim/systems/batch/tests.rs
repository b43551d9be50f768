//! Dispatcher, sites and users together, in one place.

mod booked;
mod failing;
mod outside;
mod staging;

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;

use proptest::prelude::*;

use super::{Dispatch, Dispatcher, KnownSite, QueueManager, Takes};
use crate::grid::{Invalid, Job, JobId, Kind, NodeSet, QueueOrder, Task, TaskId};
use crate::kernel::{Actor, ActorId, Cause, Entry, Event, Outbox, judge};
use crate::play::second;
use crate::protocol::{Book, Ended, Enqueue, Message, Queue, Recall, Record, Run};
use crate::roles::queue::{self, ALL, Ran, Rigid, play_jobs};
use crate::roles::{Follower, Followers, JobStore, Resubmit, Script, Site, User};
use crate::time::{Span, Stamp, Time};

const ROUTER: ActorId = ActorId(0);

type Built = Vec<Box<dyn Actor<Message, Record> + Send>>;

fn job(number: u32, rigid: &Rigid) -> Arc<Job> {
    let Rigid { submit, nodes, walltime, runtime } = *rigid;
    let task = Task { runtime, cores: nodes, kind: Kind(0), walltime };
    let id = JobId(number);
    Arc::new(Job { id, arrive: submit, first_task: number, tasks: vec![task], ..Job::default() })
}

fn rigid(submit: u64, nodes: u32, walltime: u64, runtime: u64) -> Rigid {
    Rigid { submit: second(submit), nodes, walltime: Span::from_secs(walltime), runtime: Span::from_secs(runtime) }
}

fn cast(sites: &[(u32, &str)], dispatch: Dispatch, users: Vec<User>) -> Built {
    let known =
        sites.iter().zip(1..).map(|((nodes, _), id)| KnownSite::new(ActorId(id), *nodes, Takes::Queued)).collect();
    let mut cast: Built = vec![Box::new(Dispatcher::new(known, dispatch, None))];
    for (nodes, name) in sites {
        let policy = (queue::find_policy(name).unwrap().build)(*nodes, &[], QueueOrder::Arrival.into());
        cast.push(Box::new(Site::new(*nodes, Box::new(QueueManager::new(policy)), [ROUTER])));
    }
    cast.extend(users.into_iter().map(|user| Box::new(user) as Box<dyn Actor<Message, Record> + Send>));
    cast
}

fn messages(jobs: &[Rigid], site: Option<ActorId>) -> Vec<(Time, ActorId, Message)> {
    let enqueue = |(number, rigid): (u32, &Rigid)| {
        (
            rigid.submit,
            ROUTER,
            Message::Enqueue(Enqueue {
                job: job(number, rigid),
                site,
                kind: None,
                think: None,
                needs: None,
                staging: None,
            }),
        )
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

/// Jobs that are there from the start.
#[derive(Debug)]
struct Written(Vec<Enqueue>);

impl JobStore for Written {
    fn job_message(&self, place: u32) -> (Time, Message) {
        let enqueue = self.0[place as usize].clone();
        (enqueue.job.arrive, Message::Enqueue(enqueue))
    }
}

#[test]
fn jobs_go_where_the_rule_says() {
    let jobs = [rigid(0, 2, 10, 10), rigid(0, 2, 10, 10), rigid(1, 4, 10, 10), rigid(2, 1, 5, 5), rigid(3, 1, 5, 5)];
    let sites = [(2, "easy"), (4, "easy")];
    let play = |dispatch| {
        let user = User::new(Script::from_messages(messages(&jobs, None)));
        assigned(&judge::run_actors(cast(&sites, dispatch, vec![user]), &[Span::ZERO; 4]))
    };
    assert_eq!(play(Dispatch::First), [1, 1, 2, 1, 1]);
    assert_eq!(play(Dispatch::RoundRobin), [1, 2, 2, 1, 2]);
    // 20 node seconds at the first; then 20 at the second; then 40 more there; after that the first has less per node.
    assert_eq!(play(Dispatch::LeastWork), [1, 2, 2, 1, 1]);

    let user = User::new(Script::from_messages(messages(&jobs, Some(ActorId(1)))));
    let log = judge::run_actors(cast(&sites, Dispatch::LeastWork, vec![user]), &[Span::ZERO; 4]);
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
fn a_job_goes_where_there_are_cores_of_its_kind() {
    let known = |id, kind| KnownSite::new(ActorId(id), 2, Takes::Queued).of_kind(Kind(kind));
    let site = |nodes| {
        let policy = (queue::find_policy("fcfs").unwrap().build)(nodes, &[], QueueOrder::Arrival.into());
        Box::new(Site::new(nodes, Box::new(QueueManager::new(policy)), [ROUTER]))
    };
    let kinds = [Some(1), None, Some(0), Some(2), Some(1)];
    let work = kinds.map(|_| rigid(0, 1, 5, 5));
    let mut messages = messages(&work, None);
    for ((_, _, message), wanted) in messages.iter_mut().zip(kinds) {
        let Message::Enqueue(enqueue) = message else { panic!("it is handed in") };
        enqueue.kind = wanted.map(Kind);
    }
    for (dispatch, expected) in [(Dispatch::First, [2, 1, 1, 2]), (Dispatch::RoundRobin, [2, 1, 1, 2])] {
        let dispatcher = Dispatcher::new(vec![known(1, 0), known(2, 1)], dispatch, None);
        let user = User::new(Script::from_messages(messages.clone()));
        let cast: Built = vec![Box::new(dispatcher), site(2), site(2), Box::new(user)];
        let log = judge::run_actors(cast, &[Span::ZERO; 4]);
        assert_eq!(assigned(&log), expected, "{dispatch:?}");
        let is_refused =
            |entry: &&Entry<Record>| matches!(&entry.record, Record::Rejected { job, .. } if job.id.0 == 3);
        assert_eq!(log.iter().filter(is_refused).count(), 1, "nobody has cores of its kind");
    }
}

#[test]
fn the_first_submission_is_first_even_if_its_message_takes_longer() {
    let work = [rigid(4, 1, 10, 10), rigid(0, 1, 10, 10), rigid(4, 1, 10, 10)];
    let all = messages(&work, None);
    // All of them are there at 5 s: the first after a second, the others after five and one.
    let user = |number: usize| User::new(Script::from_messages(vec![all[number].clone()]));
    let latencies = [0, 0, 1, 5, 1].map(Span::from_secs);
    let log = judge::run_actors(cast(&[(1, "fcfs")], Dispatch::First, vec![user(0), user(1), user(2)]), &latencies);
    let starts: Vec<Time> = ran(&log).into_values().map(|ran| ran.start).collect();
    assert_eq!(starts, [second(15), second(5), second(25)]);
}

#[test]
fn a_follower_comes_when_the_other_job_is_over_and_its_user_has_thought() {
    // Job 1 follows job 0, which is killed after 10 s; job 3 follows job 2, which is rejected.
    let jobs = [rigid(0, 2, 10, 30), rigid(0, 1, 5, 5), rigid(4, 9, 5, 5), rigid(0, 1, 7, 7)];
    let all: Vec<Arc<Job>> = (0..).zip(&jobs).map(|(number, rigid)| job(number, rigid)).collect();
    let enqueue = |number: usize, think| Enqueue {
        job: all[number].clone(),
        site: None,
        kind: None,
        think,
        needs: None,
        staging: None,
    };
    let five = Span::from_secs(5);
    let two = Span::from_secs(2);
    let messages = vec![
        (second(0), ROUTER, Message::Enqueue(enqueue(0, Some(five)))),
        (second(4), ROUTER, Message::Enqueue(enqueue(2, Some(two)))),
    ];
    let written: Vec<Enqueue> = (0..4).map(|number| enqueue(number, None)).collect();
    let follows = |(before, place, think)| Follower { before: JobId(before), place, think };
    let then = Followers::new(ROUTER, Arc::new(Written(written)), [(0, 1, five), (2, 3, two)].map(follows).to_vec());
    for latency in [0, 1] {
        let user = User::new(Script::from_messages(messages.clone()).with_followers(vec![then.clone()]));
        let latency = Span::from_secs(latency);
        let log =
            judge::run_actors(cast(&[(2, "easy")], Dispatch::First, vec![user]), &[Span::ZERO, Span::ZERO, latency]);
        let there_and_back = latency.micros() / 1_000_000;
        let starts: Vec<_> = ran(&log).iter().map(|(number, ran)| (*number, ran.start.micros() / 1_000_000)).collect();
        // The follower of the one that was rejected finds the nodes busy until the first is killed.
        let first = there_and_back;
        assert_eq!(starts, [(0, first), (1, first + 10 + 5 + 2 * there_and_back), (3, first + 10)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 40 } else { 200 }))]

    /// With all its messages and promises, a site does the same as its policy alone; no promise is broken.
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
            let user = User::new(Script::from_messages(messages(&jobs, None)));
            let log = judge::run_actors(cast(&[(6, entry.name)], Dispatch::First, vec![user]), &latencies);
            let later: Vec<Rigid> = jobs.iter().map(|job| Rigid { submit: job.submit + there, ..*job }).collect();
            let alone = play_jobs(&mut *(entry.build)(6, &[], QueueOrder::Arrival.into()), 6, &later);
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

/// Gives a site work of its own at given times, and records the messages it receives: an end as a removed job, an
/// answer as a completed one, with worth 1 for yes.
struct Giver {
    messages: Vec<(Time, Message)>,
}

impl Actor<Message, Record> for Giver {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            let answer = |task: TaskId, yes: bool| Record::Completed { job: task.job, value: Some(yes.into()) };
            match event.cause {
                Cause::Start => {
                    for (at, message) in self.messages.drain(..) {
                        out.send_at(at, SITE, message);
                    }
                }
                Cause::Message(Message::Ended(ended)) => out.log(Record::Removed { job: ended.task.job }),
                Cause::Message(Message::Booked(booked)) => out.log(answer(booked.task, booked.granted)),
                Cause::Message(Message::Recalled(recalled)) => out.log(answer(recalled.task, recalled.in_time)),
                _ => {}
            }
        }
    }
}

const SITE: ActorId = ActorId(3);
const NODES: u32 = 5;

/// Jobs of a dispatcher, runs of an auction and bookings of a meta-scheduler, at one site.
fn meet(policy: &str, messages: [Vec<(Time, Message)>; 3]) -> Vec<Entry<Record>> {
    let desk = QueueManager::new((queue::find_policy(policy).unwrap().build)(NODES, &[], QueueOrder::Arrival.into()));
    let mut cast: Built = messages.into_iter().map(|messages| Box::new(Giver { messages }) as _).collect();
    cast.push(Box::new(Site::new(NODES, Box::new(desk), (0..3).map(ActorId))));
    judge::run_actors(cast, &[Span::ZERO; 4])
}

fn task(job: u32) -> TaskId {
    TaskId { job: JobId(job), index: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 60 } else { 400 }))]

    /// Several senders of work at one site: no node runs two tasks, a booked task starts at its time on exactly its
    /// nodes, each sender is told of the ends of its own tasks and of no other, all other tasks are served, and no
    /// promise is broken.
    #[test]
    fn several_may_give_work_to_one_site(
        queued in prop::collection::vec((0u64..40, 1u32..=NODES, 1u64..14, 1u64..12), 0..12),
        run in prop::collection::vec((0u64..40, 1u32..=NODES, 1u64..12), 0..6),
        booked in prop::collection::vec((0u64..40, 0u64..20, 0..NODES, 0..NODES, 1u64..14, 1u64..12), 0..8),
        recalled in prop::collection::vec((0u64..50, 0u32..20), 0..6),
    ) {
        // Jobs of the dispatcher have numbers from 0, runs from 100, bookings from 200.
        let mut by_dispatcher: Vec<(Time, Message)> = (0..).zip(&queued).map(|(job, &(at, nodes, walltime, runtime))| {
            let walltime = Span::from_secs(walltime);
            let runtime = Span::from_secs(runtime);
            (second(at), Message::Queue(Queue { job: JobId(job), nodes, walltime, runtime, losses: 0, safe: None }))
        }).collect();
        let by_auction: Vec<(Time, Message)> = (100..).zip(&run).map(|(job, &(at, cores, runtime))| {
            (second(at), Message::Run(Run { task: task(job), cores, runtime: Span::from_secs(runtime), safe: None, planned: NodeSet::default() }))
        }).collect();
        let book = |(job, &(at, ahead, one, other, walltime, runtime)): (u32, &(u64, u64, u32, u32, u64, u64))| {
            let nodes = NodeSet::from_run(one.min(other), one.max(other));
            let walltime = Span::from_secs(walltime);
            let runtime = Span::from_secs(runtime);
            (second(at), Book { task: task(job), start: second(at + ahead), nodes, walltime, runtime, awaits_input: false })
        };
        let books: Vec<(Time, Book)> = (200..).zip(&booked).map(book).collect();
        let mut by_meta: Vec<(Time, Message)> =
            books.iter().map(|(at, book)| (*at, Message::Book(book.clone()))).collect();
        // Each takes back some of its own, once.
        let mut taken_back = BTreeMap::new();
        for (at, number) in recalled {
            if let btree_map::Entry::Vacant(place) = taken_back.entry(number) {
                place.insert(second(at));
                let (messages, job) = if number < 12 { (&mut by_dispatcher, number) } else { (&mut by_meta, number + 188) };
                messages.push((second(at), Message::Recall(Recall { task: task(job) })));
            }
        }
        by_dispatcher.sort_by_key(|answered| answered.0);
        by_meta.sort_by_key(|answered| answered.0);

        for entry in ALL {
            let log = meet(entry.name, [by_dispatcher.clone(), by_auction.clone(), by_meta.clone()]);
            let mut on: BTreeMap<TaskId, NodeSet> = BTreeMap::new();
            let mut started = BTreeMap::new();
            let mut ended = BTreeMap::new();
            let mut received: BTreeMap<u32, Vec<(ActorId, Time)>> = BTreeMap::new();
            let mut answers: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
            // All that moves at one instant leaves before any comes.
            let mut stamp = Stamp::ZERO;
            for entry in &log {
                if entry.stamp != stamp {
                    prop_assert!(are_apart(&on), "at {stamp}: {on:?}");
                    stamp = entry.stamp;
                }
                match &entry.record {
                    Record::Started { task, cores } => {
                        prop_assert!(started.insert(task.job.0, (entry.stamp.time, cores.clone())).is_none());
                        on.insert(*task, cores.clone());
                    }
                    Record::Moved { task, cores } => prop_assert!(on.insert(*task, cores.clone()).is_some()),
                    Record::Finished { task } | Record::Killed { task } => {
                        prop_assert!(on.remove(task).is_some());
                        ended.insert(task.job.0, entry.stamp.time);
                    }
                    Record::Removed { job } => received.entry(job.0).or_default().push((entry.actor, entry.stamp.time)),
                    Record::Completed { job, value } => answers.entry(job.0).or_default().push(*value == Some(1.0)),
                    other => panic!("{other:?}"),
                }
            }
            prop_assert!(on.is_empty());
            for (job, (_, cores)) in &started {
                let end = ended[job];
                prop_assert_eq!(&received[job], &vec![(ActorId(job / 100), end)], "{}: end of {}", entry.name, job);
                prop_assert!(!cores.is_empty());
            }

            for (at, Book { task, start, nodes, walltime, runtime, .. }) in &books {
                let job = task.job.0;
                let recall = taken_back.get(&(job - 188)).copied();
                // A recall that comes before it is asked for finds nothing.
                let mut answered = answers[&job].clone();
                let too_soon = recall.is_some_and(|recall| recall < *at);
                if too_soon {
                    prop_assert!(!answered.remove(0));
                }
                let granted = answered[0];
                let taken = recall.is_some() && !too_soon && answered[1];
                prop_assert!(!taken || granted);
                if granted && !taken {
                    prop_assert_eq!(&started[&job], &(*start, nodes.clone()), "{}: booking {}", entry.name, job);
                    prop_assert_eq!(ended[&job], *start + *walltime.min(runtime));
                } else {
                    prop_assert!(!started.contains_key(&job), "{}: booking {}", entry.name, job);
                }
            }
            for job in (0..queued.len() as u32).chain(100..100 + run.len() as u32) {
                let taken = answers.get(&job).is_some_and(|answered| answered.contains(&true));
                prop_assert_eq!(started.contains_key(&job), !taken, "{}: job {}", entry.name, job);
            }
        }
    }
}

fn are_apart(on: &BTreeMap<TaskId, NodeSet>) -> bool {
    let mut all = NodeSet::default();
    on.values().all(|nodes| {
        let apart = !all.meets(nodes);
        all.unite(nodes);
        apart
    })
}

#[test]
fn a_booking_that_comes_makes_the_queue_wait_and_one_that_goes_lets_it_go_on() {
    let ten = Span::from_secs(10);
    let five = Span::from_secs(5);
    let queue = |job, nodes| {
        Message::Queue(Queue { job: JobId(job), nodes, walltime: ten, runtime: ten, losses: 0, safe: None })
    };
    let book = |start| {
        Message::Book(Book {
            task: task(200),
            start: second(start),
            nodes: NodeSet::all(4),
            walltime: ten,
            runtime: five,
            awaits_input: false,
        })
    };
    // Job 0 runs until 10, job 1 wants all nodes after it; 200 is booked from 12 on, and is done at 17.
    let by_dispatcher = vec![(second(0), queue(0, 2)), (second(1), queue(1, 5))];
    for entry in ALL {
        let starts = |by_meta: Vec<(Time, Message)>| -> Vec<(u32, u64)> {
            let log = meet(entry.name, [by_dispatcher.clone(), Vec::new(), by_meta]);
            ran(&log).into_iter().map(|(job, ran)| (job, ran.start.micros() / 1_000_000)).collect()
        };
        assert_eq!(starts(vec![(second(2), book(12))]), [(0, 0), (1, 17), (200, 12)], "{}", entry.name);
        let recall = (second(5), Message::Recall(Recall { task: task(200) }));
        assert_eq!(starts(vec![(second(2), book(12)), recall]), [(0, 0), (1, 10)], "{}", entry.name);
        // What runs is in the way.
        assert_eq!(starts(vec![(second(2), book(9))]), [(0, 0), (1, 10)], "{}", entry.name);
    }
}

#[test]
fn what_strangers_send_does_no_harm() {
    struct Stranger;
    impl Actor<Message, Record> for Stranger {
        fn handle_batch(
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
                out.send(
                    ROUTER,
                    Message::Enqueue(Enqueue { job, site: None, kind: None, think: None, needs: None, staging: None }),
                );
            }
            let queue = crate::protocol::Queue {
                job: JobId(9),
                nodes: 1,
                walltime: Span::ZERO,
                runtime: Span::ZERO,
                losses: 0,
                safe: None,
            };
            out.send(ActorId(1), Message::Queue(queue));
        }
    }
    let mut cast = cast(&[(2, "easy")], Dispatch::First, Vec::new());
    cast.push(Box::new(Stranger));
    let log = judge::run_actors(cast, &[Span::ZERO; 3]);
    let ran = ran(&log);
    assert_eq!(ran.keys().copied().collect::<Vec<_>>(), [5]);
    assert_eq!(ran[&5].nodes, NodeSet::all(1));
}

/// A site that says of each job in turn that it has ended here.
struct Braggart;

impl Actor<Message, Record> for Braggart {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        if batch.iter().any(|event| event.cause == Cause::Start) {
            for at in 1..20 {
                let ended = |job| Ended { task: TaskId { job: JobId(job), index: 0 }, started: Time::ZERO };
                (0..3).for_each(|job| out.send_at(second(at), ROUTER, Message::Ended(ended(job))));
            }
        }
    }
}

#[test]
fn no_site_ends_the_job_of_another() {
    let jobs = [rigid(0, 1, 10, 10), rigid(1, 1, 10, 10), rigid(2, 1, 10, 10)];
    let mut cast = cast(
        &[(1, "fcfs"), (1, "fcfs")],
        Dispatch::First,
        vec![User::new(Script::from_messages(messages(&jobs, None)))],
    );
    cast[2] = Box::new(Braggart);
    let log = judge::run_actors(cast, &[Span::ZERO; 4]);
    let completed: Vec<Time> = log
        .iter()
        .filter(|entry| matches!(entry.record, Record::Completed { .. }))
        .map(|entry| entry.stamp.time)
        .collect();
    assert_eq!(completed, [second(10), second(20), second(30)]);
}

/// Two sites of two nodes under fcfs, the first one of which is full for 100 s; all jobs go to the first that is large
/// enough. A job that has waited for 10 s is taken back.
#[test]
fn a_waiting_job_goes_elsewhere_after_a_while_and_a_started_one_stays() {
    let jobs = [rigid(0, 2, 100, 100), rigid(0, 1, 30, 30), rigid(1, 1, 5, 5)];
    for latency in [0, 1] {
        let script = Script::from_messages(messages(&jobs, None));
        let user = User::new(Resubmit::new(script, Span::from_secs(10), 2));
        let latency = Span::from_secs(latency);
        let sites = [(2, "fcfs"), (2, "fcfs")];
        let log = judge::run_actors(
            cast(&sites, Dispatch::First, vec![user]),
            &[Span::ZERO, Span::ZERO, Span::ZERO, latency],
        );
        let starts: Vec<_> = ran(&log).values().map(|ran| ran.start.micros() / 1_000_000).collect();
        let to_hub = latency.micros() / 1_000_000;
        // Word of the recall goes back to the user, and the job comes again: two ways more.
        assert_eq!(starts, [to_hub, 10 + 3 * to_hub, 11 + 3 * to_hub], "latency {latency}");
        let withdrawn: Vec<_> = log
            .iter()
            .filter_map(|entry| match entry.record {
                Record::Withdrawn { task } => Some(task.job.0),
                _ => None,
            })
            .collect();
        assert_eq!(withdrawn, [1, 2]);
        let arrived = log.iter().filter(|entry| matches!(entry.record, Record::Arrived { .. })).count();
        assert_eq!((arrived, assigned(&log)), (3, vec![1, 1, 1, 2, 2]));
    }
}
