//! What a run needs to go on after it has lost some of its processes. Pure: bytes in, bytes out.
//!
//! Actors are deterministic, so recovery is replay. While a run goes on, the router's side writes down in a
//! [`Journal`](journal) what came from each leaf, what went to each, and how far its own actors were at the time.
//!
//! - A **leaf** that was lost begins from the start and is sent its mail again. What it says again is held against what
//!   it had said ([`Repeats`]), byte for byte, and goes no further. A leaf's frames are a function of the frames to it,
//!   in their order, and of nothing else: not of when they come, nor of how many come at once.
//! - A **hub** that was lost is taken through the journal ([`Rehearsal`]): it runs as many batches as the lost one had,
//!   takes in the same frames at the same places, and says what the lost one said. What it says is held against the
//!   journal too.
//!
//! Whoever is taken through a shorter journal than was written has only come less far, and nobody is contradicted by
//! that, as leaves begin from the start. So a journal may lose its tail.

pub mod journal;
mod rehearsal;
mod repeats;
#[cfg(test)]
mod tests;

pub use rehearsal::{Rehearsal, RehearsalError};
pub use repeats::{Divergence, Repeats};
