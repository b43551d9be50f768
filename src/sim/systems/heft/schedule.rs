//! HEFT with insertion.

use smallvec::SmallVec;

use super::Problem;
use crate::grid::NodeSet;
use crate::time::Time;

/// The site, the cores and the time of each task. A start is the time of the order to start, an end the time at which
/// it is known; where orders and messages take no time, these are the times of the task. All times count from the
/// moment of planning.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The tasks, the most urgent first.
    pub list: Vec<u32>,
    /// The place of each task, by its number.
    pub placed: Vec<HeftPlacement>,
    /// The tasks of each core in the order of their start; the cores of all sites, site by site.
    pub sequences: Vec<Vec<u32>>,
    pub makespan: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeftPlacement {
    pub site: u32,
    /// Numbers among the cores of all sites, ascending.
    pub cores: SmallVec<[u32; 2]>,
    pub start: f64,
    pub end: f64,
}

/// The known times of transfers, by edge.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferTimes {
    /// A time for any two sites; `None` if the problem's time for the pair holds.
    pub known: Vec<Option<f64>>,
}

impl TransferTimes {
    /// The costs of the problem.
    pub fn of_problem(problem: &Problem) -> TransferTimes {
        let known = match &problem.costs {
            Some(costs) => costs.iter().copied().map(Some).collect(),
            None => vec![None; problem.edges.len()],
        };
        TransferTimes { known }
    }

    /// Mean cost of an edge, before its sites are known.
    fn average(&self, problem: &Problem, edge: usize) -> f64 {
        self.known[edge].unwrap_or_else(|| problem.latency_mean + problem.edges[edge].volume * problem.per_unit_mean)
    }
}

/// The free times of the cores of all sites, counted from its origin.
///
/// The origin is the moment of the latest plan ([`Timetable::advance`]). A floating-point number that counted from the
/// start of the run would lose microseconds after 285 years; here only plans that long are rounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Timetable {
    origin: Time,
    cores: Vec<CoreGaps>,
    /// Number of the first core of each site, then the number of all cores.
    first: Vec<u32>,
}

/// The gaps of a core, in order; the last one has no end.
#[derive(Clone, Debug, PartialEq)]
struct CoreGaps {
    gaps: Vec<(f64, f64)>,
}

/// Plans on empty sites.
pub fn plan_schedule(problem: &Problem, costs: &TransferTimes) -> Schedule {
    plan_into(problem, costs, &mut Timetable::new(&problem.cores))
}

/// Plans around the entries of the timetable, and enters the plan there.
pub fn plan_into(problem: &Problem, costs: &TransferTimes, timetable: &mut Timetable) -> Schedule {
    let list = task_list(problem, costs);
    let tolerance = problem.tolerance();
    let mut placed = vec![HeftPlacement::default(); problem.tasks()];
    let mut ready = vec![0.0; problem.sites()];
    let mut cores = SmallVec::new();
    let mut best_cores = SmallVec::new();
    for &task in &list {
        let task = task as usize;
        input_arrivals(problem, costs, &placed, task, &mut ready);
        let mut best = None;
        let mut end = f64::INFINITY;
        for (site, &ready) in ready.iter().enumerate() {
            let time = problem.run(task, site);
            if ready + time >= end - tolerance {
                continue;
            }
            let start = timetable.earliest(site, ready, time, problem.needs[task], tolerance, &mut cores);
            if start + time < end - tolerance {
                (best, end) = (Some((site, start)), start + time);
                std::mem::swap(&mut cores, &mut best_cores);
            }
        }
        let (site, start) = best.expect("a task fits at least one site");
        for &core in &best_cores {
            timetable.cores[core as usize].take(start, end);
        }
        placed[task] = HeftPlacement { site: site as u32, cores: best_cores.clone(), start, end };
    }
    let sequences = core_sequences(timetable.cores.len(), &list, &placed);
    let makespan = placed.iter().map(|placed| placed.end - problem.delay[placed.site as usize]).fold(0.0, f64::max);
    Schedule { list, placed, sequences, makespan }
}

/// The rank of each task: the longest path from its start to the end of all, by mean times.
pub fn task_ranks(problem: &Problem, costs: &TransferTimes) -> Vec<f64> {
    let mut ranks = vec![0.0; problem.tasks()];
    for task in (0..problem.tasks()).rev() {
        let times = problem.run[task * problem.sites()..(task + 1) * problem.sites()].iter();
        let (count, sum) = times.filter(|time| time.is_finite()).fold((0.0, 0.0), |(c, s), time| (c + 1.0, s + time));
        let edges = problem.edges_out_of(task);
        let after = edges.map(|edge| costs.average(problem, edge) + ranks[problem.edges[edge].to as usize]);
        ranks[task] = sum / count + after.fold(0.0, f64::max);
    }
    ranks
}

/// The tasks by descending rank; of equal ones, the lowest task. Ranks are compared as multiples of the grain, since
/// otherwise the last bits of sums would decide.
fn task_list(problem: &Problem, costs: &TransferTimes) -> Vec<u32> {
    let ranks: Vec<f64> = task_ranks(problem, costs).into_iter().map(|rank| (rank / problem.grain).round()).collect();
    let mut list: Vec<u32> = (0..problem.tasks() as u32).collect();
    list.sort_by(|&a, &b| ranks[b as usize].total_cmp(&ranks[a as usize]).then(a.cmp(&b)));
    list
}

/// The time at which all inputs of a task could be at each site.
fn input_arrivals(problem: &Problem, costs: &TransferTimes, placed: &[HeftPlacement], task: usize, ready: &mut [f64]) {
    ready.fill(0.0);
    let sites = ready.len();
    for &edge in problem.edges_into(task) {
        let dependency = problem.edges[edge as usize];
        let HeftPlacement { site: from, end, .. } = placed[dependency.from as usize];
        let from = from as usize;
        let local = ready[from].max(end);
        match costs.known[edge as usize] {
            Some(cost) => ready.iter_mut().for_each(|ready| *ready = ready.max(end + cost)),
            None => {
                let latency = &problem.latency[from * sites..(from + 1) * sites];
                let per_unit = &problem.per_unit[from * sites..(from + 1) * sites];
                for ((ready, latency), per_unit) in ready.iter_mut().zip(latency).zip(per_unit) {
                    *ready = ready.max(end + (latency + dependency.volume * per_unit));
                }
            }
        }
        ready[from] = local;
    }
}

fn core_sequences(cores: usize, list: &[u32], placed: &[HeftPlacement]) -> Vec<Vec<u32>> {
    let mut sequences = vec![Vec::new(); cores];
    for &task in list {
        for &core in &placed[task as usize].cores {
            sequences[core as usize].push(task);
        }
    }
    for sequence in &mut sequences {
        sequence.sort_by(|&a, &b| placed[a as usize].start.total_cmp(&placed[b as usize].start));
    }
    sequences
}

impl Timetable {
    /// A timetable whose cores are free from time zero on.
    pub fn new(cores: &[u32]) -> Timetable {
        let mut first = vec![0];
        for cores in cores {
            first.push(first.last().expect("there is a first") + cores);
        }
        let all = *first.last().expect("there is a first") as usize;
        Timetable { origin: Time::ZERO, cores: vec![CoreGaps { gaps: vec![(0.0, f64::INFINITY)] }; all], first }
    }

    /// Enters a plan that was made around the present entries.
    pub fn enter(&mut self, schedule: &Schedule) {
        for placed in &schedule.placed {
            for &core in &placed.cores {
                self.cores[core as usize].take(placed.start, placed.end);
            }
        }
    }

    /// Moves the origin to `now`, the moment of the next plan, and forgets the gaps before it: O(gaps).
    ///
    /// That changes no plan: the tolerance is far less than any run time, so a task that starts then or later never
    /// fits into a gap that ended before. The difference of a number below 2^53 and a smaller whole number is exact.
    pub fn advance(&mut self, now: Time) {
        let passed = now.since(self.origin).micros() as f64;
        self.origin = now;
        for core in &mut self.cores {
            let past = core.gaps.partition_point(|gap| gap.1 < passed);
            core.gaps.drain(..past);
            for (start, end) in &mut core.gaps {
                *start = (*start - passed).max(0.0);
                *end -= passed;
            }
        }
    }

    /// Frees the time of a task that was planned at `planned_at`.
    pub fn give_back(&mut self, placed: &HeftPlacement, planned_at: Time) {
        let passed = self.origin.since(planned_at).micros() as f64;
        let start = placed.start - passed;
        let end = placed.end - passed;
        placed.cores.iter().for_each(|core| self.cores[*core as usize].give_back(start, end));
    }

    /// The cores of a placed task as numbers of its site; empty if it has none.
    pub fn nodes(&self, placed: &HeftPlacement) -> NodeSet {
        let mut nodes = NodeSet::default();
        for core in &placed.cores {
            let number = core - self.first[placed.site as usize];
            nodes.push(number, number);
        }
        nodes
    }

    /// Removes a plan that was made around the entries of `before`.
    pub(super) fn reset(&mut self, schedule: &Schedule, before: &Timetable) {
        for core in schedule.placed.iter().flat_map(|placed| &placed.cores) {
            self.cores[*core as usize].gaps.clone_from(&before.cores[*core as usize].gaps);
        }
    }

    /// The earliest start of a task at a site, and the lowest cores that are free for it then.
    fn earliest(
        &self,
        site: usize,
        mut ready: f64,
        time: f64,
        needs: u32,
        tolerance: f64,
        cores: &mut SmallVec<[u32; 2]>,
    ) -> f64 {
        cores.clear();
        let range = self.first[site]..self.first[site + 1];
        if needs == 1 {
            let mut least = f64::INFINITY;
            for core in range {
                let start = self.cores[core as usize].earliest(ready, time, tolerance);
                if start < least {
                    least = start;
                    cores.clear();
                    cores.push(core);
                }
                if start <= ready {
                    break;
                }
            }
            return least;
        }
        // No start is possible before enough cores reach one, so the search continues from there until it holds.
        let mut starts: Vec<f64> = Vec::with_capacity(range.len());
        loop {
            starts.clear();
            starts.extend(range.clone().map(|core| self.cores[core as usize].earliest(ready, time, tolerance)));
            let free = starts.iter().filter(|start| **start <= ready).count();
            if free >= needs as usize {
                let free = range.zip(&starts).filter(|(_, start)| **start <= ready).map(|(core, _)| core);
                cores.extend(free.take(needs as usize));
                return ready;
            }
            let (_, next, _) = starts.select_nth_unstable_by(needs as usize - 1, f64::total_cmp);
            ready = *next;
        }
    }
}

impl CoreGaps {
    fn earliest(&self, ready: f64, time: f64, tolerance: f64) -> f64 {
        let (last, _) = *self.gaps.last().expect("the last gap has no end");
        if last <= ready {
            return ready;
        }
        let first = self.gaps.partition_point(|(_, end)| end + tolerance < ready + time);
        let fitting = self.gaps[first..].iter().find_map(|&(start, end)| {
            let start = start.max(ready);
            (start + time <= end + tolerance).then_some(start)
        });
        fitting.expect("the last gap has no end")
    }

    fn take(&mut self, start: f64, end: f64) {
        let at = self.gaps.partition_point(|gap| gap.1 <= start);
        let (from, to) = self.gaps[at];
        let before = start > from;
        let after = to > end;
        match (before, after) {
            (true, true) => {
                self.gaps[at].1 = start;
                self.gaps.insert(at + 1, (end, to));
            }
            (true, false) => self.gaps[at].1 = start,
            (false, true) => self.gaps[at].0 = end,
            (false, false) => drop(self.gaps.remove(at)),
        }
    }

    /// Frees an interval. Adjacent gaps are joined.
    fn give_back(&mut self, start: f64, end: f64) {
        let from = self.gaps.partition_point(|gap| gap.1 < start);
        let to = self.gaps.partition_point(|gap| gap.0 <= end);
        let met = self.gaps.drain(from..to);
        let whole = met.fold((start, end), |(start, end), gap| (gap.0.min(start), gap.1.max(end)));
        self.gaps.insert(from, whole);
    }
}
