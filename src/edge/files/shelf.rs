//! Files of one folder that grow side by side.

use std::collections::{BTreeMap, btree_map};

use super::super::stand_in::StandIn;
use super::FileError;
use super::file::{Ended, ResultFile};

/// Files by their names; each is made when something is first written to it.
pub struct Shelf {
    folder: StandIn,
    open: BTreeMap<&'static str, ResultFile>,
}

impl Shelf {
    pub(super) fn new(folder: StandIn) -> Shelf {
        Shelf { folder, open: BTreeMap::new() }
    }

    /// Appends to a file.
    pub fn put(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), FileError> {
        let file = match self.open.entry(name) {
            btree_map::Entry::Occupied(file) => file.into_mut(),
            btree_map::Entry::Vacant(place) => place.insert(ResultFile::of(&self.folder, name)?),
        };
        file.put(bytes)
    }

    /// Nothing more is added to this one, if it is there.
    pub fn end(&mut self, name: &'static str) -> Option<Ended> {
        Some(self.open.remove(name)?.end())
    }

    /// Nothing more is added to any; by their names.
    pub fn end_all(&mut self) -> impl Iterator<Item = (&'static str, Ended)> {
        std::mem::take(&mut self.open).into_iter().map(|(name, file)| (name, file.end()))
    }
}
