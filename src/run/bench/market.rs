//! The market inline, policy by policy: the paper's experiment beside a model written by hand, and the cost of an
//! instant with short and long queues. CPU seconds of this thread.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::by_hand::{CLUSTERS, Model};
use crate::Failure;
use hansa_sim::grid::{Curve, Edge, Kind, Task, Worth};
use hansa_sim::kernel::Place;
use hansa_sim::protocol::{Message, Record};
use hansa_sim::random::SplitMix64;
use hansa_sim::systems::Service;
use hansa_sim::systems::market::Market;
use hansa_sim::systems::market::bid;
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::{self, Roster, Site, Topology, User, Workload};
use hansa_sim::workload::{Platform, Source, market, table};

/// Run of the tasks in a loop written by hand.
pub struct ByHand {
    pub tasks: u64,
    pub seconds: f64,
    /// Seconds before the loop, for work that the market does for each job as it arrives: drawing it, and computing its
    /// graph and ranks.
    pub before: f64,
}

/// Measurements of one policy.
pub struct PolicyCosts {
    pub policy: &'static str,
    /// Tasks that ended in the paper's experiment, and its duration.
    pub tasks: u64,
    pub seconds: f64,
    /// Nanoseconds per instant, for each number of waiting tasks in [`QUEUES`].
    pub instant_ns: [f64; QUEUES.len()],
}

pub const QUEUES: [u32; 3] = [1_000, 10_000, 100_000];
pub const LOAD: f64 = 1.4;

/// Measures all policies; keeps the best of `rounds` rounds for each.
pub fn measure_market(
    jobs: u32,
    instants: u64,
    rounds: u32,
    mut report: impl FnMut(&PolicyCosts) -> Result<(), Failure>,
) -> Result<ByHand, Failure> {
    let by_hand = by_hand(&paper_topology("fifo", jobs), rounds)?;
    for policy in bid::ALL {
        let mut row =
            PolicyCosts { policy: policy.name, tasks: 0, seconds: f64::INFINITY, instant_ns: [0.0; QUEUES.len()] };
        for _ in 0..rounds {
            let (tasks, seconds) = time_whole_run(&paper_topology(policy.name, jobs))?;
            (row.tasks, row.seconds) = (tasks, row.seconds.min(seconds));
        }
        if policy.name == "fifo" && row.tasks != by_hand.tasks {
            let message = format!("the market ends {} tasks, the loop by hand {}", row.tasks, by_hand.tasks);
            return Err(Failure::Internal(message));
        }
        for (queue, ns) in QUEUES.iter().zip(&mut row.instant_ns) {
            *ns = an_instant(&deep_topology(policy.name, *queue, instants + 2), instants)?;
        }
        report(&row)?;
    }
    Ok(by_hand)
}

fn by_hand(topology: &Topology, rounds: u32) -> Result<ByHand, Failure> {
    assert_eq!(topology.sites.len(), CLUSTERS, "the loop by hand knows the paper's clusters");
    let platform = Platform { cores: vec![3000, 1000], sites: Vec::new() };
    let mut best = ByHand { tasks: 0, seconds: f64::INFINITY, before: f64::INFINITY };
    for _ in 0..rounds {
        let begun = cpu_time();
        let jobs =
            topology.workloads[0].source.jobs(&platform, topology.systems[0].time_unit(), &mut Default::default());
        let jobs = jobs.map_err(|error| Failure::Internal(error.to_string()))?;
        let model = Model::of_topology(topology, &jobs);
        best.before = best.before.min((cpu_time() - begun).as_secs_f64());
        let begun = cpu_time();
        best.tasks = model.run_model();
        best.seconds = best.seconds.min((cpu_time() - begun).as_secs_f64());
    }
    Ok(best)
}

fn time_whole_run(topology: &Topology) -> Result<(u64, f64), Failure> {
    let mut place = open_place(topology)?;
    let begun = cpu_time();
    let mut ended = 0;
    while run_batches(&mut place, Stamp::NEVER, 4096)? {
        count_ended(&mut place, &mut ended);
    }
    count_ended(&mut place, &mut ended);
    Ok((ended, (cpu_time() - begun).as_secs_f64()))
}

/// Counts ended tasks.
fn count_ended(place: &mut Place<Message, Record>, ended: &mut u64) {
    *ended += place.log().iter().filter(|entry| matches!(entry.record, Record::Finished { .. })).count() as u64;
    place.clear_log();
}

fn an_instant(topology: &Topology, instants: u64) -> Result<f64, Failure> {
    let mut place = open_place(topology)?;
    // The first instant of the lane asks for all bids, and is not measured.
    run_batches(&mut place, minute_stamp(FILLING + 2), usize::MAX)?;
    place.take_log();
    let begun = cpu_time();
    run_batches(&mut place, minute_stamp(FILLING + 2 + instants), usize::MAX)?;
    Ok((cpu_time() - begun).as_nanos() as f64 / instants as f64)
}

fn minute_stamp(minutes: u64) -> Stamp {
    Stamp::at(Time::ZERO + Span::from_minutes(minutes))
}

fn open_place(topology: &Topology) -> Result<Place<Message, Record>, Failure> {
    let roster = Roster::of_topology(topology);
    let actors =
        topology::build_actors(topology, &roster.all()).map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(Place::new(actors, roster.latencies))
}

fn run_batches(place: &mut Place<Message, Record>, before: Stamp, batches: usize) -> Result<bool, Failure> {
    place.run_before(before, batches).map_err(|_| Failure::Internal("a measured actor broke its promise".to_owned()))
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The paper's experiment with this many jobs.
fn paper_topology(policy: &str, jobs: u32) -> Topology {
    let source = market::Generator { seed: 1, jobs, load: LOAD, ..market::Generator::default() };
    market_topology(policy, &[(1000, 0), (1000, 0), (1000, 0), (1000, 1)], Source::Market(source))
}

/// Minutes in which the queue fills while no task can start, so that it holds tasks of all ages.
const FILLING: u64 = 20_000;
const CORES: u32 = 16;

/// A site with this many tasks waiting all the time: in every minute one ends, one starts and one arrives. Each job
/// continues elsewhere with a task of a different length, so that all jobs differ for every policy, and none is given
/// up. Starting tasks are alike, so that an instant has the same work with a long queue as with a short one.
fn deep_topology(policy: &str, queue: u32, instants: u64) -> Topology {
    let minutes = Span::from_minutes;
    let first = Task::new(minutes(u64::from(CORES)), 1, Kind(0));
    let mut random = SplitMix64::new(1);
    let waiting = (0..u64::from(queue)).map(|number| 1 + number * (FILLING - 1) / u64::from(queue));
    let others = waiting.chain((0..instants).map(|minute| FILLING + minute)).map(|arrive| {
        let longer = 1 << random.int(3, 14);
        let runtime = minutes(random.int(longer, 2 * longer));
        let last = Task::new(runtime, random.int(1, 4) as u32, Kind(1));
        let initial = 2.0 + 2.0 * random.unit();
        let curve = Curve::new(initial, 1200.0 + 1200.0 * random.unit(), &[]).expect("these deadlines rise");
        let worth = Some(Worth { max: 1.0 + 1e6 * random.unit(), curve });
        table::ListedJob {
            worth,
            ..table::ListedJob::with_tasks(Time::ZERO + minutes(arrive), vec![first, last], vec![Edge::new(0, 1)])
        }
    });
    let jobs = (1..=u64::from(CORES))
        .map(|core| {
            let task = Task { runtime: minutes(FILLING + core), ..first };
            table::ListedJob::with_tasks(Time::ZERO, vec![task], Vec::new())
        })
        .chain(others)
        .collect();
    market_topology(policy, &[(CORES, 0), (1 << 20, 1)], Source::Table(table::Table::of_jobs(jobs)))
}

fn market_topology(policy: &str, sites: &[(u32, u16)], source: Source) -> Topology {
    Topology {
        name: "bench".to_owned(),
        seed: 1,
        kinds: vec!["Kind1".to_owned(), "Kind2".to_owned()],
        systems: vec![Service::new(Market { policy: policy.to_owned(), ..Market::default() })],
        sites: sites
            .iter()
            .enumerate()
            .map(|(index, &(cores, kind))| Site {
                name: format!("site-{index}"),
                cores,
                kind: Kind(kind),
                scheduler: "auction".to_owned(),
                systems: vec![0],
                ..Site::with_defaults()
            })
            .collect(),
        users: vec![User::named("alice")],
        workloads: vec![Workload { users: vec![0], shares: Vec::new(), system: 0, source }],
        ..Topology::default()
    }
}
