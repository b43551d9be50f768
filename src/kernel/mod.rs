//! What a run means. Pure: no sockets, no files, no clocks, no threads; generic over what actors say and log.
//!
//! A run is a set of [`Actor`]s and the latencies of their links. One [`Place`] that holds them all is the meaning of
//! a run; a [`Hub`] with [`Leaf`]s gives the same log, whatever happens to the frames between them.

mod actor;
mod agenda;
mod breach;
mod hub;
#[cfg(test)]
pub(crate) mod judge;
mod leaf;
mod log;
mod place;
#[cfg(test)]
mod tests;

pub use actor::{Actor, ActorId, Cause, Event, Message, Outbox, Reaction};
pub use breach::Breach;
pub use hub::{Contact, Hub, LeafStatus, Progress, RecordCheck};
pub use leaf::{Down, Instruction, Leaf, Promise, Up};
pub use log::{Digest, Entry, LogMerger};
pub use place::{BoxedActor, Envelope, Latencies, Place, STEPS_MAX};
