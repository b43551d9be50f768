//! All keys of topologies, collected from the descriptions of the tables, for the catalogue of names, the reference of
//! keys and the schema for editors.

use super::tables::names::TakenNames;
use super::tables::sites::{self, Described};
use super::tables::{TopologyKeys, cables, failures, users, walk_systems, workload};
use crate::grid::Recovery;
use crate::settings::{Context, Layout, Listed, Walk, key, list_keys};
use crate::systems::{self, Service, SystemRow};

/// Keys of a topology, in the order in which they are written.
pub fn topology_keys() -> Vec<Listed> {
    let mut services: Vec<Service> = systems::ALL.iter().map(|row| (row.usual)()).collect();
    let rows: Vec<&SystemRow> = systems::ALL.iter().collect();
    let names = TakenNames::default();
    let no_names = [].into_iter().collect();
    let sites = sites::SiteScope { systems: &rows, names: &names, some_kind: false, defaults: false };
    list_keys(|w| {
        TopologyKeys::with_defaults().walk(w);
        walk_systems(&mut services, false, w);
        sites::walk_sites(&mut Vec::new(), &Described::with_defaults(), &sites, w);
        cables::walk_cables(&mut cables::default_cables(), &[], w);
        let attached = Context::without_grid().attached;
        let links = [].into_iter().collect();
        let fragile = failures::FailureScope { sites: &[], names: &no_names, links: &links, systems: &rows, attached };
        failures::walk_failures(&mut Vec::new(), &mut Recovery::default(), &fragile, w);
        let people = users::UserScope { systems: &rows, sites: &no_names, names: Some(&names), idle: false };
        users::walk_users(&mut Vec::new(), &users::default_user(), &people, w);
        walk_defaults(&sites::SiteScope { defaults: true, ..sites }, &users::UserScope { names: None, ..people }, w);
        workload::walk_workloads(&mut Vec::new(), &workload::WorkloadScope::without_grid(&services), w);
    })
}

/// Walks `[defaults]`: keys that sites and users also have.
fn walk_defaults(sites: &sites::SiteScope<'_>, people: &users::UserScope<'_>, w: &mut dyn Walk) {
    let defaults = key("defaults", "").means("defaults of sites and users");
    w.table(defaults, Layout::Section("defaults"), &mut (), |(), w| {
        let site = key("site", "").means("defaults of every `[[site]]`");
        w.table(site, Layout::Section("defaults.site"), &mut Described::with_defaults(), |usual, w| {
            usual.walk(sites, w)
        });
        let user = key("user", "").means("defaults of every `[[user]]`");
        w.table(user, Layout::Section("defaults.user"), &mut users::default_user(), |usual, w| {
            users::walk_one(usual, people, w);
        });
    });
}
