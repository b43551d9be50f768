//! Topologies: a file as written becomes a meaning that is checked once, and the meaning becomes actors and places.

mod build;
mod cables;
mod check;
mod complaint;
mod fields;
mod file;
mod overrides;
mod planning;
pub mod simgrid;
#[cfg(test)]
mod tests;
pub mod units;
mod write;

use serde::Serialize;

pub use crate::near::nearest;
pub use build::{BuildError, Cast, DataLimit, JobError, Plan, Role, build, build_with, check_jobs};
pub use cables::{Cable, Cables, End, Payload, Way, link_names, paths};
pub use complaint::Complaints;
pub(crate) use complaint::{Complaint, Place};
pub(crate) use fields::{Field, Fields, is_name};
pub use file::{Input, Read};
pub(crate) use file::{Library, Node, Table, Value, beside};
pub(crate) use overrides::Origin;
pub use overrides::{NoOverride, Override};
pub use planning::resources;

use crate::grid::Kind;
use crate::time::Span;
use crate::workload::Source;

pub use crate::systems::batch::{Batch, Dispatch, Reserved};
pub use crate::systems::heft::{Planning, Policy as PlanPolicy, StopRule, UpdateRule};
pub use crate::systems::market::{
    Admission, AskWhen, BestBid, Blocking, EdfDeadline, Foreign, Market, Network, Pvdsq, Pvr, Removal, SuccSum,
    Unplaceable,
};
pub use crate::systems::reservation::Reservation;

/// A checked topology, with every default filled in. What is here is not doubted again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Topology {
    pub name: String,
    pub about: Option<String>,
    pub seed: u64,
    /// Every kind of core that a site offers, in order of first mention; [`Kind`] is an index into it.
    pub kinds: Vec<String>,
    pub system: System,
    pub sites: Vec<Site>,
    /// The links between the sites, if there are any.
    pub cables: Option<Cables>,
    pub users: Vec<User>,
    pub workloads: Vec<Workload>,
}

/// Which of the systems runs: what sits at the hub, and the rules that jobs live by.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum System {
    Market(Market),
    Reservation(Reservation),
    Workflow(Planning),
    Batch(Batch),
}

impl System {
    /// The unit of run times and ages.
    pub fn tick(&self) -> Span {
        match self {
            System::Market(market) => market.tick,
            System::Reservation(_) | System::Batch(_) => Span::from_secs(1),
            System::Workflow(_) => Span::from_minutes(1),
        }
    }

    /// The share of a task's run time that moving its output takes, where no links say so; in millionths.
    pub fn ccr_millionths(&self) -> u64 {
        match self {
            System::Market(market) => market.ccr_millionths,
            System::Reservation(_) | System::Workflow(_) | System::Batch(_) => 0,
        }
    }

    /// What becomes of a job that fits no site.
    pub fn unplaceable(&self) -> Unplaceable {
        match self {
            System::Market(market) => market.unplaceable,
            // What is too large is answered, not an error.
            System::Reservation(_) | System::Batch(_) => Unplaceable::Refuse,
            System::Workflow(_) => Unplaceable::Error,
        }
    }

    /// Whether sites say who starts when; those of a meta-scheduler do as they are told.
    pub fn has_schedulers(&self) -> bool {
        !matches!(self, System::Reservation(_))
    }

    /// What the system's own actor is called.
    pub fn hub_name(&self) -> &'static str {
        match self {
            System::Market(_) => "auctioneer",
            System::Reservation(_) => "meta-scheduler",
            System::Workflow(_) => "planner",
            System::Batch(_) => "dispatcher",
        }
    }

    pub fn market(&self) -> Option<&Market> {
        match self {
            System::Market(market) => Some(market),
            System::Reservation(_) | System::Workflow(_) | System::Batch(_) => None,
        }
    }
}

impl Topology {
    /// The same grid and work for a router that sees its sites at once.
    pub fn with_a_fresh_view(&self) -> Topology {
        let mut fresh = self.clone();
        for site in &mut fresh.sites {
            (site.latency, site.report_every) = (Span::ZERO, Span::ZERO);
        }
        fresh
    }
}

/// A topology and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub topology: Topology,
    /// All files that were read, the topology's own first.
    pub inputs: Vec<Input>,
    /// Where each workload is written.
    pub workload_places: Vec<String>,
}

impl Loaded {
    /// What keeps this topology from being built, and where that is written.
    pub fn tell(&self, error: &BuildError) -> String {
        self.place(error).map_or_else(|| error.to_string(), |place| format!("{error}\n --> {place}"))
    }

    pub fn place(&self, error: &BuildError) -> Option<&str> {
        self.workload_places.get(error.workload()?).map(String::as_str)
    }
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

    let attached = file::attach(&root, path, &mut library);
    let (topology, places) = check::check(&root, &attached, &library.findings);
    let workload_places = places.into_iter().map(|place| library.findings.location(place)).collect();
    let inputs = library.inputs;
    library.findings.verdict(Some(Loaded { topology, inputs, workload_places }))
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Site {
    pub name: String,
    pub cores: u32,
    pub kind: Kind,
    /// In millionths; under a planner, tasks take their run time divided by this.
    pub speed_millionths: u64,
    /// Name of a site scheduler in the catalogue.
    pub scheduler: String,
    /// Latency of the link to the router, one way.
    pub latency: Span,
    /// The site tells what has ended at whole multiples of this; at once, if it is zero.
    pub report_every: Span,
    /// Nodes that are kept from jobs for some time, under a batch queue.
    pub reserved: Vec<Reserved>,
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
