//! Checks the written topology and derives its meaning. Every error is reported, and a faulty setting is replaced by a
//! harmless value, so that the check can continue with the next one.

use super::Topology;
use super::tables::{Parts, TopologyKeys, cables, failures, names, site_names, sites, users, walk_systems, workload};
use crate::grid::Recovery;
use crate::settings::{Attached, Diagnostics, Fields, Location, NameIndex, Reader, Table};
use crate::systems::{self, Service, SystemRow};

/// Checks a topology; the result is valid only if no errors are reported. Also returns the location of each workload.
/// An `idle` grid needs no workloads.
pub(super) fn check_topology(
    root: &Table,
    attached: &Attached,
    diagnostics: &Diagnostics,
    idle: bool,
) -> (Topology, Vec<Location>) {
    let fields = Fields::at_root(root, diagnostics);
    let w = &mut Reader::new(&fields);
    let mut head = TopologyKeys::with_defaults();
    head.walk(w);
    let systems = read_systems(&fields, diagnostics, w);

    let written = fields.get("defaults");
    let defaults = written.as_ref().and_then(|field| field.table("a table of defaults"));
    let names = names::TakenNames::default();
    let (sites, kinds) = sites::read_sites(&systems, defaults.as_ref(), &names, &fields, w);
    let site_names = site_names(&sites);
    let rows: Vec<&SystemRow> = systems.iter().map(|system| system.system_row()).collect();
    let people = users::UserScope { systems: &rows, sites: &site_names, names: None, idle };
    let mut usual = users::default_user();
    if let Some(table) = defaults.as_ref().and_then(|all| all.get("user")?.table("a table of defaults")) {
        users::walk_one(&mut usual, &people, &mut Reader::new(&table));
        table.finish();
    }
    let mut users = Vec::new();
    users::walk_users(&mut users, &usual, &users::UserScope { names: Some(&names), ..people }, w);
    if let Some(defaults) = defaults {
        defaults.finish();
    }
    let cables = cables::read_cables(&fields, &sites, w);

    let link_names: NameIndex<'_> =
        cables.iter().flat_map(|cables| &cables.links).map(|link| link.name.as_str()).collect();
    let mut fails = Vec::new();
    let mut recovery = Recovery::default();
    let known =
        failures::FailureScope { sites: &sites, names: &site_names, links: &link_names, systems: &rows, attached };
    failures::walk_failures(&mut fails, &mut recovery, &known, w);

    let TopologyKeys { name, about, seed } = head;
    let parts = Parts {
        seed,
        kinds: &kinds,
        systems: &systems,
        sites: &sites,
        users: &users,
        cables: cables.as_ref(),
        attached,
    };
    let known = workload::WorkloadScope::of_parts(&parts).allowing_no_workload(idle);
    let known = if diagnostics.is_empty() { known.with_sites(&sites) } else { known };
    let (workloads, locations): (Vec<_>, Vec<_>) = workload::read_workloads(&known, &fields, w).into_iter().unzip();
    drop(known);
    if idle && users.is_empty() && !workloads.is_empty() {
        fields.missing("user", users::SUBMITS);
    }
    fields.finish();
    (
        Topology { name, about, seed, kinds, systems, sites, cables, failures: fails, recovery, users, workloads },
        locations,
    )
}

/// The configured systems; the first system of all if there are none.
fn read_systems(fields: &Fields<'_>, diagnostics: &Diagnostics, w: &mut Reader<'_>) -> Vec<Service> {
    let linked = fields.has("link");
    let mut chosen = Vec::new();
    walk_systems(&mut chosen, linked, w);
    if chosen.is_empty() {
        let mut usual = (systems::ALL[0].usual)();
        let nothing = Table::default();
        usual.walk(&mut Reader::new(&Fields::at_root(&nothing, diagnostics)), linked);
        chosen.push(usual);
    }
    chosen
}
