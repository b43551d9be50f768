//! What actors say to each other and write to the log, one file a conversation, and how it becomes bytes.

pub mod codec;
mod execution;
pub mod handshake;
mod record;
mod submission;

use serde::{Deserialize, Serialize};

use crate::kernel::{self, Reaction};

pub use execution::{Ended, Run};
pub use record::Record;
pub use submission::{Outcome, Submit, Verdict};

/// Everything that one actor may say to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    Submit(Submit),
    Outcome(Outcome),
    Run(Run),
    Ended(Ended),
}

impl kernel::Message for Message {
    fn reaction(&self) -> Reaction {
        match self {
            Message::Submit(m) => m.reaction(),
            Message::Outcome(m) => m.reaction(),
            Message::Run(m) => m.reaction(),
            Message::Ended(m) => m.reaction(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Message::Submit(_) => "Submit",
            Message::Outcome(_) => "Outcome",
            Message::Run(_) => "Run",
            Message::Ended(_) => "Ended",
        }
    }
}
