//! Maps, sets and sorts for small or rarely used collections.
//!
//! The standard ones are compiled anew for every pair of types: a tree in 6,000 statements, a sort in 3,000. The ones
//! here take a tenth of that. Large collections filled in any order use a `BTreeMap`, and sorts on a hot path use the
//! standard library.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Index;

/// A map that is one sorted list. Inserting a key beyond all others is O(1) amortised; inserting elsewhere moves all
/// later entries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Map<K, V>(Vec<(K, V)>);

/// Projection of each pair. A named type, as an unnamed one is assumed to need a drop.
type Each<'m, K, V, T> = std::iter::Map<std::slice::Iter<'m, (K, V)>, fn(&'m (K, V)) -> T>;

impl<K, V> Default for Map<K, V> {
    fn default() -> Map<K, V> {
        Map::new()
    }
}

impl<K, V> Map<K, V> {
    pub const fn new() -> Map<K, V> {
        Map(Vec::new())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Pairs in order of keys.
    pub fn iter(&self) -> Each<'_, K, V, (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub fn keys(&self) -> Each<'_, K, V, &K> {
        self.0.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> Each<'_, K, V, &V> {
        self.0.iter().map(|(_, value)| value)
    }

    pub fn into_keys(self) -> impl Iterator<Item = K> {
        self.0.into_iter().map(|(key, _)| key)
    }

    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Map<K, V> {
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        Some(&self.0[self.find(key).ok()?].1)
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(&mut self.0[place].1)
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Inserts a value and returns the key's previous value.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Value of this key, which is created if it is missing.
    pub fn or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let place = match self.find(&key) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, value()));
                place
            }
        };
        &mut self.0[place].1
    }

    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        Some(self.0.remove(self.find(key).ok()?).1)
    }

    /// Index of the key, or the index at which to insert it. Most keys come in order, so the end is examined first.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        match self.0.last() {
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(other, _)| other.borrow().cmp(key)),
        }
    }
}

/// The last of several values with equal keys wins.
impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Map<K, V> {
        let mut map = Map::new();
        map.extend(pairs);
        map
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Map<K, V> {
    type Item = &'a (K, V);
    type IntoIter = std::slice::Iter<'a, (K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<K: Ord + Borrow<Q>, V, Q: Ord + ?Sized> Index<&Q> for Map<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("a key that is in the map")
    }
}

/// A set that is one sorted list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Set<T>(Map<T, ()>);

impl<T> Default for Set<T> {
    fn default() -> Set<T> {
        Set::new()
    }
}

impl<T> Set<T> {
    pub const fn new() -> Set<T> {
        Set(Map::new())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> Each<'_, T, (), &T> {
        self.0.keys()
    }
}

impl<T: Ord> Set<T> {
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(item)
    }

    /// Removes an item. True if it was in the set.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(item).is_some()
    }

    /// Inserts an item. True if it is new.
    pub fn insert(&mut self, item: T) -> bool {
        self.0.insert(item, ()).is_none()
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Set<T> {
        let mut set = Set::new();
        for item in items {
            set.insert(item);
        }
        set
    }
}

impl<T> IntoIterator for Set<T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(item, ())| item)
    }
}

/// A tree of items inserted one by one; collecting it would sort the items first.
pub fn tree<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut tree = BTreeMap::new();
    for (key, value) in pairs {
        tree.insert(key, value);
    }
    tree
}

/// Stable sort.
pub fn sort_by<T>(items: &mut [T], mut order: impl FnMut(&T, &T) -> Ordering) {
    let mut goes_to = places(items.len(), &mut |one, other| order(&items[one], &items[other]));
    for place in 0..items.len() {
        // Items that are swapped away from here have reached their final index.
        while goes_to[place] != place {
            let to = goes_to[place];
            items.swap(place, to);
            goes_to.swap(place, to);
        }
    }
}

pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Index in sorted order of each of `many` items.
fn places(many: usize, order: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..many).collect();
    sorted.sort_by(|one, other| order(*one, *other));
    let mut places = vec![0; many];
    for (place, from) in sorted.into_iter().enumerate() {
        places[from] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_map_is_as_a_tree_would_be(steps in prop::collection::vec((0_u8..3, 0_u8..20, any::<u16>()), 0..80)) {
            let (mut map, mut tree) = (Map::new(), BTreeMap::new());
            for (what, key, value) in steps {
                match what {
                    0 => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    1 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    _ => {
                        *map.or_default(key) += u16::from(value == 1);
                        *tree.entry(key).or_default() += u16::from(value == 1);
                    }
                }
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert_eq!((map.len(), map.is_empty()), (tree.len(), tree.is_empty()));
                prop_assert!(map.iter().eq(tree.iter()));
            }
            prop_assert!(map.keys().eq(tree.keys()) && map.values().eq(tree.values()));
            prop_assert!(map.into_iter().eq(tree));
        }

        #[test]
        fn what_is_collected_is_as_a_tree_would_be(pairs in prop::collection::vec((0_u8..20, any::<u8>()), 0..60)) {
            let expected: BTreeMap<u8, u8> = pairs.iter().copied().collect();
            prop_assert_eq!(tree(pairs.iter().copied()), expected.clone());
            prop_assert!(pairs.iter().copied().collect::<Map<u8, u8>>().into_iter().eq(expected));
            let set: Set<u8> = pairs.iter().map(|(key, _)| *key).collect();
            prop_assert!(set.into_iter().eq(pairs.iter().map(|(key, _)| *key).collect::<BTreeSet<u8>>()));
        }

        #[test]
        fn what_is_equal_stays_in_order(items in prop::collection::vec((0_u8..8, any::<String>()), 0..60)) {
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by_key(&mut ours, |item| item.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn a_long_cycle_takes_one_exchange_each() {
        let mut items: Vec<u32> = (1..=100_000).chain([0]).collect();
        sort_by_key(&mut items, |item| *item);
        assert!(items.into_iter().eq(0..=100_000));
    }
}
