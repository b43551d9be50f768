//! Flows in virtual time: whole microseconds outside, the exact model inside.

use super::flows::{EndedFlow, FlowId, FlowMoment, Flows, RouteId};
use super::link::Link;
use crate::time::{Span, Time};

/// Fraction of a microsecond that an end may be rounded down by.
pub(super) const FORGIVEN: f64 = 1e-3;

/// Flows of whole bytes that are released at whole microseconds, over links whose capacity is in bytes a microsecond
/// and whose latency is in microseconds.
///
/// Inside, flows share the links in exact time. A flow has ended for its user at the first whole microsecond at or
/// after its exact end, so roundings never add up. A thousandth of a microsecond is forgiven, so that an end that
/// misses a whole microsecond only by the last bits of a floating-point number is at that microsecond.
///
/// No floating-point number holds a time since the start of a run (see [`FlowMoment`]): if all releases are shifted by
/// a span, all ends are shifted by that span. Nothing ends before the time to which the transfers have been advanced.
#[derive(Clone, Debug)]
pub struct Transfers {
    flows: Flows<FlowMoment>,
    ended: Vec<EndedFlow<FlowMoment>>,
}

impl Transfers {
    pub fn new(links: Vec<Link>) -> Transfers {
        Transfers { flows: Flows::new(links), ended: Vec::new() }
    }

    /// The flows inside, for their routes and their current state.
    pub fn flows(&mut self) -> &mut Flows<FlowMoment> {
        &mut self.flows
    }

    /// Releases a flow; the transfers have been advanced to no later than `release`.
    pub fn start(&mut self, release: Time, route: RouteId, bytes: u64) -> FlowId {
        self.flows.start(release.into(), route, bytes as f64)
    }

    /// Next time at which something may have ended; nothing ends before it.
    pub fn next_change(&mut self) -> Option<Time> {
        self.flows.next_change().map(|next| next.round_up(FORGIVEN))
    }

    /// Advances to a time and appends the flows that have ended by then to `ended`, by exact end, then by start.
    pub fn advance(&mut self, to: Time, ended: &mut Vec<FlowId>) {
        while let Some(next) = self.flows.next_change()
            && next.round_up(FORGIVEN) <= to
        {
            self.flows.advance(next, &mut self.ended);
        }
        self.flows.advance(to.into(), &mut self.ended);
        ended.extend(self.ended.drain(..).map(|ended| ended.flow));
    }
}

/// Time at which a latency has elapsed; [`Time`] saturates if the latency exceeds it.
pub(super) fn time_after(release: Time, latency: f64) -> Time {
    release + Span::from_micros(latency as u64)
}
