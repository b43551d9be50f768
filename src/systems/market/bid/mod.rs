//! What a queued task bids, one policy a file under the name that the paper gives it.

mod edf;
mod fifo;
mod lrtf;
mod p_slr;
mod pv;
mod pvd;
mod pvdsq;
mod pvr;
mod random;
mod srtf;

use super::rules::Market;
use crate::grid::{Job, JobId};
use crate::time::{Span, Time};

/// A bidding policy.
pub trait BidPolicy: Send {
    /// What a queued task bids at an instant; never NaN.
    fn bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64;

    fn winner(&self) -> Winner;

    /// What becomes of a task's bid while it waits, and so how the queue may be kept.
    fn course(&self) -> Course;

    /// Writes the bids of tasks, if they ask for nothing but the task's number in the run; the same that
    /// [`BidPolicy::bid`] gives. Worth saying for bids that are [`Course::Redrawn`].
    fn draw(&self, _numbers: &[u64], _at: &Instant, _bids: &mut Vec<f64>) -> bool {
        false
    }

    /// Whether [`BidPolicy::ask_together`] is to be called before bids are asked for one by one.
    fn is_asked_together(&self) -> bool {
        false
    }

    /// Is told of all whose bids are about to be asked for: for policies to whom a question is dear.
    fn ask_together(&self, _bidders: &[Bidder<'_>], _at: &Instant) {}

    /// Is told that a job is over: none of its tasks is asked for again.
    fn forget(&mut self, _job: JobId) {}

    /// Whether the policy cannot bid any more; then nobody is placed.
    fn has_failed(&self) -> bool {
        false
    }

    /// Whether bids ask for [`Bidder::successor_work`], which not every job has.
    fn weighs_successors(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    Smallest,
    Largest,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// A bid stays as it is: it may be asked for when the task joins the queue, and never again.
    Fixed,
    /// It never rises, so an old bid bounds a new one from above.
    Falling,
    /// It never falls as long as [`Instant::longest_path`] stays, and a longer one never makes it rise.
    Rising,
    /// It has nothing to do with the last one.
    Redrawn,
}

/// A queued task, with what bids may ask about it.
#[derive(Clone, Copy, Debug)]
pub struct Bidder<'a> {
    pub job: &'a Job,
    pub critical_path: Span,
    /// The task's number in its job.
    pub task: usize,
    /// The longest way from its start to the end of the job.
    pub rank: Span,
    /// Core-ticks from it to the end of the job; zero if the policy does not weigh them.
    pub successor_work: f64,
}

/// When bids are compared.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    pub now: Time,
    /// Counts the instants of the run, from 1.
    pub number: u64,
    pub tick: Span,
    /// The longest critical path of all jobs with a queued task.
    pub longest_path: Span,
}

impl Bidder<'_> {
    pub fn age(&self, at: &Instant) -> Span {
        at.now.since(self.job.arrive)
    }

    /// The SLR with which the job ends if this task starts now and nothing holds up what comes after it.
    ///
    /// It is below 1 for a young task off the critical path. Microseconds or ticks, the quotient is the same.
    pub fn projected_slr(&self, at: &Instant) -> f64 {
        (self.rank + self.age(at)).micros() as f64 / self.critical_path.micros() as f64
    }

    /// What the job is worth at its projected SLR. A job that nobody has put a value on is worth nothing.
    pub fn projected_value(&self, at: &Instant) -> f64 {
        self.job.worth.as_ref().map_or(0.0, |worth| worth.max * worth.curve.factor(self.projected_slr(at)))
    }
}

/// A policy that a topology may name.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    /// Takes the market's options and the run's seed.
    pub build: fn(&Market, u64) -> Box<dyn BidPolicy>,
}

/// In the paper's order.
pub const ALL: &[Row] =
    &[random::ROW, fifo::ROW, srtf::ROW, lrtf::ROW, edf::ROW, p_slr::ROW, pv::ROW, pvd::ROW, pvdsq::ROW, pvr::ROW];

pub fn find(name: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.name == name)
}
