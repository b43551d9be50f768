//! The tables of a topology that belong to no system and no source, each described once.

pub(super) mod cables;
pub(super) mod failures;
pub(super) mod names;
mod programs;
pub(super) mod sites;
pub(super) mod users;
pub(super) mod workload;

use crate::settings::{
    Attached, Context, Fit, Key, Layout, Maybe, Name, NameIndex, Shape, Text, Walk, any_of, key, version,
};
use crate::systems::{self, Service, SystemRow};
use crate::topology::cables::SITES_MAX;
use crate::topology::{Cables, Site, Topology, User};

/// Keys of the topology itself.
pub(super) struct TopologyKeys {
    pub name: String,
    pub about: Option<String>,
    pub seed: u64,
}

impl TopologyKeys {
    pub fn with_defaults() -> TopologyKeys {
        TopologyKeys { name: String::new(), about: None, seed: 1 }
    }

    pub fn walk(&mut self, w: &mut dyn Walk) {
        version::walk_version(w);
        let name = key("name", "").means("results go to `out/NAME`").need("a name for the topology");
        w.set(name, &mut self.name, Name);
        let about = key("about", "").means("a one-line description").aside();
        w.set(about, &mut self.about, Maybe(Text("a text")));
        w.set(key("seed", "the seed of all random numbers"), &mut self.seed, 0..=u64::MAX);
    }
}

/// Walks the tables of all systems.
pub(super) fn walk_systems(systems: &mut Vec<Service>, linked: bool, w: &mut dyn Walk) {
    let mut rest: Vec<Service> = std::mem::take(systems);
    for row in systems::ALL {
        let at = rest.iter().position(|service| service.system_row().key == row.key);
        let mut service = at.map(|at| rest.remove(at));
        let table = key(row.key, "").means(row.about).usual(USUAL_SYSTEM);
        w.maybe(table, Layout::Section(row.key), &mut service, row.usual, |service, w| service.walk(w, linked));
        systems.extend(service);
    }
}

const USUAL_SYSTEM: &str = "absent; a topology without any system has a `[market]`";

/// Context of the workloads of a system.
pub(super) fn system_context<'a>(parts: &Parts<'a>, system: usize) -> Context<'a> {
    let parts = *parts;
    let service = &parts.systems[system];
    let mut largest = vec![0; parts.kinds.len()];
    let mut cores_in_all = 0;
    for site in parts.sites.iter().filter(|site| site.systems.contains(&system)) {
        cores_in_all += u64::from(site.cores);
        let largest = &mut largest[usize::from(site.kind.0)];
        *largest = site.cores.max(*largest);
    }
    Context {
        seed: parts.seed,
        tick: service.time_unit(),
        kinds: parts.kinds.iter().map(String::as_str).collect(),
        largest,
        sites: site_names(parts.sites),
        cores: parts.sites.iter().map(|site| site.cores).collect(),
        cores_in_all,
        users: parts.users.iter().map(|user| user.name.as_str()).collect(),
        linked: parts.cables.is_some(),
        walltimes: service.system_row().traits.has_walltimes,
        shares_nodes: service.system_row().traits.is_rigid,
        site_times: service.system_row().traits.has_site_times,
        site_kinds: parts.sites.iter().map(|site| site.systems.contains(&system).then_some(site.kind)).collect(),
        mean_capacity: Box::new(move || parts.mean_capacity(system)),
        deadlines: service.system_row().traits.wants_deadlines,
        followers: service.system_row().traits.has_followers,
        stages: service.system_row().traits.stages_data,
        fit: if service.refuses_misfits() { Fit::Must(service.misfit_setting()) } else { Fit::May },
        attached: parts.attached,
    }
}

/// The parts of a topology that are known before its workloads.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub seed: u64,
    pub kinds: &'a [String],
    pub systems: &'a [Service],
    pub sites: &'a [Site],
    pub users: &'a [User],
    pub cables: Option<&'a Cables>,
    pub attached: &'a Attached,
}

impl Parts<'_> {
    /// Mean capacity between two sites of a system, in bytes per second; None without links. It is infinite if there
    /// are no two sites, and if the links have faults, which are reported with these. O(sites^2).
    fn mean_capacity(&self, system: usize) -> Option<f64> {
        let cables = self.cables?;
        let paths = if self.sites.len() > SITES_MAX { None } else { cables.paths(self.sites).ok() };
        let its = (0..self.sites.len()).filter(|site| self.sites[*site].systems.contains(&system));
        let its: Vec<usize> = its.collect();
        Some(1e6 * paths.and_then(|paths| paths.restricted_to(&its).mean_capacity()).unwrap_or(f64::INFINITY))
    }
}

impl Topology {
    pub(super) fn parts(&self) -> Parts<'_> {
        let Topology { seed, kinds, systems, sites, users, cables, .. } = self;
        let attached = Context::without_grid().attached;
        Parts { seed: *seed, kinds, systems, sites, users, cables: cables.as_ref(), attached }
    }
}

pub(super) fn site_names(sites: &[Site]) -> NameIndex<'_> {
    sites.iter().map(|site| site.name.as_str()).collect()
}

/// The key `latency` of sites and users.
fn latency_key() -> Key {
    key("latency", "to the router, one way").means("of the link to the router, one way")
}

/// The key `count`, which is expanded before sites and users are read.
fn walk_count(w: &mut dyn Walk) {
    let count = key("count", "").means("the number of them, with numbers from 1 in place of `{}` in their names");
    w.key_read_elsewhere(&count.usual("1"), Shape::Whole { least: 1, most: super::file::MEMBERS_MAX as u64 });
}

/// Names of the tables of systems with a trait, for messages.
fn table_names(can: impl Fn(&SystemRow) -> bool) -> String {
    let tables: Vec<String> = systems::ALL.iter().filter(|row| can(row)).map(|row| format!("[{}]", row.key)).collect();
    any_of(tables.iter().map(String::as_str))
}
