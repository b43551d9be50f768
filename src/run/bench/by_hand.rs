//! Baseline of the market's figures: its model with first-in-first-out bids, written by hand as one loop over one
//! binary heap. No actors, messages, log or numbered cores; only the times and places of tasks. Jobs are drawn, and
//! their graphs and ranks computed, before it starts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hansa_sim::grid::{Graph, Job};
use hansa_sim::systems::market::{Figures, Market};
use hansa_sim::topology::Topology;

/// Data about the jobs, computed before the loop starts.
pub struct Model {
    jobs: Vec<OneJob>,
    tasks: Vec<OneTask>,
    successors: Vec<u32>,
    clusters: Vec<(u16, u32)>,
}

struct OneJob {
    arrive: u64,
    deadline: u64,
    first: u32,
    end: u32,
}

#[derive(Clone)]
struct OneTask {
    job: u32,
    runtime: u64,
    delay: u64,
    cores: u32,
    kind: u16,
    /// Number of predecessors that have not ended.
    waits: u32,
    /// Range of its successors in the list of successors.
    successors: (u32, u32),
    queued: bool,
    cluster: u16,
    /// Time at which its data is available, per cluster.
    ready: [u64; CLUSTERS],
}

pub const CLUSTERS: usize = 4;

/// Kinds of events, in the order in which those of one time are handled.
const ENDS: u8 = 0;
const IS_READY: u8 = 1;
const ARRIVES: u8 = 2;

impl Model {
    /// Builds the model for the paper's clusters and options, and jobs with values in order of arrival.
    pub fn of_topology(topology: &Topology, all: &[Job]) -> Model {
        let clusters = topology.sites.iter().map(|site| (site.kind.0, site.cores)).collect();
        let mut model = Model { jobs: Vec::new(), tasks: Vec::new(), successors: Vec::new(), clusters };
        let market = topology.settings::<Market>().expect("the bench runs a market");
        let tick = market.tick.micros();
        for (number, job) in all.iter().enumerate() {
            let graph = Graph::new(job.tasks.len(), &job.edges);
            let figures = Figures::of_job(job, &graph, market, None, false).expect("nothing is weighed");
            let final_ = job.worth.as_ref().map_or(f64::INFINITY, |worth| worth.curve.final_());
            let patience = (final_ * (figures.critical_path.micros() / tick) as f64).ceil() as u64;
            let first = model.tasks.len() as u32;
            for (index, task) in job.tasks.iter().enumerate() {
                let from = model.successors.len() as u32;
                model.successors.extend(graph.successors(index).iter().map(|next| first + next));
                model.tasks.push(OneTask {
                    job: number as u32,
                    runtime: task.runtime.micros() / tick,
                    delay: figures.delays[index].micros() / tick,
                    cores: task.cores,
                    kind: task.kind.0,
                    waits: graph.predecessors(index).len() as u32,
                    successors: (from, model.successors.len() as u32),
                    queued: false,
                    cluster: 0,
                    ready: [0; CLUSTERS],
                });
            }
            let arrive = job.arrive.micros() / tick;
            let end = model.tasks.len() as u32;
            model.jobs.push(OneJob { arrive, deadline: arrive.saturating_add(patience), first, end });
        }
        model
    }

    /// Runs the model and returns the number of tasks that ended.
    pub fn run_model(mut self) -> u64 {
        let mut free: Vec<u32> = self.clusters.iter().map(|&(_, cores)| cores).collect();
        let kinds = self.clusters.iter().map(|&(kind, _)| kind + 1).max().unwrap_or(0);
        // The first job in has the lowest number, and so have its tasks.
        let mut queues: Vec<BinaryHeap<Reverse<u32>>> = (0..kinds).map(|_| BinaryHeap::new()).collect();
        let mut ended = 0;
        let mut events = BinaryHeap::new();
        let mut arriving = 0;
        if let Some(job) = self.jobs.first() {
            events.push(Reverse((job.arrive, ARRIVES, 0)));
        }
        while let Some(&Reverse((now, ..))) = events.peek() {
            while let Some(&Reverse((time, event, number))) = events.peek()
                && time == now
            {
                events.pop();
                match event {
                    ENDS => {
                        ended += 1;
                        let task = &self.tasks[number as usize];
                        let cluster = usize::from(task.cluster);
                        let delay = task.delay;
                        free[cluster] += task.cores;
                        let (from, to) = task.successors;
                        for at in from..to {
                            let next = self.successors[at as usize];
                            let task = &mut self.tasks[next as usize];
                            for (other, ready) in task.ready.iter_mut().enumerate() {
                                *ready = (*ready).max(if other == cluster { now } else { now + delay });
                            }
                            task.waits -= 1;
                            if task.waits > 0 {
                                continue;
                            }
                            let mut before = 0;
                            for (ready, _) in
                                task.ready.iter().zip(&self.clusters).filter(|(_, cluster)| cluster.0 == task.kind)
                            {
                                if *ready != before {
                                    events.push(Reverse((*ready, IS_READY, next)));
                                }
                                before = *ready;
                            }
                        }
                    }
                    IS_READY => {
                        let task = &mut self.tasks[number as usize];
                        if !std::mem::replace(&mut task.queued, true) {
                            queues[usize::from(task.kind)].push(Reverse(number));
                        }
                    }
                    _ => {
                        let job = &self.jobs[number as usize];
                        for task in job.first..job.end {
                            if self.tasks[task as usize].waits == 0 {
                                queues[usize::from(self.tasks[task as usize].kind)].push(Reverse(task));
                            }
                        }
                        arriving += 1;
                        if let Some(job) = self.jobs.get(arriving) {
                            events.push(Reverse((job.arrive, ARRIVES, arriving as u32)));
                        }
                    }
                }
            }
            for (kind, queue) in queues.iter_mut().enumerate() {
                while let Some(&Reverse(number)) = queue.peek() {
                    let task = &mut self.tasks[number as usize];
                    if now >= self.jobs[task.job as usize].deadline {
                        queue.pop();
                        continue;
                    }
                    let mut best: Option<usize> = None;
                    for (cluster, &(of, _)) in self.clusters.iter().enumerate() {
                        let fits = free[cluster] >= task.cores && task.ready[cluster] <= now;
                        if usize::from(of) == kind && fits && best.is_none_or(|best| free[cluster] > free[best]) {
                            best = Some(cluster);
                        }
                    }
                    let Some(cluster) = best else { break };
                    queue.pop();
                    free[cluster] -= task.cores;
                    task.cluster = cluster as u16;
                    events.push(Reverse((now + task.runtime, ENDS, number)));
                }
            }
        }
        ended
    }
}
