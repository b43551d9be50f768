//! Advance reservation of parallel jobs with deadlines: an availability list a cluster and seven fit policies.
//!
//! Follows B. Li, Y. Pei, B. Shen, H. Wu, M. He, J. Yang, "Resource availability-aware advance reservation for parallel
//! jobs with deadlines". Ours: the exact set of candidate starts, where rectangles without end count as ending, what
//! becomes of malformed and late requests, and the calendar in place of a linked list (`crate::grid::Calendar`).

mod asking;
mod blocked;
mod book;
mod cast;
pub mod fit;
mod holder;
mod mending;
mod meta;
mod moving;
pub mod reference;
mod rules;
#[cfg(test)]
mod tests;
mod trial;
mod warden;
mod watch;

pub use book::{Book, Offer};
pub use cast::{ROW, policies};
pub use holder::Holder;
pub use meta::{Cluster, MetaScheduler};
pub use rules::{Choose, RectEnd, Reservation};
pub use trial::Trial;
pub use warden::Warden;
pub use watch::Watch;
