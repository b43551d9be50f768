//! The links that a topology lays between its sites, and which of them data crosses from site to site.
//!
//! A route that is written out is taken as it is. Every other pair of sites gets the shortest one over links whose ends
//! are known: the fewest links, then the least latency, then the names of its links, first to last, as a dictionary
//! would order them. It may lead by way of other sites.

use serde::Serialize;

use super::{Site, Topology};
use crate::network::{Duplex, Efficiency, Link, LinkId, Mode, Model, Paths};
use crate::settings::units::SPAN_MAX;
use crate::time::Span;

/// The network of a topology.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cables {
    pub model: Model,
    /// How much of what flows move is really moved; nothing, if nothing is said.
    pub payload: Option<Payload>,
    /// Places other than sites where links meet.
    pub switches: Vec<String>,
    pub links: Vec<Cable>,
    pub routes: Vec<Way>,
}

/// So many real bytes stand for so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Payload {
    pub real: u64,
    pub of: u64,
}

impl Payload {
    /// Rounded up: what moves at all is seen to move.
    pub fn amount(self, bytes: u64) -> u64 {
        let real = (u128::from(bytes) * u128::from(self.real)).div_ceil(u128::from(self.of));
        u64::try_from(real).unwrap_or(u64::MAX)
    }
}

/// A link as a topology has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cable {
    pub name: String,
    /// Bits a second.
    pub capacity: u64,
    pub latency: Span,
    pub mode: Mode,
    pub efficiency: Efficiency,
    pub duplex: Duplex,
    /// What it connects, where that is known: without, it is only in routes that name it.
    pub between: Option<[End; 2]>,
}

/// An index into the topology's sites, or into the switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Site(usize),
    Switch(usize),
}

/// A route that is written out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    pub from: usize,
    pub to: usize,
    /// Indices into the links, and whether each is crossed from its second end to its first.
    pub links: Vec<(usize, bool)>,
}

/// Most sites that links can connect: each pair has a route.
pub const SITES_MAX: usize = 1_024;
/// Most links, and most switches.
pub const LINKS_MAX: usize = 20_000;
/// Most links in all routes together.
const CROSSED_MAX: usize = 20_000_000;

/// Why there is no network between the sites.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWay {
    #[error("no links lead from {from} to {to}{}", and_others(*others))]
    Unreachable { from: String, to: String, others: usize },
    #[error("data from {from} to {to} would take more than a thousand years")]
    Slow { from: String, to: String },
    #[error("the routes between all sites together cross more than {CROSSED_MAX} links")]
    Long,
}

fn and_others(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => ", nor for one other pair of sites".to_owned(),
        count => format!(", nor for {count} other pairs of sites"),
    }
}

impl Cables {
    /// The links as flows see them, in bytes and microseconds, with the routes between all sites.
    pub fn paths(&self, sites: &[Site]) -> Result<Paths, NoWay> {
        let numbers = self.numbers();
        let mut written: Vec<Option<Vec<LinkId>>> = vec![None; sites.len() * sites.len()];
        for Way { from, to, links } in &self.routes {
            let ids = links.iter().map(|(cable, back)| LinkId(numbers[*cable] + u32::from(*back)));
            written[from * sites.len() + to] = Some(ids.collect());
        }
        let map = Map::of(self, &numbers, sites.len());
        let links = self.directed();
        let (mut crossed, mut lost, mut first_lost) = (0, 0, None);
        let mut routes = Vec::with_capacity(sites.len());
        for from in 0..sites.len() {
            let mut row: Vec<_> = (0..sites.len()).map(|to| written[from * sites.len() + to].take()).collect();
            row[from] = Some(Vec::new());
            if row.iter().any(Option::is_none) {
                let tree = map.shortest(from);
                row.iter_mut().enumerate().filter(|(_, way)| way.is_none()).for_each(|(to, way)| *way = tree.way(to));
            }
            for (to, way) in row.iter().enumerate() {
                let Some(way) = way else {
                    lost += 1;
                    first_lost.get_or_insert((from, to));
                    continue;
                };
                crossed += way.len();
                if crossed > CROSSED_MAX {
                    return Err(NoWay::Long);
                }
                let latency: f64 = way.iter().map(|link| links[link.index()].latency).sum();
                if latency > SPAN_MAX.micros() as f64 {
                    return Err(NoWay::Slow { from: sites[from].name.clone(), to: sites[to].name.clone() });
                }
            }
            routes.push(row.into_iter().map(Option::unwrap_or_default).collect());
        }
        match first_lost {
            None => Ok(Paths::new(links, routes)),
            Some((from, to)) => {
                Err(NoWay::Unreachable { from: sites[from].name.clone(), to: sites[to].name.clone(), others: lost - 1 })
            }
        }
    }

    /// What the links of [`Cables::paths`] are called.
    pub fn link_names(&self, sites: &[Site]) -> Vec<String> {
        let name = |end| match end {
            End::Site(site) => sites[site].name.as_str(),
            End::Switch(switch) => self.switches[switch].as_str(),
        };
        let mut names = Vec::new();
        for Cable { name: link, duplex, between, .. } in &self.links {
            match between {
                Some([a, b]) if *duplex == Duplex::Full => {
                    names.push(format!("{link} {} → {}", name(*a), name(*b)));
                    names.push(format!("{link} {} → {}", name(*b), name(*a)));
                }
                _ => names.push(link.clone()),
            }
        }
        names
    }

    /// The number of each cable's first link; the way back of a full-duplex one is the next.
    fn numbers(&self) -> Vec<u32> {
        let number = |next: &mut u32, cable: &Cable| {
            let number = *next;
            *next += cable.directions();
            Some(number)
        };
        self.links.iter().scan(0, number).collect()
    }

    fn directed(&self) -> Vec<Link> {
        let links = self.links.iter().flat_map(|cable| std::iter::repeat_n(cable.link(), cable.directions() as usize));
        links.collect()
    }
}

impl Cable {
    fn directions(&self) -> u32 {
        if self.duplex == Duplex::Full { 2 } else { 1 }
    }

    fn link(&self) -> Link {
        Link {
            capacity: self.capacity as f64 / 8e6,
            latency: self.latency.micros() as f64,
            efficiency: self.efficiency,
            mode: self.mode,
        }
    }
}

/// What is next to what.
struct Map {
    sites: usize,
    /// By node, sites first: where links lead from it, which link that is, its place among all names, its latency.
    out: Vec<Vec<Hop>>,
}

#[derive(Clone, Copy)]
struct Hop {
    to: usize,
    link: LinkId,
    name: u32,
    latency: u64,
}

impl Map {
    fn of(cables: &Cables, numbers: &[u32], sites: usize) -> Map {
        let mut by_name: Vec<usize> = (0..cables.links.len()).collect();
        by_name.sort_by_key(|&cable| &cables.links[cable].name);
        let mut out = vec![Vec::new(); sites + cables.switches.len()];
        let node = |end| match end {
            End::Site(site) => site,
            End::Switch(switch) => sites + switch,
        };
        for (&cable, name) in by_name.iter().zip(0..) {
            let Cable { latency, duplex, between: Some([a, b]), .. } = &cables.links[cable] else { continue };
            let (a, b, latency) = (node(*a), node(*b), latency.micros());
            let there = numbers[cable];
            out[a].push(Hop { to: b, link: LinkId(there), name, latency });
            match duplex {
                Duplex::Full => out[b].push(Hop { to: a, link: LinkId(there + 1), name, latency }),
                Duplex::Half => out[b].push(Hop { to: a, link: LinkId(there), name, latency }),
                Duplex::OneWay => {}
            }
        }
        Map { sites, out }
    }

    /// One more link at a time. Of all ways to a node with the fewest links the least counts, by latency, then by name;
    /// as all are equally long, the order of two ways stays what it is when both go on over the same link.
    fn shortest(&self, from: usize) -> Tree {
        let mut reached: Vec<Option<Reached>> = vec![None; self.out.len()];
        let mut sites_left = self.sites - 1;
        reached[from] = Some(Reached { latency: 0, before: from, rank: 0, name: 0, link: LinkId(0) });
        let mut level = vec![from];
        while !level.is_empty() && sites_left > 0 {
            let mut next: Vec<(usize, Reached)> = Vec::new();
            for &node in &level {
                let Reached { latency, rank, .. } = reached[node].expect("a level holds what was reached");
                for &Hop { to, link, name, latency: more } in &self.out[node] {
                    if reached[to].is_none() {
                        next.push((
                            to,
                            Reached { latency: latency + u128::from(more), before: node, rank, name, link },
                        ));
                    }
                }
            }
            // The best way to each node comes first.
            next.sort_unstable_by_key(|(to, way)| (*to, way.latency, way.rank, way.name));
            next.dedup_by_key(|(to, _)| *to);
            next.sort_unstable_by_key(|(_, way)| (way.rank, way.name));
            level.clear();
            for (rank, (node, way)) in (0..).zip(next) {
                reached[node] = Some(Reached { rank, ..way });
                level.push(node);
                sites_left -= usize::from(node < self.sites);
            }
        }
        Tree { from, reached }
    }
}

/// The shortest ways from one node.
struct Tree {
    from: usize,
    reached: Vec<Option<Reached>>,
}

#[derive(Clone, Copy)]
struct Reached {
    latency: u128,
    before: usize,
    /// The place of the way to the node before among those of its length, by the names of their links; in the tree,
    /// that of the way to this node.
    rank: u32,
    name: u32,
    link: LinkId,
}

impl Tree {
    fn way(&self, to: usize) -> Option<Vec<LinkId>> {
        let (mut at, mut way) = (to, Vec::new());
        while at != self.from {
            let Reached { before, link, .. } = self.reached[at]?;
            way.push(link);
            at = before;
        }
        way.reverse();
        Some(way)
    }
}

/// The network between the sites. Without links, data goes by way of the router and takes no more than its latencies.
pub fn paths(topology: &Topology) -> Paths {
    if let Some(cables) = &topology.cables {
        return cables.paths(&topology.sites).expect("a topology whose sites cannot reach each other is refused");
    }
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
    if let Some(cables) = &topology.cables {
        return cables.link_names(&topology.sites);
    }
    let names = || topology.sites.iter().map(|site| site.name.as_str());
    names().flat_map(|from| names().map(move |to| format!("{from} → {to}"))).collect()
}
