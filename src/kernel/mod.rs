//! What a run means. Pure: no sockets, no files, no clocks, no threads; generic over what actors say and log.

mod actor;
#[doc(hidden)]
pub mod judge;
mod log;

pub use actor::{Actor, ActorId, Cause, Event, Message, Outbox, Reaction};
pub use log::Entry;
