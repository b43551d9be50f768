//! Recovery of a run that has lost some of its processes. Pure: bytes in, bytes out.
//!
//! Actors are deterministic, so recovery is replay. During a run the router writes to a [`Journal`](journal) each frame
//! from a leaf, each frame to a leaf, and the progress of its own actors at the time.
//!
//! - A **leaf** that was lost starts over and is sent its mail again. Frames that it repeats are compared with its
//!   earlier ones ([`Repeats`]), byte for byte, and dropped. A leaf's frames are a function of the frames to it, in
//!   their order, and of nothing else: neither of their arrival times nor of their grouping.
//! - A **hub** that was lost is replayed from the journal ([`Rehearsal`]): it runs as many batches as before, receives
//!   the same frames at the same points, and sends the same frames, which are compared with the journal too.
//!
//! A hub replayed from a truncated journal is only less advanced, and contradicts no leaf, as leaves start over. So a
//! journal may lose its tail.

pub mod journal;
mod rehearsal;
mod repeats;
#[cfg(test)]
mod tests;

pub use rehearsal::{Rehearsal, RehearsalError};
pub use repeats::{Divergence, Repeats};
