//! Runs a policy on a list of jobs and one site, without a grid: for benchmarks and most tests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{NodeRequest, Policy, Step};
use crate::grid::{JobId, NodeSet, TaskId};
use crate::time::{Span, Time};
use crate::workload::raise::Bulk;

/// A rigid job of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rigid {
    pub submit: Time,
    pub nodes: u32,
    pub walltime: Span,
    pub runtime: Span,
}

impl Bulk for Rigid {
    fn submit_time(&self) -> Time {
        self.submit
    }

    fn cpu_work(&self) -> u128 {
        u128::from(self.nodes) * u128::from(self.runtime.min(self.walltime).micros())
    }

    fn delayed_by(&self, by: Span) -> Rigid {
        Rigid { submit: self.submit + by, ..*self }
    }
}

/// The run of a job: its times and nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub start: Time,
    pub end: Time,
    /// Nodes at the start.
    pub nodes: NodeSet,
    /// Time and new nodes of each move.
    pub moves: Vec<(Time, NodeSet)>,
}

/// Runs all jobs, in order of submission; None for jobs that do not fit the site.
pub fn play_jobs(policy: &mut dyn Policy, nodes: u32, jobs: &[Rigid]) -> Vec<Option<Ran>> {
    play_among(policy, nodes, jobs, &[], |_, _, _| ())
}

/// Like [`play_jobs`], with calls of `happens` at some times, ascending: after ends, before submissions.
pub(super) fn play_among(
    policy: &mut dyn Policy,
    nodes: u32,
    jobs: &[Rigid],
    times: &[Time],
    mut happens: impl FnMut(Time, &mut dyn Policy, &[Option<Ran>]),
) -> Vec<Option<Ran>> {
    let mut ran: Vec<Option<Ran>> = vec![None; jobs.len()];
    let mut ends: BinaryHeap<Reverse<(Time, u32, Time)>> = BinaryHeap::new();
    let mut wake = None;
    let mut next = 0;
    let mut times = times.iter().copied().peekable();
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let coming = jobs.get(next).map(|job| job.submit);
        let ending = ends.peek().map(|Reverse((end, ..))| *end);
        let Some(now) = coming.into_iter().chain(ending).chain(wake).chain(times.peek().copied()).min() else {
            return ran;
        };
        while let Some(&Reverse((end, job, until))) = ends.peek()
            && end == now
        {
            ends.pop();
            policy.end_job(now, only_task(job), until);
        }
        if times.next_if_eq(&now).is_some() {
            happens(now, policy, &ran);
        }
        while let Some(job) = jobs.get(next).filter(|job| job.submit == now) {
            if (1..=nodes).contains(&job.nodes) {
                policy.submit_job(
                    now,
                    NodeRequest { job: only_task(next as u32), nodes: job.nodes, walltime: job.walltime },
                );
            }
            next += 1;
        }
        policy.run_pass(now, &mut steps);
        for step in steps.drain(..) {
            match step {
                Step::Start { job, nodes } => {
                    let Rigid { walltime, runtime, .. } = jobs[job.job.0 as usize];
                    let end = now + runtime.min(walltime);
                    ends.push(Reverse((end, job.job.0, now + walltime)));
                    ran[job.job.0 as usize] = Some(Ran { start: now, end, nodes, moves: Vec::new() });
                }
                Step::Move { job, nodes } => {
                    let ran = ran[job.job.0 as usize].as_mut().expect("a job that moves has started");
                    ran.moves.push((now, nodes));
                }
            }
        }
        wake = policy.next_wake().filter(|wake| *wake > now);
    }
}

/// State of a queue at a moment, from which [`first_start`] goes on. Running jobs have the rest of their times.
#[derive(Clone, Copy, Debug)]
pub struct QueueState<'a> {
    pub now: Time,
    pub running: &'a [RunningRigid],
    /// Waiting jobs in order of arrival.
    pub waiting: &'a [Rigid],
}

/// A running job with its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRigid {
    pub job: Rigid,
    /// Empty if they are unknown: the policy chooses others.
    pub nodes: NodeSet,
}

/// Start of a job that arrives at the moment of the state, after all that wait. `later` are the jobs that arrive after
/// it, in order of submission; only those before the start are drawn. None if it never starts.
///
/// Jobs that wait get their ranks and places anew, in order of arrival, as if all had arrived at that moment.
pub fn first_start(
    policy: &mut dyn Policy,
    state: &QueueState<'_>,
    job: Rigid,
    later: impl Iterator<Item = Rigid>,
) -> Option<Time> {
    let own = state.running.len() + state.waiting.len();
    let mut queue = OngoingTrial { policy, jobs: Vec::new(), ends: BinaryHeap::new(), own, start: None };
    let mut later = later.peekable();
    let mut now = state.now;
    queue.take_over(now, state.running);
    state.waiting.iter().chain([&job]).for_each(|job| queue.submit(now, *job));
    loop {
        queue.run_policy(now);
        if queue.start.is_some() {
            return queue.start;
        }
        let coming = later.peek().map(|job| job.submit.max(now));
        let ending = queue.ends.peek().map(|Reverse((end, ..))| *end);
        let wake = queue.policy.next_wake().filter(|wake| *wake > now);
        now = coming.into_iter().chain(ending).chain(wake).min()?;
        queue.end_jobs(now);
        while let Some(job) = later.next_if(|job| job.submit <= now) {
            queue.submit(now, job);
        }
    }
}

/// A trial that ends with the start of one job.
struct OngoingTrial<'a> {
    policy: &'a mut dyn Policy,
    /// All jobs so far, by number.
    jobs: Vec<Rigid>,
    /// End, number and latest end of each running job.
    ends: BinaryHeap<Reverse<(Time, u32, Time)>>,
    /// Number of the job whose start is wanted.
    own: usize,
    start: Option<Time>,
}

impl OngoingTrial<'_> {
    fn submit(&mut self, now: Time, job: Rigid) {
        let request = self.add(job);
        self.policy.submit_job(now, request);
    }

    fn add(&mut self, job: Rigid) -> NodeRequest {
        let number = only_task(self.jobs.len() as u32);
        self.jobs.push(job);
        NodeRequest { job: number, nodes: job.nodes, walltime: job.walltime }
    }

    /// Leaves running jobs on their nodes. Those whose nodes are unknown, or taken by another one, or only counted, get
    /// nodes first.
    fn take_over(&mut self, now: Time, running: &[RunningRigid]) {
        let mut taken = NodeSet::default();
        let mut homeless: Vec<NodeRequest> = Vec::new();
        for RunningRigid { job, nodes } in running {
            let request = self.add(*job);
            let are_known = nodes.len() == job.nodes && !nodes.meets(&taken);
            if are_known && self.policy.adopt(now, request, nodes) {
                taken.unite(nodes);
                self.add_end(now, request.job);
            } else {
                homeless.push(request);
            }
        }
        homeless.into_iter().for_each(|request| self.policy.submit_job(now, request));
        self.run_policy(now);
    }

    fn add_end(&mut self, now: Time, job: TaskId) {
        let Rigid { walltime, runtime, .. } = self.jobs[job.job.0 as usize];
        self.ends.push(Reverse((now + runtime.min(walltime), job.job.0, now + walltime)));
    }

    fn end_jobs(&mut self, now: Time) {
        while let Some(&Reverse((end, job, until))) = self.ends.peek()
            && end <= now
        {
            self.ends.pop();
            self.policy.end_job(now, only_task(job), until);
        }
    }

    fn run_policy(&mut self, now: Time) {
        let mut steps = Vec::new();
        self.policy.run_pass(now, &mut steps);
        for step in steps {
            let Step::Start { job, .. } = step else { continue };
            self.add_end(now, job);
            if job.job.0 as usize == self.own {
                self.start = Some(now);
            }
        }
    }
}

/// The only task of the job with this number.
pub(super) fn only_task(job: u32) -> TaskId {
    TaskId { job: JobId(job), index: 0 }
}

impl Ran {
    /// Start, end and nodes of each stint.
    pub fn stints(&self) -> impl Iterator<Item = (Time, Time, &NodeSet)> {
        let froms = [(self.start, &self.nodes)].into_iter().chain(self.moves.iter().map(|(at, nodes)| (*at, nodes)));
        let tos = self.moves.iter().map(|(at, _)| *at).chain([self.end]);
        froms.zip(tos).map(|((from, nodes), to)| (from, to, nodes)).filter(|(from, to, _)| from < to)
    }
}
