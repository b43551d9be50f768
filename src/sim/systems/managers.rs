//! Managers of sites that are independent of a system: a system that accepts them finds them here by name.

use super::{ActorError, ExternalDecider, Fails, dfrs, outside};
use crate::grid::{MoveCost, Named, Site};
use crate::roles::queue;
use crate::roles::site::Manager;

/// A kind of manager whose names follow a grammar.
pub struct ManagerRow {
    /// Examples of its names.
    pub names: fn() -> Vec<Named>,
    /// Further forms of its names, line by line.
    pub grammar: &'static [&'static str],
    /// A regular expression that matches all its names.
    pub pattern: &'static str,
    pub about: &'static str,
    /// Checks a name: its printed form, or the fault in it; `None` if it is not of this kind.
    pub read: fn(&str) -> Option<Result<String, String>>,
    /// Advice for the user before a site runs under this manager; None if there is none.
    pub warning: fn(&Site) -> Option<String>,
    pub runs: Execution,
    /// Share of the usable processors that all tasks of a job must get at an empty site of this name; with less, the
    /// job is never placed.
    pub least_yield: fn(&str) -> f64,
    /// Cost of resuming or moving a job of this site.
    pub move_cost: fn(&Site) -> MoveCost,
    /// Builds the manager of this site, with the failures of its nodes. `decider` connects the external program, where
    /// one decides.
    pub build: fn(&Site, Option<&Fails>, Option<ExternalDecider>) -> ManagerResult,
}

/// The manager of a site, or why there is none.
pub type ManagerResult = Result<Box<dyn Manager>, ActorError>;

/// The way a manager runs its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// Jobs share nodes.
    Sharing,
    /// An external program decides; it is addressed in this protocol.
    Outside(ProgramProtocol),
}

/// Protocol of an external program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramProtocol {
    /// One JSON object per line.
    Lines,
    /// Batsim's protocol.
    Batsim,
    /// Commands of Slurm, such as `sbatch`.
    Slurm,
}

pub const ALL: &[ManagerRow] = &[dfrs::KIND, outside::LINES, outside::BATSIM, outside::SLURM];

/// The kind of manager of this name.
pub fn find_kind(name: &str) -> Option<&'static ManagerRow> {
    // No kind has the name of a queue policy, and most sites have one: to refuse it costs the search for a near name.
    if queue::find_policy(name).is_some() {
        return None;
    }
    ALL.iter().find(|kind| matches!((kind.read)(name), Some(Ok(_))))
}

/// Checks a name: its printed form, or the fault in it; `None` if no kind has such names.
pub fn check_name(name: &str) -> Option<Result<String, String>> {
    ALL.iter().find_map(|kind| (kind.read)(name))
}

/// True if jobs share the nodes of a site with this manager.
pub fn shares_nodes(name: &str) -> bool {
    find_kind(name).is_some_and(|kind| kind.runs == Execution::Sharing)
}

/// True if a site with this manager states which jobs backfilling starts.
pub fn states_backfill(name: &str) -> bool {
    program_protocol(name) == Some(ProgramProtocol::Slurm)
}

/// Share of the usable processors that all tasks of a job must get at an empty site with this manager.
pub fn least_yield(name: &str) -> f64 {
    find_kind(name).map_or(0.0, |kind| (kind.least_yield)(name))
}

/// Cost of resuming or moving a job of a site.
pub fn move_cost(site: &Site) -> MoveCost {
    find_kind(&site.scheduler).map_or(MoveCost::default(), |kind| (kind.move_cost)(site))
}

/// Protocol of the external program that decides at a site with this manager, if one does.
pub fn program_protocol(name: &str) -> Option<ProgramProtocol> {
    match find_kind(name)?.runs {
        Execution::Outside(protocol) => Some(protocol),
        Execution::Sharing => None,
    }
}
