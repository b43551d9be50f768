//! Messages between actors and records of the log, one file per conversation, and their encoding.

#[cfg(test)]
#[path = "../tests/any_entry.rs"]
mod any_entry;
mod auction;
mod batch;
pub mod codec;
mod execution;
pub mod handshake;
pub mod outside;
mod provisioning;
mod record;
mod reservation;
mod submission;
mod transfer;

use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::kernel::Reaction::{self, After, Never, Now};
use crate::time::{Span, Stamp};

pub use auction::{BidOutcome, CoreOffer, LossReason, SiteOffer, TaskBid};
pub use batch::{Admit, Declined, Enqueue, Entrust, JobEnded, Queue};
pub use execution::{Ended, Lost, Run};
pub use provisioning::{
    Barred, Begun, Claim, Claimed, Concluded, Coordinate, Coordinated, Enter, HoldStep, Informed, Inquire, Lot, Pledge,
    PledgeAnswer, Postponed, Query, Reply, ReplyKey, Return, Returned, Revoked,
};
pub use record::{Author, Bargain, Fault, HoldFate, Reason, Record, Refusal};
pub use reservation::{
    Answered, Book, Booked, Cancel, Hold, Provided, Recall, Recalled, Release, Reserve, ReserveAnswer, Withdraw,
};
pub use submission::{Outcome, Submit, Verdict};
pub use transfer::{Landed, Ship};

/// Declares the messages, each with the earliest reaction of its receiver.
macro_rules! messages {
    ($($name:ident($message:pat) => $reaction:expr,)+) => {
        /// A message from one actor to another.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum Message {
            $($name($name),)+
        }

        impl kernel::Message for Message {
            fn reaction(&self) -> Reaction {
                match self {
                    $(Message::$name($message) => $reaction,)+
                }
            }

            fn name(&self) -> &'static str {
                match self {
                    $(Message::$name(_) => stringify!($name),)+
                }
            }

            fn wants_answer(&self) -> bool {
                matches!(self, Message::Recall(_) | Message::Enqueue(Enqueue { think: Some(_), .. }))
            }

            fn foretold(&self, arrival: Stamp) -> Option<(Stamp, Message)> {
                let Message::Run(run) = self else { return None };
                let (end, ended) = run.foretold(arrival.time)?;
                Some((Stamp::at(end), Message::Ended(ended)))
            }
        }
    };
}

// Append new ones: on the wire a message is identified by its index.
messages! {
    Submit(_) => Now,
    // Users submit by their own calendar, so the outcome of a job changes nothing that they send.
    Outcome(_) => Never,
    Run(run) => end_or_loss(run.runtime, run.safe),
    Ended(_) => Now,
    Reserve(_) => Now,
    Cancel(_) => Now,
    // Users ask by their own calendar.
    Answered(_) => Never,
    Hold(hold) => hold.reaction(),
    Withdraw(_) => Never,
    Enqueue(_) => Now,
    Queue(queue) => end_or_loss(queue.held_time(), queue.safe),
    // The next job is submitted only after the think time.
    JobEnded(over) => After(over.think),
    Ship(_) => Now,
    Landed(_) => Now,
    Book(_) => Now,
    Booked(_) => Now,
    // It is answered, and other jobs may start at once in its place.
    Recall(_) => Now,
    Recalled(_) => Now,
    // Other jobs may end sooner because of it.
    Admit(_) => Now,
    Inquire(_) => Now,
    // Later answers of its round are still awaited.
    Informed(informed) => After(informed.quiet_for),
    Claim(_) => Now,
    Claimed(_) => Now,
    Return(_) => Now,
    // It is only recorded.
    Returned(_) => Never,
    Enter(enter) => enter.reaction(),
    // Its user sends nothing more, as its site breaks the contract.
    Barred(_) => Never,
    Begun(_) => Now,
    Coordinate(_) => Now,
    Coordinated(_) => Now,
    Provided(_) => Now,
    Lost(_) => Now,
    // It may be declined, and other jobs may be killed because of it.
    Entrust(_) => Now,
    Declined(_) => Now,
    Revoked(_) => Now,
    Postponed(_) => Now,
    // Other jobs may start at once.
    Release(_) => Now,
    // Tasks may start at once.
    SiteOffer(_) => Now,
    // It is only recorded.
    Concluded(_) => Never,
}

/// A task of this duration starts on arrival or later, and does not end sooner. But it may be lost as soon as a node
/// fails, and other tasks that start because of it may end; neither happens for the time `safe`.
fn end_or_loss(lasts: Span, safe: Option<Span>) -> Reaction {
    After(safe.map_or(lasts, |safe| safe.min(lasts)))
}
