//! Topologies: a file as written becomes a meaning that is checked once, and the meaning becomes actors and places.

mod build;
mod cables;
mod check;
mod file;
mod keys;
mod overrides;
pub mod simgrid;
mod tables;
#[cfg(test)]
mod tests;
mod trace;
mod write;

pub use crate::near::nearest;
pub use crate::settings::{Complaints, Told};
pub use build::{
    Actors, BuildError, Ground, Outsiders, Owned, Plan, Role, build, build_with, check_jobs, data_limit, for_planners,
    on_ground, owners,
};
pub use cables::{Cable, Cables, End, Payload, Way, faults, has_way_around, link_names, paths};
pub use file::{BYTES_MAX, Input, Read, other_format};
pub(crate) use file::{Library, beside};
pub use keys::keys;
pub(crate) use overrides::Origin;
pub use overrides::{NoOverride, Override};

use std::collections::BTreeSet;

use crate::few;
use crate::grid::{Every, Failure, FailureTarget, Interrupted, Recovery};
use crate::settings::version;
use crate::systems::{Failing, Service, System, managers};
use crate::time::Span;

pub use crate::grid::{Site, User};
pub use crate::workload::Workload;

/// A checked topology, with every default filled in. What is here is not doubted again.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    pub name: String,
    pub about: Option<String>,
    pub seed: u64,
    /// Every kind of core that a site offers, in order of first mention; [`Kind`](crate::grid::Kind) is an index into
    /// it.
    pub kinds: Vec<String>,
    /// The systems that run on this grid, in the order of [`crate::systems::ALL`].
    pub systems: Vec<Service>,
    pub sites: Vec<Site>,
    /// The links between the sites, if there are any.
    pub cables: Option<Cables>,
    /// What of it fails, and what is done about that.
    pub failures: Vec<Failure>,
    pub recovery: Recovery,
    pub users: Vec<User>,
    pub workloads: Vec<Workload>,
}

impl Topology {
    /// The settings of a system, if it runs here.
    pub fn settings<S: System>(&self) -> Option<&S> {
        self.systems.iter().find_map(Service::settings)
    }

    /// What of it fails.
    pub fn failing(&self) -> Failing<'_> {
        Failing { failures: &self.failures, recovery: &self.recovery, seed: self.seed }
    }

    /// The links that fail, in order.
    pub fn failing_links(&self) -> BTreeSet<usize> {
        let link = |failure: &Failure| match failure.what {
            FailureTarget::Link(link) => Some(link),
            FailureTarget::Nodes { .. } => None,
        };
        self.failures.iter().filter_map(link).collect()
    }

    /// What one should know before running it, though nothing is wrong.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |site: &Site| {
            let warning = (managers::find(&site.scheduler)?.warning)(site)?;
            Some(format!("site {}, {}: {warning}", site.name, site.scheduler))
        };
        let nowhere = self.recovery.data == Interrupted::Reroute && !has_way_around(self);
        let nowhere = nowhere.then(|| {
            "recovery.data = \"reroute\": there is no way around any of the links that fail, so data waits".to_owned()
        });
        self.sites.iter().filter_map(warning).chain(nowhere).chain(self.without_checkpoints()).collect()
    }

    /// Sites that fail, and at which tasks make no checkpoints though the topology asks for some.
    fn without_checkpoints(&self) -> impl Iterator<Item = String> {
        let is_young = self.recovery.checkpoint.is_some_and(|checkpoint| matches!(checkpoint.every, Every::Young(_)));
        let sites = self.sites.iter().enumerate().filter(move |_| is_young);
        let fails = self.failing();
        sites.filter_map(move |(number, site)| {
            let all = fails.site(number)?.failures;
            let rate: f64 = all.iter().map(|failure| failure.rate(site.cores, site.cores)).sum();
            (rate <= 0.0).then(|| {
                format!(
                    "site {}: tasks make no checkpoints there, since Young's interval depends on an `mtbf`, and its nodes fail \
                     once or as a trace says; `every` can be a time",
                    site.name
                )
            })
        })
    }

    /// The system that a workload goes to.
    pub fn system_of(&self, workload: &Workload) -> &Service {
        &self.systems[workload.system]
    }

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
    pub workload_locations: Vec<String>,
    /// Where the command of each program outside is written, by its key.
    pub command_places: few::Map<String, String>,
    /// What one should know of what was read, though nothing is wrong.
    pub notes: Vec<String>,
}

impl Loaded {
    /// The path of the topology's own file.
    pub fn path(&self) -> &str {
        self.inputs.first().map_or("", |input| &input.path)
    }

    /// What keeps this topology from being built, and where that is written.
    pub fn tell(&self, error: &BuildError) -> String {
        self.location(error).map_or_else(|| error.to_string(), |location| format!("{error}\n --> {location}"))
    }

    /// Where the command is written that this key means.
    pub fn command_place(&self, key: &str) -> Option<&str> {
        self.command_places.get(key).map(String::as_str)
    }

    pub fn location(&self, error: &BuildError) -> Option<&str> {
        self.workload_locations.get(error.workload()?).map(String::as_str)
    }
}

/// Reads the topology at `path` through `read`, with settings that are stronger than those of the file. All that
/// is wrong is told at once.
pub fn load(path: &str, overrides: &[Override], read: &mut Read<'_>) -> Result<Loaded, Complaints> {
    load_as(path, overrides, read, false)
}

/// The same, for who brings the work along: the topology may have none.
pub fn load_idle(path: &str, overrides: &[Override], read: &mut Read<'_>) -> Result<Loaded, Complaints> {
    load_as(path, overrides, read, true)
}

fn load_as(path: &str, overrides: &[Override], read: &mut Read<'_>, idle: bool) -> Result<Loaded, Complaints> {
    let mut library = file::Library::new(read);
    let Some(mut root) = library.open(path, None) else { return library.findings.verdict(None) };
    if !version::fits(&root, &library.findings) {
        return library.findings.verdict(None);
    }

    let settings = overrides::read(overrides, &mut library.findings);
    let settings = overrides::apply_to_written(&mut root, settings);
    file::include(&mut root, path, &mut library);
    file::expand(&mut root, &library.findings);
    overrides::apply_to_complete(&mut root, settings, &library.findings);
    overrides::note_vain(&root, overrides, &library.findings);
    // What is said on the command line counts, too.
    if !version::fits(&root, &library.findings) {
        return library.findings.verdict(None);
    }

    let attached = file::attach(&root, path, &mut library);
    let (topology, locations) = check::check(&root, &attached, &library.findings, idle);
    let workload_locations = locations.into_iter().map(|location| library.findings.locate(location)).collect();
    let command_places = file::commands(&root, &library.findings);
    let inputs = library.inputs;
    let notes = library.findings.notes();
    library.findings.verdict(Some(Loaded { topology, inputs, workload_locations, command_places, notes }))
}
