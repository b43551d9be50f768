//! A platform as it is read, and the way from one host to another that its zones and routes make.

use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
pub struct Platform {
    pub zones: Vec<Zone>,
    /// Everything that has a place in a zone: hosts, routers and zones, by name.
    pub points: BTreeMap<String, Point>,
    pub hosts: Vec<Host>,
    /// In the order of the file: the links of the topology, and which of them a name means.
    pub links: Vec<Link>,
    pub by_name: BTreeMap<String, Sides>,
}

#[derive(Default)]
pub struct Zone {
    pub name: String,
    pub within: usize,
    pub depth: usize,
    pub shortest: bool,
    pub routes: BTreeMap<(String, String), Route>,
    pub cluster: Option<Cluster>,
}

/// A zone in which every host has a link of its own to the backbone.
#[derive(Clone, Default)]
pub struct Cluster {
    pub backbone: Option<usize>,
    pub router: String,
    pub host_links: BTreeMap<String, Sides>,
}

#[derive(Clone, Copy)]
pub enum Point {
    Member { zone: usize },
    Zone { zone: usize },
}

pub struct Host {
    pub name: String,
    pub cores: u32,
    pub speed: f64,
}

pub struct Link {
    pub name: String,
    pub bits: u64,
    pub micros: u64,
    pub per_flow: bool,
}

/// A link as seen from one end and the other; the same one where both directions share it.
#[derive(Clone, Copy)]
pub struct Sides {
    pub up: usize,
    pub down: usize,
}

#[derive(Clone)]
pub struct Route {
    pub links: Vec<usize>,
    /// Where the route leaves a zone, and where it enters the other.
    pub gateways: Option<(String, String)>,
}

/// How deep zones may be within each other, and routes through them.
pub const DEPTH_MAX: usize = 64;

impl Platform {
    fn home(&self, name: &str) -> Result<usize, String> {
        match self.points.get(name) {
            Some(Point::Member { zone }) => Ok(*zone),
            Some(Point::Zone { zone }) => Err(format!("`{}` is a zone, not a host or router", self.zones[*zone].name)),
            None => Err(format!("there is no host or router `{name}`")),
        }
    }

    /// The links from one host or router to another. Routes between zones go from gateway to gateway.
    pub fn way(&self, from: &str, to: &str, depth: usize) -> Result<Vec<usize>, String> {
        if from == to {
            return Ok(Vec::new());
        }
        if depth > DEPTH_MAX {
            return Err(format!("the route from `{from}` to `{to}` does not reach its end"));
        }
        let (mut a, mut b) = (self.home(from)?, self.home(to)?);
        let (mut in_a, mut in_b) = (from, to);
        while a != b {
            let (zone_a, zone_b) = (&self.zones[a], &self.zones[b]);
            if zone_a.depth >= zone_b.depth {
                (in_a, a) = (&zone_a.name, zone_a.within);
            } else {
                (in_b, b) = (&zone_b.name, zone_b.within);
            }
        }
        let zone = &self.zones[a];
        if let Some(cluster) = &zone.cluster {
            let mut links = Vec::new();
            links.extend(cluster.host_links.get(from).map(|sides| sides.up));
            links.extend(cluster.backbone);
            links.extend(cluster.host_links.get(to).map(|sides| sides.down));
            return Ok(links);
        }
        let mut links = Vec::new();
        let mut at = from.to_owned();
        for (_, route) in zone.steps(in_a, in_b).ok_or_else(|| format!("there is no route from `{from}` to `{to}`"))? {
            let next = match &route.gateways {
                Some((leaves, enters)) => {
                    links.extend(self.way(&at, leaves, depth + 1)?);
                    Some(enters.clone())
                }
                None => None,
            };
            links.extend(&route.links);
            at = next.unwrap_or_else(|| to.to_owned());
        }
        links.extend(self.way(&at, to, depth + 1)?);
        Ok(links)
    }
}

impl Zone {
    /// The routes from one member to another: the one that is written down, or the fewest that lead there.
    fn steps(&self, from: &str, to: &str) -> Option<Vec<(String, &Route)>> {
        if let Some(route) = self.routes.get(&(from.to_owned(), to.to_owned())) {
            return Some(vec![(to.to_owned(), route)]);
        }
        if !self.shortest {
            return None;
        }
        let mut before: BTreeMap<&str, &str> = BTreeMap::from([(from, from)]);
        let mut open = VecDeque::from([from]);
        while let Some(at) = open.pop_front() {
            for (_, next) in self.routes.keys().filter(|(begins, _)| begins == at) {
                if !before.contains_key(next.as_str()) {
                    before.insert(next, at);
                    open.push_back(next);
                }
            }
        }
        let mut steps = Vec::new();
        let mut at = to;
        while at != from {
            let previous = *before.get(at)?;
            steps.push((at.to_owned(), &self.routes[&(previous.to_owned(), at.to_owned())]));
            at = previous;
        }
        steps.reverse();
        Some(steps)
    }
}
