//! Outages of a site's nodes or of a link: a function of the topology and the seed that any process can compute.
//!
//! Each table of failures has its own random stream per component. A stream is drawn from only as far as needed, so
//! memory grows with components and not with the length of a run. Advancing to the next change costs O(log components),
//! finding the next failure of given nodes O(these nodes), and listing nodes that are down O(nodes that are down).

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use super::NodeSet;
use super::failure::{Drawn, Failure, FailurePattern, FailureTarget, Per, Traced};
use crate::random::{SplitMix64, mix_bits};
use crate::time::{Span, Time};

/// Outages of a site or a link, computed lazily. A link counts as node 0 of its own.
#[derive(Clone, Debug)]
pub struct Outages {
    streams: Vec<Stream>,
    /// Streams that affect one node alone, by node, and streams that affect several together.
    of_node: BTreeMap<u32, Vec<usize>>,
    wide: Vec<usize>,
    /// Next change of each stream that has one.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    /// Streams that are down now, and the number of them for each node.
    broken: BTreeSet<usize>,
    depth: BTreeMap<u32, u32>,
}

/// Nodes that go down or come back at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub at: Time,
    pub nodes: NodeSet,
    pub is_up: bool,
}

/// Nodes that are down, with the time of return that planners assume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    pub back: Time,
    pub nodes: NodeSet,
}

/// A set of nodes with common outages.
#[derive(Clone, Debug)]
struct Stream {
    nodes: NodeSet,
    source: Source,
    announced: bool,
    /// Typical duration of an outage, for predictions.
    usually: Span,
    /// The current or next outage.
    next: Option<Outage>,
}

#[derive(Clone, Debug)]
struct Outage {
    down: Time,
    up: Time,
    nodes: NodeSet,
}

#[derive(Clone, Debug)]
enum Source {
    /// Listed outages, from an index on.
    Listed(Arc<[(Time, Time)]>, usize),
    Drawn(Drawn, SplitMix64),
}

impl Outages {
    /// Outages of a site; `None` if its nodes never fail.
    pub fn of_site(site: usize, failures: &[Failure], seed: u64) -> Option<Outages> {
        Outages::from_failures(failures, |what| nodes_at_site(what, site), seed)
    }

    /// Outages of a link; `None` if it never fails.
    pub fn of_link(link: usize, failures: &[Failure], seed: u64) -> Option<Outages> {
        Outages::from_failures(failures, |what| (*what == FailureTarget::Link(link)).then(|| NodeSet::all(1)), seed)
    }

    fn from_failures(
        failures: &[Failure],
        its: impl Fn(&FailureTarget) -> Option<NodeSet>,
        seed: u64,
    ) -> Option<Outages> {
        let mut streams = Vec::new();
        for (failure, table) in failures.iter().zip(1u64..) {
            if let Some(nodes) = its(&failure.what) {
                add_streams(failure, &nodes, mix_bits(mix_bits(seed) ^ table), &mut streams);
            }
        }
        let mut outages = Outages {
            streams: Vec::new(),
            of_node: BTreeMap::new(),
            wide: Vec::new(),
            due: BinaryHeap::new(),
            broken: BTreeSet::new(),
            depth: BTreeMap::new(),
        };
        for (mut stream, number) in streams.into_iter().zip(0..) {
            stream.draw(Time::ZERO);
            if let Some(next) = &stream.next {
                outages.due.push(Reverse((next.down, number)));
            }
            match stream.nodes.runs() {
                [(first, last)] if first == last => outages.of_node.entry(*first).or_default().push(number),
                _ => outages.wide.push(number),
            }
            outages.streams.push(stream);
        }
        (!outages.streams.is_empty()).then_some(outages)
    }

    /// Changes since the last call up to this time, in order; returns come before failures of one instant.
    pub fn advance(&mut self, to: Time) -> Vec<Change> {
        let mut changes = Vec::new();
        self.advance_with(to, &mut |change| changes.push(change));
        changes
    }

    /// Like [`Self::advance`], for a caller that needs no changes: the time may be very late, and they very many.
    pub fn skip_to(&mut self, to: Time) {
        self.advance_with(to, &mut |_| ());
    }

    fn advance_with(&mut self, to: Time, take: &mut dyn FnMut(Change)) {
        while let Some(at) = self.next().filter(|at| *at <= to) {
            let mut touched = NodeSet::default();
            let mut before = NodeSet::default();
            while let Some(&Reverse((time, number))) = self.due.peek()
                && time == at
            {
                self.due.pop();
                let nodes = self.streams[number].nodes_of_next();
                let known: Vec<u32> = nodes
                    .each()
                    .filter(|node| !touched.contains(&NodeSet::from_run(*node, *node)))
                    .filter(|node| self.depth.contains_key(node))
                    .collect();
                known.iter().for_each(|node| before.insert(&NodeSet::from_run(*node, *node)));
                touched.unite(&nodes);
                self.change_stream(number, at, &nodes);
            }
            let mut down = NodeSet::default();
            touched.each().filter(|node| self.depth.contains_key(node)).for_each(|node| down.push(node, node));
            let mut back = before.clone();
            let mut failed = down.clone();
            back.subtract(&down);
            failed.subtract(&before);
            for (nodes, is_up) in [(back, true), (failed, false)] {
                if !nodes.is_empty() {
                    take(Change { at, nodes, is_up });
                }
            }
        }
    }

    /// Changes the state of a stream.
    fn change_stream(&mut self, number: usize, at: Time, nodes: &NodeSet) {
        if self.broken.insert(number) {
            nodes.each().for_each(|node| *self.depth.entry(node).or_default() += 1);
            let up = self.streams[number].next.as_ref().map_or(Time::NEVER, |outage| outage.up);
            self.due.push(Reverse((up, number)));
            return;
        }
        self.broken.remove(&number);
        for node in nodes.each() {
            let depth = self.depth.get_mut(&node).expect("what comes back was down");
            *depth -= 1;
            if *depth == 0 {
                self.depth.remove(&node);
            }
        }
        self.streams[number].draw(at);
        if let Some(next) = &self.streams[number].next {
            self.due.push(Reverse((next.down, number)));
        }
    }

    /// Time of the next change.
    pub fn next(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Number of nodes that are down.
    pub fn count(&self) -> u32 {
        self.depth.len() as u32
    }

    /// Nodes that are down, with the time of return that planners assume, which is always later than now: the actual
    /// one, if it is announced; else the end of a typical repair, and once that is over, of 3, 7 or more times as long
    /// a one.
    pub fn expected(&self, now: Time) -> Vec<Expected> {
        let mut back: BTreeMap<u32, Time> = BTreeMap::new();
        for number in &self.broken {
            let stream = &self.streams[*number];
            let Some(outage) = &stream.next else { continue };
            let guess = if stream.announced { outage.up } else { guess_return(outage.down, stream.usually, now) };
            for node in outage.nodes.each() {
                let known = back.entry(node).or_insert(guess);
                *known = guess.max(*known);
            }
        }
        let mut all: BTreeMap<Time, NodeSet> = BTreeMap::new();
        for (node, back) in back {
            all.entry(back).or_default().push(node, node);
        }
        all.into_iter().map(|(back, nodes)| Expected { back, nodes }).collect()
    }

    /// Time of the first failure of these nodes, which are up now, after `from` and before `until`.
    pub fn first_failure(&self, nodes: &NodeSet, from: Time, until: Time) -> Option<Time> {
        let alone = nodes.each().filter_map(|node| self.of_node.get(&node)).flatten();
        let streams = alone.chain(&self.wide).filter(|number| self.streams[**number].nodes.meets(nodes));
        streams.filter_map(|number| self.streams[*number].first_on(nodes, from, until)).min()
    }
}

fn nodes_at_site(what: &FailureTarget, site: usize) -> Option<NodeSet> {
    match what {
        FailureTarget::Nodes { site: at, nodes } => (*at == site).then(|| nodes.clone()),
        FailureTarget::Link(_) => None,
    }
}

/// The first of ever longer times after `down` that is later than now.
fn guess_return(down: Time, usually: Span, now: Time) -> Time {
    let mut step = usually.micros().max(1);
    let mut guess = down;
    while guess <= now && guess < Time::NEVER {
        guess = guess + Span::from_micros(step);
        step = step.saturating_mul(2);
    }
    guess
}

/// Adds the streams of a table.
fn add_streams(failure: &Failure, nodes: &NodeSet, seed: u64, streams: &mut Vec<Stream>) {
    let mut stream = |nodes: NodeSet, source: Source, usually: Span| {
        streams.push(Stream { nodes, source, announced: failure.announced, usually, next: None });
    };
    match &failure.pattern {
        FailurePattern::Once { at, lasts } => {
            stream(nodes.clone(), Source::Listed([(*at, *at + *lasts)].into(), 0), *lasts);
        }
        FailurePattern::Drawn(drawn) => {
            let whole = match drawn.per {
                Per::Site => vec![nodes.clone()],
                Per::Node => nodes.each().map(|node| NodeSet::from_run(node, node)).collect(),
            };
            for nodes in whole {
                let component = nodes.runs().first().map_or(0, |run| u64::from(run.0));
                let random = SplitMix64::new(mix_bits(seed ^ mix_bits(component)));
                stream(nodes, Source::Drawn(*drawn, random), drawn.mttr);
            }
        }
        FailurePattern::Traced(trace) => {
            let mut by_component: BTreeMap<u32, Vec<(Time, Time)>> = BTreeMap::new();
            for Traced { down, up, component } in trace.iter() {
                by_component.entry(*component).or_default().push((*down, *up));
            }
            let lasts: u128 = trace.iter().map(|one| u128::from(one.up.since(one.down).micros())).sum();
            let usually = Span::from_micros((lasts / trace.len().max(1) as u128) as u64);
            for (place, node) in (0..).zip(nodes.each()) {
                let Some(times) = by_component.get(&place) else { continue };
                stream(NodeSet::from_run(node, node), Source::Listed(times.as_slice().into(), 0), usually);
            }
        }
    }
}

impl Stream {
    fn nodes_of_next(&self) -> NodeSet {
        self.next.as_ref().map_or_else(NodeSet::default, |outage| outage.nodes.clone())
    }

    /// Computes the next outage after `from`.
    fn draw(&mut self, from: Time) {
        self.next = match &mut self.source {
            Source::Listed(all, place) => {
                let next = all.get(*place).copied();
                *place += 1;
                next.map(|(down, up)| Outage { down, up, nodes: self.nodes.clone() })
            }
            Source::Drawn(drawn, random) => {
                let down = from + drawn.between.draw(drawn.mtbf, random);
                let up = down + drawn.repair.draw(drawn.mttr, random);
                let nodes = match drawn.per {
                    Per::Site => choose_nodes(&self.nodes, drawn.failing_count(self.nodes.len().into()), random),
                    Per::Node => self.nodes.clone(),
                };
                (up <= Time::LATEST).then_some(Outage { down, up, nodes })
            }
        };
    }

    /// First failure of any of these nodes strictly between two times.
    fn first_on(&self, nodes: &NodeSet, from: Time, until: Time) -> Option<Time> {
        let mut ahead = None;
        let mut next = self.next.clone();
        loop {
            let outage = next?;
            if outage.down >= until {
                return None;
            }
            if outage.down > from && outage.nodes.meets(nodes) {
                return Some(outage.down);
            }
            let stream = ahead.get_or_insert_with(|| self.clone());
            stream.draw(outage.up);
            next = stream.next.clone();
        }
    }
}

/// A uniform random choice of `wanted` nodes.
fn choose_nodes(nodes: &NodeSet, mut wanted: u64, random: &mut SplitMix64) -> NodeSet {
    let all = u64::from(nodes.len());
    if wanted == all {
        return nodes.clone();
    }
    let mut chosen = NodeSet::default();
    for (node, left) in nodes.each().zip((1..=all).rev()) {
        if random.unit() * (left as f64) < wanted as f64 {
            chosen.push(node, node);
            wanted -= 1;
        }
    }
    chosen
}
