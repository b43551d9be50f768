//! Tables `[network]`, `[[link]]` and `[[route]]`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::site_names;
use crate::network::{Duplex, EFFICIENCIES, MODES, Mode, Model};
use crate::settings::units::{bytes_text, parse_bytes};
use crate::settings::{
    Field, Fields, Form, FormExt, LATENCY, Layout, Location, Maybe, NAME, Name, NameIndex, OneOf, Pair, Rate, Shape,
    Unless, Walk, is_name, key, quote_text,
};
use crate::time::Span;
use crate::topology::Site;
use crate::topology::cables::{Cable, Cables, End, LINKS_MAX, NoWay, Payload, SITES_MAX, SOCKETS_MAX, Way};

/// Reads the network; None if there are no links. `w` reads the root.
pub fn read_cables(fields: &Fields<'_>, sites: &[Site], w: &mut dyn Walk) -> Option<Cables> {
    let Some(links) = fields.get("link") else {
        for (key, what) in [("network", "a network needs"), ("route", "routes need")] {
            if let Some(field) = fields.get(key) {
                field.complain(format!("{what} links: expected at least one [[link]], found none"));
            }
        }
        return None;
    };
    // Links with errors still count as links: no further errors say that the grid has none.
    if sites.len() > SITES_MAX {
        links.complain(format!("expected at most {SITES_MAX} sites on a grid with links, found {}", sites.len()));
    }
    let count = links.list_items().map_or(0, |links| links.len());
    if count > LINKS_MAX {
        links.complain(format!("expected at most {LINKS_MAX} links, found {count}"));
    }

    let mut cables = default_cables();
    walk_cables(&mut cables, sites, w);
    // Unreachable sites are reported only if there are no other errors, which may be their cause.
    if fields.diagnostics().is_empty()
        && let Err(no_way) = cables.paths(sites)
    {
        let diagnostic = links.diagnostic(no_way.to_string());
        fields.diagnostics().add(match no_way {
            NoWay::Unreachable { .. } => diagnostic
                .hint("data needs links with ends, such as between = [\"york\", \"lab\"], or a [[route]] of its own"),
            _ => diagnostic,
        });
    }
    Some(cables)
}

pub fn default_cables() -> Cables {
    Cables {
        model: Model::Ideal,
        sockets: 1,
        payload: None,
        switches: Vec::new(),
        links: Vec::new(),
        routes: Vec::new(),
    }
}

/// Walks all tables of the network.
pub fn walk_cables(cables: &mut Cables, sites: &[Site], w: &mut dyn Walk) {
    let Cables { model, sockets, payload, switches, links, routes } = cables;
    let network = key("network", "").means("the transport of data between sites, over the `[[link]]`s");
    let mut table = (*model, *sockets, *payload, std::mem::take(switches));
    w.table(network, Layout::Section("network"), &mut table, |(model, sockets, payload, switches), w| {
        w.set(key("model", "the sharing of a link by its flows"), model, Model::ALL);
        let about = "the parallel TCP sockets of each transfer, which count on links with efficiency `tcp`";
        w.set(key("sockets", about).usual("1"), sockets, Unless(1..=SOCKETS_MAX, 1));
        let about = key("payload", "the bytes that processes really send")
            .means("the share of the volume of flows that processes really send");
        w.set(about.usual("nothing"), payload, Payloads);
        let about = key("switches", "places other than sites where links meet").usual("none");
        w.set(about, switches, Switches { sites });
    });
    (*model, *sockets, *payload, *switches) = table;

    let ends: NameIndex<'_> =
        sites.iter().map(|site| site.name.as_str()).chain(switches.iter().map(String::as_str)).collect();
    let ends = Ends { names: &ends, sites: sites.len() };
    let taken = TakenLinkNames::default();
    let link = key("link", "").means("a link between sites or switches").by_name();
    w.rows(
        link,
        Layout::Sections("link"),
        links,
        || usual_link(*model),
        |link, w| walk_link(link, *model, &ends, &taken, w),
    );

    let names: NameIndex<'_> = links.iter().map(|link| link.name.as_str()).collect();
    let known = RouteScope { sites, switches, links, names: &names, site_names: &site_names(sites) };
    let pairs = RefCell::default();
    let about = "the links that data crosses between two sites, if that is not the shortest route";
    let mut written: Vec<WrittenRoute> = routes.drain(..).map(WrittenRoute::of_way).collect();
    let route = key("route", "").means(about);
    w.rows(route, Layout::Sections("route"), &mut written, WrittenRoute::default, |route, w| {
        route.walk(&known, &pairs, w)
    });
    routes.extend(written.into_iter().filter_map(WrittenRoute::way));
}

/// Form of the scale of real bytes.
struct Payloads;

const PAYLOAD: &str = "a scale such as \"1 kB per GB\", or \"0\" for none";

impl Form<Option<Payload>> for Payloads {
    fn read_value(&self, field: &Field<'_>) -> Option<Option<Payload>> {
        let text = match field.is_zero() {
            true => "0",
            false => field.text(PAYLOAD)?.trim(),
        };
        if text == "0" {
            return Some(None);
        }
        // The second number may be left out; it is then 1.
        let read = text.split_once("per").and_then(|(real, of)| {
            let real = real.trim();
            let of = of.trim();
            let of =
                if of.starts_with(|letter: char| letter.is_ascii_digit()) { of.to_owned() } else { format!("1 {of}") };
            Some(Payload { real: parse_bytes(real)?, of: parse_bytes(&of)?.max(1) })
        });
        match read {
            Some(Payload { real: 0, .. }) => Some(None),
            Some(payload) if payload.real <= payload.of => Some(Some(payload)),
            Some(_) => field.report_wrong("at most as many real bytes as the flow has"),
            None => field.report_wrong(PAYLOAD),
        }
    }

    fn toml_text(&self, value: &Option<Payload>) -> Option<String> {
        let Payload { real, of } = (*value)?;
        Some(quote_text(&format!("{} per {}", bytes_text(real), bytes_text(of))))
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "real bytes for so many, or `0`",
            example: "\"1 kB per GB\"",
            json: r#"{ "anyOf": [
                { "const": 0 },
                { "type": "string", "pattern": "^\\s*(0|[0-9.]+\\s*[kMGT]?B\\s*per\\s*[0-9.]*\\s*[kMGT]?B)\\s*$" }
            ] }"#,
        }
    }
}

/// Form of the names of switches.
struct Switches<'a> {
    sites: &'a [Site],
}

impl Form<Vec<String>> for Switches<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<String>> {
        let list = field.list("a list of names, such as [\"lab\", \"campus\"]")?;
        if list.len() > LINKS_MAX {
            field.complain(format!("expected at most {LINKS_MAX} switches, found {}", list.len()));
            return None;
        }
        let mut taken = BTreeMap::from_iter(self.sites.iter().map(|site| (site.name.as_str(), "site")));
        let mut switches = Vec::new();
        for field in &list {
            let Some(name) = field.text(NAME) else { continue };
            if !is_name(name) {
                field.report_wrong::<()>(NAME);
            } else if let Some(what) = taken.insert(name, "switch") {
                field.complain(format!("the name {name:?} is already taken by a {what}"));
            }
            switches.push(name.to_owned());
        }
        Some(switches)
    }

    fn toml_text(&self, value: &Vec<String>) -> Option<String> {
        let names: Vec<String> = value.iter().map(|name| quote_text(name)).collect();
        (!names.is_empty()).then(|| format!("[{}]", names.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        Shape::List { of: Box::new(Name.value_shape()), least: 0, most: LINKS_MAX }
    }
}

/// Form of a link's end: sites and switches share a list of names, sites first.
struct Ends<'a> {
    names: &'a NameIndex<'a>,
    sites: usize,
}

impl Ends<'_> {
    fn form(&self) -> impl Form<End> + '_ {
        let sites = self.sites;
        OneOf { what: "a site or a switch", names: self.names }.map_values(
            move |number| end_of_number(number, sites),
            move |end| match *end {
                End::Site(site) => site,
                End::Switch(switch) => sites + switch,
            },
        )
    }
}

fn end_of_number(number: usize, sites: usize) -> End {
    if number < sites { End::Site(number) } else { End::Switch(number - sites) }
}

/// Names of links, with their locations.
#[derive(Default)]
struct TakenLinkNames(RefCell<BTreeMap<String, Location>>);

/// Form of a unique link name.
struct LinkName<'a>(&'a TakenLinkNames);

impl Form<String> for LinkName<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let name = Name.read_value(field)?;
        let mut taken = self.0.0.borrow_mut();
        if let Some(location) = taken.get(&name) {
            let diagnostic = field.diagnostic(format!("there is a link with the name {name:?} already"));
            field.diagnostics().add(diagnostic.with_related("the other one is", *location));
        } else {
            taken.insert(name.clone(), field.location());
        }
        Some(name)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Name.toml_text(value)
    }

    fn value_shape(&self) -> Shape {
        Name.value_shape()
    }
}

fn usual_link(model: Model) -> Cable {
    let mode = Mode::Shared;
    let efficiency = model.efficiency();
    let duplex = Duplex::Half;
    Cable { name: String::new(), capacity: 1, latency: Span::ZERO, mode, efficiency, duplex, between: None }
}

fn walk_link(link: &mut Cable, model: Model, ends: &Ends<'_>, taken: &TakenLinkNames, w: &mut dyn Walk) {
    let Cable { name, capacity, latency, mode, efficiency, duplex, between } = link;
    w.set(key("name", "").need(NAME), name, LinkName(taken));
    w.set(key("capacity", "").need("the throughput of the link, such as \"1 Gbps\""), capacity, Rate);
    w.set(key("latency", "of the link, one way"), latency, LATENCY);
    w.set(key("mode", "the competition of flows for a link"), mode, MODES);
    if w.reads() {
        *efficiency = model.efficiency();
    }
    let about = key("efficiency", "the share of a link that its flows can use").usual("that of the network's model");
    w.set(about, efficiency, EFFICIENCIES);
    let about =
        key("duplex", "the directions in which data crosses a link").usual("`\"full\"` with ends, `\"half\"` without");
    w.set(about, duplex, Duplex::ALL);
    let two = Pair(ends.form(), "the two ends of the link, such as [\"york\", \"lab\"]");
    let two = two.with_condition("two different ends", |[a, b]: &[End; 2]| a != b);
    let about = key("between", "its two ends").usual("none: only routes that name it cross it");
    w.set(about, between, Maybe(two));
    let Some(fields) = w.written_fields() else { return };
    match fields.get("duplex") {
        None => *duplex = if between.is_some() { Duplex::Full } else { Duplex::Half },
        Some(field) if *duplex == Duplex::Full && !fields.has("between") => {
            let diagnostic =
                field.diagnostic("a full-duplex link needs its ends, because otherwise its directions are unknown");
            fields.diagnostics().add(diagnostic.hint("for example between = [\"york\", \"lab\"]"));
        }
        Some(_) => {}
    }
}

/// Scope of the names in routes.
struct RouteScope<'a> {
    sites: &'a [Site],
    switches: &'a [String],
    links: &'a [Cable],
    names: &'a NameIndex<'a>,
    site_names: &'a NameIndex<'a>,
}

/// A route as written in its table.
#[derive(Default)]
struct WrittenRoute {
    from: Option<usize>,
    to: Option<usize>,
    links: Vec<(usize, bool)>,
}

impl WrittenRoute {
    fn of_way(way: Way) -> WrittenRoute {
        WrittenRoute { from: Some(way.from), to: Some(way.to), links: way.links }
    }

    fn way(self) -> Option<Way> {
        Some(Way { from: self.from?, to: self.to?, links: self.links })
    }

    fn walk(&mut self, known: &RouteScope<'_>, pairs: &RefCell<BTreeMap<(usize, usize), Location>>, w: &mut dyn Walk) {
        let site = Maybe(OneOf { what: "a site", names: known.site_names });
        w.set(key("from", "").need("the name of a site"), &mut self.from, site);
        w.set(key("to", "").need("the name of a site"), &mut self.to, site);
        let ends = self.from.zip(self.to);
        let links = key("links", "").need("the links that data crosses, such as [\"up\", \"down\"]");
        w.set(links, &mut self.links, Crossed { ends, known });
        let (Some(fields), Some((from, to))) = (w.written_fields(), ends) else { return };
        let [from_name, to_name] = [from, to].map(|site| &known.sites[site].name);
        if from == to {
            fields.complain(format!("data that stays at {from_name} needs no route"));
        } else if let Some(location) = pairs.borrow_mut().insert((from, to), fields.location()) {
            let diagnostic = fields.diagnostic_here(format!("there already is a route from {from_name} to {to_name}"));
            fields.diagnostics().add(diagnostic.with_related("the other one is", location));
        }
    }
}

/// Form of the links of a route, each with true if it is crossed from its second end to its first.
struct Crossed<'a> {
    ends: Option<(usize, usize)>,
    known: &'a RouteScope<'a>,
}

impl Form<Vec<(usize, bool)>> for Crossed<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<(usize, bool)>> {
        let (from, to) = self.ends.filter(|(from, to)| from != to)?;
        follow_route(field, from, to, self.known)
    }

    fn toml_text(&self, value: &Vec<(usize, bool)>) -> Option<String> {
        let names: Vec<String> = value.iter().map(|(link, _)| quote_text(&self.known.links[*link].name)).collect();
        Some(format!("[{}]", names.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        Shape::List { of: Box::new(Shape::NameOf("a link")), least: 1, most: usize::MAX }
    }
}

/// Follows a route over its links, as far as their ends are known.
fn follow_route(field: &Field<'_>, from: usize, to: usize, known: &RouteScope<'_>) -> Option<Vec<(usize, bool)>> {
    const LINKS: &str = "a list of links, such as [\"up\", \"down\"]";
    let list = field.list(LINKS)?;
    if list.is_empty() {
        // An empty route would be instant and without limits, which is not intended; links with mode "per-flow" serve
        // for that.
        return field.report_wrong(LINKS);
    }
    let mut links = Vec::with_capacity(list.len());
    let mut crossed = BTreeMap::new();
    let mut at = Some(End::Site(from));
    for field in &list {
        let number = OneOf { what: "a link", names: known.names }.read_value(field)?;
        let cable = &known.links[number];
        let back = match (cable.between, at) {
            (None, _) => {
                at = None;
                false
            }
            (Some([a, b]), Some(end)) if end == a || end == b => {
                at = Some(if end == a { b } else { a });
                end == b
            }
            (Some([a, b]), Some(end)) => {
                let end = end_name(end, known);
                let a = end_name(a, known);
                let b = end_name(b, known);
                field.complain(format!("the route is at {end} here, but this link connects {a} and {b}"));
                return None;
            }
            (Some(_), None) if cable.duplex == Duplex::Full => {
                field.complain("the direction in which the route crosses this link is not clear, because the link before has no ends");
                return None;
            }
            (Some([_, b]), None) => {
                at = (cable.duplex == Duplex::OneWay).then_some(b);
                false
            }
        };
        if back && cable.duplex == Duplex::OneWay {
            field.complain("the route crosses this one-way link against its direction");
            return None;
        }
        let back = back && cable.duplex == Duplex::Full;
        if crossed.insert((number, back), ()).is_some() {
            field.complain("the route crosses this link twice");
            return None;
        }
        links.push((number, back));
    }
    if let Some(end) = at.filter(|end| *end != End::Site(to)) {
        field.complain(format!(
            "the route ends at {}, but should lead to {}",
            end_name(end, known),
            known.sites[to].name
        ));
        return None;
    }
    Some(links)
}

fn end_name<'n>(end: End, known: &'n RouteScope<'_>) -> &'n str {
    match end {
        End::Site(site) => known.sites[site].name.as_str(),
        End::Switch(switch) => known.switches[switch].as_str(),
    }
}
