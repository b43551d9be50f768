//! The records of the run's log: what happened, as the actor that it happened to tells it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ReserveAnswer;
use crate::grid::{
    Area, BookingId, CableId, Denial, EdgeId, HoldId, Invalid, Job, JobId, Needs, NodeSet, Offer, Part, Receipt, Slot,
    TaskId,
};
use crate::kernel::ActorId;
use crate::time::{Span, Time};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The router took in a job of a user.
    Arrived { job: Arc<Job>, user: ActorId },
    /// The router turned a job away: one of its tasks fits no site.
    Refused { job: Arc<Job>, user: ActorId, task: u32 },
    /// The router gave a task to a site.
    Assigned { task: TaskId, site: ActorId },
    /// A site started a task on these cores.
    Started { task: TaskId, cores: NodeSet },
    /// A site saw a task end.
    Finished { task: TaskId },
    /// The router saw the last task of a job end; `value` is what its user got for it, if it has a value curve.
    Completed { job: JobId, value: Option<f64> },
    /// The router gave a job up after its final deadline.
    Removed { job: JobId },
    /// The router turned a job away: with what it has promised already, the job would come too late.
    NotAdmitted { job: Arc<Job>, user: ActorId },
    /// The router answered a request for nodes between two times.
    Answered { job: JobId, ready: Time, deadline: Time, answer: ReserveAnswer },
    /// A user took a request back in time.
    Cancelled { job: JobId },
    /// The router turned a job away that no queue will take.
    Rejected { job: Arc<Job>, user: ActorId, why: Invalid },
    /// A site ended a task that had had its walltime.
    Killed { task: TaskId },
    /// The router let data go from one site to another; it uses its links from `active` on.
    Sent { edge: EdgeId, from: ActorId, to: ActorId, bytes: u64, active: Time },
    /// All of that data has arrived.
    Delivered { edge: EdgeId },
    /// A site took a task off its cores, to go on later.
    Suspended { task: TaskId },
    /// A site let a suspended task go on, on these cores.
    Resumed { task: TaskId, cores: NodeSet },
    /// A site put a running task on other cores.
    Moved { task: TaskId, cores: NodeSet },
    /// A site gives a task this much of what it could use of its cores from now on; until then, all of it.
    Shared { task: TaskId, share: f64 },
    /// The router took a task back from the site that it had given it to; it has not run there.
    Withdrawn { task: TaskId },
    /// The parallel tasks of the job that has just arrived need only so much of their nodes.
    Needs { job: JobId, needs: Needs },
    /// Of the nodes that a site has just put a task on, these have one more of its parallel tasks than was told before.
    Stacked { task: TaskId, cores: NodeSet },
    /// A site told a user which slots are free.
    Advertised { user: ActorId, version: u64, slots: Vec<Slot> },
    /// A site told a user what so many processors cost for so long, start by start.
    Quoted { user: ActorId, procs: u32, span: Span, offers: Vec<Offer> },
    /// A site let a user have processors, for a job.
    Booked { user: ActorId, job: JobId, receipt: Receipt },
    /// A site holds processors for a user until then.
    Held { user: ActorId, hold: HoldId, part: Part, fee: Area, expiry: Time },
    /// A site did not let a user have what it wanted for a job.
    Denied { user: ActorId, job: JobId, why: Refusal },
    /// A booking was given back before its time was over; if in time, this is paid in the place of its price.
    Returned { booking: BookingId, used: Area, penalty: Option<Area> },
    /// The time of a booking was over; tasks have used so much of it.
    Elapsed { booking: BookingId, used: Area },
    /// A site let go of a task that its user took back before it had done anything.
    Dropped { task: TaskId },
    /// What became of a hold.
    Settled { hold: HoldId, fate: HoldFate },
    /// What came of a user's bargaining for a job, and why it was not booked.
    Bargained { job: JobId, end: Bargain, why: Option<Reason> },
    /// A site took a task in, from this user: whoever hands in what is not theirs is known by it.
    Entered { user: ActorId, task: TaskId },
    /// A site broke its contract with a user. One of the two lies, and the run is over.
    Accused { site: ActorId, fault: Fault },
    /// The network let data go for a user, as they told it to; it uses its links from `active` on.
    Shipped { user: ActorId, edge: EdgeId, from: ActorId, to: ActorId, bytes: u64, active: Time },
    /// Cores of a site have been down since then.
    Down { cores: NodeSet, since: Time },
    /// Cores of a site that were down have been up since then.
    Up { cores: NodeSet, since: Time },
    /// A site lost a task as one of its cores failed; so much of its work is saved.
    Lost { task: TaskId, saved: Span },
    /// A task has saved its work so often since it started or went on, which took so long.
    Checkpointed { task: TaskId, times: u64, spent: Span },
    /// Nodes of what the router has promised failed, and it has found others, perhaps for another time or elsewhere.
    Rebooked { job: JobId, site: ActorId, start: Time, until: Time, nodes: NodeSet },
    /// Nodes of what the router has promised failed, and the promise with them; its user is given so much for it.
    Broken { job: JobId, compensation: Area },
    /// A link has been down since then.
    LinkDown { link: CableId, since: Time },
    /// A link that was down has been up since then.
    LinkUp { link: CableId, since: Time },
    /// The data of an edge stands still, as a link on its way is down; so much is left.
    Stalled { edge: EdgeId, left: u64 },
    /// The data of an edge goes on with so much left to send: over these links, if not those it was on before, and from
    /// `active` on.
    Continued { edge: EdgeId, left: u64, via: Vec<CableId>, active: Time },
    /// A site took a booking from its user, as cores failed: so much of it was used and is paid for, and its user is
    /// given so much.
    Revoked { booking: BookingId, used: Area, paid: Area, compensation: Area },
    /// A site lets a booking begin later, as cores failed; this is what it is now, and what it costs.
    Postponed { receipt: Receipt },
}

words! {
    /// Why a user did not get what it wanted.
    Refusal {
        /// It would have been right a little earlier.
        Stale = "stale",
        /// Others have the processors.
        NoRoom = "no_room",
        /// It was no part of a slot that may be taken.
        BadSubslot = "bad_subslot",
        /// It made no sense, or the site is too small for it.
        Unfit = "unfit",
    }
    /// How a hold ended.
    HoldFate {
        /// It has become a booking.
        Committed = "committed",
        /// Given back before a commit.
        Released = "released",
        /// Its lease was over.
        Expired = "expired",
        /// Cores failed that it was about.
        Broken = "broken",
    }
    /// What a site has done that no honest one does.
    Fault {
        /// It has not answered when its answer had to be there.
        Silent = "silent",
        /// It answers a question that it was not asked, or has already answered.
        Unasked = "unasked",
        /// What it says is no answer to what it was asked.
        Senseless = "senseless",
        /// It does not take a task that it has said it would.
        Unwilling = "unwilling",
    }
    /// How bargaining for a job ended.
    Bargain {
        /// All that it needs is booked.
        Booked = "booked",
        /// No site had room for it.
        Refused = "refused",
        /// Whenever it was to be booked, it was not so any more.
        Stale = "stale",
        /// Its user gave up.
        GivenUp = "given_up",
    }
    /// Why a user did not get what it bargained for, as far as it knows.
    Reason {
        /// Sites answered, but named no start.
        NoStart = "no site named a start",
        /// All starts that sites named would have been over before a claim and a task can be there.
        TooSoon = "no site named a start that a claim can still reach",
        /// Nothing that was advertised is of use.
        NoPlan = "no plan fits the slots that sites advertised",
        /// Others came first, or time passed, as often as it tried.
        Gone = "what it claimed was gone, as often as it tried",
        /// A claim was denied, as the processors are others'.
        NoRoom = "a site had no room for its claim",
        /// A claim was denied for another reason.
        Unfit = "a site found its claim unfit",
        /// For a job that imitates a reservation.
        NoChance = "no site saw a chance of a start in time",
        /// The time when its work is wanted came first.
        TooLate = "it was too late to submit it",
        /// Its job was in a queue when its work was wanted.
        NotStarted = "it had not started when its work was wanted",
        /// Several sites are wanted at once.
        NoCommonStart = "no start suits all sites",
        /// They named starts, but refused to hold them or held them too briefly.
        NotHeld = "not all sites held the same start, as often as it tried",
        /// A lease had run out, or nodes had failed, when it came to committing.
        NotCommitted = "a site no longer held what it was to commit to",
        /// So the job is given up, while others of its tasks are still bargained for.
        Lost = "a task was lost before all had been bought",
    }
}

impl From<Denial> for Refusal {
    fn from(denial: Denial) -> Refusal {
        match denial {
            _ if denial.is_stale() => Refusal::Stale,
            Denial::BadPart(_) | Denial::NoSuchSlot => Refusal::BadSubslot,
            Denial::NoRoom => Refusal::NoRoom,
            _ => Refusal::Unfit,
        }
    }
}

impl From<Denial> for Reason {
    /// Why a claim was denied that is not made again.
    fn from(denial: Denial) -> Reason {
        match Refusal::from(denial) {
            Refusal::Stale => Reason::Gone,
            Refusal::NoRoom => Reason::NoRoom,
            Refusal::BadSubslot | Refusal::Unfit => Reason::Unfit,
        }
    }
}

/// Who writes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Router,
    Site,
    User,
    /// A user who has nothing to tell, as the router does it for them.
    Mute,
}

impl Record {
    /// The role that writes records of this kind. What users hand in, the router tells; where nobody there knows of it,
    /// they do.
    ///
    /// Whether it was about a job or a task of theirs is for the report to see, which knows all that was told before.
    pub fn author(&self) -> Author {
        match self {
            Record::Started { .. }
            | Record::Finished { .. }
            | Record::Killed { .. }
            | Record::Suspended { .. }
            | Record::Resumed { .. }
            | Record::Moved { .. }
            | Record::Shared { .. }
            | Record::Stacked { .. }
            | Record::Advertised { .. }
            | Record::Quoted { .. }
            | Record::Booked { .. }
            | Record::Held { .. }
            | Record::Denied { .. }
            | Record::Returned { .. }
            | Record::Elapsed { .. }
            | Record::Dropped { .. }
            | Record::Settled { .. }
            | Record::Down { .. }
            | Record::Up { .. }
            | Record::Lost { .. }
            | Record::Checkpointed { .. }
            | Record::Revoked { .. }
            | Record::Postponed { .. }
            | Record::Entered { .. } => Author::Site,
            Record::Bargained { .. } | Record::Accused { .. } => Author::User,
            Record::Arrived { .. }
            | Record::Refused { .. }
            | Record::NotAdmitted { .. }
            | Record::Rejected { .. }
            | Record::Assigned { .. }
            | Record::Answered { .. }
            | Record::Rebooked { .. }
            | Record::Broken { .. }
            | Record::Completed { .. }
            | Record::Removed { .. }
            | Record::Cancelled { .. }
            | Record::Sent { .. }
            | Record::Shipped { .. }
            | Record::Delivered { .. }
            | Record::Withdrawn { .. }
            | Record::Needs { .. }
            | Record::LinkDown { .. }
            | Record::LinkUp { .. }
            | Record::Stalled { .. }
            | Record::Continued { .. } => Author::Router,
        }
    }

    /// What is wrong if somebody of this role has written it.
    pub fn written_by(&self, author: Author) -> Result<(), &'static str> {
        match self.author() {
            right if right == author => Ok(()),
            Author::Router if author == Author::User && self.is_of_a_job() => Ok(()),
            Author::Router => Err("a record that only the router writes"),
            Author::Site => Err("a record that only sites write"),
            Author::User | Author::Mute => Err("a record that only users write"),
        }
    }

    /// Whether it says what became of a job, which its user knows where no service does.
    fn is_of_a_job(&self) -> bool {
        matches!(
            self,
            Record::Arrived { .. }
                | Record::Rejected { .. }
                | Record::Assigned { .. }
                | Record::Withdrawn { .. }
                | Record::Completed { value: None, .. }
                | Record::Removed { .. }
        )
    }
}
