//! The names behind the log's numbers.

use serde::{Deserialize, Serialize};

use hansa_sim::grid::CableId;
use hansa_sim::kernel::ActorId;
use hansa_sim::topology::{Role, Roster, Topology};

/// Names of actors, kinds of cores and links, which translate a log's numbers into words and back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// Names in the order of the actors' ids; none twice.
    pub actors: Vec<String>,
    pub kinds: Vec<String>,
    /// Names of the topology's links, if any fails; otherwise the log does not mention them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
}

impl Names {
    /// The names of a topology: the actors at the hub come first, then the sites, then the users. A service that is
    /// alone at the hub speaks for the router.
    pub fn of(topology: &Topology) -> Names {
        let Roster { names: mut actors, roles, .. } = Roster::of_topology(topology);
        let services = roles.iter().filter(|role| matches!(role, Role::Hub(_))).count();
        if services == 1 && topology.systems.len() == 1 {
            actors[0] = "router".to_owned();
        }
        let fails = !topology.failing_links().is_empty();
        let links = topology.cables.iter().filter(|_| fails).flat_map(|cables| &cables.links);
        let links = links.map(|link| link.name.clone()).collect();
        Names { actors, kinds: topology.kinds.clone(), links }
    }

    #[cfg(test)]
    pub fn find_actor(&self, name: &str) -> Option<ActorId> {
        self.actors.iter().position(|actor| actor == name).map(|index| ActorId(index as u32))
    }

    /// True if the actor takes part.
    pub fn holds(&self, actor: ActorId) -> bool {
        actor.index() < self.actors.len()
    }

    /// The link's name, or its number where it has none.
    pub fn of_link(&self, link: CableId) -> String {
        self.links.get(link.0 as usize).cloned().unwrap_or_else(|| format!("#{}", link.0))
    }

    /// The actor's name, or its number where it has none.
    pub fn of_actor(&self, actor: ActorId) -> String {
        self.actors.get(actor.index()).cloned().unwrap_or_else(|| actor.to_string())
    }
}
