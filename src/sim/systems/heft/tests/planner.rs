//! The planner on sites that answer, compared with the replay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::grid::{Edge, Job, JobId, Kind, NodeSet, SiteTime, SiteTimes, Task, TaskId};
use crate::kernel::{Actor, ActorId, BoxedActor, Cause, Entry, Event, Outbox, judge};
use crate::protocol::{Message, Record};
use crate::random::SplitMix64;
use crate::roles::{Script, Site, User, scheduler};
use crate::time::{Span, Stamp, Time};
use crate::workload::layered::Shape;

const HUB: ActorId = ActorId(0);

/// An hour before the last time of events, in microseconds.
const LATE: u64 = Time::LATEST.micros() - 3_600_000_000;

/// A planner that reports the number of workflows it keeps.
struct Watched(Planner, Arc<Mutex<usize>>);

impl Actor<Message, Record> for Watched {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        self.0.handle_batch(now, batch, out);
        *self.1.lock().unwrap() = self.0.kept();
    }
}

/// A site that records the cores it is told to use.
struct Rendered(Site, ActorId, Arc<Mutex<Planned>>);

impl Actor<Message, Record> for Rendered {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Message>>, out: &mut Outbox<Message, Record>) {
        for event in batch.iter() {
            if let Cause::Message(Message::Run(run)) = &event.cause {
                self.2.lock().unwrap().insert(run.task, (self.1, run.planned.clone()));
            }
        }
        self.0.handle_batch(now, batch, out);
    }
}

fn run(policy: Policy, sites: &[Resource], paths: &Paths, jobs: Vec<Arc<Job>>) -> Vec<Entry<Record>> {
    run_watched(policy, sites, paths, jobs).0
}

type Planned = BTreeMap<TaskId, (ActorId, NodeSet)>;

/// Runs jobs of one user on a small grid; returns the log, and the cores that plans assigned. Workflows that are over
/// are not kept.
fn run_watched(
    policy: Policy,
    sites: &[Resource],
    paths: &Paths,
    jobs: Vec<Arc<Job>>,
) -> (Vec<Entry<Record>>, Planned) {
    let rules = Planning { policy, iterations: 5, ..Planning::default() };
    let ids = (1..).map(ActorId).zip(sites.iter().copied());
    let kept = Arc::new(Mutex::new(usize::MAX));
    let planner = Planner::new(rules, ids.collect(), paths.clone());
    let mut actors: Vec<BoxedActor<Message, Record>> = vec![Box::new(Watched(planner, kept.clone()))];
    let mut latencies = vec![Span::ZERO];
    let planned = Arc::new(Mutex::new(Planned::new()));
    for (id, site) in (1..).map(ActorId).zip(sites) {
        let scheduler = (scheduler::find_scheduler("auction").unwrap().build)();
        actors.push(Box::new(Rendered(Site::new(site.cores, scheduler, [HUB]), id, planned.clone())));
        latencies.push(site.latency);
    }
    actors.push(Box::new(User::new(Script::from_jobs(jobs, HUB))));
    latencies.push(Span::ZERO);
    let log = judge::run_actors(actors, &latencies);
    assert_eq!(*kept.lock().unwrap(), 0);
    let planned = planned.lock().unwrap().clone();
    (log, planned)
}

/// Begin and end of each task since the arrival of its job, by job and task.
fn times(log: &[Entry<Record>], jobs: &[Arc<Job>]) -> Vec<Vec<(f64, f64)>> {
    let mut times: Vec<_> = jobs.iter().map(|job| vec![(f64::NAN, f64::NAN); job.tasks.len()]).collect();
    for entry in log {
        let at = |task: &TaskId| (entry.stamp.time - jobs[task.job.0 as usize].arrive).micros() as f64;
        match &entry.record {
            Record::Started { task, .. } => times[task.job.0 as usize][task.index as usize].0 = at(task),
            Record::Finished { task } => times[task.job.0 as usize][task.index as usize].1 = at(task),
            _ => {}
        }
    }
    times
}

/// The cores on which each task ran, by job and task, as numbers of its site.
fn ran_on(log: &[Entry<Record>]) -> BTreeMap<TaskId, (ActorId, NodeSet)> {
    let started = log.iter().filter_map(|entry| match &entry.record {
        Record::Started { task, cores } => Some((*task, (entry.actor, cores.clone()))),
        _ => None,
    });
    started.collect()
}

fn job(id: u32, arrive: u64, shape: Shape, widest: u64, longest: u64, stream: &mut SplitMix64) -> Arc<Job> {
    let layered = shape.draw(stream);
    let tasks = (0..layered.tasks())
        .map(|_| Task::new(Span::from_micros(stream.int(1, longest)), stream.int(1, widest) as u32, Kind(0)));
    let tasks: Vec<Task> = tasks.collect();
    let edges =
        layered.edges.iter().map(|&(from, to)| Edge { from, to, data: stream.int(0, 4) * stream.int(0, 9_999_999) });
    let edges = edges.collect();
    let arrive = Time::from_micros(arrive);
    Arc::new(Job { id: JobId(id), arrive, first_task: 0, tasks, edges, worth: None, times: None })
}

/// Gives half of the tasks a run time per site, at some of the sites that are wide enough.
fn with_times(job: &Job, sites: &[Resource], seed: u64) -> Arc<Job> {
    let mut job = job.clone();
    let mut stream = SplitMix64::new(seed ^ 1);
    let mut rows = Vec::new();
    for task in &mut job.tasks {
        let mut row = Vec::new();
        let wide = numbered(sites).into_iter().filter(|(_, site)| site.cores >= task.cores);
        for (site, _) in wide {
            if stream.int(0, 2) == 0 {
                continue;
            }
            let runtime = Span::from_micros(task.runtime.micros().max(3) * stream.int(1, 9) / 3);
            row.push(SiteTime { site, runtime });
        }
        if stream.int(0, 1) > 0 {
            row.clear();
        }
        task.runtime = row.iter().map(|time| time.runtime).min().unwrap_or(task.runtime);
        task.walltime = task.runtime;
        rows.push(row);
    }
    job.times = SiteTimes::new(rows);
    assert_eq!(job.check(), Ok(()));
    Arc::new(job)
}

/// Sites on a ring of cables: data goes over two of them, which others use too.
fn grid(cores: &[u32], latency: u64, stream: &mut SplitMix64) -> (Vec<Resource>, Paths) {
    let site = |&cores: &u32| Resource {
        cores,
        kind: Kind(0),
        speed_millionths: stream.int(500_000, 2_000_000),
        latency: Span::from_micros(latency),
    };
    let sites: Vec<Resource> = cores.iter().map(site).collect();
    let cable = |efficiency| Link { capacity: 7.3, latency: 250.0, efficiency, mode: Mode::Shared };
    let links = vec![cable(Efficiency::Tcp), cable(Efficiency::None), cable(Efficiency::Tcp), cable(Efficiency::None)];
    let route = |from: usize, to: usize| match from == to {
        true => vec![],
        false => vec![LinkId(from as u32), LinkId(3 - (to % 2) as u32)],
    };
    let route = |from: usize, to: usize| {
        let mut route = route(from, to);
        route.dedup();
        route
    };
    let routes = (0..sites.len()).map(|from| (0..sites.len()).map(|to| route(from, to)).collect()).collect();
    (sites, Paths::new(links, routes))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn plans_are_carried_out_to_the_microsecond(
        tasks in 2u32..30,
        (fat, density) in (0.1..0.9f64, 0.1..0.9f64),
        cores in prop::collection::vec(1u32..4, 1..4),
        latency in prop::sample::select(vec![0u64, 0, 700]),
        aware in any::<bool>(),
        // Early, after twelve days, after 285 years, and an hour before the end of time: what is simultaneous does not
        // depend on how late it is.
        arrive in prop::sample::select(vec![1234u64, 1_036_800_001_234, (1 << 53) + 1, LATE]),
        // The shortest run time there is makes many tasks of one core start and end at one instant.
        longest in prop::sample::select(vec![3_000_000u64, 1, 3]),
        by_site in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut stream = SplitMix64::new(seed);
        let shape = Shape { tasks, fat, density, regularity: 0.5, jump: 2 };
        let (sites, paths) = grid(&cores, latency, &mut stream);
        let widest = u64::from(*cores.iter().max().unwrap());
        let job = job(0, arrive, shape, widest, longest, &mut stream);
        let job = if by_site { with_times(&job, &sites, seed) } else { job };
        let (policy, awareness) = match aware {
            true => (Policy::NetworkHeft, Awareness::Network),
            false => (Policy::Heft, Awareness::Capacity),
        };
        let log = run(policy, &sites, &paths, vec![job.clone()]);
        let problem = Problem::from_work(Work::of_job(&job), &numbered(&sites), paths, awareness).unwrap();
        let rules = Planning { policy, iterations: 5, ..Planning::default() };
        let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
        let improved = improve_plan(&problem, rules.improvement(replaying));
        prop_assert_eq!(&times(&log, &[job])[0], &improved.replay.tasks);
        let timetable = Timetable::new(&problem.cores);
        for (task, (site, nodes)) in ran_on(&log) {
            let placed = &improved.schedule.placed[task.index as usize];
            prop_assert_eq!((site.0 - 1, nodes), (placed.site, timetable.nodes(placed)));
        }
    }

    /// Several workflows one after the other, under every policy: each is completed, and no task is too early.
    #[test]
    fn every_workflow_is_completed(
        arrivals in prop::collection::vec(0u64..8_000_000, 1..5),
        cores in prop::collection::vec(1u32..4, 1..4),
        latency in prop::sample::select(vec![0u64, 500]),
        by_site in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut stream = SplitMix64::new(seed);
        let (sites, paths) = grid(&cores, latency, &mut stream);
        let widest = u64::from(*cores.iter().max().unwrap());
        let shape = Shape { tasks: 12, fat: 0.5, density: 0.4, regularity: 0.3, jump: 2 };
        let jobs: Vec<Arc<Job>> =
            (0..).zip(&arrivals).map(|(id, &arrive)| job(id, arrive, shape, widest, 3_000_000, &mut stream)).collect();
        let jobs: Vec<Arc<Job>> = match by_site {
            true => jobs.iter().map(|job| with_times(job, &sites, seed ^ u64::from(job.id.0))).collect(),
            false => jobs,
        };
        for (_, policy, _) in Policy::ALL {
            let (log, planned) = run_watched(*policy, &sites, &paths, jobs.clone());
            if *policy != Policy::BestEffort {
                prop_assert_eq!(ran_on(&log), planned);
            }
            let completed = log.iter().filter(|entry| matches!(entry.record, Record::Completed { .. })).count();
            prop_assert_eq!(completed, jobs.len());
            let times = times(&log, &jobs);
            for (task, (site, _)) in ran_on(&log) {
                let job = &jobs[task.job.0 as usize];
                let at = task.index as usize;
                let lasts = job.runtime_at(at, site, sites[site.index() - 1].speed()).map(|time| time.micros() as f64);
                let (start, end) = times[task.job.0 as usize][at];
                prop_assert_eq!(lasts, Some(end - start));
            }
            for (job, times) in jobs.iter().zip(&times) {
                prop_assert!(times.iter().all(|time| time.0 >= 0.0));
                for edge in &job.edges {
                    prop_assert!(times[edge.from as usize].1 <= times[edge.to as usize].0);
                }
            }
            busy_at_most(&log, &jobs, &cores);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Several workflows, planned around each other under every policy: a run that starts later is the same run, later.
    #[test]
    fn a_late_run_is_an_early_run_shifted(
        arrivals in prop::collection::vec(0u64..8_000_000, 1..5),
        cores in prop::collection::vec(1u32..4, 1..4),
        latency in prop::sample::select(vec![0u64, 500]),
        late in prop_oneof![Just((1 << 53) - 3_000_000), Just(LATE), 1..LATE],
        seed in any::<u64>(),
    ) {
        let mut stream = SplitMix64::new(seed);
        let (sites, paths) = grid(&cores, latency, &mut stream);
        let widest = u64::from(*cores.iter().max().unwrap());
        let shape = Shape { tasks: 12, fat: 0.5, density: 0.4, regularity: 0.3, jump: 2 };
        let jobs: Vec<Arc<Job>> =
            (0..).zip(&arrivals).map(|(id, &arrive)| job(id, arrive, shape, widest, 3_000_000, &mut stream)).collect();
        let by = Span::from_micros(late);
        let later: Vec<Arc<Job>> = jobs.iter().map(|job| shifted_job(job, by)).collect();
        for (_, policy, _) in Policy::ALL {
            let expected: Vec<Entry<Record>> =
                run(*policy, &sites, &paths, jobs.clone()).into_iter().map(|entry| shifted(entry, by)).collect();
            prop_assert_eq!(run(*policy, &sites, &paths, later.clone()), expected);
        }
    }
}

fn shifted_job(job: &Job, by: Span) -> Arc<Job> {
    Arc::new(Job { arrive: job.arrive + by, ..job.clone() })
}

/// An entry of the log of the same run, started later.
fn shifted(mut entry: Entry<Record>, by: Span) -> Entry<Record> {
    entry.stamp.time = entry.stamp.time + by;
    match &mut entry.record {
        Record::Arrived { job, .. } => *job = shifted_job(job, by),
        Record::Sent { active, .. } => *active = *active + by,
        _ => {}
    }
    entry
}

/// A site never runs more tasks than it has cores for.
fn busy_at_most(log: &[Entry<Record>], jobs: &[Arc<Job>], cores: &[u32]) {
    let mut busy = vec![0; cores.len()];
    for entry in log {
        let width = |task: &crate::grid::TaskId| jobs[task.job.0 as usize].tasks[task.index as usize].cores;
        match &entry.record {
            Record::Started { task, .. } => busy[entry.actor.index() - 1] += width(task),
            Record::Finished { task } => busy[entry.actor.index() - 1] -= width(task),
            _ => {}
        }
        assert!(busy.iter().zip(cores).all(|(busy, cores)| busy <= cores));
    }
}

#[test]
fn what_fits_nowhere_is_refused_and_nonsense_is_ignored() {
    let mut stream = SplitMix64::new(5);
    let (sites, paths) = grid(&[2, 1], 0, &mut stream);
    let task = |cores| Task::new(Span::from_secs(1), cores, Kind(0));
    let job = |id, tasks, edges| {
        Arc::new(Job { id: JobId(id), arrive: Time::ZERO, first_task: 0, tasks, edges, worth: None, times: None })
    };
    let backward = vec![Edge::new(1, 0)];
    let jobs =
        vec![job(0, vec![task(3)], vec![]), job(1, vec![task(1), task(1)], backward), job(2, vec![task(2)], vec![])];
    for (_, policy, _) in Policy::ALL {
        let log = run(*policy, &sites, &paths, jobs.clone());
        let refused = log.iter().filter(|entry| matches!(entry.record, Record::Refused { task: 0, .. })).count();
        let completed =
            log.iter().filter(|entry| matches!(entry.record, Record::Completed { job: JobId(2), .. })).count();
        assert_eq!((refused, completed), (1, 1));
    }
}

/// Two tasks that end a microsecond apart after 2,000 s, and send 10 and 1 GB over one cable: the first has it to
/// itself for that microsecond, in the plan as in the run.
#[test]
fn what_ends_a_microsecond_later_is_later_however_late_it_is() {
    let task = |micros| Task::new(Span::from_micros(micros), 1, Kind(0));
    let tasks = vec![task(2_000_000_000), task(2_000_000_001), task(1_000_000)];
    let edge = |from, data| Edge { from, to: 2, data };
    let edges = vec![edge(0, 10_000_000_000), edge(1, 1_000_000_000)];
    let job = Arc::new(Job { id: JobId(0), arrive: Time::ZERO, first_task: 0, tasks, edges, worth: None, times: None });
    let site = Resource { cores: 1, kind: Kind(0), speed_millionths: 1_000_000, latency: Span::ZERO };
    let cable = Link { capacity: 125.0, latency: 0.0, efficiency: Efficiency::None, mode: Mode::Shared };
    let paths = apart(2, cable);
    let log = run(Policy::Heft, &[site; 2], &paths, vec![job.clone()]);
    let problem = Problem::from_work(Work::of_job(&job), &numbered(&[site; 2]), paths, Awareness::Capacity).unwrap();
    let replaying = Replaying { clock: Clock::Micros, ..Replaying::default() };
    let rules = Planning { policy: Policy::Heft, ..Planning::default() };
    let improved = improve_plan(&problem, rules.improvement(replaying));
    assert_eq!(times(&log, &[job])[0], improved.replay.tasks);
    assert_eq!(improved.replay.makespan, 2_009_000_001.0);
}
