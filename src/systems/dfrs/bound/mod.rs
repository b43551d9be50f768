//! The highest stretch that no schedule can avoid, if it knew all jobs beforehand: what algorithms are compared with.
//! Theorem 1 of the paper.
//!
//! With memory ignored and moves free, no job's stretch needs to exceed `S` if each can get its work done before a
//! deadline that `S` gives it. Releases and deadlines cut time into intervals, and work is a flow: from each job, no
//! faster than it can run, into the intervals between its release and its deadline, and from each interval, no more
//! than the cluster can do in it. `S` can be reached if all work flows.
//!
//! A check fills intervals greedily first, jobs by deadline, which as a rule places all but a little; Dinic's algorithm
//! finds ways for the rest. With `J` jobs that overlap `K` intervals in sum, filling is O(J log J + K), and augmenting
//! O(K) a phase, of which there are few.

mod network;

use serde::{Deserialize, Serialize};

use network::Network;

use super::Timed;
use super::measures::{SHORT, seconds};

/// What is known of the lowest highest stretch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// No schedule comes down to this, unless it is 1.
    pub lo: f64,
    /// This can be reached, were it not for memory; within a thousandth of the other.
    pub hi: f64,
}

/// The relative gap that is left.
const PRECISION: f64 = 1e-3;
/// How much of all work may be left over where all of it should flow.
const ROUNDING: f64 = 1e-9;
/// The share of all work below which a flow is none; even of as many as there are, they stay below what may be left
/// over.
const GRAIN: f64 = 1e-15;

/// The bound for these jobs on so many nodes. Who could never be mapped should not be among them.
pub fn bound(nodes: u32, jobs: &[Timed]) -> Bound {
    bound_within(usize::MAX, nodes, jobs).expect("there is no limit")
}

/// The same, if no check takes more than so many pairs of a job and an interval.
pub fn bound_within(pairs: usize, nodes: u32, jobs: &[Timed]) -> Option<Bound> {
    let tasks: Vec<Work> = jobs.iter().map(Work::of).collect();
    let mut check = Check::new(nodes.into(), tasks);
    let mut is_feasible = |stretch| (check.cut(stretch) <= pairs).then(|| check.is_feasible());
    if is_feasible(1.0)? {
        return Some(Bound { lo: 1.0, hi: 1.0 });
    }
    let (mut lo, mut hi) = (1.0, 2.0);
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
struct Work {
    release: f64,
    /// Its run time, at least that which a bounded stretch reckons with.
    length: f64,
    /// Nodes' worth of processors while it runs alone.
    rate: f64,
    amount: f64,
}

impl Work {
    fn of(job: &Timed) -> Work {
        let runtime = seconds(job.runtime);
        let rate = job.need.total_cpu();
        let release = job.submit.micros() as f64 / 1e6;
        Work { release, length: runtime.max(SHORT), rate, amount: runtime * rate }
    }
}

/// Checks stretches for the same jobs, in buffers that are kept.
struct Check {
    nodes: f64,
    jobs: Vec<Work>,
    deadlines: Vec<f64>,
    /// Jobs by deadline.
    order: Vec<usize>,
    /// The moments between which intervals are.
    cuts: Vec<f64>,
    /// Which intervals a job may use: from the first up to the second.
    windows: Vec<(usize, usize)>,
    /// What flows from each job into each interval of its window, job after job; each job's begin.
    flow: Vec<f64>,
    begins: Vec<usize>,
    /// How many pairs of a job and an interval there are.
    pairs: usize,
    /// What each interval can still take.
    room: Vec<f64>,
}

impl Check {
    fn new(nodes: f64, jobs: Vec<Work>) -> Check {
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

    /// Whether all work can be done in the intervals that were cut.
    fn is_feasible(&mut self) -> bool {
        self.flow.clear();
        self.flow.resize(self.pairs, 0.0);
        let all: f64 = self.jobs.iter().map(|job| job.amount).sum();
        let mut left = self.fill();
        let short: f64 = left.iter().sum();
        short <= ROUNDING * all || self.augment(&mut left, all)
    }

    /// Cuts time into intervals, for this stretch. Gives the pairs.
    fn cut(&mut self, stretch: f64) -> usize {
        self.deadlines = self.jobs.iter().map(|job| job.release + stretch * job.length).collect();
        self.cuts = { self.jobs.iter().map(|job| job.release) }.chain(self.deadlines.iter().copied()).collect();
        self.cuts.sort_unstable_by(f64::total_cmp);
        self.cuts.dedup();
        let at = |time: f64| self.cuts.partition_point(|cut| *cut < time);
        self.windows = self.jobs.iter().zip(&self.deadlines).map(|(job, end)| (at(job.release), at(*end))).collect();
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

    /// Each job takes what it can as early as it can, the next to be due first. What is left of each.
    fn fill(&mut self) -> Vec<f64> {
        let mut left = vec![0.0; self.jobs.len()];
        for &job in &self.order {
            let Work { rate, amount, .. } = self.jobs[job];
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

    /// Finds ways for what is left, through intervals that other jobs give up for later or earlier ones. Whether all
    /// but so much flows.
    fn augment(&mut self, left: &mut [f64], all: f64) -> bool {
        let mut network = Network::new(self, all * GRAIN);
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

    /// What a job could still do in an interval.
    fn spare(&self, job: usize, interval: usize) -> f64 {
        let most = self.jobs[job].rate * (self.cuts[interval + 1] - self.cuts[interval]);
        most - self.flow[self.place(job, interval)]
    }

    fn place(&self, job: usize, interval: usize) -> usize {
        self.begins[job] + interval - self.windows[job].0
    }
}
