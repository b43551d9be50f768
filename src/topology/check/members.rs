//! `[[site]]` and `[[user]]`: who takes part.

use std::collections::BTreeMap;

use super::super::complaint::{Findings, Place};
use super::super::fields::{Field, Fields, any_of, is_name};
use super::super::file::Path;
use super::super::{Site, System, User};
use super::batch::check_reserved;
use super::{CORES_MAX, NAME, members};
use crate::catalog;
use crate::grid::Kind;
use crate::systems::batch::{Reserved, policy};
use crate::systems::heft::CORES_MAX as PLANNED_CORES_MAX;
use crate::time::Span;

/// Names of those who take part in every run.
const RESERVED: [&str; 4] = ["router", "auctioneer", "planner", "dispatcher"];

/// Sites and users share one space of names: both have certificates and containers of that name.
pub(super) struct Names<'f> {
    taken: BTreeMap<String, (Place, &'static str)>,
    findings: &'f Findings,
}

impl<'f> Names<'f> {
    pub fn new(findings: &'f Findings) -> Names<'f> {
        Names { taken: BTreeMap::new(), findings }
    }

    /// The name of a site or user; something else than nothing whenever anything is written there.
    fn take(&mut self, fields: &Fields<'_>, what: &'static str) -> String {
        let Some(field) = fields.need("name", NAME) else { return String::new() };
        let Some(text) = field.text(NAME) else { return String::new() };
        if text.contains("{}") {
            let complaint = field.complaint(format!("expected {NAME}, found {text:?}"));
            self.findings.add(complaint.hint("for a row of them, give a `count` beside a name with {}"));
        } else if !is_name(text) {
            field.wrong::<()>(NAME);
        } else if RESERVED.contains(&text) {
            field.complain(format!("the {text} of the run has this name: choose another"));
        } else if let Some((place, other)) = self.taken.get(text) {
            let complaint = field.complaint(format!("there is a {other} with the name {text:?} already"));
            self.findings.add(complaint.related("the other one is", *place));
        } else {
            self.taken.insert(text.to_owned(), (field.place(), what));
        }
        text.to_owned()
    }
}

struct SiteSettings<'a> {
    cores: Option<u32>,
    kind: Option<&'a str>,
    speed_millionths: Option<u64>,
    scheduler: Option<&'static str>,
    latency: Option<Span>,
    report_every: Option<Span>,
    reserved: Option<Vec<Reserved>>,
}

impl<'a> SiteSettings<'a> {
    fn read(fields: &'a Fields<'_>, system: &System) -> SiteSettings<'a> {
        SiteSettings {
            cores: fields.get("cores").and_then(|field| field.whole(1..=CORES_MAX)),
            kind: fields.get("kind").and_then(|field| kind_name(&field)),
            speed_millionths: fields.get("speed").and_then(|field| speed(&field, system)),
            scheduler: fields.get("scheduler").and_then(|field| scheduler(&field, system)),
            latency: fields.get("latency").and_then(|field| field.span()),
            report_every: fields.get("report_every").and_then(|field| field.span()),
            reserved: fields.get("reserved").and_then(|field| reserved(&field, system)),
        }
    }
}

fn speed(field: &Field<'_>, system: &System) -> Option<u64> {
    if !matches!(system, System::Workflow(_)) {
        return field.wrong("no speed: only a [workflow] reckons with it");
    }
    match field.millionths(SPEED_MAX)? {
        0 => field.wrong("a speed above zero"),
        speed => Some(speed),
    }
}

fn scheduler(field: &Field<'_>, system: &System) -> Option<&'static str> {
    let queues = matches!(system, System::Batch(_));
    let (fitting, others): (Vec<_>, Vec<_>) =
        catalog::schedulers().into_iter().partition(|entry| policy::find(entry.name).is_some() == queues);
    let text = field.text(any_of(fitting.iter().map(|entry| entry.name)))?;
    match others.iter().any(|entry| entry.name == text) {
        true if queues => field.wrong("a policy for a queue, since this topology has a [batch] table"),
        true => field.wrong("no policy for a queue: these need a [batch] table in the topology"),
        false => field.entry("a site scheduler", &fitting),
    }
}

fn reserved(field: &Field<'_>, system: &System) -> Option<Vec<Reserved>> {
    match system {
        System::Batch(_) => check_reserved(field),
        _ => field.wrong("nothing reserved: only a queue, of a topology with a [batch] table, plans around it"),
    }
}

const SPEED_MAX: u64 = 1_000_000;

fn kind_name<'a>(field: &Field<'a>) -> Option<&'a str> {
    const KIND: &str = "a kind of core: at most 63 letters, digits, hyphens, underscores and dots";
    let text = field.text(KIND)?;
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if (1..=63).contains(&text.len()) && text.bytes().all(fits) { Some(text) } else { field.wrong(KIND) }
}

pub(super) fn check_sites(
    fields: &Fields<'_>,
    defaults: Option<&Fields<'_>>,
    names: &mut Names<'_>,
    system: &System,
) -> (Vec<Site>, Vec<String>) {
    let defaults = defaults.and_then(|all| all.get("site")).and_then(|field| field.table("a table of defaults"));
    let usual = defaults.as_ref().map(|defaults| SiteSettings::read(defaults, system));
    let defaults_have = |key| defaults.as_ref().is_some_and(|defaults| defaults.has(key));

    let section = Path::root("site");
    let field = fields.need("site", "at least one [[site]]");
    let members = members(field.as_ref(), &section);
    let some_kind = defaults_have("kind") || members.iter().any(|fields| fields.has("kind"));
    let usual_scheduler = if matches!(system, System::Batch(_)) { policy::USUAL } else { "auction" };
    let mut kinds = Kinds::default();
    let mut sites = Vec::with_capacity(members.len());
    for fields in members {
        let name = names.take(&fields, "site");
        let settings = SiteSettings::read(&fields, system);
        let usual = usual.as_ref();
        if !fields.has("cores") && !defaults_have("cores") {
            fields.missing("cores", "how many cores the site has");
        }
        if some_kind && !fields.has("kind") && !defaults_have("kind") {
            fields.missing("kind", "a kind of core, as other sites name theirs");
        }
        let kind = settings.kind.or_else(|| usual?.kind).unwrap_or("any");
        sites.push(Site {
            name,
            cores: settings.cores.or_else(|| usual?.cores).unwrap_or(CORES_MAX),
            kind: kinds.number(kind, &fields),
            speed_millionths: settings.speed_millionths.or_else(|| usual?.speed_millionths).unwrap_or(1_000_000),
            scheduler: settings.scheduler.or_else(|| usual?.scheduler).unwrap_or(usual_scheduler).to_owned(),
            latency: settings.latency.or_else(|| usual?.latency).unwrap_or(Span::ZERO),
            report_every: settings.report_every.or_else(|| usual?.report_every).unwrap_or(Span::ZERO),
            reserved: settings.reserved.or_else(|| usual?.reserved.clone()).unwrap_or_default(),
        });
        let site = sites.last().expect("it was just added");
        let last = site.reserved.iter().filter_map(|reserved| reserved.nodes.runs().last()).map(|run| run.1).max();
        if let Some(last) = last.filter(|last| *last >= site.cores) {
            let message = format!("expected nodes of the site, which has {}, found node {last}", site.cores);
            match fields.get("reserved") {
                Some(field) => field.complain(message),
                None => fields.complain(format!("reserved: {message}")),
            }
        }
        fields.finish();
    }
    if let Some(defaults) = defaults {
        defaults.finish();
    }
    let cores: u64 = sites.iter().map(|site| u64::from(site.cores)).sum();
    if let Some(field) = field.filter(|_| matches!(system, System::Workflow(_)) && cores > PLANNED_CORES_MAX) {
        field.complain(format!("expected at most {PLANNED_CORES_MAX} cores under a [workflow], found {cores}"));
    }
    (sites, kinds.names)
}

/// Numbers the kinds of core in order of first mention.
#[derive(Default)]
struct Kinds {
    names: Vec<String>,
    numbers: BTreeMap<String, Kind>,
}

impl Kinds {
    fn number(&mut self, name: &str, site: &Fields<'_>) -> Kind {
        if let Some(kind) = self.numbers.get(name) {
            return *kind;
        }
        let Ok(number) = u16::try_from(self.names.len()) else {
            site.complain(format!("expected at most {} kinds of core, found one more", usize::from(u16::MAX) + 1));
            return Kind(0);
        };
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), Kind(number));
        Kind(number)
    }
}

pub(super) fn check_users(fields: &Fields<'_>, defaults: Option<&Fields<'_>>, names: &mut Names<'_>) -> Vec<User> {
    let latency = |fields: &Fields<'_>| fields.get("latency").and_then(|field| field.span());
    let defaults = defaults.and_then(|all| all.get("user")).and_then(|field| field.table("a table of defaults"));
    let usual = defaults.and_then(|defaults| {
        let latency = latency(&defaults);
        defaults.finish();
        latency
    });

    let section = Path::root("user");
    let field = fields.need("user", "at least one [[user]] to submit jobs");
    let mut users = Vec::new();
    for fields in members(field.as_ref(), &section) {
        let name = names.take(&fields, "user");
        let latency = latency(&fields).or(usual).unwrap_or(Span::ZERO);
        users.push(User { name, latency });
        fields.finish();
    }
    users
}
