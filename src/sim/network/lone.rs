//! Transfers that no placement avoids: the least time in which data gets from one kind of core to another.

use super::paths::Paths;
use super::transfers::FORGIVEN;
use crate::grid::{Job, Kind};
use crate::time::Span;

/// Least transfer times between kinds, of flows without competing traffic.
///
/// Kept are the routes that are fastest for some volume: no other one between the kinds has both a lower latency and a
/// higher rate.
#[derive(Clone, Debug)]
pub struct LoneTimes {
    kinds: usize,
    /// Routes by kind of the sender, then by kind of the receiver.
    routes: Vec<Vec<LoneRoute>>,
}

/// A route without competing traffic, in microseconds and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LoneRoute {
    latency: f64,
    rate: f64,
}

impl LoneTimes {
    /// The times between sites of these kinds, in the order of the paths: O(sites²).
    pub fn new(paths: &Paths, kinds: &[Kind]) -> LoneTimes {
        let count = kinds.iter().map(|kind| usize::from(kind.0) + 1).max().unwrap_or(0);
        let mut times = LoneTimes { kinds: count, routes: vec![Vec::new(); count * count] };
        let pairs = (0..kinds.len()).flat_map(|from| (0..kinds.len()).map(move |to| (from, to)));
        for (from, to) in pairs.filter(|(from, to)| kinds[*from] != kinds[*to]) {
            let rate = paths.bandwidth(from, to, |link| link.effective(1));
            times.add(kinds[from], kinds[to], LoneRoute { latency: paths.latency(from, to), rate });
        }
        times
    }

    fn add(&mut self, from: Kind, to: Kind, route: LoneRoute) {
        let index = self.index(from, to);
        let routes = &mut self.routes[index];
        if routes.iter().all(|other| !other.is_never_slower(&route)) {
            routes.retain(|other| !route.is_never_slower(other));
            routes.push(route);
        }
    }

    fn index(&self, from: Kind, to: Kind) -> usize {
        usize::from(from.0) * self.kinds + usize::from(to.0)
    }

    /// Least duration of a transfer from a site of one kind to one of another. Zero within a kind, and if no site has
    /// one of the two.
    pub fn least(&self, from: Kind, to: Kind, bytes: u64) -> Span {
        if [from, to].iter().any(|kind| usize::from(kind.0) >= self.kinds) {
            return Span::ZERO;
        }
        let routes = &self.routes[self.index(from, to)];
        routes.iter().map(|route| route.time(bytes)).min().unwrap_or(Span::ZERO)
    }

    /// Transfer time of an edge of a job that no placement avoids.
    pub fn of_edge(&self, job: &Job, from: usize, to: usize) -> Span {
        let [sender, receiver] = [from, to].map(|task| job.tasks[task].kind);
        if sender == receiver {
            return Span::ZERO;
        }
        let from = from as u32;
        let to = to as u32;
        let at = job.edges.partition_point(|edge| (edge.from, edge.to) < (from, to));
        let edge = job.edges.get(at).filter(|edge| (edge.from, edge.to) == (from, to));
        self.least(sender, receiver, edge.map_or(0, |edge| edge.data))
    }
}

impl LoneRoute {
    fn is_never_slower(&self, other: &LoneRoute) -> bool {
        self.latency <= other.latency && self.rate >= other.rate
    }

    /// Whole microseconds, as a transfer rounds its end up.
    fn time(&self, bytes: u64) -> Span {
        let exact = self.latency + bytes as f64 / self.rate;
        Span::from_micros((exact - FORGIVEN).ceil().max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Efficiency, Link, Mode, Transfers};
    use super::*;
    use crate::time::Time;

    proptest! {
        /// Against a simulation of each pair of sites with one flow.
        #[test]
        fn the_least_time_is_that_of_a_lone_flow_on_the_best_route(
            lines in prop::collection::vec((1u32..2_000, 0u32..5_000_000, 0u16..3, any::<bool>(), any::<bool>()), 1..7),
            bytes in prop_oneof![Just(0u64), 1u64..1_000, 1u64..1_000_000_000],
        ) {
            let link = |&(rate, latency, _, tcp, own): &(u32, u32, u16, bool, bool)| Link {
                capacity: f64::from(rate) / 7.0,
                latency: latency.into(),
                efficiency: if tcp { Efficiency::Tcp } else { Efficiency::None },
                mode: if own { Mode::PerFlow } else { Mode::Shared },
            };
            let paths = Paths::by_router(lines.iter().map(link).collect());
            let kinds: Vec<Kind> = lines.iter().map(|line| Kind(line.2)).collect();
            let times = LoneTimes::new(&paths, &kinds);
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (Kind(from), Kind(to)))) {
                let sites = |kind: Kind| (0..kinds.len()).filter(|site| kinds[*site] == kind).collect::<Vec<_>>();
                let receivers = sites(to);
                let flows = sites(from).into_iter();
                let flows = flows.flat_map(|sender| receivers.iter().map(move |receiver| (sender, *receiver)));
                let alone = |(sender, receiver)| {
                    let mut transfers = Transfers::new(paths.links.clone());
                    let route = transfers.flows().route(&paths.route(sender, receiver));
                    transfers.start(Time::ZERO, route, bytes);
                    let mut ended = Vec::new();
                    while ended.is_empty() {
                        let next = transfers.next_change().expect("the flow has not ended");
                        transfers.advance(next, &mut ended);
                        if !ended.is_empty() {
                            return next.since(Time::ZERO);
                        }
                    }
                    unreachable!("the loop ends with the flow")
                };
                let best = if from == to { None } else { flows.map(alone).min() };
                let found = times.least(from, to, bytes);
                let off = found.micros().abs_diff(best.unwrap_or(Span::ZERO).micros());
                // Sums of floats in another order may round to the next microsecond.
                prop_assert!(off <= 1, "{from:?} to {to:?}: {found}, not {best:?}");
            }
        }
    }
}
