//! Violations of the kernel's rules; each stops a run.

use super::ActorId;
use crate::time::{Stamp, Time};

/// An actor or a peer breaks a promise. Nothing is silently reordered: the run stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    /// An actor acts sooner than the message that it reacts to allows.
    Promise { actor: ActorId, cause: &'static str, promised: Stamp, did: &'static str, at: Stamp },
    /// Virtual time stands still: actors keep answering each other within one instant.
    Livelock { actor: ActorId, stamp: Stamp, cause: &'static str },
    /// An event is due after [`Time::LATEST`]. No peer is at fault, but the run cannot continue.
    Late { actor: ActorId, what: &'static str, due: Stamp },
    /// A leaf sends a message that leaves it sooner than promised.
    Early { leaf: usize, from: ActorId, message: &'static str, promised: Stamp, arrival: Stamp },
    /// A leaf reports a floor below its promise.
    Floor { leaf: usize, promised: Stamp, floor: Stamp },
    /// A leaf sends a frame that no honest leaf sends.
    Protocol { leaf: usize, what: &'static str },
    /// An actor with settled answers sends another one than the message foretold, or none.
    Answer { leaf: Option<usize>, actor: ActorId, foretold: Option<String>, sent: Option<String> },
    /// The hub sends a frame that no honest hub sends.
    Hub { what: &'static str },
}

impl Breach {
    /// Text of the breach; `actor` and `leaf` give the names.
    pub fn describe(&self, actor: &dyn Fn(ActorId) -> String, leaf: &dyn Fn(usize) -> String) -> String {
        match self {
            Breach::Promise { actor: id, cause, promised, did, at } => format!(
                "{} broke its promise: in reaction to {cause} it did {did} at [{at}], but the contract of {cause} says not before [{promised}]",
                actor(*id)
            ),
            Breach::Livelock { actor: id, stamp, cause } => format!(
                "virtual time stands still at {}: {} has just received {cause} in step {} of that instant; actors keep answering each other over links without latency",
                stamp.time,
                actor(*id),
                stamp.step
            ),
            Breach::Late { actor: id, what, due } => format!(
                "virtual time ends before {what} of {}, due at [{due}]: nothing can happen after [{}], some 582,000 years from the start, and what this run asks for takes longer, or waits for longer",
                actor(*id),
                Time::LATEST
            ),
            Breach::Early { leaf: id, from, message, promised, arrival } => format!(
                "{} broke its promise: it sent {message} from {} to arrive at [{arrival}], but had promised that nothing arrives before [{promised}]",
                leaf(*id),
                actor(*from)
            ),
            Breach::Floor { leaf: id, promised, floor } => format!(
                "{} broke its promise: it says that it may send from [{floor}] on, but had promised to send nothing before [{promised}]",
                leaf(*id)
            ),
            Breach::Answer { leaf: home, actor: id, foretold, sent } => {
                let [foretold, sent] = [foretold, sent].map(|one| one.as_deref().unwrap_or("nothing"));
                let culprit = home.map_or_else(|| actor(*id), leaf);
                format!(
                    "{culprit} broke its contract: {} sent {sent}, but what it received before foretold {foretold}",
                    actor(*id)
                )
            }
            Breach::Protocol { leaf: id, what } => format!("{} violates the protocol: {what}", leaf(*id)),
            Breach::Hub { what } => format!("the router violates the protocol: {what}"),
        }
    }
}
