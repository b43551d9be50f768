//! What actors say to each other and write to the log, one file per conversation, and how it becomes bytes.

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

use crate::kernel::{self, Reaction};

pub use batch::{Admit, Declined, Enqueue, Entrust, Over, Queue};
pub use execution::{Ended, Lost, Run};
pub use provisioning::{
    Barred, Begun, Claim, Claimed, Coordinate, Coordinated, Enter, Informed, Inquire, Lot, Pledge, PledgeAnswer,
    Postponed, Query, Reply, Return, Returned, Revoked,
};
pub use record::{Author, Bargain, Fault, HoldFate, Reason, Record, Refusal};
pub use reservation::{
    Answer, Answered, Book, Booked, Cancel, Hold, Provided, Recall, Recalled, Release, Reserve, Withdraw,
};
pub use submission::{Outcome, Submit, Verdict};
pub use transfer::{Landed, Ship};

/// Everything that one actor may say to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    Submit(Submit),
    Outcome(Outcome),
    Run(Run),
    Ended(Ended),
    Reserve(Reserve),
    Cancel(Cancel),
    Answered(Answered),
    Hold(Hold),
    Withdraw(Withdraw),
    Enqueue(Enqueue),
    Queue(Queue),
    Over(Over),
    Ship(Ship),
    Landed(Landed),
    Book(Book),
    Booked(Booked),
    Recall(Recall),
    Recalled(Recalled),
    Admit(Admit),
    Inquire(Inquire),
    Informed(Informed),
    Claim(Claim),
    Claimed(Claimed),
    Return(Return),
    Returned(Returned),
    Enter(Enter),
    Barred(Barred),
    Begun(Begun),
    Coordinate(Coordinate),
    Coordinated(Coordinated),
    Provided(Provided),
    Lost(Lost),
    Entrust(Entrust),
    Declined(Declined),
    Revoked(Revoked),
    Postponed(Postponed),
    Release(Release),
}

impl kernel::Message for Message {
    fn reaction(&self) -> Reaction {
        match self {
            Message::Submit(m) => m.reaction(),
            Message::Outcome(m) => m.reaction(),
            Message::Run(m) => m.reaction(),
            Message::Ended(m) => m.reaction(),
            Message::Reserve(m) => m.reaction(),
            Message::Cancel(m) => m.reaction(),
            Message::Answered(m) => m.reaction(),
            Message::Hold(m) => m.reaction(),
            Message::Withdraw(m) => m.reaction(),
            Message::Enqueue(m) => m.reaction(),
            Message::Queue(m) => m.reaction(),
            Message::Over(m) => m.reaction(),
            Message::Ship(m) => m.reaction(),
            Message::Landed(m) => m.reaction(),
            Message::Book(m) => m.reaction(),
            Message::Booked(m) => m.reaction(),
            Message::Recall(m) => m.reaction(),
            Message::Recalled(m) => m.reaction(),
            Message::Admit(m) => m.reaction(),
            Message::Inquire(m) => m.reaction(),
            Message::Informed(m) => m.reaction(),
            Message::Claim(m) => m.reaction(),
            Message::Claimed(m) => m.reaction(),
            Message::Return(m) => m.reaction(),
            Message::Returned(m) => m.reaction(),
            Message::Enter(m) => m.reaction(),
            Message::Barred(m) => m.reaction(),
            Message::Begun(m) => m.reaction(),
            Message::Coordinate(m) => m.reaction(),
            Message::Coordinated(m) => m.reaction(),
            Message::Provided(m) => m.reaction(),
            Message::Lost(m) => m.reaction(),
            Message::Entrust(m) => m.reaction(),
            Message::Declined(m) => m.reaction(),
            Message::Revoked(m) => m.reaction(),
            Message::Postponed(m) => m.reaction(),
            Message::Release(m) => m.reaction(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Message::Submit(_) => "Submit",
            Message::Outcome(_) => "Outcome",
            Message::Run(_) => "Run",
            Message::Ended(_) => "Ended",
            Message::Reserve(_) => "Reserve",
            Message::Cancel(_) => "Cancel",
            Message::Answered(_) => "Answered",
            Message::Hold(_) => "Hold",
            Message::Withdraw(_) => "Withdraw",
            Message::Enqueue(_) => "Enqueue",
            Message::Queue(_) => "Queue",
            Message::Over(_) => "Over",
            Message::Ship(_) => "Ship",
            Message::Landed(_) => "Landed",
            Message::Book(_) => "Book",
            Message::Booked(_) => "Booked",
            Message::Recall(_) => "Recall",
            Message::Recalled(_) => "Recalled",
            Message::Admit(_) => "Admit",
            Message::Inquire(_) => "Inquire",
            Message::Informed(_) => "Informed",
            Message::Claim(_) => "Claim",
            Message::Claimed(_) => "Claimed",
            Message::Return(_) => "Return",
            Message::Returned(_) => "Returned",
            Message::Enter(_) => "Enter",
            Message::Barred(_) => "Barred",
            Message::Begun(_) => "Begun",
            Message::Coordinate(_) => "Coordinate",
            Message::Coordinated(_) => "Coordinated",
            Message::Provided(_) => "Provided",
            Message::Lost(_) => "Lost",
            Message::Entrust(_) => "Entrust",
            Message::Declined(_) => "Declined",
            Message::Revoked(_) => "Revoked",
            Message::Postponed(_) => "Postponed",
            Message::Release(_) => "Release",
        }
    }
}
