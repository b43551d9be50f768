//! `[[site]]` and `[[user]]`: who takes part.

use std::collections::BTreeMap;

use super::super::build::EXCHANGE;
use super::super::complaint::{Findings, Place};
use super::super::fields::{Field, Fields, any_of, is_name};
use super::super::file::Path;
use super::super::{Site, User};
use super::batch::check_reserved;
use super::{CORES_MAX, NAME, members};
use crate::grid::{Kind, Named, Reserved};
use crate::systems::{self, Row, Service};
use crate::time::Span;

const ROUTER: &str = "router";

/// Whether somebody at the hub of some run has this name.
fn is_taken_at_hub(name: &str) -> bool {
    [ROUTER, EXCHANGE].contains(&name) || systems::ALL.iter().any(|row| row.service == name)
}

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
        } else if is_taken_at_hub(text) {
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
    fn read(fields: &'a Fields<'_>, rows: &[&Row]) -> SiteSettings<'a> {
        SiteSettings {
            cores: fields.get("cores").and_then(|field| field.whole(1..=CORES_MAX)),
            kind: fields.get("kind").and_then(|field| kind_name(&field)),
            speed_millionths: fields.get("speed").and_then(|field| speed(&field, rows)),
            scheduler: fields.get("scheduler").and_then(|field| scheduler(&field, rows)),
            latency: fields.get("latency").and_then(|field| field.span()),
            report_every: fields.get("report_every").and_then(|field| field.span()),
            reserved: fields.get("reserved").and_then(|field| reserved(&field, rows)),
        }
    }
}

/// The tables of the systems that can do something, for people.
fn tables(can: impl Fn(&Row) -> bool) -> String {
    let tables: Vec<String> = systems::ALL.iter().filter(|row| can(row)).map(|row| format!("[{}]", row.key)).collect();
    any_of(tables.iter().map(String::as_str))
}

fn speed(field: &Field<'_>, rows: &[&Row]) -> Option<u64> {
    if !rows.iter().any(|row| row.has_speeds) {
        return field
            .wrong(format_args!("no speed: only under a {} do sites differ in it", tables(|row| row.has_speeds)));
    }
    match field.millionths(SPEED_MAX)? {
        0 => field.wrong("a speed above zero"),
        speed => Some(speed),
    }
}

fn scheduler(field: &Field<'_>, rows: &[&Row]) -> Option<&'static str> {
    let fitting = schedulers(rows);
    let text = field.text(any_of(fitting.iter().map(|named| named.name)))?;
    let fits = |named: &Named| named.name == text;
    if !fitting.iter().any(fits)
        && let Some(row) = systems::ALL.iter().find(|row| (row.schedulers)().iter().any(fits))
    {
        let here: Vec<String> = rows.iter().map(|row| format!("[{}]", row.key)).collect();
        let here = any_of(here.iter().map(String::as_str));
        let expected = match fitting.first() {
            Some(first) => format!("a scheduler of a site under {here}, such as {}", first.name),
            None => format!("no scheduler: sites under {here} do as they are told"),
        };
        return field.wrong(format_args!("{expected} ({text} needs a [{}] table)", row.key));
    }
    field.named("a site scheduler", &fitting)
}

/// The names that a site may choose from, the usual one first.
fn schedulers(rows: &[&Row]) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    for named in rows.iter().flat_map(|row| (row.schedulers)()) {
        if !all.contains(&named) {
            all.push(named);
        }
    }
    all
}

fn reserved(field: &Field<'_>, rows: &[&Row]) -> Option<Vec<Reserved>> {
    if rows.iter().any(|row| row.has_reserved) {
        return check_reserved(field);
    }
    field.wrong(format_args!("nothing reserved: only sites under a {} plan around it", tables(|row| row.has_reserved)))
}

/// Which systems use a site: what it says, or what is usual, or the only one that there is.
struct Used<'a> {
    systems: &'a [Service],
    usual: Option<Vec<usize>>,
}

impl<'a> Used<'a> {
    fn new(systems: &'a [Service], defaults: Option<&Fields<'_>>) -> Used<'a> {
        let mut used = Used { systems, usual: None };
        used.usual = defaults.and_then(|defaults| used.written(defaults));
        used
    }

    fn written(&self, fields: &Fields<'_>) -> Option<Vec<usize>> {
        let field = fields.get("system")?;
        let keys = || self.systems.iter().map(|system| system.row().key);
        let find = |field: &Field<'_>| {
            let place = |key: &str| keys().position(|other| other == key);
            field.choice("a system of this topology", keys(), place)
        };
        let Some(list) = field.listed() else { return find(&field).map(|system| vec![system]) };
        let mut found: Vec<usize> = list.iter().filter_map(find).collect();
        found.sort_unstable();
        found.dedup();
        if found.len() < list.len() {
            field.complain("expected each system once, and at least one");
        }
        Some(found).filter(|found| !found.is_empty())
    }

    fn by(&self, fields: &Fields<'_>) -> Vec<usize> {
        let written = self.written(fields);
        written.or_else(|| self.usual.clone()).unwrap_or_else(|| {
            if self.systems.len() > 1 && !fields.has("system") {
                let keys = any_of(self.systems.iter().map(|system| system.row().key));
                fields.missing("system", &format!("which system uses this site: {keys}"));
            }
            vec![0]
        })
    }

    fn rows(&self, systems: &[usize]) -> Vec<&'static Row> {
        systems.iter().map(|system| self.systems[*system].row()).collect()
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
    systems: &[Service],
) -> (Vec<Site>, Vec<String>) {
    let defaults = defaults.and_then(|all| all.get("site")).and_then(|field| field.table("a table of defaults"));
    let used = Used::new(systems, defaults.as_ref());
    let all: Vec<usize> = (0..systems.len()).collect();
    let usual =
        defaults.as_ref().map(|defaults| SiteSettings::read(defaults, &used.rows(used.usual.as_ref().unwrap_or(&all))));
    let defaults_have = |key| defaults.as_ref().is_some_and(|defaults| defaults.has(key));

    let section = Path::root("site");
    let field = fields.need("site", "at least one [[site]]");
    let members = members(field.as_ref(), &section);
    let some_kind = defaults_have("kind") || members.iter().any(|fields| fields.has("kind"));
    let mut kinds = Kinds::default();
    let mut sites = Vec::with_capacity(members.len());
    for fields in members {
        let name = names.take(&fields, "site");
        let systems = used.by(&fields);
        let rows = used.rows(&systems);
        let settings = SiteSettings::read(&fields, &rows);
        let usual = usual.as_ref();
        let usual_scheduler = schedulers(&rows).first().map_or("", |named| named.name);
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
            systems,
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
    for (number, row) in used.rows(&all).iter().enumerate() {
        let its = sites.iter().filter(|site| site.systems.contains(&number));
        let cores: u64 = its.map(|site| u64::from(site.cores)).sum();
        if let Some(field) = field.as_ref().filter(|_| cores > row.cores_max) {
            field.complain(format!("expected at most {} cores under a [{}], found {cores}", row.cores_max, row.key));
        }
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
