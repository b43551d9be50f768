//! Why an entry of a log is not taken.

use std::io;

use hansa_sim::grid::{BookingId, EdgeId, HoldId, JobId, TaskId};

/// An entry that does not go with those before it: the log is not one of a run of this topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistent {
    #[error("job {0} arrives twice")]
    Twice(JobId),
    #[error("job {0} is not one task, which is all that a queue takes")]
    NotOneTask(JobId),
    #[error("job {0} has an edge that is out of order, or does not lead from a task to a later one")]
    Edge(JobId),
    #[error("job {0} has not arrived")]
    UnknownJob(JobId),
    #[error("task {0} does not exist")]
    UnknownTask(TaskId),
    #[error("{0} is not a site")]
    NotASite(String),
    #[error("task {0} has {1} already")]
    Again(TaskId, &'static str),
    #[error("task {0} has been given to a site already")]
    GivenTwice(TaskId),
    #[error("job {0} has been answered already")]
    Answered(JobId),
    #[error("job {0} has been promised nothing that could be moved or broken")]
    NotPromised(JobId),
    #[error("job {0} is given shapes that it cannot have, or one that it does not have")]
    NoShape(JobId),
    #[error("job {0} has ended already")]
    Ended(JobId),
    #[error("job {0} is complete, but not all of its tasks are")]
    Incomplete(JobId),
    #[error("task {0} ends without having started")]
    NeverStarted(TaskId),
    #[error("task {0} is at {1}, which was not given it")]
    Elsewhere(TaskId, String),
    #[error("task {0} is not running")]
    NotRunning(TaskId),
    #[error("task {0} has not been suspended")]
    NotSuspended(TaskId),
    #[error("task {0} is given an invalid share")]
    NoShare(TaskId),
    #[error("the needs of job {0} are stated twice")]
    NeedsAgain(JobId),
    #[error("the data of {0} is sent twice")]
    SentTwice(EdgeId),
    #[error("{0} does not carry the {1} bytes that are said to leave")]
    NotItsData(EdgeId, u64),
    #[error("the data of {0} arrives without having been sent")]
    NotOnItsWay(EdgeId),
    #[error("job {0} is not one of {1}")]
    NotItsJob(JobId, String),
    #[error("{1} has no booking {0}")]
    NoBooking(BookingId, String),
    #[error("{1} has booking {0} already")]
    BookedTwice(BookingId, String),
    #[error("{1} has no hold {0}")]
    NoHold(HoldId, String),
    #[error("{1} has hold {0} already")]
    HeldTwice(HoldId, String),
    #[error("the negotiation for job {0} has ended already")]
    BargainedTwice(JobId),
    #[error("job {0} is given up, but a task of it is at a site")]
    Busy(JobId),
    #[error("task {0} is accepted by {1}, to which its user has not given it")]
    NotGiven(TaskId, String),
    #[error("{0} says that {1} {2}")]
    Accused(String, String, &'static str),
    #[error("task {0} is said to have saved more than it ran")]
    Unearned(TaskId),
    #[error("task {0} starts on cores of {1} that are down")]
    Down(TaskId, String),
    #[error("{0} says of cores that they fail or are back which it does not have, or of which that has been said")]
    NoOutage(String),
    #[error("link {0} is said to fail or to be back, which it does not do, or of which that has been said")]
    NoCut(String),
    #[error("the data of {0} is said to be held up, or to go on, in a way that contradicts what became of it before")]
    NotHeldUp(EdgeId),
    #[error("task {0} bids in an auction, but does not wait for one")]
    NotBidding(TaskId),
    #[error("an auction has cores of {0} that it does not have, or gives it a task without them")]
    NotOffered(String),
    #[error(
        "{0} offers other cores than those that are idle there, or sends another offer, or at another time, than it records"
    )]
    FalseOffer(String),
    #[error("{1} has reported the end of task {0} as of another time than it records")]
    OtherEnd(TaskId, String),
    #[error("task {0} starts on cores that {1} does not have")]
    NoSuchCores(TaskId, String),
}

/// Reason why a tally does not accept an entry.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
    #[error("cannot set finished jobs aside: {0}")]
    Io(#[from] io::Error),
}
