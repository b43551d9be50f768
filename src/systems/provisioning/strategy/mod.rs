//! How users get time for their jobs, one strategy a file.
//!
//! A strategy has one job to see to. It asks sites, books, and says where tasks go; the rest, who runs when and what
//! data moves, is the same for all (`customer.rs`).

mod best_effort;
mod coallocate;
mod greedy;
mod moga;
mod reserve;
mod var;
mod var_and_reserve;

use super::deal::Deal;
use crate::grid::{Approach, Area, BookingId, Denial, HoldId, Receipt};
use crate::protocol::{Bargain, PledgeAnswer, Reason, Reply};

pub use best_effort::JustInTime;

/// A strategy that a topology may name.
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    /// Whether it weighs cost against time.
    pub has_alpha: bool,
    /// Whether it wants a job to run at a time.
    pub has_ahead: bool,
    /// Whether it runs the tasks of a job at several sites at once.
    pub has_legs: bool,
    /// Whether each of its jobs is a request, to be booked or not.
    pub bargains: bool,
    /// Whether it takes jobs of one task only.
    pub is_rigid: bool,
    pub build: fn(&Approach) -> Box<dyn Strategy>,
}

/// What most have in common, but for their names.
const BARGAINING: Row = Row {
    name: "",
    about: "",
    has_alpha: false,
    has_ahead: false,
    has_legs: false,
    bargains: true,
    is_rigid: false,
    build: |_| Box::new(JustInTime::default()),
};

/// How often something is tried anew that was stale.
const TRIES: u32 = 3;

pub const ALL: &[Row] =
    &[best_effort::ROW, moga::ROW, greedy::ROW, reserve::ROW, var::ROW, var_and_reserve::ROW, coallocate::ROW];

pub const USUAL: &str = best_effort::ROW.name;

pub fn find(name: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.name == name)
}

/// What came of bargaining is told once, whatever becomes of what is booked.
#[derive(Default)]
struct Bargained(bool);

impl Bargained {
    fn tell(&mut self, end: Bargain, why: Option<Reason>, deal: &mut Deal<'_>) {
        if !std::mem::replace(&mut self.0, true) {
            deal.bargained(end, why);
        }
    }
}

/// Sees to one job.
pub trait Strategy: Send {
    /// The job has come.
    fn begin(&mut self, deal: &mut Deal<'_>);

    /// Nothing is before a task any more, and nobody has said where it goes.
    fn ready(&mut self, task: u32, deal: &mut Deal<'_>);

    /// A provider answers what it was asked under this number.
    fn informed(&mut self, _number: u64, _provider: usize, _reply: Reply, _deal: &mut Deal<'_>) {}

    /// A provider answers a claim.
    fn claimed(&mut self, _number: u64, _provider: usize, _result: Result<Vec<Receipt>, Denial>, _deal: &mut Deal<'_>) {
    }

    /// A provider says what giving a booking back costs.
    fn returned(&mut self, _booking: BookingId, _provider: usize, _result: Result<Area, Denial>, _deal: &mut Deal<'_>) {
    }

    /// A provider has taken a booking back, as its nodes have failed: tasks that were to run in it join its queue.
    fn revoked(&mut self, _booking: BookingId, _deal: &mut Deal<'_>) {}

    /// A provider lets a booking begin later, as its nodes have failed.
    fn postponed(&mut self, _receipt: Receipt, _deal: &mut Deal<'_>) {}

    /// A provider answers about a hold.
    fn pledged(&mut self, _hold: HoldId, _answer: PledgeAnswer, _deal: &mut Deal<'_>) {}

    /// Its process goes down: only what it has written down is left.
    fn crash(&mut self) {}

    /// Its process is back.
    fn recover(&mut self, _deal: &mut Deal<'_>) {}

    /// A task has started that was to tell so.
    fn begun(&mut self, _task: u32, _deal: &mut Deal<'_>) {}

    /// A task that was to be taken back has been, or it was too late.
    fn recalled(&mut self, _task: u32, _in_time: bool, _deal: &mut Deal<'_>) {}

    /// The job is over, or given up as a task of it is lost: the booking that it has kept beside those that its tasks
    /// go to, if any.
    fn spare(&mut self) -> Option<(usize, BookingId)> {
        None
    }

    /// The job is given up: it says how its bargaining ends, if that is not over.
    fn abandon(&mut self, _deal: &mut Deal<'_>) {}

    /// A time has come that it waited for.
    fn wake(&mut self, _token: u64, _deal: &mut Deal<'_>) {}
}
