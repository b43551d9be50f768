//! The worked examples of the market's specification, and the fast paths against the plain ones, all through the
//! actors.

mod bids;
#[path = "../../tests/markets.rs"]
mod markets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use markets::*;

use super::bid::{self, Bidder, Instant, Winner};
use super::figures::span_ticks;
use super::queue::plain;
use super::{Auctioneer, Cluster, Figures};
use crate::grid::{Curve, Graph, Job, JobId, Kind, NodeSet, Task, TaskId, Worth};
use crate::kernel::{Actor, ActorId, Cause, Entry, Event, Outbox, Place, judge};
use crate::protocol::{Ended, Message, Record, Submit, Verdict};
use crate::systems::Service;
use crate::systems::market::*;
use crate::time::{Span, Stamp, Time};
use crate::topology::*;
use crate::workload::{Source, market, table};

fn job_a() -> Job {
    Job {
        arrive: minutes(100),
        tasks: vec![task(10, 2, 0), task(20, 4, 0), task(15, 1, 1), task(5, 3, 0)],
        edges: edges(&[(0, 1), (0, 2), (1, 3), (2, 3)]),
        worth: Some(Worth { max: 130.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap() }),
        ..Job::default()
    }
}

fn figures(job: &Job, market: &Market) -> Figures {
    Figures::of_job(job, &Graph::new(job.tasks.len(), &job.edges), market, None, true).unwrap()
}

fn bid_of(market: &Market, task: usize, now: u64, longest_path: u64) -> f64 {
    let job = job_a();
    let figures = figures(&job, market);
    let bidder = Bidder {
        job: &job,
        critical_path: figures.critical_path,
        task,
        rank: figures.ranks[task],
        successor_work: figures.successor_work[task],
    };
    let longest_path = Span::from_minutes(longest_path);
    let at = Instant { now: minutes(now), number: 1, tick: MINUTE, longest_path };
    (bid::find_bid_policy(&market.policy).unwrap().build)(market, 0).compute_bid(&bidder, &at)
}

#[test]
fn job_a_has_the_figures_of_the_example() {
    let per_path = figures(&job_a(), &plain_market("fifo"));
    assert_eq!(per_path.ranks, [35, 25, 23, 5].map(Span::from_minutes));
    assert_eq!(per_path.critical_path, Span::from_minutes(35));
    assert_eq!(per_path.delays, [2, 4, 3, 1].map(Span::from_minutes));
    assert_eq!(per_path.successor_work, [145.0, 95.0, 30.0, 15.0]);
    let unique = figures(&job_a(), &Market { succ_sum: SuccSum::Unique, ..plain_market("fifo") });
    assert_eq!(unique.successor_work, [130.0, 95.0, 30.0, 15.0]);
}

#[test]
fn job_a_bids_as_in_the_example() {
    let literal = Market { pvdsq: Pvdsq::Literal, ..plain_market("pvdsq") };
    let markets = ["p-slr", "pv", "pvd"].map(plain_market).into_iter();
    let markets: Vec<Market> = markets.chain([literal, plain_market("pvdsq"), plain_market("pvr")]).collect();
    let rows = [
        (0, 100, [1.028571429, 130.0, 0.896551724, 0.803804994, 0.006183115, 429.0]),
        (1, 150, [3.171428571, 126.285714286, 1.329323308, 1.767100458, 0.013992877, 280.693877551]),
        (2, 160, [3.4, 120.342857143, 4.011428571, 16.091559184, 0.133714286, 252.507755102]),
        (0, 170, [7.028571429, 104.0, 0.717241379, 0.514435196, 0.004946492, 182.0]),
        (0, 275, [31.028571429, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ];
    for (task, now, bids) in rows {
        for (market, expected) in markets.iter().zip(bids) {
            let bid = bid_of(market, task, now, 35);
            assert!((bid - expected).abs() < 1e-9, "{} of task {task} at {now}: {bid}, not {expected}", market.policy);
        }
    }
    assert!((bid_of(&plain_market("p-slr"), 0, 170, 50) - 4.028571429).abs() < 1e-9);
    assert_eq!(bid_of(&plain_market("edf"), 0, 100, 35), 170.0);
    assert_eq!(bid_of(&Market { edf: EdfDeadline::Final, ..plain_market("edf") }, 0, 100, 35), 310.0);
    let factor = Market { pvr: Pvr::Factor, ..plain_market("pvr") };
    assert!((bid_of(&factor, 0, 100, 35) - 3.3).abs() < 1e-12);
}

#[test]
fn random_draws_by_seed_instant_and_task() {
    assert_eq!(bid_of(&plain_market("random"), 0, 100, 35), 3_316_356_330_981_164.0);
    assert_eq!(bid_of(&plain_market("random"), 1, 100, 35), 8_232_782_446_381_918.0);
}

/// Squaring what is not negative changes no order.
#[test]
fn literal_pvdsq_orders_as_pvd() {
    let literal = Market { pvdsq: Pvdsq::Literal, ..plain_market("pvdsq") };
    let bids = |market: &Market| -> Vec<f64> {
        (100..320)
            .flat_map(|now| (0..4).map(move |task| (task, now)))
            .map(|(task, now)| bid_of(market, task, now, 35))
            .collect()
    };
    let plain = bids(&plain_market("pvd"));
    let squared = bids(&literal);
    for (a, b) in (0..plain.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        if (plain[a] - plain[b]).abs() > 1e-12 * plain[a].max(plain[b]) {
            assert_eq!(plain[a] < plain[b], squared[a] < squared[b]);
        }
    }
}

/// The seven jobs of the auction's example; worth nothing in the end, but not for a long time.
fn auction_example() -> Source {
    let job = |tasks: &[Task], pairs: &[(u32, u32)]| table::ListedJob {
        tasks: tasks.to_vec(),
        edges: edges(pairs),
        worth: Some(Worth { max: 1.0, curve: Curve::new(1000.0, 2000.0, &[]).unwrap() }),
        ..table::ListedJob::default()
    };
    Source::Table(table::Table {
        delay: Span::ZERO,
        data: Default::default(),
        jobs: vec![
            job(&[task(6, 3, 0), task(4, 2, 1)], &[(0, 1)]),
            job(&[task(4, 2, 0), task(5, 2, 0)], &[(0, 1)]),
            job(&[task(10, 4, 0)], &[]),
            job(&[task(3, 3, 1)], &[]),
            job(&[task(20, 4, 0)], &[]),
            job(&[task(21, 1, 0)], &[]),
            job(&[task(25, 1, 1)], &[]),
        ],
    })
}

/// `tick: task -> cluster` of every start, with global task numbers, and the end of every job.
fn trace(log: &[Entry<Record>]) -> (Vec<(u64, u32, char)>, Vec<u64>) {
    let first_task: BTreeMap<JobId, u32> = log
        .iter()
        .filter_map(|entry| match &entry.record {
            Record::Arrived { job, .. } => Some((job.id, job.first_task)),
            _ => None,
        })
        .collect();
    let mut starts = Vec::new();
    let mut ends = BTreeMap::new();
    for entry in log {
        let now = in_minutes(entry.stamp.time);
        match &entry.record {
            Record::Assigned { task, site } => {
                starts.push((now, first_task[&task.job] + task.index, char::from(b'A' + site.0 as u8 - 1)))
            }
            Record::Completed { job, .. } => {
                ends.insert(*job, now);
            }
            _ => {}
        }
    }
    (starts, ends.into_values().collect())
}

#[test]
fn the_auction_goes_as_in_the_example() {
    let sites = [(4, 0), (6, 0), (4, 1)];
    let per_kind = grid(plain_market("srtf"), &sites, 1, auction_example());
    let (starts, ends) = trace(&play(&per_kind));
    let first = [(0, 5, 'C'), (0, 2, 'B'), (0, 4, 'A'), (0, 0, 'B'), (0, 8, 'C')];
    let then = [(4, 3, 'B'), (6, 6, 'B'), (8, 1, 'C'), (9, 7, 'B')];
    assert_eq!(starts, [&first[..], &then[..]].concat());
    assert_eq!(ends, [12, 9, 10, 3, 26, 30, 25]);

    let global = Market { blocking: Blocking::Global, ..plain_market("srtf") };
    let (starts, ends) = trace(&play(&grid(global, &sites, 1, auction_example())));
    let then = [(4, 3, 'B'), (6, 6, 'B'), (8, 1, 'C'), (9, 7, 'B'), (9, 8, 'C')];
    assert_eq!(starts, [&first[..4], &then[..]].concat());
    assert_eq!(ends, [12, 9, 10, 3, 26, 30, 34]);
}

fn small_workload(load: f64) -> Source {
    Source::Market(market::Generator {
        seed: 1,
        jobs: 40,
        load,
        total_runtime: (10, 2000),
        cores_max: 20,
        ..market::Generator::default()
    })
}

/// Proportion of the value that was realised, jobs that starved, and when the last job ended.
fn outcome(log: &[Entry<Record>]) -> (f64, usize, u64) {
    let mut worth = 0.0;
    let mut realised = 0.0;
    let mut last = 0;
    let mut starved = BTreeSet::new();
    let mut jobs = BTreeMap::new();
    for entry in log {
        match &entry.record {
            Record::Arrived { job, .. } => {
                worth += job.worth.as_ref().unwrap().max;
                starved.insert(job.id);
                jobs.insert(job.id, job.clone());
            }
            Record::Completed { job, value } => {
                let job = &jobs[job];
                let path = figures(job, &plain_market("fifo")).critical_path;
                let slr = (entry.stamp.time - job.arrive).micros() as f64 / path.micros() as f64;
                if slr < job.worth.as_ref().unwrap().curve.final_() {
                    starved.remove(&job.id);
                }
                realised += value.unwrap();
                last = in_minutes(entry.stamp.time);
            }
            _ => {}
        }
    }
    (realised / worth, starved.len(), last)
}

const PAPER_GRID: [(u32, u16); 4] = [(30, 0), (30, 0), (30, 0), (30, 1)];

const REFERENCE: [(f64, &str, f64, usize, u64); 17] = [
    (1.0, "random", 0.986182840, 2, 941),
    (1.0, "fifo", 0.985173346, 3, 992),
    (1.0, "srtf", 0.998729867, 0, 1016),
    (1.0, "lrtf", 0.969862194, 6, 935),
    (1.0, "edf", 0.996571715, 0, 1064),
    (1.0, "p-slr", 0.995709376, 0, 944),
    (1.0, "pv", 0.950502180, 8, 941),
    (1.0, "pvd", 0.991498590, 2, 946),
    (1.0, "pvdsq", 0.998326935, 0, 953),
    (1.0, "pvr", 0.997150695, 0, 971),
    (1.4, "fifo", 0.966015168, 6, 934),
    (1.4, "srtf", 0.996271447, 1, 1082),
    (1.4, "lrtf", 0.937268699, 9, 950),
    (1.4, "pv", 0.921803570, 11, 949),
    (1.4, "pvd", 0.975127173, 4, 950),
    (1.4, "pvdsq", 0.992933144, 1, 945),
    (1.4, "pvr", 1.0, 0, 986),
];

fn check_reference(sites: &[(u32, u16)], users: usize) {
    let mut wrong = Vec::new();
    for (load, policy, proportion, starved, last) in REFERENCE {
        let log = play(&grid(plain_market(policy), sites, users, small_workload(load)));
        let found = outcome(&log);
        if (found.0 - proportion).abs() > 5.1e-10 || (found.1, found.2) != (starved, last) {
            wrong.push(format!("{policy} at {load}: {found:?}, not {:?}", (proportion, starved, last)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_policy_ends_as_in_the_reference() {
    check_reference(&PAPER_GRID, 1);
}

#[test]
fn the_order_of_users_and_kinds_changes_nothing() {
    check_reference(&[(30, 1), (30, 0), (30, 0), (30, 0)], 2);
    check_reference(&[(30, 0), (30, 1), (30, 0), (30, 0)], 3);
}

/// The market as its specification tells it, all from scratch at every instant; in ticks, without actors.
struct Plain<'a> {
    topology: &'a Topology,
    jobs: Vec<(Job, Graph, Figures)>,
    free: Vec<u32>,
    /// Site and end of each task that has started.
    runs: BTreeMap<(usize, usize), (usize, u64)>,
    removed: BTreeSet<usize>,
    story: Vec<(u64, Happening)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Completed(u32),
    Removed(u32),
    Assigned(TaskId, u32),
}

impl Plain<'_> {
    fn play(topology: &Topology) -> Vec<(u64, Happening)> {
        let market = &topology.settings::<Market>().unwrap();
        let jobs = match &topology.workloads[0].source {
            Source::Table(table) => Source::Table(table.clone()),
            _ => panic!("small explicit jobs are enough here"),
        };
        let jobs = jobs.jobs(&Default::default(), market.tick, &mut Default::default()).unwrap();
        let known = |job: Job| {
            let graph = Graph::new(job.tasks.len(), &job.edges);
            let figures = Figures::of_job(&job, &graph, market, None, true).unwrap();
            (job, graph, figures)
        };
        let jobs: Vec<_> = jobs.into_iter().map(known).collect();
        let mut instants: BTreeSet<u64> = jobs.iter().map(|(job, ..)| in_minutes(job.arrive)).collect();
        let free = topology.sites.iter().map(|site| site.cores).collect();
        let mut plain =
            Plain { topology, jobs, free, runs: BTreeMap::new(), removed: BTreeSet::new(), story: Vec::new() };
        let mut number = 0;
        while let Some(now) = instants.pop_first() {
            number += 1;
            plain.instant(now, number, &mut instants);
        }
        plain.story
    }

    fn instant(&mut self, now: u64, number: u64, instants: &mut BTreeSet<u64>) {
        for (&(job, task), &(cluster, end)) in &self.runs {
            if end == now {
                let (about, graph, _) = &self.jobs[job];
                self.free[cluster] += about.tasks[task].cores;
                let completed = (now, Happening::Completed(about.id.0));
                let all_done = (0..about.tasks.len()).all(|task| self.done(job, task, now));
                if all_done && self.story.last() != Some(&completed) {
                    self.story.push(completed);
                }
                for &next in graph.successors(task).iter().filter(|_| !self.removed.contains(&job)) {
                    if self.free_to_go(job, next as usize, now) {
                        let kind = about.tasks[next as usize].kind;
                        let ready = self.clusters(kind).map(|cluster| self.ready(job, next as usize, cluster));
                        instants.extend(ready.filter(|&ready| ready > now));
                    }
                }
            }
        }
        let due: Vec<_> = self.queue(now).into_iter().filter(|&(job, task)| self.is_due(job, task, now)).collect();
        for (job, _) in due {
            if self.removed.insert(job) {
                self.story.push((now, Happening::Removed(job as u32)));
            }
        }
        self.auction(now, number, instants);
    }

    fn auction(&mut self, now: u64, number: u64, instants: &mut BTreeSet<u64>) {
        let market = &self.topology.settings::<Market>().unwrap();
        let policy = (bid::find_bid_policy(&market.policy).unwrap().build)(market, self.topology.seed);
        let queue = self.queue(now);
        let paths = queue.iter().map(|&(job, _)| self.jobs[job].2.critical_path);
        let Some(longest_path) = paths.max() else { return };
        let at = Instant { now: minutes(now), number, tick: market.tick, longest_path };
        let bid = |&(job, task): &(usize, usize)| {
            let (job, _, figures) = &self.jobs[job];
            let bidder = Bidder {
                job,
                critical_path: figures.critical_path,
                task,
                rank: figures.ranks[task],
                successor_work: figures.successor_work[task],
            };
            let bid = policy.compute_bid(&bidder, &at);
            if policy.winner_rule() == Winner::Largest { -bid } else { bid }
        };
        let mut bidders: Vec<(f64, Time, (usize, usize))> =
            queue.iter().map(|place| (bid(place), self.jobs[place.0].0.arrive, *place)).collect();
        bidders.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));

        let mut closed = BTreeSet::new();
        for (_, _, (job, task)) in bidders {
            let query = self.jobs[job].0.tasks[task];
            if closed.contains(&query.kind) {
                continue;
            }
            let fits = |&cluster: &usize| self.free[cluster] >= query.cores && self.ready(job, task, cluster) <= now;
            let best =
                self.clusters(query.kind).filter(fits).max_by_key(|&cluster| (self.free[cluster], -(cluster as i64)));
            let Some(cluster) = best else {
                match market.blocking {
                    Blocking::PerKind => closed.insert(query.kind),
                    Blocking::Global => return,
                };
                continue;
            };
            self.free[cluster] -= query.cores;
            let end = now + query.runtime.micros() / MINUTE.micros();
            self.runs.insert((job, task), (cluster, end));
            instants.insert(end);
            let id = TaskId { job: self.jobs[job].0.id, index: task as u32 };
            self.story.push((now, Happening::Assigned(id, cluster as u32 + 1)));
        }
    }

    fn queue(&self, now: u64) -> Vec<(usize, usize)> {
        let all =
            self.jobs.iter().enumerate().flat_map(|(job, about)| (0..about.0.tasks.len()).map(move |task| (job, task)));
        let queued = |&(job, task): &(usize, usize)| {
            let about = &self.jobs[job].0;
            about.arrive <= minutes(now)
                && !self.removed.contains(&job)
                && !self.runs.contains_key(&(job, task))
                && self.free_to_go(job, task, now)
                && self.clusters(about.tasks[task].kind).any(|cluster| self.ready(job, task, cluster) <= now)
        };
        all.filter(queued).collect()
    }

    fn is_due(&self, job: usize, task: usize, now: u64) -> bool {
        let (about, _, figures) = &self.jobs[job];
        let Some(worth) = &about.worth else { return false };
        let age = minutes(now) - about.arrive;
        let final_ = worth.curve.final_();
        let projected = (figures.ranks[task] + age).micros() as f64 / figures.critical_path.micros() as f64;
        span_ticks(age, MINUTE) >= final_ * span_ticks(figures.critical_path, MINUTE)
            || (self.topology.settings::<Market>().unwrap().removal == Removal::Projected && projected >= final_)
    }

    fn done(&self, job: usize, task: usize, now: u64) -> bool {
        self.runs.get(&(job, task)).is_some_and(|&(_, end)| end <= now)
    }

    fn free_to_go(&self, job: usize, task: usize, now: u64) -> bool {
        self.jobs[job].1.predecessors(task).iter().all(|&before| self.done(job, before as usize, now))
    }

    fn clusters(&self, kind: Kind) -> impl Iterator<Item = usize> {
        (0..self.topology.sites.len()).filter(move |&cluster| self.topology.sites[cluster].kind == kind)
    }

    fn ready(&self, job: usize, task: usize, cluster: usize) -> u64 {
        let (about, graph, figures) = &self.jobs[job];
        let arrival = |&before: &u32| {
            let before = before as usize;
            let (ran, end) = self.runs[&(job, before)];
            let far = match self.topology.settings::<Market>().unwrap().network {
                Network::PerCluster => ran != cluster,
                Network::KindChangeOnly => about.tasks[before].kind != about.tasks[task].kind,
            };
            end + if far { figures.delays[before].micros() / MINUTE.micros() } else { 0 }
        };
        graph.predecessors(task).iter().map(arrival).max().unwrap_or(0)
    }
}

fn story(log: &[Entry<Record>]) -> Vec<(u64, Happening)> {
    let render_entry = |entry: &Entry<Record>| {
        let event = match &entry.record {
            Record::Completed { job, .. } => Happening::Completed(job.0),
            Record::Removed { job } => Happening::Removed(job.0),
            Record::Assigned { task, site } => Happening::Assigned(*task, site.0),
            _ => return None,
        };
        Some((in_minutes(entry.stamp.time), event))
    };
    log.iter().filter_map(render_entry).collect()
}

/// Follows every core through a run.
fn assert_no_core_is_sold_twice(log: &[Entry<Record>]) {
    let mut running: BTreeMap<TaskId, NodeSet> = BTreeMap::new();
    let mut used: BTreeMap<(ActorId, u32), TaskId> = BTreeMap::new();
    for entry in log {
        match &entry.record {
            Record::Started { task, cores } => {
                for core in cores.each() {
                    assert_eq!(used.insert((entry.actor, core), *task), None, "core {core} of {}", entry.actor);
                }
                running.insert(*task, cores.clone());
            }
            Record::Finished { task } => {
                for core in running.remove(task).expect("what ends has started").each() {
                    used.remove(&(entry.actor, core));
                }
            }
            _ => {}
        }
    }
    assert!(running.is_empty(), "everything ends");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every policy under every option.
    #[test]
    fn the_actors_do_what_the_plain_market_does(
        market in markets(),
        mut jobs in prop::collection::vec(listed_jobs(), 1..14),
        sites in prop::collection::vec((1u32..7, 0u16..2), 0..3),
        users in 1usize..4,
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let sites = [&sites[..], &[(4, 0), (4, 1)]].concat();
        let topology = grid(market, &sites, users, Source::Table(table::Table::of_jobs(jobs)));
        let log = play(&topology);
        assert_no_core_is_sold_twice(&log);
        prop_assert_eq!(story(&log), Plain::play(&topology));
    }

    /// Among many sites, most of them alike, the data of a task is on few, and the site with the most room changes all
    /// the time.
    #[test]
    fn many_sites_are_chosen_among_as_by_asking_each(
        market in markets(),
        mut jobs in prop::collection::vec(listed_jobs(), 1..20),
        sites in prop::collection::vec((1u32..6, 0u16..2), 8..60),
    ) {
        jobs.sort_by_key(|job| job.arrive);
        let sites = [&sites[..], &[(4, 0), (4, 1)]].concat();
        let topology = grid(market, &sites, 2, Source::Table(table::Table::of_jobs(jobs)));
        let log = play_fast(&topology);
        assert_no_core_is_sold_twice(&log);
        prop_assert_eq!(story(&log), Plain::play(&topology));
    }

    /// With all latencies: the router never assigns cores that are not free at the site, each task starts as soon as
    /// its order arrives, and the fast engine writes the same log.
    #[test]
    fn latency_delays_but_breaks_nothing(
        market in markets(),
        jobs in prop::collection::vec(listed_jobs(), 1..10),
        latencies in prop::collection::vec(prop::sample::select(vec![0u64, 5, 60_000, 90_000]), 6),
    ) {
        let jobs = Source::Table(table::Table::of_jobs(jobs));
        let mut topology = grid(market, &[(4, 0), (6, 0), (5, 1)], 3, jobs);
        let mut latencies = latencies.into_iter().map(Span::from_millis);
        topology.sites.iter_mut().for_each(|site| site.latency = latencies.next().unwrap());
        topology.users.iter_mut().for_each(|user| user.latency = latencies.next().unwrap());

        let log = play(&topology);
        assert_no_core_is_sold_twice(&log);
        let roster = Roster::of_topology(&topology);
        let mut assigned = BTreeMap::new();
        for entry in &log {
            match &entry.record {
                Record::Assigned { task, site } => {
                    assigned.insert(*task, entry.stamp.after(roster.latencies[site.index()]));
                }
                Record::Started { task, .. } => prop_assert_eq!(assigned[task], entry.stamp),
                _ => {}
            }
        }

        let mut place = Place::new(build_actors(&topology, &roster.all()).unwrap(), roster.latencies.clone());
        prop_assert_eq!(place.run_before(Stamp::NEVER, usize::MAX), Ok(false));
        prop_assert_eq!(place.take_log(), log);
    }
}

/// Plays the run with lanes that ask all tasks at every instant.
fn play_asking_everybody(topology: &Topology) -> Vec<Entry<Record>> {
    let roster = Roster::of_topology(topology);
    let mut actors = build_actors(topology, &roster.all()).unwrap();
    let clusters = topology.sites.iter().enumerate().map(|(index, site)| Cluster {
        site: ActorId(index as u32 + 1),
        kind: site.kind,
        cores: site.cores,
    });
    let policy = (bid::find_bid_policy(&topology.settings::<Market>().unwrap().policy).unwrap().build)(
        topology.settings::<Market>().unwrap(),
        topology.seed,
    );
    let lane = |_: &dyn bid::BidPolicy| -> Box<dyn super::queue::Lane> { Box::new(plain::PlainLane::default()) };
    actors[0].1 = Box::new(Auctioneer::with_lanes(
        topology.settings::<Market>().unwrap().clone(),
        policy,
        clusters.collect(),
        lane,
    ));
    let mut place = Place::new(actors, roster.latencies.clone());
    assert_eq!(place.run_before(Stamp::NEVER, usize::MAX), Ok(false));
    place.take_log()
}

prop_compose! {
    /// Jobs of equal shape and worth come often, so that bids tie; curves with steps and without a slope as well.
    fn crowds()(
        shapes in prop::collection::vec((1u64..40, 1u32..6, 0u16..2, prop::option::weighted(0.9, worths())), 1..8),
        second in prop::collection::vec((any::<bool>(), 1u64..300), 8),
        picks in prop::collection::vec((0usize..8, 0u64..60), 50..250),
        patience in prop::sample::select(vec![1.0, 8.0, 60.0]),
    ) -> Vec<table::ListedJob> {
        let mut arrive = 0;
        let job = |(shape, later): (usize, u64)| {
            let shape = shape % shapes.len();
            arrive += later.saturating_sub(45);
            let (runtime, cores, kind, worth) = shapes[shape].clone();
            let (follows, then) = second[shape];
            let then = follows.then(|| task(then, 1, 1 - kind));
            let worth = worth.map(|Worth { max, curve }| Worth {
                max,
                curve: Curve::new(curve.initial() * patience, curve.final_() * patience, &[]).unwrap(),
            });
            table::ListedJob { arrive: minutes(arrive), edges: if then.is_some() { edges(&[(0, 1)]) } else { vec![] }, tasks: [task(runtime, cores, kind)].into_iter().chain(then).collect(), worth, ..table::ListedJob::default() }
        };
        picks.into_iter().map(job).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(unoptimised) { 50 } else { 256 }))]

    /// However deep the queue: leaving most of it unasked changes nothing.
    #[test]
    fn no_task_that_is_not_asked_would_have_won(market in markets(), jobs in crowds(), cores in 6u32..20) {
        let topology = grid(market, &[(6, 0), (cores, 0), (cores, 1)], 1, Source::Table(table::Table::of_jobs(jobs)));
        prop_assert_eq!(play_fast(&topology), play_asking_everybody(&topology));
    }
}

/// As above, with the paper's jobs: for every policy and option that has a say in the order.
#[test]
fn the_papers_jobs_are_placed_as_if_everybody_were_asked() {
    let jobs = if cfg!(unoptimised) { 60 } else { 150 };
    for row in bid::ALL {
        for (removal, blocking) in [(Removal::Deadline, Blocking::PerKind), (Removal::Projected, Blocking::Global)] {
            for load in [0.9, 3.0] {
                let market = Market { removal, blocking, ..plain_market(row.name) };
                let Source::Market(source) = small_workload(load) else { panic!("jobs are generated") };
                let source = Source::Market(market::Generator { jobs, seed: 7, ..source });
                let topology = grid(market, &PAPER_GRID, 1, source);
                let fast = play_fast(&topology);
                let judge = play_asking_everybody(&topology);
                assert!(fast == judge, "{} at {load}", row.name);
            }
        }
    }
}

/// A user who says what a user should not, and what it hears in return.
struct Stranger {
    messages: Vec<(u64, Message)>,
}

impl Actor<Message, Record> for Stranger {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => {
                    for (at, message) in self.messages.drain(..) {
                        out.send_at(minutes(at), ActorId(0), message);
                    }
                }
                Cause::Message(Message::Outcome(outcome)) => {
                    let job = outcome.job;
                    match outcome.verdict {
                        Verdict::Refused => out.log(Record::Removed { job }),
                        Verdict::Completed => out.log(Record::Completed { job, value: None }),
                        Verdict::Removed => panic!("nothing is removed here"),
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn strangers_are_answered_and_change_nothing() {
    let sound = Job { id: JobId(7), worth: None, ..job_a() };
    let numbered = |id| Job { id: JobId(id), ..sound.clone() };
    let submit = |at, job: Job| (at, Message::Submit(Submit { job: job.into() }));
    let cyclic = Job { edges: edges(&[(1, 0)]), ..numbered(1) };
    let endless = Job { tasks: vec![Task { runtime: Span::MAX, ..task(1, 1, 0) }], edges: vec![], ..numbered(2) };
    let priceless = Worth { max: f64::NAN, curve: Curve::new(1.0, 2.0, &[]).unwrap() };
    let messages = vec![
        submit(100, sound.clone()),
        submit(101, sound.clone()),
        submit(99, numbered(0)),
        submit(100, cyclic),
        submit(100, endless),
        submit(100, Job { worth: Some(priceless), ..numbered(3) }),
        submit(100, Job { tasks: vec![task(1, 1, 9)], edges: vec![], ..numbered(4) }),
        submit(102, Job { tasks: vec![task(1, 1, 0)], edges: vec![], ..numbered(4) }),
        submit(103, Job { first_task: u32::MAX, ..numbered(u32::MAX) }),
        (104, Message::Ended(Ended { task: TaskId { job: JobId(7), index: 0 }, started: minutes(100) })),
        (104, Message::Ended(Ended { task: TaskId { job: JobId(7), index: 99 }, started: minutes(100) })),
        (104, Message::Ended(Ended { task: TaskId { job: JobId(99), index: 0 }, started: minutes(100) })),
    ];

    let topology = grid(plain_market("fifo"), &[(8, 0), (8, 1)], 1, Source::Table(table::Table::of_jobs(vec![])));
    let roster = Roster::of_topology(&topology);
    let mut actors = build_actors(&topology, &roster.all()).unwrap();
    actors[3].1 = Box::new(Stranger { messages });
    let log = judge::run_actors(actors.into_iter().map(|(_, actor)| actor).collect(), &roster.latencies);

    let received = log.iter().filter(|entry| entry.actor == ActorId(3)).map(|entry| match entry.record {
        Record::Removed { job } => (in_minutes(entry.stamp.time), job.0, "refused"),
        Record::Completed { job, .. } => (in_minutes(entry.stamp.time), job.0, "completed"),
        _ => panic!("a stranger notes only what it hears"),
    });
    assert_eq!(
        received.collect::<Vec<_>>(),
        [
            (99, 0, "refused"),
            (100, 1, "refused"),
            (100, 2, "refused"),
            (100, 3, "refused"),
            (100, 4, "refused"),
            (101, 7, "refused"),
            (102, 4, "refused"),
            (135, 7, "completed"),
            (138, u32::MAX, "completed"),
        ]
    );
    let in_log = |entry: &Entry<Record>| matches!(entry.record, Record::Arrived { .. } | Record::Refused { .. });
    assert_eq!(log.iter().filter(|entry| in_log(entry)).count(), 3, "jobs that are none leave no trace");
}

/// Admitted jobs, computed anew at every arrival from the log until then.
#[test]
fn admission_keeps_to_its_bound() {
    for (admission, loads) in [(Admission::On, [2.5, 5.0]), (Admission::Strict, [2.5, 5.0])] {
        for load in loads {
            let rules = Market { admission, ..plain_market("pvr") };
            let Source::Market(generator) = small_workload(load) else { unreachable!("it is generated") };
            let source = Source::Market(market::Generator { jobs: 200, ..generator });
            let topology = grid(rules, &[(20, 0), (20, 0), (20, 1)], 1, source);
            let mut live = Vec::<(Arc<Job>, Time, Vec<bool>)>::new();
            let mut turned_away = 0;
            for entry in play(&topology) {
                let now = entry.stamp.time;
                match entry.record {
                    Record::Arrived { job, .. } => {
                        let due = due(&job, &topology);
                        assert!(fits(&job, due, now, &live, admission), "job {} is admitted", job.id);
                        let tasks = vec![true; job.tasks.len()];
                        live.push((job, due, tasks));
                    }
                    Record::NotAdmitted { job, .. } => {
                        assert!(!fits(&job, due(&job, &topology), now, &live, admission), "job {} is not", job.id);
                        turned_away += 1;
                    }
                    Record::Finished { task } => {
                        for (job, _, tasks) in live.iter_mut().filter(|(job, ..)| job.id == task.job) {
                            assert!(std::mem::take(&mut tasks[task.index as usize]), "job {}", job.id);
                        }
                    }
                    Record::Removed { job } => live.retain(|(other, ..)| other.id != job),
                    _ => {}
                }
            }
            assert!(turned_away > 0, "{admission:?} at {load} has something to decide");
        }
    }
}

/// The time at which a result is worth three quarters of its value, found by bisection over microseconds.
fn due(job: &Job, topology: &Topology) -> Time {
    let market = topology.settings::<Market>().unwrap();
    let path =
        Figures::of_job(job, &Graph::new(job.tasks.len(), &job.edges), market, None, false).unwrap().critical_path;
    let worth = job.worth.as_ref().unwrap();
    let good = |age: u64| worth.curve.factor(age as f64 / path.micros() as f64) >= 0.75;
    let mut low = 0;
    let mut high = 1 << 52;
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if good(middle) { low = middle } else { high = middle }
    }
    job.arrive + Span::from_micros(low)
}

fn fits(job: &Job, due: Time, now: Time, live: &[(Arc<Job>, Time, Vec<bool>)], admission: Admission) -> bool {
    let work = |job: &Job, left: &dyn Fn(usize) -> bool, kind: u16| -> f64 {
        let tasks = job.tasks.iter().enumerate().filter(|(task, query)| query.kind == Kind(kind) && left(*task));
        tasks.map(|(_, query)| f64::from(query.cores) * query.runtime.micros() as f64).sum()
    };
    [(0u16, 40.0), (1, 20.0)].into_iter().all(|(kind, cores)| {
        let own = work(job, &|_| true, kind);
        let demand = |until: Time| -> f64 {
            let counts = |other: &Time| *other <= until && (admission == Admission::Strict || *other > now);
            let others = live.iter().filter(|(_, other, _)| counts(other));
            own + others.map(|(other, _, tasks)| work(other, &|task| tasks[task], kind)).sum::<f64>()
        };
        let keeps = |until: Time| demand(until) <= 0.85 * cores * until.since(now).micros() as f64;
        let later = live.iter().filter(|(other, until, tasks)| {
            admission == Admission::Strict && *until > due && work(other, &|task| tasks[task], kind) > 0.0
        });
        own == 0.0 || (keeps(due) && later.into_iter().all(|(_, until, _)| keeps(*until)))
    })
}

#[test]
fn only_what_is_played_is_built_and_every_fault_of_the_jobs_is_told() {
    let table = |tasks: Vec<Task>| {
        Source::Table(table::Table {
            delay: Span::ZERO,
            data: Default::default(),
            jobs: vec![table::ListedJob { tasks, ..table::ListedJob::default() }],
        })
    };
    let diagnostic =
        |topology: &Topology, id| build_actors(topology, &[ActorId(id)]).err().map(|error| error.to_string());

    let wide = grid(plain_market("pvd"), &[(4, 0), (2, 1)], 1, table(vec![task(1, 4, 0), task(1, 3, 1)]));
    let expected = "workload.0: job 0: task 1 needs 3 cores of kind two at one site, but the largest such site has 2; \
                    unplaceable = \"refuse\" refuses such jobs instead";
    assert_eq!(diagnostic(&wide, 0).as_deref(), Some(expected));
    assert_eq!(diagnostic(&wide, 1), None);
    assert_eq!(diagnostic(&wide, 3).as_deref(), Some(expected));
    let lenient = Market { unplaceable: Unplaceable::Refuse, ..plain_market("pvd") };
    let wide = Topology { systems: vec![Service::new(lenient)], ..wide };
    assert_eq!(diagnostic(&wide, 3), None);
    let refused = play(&wide);
    assert!(matches!(refused[..], [Entry { record: Record::Refused { task: 1, .. }, .. }]));

    let idle = grid(plain_market("fifo"), &[(4, 0)], 1, table(vec![task(0, 1, 0)]));
    assert_eq!(diagnostic(&idle, 2).as_deref(), Some("workload.0: job 0: task 0 takes no time"));

    let layers =
        (0..1100u32).flat_map(|layer| [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| (2 * layer + a, 2 * layer + b)));
    let mut pairs: Vec<(u32, u32)> = layers.collect();
    pairs.sort_unstable();
    let tasks = vec![task(1, 1, 0); 2202];
    let exploding = table::ListedJob { tasks, edges: edges(&pairs), ..table::ListedJob::default() };
    let exploding = |market| grid(market, &[(4, 0)], 1, Source::Table(table::Table::of_jobs(vec![exploding.clone()])));
    let message = diagnostic(&exploding(plain_market("pvd")), 0).unwrap();
    assert!(message.contains("succ_sum = \"unique\""), "{message}");
    assert_eq!(diagnostic(&exploding(plain_market("fifo")), 0), None);
    assert_eq!(diagnostic(&exploding(Market { succ_sum: SuccSum::Unique, ..plain_market("pvd") }), 0), None);
}

#[test]
fn a_plan_numbers_everybody() {
    let topology = grid(plain_market("fifo"), &[(4, 0), (4, 1)], 1, small_workload(1.0));
    let roster = Roster::of_topology(&topology);
    assert_eq!(roster.names, ["auctioneer", "site0", "site1", "user0"]);
    assert_eq!((roster.at_hub(), roster.all().len()), (vec![ActorId(0)], 4));
    let parties = roster.parties();
    assert_eq!(parties.iter().map(|party| roster.find(party).unwrap().0).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn an_offer_that_no_honest_site_sends_is_ignored() {
    let mut unreceived = super::offers::UnreceivedStarts::default();
    unreceived.reserve(3);
    unreceived.reserve(2);
    unreceived.send(3);
    assert!(!unreceived.take_receipt(2));
    assert_eq!(unreceived.cores(), 5);
    assert!(unreceived.take_receipt(1));
    assert_eq!(unreceived.cores(), 2);
    unreceived.send(2);
    assert!(!unreceived.take_receipt(0));
    assert!(unreceived.take_receipt(2));
    assert_eq!(unreceived.cores(), 0);
}
