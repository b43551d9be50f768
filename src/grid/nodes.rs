//! Sets of nodes (or cores) by identity, kept as sorted runs.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;

/// A set of node numbers as ascending, disjoint, non-adjacent, inclusive runs; prints as `0-3 7`.
///
/// It travels as its runs, and is checked again on arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<(u32, u32)>")]
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

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn len(&self) -> u32 {
        self.runs.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub fn runs(&self) -> &[(u32, u32)] {
        &self.runs
    }

    /// Reads back what the set prints as; `None` for anything else.
    pub fn parse(text: &str) -> Option<NodeSet> {
        let mut set = NodeSet::default();
        for run in text.split(' ').filter(|_| !text.is_empty()) {
            let (first, last) = run.split_once('-').unwrap_or((run, run));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            let follows = set.runs.last().is_none_or(|&(_, before)| before < first && first - before > 1);
            if first > last || !follows {
                return None;
            }
            set.runs.push((first, last));
        }
        Some(set)
    }

    /// Takes the lowest `count` nodes out of this set; `None`, and no change, if it has fewer.
    pub fn take_lowest(&mut self, count: u32) -> Option<NodeSet> {
        let mut taken = NodeSet::default();
        let mut missing = count;
        let mut whole = 0;
        for &(first, last) in &self.runs {
            let here = last - first + 1;
            if missing < here {
                break;
            }
            taken.runs.push((first, last));
            missing -= here;
            whole += 1;
            if missing == 0 {
                break;
            }
        }
        if missing > 0 {
            let (first, last) = *self.runs.get(whole)?;
            taken.runs.push((first, first + missing - 1));
            self.runs[whole] = (first + missing, last);
        }
        self.runs.drain(..whole);
        Some(taken)
    }

    /// Adds the nodes of `other`, none of which may be here already.
    pub fn insert(&mut self, other: &NodeSet) {
        for &(first, last) in &other.runs {
            self.insert_run(first, last);
        }
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

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.runs.as_slice().serialize(serializer)
    }
}

/// By way of a plain vector, which does not allocate what a hostile length asks for.
impl TryFrom<Vec<(u32, u32)>> for NodeSet {
    type Error = &'static str;

    fn try_from(runs: Vec<(u32, u32)>) -> Result<NodeSet, &'static str> {
        let forward = runs.iter().all(|(first, last)| first <= last);
        let apart = runs.windows(2).all(|pair| pair[0].1.checked_add(1).is_some_and(|next| next < pair[1].0));
        match forward && apart {
            true => Ok(NodeSet { runs: SmallVec::from_vec(runs) }),
            false => Err("a set of nodes whose runs do not ascend with gaps between them"),
        }
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
        set.runs.iter().flat_map(|&(first, last)| first..=last).collect()
    }

    proptest! {
        /// Against a plain set of numbers: takes and returns in random order, always lowest first, always merged.
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
