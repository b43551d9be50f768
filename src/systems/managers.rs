//! Managers of sites that belong to no system of their own: a system that takes them in finds them here by their names.

use super::{CastError, Fails, Outsider, dfrs, outside};
use crate::grid::{MoveCost, Named, Site};
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
    /// What one should know before running this site so.
    pub warning: fn(&Site) -> Option<String>,
    pub runs: Runs,
    /// What part of the processors that they can use all tasks of a job must get at an empty site of this name, or the
    /// job is never placed.
    pub least_yield: fn(&str) -> f64,
    /// What it costs a job of this site to be resumed or moved.
    pub move_cost: fn(&Site) -> MoveCost,
    /// The manager of this site, whose nodes may fail in such a way; `outsider` speaks for the program outside, where
    /// one decides.
    pub build: fn(&Site, Option<&Fails>, Option<Outsider>) -> Managing,
}

/// The manager of a site, if there can be one.
pub type Managing = Result<Box<dyn Manager>, CastError>;

/// How a manager runs what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Jobs share nodes.
    Sharing,
    /// A program outside says; it is talked to in this way.
    Outside(Tongue),
}

/// How a program outside is talked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tongue {
    /// A JSON object a line.
    Lines,
    /// Batsim's protocol.
    Batsim,
}

pub const ALL: &[Kind] = &[dfrs::KIND, outside::LINES, outside::BATSIM];

/// The kind of manager that has this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().find(|kind| matches!((kind.read)(name), Some(Ok(_))))
}

/// A name as its kind prints it, or what is wrong with it; `None` for what is no such name at all.
pub fn read(name: &str) -> Option<Result<String, String>> {
    ALL.iter().find_map(|kind| (kind.read)(name))
}

/// Whether jobs share the nodes of a site that is run like that.
pub fn shares_nodes(name: &str) -> bool {
    find(name).is_some_and(|kind| kind.runs == Runs::Sharing)
}

/// What part of the processors that they can use all tasks of a job must get at an empty site that is run like that.
pub fn least_yield(name: &str) -> f64 {
    find(name).map_or(0.0, |kind| (kind.least_yield)(name))
}

/// What it costs a job of a site to be resumed or moved.
pub fn move_cost(site: &Site) -> MoveCost {
    find(&site.scheduler).map_or(MoveCost::default(), |kind| (kind.move_cost)(site))
}

/// How the program is talked to that decides at a site that is run like that, if one does.
pub fn tongue(name: &str) -> Option<Tongue> {
    match find(name)?.runs {
        Runs::Outside(tongue) => Some(tongue),
        Runs::Sharing => None,
    }
}
