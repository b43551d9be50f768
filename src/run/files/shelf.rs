//! Files of one folder that grow concurrently.

use std::collections::BTreeMap;

use super::super::partial_dir::PartialDir;
use super::FileError;
use super::file::{EndedFile, ResultFile};

/// Files by their names; each is made at the first write to it.
pub struct Shelf {
    folder: PartialDir,
    open: BTreeMap<&'static str, ResultFile>,
}

impl Shelf {
    pub(super) fn new(folder: PartialDir) -> Shelf {
        Shelf { folder, open: BTreeMap::new() }
    }

    /// Appends to a file.
    pub fn append_to(&mut self, name: &'static str, bytes: &[u8]) -> Result<(), FileError> {
        if !self.open.contains_key(name) {
            self.open.insert(name, ResultFile::create_in(&self.folder, name)?);
        }
        self.open.get_mut(name).expect("opened above").append_bytes(bytes)
    }

    /// Ends this file, if it is there.
    pub fn end(&mut self, name: &'static str) -> Option<EndedFile> {
        Some(self.open.remove(name)?.end())
    }

    /// Ends all files, by their names.
    pub fn end_all(&mut self) -> impl Iterator<Item = (&'static str, EndedFile)> {
        std::mem::take(&mut self.open).into_iter().map(|(name, file)| (name, file.end()))
    }
}
