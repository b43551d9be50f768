//! The engine: which flows are under way, how fast each is, and when the next one ends.
//!
//! # How it stays cheap
//!
//! Flows over the same links have the same rate at all times, so they travel as a **bundle** with one clock: the data
//! that each of its flows has had since the bundle was last empty. A flow ends when the clock shows what it showed when
//! the flow became active, plus its volume. However many flows share one link, a start or an end is one operation on
//! a heap.
//!
//! When flows start or end, only those bundles are looked at again that share a link with them, directly or through
//! others, and of these only the ones that are fast enough to notice. Progressive filling sets rates from the lowest
//! up, and
//!
//! - a flow that leaves changes no rate below its own: up to there, its links were not the ones to fill next, and with
//!   it gone they are less so (with the TCP term too, where `C(N)/N = 3c/(3N + 1)`: a link loses less than a fair share
//!   when it loses a flow);
//! - a flow that comes is such a flow seen backwards, and its own rate is at least the least `C(N)/N` of its links.
//!
//! So bundles below the least of these rates are left alone, and what they use is taken off their links.
//!
//! Links may go down. Whatever is on one then is taken off all its links, as it is, and is handed to whoever runs the
//! network, who lets it [go on](Flows::go_on) when and where they like; so do flows that become active on a way that is
//! cut. Nothing of this is looked at as long as all links are up.
//!
//! Cost of a start or an end: O(log n) for its bundle of `n` flows, and O(b + k log k) for the `b` bundles' places on
//! the `k` links that it reaches. All starts and ends of one moment are settled together. A failure costs as much as
//! the ends of all flows on the link; where these need not share it, all routes are searched for them, too.

mod filling;
mod holding;
mod time;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use super::link::{Link, LinkId, Mode};
use crate::min_tree::MinTree;

pub use time::{FlowTime, Moment};

/// A flow under way. Its number is given again once it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
    #[cfg(test)]
    pub(super) const fn of(number: u32) -> FlowId {
        FlowId(number)
    }

    /// Small, for whoever keeps something by flow.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Links that data crosses one after the other; the same links in the same order have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RouteId(u32);

/// A flow whose data has all arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended<T = f64> {
    pub flow: FlowId,
    /// Exactly when, as the model has it.
    pub at: T,
}

/// All flows of a network, in the time `T`.
#[derive(Clone, Debug)]
pub struct Flows<T: FlowTime = f64> {
    now: T,
    links: Vec<SharedLink>,
    /// The round in which each link was last found.
    found: Vec<u64>,
    /// How many links have flows.
    busy: usize,
    /// Whether any route has links that limit a flow alone.
    limited: bool,
    /// As the caller described them, for routes and latencies.
    described: Vec<Link>,
    bundles: Vec<Bundle<T>>,
    /// The shared links of each bundle's route, and its place in the list of each; one bundle after another.
    crossings: Vec<(u32, u32)>,
    /// How many flows each bundle has, and how fast each of them is; beside the bundles because most of what filling
    /// looks at it looks at for these alone.
    counts: Vec<u32>,
    rates: Vec<f64>,
    /// The round in which each bundle's rate was last set.
    frozen: Vec<u64>,
    /// The flows of each bundle: by what its clock shows at their end, then in order of their start.
    ending: Vec<BinaryHeap<Reverse<(u64, u64, u32)>>>,
    routes: BTreeMap<Arc<[LinkId]>, RouteId>,
    /// The links of each bundle's route, all of them.
    ways: Vec<Arc<[LinkId]>>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    started: u64,
    /// Flows whose latency has not elapsed yet, by when it has.
    waiting: BinaryHeap<Reverse<(T::Key, u64, u32)>>,
    /// Flows that move nothing or need no time to, and end as soon as they are asked for.
    instant: Vec<(u64, u32)>,
    /// End of the first flow of each bundle.
    ends: MinTree<T::Key>,
    /// Bundles whose ends have been written there, but not told.
    untold: Vec<u32>,
    changed: Changed,
    /// Which links are down, and how many.
    down: Vec<bool>,
    cut: usize,
    /// Flows that a link which is down has stopped, and that nobody has asked for yet.
    held: Vec<u32>,
    /// Counts the times that rates were set.
    round: u64,
    scratch: Scratch,
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    bundle: u32,
    /// The order in which flows were started.
    number: u64,
    volume: f64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting,
    /// Ends when its bundle's clock shows this.
    Active(f64),
    /// A link on its way is down; so much is left.
    Held(f64),
    Over,
}

/// A link on which flows compete.
#[derive(Clone, Debug, Default)]
struct SharedLink {
    flows: u32,
    /// Bundles with a flow over it, and which crossing that is.
    bundles: Vec<(u32, u32)>,
    left: f64,
    unfrozen: u32,
    least: f64,
}

/// All flows of one route; what filling reads and writes of it, and so little that it fits a line of the cache.
#[derive(Clone, Debug)]
struct Bundle<T> {
    /// Where its crossings are.
    first: u32,
    after: u32,
    changed: bool,
    /// What each of its flows has had since it was last empty, as of `since`.
    clock: f64,
    since: T,
    /// What the clock shows when the first of its flows ends.
    next_end: f64,
    /// The least that its other links allow.
    limit: f64,
    latency: f64,
}

impl<T> Bundle<T> {
    fn crossings(&self) -> Range<usize> {
        self.first as usize..self.after as usize
    }
}

/// What has happened since rates were last set.
#[derive(Clone, Debug)]
struct Changed {
    bundles: Vec<u32>,
    /// No rate below this one is different now.
    floor: f64,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    links: Vec<u32>,
    picks: Vec<u32>,
    levels: BinaryHeap<Reverse<(u64, u32)>>,
    limits: Vec<(u64, u32)>,
}

/// A bundle's clock shows at most this many times the volume of a flow that joins, so that at least 43 of the 53 bits
/// of the flow's end are its own.
const CLOCK_MAX: f64 = 1024.0;

/// A flow has ended when no more than this share of it is left.
const CRUMB: f64 = 1e-9;

impl<T: FlowTime> Flows<T> {
    /// No flows yet, at time zero.
    ///
    /// # Panics
    ///
    /// If a link is not sound: whoever reads links from a person checks them first.
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
            untold: Vec::new(),
            changed: Changed { bundles: Vec::new(), floor: f64::INFINITY },
            round: 0,
            scratch: Scratch::default(),
        }
    }

    /// A route over these distinct links; over none, data needs no time.
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
    pub fn way(&self, route: RouteId) -> &Arc<[LinkId]> {
        &self.ways[route.0 as usize]
    }

    /// The sum of the latencies of a route's links.
    pub fn latency(&self, route: RouteId) -> f64 {
        self.bundles[route.0 as usize].latency
    }

    /// The moment to which all flows have advanced.
    pub fn now(&self) -> T {
        self.now
    }

    /// Releases a flow, now or later. It uses the links once their latencies have elapsed.
    pub fn start(&mut self, release: T, route: RouteId, volume: f64) -> FlowId {
        let is_flow = release.key() < T::NEVER && volume >= 0.0 && volume.is_finite();
        assert!(is_flow, "{volume} at {release:?} is no flow");
        let number = self.started;
        self.started += 1;
        let flow = Flow { bundle: route.0, number, volume, state: State::Waiting };
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
        // Latency delays the first byte and then nothing more: until it has elapsed, the flow uses no link.
        self.activate_at(release.after(self.bundles[route.0 as usize].latency), slot);
        FlowId(slot)
    }

    fn activate_at(&mut self, active: T, slot: u32) {
        if active <= self.now {
            self.activate(slot)
        } else {
            self.waiting.push(Reverse((active.key(), self.flows[slot as usize].number, slot)))
        }
    }

    /// When a flow next becomes active or ends, if nothing is started before. Never before [`Flows::now`].
    pub fn next_change(&mut self) -> Option<T> {
        if !self.instant.is_empty() {
            return Some(self.now);
        }
        self.settle();
        let wait = self.waiting.peek().map_or(T::NEVER, |Reverse((at, _, _))| *at);
        let next = wait.min(self.ends.min());
        (next != T::NEVER).then(|| T::from_key(next.max(self.now.key())))
    }

    /// Moves on to a time, through all changes up to it, and adds the flows that end on the way to `ended`, in order
    /// of their end, then of their start.
    pub fn advance(&mut self, to: T, ended: &mut Vec<Ended<T>>) {
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

    /// Takes a flow away before its end, and says how much of it was left.
    pub fn stop(&mut self, flow: FlowId) -> f64 {
        let slot = flow.0 as usize;
        let left = self.left(flow);
        match self.flows[slot].state {
            State::Waiting => {
                self.waiting.retain(|Reverse((_, _, waiting))| *waiting != flow.0);
                self.instant.retain(|(_, waiting)| *waiting != flow.0);
            }
            State::Active(_) => {
                let bundle = self.flows[slot].bundle;
                self.ending[bundle as usize].retain(|Reverse((_, _, active))| *active != flow.0);
                self.look_for_the_next_end(bundle as usize);
                self.leave(bundle);
            }
            State::Held(_) => self.held.retain(|held| *held != flow.0),
            State::Over => panic!("a flow that has ended cannot be stopped"),
        }
        self.forget(flow.0);
        left
    }

    /// How fast a flow is now; zero while its latency has not elapsed.
    pub fn rate(&mut self, flow: FlowId) -> f64 {
        self.settle();
        let Flow { bundle, state, .. } = self.flows[flow.0 as usize];
        if matches!(state, State::Active(_)) { self.rates[bundle as usize] } else { 0.0 }
    }

    /// How much of a flow has not arrived yet.
    pub fn left(&self, flow: FlowId) -> f64 {
        let Flow { bundle, volume, state, .. } = self.flows[flow.0 as usize];
        match state {
            State::Waiting => volume,
            State::Active(end) => (end - self.clock(bundle as usize)).clamp(0.0, volume),
            State::Held(left) => left,
            State::Over => 0.0,
        }
    }

    /// How many flows use a link now; a link that they need not share counts none.
    pub fn on(&self, link: LinkId) -> u32 {
        self.links[link.index()].flows
    }
}

/// One moment.
impl<T: FlowTime> Flows<T> {
    fn step(&mut self, ended: &mut Vec<Ended<T>>) {
        let first = ended.len();
        // Ends come before new flows, so that a link which is left and joined at one moment is never shared by both;
        // then all of the moment is told in the order of starts, whichever of the three ways a flow has ended in.
        let mut over: Vec<(u64, u32)> = std::mem::take(&mut self.instant);
        while let Some(bundle) = self.ends.place_of_min()
            && self.take_ended(bundle, &mut over)
        {}
        while let Some(&Reverse((at, _, slot))) = self.waiting.peek()
            && at <= self.now.key()
        {
            self.waiting.pop();
            self.activate(slot);
        }
        over.append(&mut self.instant);
        over.sort_unstable();
        for &(_, slot) in &over {
            ended.push(Ended { flow: FlowId(slot), at: self.now });
            self.forget(slot);
        }
        debug_assert!(ended[first..].iter().all(|ended| ended.at == self.now));
        over.clear();
        self.instant = over;
    }

    /// Takes the flows of a bundle that have ended by now; whether there was one.
    fn take_ended(&mut self, which: usize, over: &mut Vec<(u64, u32)>) -> bool {
        let clock = self.clock(which);
        // The time that was expected counts, whatever rounding has made of the clock.
        let mut due = self.ends.min() <= self.now.key();
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
        // What moves nothing is not held up by anything.
        if self.cut > 0 && volume > 0.0 && self.ways[which as usize].iter().any(|link| self.down[link.index()]) {
            self.flows[slot as usize].state = State::Held(volume);
            return self.held.push(slot);
        }
        if volume == 0.0 || (bundle.crossings().is_empty() && bundle.limit.is_infinite()) {
            return self.instant.push((number, slot));
        }
        // A clock that nobody reads begins anew, and one that others read is turned back before the volume is lost in
        // its rounding.
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
        self.ending[which as usize].push(Reverse((bits(end), number, slot)));
        self.flows[slot as usize].state = State::Active(end);
        self.join(which);
    }

    /// Sets a bundle's clock to zero and takes what it shows now, `by`, off the ends of its flows. Returns the clock.
    ///
    /// O(n) for `n` flows, each of which has had [`CLOCK_MAX`] times the volume of the flow that joins since the last
    /// time. Subtracting is exact, but for ends that are more than twice `by`; these are rounded as any volume is.
    fn turn_back(&mut self, which: usize, by: f64) -> f64 {
        let mut ends = std::mem::take(&mut self.ending[which]).into_vec();
        for Reverse((end, _, slot)) in &mut ends {
            let left = (f64::from_bits(*end) - by).max(0.0);
            *end = bits(left);
            self.flows[*slot as usize].state = State::Active(left);
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
            // Fast enough to be looked at, and it has used nothing yet.
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
        self.note(which);
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
                // The last one takes its place in the link's list, and has to know so.
                link.bundles.swap_remove(place as usize);
                if let Some(&(_, number)) = link.bundles.get(place as usize) {
                    self.crossings[number as usize].1 = place;
                }
            }
        }
        self.note(which);
    }

    fn note(&mut self, which: u32) {
        let bundle = &mut self.bundles[which as usize];
        if !bundle.changed {
            bundle.changed = true;
            self.changed.bundles.push(which);
        }
    }

    fn forget(&mut self, slot: u32) {
        self.flows[slot as usize].state = State::Over;
        self.free.push(slot);
    }

    /// What a bundle's clock shows now.
    fn clock(&self, which: usize) -> f64 {
        let bundle = &self.bundles[which];
        let passed = self.now.since(bundle.since);
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

    /// End of the first flow of a bundle, if its rate stays.
    fn end(&self, which: usize) -> T::Key {
        let bundle = &self.bundles[which];
        match self.counts[which] {
            0 => T::NEVER,
            _ => bundle.since.after(((bundle.next_end - bundle.clock) / self.rates[which]).max(0.0)).key(),
        }
    }

    fn set_rate(&mut self, which: usize, rate: f64) {
        if rate != self.rates[which] {
            // What the clock shows is what the old rate has brought until now.
            self.bundles[which].clock = self.clock(which);
            self.bundles[which].since = self.now;
            self.rates[which] = rate;
        } else if !self.bundles[which].changed {
            return;
        }
        self.ends.write(which, self.end(which));
        self.untold.push(which as u32);
    }
}

/// Orders numbers that are not negative.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}
