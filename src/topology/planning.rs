//! What planners are told of a topology.

use super::Topology;
use crate::systems::heft::Resource;

/// The sites, as planning sees them.
pub fn resources(topology: &Topology) -> Vec<Resource> {
    topology.sites.iter().map(Resource::of).collect()
}
