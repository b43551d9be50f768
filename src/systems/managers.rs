//! Managers of sites that belong to no system of their own: a system that takes them in finds them here by their names.

use super::dfrs;
use crate::grid::{Named, Site};
use crate::roles::site::Manager;

/// A kind of manager whose names follow a grammar.
pub struct Kind {
    /// Some of its names.
    pub names: fn() -> Vec<Named>,
    /// What else its names may say, line by line.
    pub grammar: &'static [&'static str],
    /// A regular expression that all its names fit.
    pub pattern: &'static str,
    pub about: &'static str,
    /// A name as it is printed, or what is wrong with it; `None` for what is none of its names at all.
    pub read: fn(&str) -> Option<Result<String, String>>,
    /// What one should know before using this name.
    pub warning: fn(&str) -> Option<String>,
    pub build: fn(&Site) -> Option<Box<dyn Manager>>,
}

pub const ALL: &[Kind] = &[dfrs::KIND];

/// The kind of manager that has this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().find(|kind| matches!((kind.read)(name), Some(Ok(_))))
}

/// A name as its kind prints it, or what is wrong with it; `None` for what is no such name at all.
pub fn read(name: &str) -> Option<Result<String, String>> {
    ALL.iter().find_map(|kind| (kind.read)(name))
}
