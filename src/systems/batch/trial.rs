//! A policy on a list of jobs and one site, with nothing around it: what figures of speed are about, and most tests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::policy::{Ask, Policy, Start};
use crate::grid::{JobId, NodeSet};
use crate::time::{Span, Time};

/// A rigid job, as a trial has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rigid {
    pub submit: Time,
    pub nodes: u32,
    pub walltime: Span,
    pub runtime: Span,
}

/// When and where a job ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    pub start: Time,
    pub end: Time,
    pub nodes: NodeSet,
}

/// Plays all jobs to their ends, in order of submission; `None` for those that do not fit the site.
pub fn play(policy: &mut dyn Policy, nodes: u32, jobs: &[Rigid]) -> Vec<Option<Ran>> {
    let mut ran = vec![None; jobs.len()];
    let mut ends: BinaryHeap<Reverse<(Time, u32, Time)>> = BinaryHeap::new();
    let mut wake = None;
    let mut next = 0;
    let mut starts: Vec<Start> = Vec::new();
    loop {
        let coming = jobs.get(next).map(|job| job.submit);
        let ending = ends.peek().map(|Reverse((end, ..))| *end);
        let Some(now) = coming.into_iter().chain(ending).chain(wake).min() else { return ran };
        while let Some(&Reverse((end, job, until))) = ends.peek()
            && end == now
        {
            ends.pop();
            policy.end(now, JobId(job), until);
        }
        while let Some(job) = jobs.get(next).filter(|job| job.submit == now) {
            if (1..=nodes).contains(&job.nodes) {
                policy.submit(now, Ask { job: JobId(next as u32), nodes: job.nodes, walltime: job.walltime });
            }
            next += 1;
        }
        policy.pass(now, &mut starts);
        for Start { job, nodes } in starts.drain(..) {
            let Rigid { walltime, runtime, .. } = jobs[job.0 as usize];
            let end = now + runtime.min(walltime);
            ends.push(Reverse((end, job.0, now + walltime)));
            ran[job.0 as usize] = Some(Ran { start: now, end, nodes });
        }
        wake = policy.wake().filter(|wake| *wake > now);
    }
}
