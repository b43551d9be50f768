//! Co-allocation: the same start at several sites, or at none.
//!
//! The thesis names co-allocation as an aim; the protocol is ours. Sites hold parts for a while on request
//! (`desk/holds.rs`), and a coordinator commits all holds or none (`coordinator.rs`). Its decision is in its log before
//! any site hears of it, so a coordinator that recovers with nothing but the log can end what it began. No process
//! waits for a lock: sites answer at once, and holds lapse by themselves. The fixed order of sites only keeps two
//! requests from refusing each other in turn.

mod coordinator;
mod starts;
#[cfg(test)]
mod tests;

pub use coordinator::{
    CoallocationOutcome, CoallocationRequest, Coordinator, CoordinatorStep, HoldOrder, Leg, LegAnswer, LogEntry,
    Patience,
};
pub use starts::{Pool, StartQuestion};
