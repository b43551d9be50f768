//! The links between the sites of a topology, and the routes of data over them.
//!
//! An explicit route is used as it is. Every other pair of sites gets the shortest one over links with known ends:
//! fewest links, then least latency, then the names of the links, first to last, in lexicographic order. It may lead
//! over other sites.

use serde::Serialize;

use super::{Site, Topology};
use crate::grid::CableId;
use crate::network::{
    AdjacencyMap, Detours, Duplex, Efficiency, FailureTarget, Faults, Hop, Link, LinkId, Mode, Model, Paths,
};
use crate::settings::units::SPAN_MAX;
use crate::time::Span;

/// The network of a topology.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cables {
    pub model: Model,
    /// Number of TCP sockets of each transfer, on links whose efficiency is that of TCP.
    #[serde(skip_serializing_if = "is_single")]
    pub sockets: u32,
    /// Scale of the bytes that processes really send for a flow; None to send none.
    pub payload: Option<Payload>,
    /// Places other than sites where links meet.
    pub switches: Vec<String>,
    pub links: Vec<Cable>,
    pub routes: Vec<Way>,
}

/// Scale: `real` bytes are sent for `of` bytes of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Payload {
    pub real: u64,
    pub of: u64,
}

impl Payload {
    /// Real bytes for a volume, rounded up, so that every transfer is visible.
    pub fn amount(self, bytes: u64) -> u64 {
        let real = (u128::from(bytes) * u128::from(self.real)).div_ceil(u128::from(self.of));
        u64::try_from(real).unwrap_or(u64::MAX)
    }
}

/// A link of a topology.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cable {
    pub name: String,
    /// Capacity in bits per second.
    pub capacity: u64,
    pub latency: Span,
    pub mode: Mode,
    pub efficiency: Efficiency,
    pub duplex: Duplex,
    /// Its ends, if known; a link without ends is used only by routes that name it.
    pub between: Option<[End; 2]>,
}

/// An end of a link: an index into the topology's sites or switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Site(usize),
    Switch(usize),
}

/// An explicit route.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    pub from: usize,
    pub to: usize,
    /// Indices into the links, each with true if it is crossed from its second end to its first.
    pub links: Vec<(usize, bool)>,
}

fn is_single(sockets: &u32) -> bool {
    *sockets == 1
}

/// Most sockets of a transfer.
pub const SOCKETS_MAX: u32 = 1_000;
/// Most sites that links can connect, as each pair has a route.
pub const SITES_MAX: usize = 1_024;
/// Most links, and most switches.
pub const LINKS_MAX: usize = 100_000;
/// Most links in all routes together.
const CROSSED_MAX: usize = 20_000_000;

/// Reason why the network between the sites is invalid.
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

impl End {
    /// Number of the place on the map: sites first, then switches.
    fn place(self, sites: usize) -> usize {
        match self {
            End::Site(site) => site,
            End::Switch(switch) => sites + switch,
        }
    }
}

impl Cables {
    /// Links for flows, in bytes and microseconds, with the routes between all sites.
    pub fn paths(&self, sites: &[Site]) -> Result<Paths, NoWay> {
        let numbers = self.numbers();
        let mut written: Vec<Option<Vec<LinkId>>> = vec![None; sites.len() * sites.len()];
        for Way { from, to, links } in &self.routes {
            let ids = links.iter().map(|(cable, back)| LinkId(numbers[*cable] + u32::from(*back)));
            written[from * sites.len() + to] = Some(ids.collect());
        }
        let map = self.map(sites.len());
        let links = self.directed_links();
        let mut crossed = 0;
        let mut lost = 0;
        let mut first_lost = None;
        let mut routes = Vec::with_capacity(sites.len());
        for from in 0..sites.len() {
            let mut row: Vec<_> = (0..sites.len()).map(|to| written[from * sites.len() + to].take()).collect();
            row[from] = Some(Vec::new());
            if row.iter().any(Option::is_none) {
                let tree = map.shortest(from, |_| true);
                row.iter_mut()
                    .enumerate()
                    .filter(|(_, way)| way.is_none())
                    .for_each(|(to, way)| *way = tree.path_to(to));
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

    /// The links of a path from a site over some cables; None if the cables are not connected.
    pub fn path_links(&self, from: usize, via: &[CableId]) -> Option<Vec<LinkId>> {
        let numbers = self.numbers();
        let mut at = End::Site(from);
        let mut way = Vec::with_capacity(via.len());
        for cable in via {
            let Cable { duplex, between, .. } = self.links.get(cable.0 as usize)?;
            let [a, b] = (*between)?;
            let is_back = at == b && *duplex != Duplex::OneWay;
            if !is_back && at != a {
                return None;
            }
            way.push(LinkId(numbers[cable.0 as usize] + u32::from(is_back && *duplex == Duplex::Full)));
            at = if is_back { a } else { b };
        }
        Some(way)
    }

    /// Names of the links of [`Cables::paths`].
    pub fn link_names(&self, sites: &[Site]) -> Vec<String> {
        let mut names = Vec::new();
        for Cable { name: link, duplex, between, .. } in &self.links {
            match between {
                Some([a, b]) if *duplex == Duplex::Full => {
                    names.push(format!("{link} {} → {}", self.end_name(*a, sites), self.end_name(*b, sites)));
                    names.push(format!("{link} {} → {}", self.end_name(*b, sites), self.end_name(*a, sites)));
                }
                _ => names.push(link.clone()),
            }
        }
        names
    }

    fn end_name<'n>(&'n self, end: End, sites: &'n [Site]) -> &'n str {
        match end {
            End::Site(site) => sites[site].name.as_str(),
            End::Switch(switch) => self.switches[switch].as_str(),
        }
    }

    /// Number of each cable's first link; the reverse link of a full-duplex cable has the next number.
    fn numbers(&self) -> Vec<u32> {
        self.links
            .iter()
            .scan(0, |next, cable| {
                let number = *next;
                *next += cable.directions();
                Some(number)
            })
            .collect()
    }

    fn directed_links(&self) -> Vec<Link> {
        let links = self
            .links
            .iter()
            .flat_map(|cable| std::iter::repeat_n(cable.link(self.sockets), cable.directions() as usize));
        links.collect()
    }

    /// Cable of each link.
    pub fn by_link(&self) -> Vec<CableId> {
        let links = (0..).zip(&self.links);
        links.flat_map(|(cable, link)| std::iter::repeat_n(CableId(cable), link.directions() as usize)).collect()
    }

    /// Adjacency of places: sites first, then switches.
    pub fn map(&self, sites: usize) -> AdjacencyMap {
        let numbers = self.numbers();
        let mut by_name: Vec<usize> = (0..self.links.len()).collect();
        by_name.sort_by_key(|&cable| &self.links[cable].name);
        let mut map = AdjacencyMap::new(sites, self.switches.len());
        for (&cable, name) in by_name.iter().zip(0..) {
            let Cable { latency, duplex, between: Some([a, b]), .. } = &self.links[cable] else { continue };
            let a = a.place(sites);
            let b = b.place(sites);
            let latency = latency.micros();
            let there = numbers[cable];
            map.lay(a, Hop { to: b, link: LinkId(there), name, latency });
            match duplex {
                Duplex::Full => map.lay(b, Hop { to: a, link: LinkId(there + 1), name, latency }),
                Duplex::Half => map.lay(b, Hop { to: a, link: LinkId(there), name, latency }),
                Duplex::OneWay => {}
            }
        }
        map
    }
}

impl Cable {
    fn directions(&self) -> u32 {
        if self.duplex == Duplex::Full { 2 } else { 1 }
    }

    fn link(&self, sockets: u32) -> Link {
        let efficiency = match self.efficiency {
            Efficiency::Tcp if sockets > 1 => Efficiency::TcpSockets(sockets),
            other => other,
        };
        Link {
            capacity: self.capacity as f64 / 8e6,
            latency: self.latency.micros() as f64,
            efficiency,
            mode: self.mode,
        }
    }
}

/// Network between the sites. Without links, data travels through the router and takes only the latencies of the sites.
pub fn network_paths(topology: &Topology) -> Paths {
    if let Some(cables) = &topology.cables {
        return cables.paths(&topology.sites).expect("a topology whose sites cannot reach each other is refused");
    }
    Paths::by_router(
        topology
            .sites
            .iter()
            .map(|site| Link {
                capacity: f64::INFINITY,
                latency: site.latency.micros() as f64,
                efficiency: Efficiency::None,
                mode: Mode::PerFlow,
            })
            .collect(),
    )
}

/// Failures of the links that data between these sites may cross; None if no link fails.
pub fn link_faults(topology: &Topology, sites: Vec<usize>) -> Option<Faults> {
    let cables = topology.cables.as_ref()?;
    let failing = topology.failing();
    let numbers = cables.numbers();
    let fragile = |cable: usize| {
        let links = (0..cables.links[cable].directions()).map(|direction| LinkId(numbers[cable] + direction));
        Some(FailureTarget { cable: CableId(cable as u32), links: links.collect(), outages: failing.link(cable)? })
    };
    let fragile: Vec<FailureTarget> = topology.failing_links().into_iter().filter_map(fragile).collect();
    if fragile.is_empty() {
        return None;
    }
    let detours = Detours::new(cables.map(topology.sites.len()), sites, cables.by_link());
    Some(Faults::new(topology.recovery.data, fragile, detours))
}

/// True if data could take another route if only one of the failing links were down.
pub fn has_way_around(topology: &Topology) -> bool {
    let Some(cables) = &topology.cables else { return false };
    let sites = topology.sites.len();
    let map = cables.map(sites);
    let of = cables.by_link();
    topology.failing_links().into_iter().any(|link| {
        match cables.links[link].between {
            Some([a, b]) => is_reached_without(a.place(sites), b.place(sites), link, &map, &of),
            // It is crossed only by routes that name it.
            None => {
                let mut routes = cables.routes.iter();
                routes.any(|way| {
                    way.links.iter().any(|(one, _)| *one == link)
                        && is_reached_without(way.from, way.to, link, &map, &of)
                })
            }
        }
    })
}

fn is_reached_without(from: usize, to: usize, link: usize, map: &AdjacencyMap, of: &[CableId]) -> bool {
    map.reaches(from, to, |other| of[other.index()].0 as usize != link)
}

/// Names of the links of [`network_paths`].
pub fn link_names(topology: &Topology) -> Vec<String> {
    if let Some(cables) = &topology.cables {
        return cables.link_names(&topology.sites);
    }
    topology.sites.iter().map(|site| format!("{} – router", site.name)).collect()
}
