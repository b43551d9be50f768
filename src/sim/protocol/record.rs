//! Records of the run's log: events, each as written by the actor that it happened to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CoreOffer, ReserveAnswer, TaskBid};
use crate::grid::{
    Area, BookingId, CableId, Denial, EdgeId, HoldId, Invalid, Job, JobId, JobShape, Needs, NodeSet, Offer, Part,
    Receipt, Slot, TaskId,
};
use crate::kernel::ActorId;
use crate::time::{Span, Time};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The router accepted a job of a user.
    Arrived { job: Arc<Job>, user: ActorId },
    /// The router refused a job: one of its tasks fits no site.
    Refused { job: Arc<Job>, user: ActorId, task: u32 },
    /// The router assigned a task to a site.
    Assigned { task: TaskId, site: ActorId },
    /// A site started a task on these cores.
    Started { task: TaskId, cores: NodeSet },
    /// A task ended at a site.
    Finished { task: TaskId },
    /// The last task of a job ended; `value` is the user's benefit, if the job has a value curve.
    Completed { job: JobId, value: Option<f64> },
    /// The router removed a job after its final deadline.
    Removed { job: JobId },
    /// The router refused a job: given earlier promises, it would finish too late.
    NotAdmitted { job: Arc<Job>, user: ActorId },
    /// The router answered a request for nodes between two times.
    Answered { job: JobId, ready: Time, deadline: Time, answer: ReserveAnswer },
    /// A user cancelled a request in time.
    Cancelled { job: JobId },
    /// The router rejected a job that no queue accepts.
    Rejected { job: Arc<Job>, user: ActorId, why: Invalid },
    /// A site killed a task at its walltime.
    Killed { task: TaskId },
    /// The router started a transfer from one site to another; it uses its links from `active` on.
    Sent { edge: EdgeId, from: ActorId, to: ActorId, bytes: u64, active: Time },
    /// A transfer was completed.
    Delivered { edge: EdgeId },
    /// A site suspended a task.
    Suspended { task: TaskId },
    /// A site resumed a suspended task on these cores.
    Resumed { task: TaskId, cores: NodeSet },
    /// A site moved a running task to other cores.
    Moved { task: TaskId, cores: NodeSet },
    /// Share of its cores that a task gets from now on; initially all.
    Shared { task: TaskId, share: f64 },
    /// The router withdrew a task from its site; it has not run there.
    Withdrawn { task: TaskId },
    /// Needs per node of the parallel tasks of the job that has just arrived.
    Needs { job: JobId, needs: Needs },
    /// Nodes that have one more of the parallel tasks of the task just placed than recorded before.
    Stacked { task: TaskId, cores: NodeSet },
    /// A site advertised free slots to a user.
    Advertised { user: ActorId, version: u64, slots: Vec<Slot> },
    /// A site quoted to a user the prices of `procs` processors for `span`, by start.
    Quoted { user: ActorId, procs: u32, span: Span, offers: Vec<Offer> },
    /// A site booked processors for a job of a user.
    Booked { user: ActorId, job: JobId, receipt: Receipt },
    /// A site holds processors for a user until `expiry`.
    Held { user: ActorId, hold: HoldId, part: Part, fee: Area, expiry: Time },
    /// A site denied a user's claim for a job.
    Denied { user: ActorId, job: JobId, why: Refusal },
    /// A booking was returned before its end; if in time, the penalty is paid in place of its price.
    Returned { booking: BookingId, used: Area, penalty: Option<Area> },
    /// A booking ended; tasks have used this much of it.
    Elapsed { booking: BookingId, used: Area },
    /// A site dropped a task that its user recalled before it had done anything.
    Dropped { task: TaskId },
    /// A hold ended.
    Settled { hold: HoldId, fate: HoldFate },
    /// A user's negotiation for a job ended, with the reason if nothing was booked.
    Bargained { job: JobId, end: Bargain, why: Option<Reason> },
    /// A site accepted a task from this user: the record identifies users that submit tasks of others.
    Entered { user: ActorId, task: TaskId },
    /// A user accused a site of a breach of contract. One of the two lies, and the run ends.
    Accused { site: ActorId, fault: Fault },
    /// The network started a transfer on behalf of a user; it uses its links from `active` on.
    Shipped { user: ActorId, edge: EdgeId, from: ActorId, to: ActorId, bytes: u64, active: Time },
    /// Cores of a site went down at `since`.
    Down { cores: NodeSet, since: Time },
    /// Cores of a site came up again at `since`.
    Up { cores: NodeSet, since: Time },
    /// A site lost a task as one of its cores failed; `saved` of its work is kept.
    Lost { task: TaskId, saved: Span },
    /// Checkpoints of a task since it started or resumed, and the time that they took.
    Checkpointed { task: TaskId, times: u64, spent: Span },
    /// Nodes of a promise of the router failed, and it has found others, possibly at another time or site.
    Rebooked { job: JobId, site: ActorId, start: Time, until: Time, nodes: NodeSet },
    /// Nodes of a promise of the router failed, and the promise with them; its user is compensated.
    Broken { job: JobId, compensation: Area },
    /// A link went down at `since`.
    LinkDown { link: CableId, since: Time },
    /// A link came up again at `since`.
    LinkUp { link: CableId, since: Time },
    /// A transfer stalled with `left` bytes to send, as a link on its route is down.
    Stalled { edge: EdgeId, left: u64 },
    /// A transfer continued with `left` bytes to send: over these links, if they changed, and from `active` on.
    Continued { edge: EdgeId, left: u64, via: Vec<CableId>, active: Time },
    /// A site revoked a booking of a user, as cores failed: `used` of it is paid for, and the user is compensated.
    Revoked { booking: BookingId, used: Area, paid: Area, compensation: Area },
    /// A site postponed a booking, as cores failed; the receipt has its new time and cost.
    Postponed { receipt: Receipt },
    /// A site took back the rest of a booking that had begun: of the rent of that rest, the penalty is kept.
    HandedBack { booking: BookingId, used: Area, refund: Area, penalty: Area },
    /// The router held an auction: the free cores of sites before it, and all bids, the best first.
    Auctioned { offers: Vec<CoreOffer>, bids: Vec<TaskBid> },
    /// Shapes of the job that has just arrived, if it has several, the first being that of its task.
    Malleable { job: JobId, shapes: Vec<JobShape> },
    /// The router is about to book a job in this one of its shapes, counted from 0.
    Shaped { job: JobId, shape: u32 },
    /// A site offered its idle cores to the auctioneer, after `received` starts; tasks wait there for `waiting` cores.
    Offered { idle: u32, waiting: u32, received: u64 },
    /// A site took a running task off its cores for another one. It waits there, to start again from the beginning.
    Requeued { task: TaskId },
    /// A site ended a running task before its work was done, for another one.
    Preempted { task: TaskId },
    /// The scheduler of a site started a task out of turn, by backfilling, in this instant. Only a scheduler that
    /// states it writes this.
    Backfilled { task: TaskId },
}

words! {
    /// Reason of a refusal to a user.
    Refusal {
        /// Valid a little earlier, but no longer.
        Stale = "stale",
        /// The processors are taken.
        NoRoom = "no_room",
        /// It was not part of a slot that may be taken.
        BadSubslot = "bad_subslot",
        /// It was invalid, or the site is too small for it.
        Unfit = "unfit",
    }
    /// End of a hold.
    HoldFate {
        /// Turned into a booking.
        Committed = "committed",
        /// Released before a commit.
        Released = "released",
        /// Lease expired.
        Expired = "expired",
        /// Cores of the hold failed.
        Broken = "broken",
    }
    /// Fault of a site that no honest site has.
    Fault {
        /// No answer by the time that it was due.
        Silent = "silent",
        /// Answer to a query that was not sent, or already answered.
        Unasked = "unasked",
        /// Answer that does not fit the query.
        Senseless = "senseless",
        /// Refusal of a task that it had agreed to take.
        Unwilling = "unwilling",
    }
    /// End of a negotiation for a job.
    Bargain {
        /// All that it needs is booked.
        Booked = "booked",
        /// No site had room for it.
        Refused = "refused",
        /// Every attempt to book it was outdated.
        Stale = "stale",
        /// The user gave up.
        GivenUp = "given_up",
    }
    /// Reason of a failed negotiation, as far as the user knows.
    Reason {
        /// Sites answered, but named no start.
        NoStart = "no site named a start",
        /// All starts named by sites would be over before a claim and a task can arrive.
        TooSoon = "no site named a start that a claim can still reach",
        /// No advertised slot is of use.
        NoPlan = "no plan fits the slots that sites advertised",
        /// Every attempt lost to others or to time.
        Gone = "what it claimed was gone, as often as it tried",
        /// A claim was denied, as the processors are taken.
        NoRoom = "a site had no room for its claim",
        /// A claim was denied for another reason.
        Unfit = "a site found its claim unfit",
        /// Jobs that imitate a reservation only.
        NoChance = "no site saw a chance of a start in time",
        /// The time at which its work is wanted came first.
        TooLate = "it was too late to submit it",
        /// Its job was still queued when its work was wanted.
        NotStarted = "it had not started when its work was wanted",
        /// Several sites are wanted at once.
        NoCommonStart = "no start suits all sites",
        /// They named starts, but refused to hold them or held them too briefly.
        NotHeld = "not all sites held the same start, as often as it tried",
        /// A lease had expired, or nodes had failed, before the commit.
        NotCommitted = "a site no longer held what it was to commit to",
        /// The job is given up, while other tasks of it are still negotiated.
        Lost = "a task was lost before all had been bought",
        /// Sites named starts, but the job would end too late.
        PastDeadline = "no start that sites named keeps the deadline",
        /// There are plans, but each would end too late.
        LatePlan = "no plan on the slots that sites advertised keeps the deadline",
        /// Each plan or start costs too much.
        OverBudget = "all that sites offered costs more than the budget",
        /// Some plans or starts keep the one, and some the other.
        OverBudgetInTime = "what keeps the deadline costs more than the budget",
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
    /// Reason of a denied claim that is not repeated.
    fn from(denial: Denial) -> Reason {
        match Refusal::from(denial) {
            Refusal::Stale => Reason::Gone,
            Refusal::NoRoom => Reason::NoRoom,
            Refusal::BadSubslot | Refusal::Unfit => Reason::Unfit,
        }
    }
}

/// Role that writes records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Router,
    Site,
    User,
    /// A user with nothing to record, as the router does it on its behalf.
    Mute,
}

impl Record {
    /// Role that writes records of this kind. The router records submissions; where no service there knows of them,
    /// their users do.
    ///
    /// The report, which knows all earlier records, checks that a user writes only about its own jobs and tasks.
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
            | Record::HandedBack { .. }
            | Record::Offered { .. }
            | Record::Requeued { .. }
            | Record::Preempted { .. }
            | Record::Backfilled { .. }
            | Record::Entered { .. } => Author::Site,
            Record::Bargained { .. } | Record::Accused { .. } => Author::User,
            Record::Arrived { .. }
            | Record::Refused { .. }
            | Record::NotAdmitted { .. }
            | Record::Rejected { .. }
            | Record::Auctioned { .. }
            | Record::Assigned { .. }
            | Record::Answered { .. }
            | Record::Malleable { .. }
            | Record::Shaped { .. }
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

    /// Error if a member of this role may not write the record.
    pub fn written_by(&self, author: Author) -> Result<(), &'static str> {
        match self.author() {
            right if right == author => Ok(()),
            Author::Router if author == Author::User && self.is_of_a_job() => Ok(()),
            Author::Router => Err("a record that only the router writes"),
            Author::Site => Err("a record that only sites write"),
            Author::User | Author::Mute => Err("a record that only users write"),
        }
    }

    /// True for outcomes of a job, which its user records where no service does.
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
