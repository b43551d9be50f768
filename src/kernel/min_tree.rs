//! The smallest of a row of stamps, while single ones change: O(log n) a change, O(1) a look.

use crate::time::Stamp;

pub(super) struct MinTree {
    /// A complete binary tree: node `i` holds the smaller of nodes `2i` and `2i + 1`; the row is its second half.
    nodes: Vec<Stamp>,
}

impl MinTree {
    pub(super) fn new(len: usize) -> MinTree {
        MinTree { nodes: vec![Stamp::NEVER; 2 * len.next_power_of_two().max(1)] }
    }

    pub(super) fn min(&self) -> Stamp {
        self.nodes[1]
    }

    pub(super) fn set(&mut self, index: usize, stamp: Stamp) {
        let mut node = self.nodes.len() / 2 + index;
        self.nodes[node] = stamp;
        while node > 1 {
            node /= 2;
            let smaller = self.nodes[2 * node].min(self.nodes[2 * node + 1]);
            if self.nodes[node] == smaller {
                return;
            }
            self.nodes[node] = smaller;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::time::Time;

    proptest! {
        #[test]
        fn knows_the_smallest(len in 0usize..20, changes in prop::collection::vec((0usize..20, 0u64..50), 0..60)) {
            let mut row = vec![Stamp::NEVER; len];
            let mut tree = MinTree::new(len);
            for (index, time) in changes.into_iter().filter(|(index, _)| *index < len) {
                row[index] = Stamp::at(Time::from_micros(time));
                tree.set(index, row[index]);
                prop_assert_eq!(Some(tree.min()), row.iter().min().copied());
            }
        }
    }
}
