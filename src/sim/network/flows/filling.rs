//! Progressive filling: the rates of flows after some have started or ended.
//!
//! All rates rise together from zero; where a link is full, the flows on it freeze, and the others go on. So links are
//! handled in ascending order of their levels. The level of a link is the capacity left for each of its flows that has
//! no rate yet; it only rises when others freeze.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use super::{Changed, FlowTime, Flows, Scratch, SharedLink, sortable_bits};

/// Progressive filling of the part of the network that has changed.
impl<T: FlowTime> Flows<T> {
    /// Sets the current rate of every bundle.
    pub(super) fn set_rates(&mut self) {
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
        // Give the list back, to keep its memory.
        self.changed = Changed { bundles: changed, floor: f64::INFINITY };
    }

    /// Lowers the floor to the new flows: a flow that starts gets at least an equal share of one of its links.
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
        // A margin for rounding, so that bundles at the level of the floor are included.
        self.changed.floor = floor * (1.0 - 1e-9);
    }

    fn equal_part(&self, link: u32) -> f64 {
        let flows = self.links[link as usize].flows;
        self.described[link as usize].effective(flows) / f64::from(flows)
    }

    /// Collects the links of all bundles whose rates may change, which are those at or above the floor, and the
    /// capacity left on each of these links.
    fn visit(&mut self) {
        self.round += 1;
        let round = self.round;
        let floor = self.changed.floor;
        let Scratch { links, picks, limits, levels } = &mut self.scratch;
        links.clear();
        limits.clear();
        levels.clear();
        let mut found = FoundLinks { links, rounds: &mut self.found, busy: 0, round };
        for &which in &self.changed.bundles {
            let bundle = &self.bundles[which as usize];
            if self.counts[which as usize] > 0 && bundle.limit.is_finite() {
                limits.push((sortable_bits(bundle.limit), which));
            }
            self.crossings[bundle.crossings()].iter().for_each(|(link, _)| found.add(*link, &self.links));
        }

        // Breadth-first from link to link over their bundles: the list grows while it is read.
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
            // The outcome is as good as random, so the loop has no branch to mispredict.
            for &(which, _) in &link.bundles {
                let rate = self.rates[which as usize];
                let count = self.counts[which as usize];
                let fast = rate >= floor;
                // Slow bundles keep their rates, which are subtracted from the link before it is shared.
                link.left -= if fast { 0.0 } else { rate * f64::from(count) };
                link.unfrozen += if fast { count } else { 0 };
                picks[picked] = which;
                picked += usize::from(fast);
            }
            for &which in &picks[..picked] {
                // Once all links with flows are found, the routes of bundles need not be read.
                if found.busy == self.busy && !self.limited {
                    break;
                }
                let bundle = &self.bundles[which as usize];
                if bundle.limit.is_finite() {
                    limits.push((sortable_bits(bundle.limit), which));
                }
                self.crossings[bundle.crossings()].iter().for_each(|(link, _)| found.add(*link, &self.links));
            }
        }
        // A bundle is found once over each of its links.
        limits.sort_unstable();
        limits.dedup();
        let levels_of = links.iter().map(|&link| (link, &self.links[link as usize]));
        levels.extend(levels_of.filter(|(_, l)| l.unfrozen > 0).map(|(id, l)| Reverse((sortable_bits(l.level()), id))));
    }

    /// Freezes the bundles at or above the floor, lowest level first.
    fn fill(&mut self) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut limits = scratch.limits.iter().peekable();
        while let Some(mut lowest) = scratch.levels.peek_mut() {
            let Reverse((level, id)) = *lowest;
            let level = f64::from_bits(level);
            // A flow that its own limit holds below the level of every shared link freezes first, and leaves more to
            // the others.
            if self.links[id as usize].unfrozen > 0 {
                while let Some(&&(limit, which)) = limits.peek()
                    && f64::from_bits(limit) <= level
                {
                    limits.next();
                    self.freeze_alone(which, f64::from_bits(limit));
                }
            }
            let link = &self.links[id as usize];
            // Levels only rise, so a link whose level has risen goes back into the heap.
            if link.unfrozen > 0 && link.level() > level {
                *lowest = Reverse((sortable_bits(link.level()), id));
                continue;
            }
            PeekMut::pop(lowest);
            // All of its flows froze at other links.
            if link.unfrozen == 0 {
                continue;
            }
            // The link is the bottleneck of its open flows: they get its level, and their other links keep the rest.
            scratch.picks.clear();
            scratch.picks.resize(link.bundles.len(), 0);
            let mut picked = 0;
            // Without a branch, like the loop of `visit`.
            for &(which, _) in &link.bundles {
                scratch.picks[picked] = which;
                picked += usize::from(self.is_open(which as usize));
            }
            for &which in &scratch.picks[..picked] {
                self.freeze(which as usize, level);
            }
        }
        // Bundles that no shared link has frozen.
        for &(limit, which) in limits {
            self.freeze_alone(which, f64::from_bits(limit));
        }
        debug_assert!(
            scratch.links.iter().all(|&link| self.links[link as usize].unfrozen == 0),
            "every bundle has a link or a limit"
        );
        self.scratch = scratch;
        self.ends.update_places(&self.written_ends);
        self.written_ends.clear();
    }

    /// True if the flows of a bundle have no rate yet in this round.
    fn is_open(&self, which: usize) -> bool {
        (self.frozen[which] != self.round) & (self.rates[which] >= self.changed.floor)
    }

    fn freeze_alone(&mut self, which: u32, limit: f64) {
        if self.is_open(which as usize) {
            self.freeze(which as usize, limit);
        }
    }

    /// Fixes the rate of a bundle's flows for this round.
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

/// Set of the links found in one round.
struct FoundLinks<'s> {
    links: &'s mut Vec<u32>,
    rounds: &'s mut [u64],
    /// Number of found links that have flows.
    busy: usize,
    round: u64,
}

impl FoundLinks<'_> {
    fn add(&mut self, id: u32, links: &[SharedLink]) {
        if self.rounds[id as usize] != self.round {
            self.rounds[id as usize] = self.round;
            self.busy += usize::from(links[id as usize].flows > 0);
            self.links.push(id);
        }
    }
}

impl SharedLink {
    /// Rate of each flow without a rate if the rest of the link were shared now. Never less than an equal share of the
    /// whole link, as frozen flows have at most that.
    fn level(&self) -> f64 {
        (self.left / f64::from(self.unfrozen)).max(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Efficiency, Link, LinkId, Mode};

    #[test]
    fn bundles_slower_than_all_changes_keep_their_rates() {
        let link = |capacity| Link { capacity, latency: 0.0, efficiency: Efficiency::None, mode: Mode::Shared };
        let mut flows = Flows::new(vec![link(1.0), link(100.0)]);
        let slow = flows.route(&[LinkId(0), LinkId(1)]);
        let fast = flows.route(&[LinkId(1)]);
        let first = [slow, fast].map(|route| flows.start(0.0, route, 1e6));
        assert_eq!(first.map(|flow| flows.rate(flow)), [1.0, 99.0]);

        // Another fast flow gets at least a third of the wide link, and gives half of it back.
        let seen = flows.frozen[slow.0 as usize];
        let second = flows.start(0.0, fast, 1e6);
        assert_eq!(flows.rate(second), 49.5);
        assert_eq!(flows.stop(second), 1e6);
        assert_eq!(first.map(|flow| flows.rate(flow)), [1.0, 99.0]);
        assert_eq!((flows.frozen[slow.0 as usize], flows.frozen[fast.0 as usize]), (seen, seen + 2));

        // Another slow flow affects all bundles.
        let third = flows.start(0.0, slow, 1e6);
        assert_eq!([first[0], third, first[1]].map(|flow| flows.rate(flow)), [0.5, 0.5, 99.0]);
        assert_eq!((flows.frozen[slow.0 as usize], flows.frozen[fast.0 as usize]), (seen + 3, seen + 3));
        for flow in [first[0], third, first[1]] {
            flows.stop(flow);
        }
        assert_eq!(flows.busy, 0);
    }
}
