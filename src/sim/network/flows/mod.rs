//! The engine: the flows under way, their rates, and the time of the next end.
//!
//! # How its cost stays low
//!
//! Flows over the same links always have the same rate, so they travel as a **bundle** with one clock: the data that
//! each of its flows has received since the bundle was last empty. A flow ends when the clock shows its reading at the
//! flow's activation plus the flow's volume. However many flows share one link, a start or an end is one operation on a
//! heap.
//!
//! When flows start or end, rates are recomputed only for bundles that share a link with them, directly or through
//! others, and of these only for the ones that are fast enough to be affected. Progressive filling sets rates in
//! ascending order, and
//!
//! - a flow that ends changes no rate below its own: up to that rate, its links were not the ones to fill next, and
//!   without it they are even less so (with the TCP term too, where `C(N)/N = 3c/(3N + 1)`: a link loses less than a
//!   fair share when it loses a flow);
//! - a flow that starts is such a flow in reverse, and its own rate is at least the least `C(N)/N` of its links.
//!
//! So bundles below the least of these rates keep theirs, and their usage is subtracted from their links.
//!
//! Links may go down. The flows on such a link are taken off all their links, with what they have left, and are handed
//! to the caller, which [resumes](Flows::resume) them when and where it decides; so are flows that become active on a
//! broken route. None of this costs anything while all links are up.
//!
//! Cost of a start or an end: O(log n) for its bundle of `n` flows, and O(b + k log k) for the `b` bundles' places on
//! the `k` links that it reaches. All starts and ends of one moment are settled together. A failure costs as much as
//! the ends of all flows on the link; if the link limits flows one by one, all routes are searched for it as well.

mod filling;
mod holding;
mod time;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use super::link::{Link, LinkId, Mode};
use crate::min_tree::MinTree;

pub use time::{FlowMoment, FlowTime};

/// A flow under way. Its number is reused once it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    #[cfg(test)]
    pub(super) const fn of(number: u32) -> FlowId {
        FlowId(number)
    }

    /// A small index, for tables by flow.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Route: links that data crosses one after the other. The same links in the same order have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteId(u32);

/// A flow whose data has all arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedFlow<T = f64> {
    pub flow: FlowId,
    /// Exact end in the model.
    pub at: T,
}

/// All flows of a network; `T` is the type of time.
#[derive(Clone, Debug)]
pub struct Flows<T: FlowTime = f64> {
    now: T,
    links: Vec<SharedLink>,
    /// Round in which each link was last found.
    found: Vec<u64>,
    /// Number of links with flows.
    busy: usize,
    /// True if any route has links that limit flows one by one.
    limited: bool,
    /// Links as the caller described them, for routes and latencies.
    described: Vec<Link>,
    bundles: Vec<Bundle<T>>,
    /// Shared links of each bundle's route, with the bundle's index in the list of each link; one bundle after another.
    crossings: Vec<(u32, u32)>,
    /// Number and rate of the flows of each bundle. Separate from the bundles, because filling mostly reads only these.
    counts: Vec<u32>,
    rates: Vec<f64>,
    /// Round in which each bundle's rate was last set.
    frozen: Vec<u64>,
    /// Flows of each bundle, by clock reading at their end, then by start.
    ending: Vec<BinaryHeap<Reverse<(u64, u64, u32)>>>,
    routes: BTreeMap<Arc<[LinkId]>, RouteId>,
    /// All links of each bundle's route.
    ways: Vec<Arc<[LinkId]>>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    started: u64,
    /// Flows whose latency has not elapsed yet, by the time at which it has.
    waiting: BinaryHeap<Reverse<(T::Key, u64, u32)>>,
    /// Flows without volume or limit; they end when they become active.
    instant: Vec<(u64, u32)>,
    /// End of the first flow of each bundle.
    ends: MinTree<T::Key>,
    /// Bundles whose entries in `ends` are written but not yet propagated.
    written_ends: Vec<u32>,
    changed: Changed,
    /// True for each link that is down; `cut` is their number.
    down: Vec<bool>,
    cut: usize,
    /// Flows that a link outage has stopped and that the caller has not taken yet.
    held: Vec<u32>,
    /// Number of the current round of rate setting.
    round: u64,
    scratch: Scratch,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    bundle: u32,
    /// Position in the order of all starts.
    number: u64,
    volume: f64,
    state: FlowPhase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FlowPhase {
    Waiting,
    /// The data moves; it has arrived once the clock of the flow's bundle shows this.
    Active(f64),
    /// Stopped by an outage with this volume left.
    Held(f64),
    Over,
}

/// A link on which flows compete.
#[derive(Clone, Debug, Default)]
struct SharedLink {
    flows: u32,
    /// Bundles with a flow over the link, each with the index of its crossing.
    bundles: Vec<(u32, u32)>,
    left: f64,
    unfrozen: u32,
    least: f64,
}

/// All flows of one route. Holds only what filling reads and writes, so that it fits into a cache line.
#[derive(Clone, Debug)]
struct Bundle<T> {
    /// Range of its crossings.
    first: u32,
    after: u32,
    changed: bool,
    /// Data that each flow has received since the bundle was last empty, as of `since`.
    clock: f64,
    since: T,
    /// Clock reading at the end of the bundle's first flow.
    next_end: f64,
    /// Least rate that the links that it does not share allow.
    limit: f64,
    latency: f64,
}

impl<T> Bundle<T> {
    fn crossings(&self) -> Range<usize> {
        self.first as usize..self.after as usize
    }
}

/// Changes since rates were last set.
#[derive(Clone, Debug)]
struct Changed {
    bundles: Vec<u32>,
    /// Rates below this one have not changed.
    floor: f64,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    links: Vec<u32>,
    picks: Vec<u32>,
    levels: BinaryHeap<Reverse<(u64, u32)>>,
    limits: Vec<(u64, u32)>,
}

/// A bundle's clock shows at most this many times the volume of a flow that joins, so that the end of the flow keeps at
/// least 43 of the 53 bits of its precision.
const CLOCK_MAX: f64 = 1024.0;

/// A flow has ended when at most this fraction of it is left.
const CRUMB: f64 = 1e-9;

impl<T: FlowTime> Flows<T> {
    /// Creates a network without flows, at time zero.
    ///
    /// # Panics
    ///
    /// Panics if a link is not sound: callers that read links from users check them first.
    pub fn new(links: Vec<Link>) -> Flows<T> {
        assert!(links.iter().all(Link::is_sound), "a link has a capacity above zero and a latency");
        Flows {
            now: T::START,
            links: vec![SharedLink::default(); links.len()],
            found: vec![0; links.len()],
            down: vec![false; links.len()],
            cut: 0,
            held: Vec::new(),
            busy: 0,
            limited: false,
            described: links,
            bundles: Vec::new(),
            crossings: Vec::new(),
            counts: Vec::new(),
            rates: Vec::new(),
            frozen: Vec::new(),
            ending: Vec::new(),
            routes: BTreeMap::new(),
            ways: Vec::new(),
            flows: Vec::new(),
            free: Vec::new(),
            started: 0,
            waiting: BinaryHeap::new(),
            instant: Vec::new(),
            ends: MinTree::new(0, T::NEVER),
            written_ends: Vec::new(),
            changed: Changed { bundles: Vec::new(), floor: f64::INFINITY },
            round: 0,
            scratch: Scratch::default(),
        }
    }

    /// Route over distinct links; over an empty route, data needs no time.
    pub fn route(&mut self, links: &[LinkId]) -> RouteId {
        if let Some(&route) = self.routes.get(links) {
            return route;
        }
        let distinct = links.iter().enumerate().all(|(place, link)| !links[..place].contains(link));
        assert!(distinct, "a route crosses no link twice");
        let route = RouteId(self.bundles.len() as u32);
        let described = || links.iter().map(|link| &self.described[link.index()]);
        let alone = described().filter(|link| link.mode == Mode::PerFlow).map(|link| link.effective(1));
        let shared = links.iter().filter(|link| self.described[link.index()].mode == Mode::Shared);
        let first = self.crossings.len() as u32;
        self.crossings.extend(shared.map(|link| (link.0, 0)));
        self.bundles.push(Bundle {
            first,
            after: self.crossings.len() as u32,
            changed: false,
            clock: 0.0,
            since: T::START,
            next_end: f64::INFINITY,
            limit: alone.fold(f64::INFINITY, f64::min),
            latency: described().map(|link| link.latency).sum(),
        });
        self.ending.push(BinaryHeap::new());
        self.limited |= self.bundles[route.0 as usize].limit.is_finite();
        self.counts.push(0);
        self.rates.push(f64::INFINITY);
        self.frozen.push(0);
        self.ends.reserve(self.bundles.len());
        let way: Arc<[LinkId]> = links.into();
        self.ways.push(way.clone());
        self.routes.insert(way, route);
        route
    }

    /// The links of a route.
    pub fn route_links(&self, route: RouteId) -> &Arc<[LinkId]> {
        &self.ways[route.0 as usize]
    }

    /// Sum of the latencies of a route's links.
    pub fn latency(&self, route: RouteId) -> f64 {
        self.bundles[route.0 as usize].latency
    }

    /// Time to which all flows have advanced.
    pub fn now(&self) -> T {
        self.now
    }

    /// Releases a flow, now or later. It uses its links once their latencies have elapsed.
    pub fn start(&mut self, release: T, route: RouteId, volume: f64) -> FlowId {
        let is_flow = release.sort_key() < T::NEVER && volume >= 0.0 && volume.is_finite();
        assert!(is_flow, "{volume} at {release:?} is no flow");
        let number = self.started;
        self.started += 1;
        let flow = Flow { bundle: route.0, number, volume, state: FlowPhase::Waiting };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flows[slot as usize] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        // Latency delays only the first byte: until it has elapsed, the flow uses no link.
        self.activate_at(release.later_by(self.bundles[route.0 as usize].latency), slot);
        FlowId(slot)
    }

    fn activate_at(&mut self, active: T, slot: u32) {
        if active <= self.now {
            self.activate(slot)
        } else {
            self.waiting.push(Reverse((active.sort_key(), self.flows[slot as usize].number, slot)))
        }
    }

    /// Time at which a flow next becomes active or ends, if none is started before. Never before [`Flows::now`].
    pub fn next_change(&mut self) -> Option<T> {
        if !self.instant.is_empty() {
            return Some(self.now);
        }
        self.set_rates();
        let wait = self.waiting.peek().map_or(T::NEVER, |Reverse((at, _, _))| *at);
        let next = wait.min(self.ends.min());
        (next != T::NEVER).then(|| T::from_key(next.max(self.now.sort_key())))
    }

    /// Advances to a time through all changes up to it, and appends the flows that end on the way to `ended`, by end,
    /// then by start.
    pub fn advance(&mut self, to: T, ended: &mut Vec<EndedFlow<T>>) {
        while let Some(next) = self.next_change()
            && next <= to
        {
            self.now = next;
            self.step(ended);
        }
        if to > self.now {
            self.now = to;
        }
    }

    /// Removes a flow before its end and returns the volume that it had left.
    pub fn stop(&mut self, flow: FlowId) -> f64 {
        let slot = flow.0 as usize;
        let left = self.remaining_volume(flow);
        match self.flows[slot].state {
            FlowPhase::Waiting => {
                self.waiting.retain(|Reverse((_, _, waiting))| *waiting != flow.0);
                self.instant.retain(|(_, waiting)| *waiting != flow.0);
            }
            FlowPhase::Active(_) => {
                let bundle = self.flows[slot].bundle;
                self.ending[bundle as usize].retain(|Reverse((_, _, active))| *active != flow.0);
                self.look_for_the_next_end(bundle as usize);
                self.leave(bundle);
            }
            FlowPhase::Held(_) => self.held.retain(|held| *held != flow.0),
            FlowPhase::Over => panic!("a flow that has ended cannot be stopped"),
        }
        self.forget(flow.0);
        left
    }

    /// Current rate of a flow; zero until its latency has elapsed.
    pub fn rate(&mut self, flow: FlowId) -> f64 {
        self.set_rates();
        let Flow { bundle, state, .. } = self.flows[flow.0 as usize];
        if matches!(state, FlowPhase::Active(_)) { self.rates[bundle as usize] } else { 0.0 }
    }

    /// Volume of a flow that has not arrived yet.
    pub fn remaining_volume(&self, flow: FlowId) -> f64 {
        let Flow { bundle, volume, state, .. } = self.flows[flow.0 as usize];
        match state {
            FlowPhase::Waiting => volume,
            FlowPhase::Active(end) => (end - self.clock(bundle as usize)).clamp(0.0, volume),
            FlowPhase::Held(left) => left,
            FlowPhase::Over => 0.0,
        }
    }

    /// Number of flows on a link; 0 for a link that flows do not share.
    pub fn flow_count(&self, link: LinkId) -> u32 {
        self.links[link.index()].flows
    }
}

/// Steps of the simulation.
impl<T: FlowTime> Flows<T> {
    fn step(&mut self, ended: &mut Vec<EndedFlow<T>>) {
        let first = ended.len();
        // Ends come before new flows, so that a flow that leaves a link and one that joins it at the same moment never
        // share it; then all ends of the moment are reported in the order of starts, whichever of the three ways they
        // ended in.
        let mut over: Vec<(u64, u32)> = std::mem::take(&mut self.instant);
        while let Some(bundle) = self.ends.place_of_min()
            && self.take_ended(bundle, &mut over)
        {}
        while let Some(&Reverse((at, _, slot))) = self.waiting.peek()
            && at <= self.now.sort_key()
        {
            self.waiting.pop();
            self.activate(slot);
        }
        over.append(&mut self.instant);
        over.sort_unstable();
        for &(_, slot) in &over {
            ended.push(EndedFlow { flow: FlowId(slot), at: self.now });
            self.forget(slot);
        }
        debug_assert!(ended[first..].iter().all(|ended| ended.at == self.now));
        over.clear();
        self.instant = over;
    }

    /// Takes the flows of a bundle that have ended by now; true if there is any.
    fn take_ended(&mut self, which: usize, over: &mut Vec<(u64, u32)>) -> bool {
        let clock = self.clock(which);
        // The expected time decides, despite rounding of the clock.
        let mut due = self.ends.min() <= self.now.sort_key();
        let mut any = false;
        while let Some(&Reverse((end, number, slot))) = self.ending[which].peek() {
            let left = f64::from_bits(end) - clock;
            if !due && left > CRUMB * self.flows[slot as usize].volume {
                break;
            }
            self.ending[which].pop();
            over.push((number, slot));
            self.leave(which as u32);
            (due, any) = (false, true);
        }
        if any {
            self.look_for_the_next_end(which);
            self.expect_end(which);
        }
        any
    }

    fn activate(&mut self, slot: u32) {
        let Flow { bundle: which, number, volume, .. } = self.flows[slot as usize];
        let bundle = &self.bundles[which as usize];
        // Outages do not stop a flow without volume.
        if self.cut > 0 && volume > 0.0 && self.ways[which as usize].iter().any(|link| self.down[link.index()]) {
            self.flows[slot as usize].state = FlowPhase::Held(volume);
            return self.held.push(slot);
        }
        if volume == 0.0 || (bundle.crossings().is_empty() && bundle.limit.is_infinite()) {
            return self.instant.push((number, slot));
        }
        // An idle clock restarts at zero, and a busy one is turned back before rounding would lose the volume.
        let clock = match self.counts[which as usize] {
            0 => 0.0,
            _ => match self.clock(which as usize) {
                far if far > CLOCK_MAX * volume => self.turn_back(which as usize, far),
                near => near,
            },
        };
        let end = clock + volume;
        let bundle = &mut self.bundles[which as usize];
        bundle.next_end = if self.counts[which as usize] == 0 { end } else { bundle.next_end.min(end) };
        self.ending[which as usize].push(Reverse((sortable_bits(end), number, slot)));
        self.flows[slot as usize].state = FlowPhase::Active(end);
        self.join(which);
    }

    /// Sets a bundle's clock to zero and subtracts its reading `by` from the ends of the bundle's flows. Returns the
    /// clock.
    ///
    /// O(n) for `n` flows, each of which has received [`CLOCK_MAX`] times the volume of the joining flow since the last
    /// time. The subtraction is exact, except for ends above twice `by`; these are rounded as any volume is.
    fn turn_back(&mut self, which: usize, by: f64) -> f64 {
        let mut ends = std::mem::take(&mut self.ending[which]).into_vec();
        for Reverse((end, _, slot)) in &mut ends {
            let left = (f64::from_bits(*end) - by).max(0.0);
            *end = sortable_bits(left);
            self.flows[*slot as usize].state = FlowPhase::Active(left);
        }
        self.ending[which] = ends.into();
        (self.bundles[which].clock, self.bundles[which].since) = (0.0, self.now);
        self.look_for_the_next_end(which);
        0.0
    }

    fn join(&mut self, which: u32) {
        let bundle = &mut self.bundles[which as usize];
        self.counts[which as usize] += 1;
        let begins = self.counts[which as usize] == 1;
        if begins {
            (bundle.clock, bundle.since) = (0.0, self.now);
            // An infinite rate puts the bundle above the floor; it has used nothing yet.
            self.rates[which as usize] = f64::INFINITY;
        }
        for (number, (link, place)) in (bundle.first..).zip(&mut self.crossings[bundle.crossings()]) {
            let link = &mut self.links[*link as usize];
            link.flows += 1;
            self.busy += usize::from(link.flows == 1);
            if begins {
                *place = link.bundles.len() as u32;
                link.bundles.push((which, number));
            }
        }
        self.mark_changed(which);
    }

    fn leave(&mut self, which: u32) {
        self.counts[which as usize] -= 1;
        let empty = self.counts[which as usize] == 0;
        self.changed.floor = self.changed.floor.min(self.rates[which as usize]);
        for at in self.bundles[which as usize].crossings() {
            let (link, place) = self.crossings[at];
            let link = &mut self.links[link as usize];
            link.flows -= 1;
            self.busy -= usize::from(link.flows == 0);
            if empty {
                // `swap_remove` moves the last crossing here; it must learn its new index.
                link.bundles.swap_remove(place as usize);
                if let Some(&(_, number)) = link.bundles.get(place as usize) {
                    self.crossings[number as usize].1 = place;
                }
            }
        }
        self.mark_changed(which);
    }

    fn mark_changed(&mut self, which: u32) {
        let bundle = &mut self.bundles[which as usize];
        if !bundle.changed {
            bundle.changed = true;
            self.changed.bundles.push(which);
        }
    }

    fn forget(&mut self, slot: u32) {
        self.flows[slot as usize].state = FlowPhase::Over;
        self.free.push(slot);
    }

    /// Current reading of a bundle's clock.
    fn clock(&self, which: usize) -> f64 {
        let bundle = &self.bundles[which];
        let passed = self.now.elapsed_since(bundle.since);
        // An infinite rate has no time to add anything.
        if passed > 0.0 { bundle.clock + passed * self.rates[which] } else { bundle.clock }
    }

    fn look_for_the_next_end(&mut self, which: usize) {
        let next = self.ending[which].peek().map(|Reverse((end, _, _))| f64::from_bits(*end));
        self.bundles[which].next_end = next.unwrap_or(f64::INFINITY);
    }

    fn expect_end(&mut self, which: usize) {
        self.ends.set(which, self.end(which));
    }

    /// End of a bundle's first flow if its rate stays.
    fn end(&self, which: usize) -> T::Key {
        let bundle = &self.bundles[which];
        match self.counts[which] {
            0 => T::NEVER,
            _ => bundle.since.later_by(((bundle.next_end - bundle.clock) / self.rates[which]).max(0.0)).sort_key(),
        }
    }

    fn set_rate(&mut self, which: usize, rate: f64) {
        if rate != self.rates[which] {
            // Bring the clock up to date at the old rate.
            self.bundles[which].clock = self.clock(which);
            self.bundles[which].since = self.now;
            self.rates[which] = rate;
        } else if !self.bundles[which].changed {
            return;
        }
        self.ends.write(which, self.end(which));
        self.written_ends.push(which as u32);
    }
}

/// Bits of a number that is not negative; they sort like the number.
fn sortable_bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}
