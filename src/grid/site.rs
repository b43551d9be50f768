//! Who a grid is made of: sites that own nodes, and users.

use serde::Serialize;

use super::{Approach, Kind, NodeSet, Program, QueueOrder, Terms};
use crate::time::{Span, Time};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    pub name: String,
    pub cores: u32,
    pub kind: Kind,
    /// In millionths; where a system reckons with speeds, run times of tasks are divided by this.
    pub speed_millionths: u64,
    /// Name of a site scheduler in the catalogue, or by one of its grammars.
    pub scheduler: String,
    /// Order of its queue, where a policy for queues runs it.
    pub order: QueueOrder,
    /// Of a node, where jobs share nodes: what they take along when they are moved counts in it.
    pub memory_kb: u64,
    /// At which rate the images of a job's tasks move, in bits a second, where that is reckoned.
    pub image_bandwidth: Option<u64>,
    /// Latency of the link to the router, one way.
    pub latency: Span,
    /// The site tells what has ended at whole multiples of this; at once, if it is zero.
    pub report_every: Span,
    /// Nodes that are reserved for something other than jobs for some time.
    pub reserved: Vec<Reserved>,
    /// The systems that use it, as indices into the topology's.
    pub systems: Vec<usize>,
    pub terms: Terms,
    /// Who decides here, if its scheduler is a program outside.
    pub program: Program,
}

/// Nodes that a site holds for something else: no job runs on them then. Those of one site do not overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reserved {
    pub from: Time,
    pub until: Time,
    pub nodes: NodeSet,
}

/// How fast a site is, in millionths: a task takes its run time divided by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(pub u64);

impl Speed {
    pub const USUAL: Speed = Speed(1_000_000);

    /// How long so much work takes: to the nearest microsecond, and at least one.
    pub fn time(self, work: Span) -> Span {
        let work = u128::from(work.micros()) * 1_000_000;
        let speed = u128::from(self.0.max(1));
        Span::from_micros(u64::try_from((work + speed / 2) / speed).unwrap_or(u64::MAX).max(1))
    }
}

impl Reserved {
    /// Whether both are of some node at some time.
    pub fn meets(&self, other: &Reserved) -> bool {
        self.from < other.until && other.from < self.until && self.nodes.meets(&other.nodes)
    }

    /// The nodes that some of these have for some of that time.
    pub fn over<'a>(all: impl Iterator<Item = &'a Reserved>, from: Time, until: Time) -> NodeSet {
        let mut nodes = NodeSet::default();
        all.filter(|one| one.from < until && from < one.until).for_each(|one| nodes.unite(&one.nodes));
        nodes
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct User {
    pub name: String,
    /// Latency of the link to the router, one way.
    pub latency: Span,
    pub habit: Behaviour,
    pub approach: Approach,
    /// Who decides for it, if that is its habit.
    pub program: Program,
}

/// What a user does about its jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    /// It hands them in by the calendar, and waits.
    #[default]
    Script,
    /// It takes back what has waited for so long in a queue, and hands it in again elsewhere; so often at most.
    Resubmit { patience: Span, most: u32 },
    /// It does what a program outside says.
    External,
}

/// A name with a line about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: &'static str,
    pub about: &'static str,
}
