//! Sets of nodes (or cores) by number, stored as sorted runs.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// A set of node numbers as ascending, disjoint, non-adjacent, inclusive runs; displayed as `0-3 7`.
///
/// It is serialised as its runs, and checked again on arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSet {
    runs: SmallVec<[(u32, u32); 2]>,
}

impl NodeSet {
    /// The nodes `0..count`.
    pub fn all(count: u32) -> NodeSet {
        let mut set = NodeSet::default();
        if count > 0 {
            set.runs.push((0, count - 1));
        }
        set
    }

    /// Its `count` lowest runs.
    pub fn lowest_runs(&self, count: usize) -> NodeSet {
        NodeSet { runs: self.runs.iter().take(count).copied().collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn len(&self) -> u32 {
        self.runs.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub fn runs(&self) -> &[(u32, u32)] {
        &self.runs
    }

    /// Every node, ascending.
    pub fn each(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|&(first, last)| first..=last)
    }

    /// Parses the displayed form; `None` for anything else.
    pub fn parse(text: &str) -> Option<NodeSet> {
        let mut set = NodeSet::default();
        for run in text.split(' ').filter(|_| !text.is_empty()) {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let first = first.parse().ok()?;
            let last = last.parse().ok()?;
            let follows = set.runs.last().is_none_or(|&(_, before)| before < first && first - before > 1);
            if first > last || !follows {
                return None;
            }
            set.runs.push((first, last));
        }
        Some(set)
    }

    /// Removes the lowest `count` nodes and returns them; `None`, without change, if it has fewer.
    pub fn take_lowest(&mut self, count: u32) -> Option<NodeSet> {
        let mut missing = count;
        let mut whole = 0;
        while missing > 0 {
            let &(first, last) = self.runs.get(whole)?;
            let here = last - first + 1;
            if missing < here {
                break;
            }
            missing -= here;
            whole += 1;
        }
        let part = usize::from(missing > 0);
        let mut taken = NodeSet { runs: SmallVec::from_slice(&self.runs[..whole + part]) };
        if part > 0 {
            let first = self.runs[whole].0;
            taken.runs[whole].1 = first + missing - 1;
            self.runs[whole].0 = first + missing;
        }
        self.runs.drain(..whole);
        Some(taken)
    }

    /// Adds the nodes of `other`, none of which may be in the set.
    pub fn insert(&mut self, other: &NodeSet) {
        for &(first, last) in &other.runs {
            self.insert_run(first, last);
        }
    }

    /// Adds a run behind all others.
    fn push_run(&mut self, first: u32, last: u32) -> Result<(), &'static str> {
        let is_apart = match self.runs.last() {
            Some((_, before)) => before.checked_add(1).is_some_and(|next| next < first),
            None => true,
        };
        if first > last || !is_apart {
            return Err("a set of nodes whose runs do not ascend with gaps between them");
        }
        self.runs.push((first, last));
        Ok(())
    }

    fn insert_run(&mut self, first: u32, last: u32) {
        let at = self.runs.partition_point(|run| run.0 < first);
        let joins_left = at > 0 && self.runs[at - 1].1 + 1 >= first;
        let joins_right = at < self.runs.len() && last + 1 >= self.runs[at].0;
        assert!(at == 0 || self.runs[at - 1].1 < first, "node {first} is in the set already");
        assert!(at == self.runs.len() || last < self.runs[at].0, "node {last} is in the set already");
        match (joins_left, joins_right) {
            (true, true) => {
                self.runs[at - 1].1 = self.runs[at].1;
                self.runs.remove(at);
            }
            (true, false) => self.runs[at - 1].1 = last,
            (false, true) => self.runs[at].0 = first,
            (false, false) => self.runs.insert(at, (first, last)),
        }
    }
}

/// Operations on sets that may overlap.
impl NodeSet {
    /// The nodes `first..=last`.
    pub fn from_run(first: u32, last: u32) -> NodeSet {
        assert!(first <= last, "a run goes from its first node to its last");
        NodeSet { runs: SmallVec::from_slice(&[(first, last)]) }
    }

    /// Appends a run that comes after all others, with a gap or next to the last one.
    pub fn push(&mut self, first: u32, last: u32) {
        match self.runs.last_mut() {
            Some(before) if before.1 + 1 == first => before.1 = last,
            before => {
                assert!(first <= last && before.is_none_or(|before| before.1 < first), "runs are pushed in order");
                self.runs.push((first, last));
            }
        }
    }

    /// The lowest `count` nodes; `None` if there are fewer.
    pub fn lowest(&self, count: u32) -> Option<NodeSet> {
        let mut lowest = NodeSet::default();
        let mut missing = count;
        for &(first, last) in &self.runs {
            if missing == 0 {
                break;
            }
            let here = (last - first + 1).min(missing);
            lowest.runs.push((first, first + here - 1));
            missing -= here;
        }
        (missing == 0).then_some(lowest)
    }

    /// The nodes of `0..count` that are not in the set.
    pub fn complement(&self, count: u32) -> NodeSet {
        let mut rest = NodeSet::default();
        let mut next = 0;
        for &(first, last) in &self.runs {
            if next < first {
                rest.runs.push((next, first - 1));
            }
            next = last + 1;
        }
        if next < count {
            rest.runs.push((next, count - 1));
        }
        rest
    }

    pub fn meets(&self, other: &NodeSet) -> bool {
        let (few, many) = if self.runs.len() <= other.runs.len() { (self, other) } else { (other, self) };
        let mut rest = &many.runs[..];
        few.runs.iter().any(|&(first, last)| {
            rest = &rest[runs_before(rest, first)..];
            rest.first().is_some_and(|run| run.0 <= last)
        })
    }

    pub fn contains(&self, other: &NodeSet) -> bool {
        let mut rest = &self.runs[..];
        other.runs.iter().all(|&(first, last)| {
            rest = &rest[runs_before(rest, first)..];
            rest.first().is_some_and(|run| run.0 <= first && last <= run.1)
        })
    }

    pub fn intersection(&self, other: &NodeSet) -> NodeSet {
        let (few, many) = if self.runs.len() <= other.runs.len() { (self, other) } else { (other, self) };
        let mut common = NodeSet::default();
        let mut rest = &many.runs[..];
        for &(first, last) in &few.runs {
            rest = &rest[runs_before(rest, first)..];
            let within = rest.iter().take_while(|run| run.0 <= last);
            common.runs.extend(within.map(|run| (run.0.max(first), run.1.min(last))));
        }
        common
    }

    /// Adds the nodes of `other` that are missing.
    pub fn unite(&mut self, other: &NodeSet) {
        if self.runs.is_empty() {
            self.runs.clone_from(&other.runs);
        } else if other.runs.len() * FEW < self.runs.len() {
            other.runs.iter().for_each(|&(first, last)| self.unite_run(first, last));
        } else if !other.runs.is_empty() {
            self.merge(other);
        }
    }

    fn unite_run(&mut self, first: u32, last: u32) {
        let from = self.runs.partition_point(|run| run.1 + 1 < first);
        let to = from + self.runs[from..].partition_point(|run| run.0 <= last + 1);
        if from == to {
            self.runs.insert(from, (first, last));
        } else {
            self.runs[from] = (first.min(self.runs[from].0), last.max(self.runs[to - 1].1));
            self.runs.drain(from + 1..to);
        }
    }

    fn merge(&mut self, other: &NodeSet) {
        let mut a = self.runs.as_slice();
        let mut b = other.runs.as_slice();
        let mut merged: SmallVec<[(u32, u32); 2]> = SmallVec::with_capacity(a.len() + b.len());
        loop {
            let mine = b.first().is_none_or(|b| a.first().is_some_and(|a| a.0 <= b.0));
            let next = if mine { a.split_off_first() } else { b.split_off_first() };
            let Some(&run) = next else { break };
            match merged.last_mut() {
                Some(before) if run.0 <= before.1 + 1 => before.1 = before.1.max(run.1),
                _ => merged.push(run),
            }
        }
        self.runs = merged;
    }

    /// Removes the nodes of `other` that are present.
    pub fn subtract(&mut self, other: &NodeSet) {
        for &(first, last) in &other.runs {
            let from = runs_before(&self.runs, first);
            let to = from + self.runs[from..].partition_point(|run| run.0 <= last);
            if from == to {
                continue;
            }
            let low = self.runs[from].0;
            let high = self.runs[to - 1].1;
            let left = (low < first).then(|| (low, first - 1));
            let right = (last < high).then(|| (last + 1, high));
            match (left, right) {
                (Some(left), Some(right)) if to - from == 1 => {
                    self.runs[from] = left;
                    self.runs.insert(from + 1, right);
                }
                _ => {
                    let mut at = from;
                    for run in left.into_iter().chain(right) {
                        self.runs[at] = run;
                        at += 1;
                    }
                    self.runs.drain(at..to);
                }
            }
        }
    }
}

/// Ratio of runs from which on the runs of the smaller set are found by binary search instead of a merge.
const FEW: usize = 8;

/// Number of runs before a node.
fn runs_before(runs: &[(u32, u32)], node: u32) -> usize {
    runs.partition_point(|run| run.1 < node)
}

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.runs.as_slice().serialize(serializer)
    }
}

impl TryFrom<Vec<(u32, u32)>> for NodeSet {
    type Error = &'static str;

    fn try_from(runs: Vec<(u32, u32)>) -> Result<NodeSet, &'static str> {
        let mut set = NodeSet::default();
        runs.into_iter().try_for_each(|(first, last)| set.push_run(first, last))?;
        Ok(set)
    }
}

/// Deserialises run by run, which allocates neither for a set of few runs nor what a hostile length claims.
impl<'de> Deserialize<'de> for NodeSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NodeSet, D::Error> {
        deserializer.deserialize_seq(RunVisitor)
    }
}

struct RunVisitor;

impl<'de> Visitor<'de> for RunVisitor {
    type Value = NodeSet;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the runs of a set of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut runs: A) -> Result<NodeSet, A::Error> {
        let mut set = NodeSet::default();
        while let Some((first, last)) = runs.next_element()? {
            set.push_run(first, last).map_err(de::Error::custom)?;
        }
        Ok(set)
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (first, last)) in self.runs.iter().enumerate() {
            if position > 0 {
                f.write_str(" ")?;
            }
            if first == last { write!(f, "{first}")? } else { write!(f, "{first}-{last}")? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn members(set: &NodeSet) -> BTreeSet<u32> {
        set.each().collect()
    }

    proptest! {
        /// Compares with a plain set of numbers: random removals and additions; always lowest first, always merged.
        #[test]
        fn behaves_like_a_set_of_numbers(steps in prop::collection::vec((any::<bool>(), 0u32..12), 1..80)) {
            let mut free = NodeSet::all(40);
            let mut judge: BTreeSet<u32> = (0..40).collect();
            let mut held: Vec<NodeSet> = Vec::new();
            for (take, number) in steps {
                if take {
                    let expected: BTreeSet<u32> = judge.iter().copied().take(number as usize).collect();
                    match free.take_lowest(number) {
                        Some(set) => {
                            prop_assert_eq!(members(&set), expected.clone());
                            judge.retain(|node| !expected.contains(node));
                            held.push(set);
                        }
                        None => prop_assert!(judge.len() < number as usize),
                    }
                } else if !held.is_empty() {
                    let set = held.swap_remove(number as usize % held.len());
                    judge.extend(members(&set));
                    free.insert(&set);
                }
                prop_assert_eq!(members(&free), judge.clone());
                prop_assert_eq!(free.len() as usize, judge.len());
                prop_assert!(free.runs.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            }
        }
    }

    fn set_of(members: &BTreeSet<u32>) -> NodeSet {
        let mut set = NodeSet::default();
        members.iter().for_each(|&node| set.push(node, node));
        set
    }

    proptest! {
        /// Compares with plain sets of numbers, for sets of few runs and of many.
        #[test]
        fn combines_like_sets_of_numbers(
            many in prop::collection::btree_set(0u32..90, 0..60),
            other in prop::collection::btree_set(0u32..90, 0..60),
            few in (0u32..90, 0u32..20),
            lowest in 0u32..70,
        ) {
            let a = set_of(&many);
            prop_assert_eq!(members(&a), many.clone());
            let few: BTreeSet<u32> = (few.0..few.0 + few.1).collect();
            for other in [other, few, many.iter().copied().step_by(3).collect()] {
                let b = set_of(&other);
                prop_assert_eq!(a.meets(&b), !many.is_disjoint(&other));
                prop_assert_eq!(a.contains(&b), many.is_superset(&other));
                prop_assert_eq!(members(&a.intersection(&b)), &many & &other);
                let mut union = a.clone();
                let mut rest = a.clone();
                union.unite(&b);
                rest.subtract(&b);
                prop_assert_eq!(&union, &set_of(&(&many | &other)));
                prop_assert_eq!(&rest, &set_of(&(&many - &other)));
            }
            prop_assert_eq!(a.complement(90), set_of(&(0..90).filter(|node| !many.contains(node)).collect()));
            let expected = many.iter().copied().take(lowest as usize).collect();
            prop_assert_eq!(a.lowest(lowest), (many.len() >= lowest as usize).then(|| set_of(&expected)));
        }
    }

    #[test]
    fn prints_as_runs() {
        let mut set = NodeSet::all(8);
        let low = set.take_lowest(4).unwrap();
        let four = set.take_lowest(1).unwrap();
        assert_eq!((low.to_string(), four.to_string(), set.to_string()), ("0-3".into(), "4".into(), "5-7".into()));
        set.insert(&low);
        assert_eq!(set.to_string(), "0-3 5-7");
        assert_eq!(NodeSet::parse("0-3 5-7"), Some(set));
        assert_eq!(NodeSet::parse(""), Some(NodeSet::default()));
        for wrong in ["x", "3-1", "0-3 4", "5 2", "1  3", "1,3"] {
            assert_eq!(NodeSet::parse(wrong), None, "{wrong}");
        }
    }
}
