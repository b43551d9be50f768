//! Sets of node numbers for the tree: bits for few nodes, runs for many.

use super::super::NodeSet;

pub trait Set: Clone + Default + PartialEq {
    fn from_nodes(nodes: &NodeSet) -> Self;
    fn to_nodes(&self) -> NodeSet;
    fn len(&self) -> u32;
    fn is_empty(&self) -> bool;
    fn add_all(&mut self, other: &Self);
    fn remove_all(&mut self, other: &Self);
    fn common_nodes(&self, other: &Self) -> Self;
    fn shares_nodes(&self, other: &Self) -> bool;
    fn contains(&self, other: &Self) -> bool;
    /// The lowest `count` nodes; `None` if there are fewer.
    fn lowest_nodes(&self, count: u32) -> Option<Self>;
    /// True if all numbers below the highest of `other` are in the set.
    fn holds_below(&self, other: &Self) -> bool;
}

impl Set for NodeSet {
    fn from_nodes(nodes: &NodeSet) -> NodeSet {
        nodes.clone()
    }

    fn to_nodes(&self) -> NodeSet {
        self.clone()
    }

    fn len(&self) -> u32 {
        self.len()
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn add_all(&mut self, other: &NodeSet) {
        self.unite(other);
    }

    fn remove_all(&mut self, other: &NodeSet) {
        self.subtract(other);
    }

    fn common_nodes(&self, other: &NodeSet) -> NodeSet {
        self.intersection(other)
    }

    fn shares_nodes(&self, other: &NodeSet) -> bool {
        self.meets(other)
    }

    fn contains(&self, other: &NodeSet) -> bool {
        self.contains(other)
    }

    fn lowest_nodes(&self, count: u32) -> Option<NodeSet> {
        self.lowest(count)
    }

    fn holds_below(&self, other: &NodeSet) -> bool {
        let Some((_, highest)) = other.runs().last() else { return true };
        *highest == 0 || matches!(self.runs(), [(0, last), ..] if last + 1 >= *highest)
    }
}

/// Up to `64 * W` nodes, one bit each.
#[derive(Clone, PartialEq)]
pub struct Bits<const W: usize> {
    words: [u64; W],
}

impl<const W: usize> Default for Bits<W> {
    fn default() -> Self {
        Bits { words: [0; W] }
    }
}

impl<const W: usize> Set for Bits<W> {
    fn from_nodes(nodes: &NodeSet) -> Self {
        let mut bits = Self::default();
        for &(first, last) in nodes.runs() {
            let low = first as usize / 64;
            let high = last as usize / 64;
            for (word, bits) in bits.words.iter_mut().enumerate().take(high + 1).skip(low) {
                let from = if word == low { u64::MAX << (first % 64) } else { u64::MAX };
                let to = if word == high { u64::MAX >> (63 - last % 64) } else { u64::MAX };
                *bits |= from & to;
            }
        }
        bits
    }

    fn to_nodes(&self) -> NodeSet {
        let mut nodes = NodeSet::default();
        for (word, &bits) in self.words.iter().enumerate() {
            let mut rest = bits;
            let base = word as u32 * 64;
            while rest != 0 {
                let first = rest.trailing_zeros();
                let length = (rest >> first).trailing_ones();
                nodes.push(base + first, base + first + length - 1);
                rest &= u64::MAX.checked_shl(first + length).unwrap_or(0);
            }
        }
        nodes
    }

    fn holds_below(&self, other: &Self) -> bool {
        let Some(high) = other.words.iter().rposition(|&word| word != 0) else { return true };
        let below = (1 << other.words[high].ilog2()) - 1;
        self.words[..high].iter().all(|&word| word == u64::MAX) && self.words[high] & below == below
    }

    fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    fn add_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(mine, other)| *mine |= other);
    }

    fn remove_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(mine, other)| *mine &= !other);
    }

    fn common_nodes(&self, other: &Self) -> Self {
        let mut common = self.clone();
        common.words.iter_mut().zip(&other.words).for_each(|(mine, other)| *mine &= other);
        common
    }

    fn shares_nodes(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(mine, other)| mine & other != 0)
    }

    fn contains(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(mine, other)| other & !mine == 0)
    }

    fn lowest_nodes(&self, count: u32) -> Option<Self> {
        let mut lowest = Self::default();
        let mut missing = count;
        for (word, &bits) in lowest.words.iter_mut().zip(&self.words) {
            let here = bits.count_ones();
            if here < missing {
                *word = bits;
                missing -= here;
                continue;
            }
            let mut rest = bits;
            for _ in 0..missing {
                rest &= rest - 1;
            }
            *word = bits & !rest;
            return Some(lowest);
        }
        (missing == 0).then_some(lowest)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Answers = ([NodeSet; 4], u32, [bool; 4], Option<NodeSet>);

    /// Results of all operations, as runs.
    fn answers<S: Set>(one: &NodeSet, other: &NodeSet, count: u32) -> Answers {
        let one = S::from_nodes(one);
        let other = S::from_nodes(other);
        let mut more = one.clone();
        let mut less = one.clone();
        more.add_all(&other);
        less.remove_all(&other);
        let sets = [&one, &more, &less, &one.common_nodes(&other)].map(Set::to_nodes);
        let facts = [one.is_empty(), one.shares_nodes(&other), one.contains(&other), one.holds_below(&other)];
        (sets, one.len(), facts, one.lowest_nodes(count).map(|lowest| lowest.to_nodes()))
    }

    fn set(numbers: &BTreeSet<u32>) -> NodeSet {
        let mut set = NodeSet::default();
        numbers.iter().for_each(|number| set.push(*number, *number));
        set
    }

    /// Runs, possibly beginning at the first number.
    fn numbers() -> impl Strategy<Value = BTreeSet<u32>> {
        let run = (prop_oneof![Just(0u32), 0u32..130], 1u32..70);
        prop::collection::vec(run, 0..5)
            .prop_map(|runs| runs.into_iter().flat_map(|(first, count)| first..(first + count).min(192)).collect())
    }

    proptest! {
        #[test]
        fn all_kinds_of_sets_say_the_same(one in numbers(), other in numbers(), count in 0u32..100) {
            let nodes = set(&one);
            let others = set(&other);
            let expected = answers::<NodeSet>(&nodes, &others, count);
            prop_assert_eq!(answers::<Bits<3>>(&nodes, &others, count), expected.clone());
            prop_assert_eq!(answers::<Bits<16>>(&nodes, &others, count), expected);
            let below = other.last().is_none_or(|last| (0..*last).all(|number| one.contains(&number)));
            prop_assert_eq!(nodes.holds_below(&others), below);
        }
    }
}
