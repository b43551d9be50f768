//! SimGrid's platforms (XML, version 4 and the tags of 3) as topologies.
//!
//! Every host becomes a site with its cores and its speed, every link one or two links, every pair of hosts a route that
//! is written out. What is read: zones (`zone`, `AS`) within each other, hosts, routers, links with their sharing,
//! routes between hosts and between zones, clusters with their own links and backbone. What is passed over is named.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use roxmltree::{Document, Node, ParsingOptions};

use crate::settings::printable;

/// A topology file, and what it leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    pub toml: String,
    pub warnings: Vec<String>,
}

/// What is wrong with a platform, and on which line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Unconvertible {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

const NODES_MAX: u32 = 4_000_000;
/// Every pair of hosts gets a route of its own.
const HOSTS_MAX: usize = 256;
const DEPTH_MAX: usize = 64;
/// Operations a second of a host of speed 1.
const FLOPS: f64 = 1e9;

pub fn convert(name: &str, text: &str) -> Result<Converted, Unconvertible> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let message = error.to_string();
        let message = message.rsplit_once(" at ").map_or(message.as_str(), |(plain, _)| plain).to_owned();
        Unconvertible { line: error.pos().row, column: error.pos().col, message: printable(&message) }
    })?;
    let mut reader = Reader {
        document: &document,
        platform: Platform::default(),
        passed_over: BTreeSet::new(),
        warnings: Vec::new(),
    };
    let root = document.root_element();
    if root.tag_name().name() != "platform" {
        return Err(reader.wrong(root, format!("expected <platform>, found <{}>", root.tag_name().name())));
    }
    reader.platform.zones.push(Zone::default());
    reader.children(root, 0, 0)?;
    let Reader { platform, passed_over, mut warnings, .. } = reader;
    if platform.hosts.is_empty() {
        return Err(at(&document, root, "the platform has no hosts"));
    }
    if platform.hosts.len() > HOSTS_MAX {
        let message = format!("expected at most {HOSTS_MAX} hosts, found {}", platform.hosts.len());
        return Err(at(&document, root, message));
    }
    warnings.extend(passed_over.into_iter().map(|tag| format!("<{tag}> is ignored")));
    let toml = platform.toml(name, &mut warnings).map_err(|message| at(&document, root, message))?;
    Ok(Converted { toml, warnings: warnings.iter().map(|warning| printable(warning)).collect() })
}

fn at(document: &Document<'_>, node: Node<'_, '_>, message: impl Into<String>) -> Unconvertible {
    let place = document.text_pos_at(node.range().start);
    Unconvertible { line: place.row, column: place.col, message: printable(&message.into()) }
}

#[derive(Default)]
struct Platform {
    zones: Vec<Zone>,
    /// Everything that has a place in a zone: hosts, routers and zones, by name.
    points: BTreeMap<String, Point>,
    hosts: Vec<Host>,
    /// In the order of the file: the links of the topology, and which of them a name means.
    links: Vec<Link>,
    by_name: BTreeMap<String, Sides>,
}

#[derive(Default)]
struct Zone {
    name: String,
    within: usize,
    depth: usize,
    shortest: bool,
    routes: BTreeMap<(String, String), Route>,
    cluster: Option<Cluster>,
}

/// A zone in which every host has a link of its own to the backbone.
#[derive(Clone, Default)]
struct Cluster {
    backbone: Option<usize>,
    router: String,
    host_links: BTreeMap<String, Sides>,
}

#[derive(Clone, Copy)]
enum Point {
    Member { zone: usize },
    Zone { zone: usize },
}

struct Host {
    name: String,
    cores: u32,
    speed: f64,
}

struct Link {
    name: String,
    bits: u64,
    micros: u64,
    per_flow: bool,
}

/// A link as seen from one end and the other; the same one where both directions share it.
#[derive(Clone, Copy)]
struct Sides {
    up: usize,
    down: usize,
}

#[derive(Clone)]
struct Route {
    links: Vec<usize>,
    /// Where the route leaves a zone, and where it enters the other.
    gateways: Option<(String, String)>,
}

struct Reader<'d, 't> {
    document: &'d Document<'t>,
    platform: Platform,
    passed_over: BTreeSet<String>,
    warnings: Vec<String>,
}

impl<'d> Reader<'d, '_> {
    fn wrong(&self, node: Node<'_, '_>, message: impl Into<String>) -> Unconvertible {
        at(self.document, node, message)
    }

    fn need(&self, node: Node<'d, '_>, names: &[&str]) -> Result<&'d str, Unconvertible> {
        names.iter().find_map(|name| node.attribute(*name)).ok_or_else(|| {
            let tag = node.tag_name().name();
            self.wrong(node, format!("expected an attribute `{}` of <{tag}>", names.join("` or `")))
        })
    }

    fn children(&mut self, node: Node<'d, '_>, zone: usize, depth: usize) -> Result<(), Unconvertible> {
        if depth > DEPTH_MAX {
            return Err(self.wrong(node, format!("zones are nested more than {DEPTH_MAX} deep")));
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
            Some(_) => Err(self.wrong(node, format!("the id `{name}` is used twice"))),
        }
    }

    fn host(&mut self, node: Node<'d, '_>, zone: usize) -> Result<(), Unconvertible> {
        let name = self.need(node, &["id"])?.to_owned();
        for part in node.children().filter(Node::is_element) {
            self.passed_over.insert(format!("host> <{}", part.tag_name().name()));
        }
        self.point(node, &name, zone)?;
        let (speed, cores) = self.power(node)?;
        self.platform.hosts.push(Host { name, cores, speed });
        Ok(())
    }

    fn power(&self, node: Node<'d, '_>) -> Result<(f64, u32), Unconvertible> {
        let text = self.need(node, &["speed", "power"])?;
        // Of several speeds, the first is the usual one.
        let text = text.split(',').next().unwrap_or(text);
        let speed = quantity(text, &SPEEDS).filter(|speed| (1e-6..=1e6).contains(&(speed / FLOPS)));
        let speed = speed.ok_or_else(|| self.wrong(node, format!("expected a speed such as 1Gf, found `{text}`")))?;
        let cores = node.attribute("core").map_or(Some(1), |text| text.trim().parse().ok());
        let cores = cores.filter(|cores| (1..=1 << 18).contains(cores));
        let cores = cores.ok_or_else(|| self.wrong(node, "expected a number of cores from 1 to 262144"))?;
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
        let bits = quantity(text, &RATES).map(|rate| rate * 8.0).filter(|bits| (1.0..=1e18).contains(bits));
        let bits = bits.ok_or_else(|| {
            self.wrong(node, format!("{bandwidth}: expected one such as 125MBps above zero, found `{text}`"))
        })?;
        let text = node.attribute(latency).unwrap_or("0");
        let seconds = quantity(text, &TIMES).filter(|seconds| (0.0..=1e9).contains(seconds));
        let seconds =
            seconds.ok_or_else(|| self.wrong(node, format!("{latency}: expected one such as 50us, found `{text}`")))?;
        let (bits, micros) = (bits.round() as u64, (seconds * 1e6).round() as u64);
        let policy = node.attribute(sharing).unwrap_or(usual);
        let mut add = |name: String, per_flow| {
            self.platform.links.push(Link { name, bits, micros, per_flow });
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
            other => return Err(self.wrong(node, format!("expected SHARED, SPLITDUPLEX or FATPIPE, found `{other}`"))),
        };
        match self.platform.by_name.insert(name.to_owned(), sides) {
            None => Ok(sides),
            Some(_) => Err(self.wrong(node, format!("there is a link with the id `{name}` already"))),
        }
    }

    /// What a route means by a name: a link, or one direction of it.
    fn sides(&self, name: &str) -> Option<Sides> {
        let find = |name: &str| self.platform.by_name.get(name).copied();
        let one_way = |suffix, swap: bool| {
            let Sides { up, down } = find(name.strip_suffix(suffix)?).filter(|sides| sides.up != sides.down)?;
            Some(if swap { Sides { up: down, down: up } } else { Sides { up, down } })
        };
        find(name).or_else(|| one_way("_UP", false)).or_else(|| one_way("_DOWN", true))
    }

    fn cluster(&mut self, node: Node<'d, '_>, zone: usize, depth: usize) -> Result<(), Unconvertible> {
        let id = self.need(node, &["id"])?;
        let inner = self.zone(node, zone, depth)?;
        let (prefix, suffix) = (node.attribute("prefix").unwrap_or(""), node.attribute("suffix").unwrap_or(""));
        let (speed, cores) = self.power(node)?;
        let router = match node.attribute("router_id").filter(|router| !router.is_empty()) {
            Some(router) => router.to_owned(),
            None => format!("{prefix}{id}_router{suffix}"),
        };
        let mut cluster = Cluster { router, ..Cluster::default() };
        self.point(node, &cluster.router.clone(), inner)?;
        for number in self.radical(node)? {
            let name = format!("{prefix}{number}{suffix}");
            self.point(node, &name, inner)?;
            let keys = ("bw", "lat", "sharing_policy");
            let link = self.link(node, &format!("{id}_link_{number}"), keys, "SPLITDUPLEX")?;
            cluster.host_links.insert(name.clone(), link);
            self.platform.hosts.push(Host { name, cores, speed });
        }
        if node.has_attribute("bb_bw") {
            let keys = ("bb_bw", "bb_lat", "bb_sharing_policy");
            cluster.backbone = Some(self.link(node, &format!("{id}_backbone"), keys, "SHARED")?.up);
        }
        if let Some(topology) = node.attribute("topology").filter(|topology| *topology != "FLAT") {
            let line = at(self.document, node, "").line;
            let parameters = node.attribute("topo_parameters");
            let parameters = parameters.map_or(String::new(), |text| format!(" topo_parameters=\"{text}\""));
            self.warnings.push(format!(
                "line {line}: the cluster {id} becomes a flat one, in which hosts share only a backbone: topology=\"{topology}\"{parameters} is not converted"
            ));
        }
        self.platform.zones[inner].cluster = Some(cluster);
        Ok(())
    }

    /// `0-3,7`.
    fn radical(&self, node: Node<'d, '_>) -> Result<Vec<u32>, Unconvertible> {
        let text = self.need(node, &["radical"])?;
        let wrong = || self.wrong(node, format!("expected a radical such as 0-3,7, found `{text}`"));
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let bound = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            let (first, last) = (bound(first)?, bound(last)?);
            if first > last {
                return Err(wrong());
            }
            if numbers.len() + (last - first) as usize >= HOSTS_MAX {
                return Err(self.wrong(node, format!("expected at most {HOSTS_MAX} hosts")));
            }
            numbers.extend(first..=last);
        }
        Ok(numbers)
    }

    fn route(&mut self, node: Node<'d, '_>, zone: usize, between_zones: bool) -> Result<(), Unconvertible> {
        let (from, to) = (self.need(node, &["src"])?.to_owned(), self.need(node, &["dst"])?.to_owned());
        let gateways = match between_zones {
            true => Some((self.need(node, &["gw_src"])?.to_owned(), self.need(node, &["gw_dst"])?.to_owned())),
            false => None,
        };
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for part in node.children().filter(Node::is_element) {
            if part.tag_name().name() != "link_ctn" {
                self.passed_over.insert(format!("route> <{}", part.tag_name().name()));
                continue;
            }
            let name = self.need(part, &["id"])?;
            let sides = self.sides(name);
            let sides = sides.ok_or_else(|| self.wrong(part, format!("there is no link with the id `{name}`")))?;
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
        routes.insert((from.clone(), to.clone()), Route { links: there, gateways });
        if symmetrical && from != to {
            routes.entry((to, from)).or_insert(Route { links: back, gateways: swapped });
        }
        Ok(())
    }
}

impl Platform {
    fn home(&self, name: &str) -> Result<usize, String> {
        match self.points.get(name) {
            Some(Point::Member { zone }) => Ok(*zone),
            Some(Point::Zone { zone }) => Err(format!("`{}` is a zone, not a host or router", self.zones[*zone].name)),
            None => Err(format!("there is no host or router `{name}`")),
        }
    }

    /// The links from one host or router to another. Routes between zones go from gateway to gateway.
    fn way(&self, from: &str, to: &str, depth: usize) -> Result<Vec<usize>, String> {
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

    fn toml(&self, name: &str, warnings: &mut Vec<String>) -> Result<String, String> {
        let mut names = Names::default();
        let sites: Vec<String> = self.hosts.iter().map(|host| names.new_name(&host.name)).collect();
        let mut names = Names::default();
        let links: Vec<String> = self.links.iter().map(|link| names.new_name(&link.name)).collect();

        let mut text = format!(
            "# Converted from a SimGrid platform. A speed of 1 is 1 Gf.\n\nname = {:?}\n\n[workflow]\n",
            Names::default().new_name(name)
        );
        for (host, site) in self.hosts.iter().zip(&sites) {
            let _ = writeln!(text, "\n[[site]]\nname = {site:?}{}", was(&host.name, site));
            let _ = writeln!(text, "cores = {}\nspeed = {}", host.cores, (host.speed * 1e6).round() / 1e6);
        }
        for (link, name) in self.links.iter().zip(&links) {
            let _ = writeln!(text, "\n[[link]]\nname = {name:?}{}", was(&link.name, name));
            let _ = writeln!(text, "capacity = \"{} bps\"\nlatency = \"{} us\"", link.bits, link.micros);
            if link.per_flow {
                text.push_str("mode = \"per-flow\"\n");
            }
        }
        for (from, site_from) in self.hosts.iter().zip(&sites) {
            for (to, site_to) in self.hosts.iter().zip(&sites) {
                if from.name == to.name {
                    continue;
                }
                let mut way = self.way(&from.name, &to.name, 0)?;
                if way.is_empty() {
                    return Err(format!("the route from `{}` to `{}` crosses no link", from.name, to.name));
                }
                let all = way.len();
                let mut crossed = BTreeSet::new();
                way.retain(|link| crossed.insert(*link));
                if way.len() < all {
                    warnings.push(format!(
                        "the route from {} to {} crosses a link twice: it counts once",
                        from.name, to.name
                    ));
                }
                let way: Vec<String> = way.into_iter().map(|link| format!("{:?}", links[link])).collect();
                let _ =
                    writeln!(text, "\n[[route]]\nfrom = {site_from:?}\nto = {site_to:?}\nlinks = [{}]", way.join(", "));
            }
        }
        text.push_str(
            "\n# Platforms have no workload: put yours here.\n\n[[user]]\nname = \"user\"\n\n[[workload]]\nsource = \"table\"\n\
             [[workload.job]]\ntasks = [{ runtime = \"1 min\", cores = 1 }]\n",
        );
        Ok(text)
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

/// Names that a topology takes, each once.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn new_name(&mut self, name: &str) -> String {
        let letters = name.chars().map(|letter| match letter.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => letter,
            _ => '-',
        });
        let plain: String = letters.collect::<String>().trim_matches('-').chars().take(50).collect();
        let plain = if plain.is_empty() { "x".to_owned() } else { plain };
        let mut name = plain.clone();
        let mut number = 2;
        while ["router", "auctioneer", "planner", "user"].contains(&name.as_str()) || !self.0.insert(name.clone()) {
            name = format!("{plain}-{number}");
            number += 1;
        }
        name
    }
}

fn was(before: &str, now: &str) -> String {
    let plain: String = before.chars().filter(|letter| !letter.is_control()).take(80).collect();
    if before == now { String::new() } else { format!("    # {plain}") }
}

type Units = [(&'static str, f64)];

const RATES: [(&str, f64); 17] = [
    ("Bps", 1.0),
    ("kBps", 1e3),
    ("MBps", 1e6),
    ("GBps", 1e9),
    ("TBps", 1e12),
    ("KiBps", 1024.0),
    ("MiBps", 1_048_576.0),
    ("GiBps", 1_073_741_824.0),
    ("bps", 0.125),
    ("kbps", 125.0),
    ("Mbps", 125e3),
    ("Gbps", 125e6),
    ("Tbps", 125e9),
    ("Kibps", 128.0),
    ("Mibps", 131_072.0),
    ("Gibps", 134_217_728.0),
    ("", 1.0),
];

const TIMES: [(&str, f64); 10] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", 86_400.0),
    ("w", 604_800.0),
    ("ps", 1e-12),
    ("", 1.0),
];

const SPEEDS: [(&str, f64); 12] = [
    ("f", 1.0),
    ("kf", 1e3),
    ("Mf", 1e6),
    ("Gf", 1e9),
    ("Tf", 1e12),
    ("Pf", 1e15),
    ("flops", 1.0),
    ("kiloflops", 1e3),
    ("megaflops", 1e6),
    ("gigaflops", 1e9),
    ("teraflops", 1e12),
    ("", 1.0),
];

/// A number and its unit, such as `41.279125MBps`.
fn quantity(text: &str, units: &Units) -> Option<f64> {
    let text = text.trim();
    let exponent = |at: usize| {
        let rest = text[at + 1..].trim_start_matches(['+', '-']);
        rest.starts_with(|letter: char| letter.is_ascii_digit())
    };
    let end = text.char_indices().find(|&(at, letter)| match letter {
        '0'..='9' | '.' | '-' | '+' => false,
        'e' | 'E' => !exponent(at),
        _ => true,
    });
    let (number, unit) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let (_, size) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<f64>().ok().map(|number| number * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLATFORM: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="bob" prefix="bob-" suffix=".org" radical="0-1" speed="1Gf" core="4" bw="125MBps" lat="50us" bb_bw="2.25GBps" bb_lat="500us"/>
    <zone id="home" routing="Floyd">
      <host id="Tremblay" speed="98.095Mf"><prop id="x" value="y"/></host>
      <host id="Jupiter" speed="2e9,1e9"/>
      <router id="gate"/>
      <link id="1" bandwidth="41.279125MBps" latency="59.904us" sharing_policy="SHARED"/>
      <link id="fat" bandwidth="10Gbps" latency="1ms" sharing_policy="FATPIPE"/>
      <route src="Tremblay" dst="gate"><link_ctn id="1"/></route>
      <route src="gate" dst="Jupiter"><link_ctn id="fat"/></route>
    </zone>
    <link id="wan" bandwidth="1Gbps" latency="10ms" sharing_policy="SPLITDUPLEX"/>
    <zoneRoute src="bob" dst="home" gw_src="bob-bob_router.org" gw_dst="gate"><link_ctn id="wan" direction="UP"/></zoneRoute>
  </zone>
</platform>
"#;

    fn route(toml: &str, from: &str, to: &str) -> String {
        let head = format!("[[route]]\nfrom = {from:?}\nto = {to:?}\nlinks = ");
        let at = toml.find(&head).unwrap_or_else(|| panic!("no route from {from} to {to} in\n{toml}"));
        toml[at + head.len()..].lines().next().unwrap().to_owned()
    }

    #[test]
    fn hosts_links_and_routes_are_found() {
        let Converted { toml, warnings } = convert("Small Platform", PLATFORM).unwrap();
        assert_eq!(warnings, ["<host> <prop> is ignored"]);
        assert!(toml.contains("name = \"small-platform\""), "{toml}");
        assert!(toml.contains("name = \"bob-0-org\"    # bob-0.org\ncores = 4\nspeed = 1\n"), "{toml}");
        assert!(toml.contains("name = \"tremblay\"    # Tremblay\ncores = 1\nspeed = 0.098095\n"), "{toml}");
        assert!(toml.contains("name = \"1\"\ncapacity = \"330233000 bps\"\nlatency = \"60 us\"\n"), "{toml}");
        assert!(
            toml.contains("name = \"fat\"\ncapacity = \"10000000000 bps\"\nlatency = \"1000 us\"\nmode = \"per-flow\"")
        );
        let inside = r#"["bob-link-0-up", "bob-backbone", "bob-link-1-down"]"#;
        assert_eq!(route(&toml, "bob-0-org", "bob-1-org"), inside);
        assert_eq!(route(&toml, "tremblay", "jupiter"), r#"["1", "fat"]"#);
        let out = r#"["bob-link-0-up", "bob-backbone", "wan-up", "fat"]"#;
        assert_eq!(route(&toml, "bob-0-org", "jupiter"), out);
        let back = r#"["1", "wan-down", "bob-backbone", "bob-link-1-down"]"#;
        assert_eq!(route(&toml, "tremblay", "bob-1-org"), back);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let told = |from: &str, to: &str| {
            assert!(PLATFORM.contains(from), "{from}");
            convert("p", &PLATFORM.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert_eq!(told("id=\"Jupiter\"", "id=\"Tremblay\""), "8:7: the id `Tremblay` is used twice");
        assert_eq!(told("98.095Mf", "fast"), "7:7: expected a speed such as 1Gf, found `fast`");
        assert_eq!(told("98.095Mf", "0f"), "7:7: expected a speed such as 1Gf, found `0f`");
        assert_eq!(told("41.279125MBps", "-1"), "10:7: bandwidth: expected one such as 125MBps above zero, found `-1`");
        assert_eq!(
            told("<link_ctn id=\"fat\"/>", "<link_ctn id=\"thin\"/>"),
            "13:39: there is no link with the id `thin`"
        );
        assert_eq!(told("radical=\"0-1\"", "radical=\"0-4000000000\""), "5:5: expected at most 256 hosts");
        assert_eq!(told("radical=\"0-1\"", "radical=\"3-1\""), "5:5: expected a radical such as 0-3,7, found `3-1`");
        assert_eq!(
            told("<route src=\"gate\" dst=\"Jupiter\">", "<route src=\"gate\" dst=\"Juno\">"),
            "3:1: there is no route from `gate` to `Jupiter`"
        );
        assert_eq!(told("gw_dst=\"gate\"", "gw_dst=\"gatt\""), "3:1: there is no host or router `gatt`");
        assert_eq!(convert("p", "<adag/>").unwrap_err().to_string(), "1:1: expected <platform>, found <adag>");
        assert_eq!(convert("p", "<platform/>").unwrap_err().to_string(), "1:1: the platform has no hosts");
        let deep = format!("<platform>{}{}</platform>", zones(100), "</zone>".repeat(100));
        assert!(convert("p", &deep).unwrap_err().to_string().contains("more than 64 deep"));
    }

    #[test]
    fn a_route_may_name_one_direction_of_a_link() {
        let named = |name: &str| {
            let text =
                PLATFORM.replace("<link_ctn id=\"wan\" direction=\"UP\"/>", &format!("<link_ctn id=\"{name}\"/>"));
            route(&convert("p", &text).unwrap().toml, "bob-0-org", "jupiter")
        };
        assert_eq!(named("wan_UP"), r#"["bob-link-0-up", "bob-backbone", "wan-up", "fat"]"#);
        assert_eq!(named("wan_DOWN"), r#"["bob-link-0-up", "bob-backbone", "wan-down", "fat"]"#);
        // The two hosts share one link, which has no directions.
        let shared = PLATFORM.replace("<link_ctn id=\"1\"/>", "<link_ctn id=\"1_UP\"/>");
        assert_eq!(convert("p", &shared).unwrap_err().message, "there is no link with the id `1_UP`");
    }

    #[test]
    fn what_becomes_another_thing_is_told_with_its_line() {
        let tree = "<cluster topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\" id=\"bob\"";
        let Converted { warnings, .. } = convert("p", &PLATFORM.replace("<cluster id=\"bob\"", tree)).unwrap();
        assert!(warnings[0].starts_with("line 5: the cluster bob becomes a flat one"), "{warnings:?}");
        assert!(warnings[0].contains("topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\""), "{warnings:?}");
    }

    #[test]
    fn a_route_crosses_something() {
        let text = PLATFORM.replace("<link_ctn id=\"fat\"/>", "").replace("<link_ctn id=\"1\"/>", "");
        let told = convert("p", &text).unwrap_err().to_string();
        assert_eq!(told, "3:1: the route from `Tremblay` to `Jupiter` crosses no link");
    }

    fn zones(count: usize) -> String {
        (0..count).map(|number| format!("<zone id=\"z{number}\" routing=\"Full\">")).collect()
    }

    #[test]
    fn quantities_have_units() {
        assert_eq!(quantity("41.279125MBps", &RATES), Some(41.279125e6));
        assert_eq!(quantity("1e3", &RATES), Some(1e3));
        assert_eq!(quantity("2.5e-1 Gf", &SPEEDS), Some(2.5e8));
        assert_eq!(quantity("1exaflop", &SPEEDS), None);
    }
}
