//! The highest stretch that no schedule can avoid, if it knew all jobs beforehand: what algorithms are compared with.
//! Theorem 1 of the paper.
//!
//! With memory ignored and moves free, no job's stretch needs to exceed `S` if each can get its work done before a
//! deadline that `S` gives it. Releases and deadlines cut time into intervals, and work is a flow: from each job, no
//! faster than it can run, into the intervals between its release and its deadline, and from each interval, no more
//! than the cluster can do in it. `S` can be reached if all work flows.
//!
//! A check fills intervals greedily first, jobs by deadline, which as a rule places all but a little; Dinic's algorithm
//! finds ways for the rest. Where a job finds no room because jobs that are due before it take all the cluster can do
//! since the first of them was released, no way exists, and none is looked for. With `J` jobs that overlap `K`
//! intervals in sum and get work done in `P` of these, filling is O(J log J + P), and augmenting O(K) a phase, of which
//! there are few; it alone needs memory for `K`.

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
    let tasks: Vec<Work> = jobs.iter().map(Work::of).collect();
    let mut check = Check::new(nodes.into(), tasks);
    if check.is_feasible(1.0) {
        return Bound { lo: 1.0, hi: 1.0 };
    }
    let (mut lo, mut hi) = (1.0, 2.0);
    while !check.is_feasible(hi) {
        (lo, hi) = (hi, hi * 2.0);
    }
    while hi - lo > PRECISION * lo {
        let mid = (lo + hi) / 2.0;
        if check.is_feasible(mid) {
            hi = mid;
        } else {
            lo = mid;
        }
    }
    Bound { lo, hi }
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
    /// What filling has put where: job, interval, amount.
    placed: Vec<(usize, usize, f64)>,
    /// What flows from each job into each interval of its window, job after job; each job's begin. For augmenting.
    flow: Vec<f64>,
    begins: Vec<usize>,
    /// What each interval can still take.
    room: Vec<f64>,
    /// Of each interval without room the next one that may have some; of others themselves.
    onward: Vec<usize>,
    /// Where the earliest window begins of the jobs that each interval works on.
    earliest: Vec<usize>,
}

/// How often filling looks whether a job that came short proves that not all work can flow.
const LOOKS: usize = 64;

impl Check {
    fn new(nodes: f64, jobs: Vec<Work>) -> Check {
        Check {
            nodes,
            deadlines: Vec::new(),
            order: (0..jobs.len()).collect(),
            cuts: Vec::new(),
            windows: Vec::new(),
            placed: Vec::new(),
            flow: Vec::new(),
            begins: Vec::new(),
            room: Vec::new(),
            onward: Vec::new(),
            earliest: Vec::new(),
            jobs,
        }
    }

    fn is_feasible(&mut self, stretch: f64) -> bool {
        self.cut(stretch);
        let all: f64 = self.jobs.iter().map(|job| job.amount).sum();
        let Some(mut left) = self.fill(all) else { return false };
        let short: f64 = left.iter().sum();
        short <= ROUNDING * all || self.augment(&mut left, all)
    }

    fn cut(&mut self, stretch: f64) {
        self.deadlines = self.jobs.iter().map(|job| job.release + stretch * job.length).collect();
        self.cuts = { self.jobs.iter().map(|job| job.release) }.chain(self.deadlines.iter().copied()).collect();
        self.cuts.sort_unstable_by(f64::total_cmp);
        self.cuts.dedup();
        let at = |time: f64| self.cuts.partition_point(|cut| *cut < time);
        self.windows = self.jobs.iter().zip(&self.deadlines).map(|(job, end)| (at(job.release), at(*end))).collect();
        let deadlines = &self.deadlines;
        self.order.sort_by(|a, b| deadlines[*a].total_cmp(&deadlines[*b]).then(a.cmp(b)));
        self.room = self.cuts.windows(2).map(|pair| self.nodes * (pair[1] - pair[0])).collect();
        self.onward = (0..=self.room.len()).collect();
        self.earliest = (0..self.room.len()).collect();
        self.placed.clear();
    }

    /// Each job takes what it can as early as it can, the next to be due first. What is left of each; nothing, if a job
    /// proves that too much is.
    fn fill(&mut self, all: f64) -> Option<Vec<f64>> {
        let mut left = vec![0.0; self.jobs.len()];
        let mut looks = 0;
        for place in 0..self.order.len() {
            let job = self.order[place];
            let Work { rate, amount, .. } = self.jobs[job];
            let mut rest = amount;
            let (from, until) = self.windows[job];
            let mut interval = self.with_room(from);
            while interval < until && rest > 0.0 {
                let most = rate * (self.cuts[interval + 1] - self.cuts[interval]);
                let taken = rest.min(most).min(self.room[interval]);
                self.placed.push((job, interval, taken));
                self.earliest[interval] = self.earliest[interval].min(from);
                self.room[interval] -= taken;
                rest -= taken;
                if self.room[interval] <= 0.0 {
                    self.onward[interval] = interval + 1;
                }
                interval = self.with_room(interval + 1);
            }
            left[job] = rest.max(0.0);
            if left[job] > ROUNDING * all && looks < LOOKS {
                looks += 1;
                if self.is_full_before(job) {
                    return None;
                }
            }
        }
        Some(left)
    }

    /// The first interval from this one on that may have room.
    fn with_room(&mut self, from: usize) -> usize {
        let mut at = from;
        while self.onward[at] != at {
            self.onward[at] = self.onward[self.onward[at]];
            at = self.onward[at];
        }
        at
    }

    /// Whether the cluster does all that it can until a job is due, from the release of the first on which it works
    /// then. All of them are due no later, as filling has come to no others, so what is left of the job is too much.
    fn is_full_before(&self, job: usize) -> bool {
        let (mut from, until) = self.windows[job];
        let mut interval = until;
        while interval > from {
            interval -= 1;
            if self.room[interval] > 0.0 {
                return false;
            }
            from = from.min(self.earliest[interval]);
        }
        true
    }

    /// Lays out what filling has placed for whoever looks for ways.
    fn lay_out(&mut self) {
        self.begins.clear();
        let mut sum = 0;
        for (from, until) in &self.windows {
            self.begins.push(sum);
            sum += until - from;
        }
        self.flow.clear();
        self.flow.resize(sum, 0.0);
        for at in 0..self.placed.len() {
            let (job, interval, amount) = self.placed[at];
            let place = self.place(job, interval);
            self.flow[place] = amount;
        }
    }

    /// Finds ways for what is left, through intervals that other jobs give up for later or earlier ones. Whether all
    /// but so much flows.
    fn augment(&mut self, left: &mut [f64], all: f64) -> bool {
        self.lay_out();
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
