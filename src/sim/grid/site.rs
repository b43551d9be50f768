//! Members of a grid: sites that own nodes, and users.

use serde::Serialize;

use super::{Approach, Kind, Multifactor, NodeSet, Program, QueueOrder, Speed, Terms};
use crate::time::{Span, Time};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    pub name: String,
    pub cores: u32,
    pub kind: Kind,
    /// Speed in millionths; for systems that model speeds, run times of tasks are divided by this.
    pub speed_millionths: u64,
    /// Name of a site scheduler in the catalogue, or in one of its grammars.
    pub scheduler: String,
    /// Order of its queue, where a policy for queues runs it.
    pub order: QueueOrder,
    /// Weights and accounts of the order `multifactor`.
    pub multifactor: Option<Box<Multifactor>>,
    /// Memory of a node in kB, for jobs that share nodes and take their memory along when moved.
    pub memory_kb: u64,
    /// Bandwidth for images of moved tasks, in bits per second, if it is modelled.
    pub image_bandwidth: Option<u64>,
    /// One-way latency of the link to the router.
    pub latency: Span,
    /// Period of reports: ends are reported at whole multiples of it; at once, if it is zero.
    pub report_every: Span,
    /// Nodes reserved for purposes other than jobs.
    pub reserved: Vec<Reserved>,
    /// Systems that use the site, as indices into the topology's.
    pub systems: Vec<usize>,
    pub terms: Terms,
    /// The external program that is its scheduler, if it has one.
    pub program: Program,
}

impl Site {
    /// Memory of a node in kB, unless it is given.
    pub const USUAL_MEMORY: u64 = 8_000_000;

    /// A site without a name and cores: what its other keys are unless they are given.
    pub fn with_defaults() -> Site {
        Site {
            name: String::new(),
            cores: 0,
            kind: Kind(0),
            speed_millionths: Speed::USUAL.0,
            scheduler: String::new(),
            order: QueueOrder::Arrival,
            multifactor: None,
            memory_kb: Site::USUAL_MEMORY,
            image_bandwidth: None,
            latency: Span::ZERO,
            report_every: Span::ZERO,
            reserved: Vec::new(),
            systems: Vec::new(),
            terms: Terms::default(),
            program: Program::default(),
        }
    }
}

/// Nodes reserved by a site: no job runs on them then. Those of one site are disjoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reserved {
    pub from: Time,
    pub until: Time,
    pub nodes: NodeSet,
}

impl Reserved {
    /// True if both contain a node at a common time.
    pub fn meets(&self, other: &Reserved) -> bool {
        self.from < other.until && other.from < self.until && self.nodes.meets(&other.nodes)
    }

    /// Nodes that any of these reserve at any time between the two.
    pub fn nodes_within<'a>(all: impl Iterator<Item = &'a Reserved>, from: Time, until: Time) -> NodeSet {
        let mut nodes = NodeSet::default();
        all.filter(|one| one.from < until && from < one.until).for_each(|one| nodes.unite(&one.nodes));
        nodes
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct User {
    pub name: String,
    /// One-way latency of the link to the router.
    pub latency: Span,
    pub behaviour: Behaviour,
    pub approach: Approach,
    /// The external program that decides for it, if it has one.
    pub program: Program,
}

impl User {
    /// A user that only submits jobs.
    pub fn named(name: impl Into<String>) -> User {
        User {
            name: name.into(),
            latency: Span::ZERO,
            behaviour: Behaviour::Script,
            approach: Approach::default(),
            program: Program::default(),
        }
    }
}

/// A user's treatment of its jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// Submits them by the calendar, and waits.
    #[default]
    Script,
    /// Recalls jobs that have waited this long in a queue, and submits them elsewhere, at most `most` times.
    Resubmit { patience: Span, most: u32 },
    /// Follows an external program.
    External,
}

/// A name with a line about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: &'static str,
    pub about: &'static str,
}
