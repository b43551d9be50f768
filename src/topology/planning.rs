//! What planners are told of a topology.

use super::{Site, Topology};
use crate::systems::heft::Resource;

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
