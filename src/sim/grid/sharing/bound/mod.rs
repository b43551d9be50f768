//! Lower bound of the maximum stretch over all schedules, even clairvoyant ones: the reference of all algorithms.
//! Theorem 1 of the paper.
//!
//! Without memory limits and with free moves, no job's stretch needs to exceed `S` if each job can complete its work
//! before the deadline that `S` implies. Releases and deadlines divide time into intervals, and work is a flow: from
//! each job, at most at its full rate, into the intervals between its release and its deadline, and from each interval,
//! at most as much as the cluster can do in it. `S` is feasible if all work flows.
//!
//! A check first fills intervals greedily, jobs by deadline, which usually places almost all work; Dinic's algorithm
//! finds paths for the rest. With `J` jobs that overlap `K` intervals in total, filling is O(J log J + K), and
//! augmenting O(K) per phase, of which there are few.

mod network;

use serde::{Deserialize, Serialize};

use network::FlowNetwork;

use super::Timed;
use super::measures::{SHORT, to_seconds};

/// Interval of the lowest possible maximum stretch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Exclusive lower bound (inclusive if it is 1).
    pub lo: f64,
    /// Feasible without memory limits; within a thousandth of `lo`.
    pub hi: f64,
}

/// Relative gap between the bounds.
const PRECISION: f64 = 1e-3;
/// Fraction of all work that may be left over if all of it should flow.
const ROUNDING: f64 = 1e-9;
/// Fraction of all work below which a flow counts as none; the sum of all such flows stays below what may be left over.
const GRAIN: f64 = 1e-15;

/// Bound for these jobs on this many nodes. Jobs that can never be mapped must be left out.
pub fn compute_bound(nodes: u32, jobs: &[Timed]) -> Bound {
    bound_within(usize::MAX, nodes, jobs).expect("there is no limit")
}

/// Like [`compute_bound`]; None if a check takes more than `pairs` pairs of a job and an interval.
pub fn bound_within(pairs: usize, nodes: u32, jobs: &[Timed]) -> Option<Bound> {
    let tasks: Vec<WorkAmount> = jobs.iter().map(WorkAmount::of_job).collect();
    let mut check = Check::new(nodes.into(), tasks);
    let mut is_feasible = |stretch| (check.cut(stretch) <= pairs).then(|| check.is_feasible());
    if is_feasible(1.0)? {
        return Some(Bound { lo: 1.0, hi: 1.0 });
    }
    let mut lo = 1.0;
    let mut hi = 2.0;
    while !is_feasible(hi)? {
        (lo, hi) = (hi, hi * 2.0);
    }
    while hi - lo > PRECISION * lo {
        let mid = (lo + hi) / 2.0;
        if is_feasible(mid)? {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    Some(Bound { lo, hi })
}

/// A job as an amount of work.
#[derive(Clone, Copy, Debug)]
struct WorkAmount {
    release: f64,
    /// Run time, at least the threshold of the bounded stretch.
    length: f64,
    /// Processors that it uses alone, in nodes.
    rate: f64,
    amount: f64,
}

impl WorkAmount {
    fn of_job(job: &Timed) -> WorkAmount {
        let runtime = to_seconds(job.runtime);
        let rate = job.need.total_cpu();
        let release = job.submit.micros() as f64 / 1e6;
        WorkAmount { release, length: runtime.max(SHORT), rate, amount: runtime * rate }
    }
}

/// Feasibility check of stretches for the same jobs, with buffers that are kept.
struct Check {
    nodes: f64,
    jobs: Vec<WorkAmount>,
    deadlines: Vec<f64>,
    /// Jobs by deadline.
    order: Vec<usize>,
    /// Boundaries of the intervals.
    cuts: Vec<f64>,
    /// Range of intervals that a job may use, end exclusive.
    windows: Vec<(usize, usize)>,
    /// Flow from each job into each interval of its window, job after job; `begins` is the offset of each job.
    flow: Vec<f64>,
    begins: Vec<usize>,
    /// Number of pairs of a job and an interval.
    pairs: usize,
    /// Capacity left in each interval.
    room: Vec<f64>,
}

impl Check {
    fn new(nodes: f64, jobs: Vec<WorkAmount>) -> Check {
        Check {
            nodes,
            deadlines: Vec::new(),
            order: (0..jobs.len()).collect(),
            cuts: Vec::new(),
            windows: Vec::new(),
            flow: Vec::new(),
            begins: Vec::new(),
            pairs: 0,
            room: Vec::new(),
            jobs,
        }
    }

    /// True if all work can be done in the current intervals.
    fn is_feasible(&mut self) -> bool {
        self.flow.clear();
        self.flow.resize(self.pairs, 0.0);
        let all: f64 = self.jobs.iter().map(|job| job.amount).sum();
        let mut left = self.fill();
        let short: f64 = left.iter().sum();
        short <= ROUNDING * all || self.augment(&mut left, all)
    }

    /// Divides time into intervals for this stretch. Returns the number of pairs.
    fn cut(&mut self, stretch: f64) -> usize {
        self.deadlines = self.jobs.iter().map(|job| job.release + stretch * job.length).collect();
        self.cuts = { self.jobs.iter().map(|job| job.release) }.chain(self.deadlines.iter().copied()).collect();
        self.cuts.sort_unstable_by(f64::total_cmp);
        self.cuts.dedup();
        self.windows = self
            .jobs
            .iter()
            .zip(&self.deadlines)
            .map(|(job, end)| (self.cut_index(job.release), self.cut_index(*end)))
            .collect();
        let deadlines = &self.deadlines;
        self.order.sort_by(|a, b| deadlines[*a].total_cmp(&deadlines[*b]).then(a.cmp(b)));
        self.begins.clear();
        self.pairs = 0;
        for (from, until) in &self.windows {
            self.begins.push(self.pairs);
            self.pairs += until - from;
        }
        self.room = self.cuts.windows(2).map(|pair| self.nodes * (pair[1] - pair[0])).collect();
        self.pairs
    }

    fn cut_index(&self, time: f64) -> usize {
        self.cuts.partition_point(|cut| *cut < time)
    }

    /// Each job takes as much as possible as early as possible, earliest deadline first. Returns the rest of each job.
    fn fill(&mut self) -> Vec<f64> {
        let mut left = vec![0.0; self.jobs.len()];
        for &job in &self.order {
            let WorkAmount { rate, amount, .. } = self.jobs[job];
            let mut rest = amount;
            let (from, until) = self.windows[job];
            for interval in from..until {
                if rest <= 0.0 {
                    break;
                }
                let most = rate * (self.cuts[interval + 1] - self.cuts[interval]);
                let taken = rest.min(most).min(self.room[interval]);
                self.flow[self.begins[job] + interval - from] = taken;
                self.room[interval] -= taken;
                rest -= taken;
            }
            left[job] = rest.max(0.0);
        }
        left
    }

    /// Finds paths for the rest, through intervals that other jobs leave for later or earlier ones. True if all work
    /// flows, except for rounding.
    fn augment(&mut self, left: &mut [f64], all: f64) -> bool {
        let mut network = FlowNetwork::new(self, all * GRAIN);
        loop {
            let short: f64 = left.iter().sum();
            if short <= ROUNDING * all {
                return true;
            }
            if !network.phase(self, left) {
                return false;
            }
        }
    }

    /// Work that a job could still do in an interval.
    fn spare(&self, job: usize, interval: usize) -> f64 {
        let most = self.jobs[job].rate * (self.cuts[interval + 1] - self.cuts[interval]);
        most - self.flow[self.flow_index(job, interval)]
    }

    fn flow_index(&self, job: usize, interval: usize) -> usize {
        self.begins[job] + interval - self.windows[job].0
    }
}
