//! When the nodes of each site were down: as sites tell of it only while they have work, it is worked out anew from the topology.

use crate::grid::{Change, NodeSet, Outages};
use crate::time::Time;
use crate::topology::Topology;

/// By site, those that fail.
#[derive(Debug)]
pub struct Failing {
    sites: Vec<Option<Outages>>,
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
        Failing { sites: (0..topology.sites.len()).map(outages).collect() }
    }

    /// Whether a site fails at all.
    pub fn does(&self, site: usize) -> bool {
        self.sites[site].is_some()
    }

    /// Every stretch of time for which nodes of a site were down, up to then; hands over each when it is over.
    pub fn each(&self, site: usize, until: Time, mut take: impl FnMut(DownTime)) {
        let Some(mut outages) = self.sites[site].clone() else { return };
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
}
