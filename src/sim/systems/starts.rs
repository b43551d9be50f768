//! Possible starts of a request for nodes, as the rule of its system compares them ([`super::System::start_rule`]).
//! Reports ask the rule again, with books that they make from the log.

use std::fmt::Debug;

use crate::grid::{Clash, NodeSet, Rectangle, Request};
use crate::time::Time;

/// The rule by which a system chooses among the possible starts of a request.
pub trait StartRule: Debug + Send + Sync {
    /// Name of the rule in topologies.
    fn name(&self) -> &'static str;

    /// Meaning of the rule.
    fn about(&self) -> &'static str;

    /// An empty book of a site.
    fn open_book(&self, nodes: u32) -> Box<dyn StartBook>;

    /// Every rule that a topology may name, with the start that it takes among these.
    fn starts_by_rule(&self, starts: &[Rectangle]) -> Vec<(&'static str, Option<Time>)>;
}

/// The booked nodes of one site. Questions are asked in the order of time.
pub trait StartBook {
    /// The start that the rule takes for a request, with its nodes; None if there is none.
    fn find(&mut self, now: Time, request: &Request) -> Option<(Time, NodeSet)>;

    /// The largest free rectangle around each possible start, in order of time, with its nodes.
    fn starts(&mut self, now: Time, request: &Request) -> Vec<(Rectangle, NodeSet)>;

    /// Books nodes.
    fn book(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash>;

    /// Frees the rest of a booking from a time on.
    fn free(&mut self, start: Time, end: Time, nodes: &NodeSet) -> Result<(), Clash>;
}
