//! Writes a topology as text: the complete meaning in one file, without defaults, includes or counts.

use xxhash_rust::xxh3::xxh3_128;

use super::Topology;
use super::tables::sites::{self, Described};
use super::tables::{TopologyKeys, cables, failures, names, site_names, users, walk_systems, workload};
use crate::protocol::handshake::TopologyHash;
use crate::settings::{Context, NameIndex, TomlPage, Walk};
use crate::systems::SystemRow;

impl Topology {
    /// A topology file with exactly this meaning, and a comment on every setting that has one.
    pub fn to_toml(&self) -> String {
        self.write(TomlPage::explained())
    }

    /// Fingerprint of the meaning: equal for all topologies that lead to the same run, however they are written.
    pub fn hash(&self) -> TopologyHash {
        TopologyHash(xxh3_128(self.write(TomlPage::without_comments()).as_bytes()).to_be_bytes())
    }

    /// A line about the size of the grid and its work.
    pub fn in_short(&self) -> String {
        let Topology { name, kinds, sites, users, .. } = self;
        let mut cores = vec![0; kinds.len()];
        sites.iter().for_each(|site| cores[usize::from(site.kind.0)] += u64::from(site.cores));
        let cores: Vec<String> = cores.iter().zip(kinds).map(|(cores, kind)| format!("{cores} {kind}")).collect();
        let counts = [(sites.len() as u64, "site"), (users.len() as u64, "user"), (self.jobs(), "job")];
        let [sites, users, jobs] =
            counts.map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        format!("{name}: {sites} ({}), {users}, {jobs}\n", cores.join(", "))
    }

    /// Number of jobs of all workloads.
    pub fn jobs(&self) -> u64 {
        self.workloads.iter().map(|workload| workload.source.job_source().jobs_in_all()).sum()
    }

    fn write(&self, mut page: TomlPage) -> String {
        let w: &mut dyn Walk = &mut page;
        w.write_remark("A resolved topology: every default is written out, and includes and counts are expanded.");
        w.write_remark(self.in_short().trim_end());
        TopologyKeys { name: self.name.clone(), about: self.about.clone(), seed: self.seed }.walk(w);
        walk_systems(&mut self.systems.clone(), self.cables.is_some(), w);
        self.write_sites(w);
        if let Some(cables) = &self.cables {
            cables::walk_cables(&mut cables.clone(), &self.sites, w);
        }
        let rows: Vec<&'static SystemRow> = self.systems.iter().map(|system| system.system_row()).collect();
        self.write_failures(&rows, w);
        let sites = site_names(&self.sites);
        let names = names::TakenNames::default();
        let people = users::UserScope { systems: &rows, sites: &sites, names: Some(&names), idle: false };
        users::walk_users(&mut self.users.clone(), &users::default_user(), &people, w);
        workload::write_workloads(&self.workloads, &workload::WorkloadScope::of_parts(&self.parts()), w);
        page.into_text()
    }

    fn write_failures(&self, systems: &[&'static SystemRow], w: &mut dyn Walk) {
        let links: NameIndex<'_> =
            self.cables.iter().flat_map(|cables| &cables.links).map(|link| link.name.as_str()).collect();
        let sites = &self.sites[..];
        let names = &site_names(&self.sites);
        let attached = Context::without_grid().attached;
        let known = failures::FailureScope { sites, names, links: &links, systems, attached };
        failures::walk_failures(&mut self.failures.clone(), &mut self.recovery.clone(), &known, w);
    }

    fn write_sites(&self, w: &mut dyn Walk) {
        let rows: Vec<&SystemRow> = self.systems.iter().map(|system| system.system_row()).collect();
        let names = names::TakenNames::default();
        let known = sites::SiteScope { systems: &rows, names: &names, some_kind: true, defaults: false };
        let mut sites = self
            .sites
            .iter()
            .map(|site| {
                let kind = self.kinds[usize::from(site.kind.0)].clone();
                Described { site: site.clone(), kind, has_memory: true }
            })
            .collect();
        sites::walk_sites(&mut sites, &Described::with_defaults(), &known, w);
    }
}
