//! Topologies: a file as written becomes a meaning that is checked once, and the meaning becomes actors and places.

mod build;
mod check;
mod complaint;
mod fields;
mod file;
mod overrides;
mod suggest;
#[cfg(test)]
mod tests;
mod units;
mod write;

use serde::Serialize;

pub use build::{BuildError, Cast, Plan, Role, build};
pub use complaint::Complaints;
pub(crate) use complaint::{Complaint, Place};
pub(crate) use fields::{Field, Fields, is_name};
pub use file::{Input, Read};
pub(crate) use file::{Library, Node, Table, Value, beside};
pub(crate) use overrides::Origin;
pub use overrides::{NoOverride, Override};
pub use suggest::nearest;

use crate::grid::Kind;
use crate::time::Span;
use crate::workload::Source;

pub use crate::systems::market::{Blocking, EdfDeadline, Market, Network, Pvdsq, Pvr, Removal, SuccSum, Unplaceable};

/// A checked topology, with every default filled in. What is here is not doubted again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Topology {
    pub name: String,
    pub about: Option<String>,
    pub seed: u64,
    /// Every kind of core that a site offers, in order of first mention; [`Kind`] is an index into it.
    pub kinds: Vec<String>,
    pub market: Market,
    pub sites: Vec<Site>,
    pub users: Vec<User>,
    pub workloads: Vec<Workload>,
}

/// A topology and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub topology: Topology,
    /// All files that were read, the topology's own first.
    pub inputs: Vec<Input>,
}

/// Reads the topology at `path` through `read`, with settings that are stronger than those of the file. All that
/// is wrong is told at once.
pub fn load(path: &str, overrides: &[Override], read: &mut Read<'_>) -> Result<Loaded, Complaints> {
    let mut library = file::Library::new(read);
    let Some(mut root) = library.open(path, None) else { return library.findings.verdict(None) };

    let settings = overrides::read(overrides, &mut library.findings);
    let settings = overrides::apply_to_written(&mut root, settings);
    file::include(&mut root, path, &mut library);
    file::expand(&mut root, &library.findings);
    overrides::apply_to_complete(&mut root, settings, &library.findings);

    let topology = check::check(&root, &library.findings);
    let inputs = library.inputs;
    library.findings.verdict(Some(Loaded { topology, inputs }))
}

/// The meaning of a topology for a person to read.
pub fn describe(topology: &Topology) -> String {
    topology.to_toml()
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    pub name: String,
    pub cores: u32,
    pub kind: Kind,
    /// Name of a site scheduler in the catalogue.
    pub scheduler: String,
    /// Latency of the link to the router, one way.
    pub latency: Span,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct User {
    pub name: String,
    /// Latency of the link to the router, one way.
    pub latency: Span,
}

/// Jobs and who submits them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Workload {
    /// Indices into the topology's users; job `k` is submitted by the `k mod n`-th of them.
    pub users: Vec<usize>,
    pub source: Source,
}
