//! Topologies: a file is read and checked once, and its meaning becomes actors and places.

mod build;
mod cables;
mod check;
mod file;
mod keys;
mod overrides;
mod pieces;
pub mod simgrid;
mod slurm_accounts;
pub mod slurm_conf;
mod slurm_factors;
mod tables;
mod trace;
mod write;

pub use crate::near::nearest_name;
pub use crate::settings::{InvalidInput, Rendered};
pub use build::{
    Actors, BuildError, ExternalDeciders, Owned, PlanningContext, Role, Roster, build_actors, build_with, check_jobs,
    contract_of_leaves, data_limit, for_planners, job_owners, run_contract, with_planning_context,
};
pub use cables::{Cable, Cables, End, Payload, Way, has_way_around, link_faults, link_names, network_paths};
pub use file::{BYTES_MAX, Input, KEYS_MAX, Read, other_format};
pub use file::{Library, path_beside};
pub use keys::topology_keys;
pub use overrides::OverrideFile;
pub use overrides::{NoOverride, Override};

use std::collections::{BTreeMap, BTreeSet};

use crate::grid::{Every, Failure, FailureTarget, Interrupted, QueueOrder, Recovery};
use crate::settings::version;
use crate::systems::{Failing, Service, System, managers};
use crate::time::Span;
use crate::workload::Source;
use crate::workload::needs::Rule;
use crate::workload::sbatch::{RANKING_OPTIONS, describe_options};

pub use crate::grid::{Site, User};
pub use crate::workload::Workload;

/// A checked topology, with all defaults filled in. It is not checked again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    pub name: String,
    pub about: Option<String>,
    pub seed: u64,
    /// Kinds of core of all sites, in order of first mention; [`Kind`](crate::grid::Kind) is an index.
    pub kinds: Vec<String>,
    /// The systems that run on this grid, in the order of [`crate::systems::ALL`].
    pub systems: Vec<Service>,
    pub sites: Vec<Site>,
    /// Links between the sites, if there are any.
    pub cables: Option<Cables>,
    /// Failures, and how the grid recovers from them.
    pub failures: Vec<Failure>,
    pub recovery: Recovery,
    pub users: Vec<User>,
    pub workloads: Vec<Workload>,
}

impl Topology {
    /// The jobs of each workload for [`load_prepared`]; None where preparing them is not worth it.
    pub fn prepared_jobs(&self) -> Vec<Option<Vec<u8>>> {
        self.workloads.iter().map(|workload| workload.source.job_source().prepared_jobs()).collect()
    }

    /// Settings of a system; None if the topology does not use it.
    pub fn settings<S: System>(&self) -> Option<&S> {
        self.systems.iter().find_map(Service::settings)
    }

    /// Failures of the grid.
    pub fn failing(&self) -> Failing<'_> {
        Failing { failures: &self.failures, recovery: &self.recovery, seed: self.seed }
    }

    /// Links that fail, ascending.
    pub fn failing_links(&self) -> BTreeSet<usize> {
        let link = |failure: &Failure| match failure.what {
            FailureTarget::Link(link) => Some(link),
            FailureTarget::Nodes { .. } => None,
        };
        self.failures.iter().filter_map(link).collect()
    }

    /// Warnings for the user about a valid topology.
    pub fn warnings(&self) -> Vec<String> {
        let warning = |site: &Site| {
            let warning = (managers::find_kind(&site.scheduler)?.warning)(site)?;
            Some(format!("site {}, {}: {warning}", site.name, site.scheduler))
        };
        let nowhere = self.recovery.data == Interrupted::Reroute && !has_way_around(self);
        let nowhere = nowhere.then(|| {
            "recovery.data = \"reroute\": there is no way around any of the links that fail, so data waits".to_owned()
        });
        let sites = self.sites.iter().filter_map(warning).chain(self.of_other_memory());
        sites.chain(nowhere).chain(self.without_checkpoints()).chain(self.ignored_options()).collect()
    }

    /// Warnings about options of `sbatch` at sites that no real Slurm manages.
    fn ignored_options(&self) -> impl Iterator<Item = String> {
        let others = move |workload: &Workload| -> Vec<&Site> {
            let only = match &workload.source {
                Source::Rigid(rigids) => rigids.site,
                _ => None,
            };
            let eligible = self.sites.iter().enumerate().filter(|(number, site)| {
                site.systems.contains(&workload.system) && only.is_none_or(|only| only == *number)
            });
            eligible.map(|(_, site)| site).filter(|site| !is_real_slurm(site)).collect()
        };
        self.workloads.iter().enumerate().filter_map(move |(number, workload)| {
            let sites = others(workload);
            // Queues that rank jobs by priorities heed what these depend on.
            let mut ignoring: Vec<&Site> =
                sites.iter().copied().filter(|site| site.order != QueueOrder::Multifactor).collect();
            let heeded = if ignoring.is_empty() { RANKING_OPTIONS } else { &[] };
            if ignoring.is_empty() {
                ignoring = sites;
            }
            let (first, rest) = ignoring.split_first()?;
            let first = &first.name;
            let options = describe_options(workload.source.job_source(), heeded)?;
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            Some(format!(
                "workload.{number}: jobs have options of sbatch, which site {first}{more} ignores, as no real Slurm \
                 manages it: {options}"
            ))
        })
    }

    /// Warnings about sites whose nodes have another memory than those for which a log states needs.
    fn of_other_memory(&self) -> impl Iterator<Item = String> {
        let known = self.workloads.iter().filter_map(|workload| match &workload.source {
            Source::Rigid(rigids) if rigids.needs == Rule::DualCore => {
                Some((workload.system, rigids.site, rigids.node_kilobytes))
            }
            _ => None,
        });
        // Several workloads may say the same.
        let known: BTreeSet<(usize, Option<usize>, u64)> = known.collect();
        known.into_iter().flat_map(|(system, only, kilobytes)| {
            let other = move |(number, site): &(usize, &Site)| {
                site.systems.contains(&system)
                    && only.is_none_or(|only| only == *number)
                    && managers::shares_nodes(&site.scheduler)
                    && !(0.9..1.1).contains(&(site.memory_kb as f64 / kilobytes as f64))
            };
            self.sites.iter().enumerate().filter(other).map(move |(_, site)| {
                format!(
                    "site {}: memory_gb is {}, but needs of memory are shares of the {kilobytes} kB of a node of the log \
                     (`node_kilobytes`), so the volumes of paused and moved memory are off by a factor of {:.2}",
                    site.name,
                    site.memory_kb as f64 / 1e6,
                    site.memory_kb as f64 / kilobytes as f64
                )
            })
        })
    }

    /// Warnings about failing sites whose tasks make no checkpoints although the topology requests some.
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

    /// System of a workload.
    pub fn system_of(&self, workload: &Workload) -> &Service {
        &self.systems[workload.system]
    }

    /// Copy in which the router sees the state of sites without delay.
    pub fn with_a_fresh_view(&self) -> Topology {
        let mut fresh = self.clone();
        for site in &mut fresh.sites {
            (site.latency, site.report_every) = (Span::ZERO, Span::ZERO);
        }
        fresh.systems.iter_mut().for_each(Service::offer_at_once);
        fresh
    }
}

fn is_real_slurm(site: &Site) -> bool {
    managers::program_protocol(&site.scheduler) == Some(managers::ProgramProtocol::Slurm)
}

/// A topology and its sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub topology: Topology,
    /// All files read, the topology's own first.
    pub inputs: Vec<Input>,
    /// Location of each workload.
    pub workload_locations: Vec<String>,
    /// Location of each external program's command, by key.
    pub command_places: BTreeMap<String, String>,
    /// Notes on the files that are not errors.
    pub notes: Vec<String>,
}

impl Loaded {
    /// Path of the topology's own file.
    pub fn path(&self) -> &str {
        self.inputs.first().map_or("", |input| &input.path)
    }

    /// Text of an error of [`build_actors()`], with its location.
    pub fn error_text(&self, error: &BuildError) -> String {
        self.location(error).map_or_else(|| error.to_string(), |location| format!("{error}\n --> {location}"))
    }

    /// Location of the command of the program with this key.
    pub fn command_place(&self, key: &str) -> Option<&str> {
        self.command_places.get(key).map(String::as_str)
    }

    pub fn location(&self, error: &BuildError) -> Option<&str> {
        self.workload_locations.get(error.workload()?).map(String::as_str)
    }
}

/// Reads the topology at `path` through `read`; `overrides` take precedence over the file. Reports all errors at once.
pub fn read_topology(path: &str, overrides: &[Override], read: &mut Read<'_>) -> Result<Loaded, InvalidInput> {
    load_as(path, overrides, read, &[], false)
}

/// Like [`read_topology`], for callers that add jobs themselves: the topology may have no workload.
pub fn load_idle(path: &str, overrides: &[Override], read: &mut Read<'_>) -> Result<Loaded, InvalidInput> {
    load_as(path, overrides, read, &[], true)
}

/// Like [`read_topology`], of a topology that [`Topology::to_toml`] has written; takes the [`Topology::prepared_jobs`]
/// of its workloads instead of reading their logs or drawing their jobs again.
pub fn load_prepared(path: &str, read: &mut Read<'_>, jobs: &[Option<Vec<u8>>]) -> Result<Loaded, InvalidInput> {
    load_as(path, &[], read, jobs, false)
}

fn load_as(
    path: &str,
    overrides: &[Override],
    read: &mut Read<'_>,
    prepared: &[Option<Vec<u8>>],
    idle: bool,
) -> Result<Loaded, InvalidInput> {
    let mut library = file::Library::new(read);
    let Some(mut root) = library.open(path, None) else { return library.diagnostics.verdict(None) };
    if !version::check_version(&root, &library.diagnostics) {
        return library.diagnostics.verdict(None);
    }

    let settings = overrides::parse_overrides(overrides, &mut library.diagnostics);
    let settings = overrides::apply_to_written(&mut root, settings);
    file::include_files(&mut root, path, &mut library);
    file::expand_counts(&mut root, &library.diagnostics);
    overrides::apply_to_complete(&mut root, settings, &library.diagnostics);
    overrides::note_without_effect(&root, overrides, &library.diagnostics);
    // The version may also be set on the command line.
    if !version::check_version(&root, &library.diagnostics) {
        return library.diagnostics.verdict(None);
    }

    file::fill_slurm_cores(&mut root, path, &mut library);
    slurm_factors::fill_slurm_factors(&mut root, path, &mut library);
    let attached = file::attach_files(&root, path, prepared, &mut library);
    let (topology, locations) = check::check_topology(&root, &attached, &library.diagnostics, idle);
    let workload_locations = locations.into_iter().map(|location| library.diagnostics.locate(location)).collect();
    let command_places = file::command_locations(&root, &library.diagnostics);
    let inputs = library.inputs;
    let notes = library.diagnostics.notes();
    library.diagnostics.verdict(Some(Loaded { topology, inputs, workload_locations, command_places, notes }))
}
