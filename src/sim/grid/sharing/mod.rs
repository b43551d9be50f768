//! Jobs that share the nodes of a cluster: their needs, measures of a schedule, and a bound of what any schedule can
//! do.
//!
//! Algorithms are in `systems/dfrs/`, whose paper defines all of these.

mod bound;
pub mod measures;
pub mod need;

pub use bound::{Bound, bound_within, compute_bound};
pub use measures::{Moves, Usage, bounded_stretch, measure_underutilisation, offered_load};
pub use need::{BadNeed, MappingRefusal, Need};

use crate::time::{Span, Time};

/// A job with its run time on exclusive nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timed {
    pub submit: Time,
    pub runtime: Span,
    pub need: Need,
}
