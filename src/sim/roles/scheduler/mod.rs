//! Managers of sites that belong to no paper, one per file.

mod auction;
mod in_turn;

pub use in_turn::InTurn;

use super::site::Manager;

/// A manager that a topology may name.
pub struct SchedulerRow {
    pub name: &'static str,
    pub about: &'static str,
    pub build: fn() -> Box<dyn Manager>,
}

pub const ALL: &[SchedulerRow] = &[auction::ROW];

pub fn find_scheduler(name: &str) -> Option<&'static SchedulerRow> {
    ALL.iter().find(|row| row.name == name)
}
