//! Link failures, and their effect on flows.
//!
//! No data crosses a link while it is down. Flows that use it are stopped, and so are flows that become active on a
//! broken route; the [rule](Interrupted) decides their further course. Within one instant, flows end first, then links
//! come up and go down, then flows become active.
//!
//! There is no lookahead, and no timer runs while no flow is under way: a run is over when its work is. Link changes of
//! such a time are reported when the next flow starts.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Transfers;
use super::flows::{FlowId, FlowMoment, Flows, RouteId};
use super::link::LinkId;
use super::map::{AdjacencyMap, PathTree};
use super::transfers::time_after;
use crate::grid::{CableId, Interrupted, Outages};
use crate::time::Time;

/// Links that fail, and the flows under way on them.
pub struct Faults {
    rule: Interrupted,
    fragile: Vec<FailureTarget>,
    /// Time of the next change of each target.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    detours: Detours,
    /// The trip of each flow, by its index.
    trips: Vec<Option<Trip>>,
    under_way: usize,
    /// Stopped flows, by a link that each waits for.
    waiting: BTreeMap<LinkId, Vec<FlowId>>,
    /// Changes that have not been logged yet.
    notices: Vec<Notice>,
}

/// A cable that fails, in all of its directions.
pub struct FailureTarget {
    pub cable: CableId,
    pub links: Vec<LinkId>,
    pub outages: Outages,
}

/// Alternative routes.
pub struct Detours {
    pub map: AdjacencyMap,
    /// Place on the map of each of the carrier's sites.
    pub sites: Vec<usize>,
    /// Cable of each link.
    pub cables: Vec<CableId>,
    /// Shortest paths from a place over the links that are up.
    trees: BTreeMap<usize, PathTree>,
}

/// A flow under way.
#[derive(Clone, Copy)]
struct Trip {
    ends: (u32, u32),
    /// Route without failures, and current route.
    own: RouteId,
    route: RouteId,
    bytes: u64,
    /// Volume left; valid while it is stopped.
    left: f64,
}

/// A change to be logged.
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
    /// Continues; `via` is empty if its route has not changed.
    Continued {
        flow: FlowId,
        left: u64,
        via: Vec<CableId>,
        active: Time,
    },
}

impl Detours {
    pub fn new(map: AdjacencyMap, sites: Vec<usize>, cables: Vec<CableId>) -> Detours {
        Detours { map, sites, cables, trees: BTreeMap::new() }
    }

    /// Shortest route over links that are up.
    fn find_route(&mut self, (from, to): (u32, u32), flows: &Flows<FlowMoment>) -> Option<Vec<LinkId>> {
        let [from, to] = [from, to].map(|site| self.sites[site as usize]);
        let map = &self.map;
        let tree = self.trees.entry(from).or_insert_with(|| map.shortest(from, |link| !flows.is_down(link)));
        tree.path_to(to)
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
            waiting: BTreeMap::new(),
            notices: Vec::new(),
        }
    }

    /// Time of the next change of a link; None if no flow is under way.
    pub(super) fn next(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at).filter(|_| self.under_way > 0)
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Called before a flow is sent: applies the link changes since the last flow ended.
    pub(super) fn catch_up(&mut self, now: Time, flows: &mut Flows<FlowMoment>) -> Vec<Notice> {
        if self.under_way > 0 {
            return Vec::new();
        }
        self.apply_changes(now, flows);
        self.take_notices()
    }

    /// Releases a flow and returns the time at which it becomes active.
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
        let active = time_after(now, flows.latency(route));
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

    /// Advances to a time through all ends and link changes before it.
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
            let back = if self.next() == Some(at) { self.apply_changes(at, transfers.flows()) } else { Vec::new() };
            self.settle_stopped(at, &back, transfers.flows());
        }
        transfers.advance(to, ended);
    }

    /// Decides about the flows stopped by now, and about those that waited for the links in `back`.
    pub(super) fn settle_stopped(&mut self, now: Time, back: &[LinkId], flows: &mut Flows<FlowMoment>) {
        let mut open = Vec::new();
        for flow in flows.take_held() {
            let trip = self.trips[flow.index()].as_mut().expect("what is stopped is on a trip");
            trip.left = flows.remaining_volume(flow);
            if broken_link(trip.route, flows).is_none() {
                // It became active in the instant in which the link came up.
                flows.resume(flow, trip.route, trip.left, now.into());
                continue;
            }
            self.notices.push(Notice::Stalled { flow, left: whole_bytes(trip.left, trip.bytes) });
            open.push(flow);
        }
        if !back.is_empty() && self.rule == Interrupted::Reroute {
            open.extend(std::mem::take(&mut self.waiting).into_values().flatten());
        }
        open.extend(back.iter().filter_map(|link| self.waiting.remove(link)).flatten());
        open.sort_unstable_by_key(|flow| flows.number(*flow));
        open.into_iter().for_each(|flow| self.decide(now, flow, flows));
    }

    fn decide(&mut self, now: Time, flow: FlowId, flows: &mut Flows<FlowMoment>) {
        let mut trip = self.trips[flow.index()].expect("what is stopped is on a trip");
        let whole_way = match self.rule {
            Interrupted::Reroute => self.open_way(trip.ends, trip.own, flows),
            Interrupted::Wait | Interrupted::Restart => broken_link(trip.route, flows).is_none().then_some(trip.route),
        };
        let Some(route) = whole_way else {
            let link = broken_link(trip.route, flows).expect("the way that it was on is one that there could be");
            return self.waiting.entry(link).or_default().push(flow);
        };
        let (left, active, via) = match self.rule {
            Interrupted::Restart => (trip.bytes as f64, time_after(now, flows.latency(route)), Vec::new()),
            _ if route == trip.route => (trip.left, now, Vec::new()),
            _ => (trip.left, time_after(now, flows.latency(route)), self.cables(route, flows)),
        };
        trip.route = route;
        self.trips[flow.index()] = Some(trip);
        flows.resume(flow, trip.route, left, active.into());
        self.notices.push(Notice::Continued { flow, left: whole_bytes(left, trip.bytes), via, active });
    }

    /// Route that is up: the own one if possible, else a detour if the rule allows it.
    fn open_way(&mut self, ends: (u32, u32), own: RouteId, flows: &mut Flows<FlowMoment>) -> Option<RouteId> {
        if self.rule != Interrupted::Reroute || broken_link(own, flows).is_none() {
            return broken_link(own, flows).is_none().then_some(own);
        }
        let way = self.detours.find_route(ends, flows)?;
        Some(flows.route(&way))
    }

    fn cables(&self, route: RouteId, flows: &Flows<FlowMoment>) -> Vec<CableId> {
        flows.route_links(route).iter().map(|link| self.detours.cables[link.index()]).collect()
    }

    /// Applies the link changes that are due; returns the links that came up.
    fn apply_changes(&mut self, to: Time, flows: &mut Flows<FlowMoment>) -> Vec<LinkId> {
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
fn broken_link(route: RouteId, flows: &Flows<FlowMoment>) -> Option<LinkId> {
    flows.route_links(route).iter().copied().find(|link| flows.is_down(*link))
}

/// Rest in whole bytes: a started byte counts, an excess from rounding does not.
fn whole_bytes(left: f64, bytes: u64) -> u64 {
    if left >= bytes as f64 {
        return bytes;
    }
    let rounding = (1e-6 + 1e-13 * bytes as f64).min(0.5);
    (left - rounding).ceil().max(0.0) as u64
}
