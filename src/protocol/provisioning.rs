//! Users and sites that bargain for time: users ask what there is, what it costs and how likely it is, claim some of
//! it, and put tasks into queues or into what they have claimed. The router carries all of it and adds nothing but
//! latency.
//!
//! Whatever is told may be out of date when it comes: an advertisement has the version of the plan that it was taken
//! from, a quote its number, and a claim says which of them it leans on.
//!
//! Everything may be reacted to at once: a site answers when it is asked, and whoever learns of a price claims it.

use serde::{Deserialize, Serialize};

use crate::grid::{Advert, Area, BookingId, Denial, HoldId, JobId, Part, Quote, QuoteId, Receipt, TaskId};
use crate::time::{Span, Time};

/// A user asks a site something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquire {
    /// The user's own number for it.
    pub number: u64,
    pub query: Query,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Query {
    /// How many tasks run and wait there.
    Load,
    /// Which slots are free.
    Slots,
    /// What this very time costs.
    Price(Part),
    /// What so many processors cost for so long, at every start that makes a difference.
    Prices { procs: u32, span: Span },
    /// The same not before a time, and at that time itself.
    PricesFrom(Part),
    /// How likely a job starts in time that does `work`, and is submitted so many steps from now: it asks for all of
    /// the time until its work begins, and for as long as that takes.
    Chances { work: Part, step: Span },
}

/// The site answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Informed {
    pub number: u64,
    pub reply: Reply,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Load(u32),
    Slots(Advert),
    Prices(Quote),
    /// By step, as probabilities.
    Chances(Vec<f64>),
    /// It cannot be answered.
    Denied(Denial),
}

/// What a claim leans on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lot {
    /// Parts of advertised slots, by their places in the advertisement: all of them, or none.
    Slots { version: u64, parts: Vec<(u32, Part)> },
    /// What was quoted, from this start on.
    Quote { quote: QuoteId, start: Time },
}

/// A user books time at a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The user's own number for it.
    pub number: u64,
    /// What it is for.
    pub job: JobId,
    pub lot: Lot,
}

/// The site grants it, or says why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    pub number: u64,
    pub result: Result<Vec<Receipt>, Denial>,
}

/// A user gives a booking back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Return {
    pub booking: BookingId,
}

/// The site says what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    pub booking: BookingId,
    pub result: Result<Area, Denial>,
}

/// A coordinator says what is to become of its hold at a site. Late or twice it means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinate {
    pub hold: HoldId,
    pub pledge: Pledge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pledge {
    /// To hold this for a while, at the fee that was quoted for it, if it was.
    Hold { part: Part, quote: Option<QuoteId> },
    /// What is held is wanted.
    Commit,
    /// It is not.
    Abort,
    /// It is not, though it was committed.
    Cancel,
}

/// The site answers a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinated {
    pub hold: HoldId,
    pub answer: PledgeAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PledgeAnswer {
    Granted { expiry: Time, fee: Area },
    Refused(Denial),
    Committed { booking: BookingId, part: Part },
    Expired,
    Cancelled,
}

/// A user puts a task into a site's queue, or into what it has booked there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enter {
    pub task: TaskId,
    pub procs: u32,
    /// What it asks for.
    pub walltime: Span,
    /// What only the task itself knows.
    pub runtime: Span,
    /// It does nothing before this, even if it has its processors.
    pub not_before: Time,
    /// The bookings that it runs in, and how many processors of each; none, if it queues. What does not fit there
    /// joins the queue.
    pub within: Vec<(BookingId, u32)>,
    /// Its user wants to know when it starts.
    pub tells: bool,
    /// How often it has been lost already.
    pub losses: u32,
}

/// The site does not take a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barred {
    pub task: TaskId,
    pub why: Denial,
}

/// A task has started that its user asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    pub task: TaskId,
}

/// The site takes a booking from its user, as nodes have failed: whoever waits for it joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    pub job: JobId,
    pub booking: BookingId,
}

/// The site lets a booking begin later, as nodes have failed, and says what it costs now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postponed {
    pub job: JobId,
    pub receipt: Receipt,
}
