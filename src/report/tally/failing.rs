//! When the nodes of each site, and links, were down: as sites tell of it only while they have work, it is worked out anew from the topology.

use std::collections::BTreeMap;

use crate::grid::{CableId, Change, NodeSet, Outages};
use crate::time::Time;
use crate::topology::Topology;

/// Those that fail.
#[derive(Debug)]
pub struct Failing {
    sites: Vec<Option<Outages>>,
    links: BTreeMap<CableId, Outages>,
}

/// Some nodes that were down from when to when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownTime {
    pub nodes: NodeSet,
    pub from: Time,
    pub to: Time,
}

impl Failing {
    pub fn of(topology: &Topology) -> Failing {
        let failing = topology.failing();
        let outages = |site| failing.site(site).map(|fails| fails.outages);
        let link = |link: usize| Some((CableId(link as u32), failing.link(link)?));
        let links = topology.failing_links().into_iter().filter_map(link).collect();
        Failing { sites: (0..topology.sites.len()).map(outages).collect(), links }
    }

    /// Whether a site fails at all.
    pub fn does(&self, site: usize) -> bool {
        self.sites[site].is_some()
    }

    /// Every stretch of time for which nodes of a site were down, up to then; hands over each when it is over.
    pub fn each(&self, site: usize, until: Time, take: impl FnMut(DownTime)) {
        if let Some(outages) = &self.sites[site] {
            each(outages.clone(), until, take);
        }
    }

    /// The links that fail, in order.
    pub fn links(&self) -> impl Iterator<Item = CableId> {
        self.links.keys().copied()
    }

    pub fn does_link(&self, link: CableId) -> bool {
        self.links.contains_key(&link)
    }

    /// Every stretch of time for which a link was down, up to then; in order.
    pub fn each_of_link(&self, link: CableId, until: Time, mut take: impl FnMut(Time, Time)) {
        if let Some(outages) = self.links.get(&link) {
            each(outages.clone(), until, |down| take(down.from, down.to));
        }
    }
}

fn each(mut outages: Outages, until: Time, mut take: impl FnMut(DownTime)) {
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
