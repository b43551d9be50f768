//! Negotiation between users and sites: users ask for free slots, prices and chances, claim some of the time, and put
//! tasks into queues or into bookings. The router carries all messages and only adds latency.
//!
//! Information may be outdated on arrival: an advertisement carries the version of the plan that it was taken from, a
//! quote its number, and a claim names those that it relies on.
//!
//! A site answers each question on arrival. A user asks several sites in a round and acts on the last answer, so the
//! others promise that nothing follows from them before that one is due ([`Informed::quiet_for`]). A submitted task
//! promises that its site sends nothing because of it before it can have ended ([`Enter::reaction`]), and an end that
//! its user only records has a message of its own ([`Concluded`]). Most other messages may be reacted to at once.

use serde::{Deserialize, Serialize};

use super::{Message, Recall, Recalled};
use crate::grid::{Advert, Area, BookingId, Denial, HoldId, JobId, Part, Quote, QuoteId, Receipt, TaskId};
use crate::kernel::Reaction;
use crate::time::{Span, Time};

/// Query of a user to a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inquire {
    /// Number of the query, chosen by the user.
    pub number: u64,
    pub query: Query,
    /// Time between the arrival of the answer and that of the last answer of its round, before which the user does not
    /// act on it. The answer repeats it.
    pub quiet_for: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Query {
    /// Number of running and waiting tasks.
    Load,
    /// Free slots.
    Slots,
    /// Price of exactly this part.
    Price(Part),
    /// Prices of `procs` processors for `span`, at every start that makes a difference.
    Prices { procs: u32, span: Span },
    /// Prices at the start of this part and at every later start that makes a difference.
    PricesFrom(Part),
    /// Probability that a job that does `work` starts in time, by number of steps until its submission. The job
    /// requests all of the time until its work begins, and the duration of the work.
    Chances { work: Part, step: Span },
}

/// Answer of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Informed {
    pub number: u64,
    pub reply: Reply,
    /// Value of the query: the user sends nothing because of this answer for this long after its arrival. A user that
    /// has asked for another value takes the answer for a fault.
    pub quiet_for: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    Load(u32),
    Slots(Advert),
    Prices(Quote),
    /// Probabilities of a start in time, by step.
    Chances(Vec<f64>),
    /// The query cannot be answered.
    Denied(Denial),
}

/// The offer that a claim refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lot {
    /// Parts of advertised slots, by their indices in the advertisement: all of them, or none.
    Slots { version: u64, parts: Vec<(u32, Part)> },
    /// A quoted part, from this start on.
    Quote { quote: QuoteId, start: Time },
}

/// Booking of time at a site by a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Number of the claim, chosen by the user.
    pub number: u64,
    /// Job that the booking is for.
    pub job: JobId,
    pub lot: Lot,
}

/// Answer of a site to a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    pub number: u64,
    pub result: Result<Vec<Receipt>, Denial>,
}

/// Return of a booking by its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Return {
    pub booking: BookingId,
}

/// Cost of a returned booking, reported by its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Returned {
    pub booking: BookingId,
    pub result: Result<Area, Denial>,
}

/// Order of a coordinator about its hold at a site. Idempotent, and valid when late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinate {
    pub hold: HoldId,
    pub pledge: Pledge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pledge {
    /// Hold this for a while, at the quoted fee, if it was quoted.
    Hold { part: Part, quote: Option<QuoteId> },
    /// Commit the hold.
    Commit,
    /// Release the hold.
    Abort,
    /// Cancel the committed hold.
    Cancel,
}

/// Answer of a site to a coordinator.
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

/// Submission of a task to a site's queue, or into bookings there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enter {
    pub task: TaskId,
    pub procs: u32,
    /// Requested time.
    pub walltime: Span,
    /// Run time, which only the task itself knows.
    pub runtime: Span,
    /// The task does nothing before this, even if it has its processors.
    pub not_before: Time,
    /// Bookings that it runs in, with the number of processors of each; empty if it queues. A task that does not fit
    /// there joins the queue.
    pub within: Vec<(BookingId, u32)>,
    /// True if its user is to be informed of its start.
    pub reports_start: bool,
    /// Number of times that the task has been lost before.
    pub losses: u32,
    /// True if nodes of its site fail. Then the site may report its loss at any time.
    pub may_be_lost: bool,
    /// True if its user only records its end: the site reports it by [`Concluded`].
    pub ends_quietly: bool,
}

impl Enter {
    /// Least duration of the task on its processors.
    pub fn lasts_at_least(&self) -> Span {
        self.runtime.min(self.walltime)
    }

    /// Earliest reaction of the site: the end of the task, unless it reports its start or may lose it. A refusal waits
    /// as long.
    pub fn reaction(&self) -> Reaction {
        match self.reports_start || self.may_be_lost {
            true => Reaction::Now,
            false => Reaction::After(self.lasts_at_least()),
        }
    }
}

/// End of a task from which nothing follows: its user records it and sends nothing. A user that has asked for another
/// report of the end takes it for a fault of the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concluded {
    pub task: TaskId,
}

/// Refusal of a task by its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barred {
    pub task: TaskId,
    pub why: Denial,
}

/// Start of a task, if its user has asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    pub task: TaskId,
}

/// Revocation of a booking by its site, as nodes have failed: tasks that wait for it join the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revoked {
    pub job: JobId,
    pub booking: BookingId,
}

/// Postponement of a booking by its site, as nodes have failed, with its new cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postponed {
    pub job: JobId,
    pub receipt: Receipt,
}

/// HoldStep of a hold that a coordinator's order and its answer are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldStep {
    Hold,
    Commit,
    Cancel,
}

impl HoldStep {
    /// The step that an order asks an answer for; None if it has none.
    pub fn of_pledge(pledge: &Pledge) -> Option<HoldStep> {
        match pledge {
            Pledge::Hold { .. } => Some(HoldStep::Hold),
            Pledge::Commit => Some(HoldStep::Commit),
            Pledge::Cancel => Some(HoldStep::Cancel),
            Pledge::Abort => None,
        }
    }

    pub fn of_answer(answer: &PledgeAnswer) -> HoldStep {
        match answer {
            // Nothing runs in a hold that is not committed.
            PledgeAnswer::Refused(Denial::InUse) | PledgeAnswer::Cancelled => HoldStep::Cancel,
            PledgeAnswer::Granted { .. } | PledgeAnswer::Refused(_) => HoldStep::Hold,
            PledgeAnswer::Committed { .. } | PledgeAnswer::Expired => HoldStep::Commit,
        }
    }
}

/// The key that matches an answer of a site with its question. Each question has one answer, sent on arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReplyKey {
    /// Number of a query or a claim.
    Number(u64),
    Pledge(HoldId, HoldStep),
    Return(BookingId),
    Recall(TaskId),
}

impl ReplyKey {
    /// The key of a user's question; None if the message asks for no answer.
    pub fn of_question(message: &Message) -> Option<ReplyKey> {
        match message {
            Message::Inquire(Inquire { number, .. }) | Message::Claim(Claim { number, .. }) => {
                Some(ReplyKey::Number(*number))
            }
            Message::Coordinate(Coordinate { hold, pledge }) => {
                HoldStep::of_pledge(pledge).map(|step| ReplyKey::Pledge(*hold, step))
            }
            Message::Return(Return { booking }) => Some(ReplyKey::Return(*booking)),
            Message::Recall(Recall { task }) => Some(ReplyKey::Recall(*task)),
            _ => None,
        }
    }

    /// The key of a site's answer; None if the message is no answer.
    pub fn of_answer(message: &Message) -> Option<ReplyKey> {
        match message {
            Message::Informed(Informed { number, .. }) | Message::Claimed(Claimed { number, .. }) => {
                Some(ReplyKey::Number(*number))
            }
            Message::Coordinated(Coordinated { hold, answer }) => {
                Some(ReplyKey::Pledge(*hold, HoldStep::of_answer(answer)))
            }
            Message::Returned(Returned { booking, .. }) => Some(ReplyKey::Return(*booking)),
            Message::Recalled(Recalled { task, .. }) => Some(ReplyKey::Recall(*task)),
            _ => None,
        }
    }
}
