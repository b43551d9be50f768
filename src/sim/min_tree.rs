//! Minimum of a sequence of values that change one at a time.

/// A complete binary tree in which a change climbs only as far as it affects a minimum: a value that stays behind
/// another costs almost nothing, and a change costs at most O(log n). Reading the minimum costs O(1).
#[derive(Clone, Debug)]
pub struct MinTree<T> {
    /// The root is at 1; a node is the minimum of its children, which are at `2i` and `2i + 1`; the values are the
    /// second half.
    nodes: Vec<T>,
    /// Filler for missing values: no value is greater.
    none: T,
}

impl<T: Copy + Ord> MinTree<T> {
    pub fn new(len: usize, none: T) -> MinTree<T> {
        MinTree { nodes: vec![none; 2 * len.next_power_of_two()], none }
    }

    /// Makes room for `len` values.
    pub fn reserve(&mut self, len: usize) {
        let row = self.row();
        if len > row {
            let mut larger = MinTree::new(len, self.none);
            let first = larger.row();
            larger.nodes[first..first + row].copy_from_slice(&self.nodes[row..]);
            larger.compare_all();
            *self = larger;
        }
    }

    /// The minimum.
    pub fn min(&self) -> T {
        self.nodes[1]
    }

    /// Index of the first minimum; `None` if there is no value.
    pub fn place_of_min(&self) -> Option<usize> {
        if self.min() == self.none {
            return None;
        }
        let mut node = 1;
        while node < self.row() {
            node = 2 * node + usize::from(self.nodes[2 * node] != self.nodes[node]);
        }
        Some(node - self.row())
    }

    pub fn set(&mut self, place: usize, value: T) {
        self.write(place, value);
        self.climb(place);
    }

    /// Writes a value without updating the minimum; see [`update_places`](MinTree::update_places).
    pub fn write(&mut self, place: usize, value: T) {
        let row = self.row();
        self.nodes[row + place] = value;
    }

    /// Updates the minimum for values written at these places.
    pub fn update_places(&mut self, places: &[u32]) {
        // If many have changed, recomputing all nodes costs less than one climb for each.
        if places.len() > self.row() / 8 {
            self.compare_all();
        } else {
            places.iter().for_each(|place| self.climb(*place as usize));
        }
    }

    fn row(&self) -> usize {
        self.nodes.len() / 2
    }

    fn compare_all(&mut self) {
        for node in (1..self.row()).rev() {
            self.nodes[node] = self.lesser_child(node);
        }
    }

    fn climb(&mut self, place: usize) {
        let mut node = self.row() + place;
        while node > 1 {
            node /= 2;
            let lesser = self.lesser_child(node);
            if self.nodes[node] == lesser {
                return;
            }
            self.nodes[node] = lesser;
        }
    }

    fn lesser_child(&self, node: usize) -> T {
        self.nodes[2 * node].min(self.nodes[2 * node + 1])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: u64 = u64::MAX;

    fn check(tree: &MinTree<u64>, row: &[u64]) -> Result<(), TestCaseError> {
        let least = row.iter().copied().min().unwrap_or(NONE);
        prop_assert_eq!(tree.min(), least);
        prop_assert_eq!(tree.place_of_min(), row.iter().position(|value| *value == least && least != NONE));
        Ok(())
    }

    proptest! {
        #[test]
        fn knows_the_least(
            len in 0usize..20,
            more in 0usize..20,
            changes in prop::collection::vec((0usize..40, prop_oneof![0u64..50, Just(NONE)], any::<bool>()), 0..60),
        ) {
            let mut row = vec![NONE; len];
            let mut tree = MinTree::new(len, NONE);
            let mut written = Vec::new();
            for (number, (place, value, at_once)) in changes.into_iter().enumerate() {
                if number == 20 {
                    row.resize(len + more, NONE);
                    tree.reserve(len + more);
                }
                if place >= row.len() {
                    continue;
                }
                row[place] = value;
                if at_once && written.is_empty() {
                    tree.set(place, value);
                } else {
                    tree.write(place, value);
                    written.push(place as u32);
                }
                if at_once {
                    tree.update_places(&written);
                    written.clear();
                    check(&tree, &row)?;
                }
            }
            tree.update_places(&written);
            check(&tree, &row)?;
        }
    }
}
