//! Outages of the nodes of each site, and of links. As sites report them only while they have work, they are computed
//! anew from the topology.

use std::collections::BTreeMap;

use hansa_sim::grid::{CableId, Change, NodeSet, Outages};
use hansa_sim::systems::Fails;
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::Topology;

/// The sites and links that fail.
#[derive(Debug)]
pub struct OutagesByPlace {
    /// Failures and number of nodes of each site.
    sites: Vec<(Option<Fails>, u32)>,
    links: BTreeMap<CableId, Outages>,
}

/// An outage of some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownTime {
    pub nodes: NodeSet,
    pub from: Time,
    pub to: Time,
}

impl OutagesByPlace {
    pub fn of(topology: &Topology) -> OutagesByPlace {
        let failing = topology.failing();
        let links = topology
            .failing_links()
            .into_iter()
            .filter_map(|link| Some((CableId(link as u32), failing.link(link)?)))
            .collect();
        let sites = topology.sites.iter().enumerate().map(|(number, site)| (failing.site(number), site.cores));
        OutagesByPlace { sites: sites.collect(), links }
    }

    /// True if a site fails at all.
    pub fn can_fail(&self, site: usize) -> bool {
        self.sites[site].0.is_some()
    }

    /// Duration of work on this many nodes of a site, with its checkpoints.
    pub fn stretched_work(&self, site: usize, work: Span, nodes: u32) -> Span {
        let (fails, cores) = &self.sites[site];
        let saves = fails.as_ref().and_then(|fails| fails.recovery.checkpoint_schedule(&fails.failures, *cores, nodes));
        saves.map_or(work, |saves| saves.with_checkpoints(work))
    }

    /// Hands over every outage of nodes of a site up to `until`, each at its end.
    pub fn each_outage(&self, site: usize, until: Time, take: impl FnMut(DownTime)) {
        if let Some(fails) = &self.sites[site].0 {
            each_outage(fails.outages.clone(), until, take);
        }
    }

    /// The links that fail, in order.
    pub fn failing_links(&self) -> impl Iterator<Item = CableId> {
        self.links.keys().copied()
    }

    pub fn does_link(&self, link: CableId) -> bool {
        self.links.contains_key(&link)
    }

    /// Hands over every outage of a link up to `until`, in order.
    pub fn each_of_link(&self, link: CableId, until: Time, mut take: impl FnMut(Time, Time)) {
        if let Some(outages) = self.links.get(&link) {
            each_outage(outages.clone(), until, |down| take(down.from, down.to));
        }
    }
}

fn each_outage(mut outages: Outages, until: Time, mut take: impl FnMut(DownTime)) {
    let mut open: Vec<DownTime> = Vec::new();
    while let Some(at) = outages.next().filter(|at| *at < until) {
        for Change { at, nodes, is_up } in outages.advance(at) {
            if !is_up {
                open.push(DownTime { nodes, from: at, to: until });
                continue;
            }
            for down in &mut open {
                let back = down.nodes.intersection(&nodes);
                if !back.is_empty() {
                    down.nodes.subtract(&back);
                    take(DownTime { nodes: back, from: down.from, to: at });
                }
            }
            open.retain(|down| !down.nodes.is_empty());
        }
    }
    open.into_iter().for_each(take);
}
