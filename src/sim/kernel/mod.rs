//! Meaning of a run. Pure: no sockets, files, clocks or threads; generic over the messages and records of actors.
//!
//! A run is a set of [`Actor`]s and the latencies of their links. One [`Place`] that holds all actors defines the
//! result; a [`Hub`] with [`Leaf`]s gives the same log, however the frames between them are delayed.

mod activity;
mod actor;
mod agenda;
mod breach;
mod hub;
pub mod judge;
mod leaf;
mod log;
mod place;
#[cfg(test)]
mod tests;

pub use activity::{Activity, RunningBatch};
pub use actor::{Actor, ActorId, Cause, Contract, Event, Message, Outbox, Reaction};
pub use breach::Breach;
pub use hub::{Contact, Hub, LeafStatus, Progress, RecordCheck};
pub use leaf::{Down, Instruction, Leaf, Promise, Up};
pub use log::{Digest, Entry, LogMerger};
pub use place::{BoxedActor, Envelope, Latencies, Place, STEPS_MAX};
