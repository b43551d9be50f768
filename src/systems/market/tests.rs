//! The worked examples of the market's specification, and the fast paths against the plain ones, all through the
//! actors.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::bid::{self, BidPolicy, Bidder, Course, Instant, Winner};
use super::{Auctioneer, Cluster, Figures};
use crate::grid::{Curve, Edge, Graph, Job, JobId, Kind, Task, TaskId, Worth};
use crate::kernel::{ActorId, BoxedActor, Entry, Latencies, Place, judge};
use crate::protocol::{Message, Record};
use crate::roles::{User, scheduler};
use crate::time::{Span, Time};
use crate::topology::{self, *};
use crate::workload::{self, Source, market, table};

const MINUTE: Span = Span::from_minutes(1);

fn minutes(count: u64) -> Time {
    Time::ZERO + Span::from_minutes(count)
}

fn in_minutes(time: Time) -> u64 {
    assert_eq!(time.micros() % MINUTE.micros(), 0, "{time} is no whole minute");
    time.micros() / MINUTE.micros()
}

fn plain_market(policy: &str) -> Market {
    Market {
        policy: policy.to_owned(),
        tick: MINUTE,
        ccr_millionths: 200_000,
        network: Network::PerCluster,
        blocking: Blocking::PerKind,
        removal: Removal::Deadline,
        unplaceable: Unplaceable::Error,
        succ_sum: SuccSum::PerPath,
        edf: EdfDeadline::Initial,
        pvdsq: Pvdsq::ResourceSquared,
        pvr: Pvr::Value,
    }
}

/// A topology without latency, from the cores and kinds of its sites.
fn grid(market: Market, sites: &[(u32, u16)], users: usize, source: Source) -> Topology {
    let site = |(index, &(cores, kind)): (usize, &(u32, u16))| Site {
        name: format!("site{index}"),
        cores,
        kind: Kind(kind),
        scheduler: "auction".to_owned(),
        latency: Span::ZERO,
    };
    Topology {
        name: "test".to_owned(),
        about: None,
        seed: 0,
        kinds: vec!["one".to_owned(), "two".to_owned()],
        market,
        sites: sites.iter().enumerate().map(site).collect(),
        users: (0..users).map(|user| topology::User { name: format!("user{user}"), latency: Span::ZERO }).collect(),
        workloads: vec![Workload { users: (0..users).collect(), source }],
    }
}

fn play(topology: &Topology) -> Vec<Entry<Record>> {
    let plan = Plan::of(topology);
    let actors = build(topology, &plan.all()).unwrap();
    judge::run(actors.into_iter().map(|(_, actor)| actor).collect(), &plan.latencies)
}

fn task(runtime: u64, cores: u32, kind: u16) -> Task {
    Task { runtime: Span::from_minutes(runtime), cores, kind: Kind(kind) }
}

fn edges(pairs: &[(u32, u32)]) -> Vec<Edge> {
    pairs.iter().map(|&(from, to)| Edge { from, to }).collect()
}

fn job_a() -> Job {
    Job {
        id: JobId(0),
        arrive: minutes(100),
        first_task: 0,
        tasks: vec![task(10, 2, 0), task(20, 4, 0), task(15, 1, 1), task(5, 3, 0)],
        edges: edges(&[(0, 1), (0, 2), (1, 3), (2, 3)]),
        worth: Some(Worth { max: 130.0, curve: Curve::new(2.0, 6.0, &[(3.0, 0.8), (5.0, 0.4)]).unwrap() }),
    }
}

fn figures(job: &Job, market: &Market) -> Figures {
    Figures::of(job, &Graph::new(job.tasks.len(), &job.edges), market, true).unwrap()
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
    (bid::find(&market.policy).unwrap().build)(market, 0).bid(&bidder, &at)
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
        (100..320).flat_map(|now| (0..4).map(move |task| (task, now))).map(|(task, now)| bid_of(market, task, now, 35)).collect()
    };
    let (plain, squared) = (bids(&plain_market("pvd")), bids(&literal));
    for (a, b) in (0..plain.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        if (plain[a] - plain[b]).abs() > 1e-12 * plain[a].max(plain[b]) {
            assert_eq!(plain[a] < plain[b], squared[a] < squared[b]);
        }
    }
}

/// The seven jobs of the auction's example; worth nothing in the end, but not for a long time.
fn auction_example() -> Source {
    let entry = |tasks: &[Task], pairs: &[(u32, u32)]| table::Entry {
        arrive: Time::ZERO,
        tasks: tasks.to_vec(),
        edges: edges(pairs),
        worth: Some(Worth { max: 1.0, curve: Curve::new(1000.0, 2000.0, &[]).unwrap() }),
    };
    Source::Table(table::Table {
        jobs: vec![
            entry(&[task(6, 3, 0), task(4, 2, 1)], &[(0, 1)]),
            entry(&[task(4, 2, 0), task(5, 2, 0)], &[(0, 1)]),
            entry(&[task(10, 4, 0)], &[]),
            entry(&[task(3, 3, 1)], &[]),
            entry(&[task(20, 4, 0)], &[]),
            entry(&[task(21, 1, 0)], &[]),
            entry(&[task(25, 1, 1)], &[]),
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
    let (mut starts, mut ends) = (Vec::new(), BTreeMap::new());
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
        load_basis: market::LoadBasis::Total,
        tasks: (5, 20),
        total_runtime: (10, 2000),
        cores_max: 20,
        kinds: [Kind(0), Kind(1)],
        kind_share: 0.8,
        degree: 1.0,
    })
}

/// Proportion of the value that was realised, jobs that starved, and when the last job ended.
fn outcome(log: &[Entry<Record>]) -> (f64, usize, u64) {
    let (mut worth, mut realised, mut last) = (0.0, 0.0, 0);
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
fn who_submits_and_which_kind_comes_first_changes_nothing() {
    check_reference(&[(30, 1), (30, 0), (30, 0), (30, 0)], 2);
    check_reference(&[(30, 0), (30, 1), (30, 0), (30, 0)], 3);
}
