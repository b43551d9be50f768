//! Progressive filling: the rates of flows after some have come or gone.
//!
//! All rates rise together from zero; where a link is full, those on it stop rising, and the others go on. So links are
//! taken in the order of their levels, what each still has for each flow that has no rate yet, and a level only rises
//! when others are frozen.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;

use super::{Changed, FlowTime, Flows, Scratch, SharedLink, bits};

/// Progressive filling of what has changed.
impl<T: FlowTime> Flows<T> {
    /// Gives every bundle the rate that it has from now on.
    pub(super) fn settle(&mut self) {
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
        // The list goes back with its memory.
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

        // From link to link over the bundles on them: the list grows while it is gone through.
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
                // Slow ones keep what they have, and take it from the link before it is shared out.
                link.left -= if fast { 0.0 } else { rate * f64::from(count) };
                link.unfrozen += if fast { count } else { 0 };
                picks[picked] = which;
                picked += usize::from(fast);
            }
            for &which in &picks[..picked] {
                // Once all links are found that have flows, no bundle has to be asked where else it goes.
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
        // A bundle is found over each of its links.
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
            // A flow that a link of its own holds back further than any shared one comes first, and leaves more to the
            // others.
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
            // All that cross it have got their rates at other links.
            if link.unfrozen == 0 {
                continue;
            }
            // It is the bottleneck of whoever is still open on it: they get its level, and their other links are left
            // with the rest.
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
        // Those that no shared link has stopped.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Efficiency, Link, LinkId, Mode};

    #[test]
    fn who_is_slower_than_all_that_changes_is_left_alone() {
        let link = |capacity| Link { capacity, latency: 0.0, efficiency: Efficiency::None, mode: Mode::Shared };
        let mut flows = Flows::new(vec![link(1.0), link(100.0)]);
        let (slow, fast) = (flows.route(&[LinkId(0), LinkId(1)]), flows.route(&[LinkId(1)]));
        let first = [slow, fast].map(|route| flows.start(0.0, route, 1e6));
        assert_eq!(first.map(|flow| flows.rate(flow)), [1.0, 99.0]);

        // Another fast one gets a third of the wide link at least, and gives a half of it back.
        let seen = flows.frozen[slow.0 as usize];
        let second = flows.start(0.0, fast, 1e6);
        assert_eq!(flows.rate(second), 49.5);
        assert_eq!(flows.stop(second), 1e6);
        assert_eq!(first.map(|flow| flows.rate(flow)), [1.0, 99.0]);
        assert_eq!((flows.frozen[slow.0 as usize], flows.frozen[fast.0 as usize]), (seen, seen + 2));

        // Another slow one is everybody's business.
        let third = flows.start(0.0, slow, 1e6);
        assert_eq!([first[0], third, first[1]].map(|flow| flows.rate(flow)), [0.5, 0.5, 99.0]);
        assert_eq!((flows.frozen[slow.0 as usize], flows.frozen[fast.0 as usize]), (seen + 3, seen + 3));
        for flow in [first[0], third, first[1]] {
            flows.stop(flow);
        }
        assert_eq!(flows.busy, 0);
    }
}
