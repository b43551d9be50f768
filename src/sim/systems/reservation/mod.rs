//! Advance reservation of parallel jobs with deadlines: an availability list per cluster and seven fit policies.
//!
//! Follows B. Li, Y. Pei, B. Shen, H. Wu, M. He, J. Yang, "Resource availability-aware advance reservation for parallel
//! jobs with deadlines". Decisions of ours: the exact set of candidate starts, the end of rectangles without end, the
//! treatment of malformed and late requests, and the calendar in place of a linked list (`crate::grid::Calendar`).

mod allocating;
mod asking;
mod blocked;
mod book;
mod build;
mod choosing;
mod comparing;
mod failing_hold_manager;
pub mod fit;
mod hold_manager;
mod mending;
mod meta;
mod moving;
mod outage_view;
pub mod reference;
mod rules;
mod shapes;
#[cfg(test)]
mod tests;
mod trial;

pub use allocating::Allocates;
pub use book::{ClusterBook, Offer};
pub use build::ROW;
pub use failing_hold_manager::FailingHoldManager;
pub use hold_manager::HoldManager;
pub use meta::{Cluster, MetaScheduler};
pub use outage_view::OutageView;
pub use rules::{Choose, RectEnd, Reservation, ShapeRule};
pub use shapes::{ShapedOffer, WantedJob};
pub use trial::Trial;
