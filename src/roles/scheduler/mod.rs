//! Managers of sites that are about no paper, one a file.

mod auction;
mod in_turn;

pub use in_turn::InTurn;

use super::site::Manager;

/// A manager that a topology may name.
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn() -> Box<dyn Manager>,
}

pub const ALL: &[Entry] = &[auction::ENTRY];

pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}
