//! The ways in which users obtain time for their jobs; each file holds one strategy.
//!
//! A strategy serves one job. It asks sites, books, and assigns places to tasks. The order of tasks and the transfers
//! are the same for all strategies (`customer.rs`).

mod best_effort;
mod coallocate;
mod greedy;
mod moga;
mod reserve;
mod var;
mod var_and_reserve;

use super::application::Broken;
use super::job_context::JobContext;
use crate::grid::{Approach, Area, BookingId, Denial, HoldId, Receipt};
use crate::protocol::{Bargain, PledgeAnswer, Reason, Reply};

pub use best_effort::JustInTime;

/// A strategy that a topology may name.
pub struct StrategyRow {
    pub name: &'static str,
    pub about: &'static str,
    /// True if it weighs cost against time.
    pub has_alpha: bool,
    /// True if its jobs may have a wanted start.
    pub has_ahead: bool,
    /// True if its jobs always have a wanted start; jobs that start earlier hold their processors idle until then.
    pub pads: bool,
    /// True if its jobs may have a deadline.
    pub has_deadline: bool,
    /// True if its jobs may have a budget.
    pub has_budget: bool,
    /// True if it runs the tasks of a job at several sites at once.
    pub has_legs: bool,
    /// True if each of its jobs is a request, which is booked or not.
    pub bargains: bool,
    /// True if it takes jobs of one task only.
    pub is_rigid: bool,
    pub build: fn(&Approach) -> Box<dyn Strategy>,
}

/// The common part of most rows.
const BARGAINING: StrategyRow = StrategyRow {
    name: "",
    about: "",
    has_alpha: false,
    has_ahead: false,
    pads: false,
    has_deadline: false,
    has_budget: false,
    has_legs: false,
    bargains: true,
    is_rigid: false,
    build: |_| Box::new(JustInTime::default()),
};

/// Number of attempts if slots or quotes turn out to be stale.
const TRIES: u32 = 3;

pub const ALL: &[StrategyRow] =
    &[best_effort::ROW, moga::ROW, greedy::ROW, reserve::ROW, var::ROW, var_and_reserve::ROW, coallocate::ROW];

pub const USUAL: &str = best_effort::ROW.name;

pub fn find_strategy(name: &str) -> Option<&'static StrategyRow> {
    ALL.iter().find(|row| row.name == name)
}

/// The reason of a failure, if limits leave no start of those that sites named.
fn failure_reason(limit: Broken) -> Reason {
    match limit {
        Broken::Deadline => Reason::PastDeadline,
        Broken::Budget => Reason::OverBudget,
        Broken::Both => Reason::OverBudgetInTime,
    }
}

/// The state that makes the result of a negotiation reported once.
#[derive(Default)]
struct Bargained(bool);

impl Bargained {
    fn log_end(&mut self, end: Bargain, why: Option<Reason>, context: &mut JobContext<'_>) {
        if !std::mem::replace(&mut self.0, true) {
            context.bargained(end, why);
        }
    }
}

/// The negotiation for one job.
pub trait Strategy: Send {
    /// Handles the arrival of the job.
    fn begin_job(&mut self, context: &mut JobContext<'_>);

    /// A task has no open predecessors and no place yet.
    fn task_ready(&mut self, task: u32, context: &mut JobContext<'_>);

    /// Handles the reply of a provider to the query with this number.
    fn receive_reply(&mut self, _number: u64, _provider: usize, _reply: Reply, _deal: &mut JobContext<'_>) {}

    /// Handles the answer of a provider to a claim.
    fn receive_claim_result(
        &mut self,
        _number: u64,
        _provider: usize,
        _result: Result<Vec<Receipt>, Denial>,
        _deal: &mut JobContext<'_>,
    ) {
    }

    /// A provider states the cost of a returned booking.
    fn receive_return_result(
        &mut self,
        _booking: BookingId,
        _provider: usize,
        _result: Result<Area, Denial>,
        _deal: &mut JobContext<'_>,
    ) {
    }

    /// A provider has revoked a booking because nodes failed: tasks that were to run in it join its queue.
    fn booking_revoked(&mut self, _booking: BookingId, _deal: &mut JobContext<'_>) {}

    /// A provider has postponed a booking because nodes failed.
    fn booking_postponed(&mut self, _receipt: Receipt, _deal: &mut JobContext<'_>) {}

    /// Handles the answer of a provider about a hold.
    fn receive_pledge_answer(&mut self, _hold: HoldId, _answer: PledgeAnswer, _deal: &mut JobContext<'_>) {}

    /// The process goes down: only logged state is left.
    fn crash_process(&mut self) {}

    /// Handles the return of the user's process after a crash.
    fn recover_process(&mut self, _deal: &mut JobContext<'_>) {}

    /// Handles the start of a task that was to announce it.
    fn task_begun(&mut self, _task: u32, _deal: &mut JobContext<'_>) {}

    /// A task to be taken back has been, or it was too late.
    fn task_recalled(&mut self, _task: u32, _in_time: bool, _deal: &mut JobContext<'_>) {}

    /// The job is over, or is given up as a task of it is lost. Returns the booking that it has kept beside those of
    /// its tasks, if any.
    fn spare_booking(&mut self) -> Option<(usize, BookingId)> {
        None
    }

    /// The job is given up: the strategy reports how its negotiation ends, unless that is reported.
    fn abandon_job(&mut self, _deal: &mut JobContext<'_>) {}

    /// Handles a time for which the strategy has set a timer.
    fn timer_due(&mut self, _token: u64, _deal: &mut JobContext<'_>) {}
}
