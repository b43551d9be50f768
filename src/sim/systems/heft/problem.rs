//! The input of planning, checked once.

use super::{Awareness, Paths};
use crate::grid::{Edge, Job, Kind, SiteTimes, Speed, Task, runtime_at};
use crate::kernel::ActorId;
use crate::time::Span;
use crate::workload::workflow::CostTable;

/// A site as planning sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    pub cores: u32,
    pub kind: Kind,
    /// In millionths. The run time of a task is divided by it.
    pub speed_millionths: u64,
    /// Latency of orders to the site, and of its messages.
    pub latency: Span,
}

impl Resource {
    pub fn fits(&self, task: &Task) -> bool {
        self.kind == task.kind && self.cores >= task.cores
    }

    /// Speed at which it works.
    pub fn speed(&self) -> Speed {
        Speed(self.speed_millionths)
    }
}

/// The tasks of a job, for planning.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    pub tasks: &'a [Task],
    pub edges: &'a [Edge],
    /// Run times by site, if there are any.
    pub times: Option<&'a SiteTimes>,
}

impl<'a> Work<'a> {
    /// Tasks, edges and run times of a job.
    pub fn of_job(job: &'a Job) -> Work<'a> {
        Work { tasks: &job.tasks, edges: &job.edges, times: job.times.as_ref() }
    }

    /// Run time of a task at a site; None if it does not fit there.
    pub fn time(&self, task: usize, (id, site): &(ActorId, Resource)) -> Option<Span> {
        let needs = &self.tasks[task];
        site.fits(needs).then(|| runtime_at(self.times, task, needs.runtime, *id, site.speed())).flatten()
    }
}

/// Tasks, their run times at each site, and the network between the sites. Sound by construction.
///
/// All times of plans and replays are counted from the moment of planning, so they do not depend on how late it is.
#[derive(Clone, Debug)]
pub struct Problem {
    pub(super) cores: Vec<u32>,
    /// Run times, indexed by task, then site; infinite where the task does not fit.
    pub(super) run: Vec<f64>,
    /// Latency of orders and messages, by site.
    pub(super) delay: Vec<f64>,
    /// Number of cores, by task.
    pub(super) needs: Vec<u32>,
    /// The edges, ascending by (from, to).
    pub(super) edges: Vec<Dependency>,
    /// The edges out of task `t` are `edges[out_of[t]..out_of[t + 1]]`.
    pub(super) out_of: Vec<u32>,
    /// The edges into task `t` are those numbered `into[into_starts[t]..into_starts[t + 1]]`.
    pub(super) into: Vec<u32>,
    pub(super) into_starts: Vec<u32>,
    pub(super) paths: Paths,
    /// Cost of each edge independent of sites, where it is given.
    pub(super) costs: Option<Vec<f64>>,
    /// Planned latency, and time per unit of data, by pair of sites.
    pub(super) latency: Vec<f64>,
    pub(super) per_unit: Vec<f64>,
    pub(super) latency_mean: f64,
    pub(super) per_unit_mean: f64,
    /// A millionth of a second in the problem's unit of time: smaller differences of ranks do not count.
    pub(super) grain: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dependency {
    pub from: u32,
    pub to: u32,
    pub volume: f64,
}

/// Bound on cores, as each has a calendar of its own.
pub const CORES_MAX: u64 = 1 << 18;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    #[error("there are no tasks")]
    Empty,
    #[error("there are no sites")]
    NoSites,
    #[error("task {task} has {found} run times for {sites} sites")]
    WrongCount { task: usize, found: usize, sites: usize },
    #[error("task {task} cannot take {time} at site {site}: expected a time above zero")]
    BadRuntime { task: usize, site: usize, time: f64 },
    #[error("task {task} needs {needs} cores of one kind, but no site where it may run has that many")]
    TooWide { task: usize, needs: u32 },
    #[error("a plan is made for at most {CORES_MAX} cores, but there are {0}")]
    TooManyCores(u64),
    #[error("edge {from}-{to} does not lead from a task to a later one: tasks would wait for each other in a cycle")]
    Cyclic { from: u32, to: u32 },
    #[error("edge {from}-{to} is given twice")]
    SameEdge { from: u32, to: u32 },
    #[error("edge {from}-{to} cannot carry {volume}: expected a finite amount that is not negative")]
    BadVolume { from: u32, to: u32, volume: f64 },
    #[error("link {0}: expected a capacity above zero and a finite latency that is not negative")]
    BadLink(usize),
    #[error("a route over link {0} crosses it twice, or there is no such link")]
    BadRoute(u32),
    #[error("there are routes between {routes} sites, but {sites} sites")]
    MissingRoute { routes: usize, sites: usize },
}

impl Problem {
    /// A problem whose edges cost the same between any two sites, at their full capacity; a unit of cost is a unit of
    /// data. Each site has one core.
    pub fn from_table(table: &CostTable, paths: Paths) -> Result<Problem, ProblemError> {
        let sites = table.run.first().ok_or(ProblemError::Empty)?.len();
        let mut run = Vec::with_capacity(table.run.len() * sites);
        for (task, times) in table.run.iter().enumerate() {
            if times.len() != sites {
                return Err(ProblemError::WrongCount { task, found: times.len(), sites });
            }
            run.extend_from_slice(times);
        }
        let needs = vec![1; table.run.len()];
        let mut problem = Problem::new(vec![1; sites], run, needs, &table.edges, paths, Awareness::Capacity, 1e-6)?;
        problem.costs = Some(problem.edges.iter().map(|edge| edge.volume).collect());
        Ok(problem)
    }

    /// A job on sites, in whole microseconds and bytes: capacities are bytes per microsecond. A core is occupied from
    /// the order to start a task until its end is known.
    pub fn from_work(
        work: Work<'_>,
        sites: &[(ActorId, Resource)],
        paths: Paths,
        awareness: Awareness,
    ) -> Result<Problem, ProblemError> {
        let tasks = work.tasks;
        let mut run = Vec::with_capacity(tasks.len() * sites.len());
        for task in 0..tasks.len() {
            run.extend(sites.iter().map(|site| match work.time(task, site) {
                Some(time) => (time + site.1.latency + site.1.latency).micros() as f64,
                None => f64::INFINITY,
            }));
        }
        let needs = tasks.iter().map(|task| task.cores).collect();
        let edges: Vec<_> = work.edges.iter().map(|Edge { from, to, data }| (*from, *to, *data as f64)).collect();
        let cores = sites.iter().map(|(_, site)| site.cores).collect();
        let mut problem = Problem::new(cores, run, needs, &edges, paths, awareness, 1.0)?;
        problem.delay = sites.iter().map(|(_, site)| site.latency.micros() as f64).collect();
        Ok(problem)
    }

    fn new(
        cores: Vec<u32>,
        run: Vec<f64>,
        needs: Vec<u32>,
        edges: &[(u32, u32, f64)],
        paths: Paths,
        awareness: Awareness,
        grain: f64,
    ) -> Result<Problem, ProblemError> {
        let tasks = needs.len();
        let sites = cores.len();
        check_sizes(tasks, sites, &run, &needs)?;
        let all = cores.iter().map(|&cores| u64::from(cores)).sum::<u64>();
        if all > CORES_MAX {
            return Err(ProblemError::TooManyCores(all));
        }
        check_paths(&paths, sites)?;
        let edges = sort_edges(edges, tasks)?;
        let (out_of, into_starts, into) = index_edges(tasks, &edges);
        let pairs = || (0..sites * sites).map(|pair| (pair / sites, pair % sites));
        let latency = pairs().map(|(from, to)| if from == to { 0.0 } else { paths.latency(from, to) }).collect();
        let bandwidths: Vec<f64> = pairs()
            .map(|(from, to)| {
                if from == to {
                    f64::INFINITY
                } else {
                    paths.bandwidth(from, to, |link| match awareness {
                        Awareness::Capacity => link.capacity,
                        Awareness::Network => link.effective(1),
                    })
                }
            })
            .collect();
        // The means are over capacities; pairs between which data takes no time have none.
        let bandwidth_mean = mean_of(&mut bandwidths.iter().copied().filter(|bandwidth| bandwidth.is_finite()));
        let latency_mean =
            mean_of(&mut pairs().filter(|(from, to)| from != to).map(|(from, to)| paths.latency(from, to)));
        Ok(Problem {
            per_unit_mean: if bandwidth_mean > 0.0 { 1.0 / bandwidth_mean } else { 0.0 },
            per_unit: bandwidths.iter().map(|bandwidth| 1.0 / bandwidth).collect(),
            latency,
            latency_mean,
            delay: vec![0.0; sites],
            cores,
            run,
            needs,
            edges,
            out_of,
            into,
            into_starts,
            paths,
            costs: None,
            grain,
        })
    }

    pub fn tasks(&self) -> usize {
        self.needs.len()
    }

    pub fn sites(&self) -> usize {
        self.cores.len()
    }

    /// The cores of each site.
    pub fn cores(&self) -> &[u32] {
        &self.cores
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Source, target and volume of each edge, ascending by (from, to).
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (u32, u32, f64)> + '_ {
        self.edges.iter().map(|edge| (edge.from, edge.to, edge.volume))
    }

    pub(super) fn run(&self, task: usize, site: usize) -> f64 {
        self.run[task * self.sites() + site]
    }

    pub(super) fn edges_out_of(&self, task: usize) -> std::ops::Range<usize> {
        self.out_of[task] as usize..self.out_of[task + 1] as usize
    }

    pub(super) fn edges_into(&self, task: usize) -> &[u32] {
        &self.into[self.into_starts[task] as usize..self.into_starts[task + 1] as usize]
    }

    /// Largest difference of times that count as equal.
    pub(super) fn tolerance(&self) -> f64 {
        self.grain * 1e-3
    }
}

fn mean_of(numbers: &mut dyn Iterator<Item = f64>) -> f64 {
    let (count, sum) = numbers.fold((0.0, 0.0), |(count, sum), number| (count + 1.0, sum + number));
    if count > 0.0 { sum / count } else { 0.0 }
}

fn check_sizes(tasks: usize, sites: usize, run: &[f64], needs: &[u32]) -> Result<(), ProblemError> {
    if tasks == 0 {
        return Err(ProblemError::Empty);
    }
    if sites == 0 {
        return Err(ProblemError::NoSites);
    }
    for (task, times) in run.chunks(sites).enumerate() {
        if let Some((site, &time)) = times.iter().enumerate().find(|(_, time)| time.is_nan() || **time <= 0.0) {
            return Err(ProblemError::BadRuntime { task, site, time });
        }
        if times.iter().all(|time| time.is_infinite()) {
            return Err(ProblemError::TooWide { task, needs: needs[task] });
        }
    }
    Ok(())
}

fn check_paths(paths: &Paths, sites: usize) -> Result<(), ProblemError> {
    if let Some(link) = paths.links.iter().position(|link| !link.is_sound()) {
        return Err(ProblemError::BadLink(link));
    }
    if paths.sites() != sites {
        return Err(ProblemError::MissingRoute { routes: paths.sites(), sites });
    }
    for pair in 0..sites * sites {
        let route = paths.route(pair / sites, pair % sites);
        for (place, link) in route.iter().enumerate() {
            if link.index() >= paths.links.len() || route[..place].contains(link) {
                return Err(ProblemError::BadRoute(link.0));
            }
        }
    }
    Ok(())
}

fn sort_edges(edges: &[(u32, u32, f64)], tasks: usize) -> Result<Vec<Dependency>, ProblemError> {
    let mut sorted = Vec::with_capacity(edges.len());
    for &(from, to, volume) in edges {
        if from >= to || to as usize >= tasks {
            return Err(ProblemError::Cyclic { from, to });
        }
        if !(volume >= 0.0 && volume.is_finite()) {
            return Err(ProblemError::BadVolume { from, to, volume });
        }
        sorted.push(Dependency { from, to, volume });
    }
    sorted.sort_by_key(|edge| (edge.from, edge.to));
    match sorted.windows(2).find(|pair| (pair[0].from, pair[0].to) == (pair[1].from, pair[1].to)) {
        Some(pair) => Err(ProblemError::SameEdge { from: pair[0].from, to: pair[0].to }),
        None => Ok(sorted),
    }
}

/// Offsets of the edges out of each task, offsets of those into each, and the numbers of the latter.
fn index_edges(tasks: usize, edges: &[Dependency]) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut out_of = vec![0u32; tasks + 1];
    let mut into_starts = vec![0u32; tasks + 1];
    for edge in edges {
        out_of[edge.from as usize + 1] += 1;
        into_starts[edge.to as usize + 1] += 1;
    }
    for task in 0..tasks {
        out_of[task + 1] += out_of[task];
        into_starts[task + 1] += into_starts[task];
    }
    let mut next = into_starts.clone();
    let mut into = vec![0u32; edges.len()];
    for (number, edge) in edges.iter().enumerate() {
        let place = &mut next[edge.to as usize];
        into[*place as usize] = number as u32;
        *place += 1;
    }
    (out_of, into_starts, into)
}
