//! What planners are told of a topology.

use super::{Site, Topology};
use crate::network::{Efficiency, Link, Mode};
use crate::systems::heft::{Paths, Resource};

/// The sites, as planning sees them.
pub fn resources(topology: &Topology) -> Vec<Resource> {
    let resource = |site: &Site| Resource {
        cores: site.cores,
        kind: site.kind,
        speed_millionths: site.speed_millionths,
        latency: site.latency,
    };
    topology.sites.iter().map(resource).collect()
}

/// The network between the sites. Without links, data goes by way of the router and takes no more than its latencies.
pub fn paths(topology: &Topology) -> Paths {
    let micros = |site: usize| topology.sites[site].latency.micros() as f64;
    let link = |from, to| Link {
        capacity: f64::INFINITY,
        latency: micros(from) + micros(to),
        efficiency: Efficiency::None,
        mode: Mode::PerFlow,
    };
    let sites = topology.sites.len();
    let mut paths = Paths::apart(sites, link(0, 0));
    for pair in 0..sites * sites {
        paths.links[pair] = link(pair / sites, pair % sites);
    }
    paths
}

/// What the links of [`paths`] are called.
pub fn link_names(topology: &Topology) -> Vec<String> {
    let names = || topology.sites.iter().map(|site| site.name.as_str());
    names().flat_map(|from| names().map(move |to| format!("{from} → {to}"))).collect()
}
