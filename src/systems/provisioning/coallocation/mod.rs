//! The same start at several sites, or at none.
//!
//! The thesis names it as its aim; the protocol is ours. Sites hold what they are asked to for a while
//! (`desk/holds.rs`), and whoever coordinates commits all holds or none (`coordinator.rs`). His decision is in his log
//! before anybody hears of it, so a coordinator that comes back with nothing but that can end what he began. No lock is
//! waited for: sites answer at once, and holds lapse by themselves, so all that a fixed order of sites is for is to
//! keep two requests from refusing each other in turn.

mod coordinator;
mod starts;
#[cfg(test)]
mod tests;

pub use coordinator::{Answer, Coordinator, Deed, Leg, Log, Order, Outcome, Patience, Request};
pub use starts::{Pool, Question};
