//! Admission control: a job is accepted only if it can still be worth something without taking that from others.
//!
//! A job is *due* when it would be worth no more than a given share of its value. A kind of core has a certain capacity
//! until then, of which admission assigns a given share: to the unfinished work of admitted jobs that are due no later,
//! and to the new job. This is a fluid bound: it ignores how tasks fit together.
//!
//! An arrival costs O(admitted jobs that are due before it), which admission itself keeps bounded.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use super::auctioned::AuctionedJob;
use super::rules::{Admission, Market};
use crate::grid::{Job, JobId};
use crate::time::{Span, Time};

const MILLION: u128 = 1_000_000;

/// Core microseconds, by the due times of their jobs.
type Promised = BTreeMap<(Time, JobId), u128>;

pub(super) struct AdmissionGate {
    rule: Admission,
    /// The share of a job's value, and the share of the cores' time.
    theta: f64,
    eta_millionths: u64,
    /// Cores of each kind, and the core microseconds that admitted jobs still need, by due time.
    kinds: Vec<(u64, Promised)>,
}

impl AdmissionGate {
    pub fn new(market: &Market, cores: Vec<u64>) -> AdmissionGate {
        AdmissionGate {
            rule: market.admission,
            theta: market.admission_theta_millionths as f64 / MILLION as f64,
            eta_millionths: market.admission_eta_millionths,
            kinds: cores.into_iter().map(|cores| (cores, BTreeMap::new())).collect(),
        }
    }

    /// The due time of a job; never, if it has no value.
    pub fn due_time(&self, job: &Job, critical_path: Span) -> Time {
        let Some(worth) = &job.worth else { return Time::NEVER };
        let age = worth.curve.last_at(self.theta) * critical_path.micros() as f64;
        if age >= (1u64 << 53) as f64 { Time::NEVER } else { job.arrive + Span::from_micros(age as u64) }
    }

    pub fn admits(&self, job: &Job, due: Time, now: Time) -> bool {
        if self.rule == Admission::Off || due == Time::NEVER {
            return true;
        }
        self.kinds.iter().enumerate().all(|(kind, (cores, promised))| {
            let own = job_work(job, kind);
            own == 0 || self.fits(own, *cores, promised, due, now)
        })
    }

    fn fits(&self, own: u128, cores: u64, promised: &Promised, due: Time, now: Time) -> bool {
        let room = |until: Time| {
            u128::from(cores) * u128::from(until.since(now).micros()) * u128::from(self.eta_millionths) / MILLION
        };
        let until_due = Included((due, JobId(u32::MAX)));
        if self.rule == Admission::On {
            let from_now = Excluded((now, JobId(u32::MAX)));
            if due <= now {
                return false;
            }
            return own + promised.range((from_now, until_due)).map(|(_, work)| work).sum::<u128>() <= room(due);
        }
        // Work past its due time takes cores all the same, and no job that is due later may be pushed beyond the bound.
        let mut demand = own + promised.range((Unbounded, until_due)).map(|(_, work)| work).sum::<u128>();
        let later = promised.range((Excluded((due, JobId(u32::MAX))), Unbounded));
        demand <= room(due)
            && later.into_iter().all(|(&(until, _), work)| {
                demand += work;
                demand <= room(until)
            })
    }

    /// Records the work of an accepted job.
    pub fn promise(&mut self, live: &AuctionedJob) {
        if self.keeps_books(live) {
            for (kind, (_, promised)) in self.kinds.iter_mut().enumerate() {
                match job_work(&live.job, kind) {
                    0 => {}
                    work => _ = promised.insert((live.due, live.job.id), work),
                }
            }
        }
    }

    /// Records the end of a task.
    pub fn record_end(&mut self, live: &AuctionedJob, task: usize) {
        if self.keeps_books(live) {
            let needs = &live.job.tasks[task];
            let (_, promised) = &mut self.kinds[usize::from(needs.kind.0)];
            if let Some(left) = promised.get_mut(&(live.due, live.job.id)) {
                *left -= u128::from(needs.cores) * u128::from(needs.runtime.micros());
                if *left == 0 {
                    promised.remove(&(live.due, live.job.id));
                }
            }
        }
    }

    /// Removes a job that was given up.
    pub fn forget(&mut self, live: &AuctionedJob) {
        for (_, promised) in &mut self.kinds {
            promised.remove(&(live.due, live.job.id));
        }
    }

    fn keeps_books(&self, live: &AuctionedJob) -> bool {
        self.rule != Admission::Off && live.due != Time::NEVER
    }
}

/// Core microseconds of a job on a kind of core.
fn job_work(job: &Job, kind: usize) -> u128 {
    let tasks = job.tasks.iter();
    let of_kind = tasks.filter(|needs| usize::from(needs.kind.0) == kind);
    of_kind.map(|needs| u128::from(needs.cores) * u128::from(needs.runtime.micros())).sum()
}
