//! Bid policies, under their names in the paper.

mod formulas;
mod random;

use super::rules::Market;
use crate::grid::{Job, JobId, Named};
pub use crate::systems::BidUnit;
use crate::systems::EXTERNAL;
use crate::time::{Span, Time};

/// A bidding policy.
pub trait BidPolicy: Send {
    /// The bid of a queued task at an instant; never NaN.
    fn compute_bid(&self, bidder: &Bidder<'_>, at: &Instant) -> f64;

    fn winner_rule(&self) -> Winner;

    /// The change of a task's bid while it waits, which determines the structure of the queue.
    fn bid_trend(&self) -> Trend;

    /// Writes the bids of tasks, if they depend only on the task's number in the run. They equal those of
    /// [`BidPolicy::compute_bid`]. Useful for bids that are [`Trend::Redrawn`].
    fn draw_bids(&self, _numbers: &[u64], _at: &Instant, _bids: &mut Vec<f64>) -> bool {
        false
    }

    /// True if [`BidPolicy::announce_bidders`] is to be called before single bids are asked for.
    fn needs_announcement(&self) -> bool {
        false
    }

    /// Announces all tasks whose bids are about to be asked for, for policies with expensive questions.
    fn announce_bidders(&self, _bidders: &[Bidder<'_>], _at: &Instant) {}

    /// Announces that a job is over: none of its tasks is asked for again.
    fn forget_job(&mut self, _job: JobId) {}

    /// True if the policy cannot bid any more; then no task is placed.
    fn has_failed(&self) -> bool {
        false
    }

    /// True if bids use [`Bidder::successor_work`], which not every job has.
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
pub enum Trend {
    /// A bid is constant: it may be asked for when the task joins the queue, and never again.
    Fixed,
    /// It never rises, so an old bid is an upper bound of a new one.
    Falling,
    /// It never falls while [`Instant::longest_path`] is constant, and a longer one never makes it rise.
    Rising,
    /// A bid is independent of earlier ones.
    Redrawn,
}

/// A queued task, with the data that bids may use.
#[derive(Clone, Copy, Debug)]
pub struct Bidder<'a> {
    pub job: &'a Job,
    pub critical_path: Span,
    /// The task's number in its job.
    pub task: usize,
    /// The longest path from its start to the end of the job.
    pub rank: Span,
    /// Core-ticks from it to the end of the job; zero if the policy does not weigh them.
    pub successor_work: f64,
}

/// The time of a comparison of bids.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    pub now: Time,
    /// Number of the instant in the run, from 1.
    pub number: u64,
    pub tick: Span,
    /// The longest critical path of all jobs with a queued task.
    pub longest_path: Span,
}

impl Bidder<'_> {
    pub fn age(&self, at: &Instant) -> Span {
        at.now.since(self.job.arrive)
    }

    /// SLR of the job if this task starts now and nothing delays its successors.
    ///
    /// It is below 1 for a young task off the critical path. The quotient is the same in microseconds and in ticks.
    pub fn projected_slr(&self, at: &Instant) -> f64 {
        (self.rank + self.age(at)).micros() as f64 / self.critical_path.micros() as f64
    }

    /// The worth of the job at its projected SLR. A job without a value is worth nothing.
    pub fn projected_value(&self, at: &Instant) -> f64 {
        self.job.worth.as_ref().map_or(0.0, |worth| worth.max * worth.curve.factor(self.projected_slr(at)))
    }
}

/// A policy that a topology may name.
pub struct BidPolicyRow {
    pub name: &'static str,
    pub about: &'static str,
    pub unit: BidUnit,
    /// Builds the policy from the market's options and the run's seed.
    pub build: fn(&Market, u64) -> Box<dyn BidPolicy>,
}

/// All policies: those of the paper in its order, then any others.
pub const ALL: &[BidPolicyRow] = &[
    random::ROW,
    formulas::FIFO,
    formulas::SRTF,
    formulas::LRTF,
    formulas::EDF,
    formulas::P_SLR,
    formulas::PV,
    formulas::PVD,
    formulas::PVDSQ,
    formulas::PVR,
    // One row a line.
];

pub fn find_bid_policy(name: &str) -> Option<&'static BidPolicyRow> {
    ALL.iter().find(|row| row.name == name)
}

/// The bid policies that a topology may name.
pub fn policy_names() -> Vec<Named> {
    let outside = Named { name: EXTERNAL, about: "the bids of an external program, which [market.bidder] describes" };
    ALL.iter().map(|row| Named { name: row.name, about: row.about }).chain([outside]).collect()
}
