//! Data of negotiations for pages: quotes, bookings and holds, where a tally keeps them.

use hansa_sim::grid::{Area, HoldId, JobId, Part, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::HoldFate;
use hansa_sim::time::Time;

/// Data of negotiations for a page.
#[derive(Clone, Copy, Debug)]
pub enum NegotiationData {
    /// Fee of the earliest start, per processor time.
    Quote {
        site: u32,
        time: Time,
        soonest: f64,
    },
    /// A claim came too late for its slot or quote.
    Stale {
        site: u32,
        time: Time,
    },
    Booking(BookingSpan),
    Hold(HoldSpan),
    Idled(Idled),
}

/// A booking, from its begin until it was over.
#[derive(Clone, Copy, Debug)]
pub struct BookingSpan {
    pub site: u32,
    pub user: ActorId,
    pub job: JobId,
    pub from: Time,
    pub until: Time,
    pub procs: u32,
    /// Used share of it, and used area; unknown for an open booking.
    pub used: Option<f64>,
    pub worked: Option<Area>,
    /// True if it was a hold before.
    pub was_held: bool,
    /// True if it was revoked because nodes failed.
    pub is_revoked: bool,
}

/// A hold: its part, its times, and its fate.
#[derive(Clone, Copy, Debug)]
pub struct HoldSpan {
    pub site: u32,
    pub user: ActorId,
    pub hold: HoldId,
    pub part: Part,
    pub since: Time,
    pub over: Time,
    pub fate: HoldFate,
}

/// A task that was taken back while it waited on its processors for its work.
#[derive(Clone, Copy, Debug)]
pub struct Idled {
    pub site: u32,
    pub user: ActorId,
    pub task: TaskId,
    pub from: Time,
    pub until: Time,
    pub procs: u32,
}
