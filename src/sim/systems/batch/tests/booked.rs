//! Bookings and reservations at sites whose nodes fail.

use proptest::prelude::*;

use super::failing::{at_seconds, cases, drawn, once, plain_fcfs, stints};
use super::*;
use crate::grid::{Checkpoint, Every, Failure, Outages, Per, Recovery, Reserved};
use crate::protocol::{Hold, Provided, Release};
use crate::systems::Failing;

/// Books nodes and takes them back at given times. Of lost tasks, by their numbers, some are released at once, some
/// start again a second later, and some are forgotten.
struct Booker {
    messages: Vec<(Time, Message)>,
    books: BTreeMap<TaskId, Book>,
}

impl Booker {
    fn new(messages: Vec<(Time, Message)>) -> Booker {
        let book = |(_, message): &(Time, Message)| match message {
            Message::Book(book) => Some((book.task, book.clone())),
            _ => None,
        };
        let books = messages.iter().filter_map(book).collect();
        Booker { messages, books }
    }

    fn lost(&self, now: Time, task: TaskId) -> Option<Message> {
        let Book { start, nodes, walltime, runtime, .. } = self.books.get(&task)?.clone();
        let until = start + walltime;
        let again = now + Span::from_secs(1);
        match task.job.0 % 3 {
            0 => Some(Message::Release(Release { task })),
            1 if again < until => {
                let walltime = until.since(again);
                Some(Message::Hold(Hold { task, start: again, nodes, runtime, walltime, safe: Some(Span::ZERO) }))
            }
            _ => None,
        }
    }
}

impl Actor<Message, Record> for Booker {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => self.messages.drain(..).for_each(|(at, message)| out.send_at(at, SITE, message)),
                Cause::Message(Message::Booked(booked)) => {
                    out.log(Record::Completed { job: booked.task.job, value: Some(booked.granted.into()) });
                }
                Cause::Message(Message::Recalled(recalled)) => {
                    out.log(Record::Completed { job: recalled.task.job, value: Some(recalled.in_time.into()) });
                }
                Cause::Message(Message::Lost(lost)) => {
                    self.lost(now.time, lost.task).into_iter().for_each(|message| out.send(SITE, message));
                }
                _ => {}
            }
        }
    }
}

/// The queue and the bookings at one site that fails.
fn meet_failing(
    policy: &str,
    reserved: &[Reserved],
    failures: &[Failure],
    recovery: &Recovery,
    messages: [Vec<(Time, Message)>; 2],
) -> Vec<Entry<Record>> {
    let failing = Failing { failures, recovery, seed: 1 };
    let fails = failing.site(0).expect("it fails");
    let desk =
        QueueManager::new((queue::find_policy(policy).unwrap().build)(NODES, reserved, QueueOrder::Arrival.into()))
            .with_outages(&fails, NODES, reserved);
    let site = Site::new(NODES, Box::new(desk), (0..3).map(ActorId)).with_outages(Some(fails.outages));
    let [queued, booked] = messages;
    let none = Giver { messages: Vec::new() };
    let cast: Built =
        vec![Box::new(Giver { messages: queued }), Box::new(none), Box::new(Booker::new(booked)), Box::new(site)];
    judge::run_actors(cast, &[Span::ZERO; 4])
}

fn queue(at: u64, job: u32, nodes: u32, walltime: u64, runtime: u64) -> (Time, Message) {
    let walltime = Span::from_secs(walltime);
    let runtime = Span::from_secs(runtime);
    (second(at), Message::Queue(Queue { job: JobId(job), nodes, walltime, runtime, losses: 0, safe: Some(Span::ZERO) }))
}

fn book(at: u64, job: u32, nodes: &str, (start, until): (u64, u64), runtime: u64) -> (Time, Message) {
    let nodes = NodeSet::parse(nodes).unwrap();
    let walltime = Span::from_secs(until - start);
    let runtime = Span::from_secs(runtime);
    let book = Book { task: task(job), start: second(start), nodes, walltime, runtime, awaits_input: false };
    (second(at), Message::Book(book))
}

fn kept(nodes: &str, from: u64, until: u64) -> Reserved {
    Reserved { from: second(from), until: second(until), nodes: NodeSet::parse(nodes).unwrap() }
}

/// Starts, moves and ends, with their times.
fn render_log(log: &[Entry<Record>]) -> Vec<String> {
    let line = |entry: &Entry<Record>| {
        let now = entry.stamp.time.seconds();
        Some(match &entry.record {
            Record::Started { task, cores } => format!("{now}: {} on {cores}", task.job),
            Record::Moved { task, cores } => format!("{now}: {} to {cores}", task.job),
            Record::Finished { task } => format!("{now}: {} ends", task.job),
            Record::Killed { task } => format!("{now}: {} is killed", task.job),
            Record::Lost { task, saved } => format!("{now}: {} is lost, {} s saved", task.job, saved.seconds()),
            Record::Completed { job, value } => {
                format!("{now}: {job} is answered {}", if *value == Some(1.0) { "yes" } else { "no" })
            }
            _ => return None,
        })
    };
    log.iter().filter_map(line).collect()
}

/// Reservations that overlap none before: each with its start, its duration, and its range of nodes.
fn apart_of(meant: &[(u64, u64, u32, u32)]) -> Vec<Reserved> {
    let mut calendar = crate::grid::Calendar::new(NODES);
    let held = meant.iter().map(|&(from, lasts, one, other)| Reserved {
        from: second(from),
        until: second(from + lasts),
        nodes: NodeSet::from_run(one.min(other), one.max(other)),
    });
    held.filter(|held| calendar.insert(held.from, held.until, &held.nodes).is_ok()).collect()
}

#[test]
fn a_booked_task_on_failed_nodes_starts_when_they_are_up_in_the_rest_of_its_time() {
    let failures = [once(0, "1", 8, 6)];
    for entry in ALL {
        let play = |runtime| {
            let messages = [vec![queue(8, 0, 4, 5, 5)], vec![book(0, 200, "0-1", (10, 20), runtime)]];
            render_log(&meet_failing(entry.name, &[], &failures, &Recovery::default(), messages))
        };
        let starts = ["0: 200 is answered yes", "14: 200 on 0-1"];
        // The rest of its time is the queue's.
        assert_eq!(play(4), [&starts[..], &["18: 200 ends", "18: 0 on 0-3", "23: 0 ends"]].concat(), "{}", entry.name);
        assert_eq!(play(9)[..3], [&starts[..], &["20: 200 is killed"]].concat(), "{}", entry.name);
    }
}

#[test]
fn what_is_given_back_while_its_nodes_are_down_is_not_free_before_they_are_up() {
    let failures = [once(0, "0", 5, 35)];
    for entry in ALL {
        let recall = (second(12), Message::Recall(Recall { task: task(200) }));
        let messages = [vec![queue(13, 0, 5, 9, 2)], vec![book(0, 200, "0-1", (10, 30), 20), recall]];
        let log = meet_failing(entry.name, &[], &failures, &Recovery::default(), messages);
        let answers = ["0: 200 is answered yes", "12: 200 is answered yes"];
        assert_eq!(render_log(&log), [&answers[..], &["40: 0 on 0-4", "42: 0 ends"]].concat(), "{}", entry.name);
    }
}

#[test]
fn what_is_down_cannot_be_booked_before_it_is_back() {
    let failures = [once(0, "3", 5, 15)];
    for entry in ALL {
        let books = vec![book(6, 200, "3", (19, 25), 5), book(6, 201, "3", (20, 25), 5), book(6, 202, "2", (6, 9), 2)];
        let log = meet_failing(entry.name, &[], &failures, &Recovery::default(), [Vec::new(), books]);
        let answers: Vec<String> = render_log(&log).into_iter().filter(|line| line.contains("answered")).collect();
        assert_eq!(
            answers,
            ["6: 200 is answered no", "6: 201 is answered yes", "6: 202 is answered yes"],
            "{}",
            entry.name
        );
    }
}

#[test]
fn an_outage_within_what_is_reserved_changes_nothing_and_one_that_outlasts_it_blocks_further() {
    let reserved = [kept("0-1", 5, 15)];
    for entry in ALL {
        let starts = |at, lasts| {
            let messages = [vec![queue(0, 0, 5, 9, 5)], Vec::new()];
            let failures = [once(0, "1", at, lasts)];
            render_log(&meet_failing(entry.name, &reserved, &failures, &Recovery::default(), messages))[0].clone()
        };
        assert_eq!(starts(7, 5), "15: 0 on 0-4", "{}", entry.name);
        assert_eq!(starts(2, 7), "15: 0 on 0-4", "{}", entry.name);
        assert_eq!(starts(7, 13), "20: 0 on 0-4", "{}", entry.name);
        assert_eq!(starts(2, 40), "42: 0 on 0-4", "{}", entry.name);
    }
}

#[test]
fn a_lost_task_keeps_its_nodes_until_its_giver_decides() {
    let failures = [once(0, "1", 4, 3)];
    let checkpoint = Some(Checkpoint { every: Every::Span(Span::from_secs(3)), cost: Span::ZERO });
    let recovery = Recovery { checkpoint, ..Recovery::default() };
    for entry in ALL {
        let play = |job| {
            let messages = [vec![queue(1, 0, 5, 3, 3)], vec![book(0, job, "0-1", (0, 20), 9)]];
            render_log(&meet_failing(entry.name, &[], &failures, &recovery, messages))
        };
        let lost = |job: u32| {
            let start = [format!("0: {job} on 0-1"), format!("0: {job} is answered yes")];
            [&start[..], &[format!("4: {job} is lost, 3 s saved")]].concat()
        };
        // One is released, one starts again at 5 and does when its nodes are up, and for one no message follows.
        let released = ["7: 0 on 0-4", "10: 0 ends"].map(str::to_owned);
        assert_eq!(play(201), [lost(201), released.to_vec()].concat(), "{}", entry.name);
        let again = ["7: 202 on 0-1", "16: 202 ends", "16: 0 on 0-4", "19: 0 ends"].map(str::to_owned);
        assert_eq!(play(202), [lost(202), again.to_vec()].concat(), "{}", entry.name);
        let forgotten = ["20: 0 on 0-4", "23: 0 ends"].map(str::to_owned);
        assert_eq!(play(200), [lost(200), forgotten.to_vec()].concat(), "{}", entry.name);
    }
}

/// Four nodes of five run jobs that would move for a booking, and one by one there is less to move to.
#[test]
fn a_running_job_on_counted_nodes_stays_where_it_has_nowhere_to_go() {
    for entry in ALL.iter().filter(|entry| entry.counts()) {
        let play = |lasts| {
            let messages = [vec![queue(0, 0, 3, 30, 30)], vec![book(1, 200, "0-1", (10, 25), 5)]];
            render_log(&meet_failing(entry.name, &[], &[once(0, "3", 8, lasts)], &Recovery::default(), messages))
        };
        let booked = ["0: 0 on 0-2", "1: 200 is answered yes"];
        let moves = ["18: 0 to 2-4", "18: 200 on 0-1", "23: 200 ends", "30: 0 ends"];
        assert_eq!(play(10), [&booked[..], &moves].concat(), "{}", entry.name);
        assert_eq!(play(17), [&booked[..], &["30: 0 ends"]].concat(), "{}", entry.name);
        assert_eq!(play(1), [&booked[..], &["10: 0 to 2-4", "10: 200 on 0-1", "15: 200 ends", "30: 0 ends"]].concat());
    }
}

#[test]
fn maintenance_waits_for_a_job_that_has_nowhere_to_go() {
    for name in ["fcfs-count", "easy-count", "conservative-count"] {
        // By count there is always a node; it is another one after 10.
        let reserved = [kept("4", 0, 10), kept("0", 10, 40)];
        let messages = [vec![queue(0, 0, 4, 30, 30), queue(9, 1, 1, 5, 5)], Vec::new()];
        let play = |failures: &[Failure]| {
            render_log(&meet_failing(name, &reserved, failures, &Recovery::default(), messages.clone()))
        };
        let usual = ["0: 0 on 0-3", "10: 0 to 1-4", "30: 0 ends", "30: 1 on 1", "35: 1 ends"];
        assert_eq!(play(&[once(0, "4", 50, 1)]), usual, "{}", name);
        let stays = ["0: 0 on 0-3", "20: 0 to 1-4", "30: 0 ends", "30: 1 on 1", "35: 1 ends"];
        assert_eq!(play(&[once(0, "4", 5, 15)]), stays, "{}", name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 40 } else { 200 }))]

    /// A queue around reservations and failures equals a slow reference that looks at every node and second.
    #[test]
    fn fcfs_around_what_is_reserved_and_down_is_what_a_plain_reading_says(
        jobs in prop::collection::vec((0u64..40, 1u32..=NODES, 1u64..14, 1u64..12), 1..16),
        spec in prop::collection::vec((0u32..NODES, 1u64..90, 1u64..25), 1..12),
        reserved in prop::collection::vec((0u64..60, 1u64..20, 0..NODES, 0..NODES), 0..6),
    ) {
        let mut jobs = jobs;
        let reserved = apart_of(&reserved);
        let failures = at_seconds(&spec, NODES);
        jobs.sort_by_key(|job| job.0);
        let messages = (0..).zip(&jobs).map(|(job, &(at, nodes, walltime, runtime))| queue(at, job, nodes, walltime, runtime));
        let recovery = Recovery::default();
        let log = meet_failing("fcfs", &reserved, &failures, &recovery, [messages.collect(), Vec::new()]);
        let jobs: Vec<Rigid> =
            jobs.iter().map(|&(submit, nodes, walltime, runtime)| rigid(submit, nodes, walltime, runtime)).collect();
        let outages = Failing { failures: &failures, recovery: &recovery, seed: 1 }.site(0).unwrap().outages;
        prop_assert_eq!(stints(&log, jobs.len()), plain_fcfs(NODES, &jobs, &outages, &reserved));
    }
}

proptest! {
    #![proptest_config(cases(if cfg!(unoptimised) { 30 } else { 100 }))]

    /// Under every policy, with all jobs, bookings, recalls, reservations and failures: a granted task runs on its
    /// nodes and in its time, if at all, no node runs two tasks or any while it is down, and each queued job ends.
    #[test]
    fn bookings_queue_and_outages_share_a_calendar(
        queued in prop::collection::vec((0u64..40, 1u32..=NODES, 1u64..25, 1u64..25), 0..14),
        booked in prop::collection::vec((0u64..40, 0u64..20, 0..NODES, 0..NODES, 1u64..25, 1u64..25, any::<bool>()), 0..10),
        recalled in prop::collection::vec((0u64..60, 200u32..210), 0..5),
        provided in prop::collection::vec((0u64..60, 200u32..210), 0..8),
        reserved in prop::collection::vec((0u64..50, 1u64..20, 0..NODES, 0..NODES), 0..4),
        (mtbf, mttr, announced, at) in (10u64..90, 1u64..30, any::<bool>(), 0u64..50),
    ) {
        let reserved = apart_of(&reserved);
        let failures = [drawn(0, NODES, mtbf, mttr, Per::Node, announced), once(0, "1-3", at, 15)];
        let mut by_queue: Vec<(Time, Message)> =
            (0..).zip(&queued).map(|(job, &(at, nodes, walltime, runtime))| queue(at, job, nodes, walltime, runtime)).collect();
        by_queue.sort_by_key(|answered| answered.0);
        let books: Vec<Book> = (200..).zip(&booked).map(|(job, &(at, ahead, one, other, walltime, runtime, awaits_input))| {
            let nodes = NodeSet::from_run(one.min(other), one.max(other));
            let walltime = Span::from_secs(walltime);
            let runtime = Span::from_secs(runtime);
            Book { task: task(job), start: second(at + ahead), nodes, walltime, runtime, awaits_input }
        }).collect();
        let mut by_booker: Vec<(Time, Message)> =
            booked.iter().zip(&books).map(|(asked, book)| (second(asked.0), Message::Book(book.clone()))).collect();
        by_booker.extend(recalled.iter().map(|(at, job)| (second(*at), Message::Recall(Recall { task: task(*job) }))));
        by_booker.extend(provided.iter().map(|(at, job)| (second(*at), Message::Provided(Provided { task: task(*job) }))));
        by_booker.sort_by_key(|answered| answered.0);

        let recovery = Recovery { attempts: 50, ..Recovery::default() };
        for entry in ALL {
            let log = meet_failing(entry.name, &reserved, &failures, &recovery, [by_queue.clone(), by_booker.clone()]);
            let mut on: BTreeMap<TaskId, NodeSet> = BTreeMap::new();
            let mut down: Outages = Failing { failures: &failures, recovery: &recovery, seed: 1 }.site(0).unwrap().outages;
            let mut over = 0;
            let mut losses = BTreeMap::new();
            let mut granted = BTreeMap::new();
            let mut started = Vec::new();
            let mut stamp = Stamp::ZERO;
            for Entry { stamp: now, record, .. } in &log {
                if *now != stamp {
                    prop_assert!(are_apart(&on), "{}, at {}: {:?}", entry.name, stamp, on);
                    let is_kept = |nodes: &NodeSet| reserved.iter().any(|held| {
                        held.from <= stamp.time && stamp.time < held.until && held.nodes.meets(nodes)
                    });
                    prop_assert!(entry.counts() || !on.values().any(is_kept), "{}, at {}: {:?}", entry.name, stamp, on);
                    stamp = *now;
                }
                match record {
                    Record::Started { task, cores } | Record::Moved { task, cores } => {
                        down.advance(now.time);
                        prop_assert!(!down.expected(now.time).iter().any(|one| one.nodes.meets(cores)), "{}: {task}", entry.name);
                        prop_assert_eq!(on.insert(*task, cores.clone()).is_some(), matches!(record, Record::Moved { .. }));
                        if let Some(book) = task.job.0.checked_sub(200).map(|number| &books[number as usize]) {
                            let from = book.start;
                            let until = book.start + book.walltime;
                            prop_assert_eq!(&book.nodes, cores);
                            started.push(task.job);
                            prop_assert!(from <= now.time && now.time < until, "{}: {} at {}", entry.name, task, now);
                        }
                    }
                    Record::Finished { task } | Record::Killed { task } => {
                        prop_assert!(on.remove(task).is_some());
                        over += u32::from(task.job.0 < 200);
                        if let Some(book) = task.job.0.checked_sub(200).map(|number| &books[number as usize]) {
                            prop_assert!(now.time <= book.start + book.walltime);
                        }
                    }
                    Record::Lost { task, .. } => {
                        prop_assert!(on.remove(task).is_some());
                        let times: &mut u32 = losses.entry(*task).or_default();
                        *times += 1;
                        // Then it is given up.
                        over += u32::from(task.job.0 < 200 && *times == recovery.attempts);
                    }
                    // It may start before the answer is there; no sender takes back a task that it has not booked.
                    Record::Completed { job, value } => {
                        granted.entry(*job).and_modify(|answered| *answered |= *value == Some(1.0)).or_insert(*value == Some(1.0));
                    }
                    _ => {}
                }
            }
            prop_assert!(on.is_empty() && started.iter().all(|job| granted[job]), "{}", entry.name);
            prop_assert_eq!(over as usize, queued.len(), "{}", entry.name);
        }
    }
}
