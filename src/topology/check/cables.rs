//! `[network]`, `[[link]]` and `[[route]]`: what data crosses.

use std::collections::BTreeMap;

use super::super::Site;
use super::super::cables::{Cable, Cables, End, LINKS_MAX, NoWay, SITES_MAX, Way};
use super::super::complaint::Place;
use super::super::fields::{Field, Fields, any_of, is_name};
use super::super::file::Path;
use super::{NAME, members, tables};
use crate::network::{Duplex, EFFICIENCIES, MODES, Mode, Model};
use crate::systems::{self, Service};

pub(super) fn check_cables(fields: &Fields<'_>, sites: &[Site], systems: &mut [Service]) -> Option<Cables> {
    let network = fields.get("network").and_then(|field| field.table("a [network] table"));
    let section = Path::root("link");
    let links_field = fields.get("link");
    let routes_field = fields.get("route");
    if links_field.is_none() {
        if let Some(network) = network {
            network.complain("a network needs links: expected at least one [[link]], found none".to_owned());
        }
        if let Some(field) = routes_field {
            field.complain("routes need links: expected at least one [[link]], found none");
        }
        return None;
    }
    let field = links_field.as_ref()?;
    check_systems(fields, field, systems);
    if sites.len() > SITES_MAX {
        field.complain(format!("expected at most {SITES_MAX} sites where there are links, found {}", sites.len()));
        return None;
    }

    let model = network.as_ref().and_then(|network| network.get("model")?.word(Model::ALL)).unwrap_or(Model::Ideal);
    let payload = network.as_ref().and_then(|network| network.get("payload")?.payload()).flatten();
    let mut ends = Ends::of(sites);
    let switches = network.as_ref().map(|network| check_switches(network, &mut ends)).unwrap_or_default();
    if let Some(network) = network {
        network.finish();
    }

    let list = members(Some(field), &section);
    if list.len() > LINKS_MAX {
        field.complain(format!("expected at most {LINKS_MAX} links, found {}", list.len()));
        return None;
    }
    let mut names = BTreeMap::new();
    let links: Vec<Cable> = list.iter().map(|fields| check_link(fields, model, &ends, &mut names)).collect();
    let mut cables = Cables { model, payload, switches, links, routes: Vec::new() };
    let known = Known { sites, cables: &cables, names: &names };
    cables.routes = check_routes(routes_field.as_ref(), &known);
    // Whoever cannot be reached because of another fault is not worth a complaint of his own.
    if fields.findings().is_empty()
        && let Err(no_way) = cables.paths(sites)
    {
        let complaint = field.complaint(no_way.to_string());
        fields.findings().add(match no_way {
            NoWay::Unreachable { .. } => complaint.hint(
                "data goes over links with ends, such as between = [\"york\", \"lab\"], or over a [[route]] of its own",
            ),
            _ => complaint,
        });
    }
    Some(cables)
}

/// With links nobody reckons with what transfers would take without.
fn check_systems(fields: &Fields<'_>, links: &Field<'_>, systems: &mut [Service]) {
    if systems.iter().all(|system| system.row().over_links.is_none()) {
        let movers = systems::ALL.iter().filter(|row| row.over_links.is_some());
        let tables: Vec<String> = movers.map(|row| format!("[{}]", row.key)).collect();
        let tables = any_of(tables.iter().map(String::as_str));
        links.complain(format!("no data moves between the sites of this topology: links need a {tables} table"));
    }
    for system in systems {
        system.go_over_links();
        let row = system.row();
        let Some(field) = fields.get(row.key) else { continue };
        let Some(table) = field.table(format_args!("a [{}] table", row.key)) else { continue };
        for key in row.over_links.into_iter().flatten() {
            if let Some(field) = table.get(key) {
                field.complain("transfers take what the links of this topology allow: leave this out");
            }
        }
    }
}

/// What a link can end at, by name.
struct Ends(BTreeMap<String, End>);

impl Ends {
    fn of(sites: &[Site]) -> Ends {
        Ends(sites.iter().enumerate().map(|(index, site)| (site.name.clone(), End::Site(index))).collect())
    }

    fn find(&self, field: &Field<'_>) -> Option<End> {
        field.choice("a site or a switch", self.0.keys().map(String::as_str), |name| self.0.get(name).copied())
    }
}

fn check_switches(network: &Fields<'_>, ends: &mut Ends) -> Vec<String> {
    let mut switches = Vec::new();
    let Some(field) = network.get("switches") else { return switches };
    let Some(list) = field.list("a list of names, such as [\"lab\", \"campus\"]") else { return switches };
    if list.len() > LINKS_MAX {
        field.complain(format!("expected at most {LINKS_MAX} switches, found {}", list.len()));
        return switches;
    }
    for field in &list {
        let Some(name) = field.text(NAME) else { continue };
        if !is_name(name) {
            field.wrong::<()>(NAME);
        } else if let Some(end) = ends.0.insert(name.to_owned(), End::Switch(switches.len())) {
            let what = if matches!(end, End::Site(_)) { "site" } else { "switch" };
            field.complain(format!("there is a {what} with the name {name:?} already"));
        }
        switches.push(name.to_owned());
    }
    switches
}

/// The links that have been checked, by name, and where each is written.
type Names = BTreeMap<String, (usize, Place)>;

fn check_link(fields: &Fields<'_>, model: Model, ends: &Ends, names: &mut Names) -> Cable {
    let name = fields.need("name", NAME).and_then(|field| {
        let text = field.text(NAME)?;
        if !is_name(text) {
            return field.wrong(NAME);
        }
        if let Some((_, place)) = names.get(text) {
            let complaint = field.complaint(format!("there is a link with the name {text:?} already"));
            fields.findings().add(complaint.related("the other one is", *place));
        }
        Some((text.to_owned(), field.place()))
    });
    let number = names.len();
    let name = name.map(|(name, place)| {
        names.entry(name.clone()).or_insert((number, place));
        name
    });
    let capacity =
        fields.need("capacity", "what crosses the link, such as \"1 Gbps\"").and_then(|field| field.capacity());
    let latency = fields.get("latency").and_then(|field| field.span());
    let mode = fields.get("mode").and_then(|field| field.word(MODES)).unwrap_or(Mode::Shared);
    let efficiency = fields.get("efficiency").and_then(|field| field.word(EFFICIENCIES));
    let between = fields.get("between").and_then(|field| {
        let [a, b] = field.pair("the two ends of the link, such as [\"york\", \"lab\"]")?;
        let pair = [ends.find(&a)?, ends.find(&b)?];
        if pair[0] == pair[1] { field.wrong("two different ends") } else { Some(pair) }
    });
    let duplex = fields.get("duplex").and_then(|field| {
        let duplex = field.word(Duplex::ALL)?;
        if duplex == Duplex::Full && !fields.has("between") {
            let complaint =
                field.complaint("a full-duplex link needs its ends, or nobody knows which way data crosses it");
            fields.findings().add(complaint.hint("for example between = [\"york\", \"lab\"]"));
        }
        Some(duplex)
    });
    fields.finish();
    Cable {
        name: name.unwrap_or_default(),
        capacity: capacity.unwrap_or(1),
        latency: latency.unwrap_or_default(),
        mode,
        efficiency: efficiency.unwrap_or(model.efficiency()),
        duplex: duplex.unwrap_or(if between.is_some() { Duplex::Full } else { Duplex::Half }),
        between,
    }
}

/// What routes refer to.
struct Known<'a> {
    sites: &'a [Site],
    cables: &'a Cables,
    names: &'a Names,
}

fn check_routes(field: Option<&Field<'_>>, known: &Known<'_>) -> Vec<Way> {
    let section = Path::root("route");
    let mut routes = Vec::new();
    let mut pairs: BTreeMap<(usize, usize), Place> = BTreeMap::new();
    let sites: BTreeMap<&str, usize> =
        known.sites.iter().enumerate().map(|(index, site)| (site.name.as_str(), index)).collect();
    for field in field.and_then(|field| tables(Some(field), &section)).iter().flatten() {
        let Some(fields) = field.table("a [[route]] table") else { continue };
        let site = |key| {
            let field = fields.need(key, "the name of a site")?;
            field.choice("a site", sites.keys().copied(), |name| sites.get(name).copied())
        };
        let (from, to) = (site("from"), site("to"));
        let links_field = fields.need("links", "the links that data crosses, such as [\"up\", \"down\"]");
        fields.finish();
        let (Some(from), Some(to), Some(links_field)) = (from, to, links_field) else { continue };
        let [from_name, to_name] = [from, to].map(|site| &known.sites[site].name);
        if from == to {
            fields.complain(format!("data that stays at {from_name} needs no route"));
            continue;
        }
        if let Some(place) = pairs.insert((from, to), field.place()) {
            let complaint = field.complaint(format!("there is a route from {from_name} to {to_name} already"));
            fields.findings().add(complaint.related("the other one is", place));
            continue;
        }
        if let Some(links) = check_way(&links_field, from, to, known) {
            routes.push(Way { from, to, links });
        }
    }
    routes
}

/// Follows a route over its links, as far as their ends are known.
fn check_way(field: &Field<'_>, from: usize, to: usize, known: &Known<'_>) -> Option<Vec<(usize, bool)>> {
    const LINKS: &str = "a list of links, such as [\"up\", \"down\"]";
    let list = field.list(LINKS)?;
    if list.is_empty() {
        // It would be free and without limits, which nobody means; whoever does has links of the mode "per_flow".
        return field.wrong(LINKS);
    }
    let mut links = Vec::with_capacity(list.len());
    let mut crossed = BTreeMap::new();
    let mut at = Some(End::Site(from));
    let name = |end| match end {
        End::Site(site) => known.sites[site].name.as_str(),
        End::Switch(switch) => known.cables.switches[switch].as_str(),
    };
    for field in &list {
        let names = known.names.keys().map(String::as_str);
        let number = field.choice("a link", names, |name| known.names.get(name).map(|(number, _)| *number))?;
        let cable = known.cables.links.get(number)?;
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
                let (end, a, b) = (name(end), name(a), name(b));
                field.complain(format!("the route is at {end} here, and this link connects {a} and {b}"));
                return None;
            }
            (Some(_), None) if cable.duplex == Duplex::Full => {
                field.complain("which way the route crosses this link is not clear, as the link before has no ends");
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
        field.complain(format!("the route ends at {}, and should lead to {}", name(end), known.sites[to].name));
        return None;
    }
    Some(links)
}
