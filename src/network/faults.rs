//! How links fail, and what becomes of the data on them.
//!
//! As long as a link is down, no data crosses it. A flow that uses it then is stopped, and so is one that becomes
//! active on a way that is cut; what is done about that, the [rule](Interrupted) says. Of one instant, flows end first,
//! then links come back and fail, then flows become active.
//!
//! Nobody looks ahead, and while nothing is under way nobody looks at all: a run is over when its work is. What has
//! happened to links meanwhile is told when something sets out.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Transfers;
use super::flows::{FlowId, Flows, Moment, RouteId};
use super::link::LinkId;
use super::map::{Map, Tree};
use super::transfers::after;
use crate::few;
use crate::grid::{CableId, Interrupted, Outages};
use crate::time::Time;

/// Links that fail, and the flows that are under way among them.
pub struct Faults {
    rule: Interrupted,
    fragile: Vec<FailureTarget>,
    /// When each of them changes next.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    detours: Detours,
    /// By flow.
    trips: Vec<Option<Trip>>,
    under_way: usize,
    /// Flows that are stopped, by a link for which they wait.
    waiting: few::Map<LinkId, Vec<FlowId>>,
    /// What has happened since somebody last wrote it down.
    notices: Vec<Notice>,
}

/// A cable that fails, with all of its directions.
pub struct FailureTarget {
    pub cable: CableId,
    pub links: Vec<LinkId>,
    pub outages: Outages,
}

/// Where else data may go.
pub struct Detours {
    pub map: Map,
    /// By the carrier's sites, where they are on the map.
    pub sites: Vec<usize>,
    /// By link, whose direction it is.
    pub cables: Vec<CableId>,
    /// The ways from a place over the links that are up.
    trees: few::Map<usize, Tree>,
}

/// A flow on its way.
#[derive(Clone, Copy)]
struct Trip {
    ends: (u32, u32),
    /// The way that it would go if nothing failed, and the one that it goes.
    own: RouteId,
    route: RouteId,
    bytes: u64,
    /// How much is left, while it is stopped.
    left: f64,
}

/// What is to be written down.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Notice {
    Turned {
        cable: CableId,
        is_up: bool,
        since: Time,
    },
    Stalled {
        flow: FlowId,
        left: u64,
    },
    /// Over the same way as before, if there is none.
    Continued {
        flow: FlowId,
        left: u64,
        via: Vec<CableId>,
        active: Time,
    },
}

impl Detours {
    pub fn new(map: Map, sites: Vec<usize>, cables: Vec<CableId>) -> Detours {
        Detours { map, sites, cables, trees: few::Map::new() }
    }

    /// The shortest way over links that are up.
    fn way(&mut self, (from, to): (u32, u32), flows: &Flows<Moment>) -> Option<Vec<LinkId>> {
        let [from, to] = [from, to].map(|site| self.sites[site as usize]);
        let map = &self.map;
        let tree = self.trees.or_insert_with(from, || map.shortest(from, |link| !flows.is_down(link)));
        tree.way(to)
    }
}

impl Faults {
    pub fn new(rule: Interrupted, fragile: Vec<FailureTarget>, detours: Detours) -> Faults {
        let due = fragile.iter().zip(0..).filter_map(|(one, which)| Some(Reverse((one.outages.next()?, which))));
        Faults {
            rule,
            due: due.collect(),
            fragile,
            detours,
            trips: Vec::new(),
            under_way: 0,
            waiting: few::Map::new(),
            notices: Vec::new(),
        }
    }

    /// When a link fails or comes back next, if anything is under way that could mind.
    pub(super) fn next(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at).filter(|_| self.under_way > 0)
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Before something is sent: whatever happened while nobody looked, as nothing was under way.
    pub(super) fn catch_up(&mut self, now: Time, flows: &mut Flows<Moment>) -> Vec<Notice> {
        if self.under_way > 0 {
            return Vec::new();
        }
        self.turn(now, flows);
        self.take_notices()
    }

    /// Releases a flow, and says when it becomes active.
    pub(super) fn start(
        &mut self,
        now: Time,
        own: RouteId,
        ends: (u32, u32),
        bytes: u64,
        transfers: &mut Transfers,
    ) -> (FlowId, Time) {
        let flows = transfers.flows();
        let route = if bytes > 0 { self.open_way(ends, own, flows).unwrap_or(own) } else { own };
        let active = after(now, flows.latency(route));
        let via = if route == own { Vec::new() } else { self.cables(route, flows) };
        let flow = transfers.start(now, route, bytes);
        if self.trips.len() <= flow.index() {
            self.trips.resize(flow.index() + 1, None);
        }
        self.trips[flow.index()] = Some(Trip { ends, own, route, bytes, left: bytes as f64 });
        self.under_way += 1;
        if !via.is_empty() {
            self.notices.push(Notice::Continued { flow, left: bytes, via, active });
        }
        (flow, active)
    }

    /// Moves on to a time through all that ends and fails on the way.
    pub(super) fn advance(&mut self, to: Time, transfers: &mut Transfers, ended: &mut Vec<FlowId>) {
        while let Some(at) = transfers.next_change().into_iter().chain(self.next()).min()
            && at <= to
        {
            let before = ended.len();
            transfers.advance(at, ended);
            for flow in &ended[before..] {
                self.trips[flow.index()] = None;
                self.under_way -= 1;
            }
            let back = if self.next() == Some(at) { self.turn(at, transfers.flows()) } else { Vec::new() };
            self.settle(at, &back, transfers.flows());
        }
        transfers.advance(to, ended);
    }

    /// Decides about the flows that have been stopped by now, and about those that waited for links which are back.
    pub(super) fn settle(&mut self, now: Time, back: &[LinkId], flows: &mut Flows<Moment>) {
        let mut open = Vec::new();
        for flow in flows.take_held() {
            let trip = self.trips[flow.index()].as_mut().expect("what is stopped is on a trip");
            trip.left = flows.left(flow);
            if cut(trip.route, flows).is_none() {
                // It became active in the instant in which the link came back.
                flows.go_on(flow, trip.route, trip.left, now.into());
                continue;
            }
            self.notices.push(Notice::Stalled { flow, left: whole(trip.left, trip.bytes) });
            open.push(flow);
        }
        if !back.is_empty() && self.rule == Interrupted::Reroute {
            open.extend(std::mem::take(&mut self.waiting).into_values().flatten());
        }
        open.extend(back.iter().filter_map(|link| self.waiting.remove(link)).flatten());
        open.sort_unstable_by_key(|flow| flows.number(*flow));
        open.into_iter().for_each(|flow| self.decide(now, flow, flows));
    }

    fn decide(&mut self, now: Time, flow: FlowId, flows: &mut Flows<Moment>) {
        let mut trip = self.trips[flow.index()].expect("what is stopped is on a trip");
        let whole_way = match self.rule {
            Interrupted::Reroute => self.open_way(trip.ends, trip.own, flows),
            Interrupted::Wait | Interrupted::Restart => cut(trip.route, flows).is_none().then_some(trip.route),
        };
        let Some(route) = whole_way else {
            let link = cut(trip.route, flows).expect("the way that it was on is one that there could be");
            return self.waiting.or_default(link).push(flow);
        };
        let (left, active, via) = match self.rule {
            Interrupted::Restart => (trip.bytes as f64, after(now, flows.latency(route)), Vec::new()),
            _ if route == trip.route => (trip.left, now, Vec::new()),
            _ => (trip.left, after(now, flows.latency(route)), self.cables(route, flows)),
        };
        trip.route = route;
        self.trips[flow.index()] = Some(trip);
        flows.go_on(flow, trip.route, left, active.into());
        self.notices.push(Notice::Continued { flow, left: whole(left, trip.bytes), via, active });
    }

    /// A way for data that may go elsewhere, and its own one if that is whole.
    fn open_way(&mut self, ends: (u32, u32), own: RouteId, flows: &mut Flows<Moment>) -> Option<RouteId> {
        if self.rule != Interrupted::Reroute || cut(own, flows).is_none() {
            return cut(own, flows).is_none().then_some(own);
        }
        let way = self.detours.way(ends, flows)?;
        Some(flows.route(&way))
    }

    fn cables(&self, route: RouteId, flows: &Flows<Moment>) -> Vec<CableId> {
        flows.way(route).iter().map(|link| self.detours.cables[link.index()]).collect()
    }

    /// Lets links fail and come back that are due to; gives those that are back.
    fn turn(&mut self, to: Time, flows: &mut Flows<Moment>) -> Vec<LinkId> {
        let mut back = Vec::new();
        while let Some(&Reverse((at, which))) = self.due.peek()
            && at <= to
        {
            self.due.pop();
            let FailureTarget { cable, links, outages } = &mut self.fragile[which];
            for change in outages.advance(at) {
                self.detours.trees.clear();
                self.notices.push(Notice::Turned { cable: *cable, is_up: change.is_up, since: change.at });
                match change.is_up {
                    true => links.iter().for_each(|link| flows.repair(*link)),
                    false => links.iter().for_each(|link| flows.fail(*link)),
                }
                back.extend(links.iter().filter(|_| change.is_up));
            }
            self.due.extend(outages.next().map(|next| Reverse((next, which))));
        }
        back
    }
}

/// A link of a route that is down.
fn cut(route: RouteId, flows: &Flows<Moment>) -> Option<LinkId> {
    flows.way(route).iter().copied().find(|link| flows.is_down(*link))
}

/// Of what is left, a byte that has been begun is; what rounding has added is none.
fn whole(left: f64, bytes: u64) -> u64 {
    if left >= bytes as f64 {
        return bytes;
    }
    let rounding = (1e-6 + 1e-13 * bytes as f64).min(0.5);
    (left - rounding).ceil().max(0.0) as u64
}
