//! Reads the tags of a platform, zone by zone.

use std::collections::BTreeSet;

use roxmltree::{Document, Node};

use super::platform::{
    ClusterZone, DEPTH_MAX, PlatformHost, PlatformLink, PlatformRoute, Point, Sides, SimgridPlatform, Zone,
};
use super::quantity::{RATES, SPEEDS, TIMES, parse_quantity};
use crate::settings::make_printable;

/// An error of a platform, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Unconvertible {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// Most hosts, as every pair of hosts gets a route.
pub const HOSTS_MAX: usize = 256;

/// Operations per second of a host of speed 1.
const FLOPS: f64 = 1e9;

/// Reads a platform and collects warnings about its unsupported parts.
pub struct PlatformReader<'d, 't> {
    pub document: &'d Document<'t>,
    pub platform: SimgridPlatform,
    /// Tags that are skipped.
    pub passed_over: BTreeSet<String>,
    pub warnings: Vec<String>,
}

impl<'d> PlatformReader<'d, '_> {
    pub fn unconvertible(&self, node: Node<'_, '_>, message: impl Into<String>) -> Unconvertible {
        error_at(self.document, node, message)
    }

    fn need(&self, node: Node<'d, '_>, names: &[&str]) -> Result<&'d str, Unconvertible> {
        names.iter().find_map(|name| node.attribute(*name)).ok_or_else(|| {
            let tag = node.tag_name().name();
            self.unconvertible(node, format!("expected an attribute `{}` of <{tag}>", names.join("` or `")))
        })
    }

    /// Reads the content of a zone, and of the zones within it.
    pub fn children(&mut self, node: Node<'d, '_>, zone: usize, depth: usize) -> Result<(), Unconvertible> {
        if depth > DEPTH_MAX {
            return Err(self.unconvertible(node, format!("zones are nested more than {DEPTH_MAX} deep")));
        }
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "zone" | "AS" => {
                    let inner = self.zone(child, zone, depth)?;
                    self.children(child, inner, depth + 1)?;
                }
                "host" => self.host(child, zone)?,
                "router" => self.point(child, self.need(child, &["id"])?, zone)?,
                "link" => {
                    let name = self.need(child, &["id"])?;
                    self.link(child, name, ("bandwidth", "latency", "sharing_policy"), "SHARED")?;
                }
                "cluster" => self.cluster(child, zone, depth)?,
                "route" => self.route(child, zone, false)?,
                "zoneRoute" | "ASroute" => self.route(child, zone, true)?,
                other => drop(self.passed_over.insert(other.to_owned())),
            }
        }
        Ok(())
    }

    fn zone(&mut self, node: Node<'d, '_>, within: usize, depth: usize) -> Result<usize, Unconvertible> {
        let name = self.need(node, &["id"])?;
        let routing = node.attribute("routing").unwrap_or("Full");
        let shortest = matches!(routing, "Floyd" | "Dijkstra" | "DijkstraCache");
        if !shortest && !matches!(routing, "Full" | "None" | "Cluster") {
            self.passed_over.insert(format!("zone routing=\"{routing}\""));
        }
        let number = self.platform.zones.len();
        self.add_point(node, name, Point::Zone { zone: number })?;
        let name = name.to_owned();
        self.platform.zones.push(Zone { name, within, depth: depth + 1, shortest, ..Zone::default() });
        Ok(number)
    }

    fn point(&mut self, node: Node<'d, '_>, name: &str, zone: usize) -> Result<(), Unconvertible> {
        self.add_point(node, name, Point::Member { zone })
    }

    fn add_point(&mut self, node: Node<'d, '_>, name: &str, point: Point) -> Result<(), Unconvertible> {
        match self.platform.points.insert(name.to_owned(), point) {
            None => Ok(()),
            Some(_) => Err(self.unconvertible(node, format!("the id `{name}` is used twice"))),
        }
    }

    fn host(&mut self, node: Node<'d, '_>, zone: usize) -> Result<(), Unconvertible> {
        let name = self.need(node, &["id"])?.to_owned();
        for part in node.children().filter(Node::is_element) {
            self.passed_over.insert(format!("host> <{}", part.tag_name().name()));
        }
        self.point(node, &name, zone)?;
        let (speed, cores) = self.power(node)?;
        self.platform.hosts.push(PlatformHost { name, cores, speed });
        Ok(())
    }

    fn power(&self, node: Node<'d, '_>) -> Result<(f64, u32), Unconvertible> {
        let text = self.need(node, &["speed", "power"])?;
        // The first of several speeds is the default one.
        let text = text.split(',').next().unwrap_or(text);
        let speed = parse_quantity(text, &SPEEDS).filter(|speed| (1e-6..=1e6).contains(&(speed / FLOPS)));
        let speed =
            speed.ok_or_else(|| self.unconvertible(node, format!("expected a speed such as 1Gf, found `{text}`")))?;
        let cores = node.attribute("core").map_or(Some(1), |text| text.trim().parse().ok());
        let cores = cores.filter(|cores| (1..=1 << 18).contains(cores));
        let cores = cores.ok_or_else(|| self.unconvertible(node, "expected a number of cores from 1 to 262144"))?;
        Ok((speed / FLOPS, cores))
    }

    fn link(
        &mut self,
        node: Node<'d, '_>,
        name: &str,
        (bandwidth, latency, sharing): (&str, &str, &str),
        usual: &str,
    ) -> Result<Sides, Unconvertible> {
        let text = self.need(node, &[bandwidth])?;
        let bits = parse_quantity(text, &RATES).map(|rate| rate * 8.0).filter(|bits| (1.0..=1e18).contains(bits));
        let bits = bits.ok_or_else(|| {
            self.unconvertible(node, format!("{bandwidth}: expected one such as 125MBps above zero, found `{text}`"))
        })?;
        let text = node.attribute(latency).unwrap_or("0");
        let seconds = parse_quantity(text, &TIMES).filter(|seconds| (0.0..=1e9).contains(seconds));
        let seconds = seconds
            .ok_or_else(|| self.unconvertible(node, format!("{latency}: expected one such as 50us, found `{text}`")))?;
        let bits = bits.round() as u64;
        let micros = (seconds * 1e6).round() as u64;
        let policy = node.attribute(sharing).unwrap_or(usual);
        let mut add = |name: String, per_flow| {
            self.platform.links.push(PlatformLink { name, bits, micros, per_flow });
            self.platform.links.len() - 1
        };
        let sides = match policy {
            "SHARED" => {
                let link = add(name.to_owned(), false);
                Sides { up: link, down: link }
            }
            "FATPIPE" => {
                let link = add(name.to_owned(), true);
                Sides { up: link, down: link }
            }
            "SPLITDUPLEX" | "FULLDUPLEX" => {
                Sides { up: add(format!("{name}-up"), false), down: add(format!("{name}-down"), false) }
            }
            other => {
                return Err(
                    self.unconvertible(node, format!("expected SHARED, SPLITDUPLEX or FATPIPE, found `{other}`"))
                );
            }
        };
        match self.platform.by_name.insert(name.to_owned(), sides) {
            None => Ok(sides),
            Some(_) => Err(self.unconvertible(node, format!("there is a link with the id `{name}` already"))),
        }
    }

    /// Link of a name in a route, or one direction of it.
    fn sides(&self, name: &str) -> Option<Sides> {
        let one_way = |suffix, swap: bool| {
            let Sides { up, down } =
                self.find_sides(name.strip_suffix(suffix)?).filter(|sides| sides.up != sides.down)?;
            Some(if swap { Sides { up: down, down: up } } else { Sides { up, down } })
        };
        self.find_sides(name).or_else(|| one_way("_UP", false)).or_else(|| one_way("_DOWN", true))
    }

    fn find_sides(&self, name: &str) -> Option<Sides> {
        self.platform.by_name.get(name).copied()
    }

    fn cluster(&mut self, node: Node<'d, '_>, zone: usize, depth: usize) -> Result<(), Unconvertible> {
        let id = self.need(node, &["id"])?;
        let inner = self.zone(node, zone, depth)?;
        let prefix = node.attribute("prefix").unwrap_or("");
        let suffix = node.attribute("suffix").unwrap_or("");
        let (speed, cores) = self.power(node)?;
        let router = match node.attribute("router_id").filter(|router| !router.is_empty()) {
            Some(router) => router.to_owned(),
            None => format!("{prefix}{id}_router{suffix}"),
        };
        let mut cluster = ClusterZone { router, ..ClusterZone::default() };
        self.point(node, &cluster.router.clone(), inner)?;
        for number in self.radical(node)? {
            let name = format!("{prefix}{number}{suffix}");
            self.point(node, &name, inner)?;
            let keys = ("bw", "lat", "sharing_policy");
            let link = self.link(node, &format!("{id}_link_{number}"), keys, "SPLITDUPLEX")?;
            cluster.host_links.insert(name.clone(), link);
            self.platform.hosts.push(PlatformHost { name, cores, speed });
        }
        if node.has_attribute("bb_bw") {
            let keys = ("bb_bw", "bb_lat", "bb_sharing_policy");
            cluster.backbone = Some(self.link(node, &format!("{id}_backbone"), keys, "SHARED")?.up);
        }
        if let Some(topology) = node.attribute("topology").filter(|topology| *topology != "FLAT") {
            let line = error_at(self.document, node, "").line;
            let parameters = node.attribute("topo_parameters");
            let parameters = parameters.map_or(String::new(), |text| format!(" topo_parameters=\"{text}\""));
            self.warnings.push(format!(
                "line {line}: the cluster {id} becomes a flat one, in which hosts share only a backbone: topology=\"{topology}\"{parameters} is not converted"
            ));
        }
        self.platform.zones[inner].cluster = Some(cluster);
        Ok(())
    }

    /// Numbers of a list such as `0-3,7`.
    fn radical(&self, node: Node<'d, '_>) -> Result<Vec<u32>, Unconvertible> {
        let text = self.need(node, &["radical"])?;
        let wrong = || self.unconvertible(node, format!("expected a radical such as 0-3,7, found `{text}`"));
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let bound = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            let first = bound(first)?;
            let last = bound(last)?;
            if first > last {
                return Err(wrong());
            }
            if numbers.len() + (last - first) as usize >= HOSTS_MAX {
                return Err(self.unconvertible(node, format!("expected at most {HOSTS_MAX} hosts")));
            }
            numbers.extend(first..=last);
        }
        Ok(numbers)
    }

    fn route(&mut self, node: Node<'d, '_>, zone: usize, between_zones: bool) -> Result<(), Unconvertible> {
        let from = self.need(node, &["src"])?.to_owned();
        let to = self.need(node, &["dst"])?.to_owned();
        let gateways = match between_zones {
            true => Some((self.need(node, &["gw_src"])?.to_owned(), self.need(node, &["gw_dst"])?.to_owned())),
            false => None,
        };
        let mut there = Vec::new();
        let mut back = Vec::new();
        for part in node.children().filter(Node::is_element) {
            if part.tag_name().name() != "link_ctn" {
                self.passed_over.insert(format!("route> <{}", part.tag_name().name()));
                continue;
            }
            let name = self.need(part, &["id"])?;
            let sides = self.sides(name);
            let sides =
                sides.ok_or_else(|| self.unconvertible(part, format!("there is no link with the id `{name}`")))?;
            let (up, down) = match part.attribute("direction") {
                Some("DOWN") => (sides.down, sides.up),
                _ => (sides.up, sides.down),
            };
            there.push(up);
            back.insert(0, down);
        }
        let symmetrical = !matches!(node.attribute("symmetrical"), Some("NO" | "no" | "false"));
        let swapped = gateways.clone().map(|(a, b)| (b, a));
        let routes = &mut self.platform.zones[zone].routes;
        routes.entry(from.clone()).or_default().insert(to.clone(), PlatformRoute { links: there, gateways });
        if symmetrical && from != to {
            routes.entry(to).or_default().entry(from).or_insert(PlatformRoute { links: back, gateways: swapped });
        }
        Ok(())
    }
}

pub fn error_at(document: &Document<'_>, node: Node<'_, '_>, message: impl Into<String>) -> Unconvertible {
    let position = document.text_pos_at(node.range().start);
    Unconvertible { line: position.row, column: position.col, message: make_printable(&message.into()) }
}
