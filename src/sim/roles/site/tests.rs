//! A site under the auction, and under a manager that tries everything that is allowed.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::grid::{Demand, JobId, NodeSet, Share, TaskId};
use crate::kernel::{Cause, Entry, Event, judge};
use crate::protocol::{Book, Record, Run};
use crate::random::SplitMix64;
use crate::roles::scheduler;
use crate::time::Span;

const ROUTER: ActorId = ActorId(0);
const SITE: ActorId = ActorId(1);

/// Sends runs at their times and logs their ends as if it had removed those jobs.
struct Router {
    runs: Vec<(u64, Message)>,
}

impl Actor<Message, Record> for Router {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Out) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => {
                    for (at, message) in self.runs.drain(..) {
                        out.send_at(Time::from_micros(at), SITE, message);
                    }
                }
                Cause::Message(Message::Ended(ended)) => out.log(Record::Removed { job: ended.task.job }),
                _ => {}
            }
        }
    }
}

fn play(cores: u32, runs: &[(u64, u32, u64)]) -> Vec<Entry<Record>> {
    play_with_report_period(Span::ZERO, cores, runs)
}

fn play_with_report_period(period: Span, cores: u32, runs: &[(u64, u32, u64)]) -> Vec<Entry<Record>> {
    let unplanned = runs.iter().map(|run| (*run, NodeSet::default()));
    play_planned(period, cores, &unplanned.collect::<Vec<_>>())
}

fn play_planned(period: Span, cores: u32, runs: &[((u64, u32, u64), NodeSet)]) -> Vec<Entry<Record>> {
    let run = |(number, &((at, cores, runtime), ref planned)): (usize, &((u64, u32, u64), NodeSet))| {
        let task = TaskId { job: JobId(number as u32), index: 0 };
        let runtime = Span::from_micros(runtime);
        let planned = planned.clone();
        (at, Message::Run(Run { task, cores, runtime, safe: None, planned }))
    };
    let runs = runs.iter().enumerate().map(run).collect();
    let scheduler = (scheduler::find_scheduler("auction").unwrap().build)();
    judge::run_actors(
        vec![Box::new(Router { runs }), Box::new(Site::new(cores, scheduler, [ROUTER]).with_report_period(period))],
        &[Span::ZERO, Span::ZERO],
    )
}

fn story(log: &[Entry<Record>]) -> Vec<String> {
    let render_entry = |entry: &Entry<Record>| {
        let at = entry.stamp.time.micros();
        match &entry.record {
            Record::Started { task, cores } => format!("{at}: {} on {cores}", task.job),
            Record::Finished { task } => format!("{at}: {} ends", task.job),
            Record::Removed { job } => format!("{at}: router hears of {job}"),
            other => panic!("{other:?}"),
        }
    };
    log.iter().map(render_entry).collect()
}

#[test]
fn tasks_get_the_lowest_cores_and_what_does_not_fit_waits_its_turn() {
    let log = play(4, &[(0, 1, 10), (0, 2, 5), (5, 2, 5), (6, 2, 1), (6, 1, 1), (7, 9, 1)]);
    assert_eq!(
        story(&log),
        [
            "0: 0 on 0",
            "0: 1 on 1-2",
            "5: 1 ends",
            "5: router hears of 1",
            "5: 2 on 1-2",
            "10: 0 ends",
            "10: 2 ends",
            "10: 3 on 0-1",
            "10: 4 on 2",
            "10: router hears of 0",
            "10: router hears of 2",
            "11: 3 ends",
            "11: 4 ends",
            "11: router hears of 3",
            "11: router hears of 4",
        ]
    );
}

/// Planned cores are used if they are free and as many as the task needs, else the lowest free ones.
#[test]
fn tasks_get_their_planned_cores_if_these_are_free() {
    let planned = |run, nodes| (run, NodeSet::parse(nodes).unwrap());
    let runs = [
        planned((0, 1, 10), "2"),
        planned((1, 2, 4), "0 3"),
        planned((2, 1, 2), "2"),
        planned((3, 1, 1), "7"),
        planned((5, 2, 9), "1"),
    ];
    let starts = ["0: 0 on 2", "1: 1 on 0 3", "2: 2 on 1", "4: 3 on 1", "5: 4 on 0-1"];
    let log = play_planned(Span::ZERO, 4, &runs);
    let is_start = |line: &String| line.contains(" on ");
    assert_eq!(story(&log).into_iter().filter(is_start).collect::<Vec<_>>(), starts);
}

#[test]
fn ends_are_reported_periodically() {
    let log = play_with_report_period(Span::from_micros(10), 4, &[(0, 1, 10), (0, 1, 11), (3, 2, 1), (20, 4, 7)]);
    assert_eq!(
        story(&log),
        [
            "0: 0 on 0",
            "0: 1 on 1",
            "3: 2 on 2-3",
            "4: 2 ends",
            "10: 0 ends",
            "10: router hears of 0",
            "10: router hears of 2",
            "11: 1 ends",
            "20: router hears of 1",
            "20: 3 on 0-3",
            "27: 3 ends",
            "30: router hears of 3",
        ]
    );
}

proptest! {
    /// Under any input, no core runs two tasks, the order of arrival is kept, and ends are reported in time.
    #[test]
    fn no_core_is_sold_twice(runs in prop::collection::vec((0u64..40, 0u32..7, 1u64..12), 1..40)) {
        let mut runs = runs;
        runs.sort_by_key(|run| run.0);
        let mut used = BTreeMap::new();
        let mut running = BTreeMap::new();
        let mut last_started = None;
        for entry in play(5, &runs) {
            match entry.record {
                Record::Started { task, cores } => {
                    prop_assert!(last_started < Some(task));
                    last_started = Some(task);
                    prop_assert_eq!(cores.len(), runs[task.job.0 as usize].1);
                    for core in cores.each() {
                        prop_assert!(core < 5);
                        prop_assert_eq!(used.insert(core, task), None);
                    }
                    running.insert(task, (entry.stamp.time, cores));
                }
                Record::Finished { task } => {
                    let (start, cores) = running.remove(&task).unwrap();
                    prop_assert_eq!((entry.stamp.time - start).micros(), runs[task.job.0 as usize].2);
                    for core in cores.each() {
                        used.remove(&core);
                    }
                }
                _ => {}
            }
        }
        prop_assert!(running.is_empty());
    }
}

/// Demand of a task on each node, by number.
fn demand(job: u32) -> Demand {
    let share = |part| Share::of(part).unwrap();
    match job % 4 {
        0 => Demand::NODE,
        1 => Demand { cpu: share(1.0), memory: share(0.1) },
        2 => Demand { cpu: share(0.5), memory: share(0.6) },
        _ => Demand { cpu: share(0.25), memory: share(0.3) },
    }
}

/// Some tasks have a walltime.
fn walltime(job: u32) -> Span {
    if job % 5 == 4 { Span::from_micros(20) } else { Span::MAX }
}

/// A manager that starts, suspends, resumes, moves and slows tasks at random, wherever they fit.
struct Juggler {
    chance: SplitMix64,
    nodes: u32,
    balls: Vec<Ball>,
    throws: u32,
    next: Option<Time>,
}

struct Ball {
    start: Start,
    width: u32,
    has_started: bool,
    on: Option<NodeSet>,
    share: f64,
}

impl Juggler {
    /// Random nodes with room for one more task with this share; the nodes of `except` count as free.
    fn find(&mut self, demand: Demand, share: f64, width: u32, except: Option<TaskId>) -> Option<NodeSet> {
        let mut fitting: Vec<u32> = (0..self.nodes)
            .filter(|node| {
                let alone = NodeSet::from_run(*node, *node);
                let there = self.balls.iter().filter(|ball| Some(ball.start.task) != except);
                let there = there.filter(|ball| ball.on.as_ref().is_some_and(|on| on.meets(&alone)));
                let mut cpu = demand.cpu.part() * share;
                let mut memory = demand.memory.part();
                for ball in there {
                    cpu += ball.start.demand.cpu.part() * ball.share;
                    memory += ball.start.demand.memory.part();
                }
                cpu <= 1.0 && memory <= 1.0
            })
            .collect();
        while fitting.len() > width as usize {
            fitting.remove(self.chance.int(0, fitting.len() as u64 - 1) as usize);
        }
        let mut nodes = NodeSet::default();
        fitting.iter().for_each(|node| nodes.push(*node, *node));
        (nodes.len() == width).then_some(nodes)
    }

    fn throw(&mut self, now: Time, index: usize, orders: &mut Vec<SiteOrder>) {
        // After many orders, tasks are left to end.
        let is_calm = self.throws > 150;
        let Ball { start: Start { task, demand, .. }, width, has_started, share, .. } = self.balls[index];
        let is_on = self.balls[index].on.is_some();
        match (is_on, self.chance.int(0, 5)) {
            (false, 0..3) => {
                let Some(nodes) = self.find(demand, share, width, None) else { return };
                self.balls[index].on = Some(nodes.clone());
                self.balls[index].has_started = true;
                let on = On::These(nodes.clone().into());
                orders.push(match has_started {
                    true => SiteOrder::Resume { task, nodes: nodes.into(), from: now },
                    false => SiteOrder::Start(Start { at: now, on, share, ..self.balls[index].start.clone() }),
                });
            }
            (true, 0) if !is_calm => {
                self.balls[index].on = None;
                orders.push(SiteOrder::Suspend(task));
            }
            (true, 1) if !is_calm => {
                let Some(nodes) = self.find(demand, share, width, Some(task)) else { return };
                self.balls[index].on = Some(nodes.clone());
                orders.push(SiteOrder::Move { task, nodes: nodes.into(), from: now });
            }
            (true, 2) if demand != Demand::NODE => {
                let less = share * 0.25 + 0.05 * self.chance.int(1, 10) as f64;
                let share = less.min(share);
                self.balls[index].share = share;
                orders.push(SiteOrder::Share { task, share });
            }
            _ => {}
        }
    }
}

impl Manager for Juggler {
    fn receive_message(&mut self, now: Time, sender: ActorId, message: Message, _: &Tasks, _: &mut Vec<SiteOrder>) {
        let Message::Book(Book { task, nodes, walltime, runtime, .. }) = message else { return };
        let nodes = nodes.len();
        let demand = demand(task.job.0);
        let share = if demand == Demand::NODE { 1.0 } else { 0.5 };
        let on = On::Lowest(nodes);
        let start = Start {
            task,
            sender,
            at: now,
            on,
            demand,
            share,
            runtime,
            walltime,
            ending: Ending::Timed,
            loss: Loss::default(),
            rank: 0,
            ends_quietly: false,
        };
        self.balls.push(Ball { start, width: nodes, has_started: false, on: None, share });
    }

    fn task_ended(&mut self, _: Time, task: &Running) {
        self.balls.retain(|ball| ball.start.task != task.task);
    }

    fn decide_orders(&mut self, now: Time, _: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.throws += 1;
        for index in 0..self.balls.len() {
            self.throw(now, index, orders);
        }
        let pause = Span::from_micros(self.chance.int(1, 5));
        self.next = (!self.balls.is_empty()).then_some(now + pause);
    }

    fn next_wake(&self) -> Option<Time> {
        self.next
    }

    /// A task that starts may end a moment later.
    fn send_floor(&self, at: Time) -> Time {
        at
    }
}

/// State of a task according to the log.
struct Seen {
    on: Option<NodeSet>,
    share: f64,
    since: Time,
    work: f64,
    there: u64,
}

/// Adds the progress of a task up to a change.
fn changed(all: &mut BTreeMap<u32, Seen>, job: u32, now: Time) -> &mut Seen {
    let seen = all.entry(job).or_insert(Seen { on: None, share: 1.0, since: now, work: 0.0, there: 0 });
    if seen.on.is_some() {
        let micros = (now - seen.since).micros();
        seen.work += seen.share * micros as f64;
        seen.there += micros;
    }
    seen.since = now;
    seen
}

proptest! {
    /// Under any sequence of orders: no node is overcommitted, a task ends once it has done its work or used up its
    /// walltime, and its sender is told then.
    #[test]
    fn stints_and_shares_add_up(
        runs in prop::collection::vec((0u64..60, 1u32..4, 1u64..40), 1..20),
        seed in any::<u64>(),
    ) {
        const NODES: u32 = 4;
        let chance = SplitMix64::new(seed);
        let juggler = Juggler { chance, nodes: NODES, balls: Vec::new(), throws: 0, next: None };
        let runtime: Vec<u64> = runs.iter().map(|run| run.2).collect();
        let widths: Vec<u32> = runs.iter().map(|run| run.1).collect();
        let runs = (0..).zip(&runs).map(|(job, &(at, nodes, runtime))| {
            let runtime = Span::from_micros(runtime);
            let task = TaskId { job: JobId(job), index: 0 };
            let start = Time::from_micros(at);
            // An arrival may change the ends of other tasks, so it has to be a message that promises nothing.
            (at, Message::Book(Book { task, start, nodes: NodeSet::all(nodes), walltime: walltime(job), runtime, awaits_input: false }))
        });
        let runs: Vec<(u64, Message)> = runs.collect();
        let count = runs.len();
        let site = Site::new(NODES, Box::new(juggler), [ROUTER]);
        let log = judge::run_actors(vec![Box::new(Router { runs }), Box::new(site)], &[Span::ZERO; 2]);

        let mut seen: BTreeMap<u32, Seen> = Default::default();
        let mut ended = Vec::new();
        let mut message = Vec::new();
        let mut stamp = Stamp::ZERO;
        for entry in &log {
            if entry.stamp != stamp {
                for node in 0..NODES {
                    let alone = NodeSet::from_run(node, node);
                    let there = seen.iter().filter(|(_, seen)| seen.on.as_ref().is_some_and(|on| on.meets(&alone)));
                    let taken = there.map(|(job, seen)| {
                        let Demand { cpu, memory } = demand(*job);
                        (cpu.part() * seen.share, memory.part())
                    });
                    let (cpu, memory) = taken.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
                    prop_assert!(cpu <= 1.0 + 1e-9 && memory <= 1.0 + 1e-9, "node {node} at {stamp}: {cpu}, {memory}");
                }
                stamp = entry.stamp;
            }
            let now = entry.stamp.time;
            match &entry.record {
                Record::Started { task, cores } | Record::Resumed { task, cores } => {
                    let seen = changed(&mut seen, task.job.0, now);
                    prop_assert!(seen.on.is_none());
                    prop_assert_eq!(cores.len(), widths[task.job.0 as usize]);
                    seen.on = Some(cores.clone());
                }
                Record::Moved { task, cores } => {
                    let seen = changed(&mut seen, task.job.0, now);
                    prop_assert!(seen.on.is_some());
                    seen.on = Some(cores.clone());
                }
                Record::Suspended { task } => prop_assert!(changed(&mut seen, task.job.0, now).on.take().is_some()),
                Record::Shared { task, share } => changed(&mut seen, task.job.0, now).share = *share,
                Record::Finished { task } | Record::Killed { task } => {
                    let job = task.job.0;
                    let seen = changed(&mut seen, task.job.0, now);
                    prop_assert!(seen.on.take().is_some());
                    let work = runtime[job as usize] as f64;
                    if matches!(entry.record, Record::Killed { .. }) {
                        prop_assert_eq!(seen.there, walltime(job).micros());
                        prop_assert!(seen.work < work);
                    } else {
                        // An end is a whole microsecond, at most half of one from the exact end.
                        prop_assert!((seen.work - work).abs() <= 0.5 + 1e-6, "job {job}: {} of {work}", seen.work);
                        prop_assert!(seen.there <= walltime(job).micros());
                    }
                    ended.push((now, job));
                }
                Record::Removed { job } => message.push((now, job.0)),
                other => panic!("{other:?}"),
            }
        }
        prop_assert_eq!(ended.len(), count);
        ended.sort_unstable();
        message.sort_unstable();
        prop_assert_eq!(ended, message);
    }
}
