//! A parsed platform, and the paths between its hosts that its zones and routes define.

use std::collections::{BTreeMap, VecDeque};

#[derive(Default)]
pub struct SimgridPlatform {
    pub zones: Vec<Zone>,
    /// All members of zones by name: hosts, routers and zones.
    pub points: BTreeMap<String, Point>,
    pub hosts: Vec<PlatformHost>,
    /// Links of the topology in file order; `by_name` maps names of the platform to them.
    pub links: Vec<PlatformLink>,
    pub by_name: BTreeMap<String, Sides>,
}

#[derive(Default)]
pub struct Zone {
    pub name: String,
    pub within: usize,
    pub depth: usize,
    pub shortest: bool,
    /// Routes by their start, then by their end.
    pub routes: BTreeMap<String, BTreeMap<String, PlatformRoute>>,
    pub cluster: Option<ClusterZone>,
}

/// A zone in which every host has its own link to the backbone.
#[derive(Clone, Default)]
pub struct ClusterZone {
    pub backbone: Option<usize>,
    pub router: String,
    pub host_links: BTreeMap<String, Sides>,
}

#[derive(Clone, Copy)]
pub enum Point {
    Member { zone: usize },
    Zone { zone: usize },
}

pub struct PlatformHost {
    pub name: String,
    pub cores: u32,
    pub speed: f64,
}

pub struct PlatformLink {
    pub name: String,
    pub bits: u64,
    pub micros: u64,
    pub per_flow: bool,
}

/// A link as seen from its two ends; both are equal if the directions share it.
#[derive(Clone, Copy)]
pub struct Sides {
    pub up: usize,
    pub down: usize,
}

pub struct PlatformRoute {
    pub links: Vec<usize>,
    /// Members at which the route leaves the first zone and enters the second.
    pub gateways: Option<(String, String)>,
}

/// Deepest nesting of zones, and of routes through them.
pub const DEPTH_MAX: usize = 64;

/// Finds paths in a platform.
pub struct PathFinder<'p> {
    platform: &'p SimgridPlatform,
    /// The last search tree of each zone, with its root. The paths of one host are queried in sequence.
    trees: Vec<Option<(&'p str, MemberTree<'p>)>>,
}

/// Breadth-first tree: previous member and route of each member that is reached.
type MemberTree<'p> = BTreeMap<&'p str, (&'p str, &'p PlatformRoute)>;

impl<'p> PathFinder<'p> {
    pub fn new(platform: &'p SimgridPlatform) -> PathFinder<'p> {
        PathFinder { platform, trees: platform.zones.iter().map(|_| None).collect() }
    }

    /// Links from one host or router to another. Routes between zones go from gateway to gateway.
    pub fn find_links(&mut self, from: &'p str, to: &'p str, depth: usize) -> Result<Vec<usize>, String> {
        if from == to {
            return Ok(Vec::new());
        }
        if depth > DEPTH_MAX {
            return Err(format!("the route from `{from}` to `{to}` does not reach its end"));
        }
        let zones = &self.platform.zones;
        let mut a = self.platform.home(from)?;
        let mut b = self.platform.home(to)?;
        let mut in_a = from;
        let mut in_b = to;
        while a != b {
            let zone_a = &zones[a];
            let zone_b = &zones[b];
            if zone_a.depth >= zone_b.depth {
                (in_a, a) = (&zone_a.name, zone_a.within);
            } else {
                (in_b, b) = (&zone_b.name, zone_b.within);
            }
        }
        let mut links = Vec::new();
        if let Some(cluster) = &zones[a].cluster {
            links.extend(cluster.host_links.get(from).map(|sides| sides.up));
            links.extend(cluster.backbone);
            links.extend(cluster.host_links.get(to).map(|sides| sides.down));
            return Ok(links);
        }
        let mut at = from;
        for route in self.steps(a, in_a, in_b).ok_or_else(|| format!("there is no route from `{from}` to `{to}`"))? {
            let next = match &route.gateways {
                Some((leaves, enters)) => {
                    links.extend(self.find_links(at, leaves, depth + 1)?);
                    enters
                }
                None => to,
            };
            links.extend(&route.links);
            at = next;
        }
        links.extend(self.find_links(at, to, depth + 1)?);
        Ok(links)
    }

    /// Routes from one member of a zone to another: the explicit one, or the fewest that lead there.
    fn steps(&mut self, number: usize, from: &'p str, to: &'p str) -> Option<Vec<&'p PlatformRoute>> {
        let zone = &self.platform.zones[number];
        if let Some(route) = zone.routes.get(from).and_then(|routes| routes.get(to)) {
            return Some(vec![route]);
        }
        if !zone.shortest {
            return None;
        }
        let known = self.trees[number].take().filter(|(root, _)| *root == from);
        let (_, tree) = self.trees[number].insert(known.unwrap_or_else(|| (from, zone.tree(from))));
        let mut steps = Vec::new();
        let mut at = to;
        while at != from {
            let (before, route) = *tree.get(at)?;
            steps.push(route);
            at = before;
        }
        steps.reverse();
        Some(steps)
    }
}

impl SimgridPlatform {
    fn home(&self, name: &str) -> Result<usize, String> {
        match self.points.get(name) {
            Some(Point::Member { zone }) => Ok(*zone),
            Some(Point::Zone { zone }) => Err(format!("`{}` is a zone, not a host or router", self.zones[*zone].name)),
            None => Err(format!("there is no host or router `{name}`")),
        }
    }
}

impl Zone {
    fn tree<'p>(&'p self, root: &'p str) -> MemberTree<'p> {
        let mut tree = MemberTree::new();
        let mut open = VecDeque::from([root]);
        while let Some(at) = open.pop_front() {
            for (next, route) in self.routes.get(at).into_iter().flatten() {
                if next != root && !tree.contains_key(next.as_str()) {
                    tree.insert(next, (at, route));
                    open.push_back(next);
                }
            }
        }
        tree
    }
}
