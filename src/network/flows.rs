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
//! Cost of a start or an end: O(log n) for its bundle of `n` flows, and O(b + k log k) for the `b` bundles' places on
//! the `k` links that it reaches. All starts and ends of one moment are settled together.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use super::calendar::Calendar;
use super::link::{Link, LinkId, Mode};

/// A flow under way. Its number is given again once it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowId(u32);

impl FlowId {
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
pub struct Ended {
    pub flow: FlowId,
    /// Exactly when, as the model has it.
    pub at: f64,
}

/// All flows of a network.
#[derive(Clone, Debug)]
pub struct Flows {
    now: f64,
    links: Vec<SharedLink>,
    /// The round in which each link was last found.
    found: Vec<u64>,
    /// How many links have flows.
    busy: usize,
    /// Whether any route has links that limit a flow alone.
    limited: bool,
    /// As the caller described them, for routes and latencies.
    described: Vec<Link>,
    bundles: Vec<Bundle>,
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
    routes: BTreeMap<Box<[LinkId]>, RouteId>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    started: u64,
    /// Flows whose latency has not elapsed yet, by when it has.
    waiting: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Flows that move nothing or need no time to, and end as soon as they are asked for.
    instant: Vec<(u64, u32)>,
    ends: Calendar,
    /// Bundles whose ends have been written there, but not told.
    untold: Vec<u32>,
    changed: Changed,
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
struct Bundle {
    /// Where its crossings are.
    first: u32,
    after: u32,
    changed: bool,
    /// What each of its flows has had since it was last empty, as of `since`.
    clock: f64,
    since: f64,
    /// What the clock shows when the first of its flows ends.
    next_end: f64,
    /// The least that its other links allow.
    limit: f64,
    latency: f64,
}

impl Bundle {
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

/// A flow has ended when no more than this share of it is left.
const CRUMB: f64 = 1e-9;

impl Flows {
    /// No flows yet, at time zero.
    ///
    /// # Panics
    ///
    /// If a link is not sound: whoever reads links from a person checks them first.
    pub fn new(links: Vec<Link>) -> Flows {
        assert!(links.iter().all(Link::is_sound), "a link has a capacity above zero and a latency");
        Flows {
            now: 0.0,
            links: vec![SharedLink::default(); links.len()],
            found: vec![0; links.len()],
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
            flows: Vec::new(),
            free: Vec::new(),
            started: 0,
            waiting: BinaryHeap::new(),
            instant: Vec::new(),
            ends: Calendar::default(),
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
            since: 0.0,
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
        self.routes.insert(links.into(), route);
        route
    }

    /// The sum of the latencies of a route's links.
    pub fn latency(&self, route: RouteId) -> f64 {
        self.bundles[route.0 as usize].latency
    }

    /// The moment to which all flows have advanced.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Releases a flow, now or later. It uses the links once their latencies have elapsed.
    pub fn start(&mut self, release: f64, route: RouteId, volume: f64) -> FlowId {
        assert!(release.is_finite() && volume >= 0.0 && volume.is_finite(), "{volume} at {release} is no flow");
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
        let active = release.max(0.0) + self.bundles[route.0 as usize].latency;
        if active <= self.now {
            self.activate(slot)
        } else {
            self.waiting.push(Reverse((bits(active), number, slot)))
        }
        FlowId(slot)
    }

    /// When a flow next becomes active or ends, if nothing is started before. Never before [`Flows::now`].
    pub fn next_change(&mut self) -> Option<f64> {
        if !self.instant.is_empty() {
            return Some(self.now);
        }
        self.settle();
        let wait = self.waiting.peek().map(|Reverse((at, _, _))| f64::from_bits(*at));
        let next = [wait, self.ends.least()].into_iter().flatten().reduce(f64::min)?;
        Some(next.max(self.now))
    }

    /// Moves on to a time, through all changes up to it, and adds the flows that end on the way to `ended`, in order
    /// of their end, then of their start.
    pub fn advance(&mut self, to: f64, ended: &mut Vec<Ended>) {
        while let Some(next) = self.next_change()
            && next <= to
        {
            self.now = next;
            self.step(ended);
        }
        self.now = self.now.max(to);
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
            State::Over => 0.0,
        }
    }

    /// How many flows use a link now; a link that they need not share counts none.
    pub fn on(&self, link: LinkId) -> u32 {
        self.links[link.index()].flows
    }
}

/// One moment.
impl Flows {
    fn step(&mut self, ended: &mut Vec<Ended>) {
        let first = ended.len();
        let mut over: Vec<(u64, u32)> = std::mem::take(&mut self.instant);
        while let Some(bundle) = self.ends.first()
            && self.take_ended(bundle, &mut over)
        {}
        while let Some(&Reverse((at, _, slot))) = self.waiting.peek()
            && f64::from_bits(at) <= self.now
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
        // The calendar's own time counts, whatever rounding has made of the clock.
        let mut due = self.ends.least().is_some_and(|least| least <= self.now);
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
        if volume == 0.0 || (bundle.crossings().is_empty() && bundle.limit.is_infinite()) {
            return self.instant.push((number, slot));
        }
        let clock = if self.counts[which as usize] == 0 { 0.0 } else { self.clock(which as usize) };
        let end = clock + volume;
        let bundle = &mut self.bundles[which as usize];
        bundle.next_end = if self.counts[which as usize] == 0 { end } else { bundle.next_end.min(end) };
        self.ending[which as usize].push(Reverse((bits(end), number, slot)));
        self.flows[slot as usize].state = State::Active(end);
        self.join(which);
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
        let passed = self.now - bundle.since;
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

    /// When the first flow of a bundle ends, if its rate stays.
    fn end(&self, which: usize) -> f64 {
        let bundle = &self.bundles[which];
        let end = match self.counts[which] {
            0 => f64::INFINITY,
            _ => bundle.since + (bundle.next_end - bundle.clock) / self.rates[which],
        };
        end.max(bundle.since)
    }

    fn set_rate(&mut self, which: usize, rate: f64) {
        if rate != self.rates[which] {
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

/// Progressive filling of what has changed.
impl Flows {
    fn settle(&mut self) {
        if self.changed.bundles.is_empty() {
            return;
        }
        self.lower_the_floor();
        self.visit();
        self.fill();
        let mut changed = std::mem::take(&mut self.changed.bundles);
        for which in changed.drain(..) {
            let bundle = &mut self.bundles[which as usize];
            bundle.changed = false;
            if self.counts[which as usize] == 0 {
                self.expect_end(which as usize);
            }
        }
        self.changed = Changed { bundles: changed, floor: f64::INFINITY };
    }

    /// A flow that came has at least an equal part of one of its links.
    fn lower_the_floor(&mut self) {
        let mut floor = self.changed.floor;
        for &which in &self.changed.bundles {
            let bundle = &self.bundles[which as usize];
            if self.counts[which as usize] == 0 {
                continue;
            }
            floor = floor.min(bundle.limit);
            for &(link, _) in &self.crossings[bundle.crossings()] {
                floor = floor.min(self.equal_part(link));
            }
        }
        // Bundles of the floor's own level belong to those that are looked at, whatever rounding says.
        self.changed.floor = floor * (1.0 - 1e-9);
    }

    fn equal_part(&self, link: u32) -> f64 {
        let flows = self.links[link as usize].flows;
        self.described[link as usize].effective(flows) / f64::from(flows)
    }

    /// Finds the links of all bundles that may have another rate now, which are those that are not below the floor, and
    /// what is left of each.
    fn visit(&mut self) {
        self.round += 1;
        let (round, floor) = (self.round, self.changed.floor);
        let Scratch { links, picks, limits, levels } = &mut self.scratch;
        links.clear();
        limits.clear();
        levels.clear();
        let mut found = Found { links, rounds: &mut self.found, busy: 0, round };
        for &which in &self.changed.bundles {
            let bundle = &self.bundles[which as usize];
            if self.counts[which as usize] > 0 && bundle.limit.is_finite() {
                limits.push((bits(bundle.limit), which));
            }
            self.crossings[bundle.crossings()].iter().for_each(|(link, _)| found.add(*link, &self.links));
        }

        let mut next = 0;
        while let Some(&id) = found.links.get(next) {
            next += 1;
            let link = &mut self.links[id as usize];
            if link.flows == 0 {
                continue;
            }
            let all = self.described[id as usize].effective(link.flows);
            (link.left, link.least, link.unfrozen) = (all, all / f64::from(link.flows), 0);
            picks.clear();
            picks.resize(link.bundles.len(), 0);
            let mut picked = 0;
            // Which way it goes is as good as random, so there is no branch to guess wrong.
            for &(which, _) in &link.bundles {
                let (rate, count) = (self.rates[which as usize], self.counts[which as usize]);
                let fast = rate >= floor;
                link.left -= if fast { 0.0 } else { rate * f64::from(count) };
                link.unfrozen += if fast { count } else { 0 };
                picks[picked] = which;
                picked += usize::from(fast);
            }
            for &which in &picks[..picked] {
                // Once all links are found that have flows, nobody has to be asked where else he goes.
                if found.busy == self.busy && !self.limited {
                    break;
                }
                let bundle = &self.bundles[which as usize];
                if bundle.limit.is_finite() {
                    limits.push((bits(bundle.limit), which));
                }
                self.crossings[bundle.crossings()].iter().for_each(|(link, _)| found.add(*link, &self.links));
            }
        }
        limits.sort_unstable();
        limits.dedup();
        let levels_of = links.iter().map(|&link| (link, &self.links[link as usize]));
        levels.extend(levels_of.filter(|(_, l)| l.unfrozen > 0).map(|(id, l)| Reverse((bits(l.level()), id))));
    }

    /// Freezes the bundles that are not below the floor, at the lowest level first.
    fn fill(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut limits = scratch.limits.iter().peekable();
        while let Some(mut lowest) = scratch.levels.peek_mut() {
            let Reverse((level, id)) = *lowest;
            let level = f64::from_bits(level);
            if self.links[id as usize].unfrozen > 0 {
                while let Some(&&(limit, which)) = limits.peek()
                    && f64::from_bits(limit) <= level
                {
                    limits.next();
                    self.freeze_alone(which, f64::from_bits(limit));
                }
            }
            let link = &self.links[id as usize];
            // Levels only rise, so one that has is still in front of nothing that is lower.
            if link.unfrozen > 0 && link.level() > level {
                *lowest = Reverse((bits(link.level()), id));
                continue;
            }
            PeekMut::pop(lowest);
            if link.unfrozen == 0 {
                continue;
            }
            scratch.picks.clear();
            scratch.picks.resize(link.bundles.len(), 0);
            let mut picked = 0;
            // Without a branch, as above.
            for &(which, _) in &link.bundles {
                scratch.picks[picked] = which;
                picked += usize::from(self.is_open(which as usize));
            }
            for &which in &scratch.picks[..picked] {
                self.freeze(which as usize, level);
            }
        }
        for &(limit, which) in limits {
            self.freeze_alone(which, f64::from_bits(limit));
        }
        debug_assert!(
            scratch.links.iter().all(|&link| self.links[link as usize].unfrozen == 0),
            "every bundle has a link or a limit"
        );
        self.scratch = scratch;
        self.ends.tell(&self.untold);
        self.untold.clear();
    }

    /// Whether the flows of a bundle still have to get their rate.
    fn is_open(&self, which: usize) -> bool {
        (self.frozen[which] != self.round) & (self.rates[which] >= self.changed.floor)
    }

    fn freeze_alone(&mut self, which: u32, limit: f64) {
        if self.is_open(which as usize) {
            self.freeze(which as usize, limit);
        }
    }

    /// Gives the flows of a bundle their rate.
    fn freeze(&mut self, which: usize, rate: f64) {
        self.frozen[which] = self.round;
        let flows = self.counts[which];
        for &(link, _) in &self.crossings[self.bundles[which].crossings()] {
            let link = &mut self.links[link as usize];
            link.unfrozen -= flows;
            link.left -= rate * f64::from(flows);
        }
        self.set_rate(which, rate);
    }
}

/// Links, each once in a round.
struct Found<'s> {
    links: &'s mut Vec<u32>,
    rounds: &'s mut [u64],
    /// How many of them have flows.
    busy: usize,
    round: u64,
}

impl Found<'_> {
    fn add(&mut self, id: u32, links: &[SharedLink]) {
        if self.rounds[id as usize] != self.round {
            self.rounds[id as usize] = self.round;
            self.busy += usize::from(links[id as usize].flows > 0);
            self.links.push(id);
        }
    }
}

impl SharedLink {
    /// What each flow would get if the rest of the link were shared out now. Never less than an equal part of the whole
    /// link, as flows that are frozen had no more than that.
    fn level(&self) -> f64 {
        (self.left / f64::from(self.unfrozen)).max(self.least)
    }
}

/// Orders numbers that are not negative.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}
