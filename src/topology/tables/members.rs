//! `[[site]]` and `[[user]]`: who takes part, and what `[defaults]` says about them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::programs::{Open, walk_planner, walk_program};
use super::{latency_key, walk_count};
use crate::grid::{Calendar, Habit, Kind, Named, NodeSet, Program, Reserved, Terms};
use crate::settings::Names as SiteNames;
use crate::settings::limits::CORES_MAX;
use crate::settings::{
    Complaint, Field, Fields, Form, FormExt, Layout, Maybe, Millionths, Moment, NAME, POSITIVE_SPAN, Place, Purpose,
    Rate, SPAN, Shape, Unless, Walk, Word, any_of, is_name, key, quoted,
};
use crate::systems::{self, Row, Service, managers};
use crate::time::{Span, Time};
use crate::topology::build::EXCHANGE;
use crate::topology::{Site, User};

const ROUTER: &str = "router";

/// Whether somebody at the hub of some run has this name.
fn is_taken_at_hub(name: &str) -> bool {
    [ROUTER, EXCHANGE].contains(&name) || systems::ALL.iter().any(|row| row.service == Some(name))
}

/// Sites and users share one space of names: both have certificates and containers of that name.
#[derive(Default)]
pub struct Names {
    taken: RefCell<BTreeMap<String, (Place, &'static str)>>,
}

/// A name that nobody has yet.
struct FreshName<'n> {
    names: &'n Names,
    what: &'static str,
}

impl Form<String> for FreshName<'_> {
    /// Something else than nothing whenever anything is written there.
    fn read(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text(NAME)?;
        let mut taken = self.names.taken.borrow_mut();
        if text.contains("{}") {
            let complaint = field.complaint(format!("expected {NAME}, found {text:?}"));
            field.findings().add(complaint.hint("for several of them, give a `count` and a name with {}"));
        } else if !is_name(text) {
            field.wrong::<()>(NAME);
        } else if is_taken_at_hub(text) {
            field.complain(format!("the {text} of the run has this name: choose another one"));
        } else if let Some((place, other)) = taken.get(text) {
            let complaint = field.complaint(format!("the name {text:?} is already taken by a {other}"));
            field.findings().add(complaint.related("the other one is", *place));
        } else {
            taken.insert(text.to_owned(), (field.place(), self.what));
        }
        Some(text.to_owned())
    }

    fn text(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn shape(&self) -> Shape {
        let what = "a name: small letters, digits and hyphens, and `{}` for the number where there is a `count`";
        Shape::Text { what, pattern: Some(r"^([a-z0-9]|\{\})([-a-z0-9]|\{\}){0,62}$"), example: "york-2" }
    }
}

/// A site as its table has it, or the defaults of all sites.
#[derive(Clone)]
pub struct Described {
    /// No cores, no scheduler and no systems if nothing has been said about them.
    pub site: Site,
    /// Its kind; nothing if nothing has been said.
    pub kind: String,
    /// Whether it has been said how much memory its nodes have.
    pub says_memory: bool,
}

/// What sites may refer to.
pub struct Around<'a> {
    pub systems: &'a [&'static Row],
    pub names: &'a Names,
    /// Whether some site says what kind of core it has, so that all must.
    pub some_kind: bool,
    /// Whether these are the defaults of all sites.
    pub defaults: bool,
}

impl Described {
    pub fn usual() -> Described {
        let site = Site {
            name: String::new(),
            cores: 0,
            kind: Kind(0),
            speed_millionths: USUAL_SPEED,
            scheduler: String::new(),
            latency: Span::ZERO,
            memory_kb: USUAL_MEMORY,
            image_bandwidth: None,
            report_every: Span::ZERO,
            reserved: Vec::new(),
            terms: crate::grid::Terms::default(),
            systems: Vec::new(),
            program: crate::grid::Program::default(),
        };
        Described { site, kind: String::new(), says_memory: false }
    }

    pub fn walk(&mut self, around: &Around<'_>, w: &mut dyn Walk) {
        let Described { site, kind, says_memory } = self;
        if !around.defaults {
            w.set(key("name", "").need(NAME), &mut site.name, FreshName { names: around.names, what: "site" });
            walk_count(w);
        }
        let cores = key("cores", "")
            .means("how many cores the site has")
            .need_unless(around.defaults || site.cores > 0, "how many cores the site has");
        w.set(cores, &mut site.cores, Unless(1..=CORES_MAX, 0));
        let about = "the kind of its cores, which tasks may require; either all sites name theirs or none does";
        let kind_key = key("kind", "").means(about).usual("`\"any\"`");
        let need = around.some_kind && kind.is_empty() && !around.defaults;
        w.set(
            if need { kind_key.need("a kind of core, as other sites name theirs") } else { kind_key },
            kind,
            KindName,
        );
        around.walk_systems(&mut site.systems, w);

        let rows = around.rows(&site.systems);
        let has_speeds = rows.iter().any(|row| row.traits.has_speeds);
        let why = || {
            format!("leave speed out: only sites under a {} may differ in speed", tables(|row| row.traits.has_speeds))
        };
        let speed = key("speed", "run times of tasks are divided by this").only_if(has_speeds, why());
        let above_zero = Millionths::above_zero(SPEED_MAX).that("a speed above zero", |speed: &u64| *speed > 0);
        w.set(speed, &mut site.speed_millionths, above_zero);
        let scheduler =
            key("scheduler", "how a site schedules its work").usual("the first of those that fit its system");
        let usual = site.scheduler.clone();
        w.set(
            scheduler,
            &mut site.scheduler,
            Scheduler {
                fitting: schedulers(&rows, site.systems.len() > 1),
                rows: &rows,
                systems: around.systems,
                is_shared: site.systems.len() > 1,
            },
        );
        let shares_nodes = managers::shares_nodes(&site.scheduler);
        let is_outside = managers::tongue(&site.scheduler).is_some();
        // Of a name that cannot be read it has been told already.
        let is_lost = site.scheduler == usual && w.fields().is_some_and(|fields| fields.has("scheduler"));
        let could = site.systems.len() == 1 && takes_managers(&rows);
        // Under a queue it is as true as ever, and matters to nobody.
        let may_be_said = match w.purpose() {
            Purpose::List => true,
            Purpose::Write => shares_nodes,
            Purpose::Read => shares_nodes || is_lost || could || around.defaults && takes_managers(&rows),
        };
        let about = "memory of a node, in GB; used to compute how much memory is moved with jobs";
        let why = "expected also a scheduler under which jobs share nodes, such as \"GreedyPM */per\"";
        let memory = key("memory_gb", about).only_if(may_be_said, why);
        let above_zero =
            Millionths::above_zero(MEMORY_MAX).that("a number of GB above zero", |memory: &u64| *memory > 0);
        w.set(memory, &mut site.memory_kb, above_zero);
        let about = "at which rate the images of a job's tasks move when it is resumed or moved";
        let images = key("image_bandwidth", about).usual("only the penalty counts").only_if(may_be_said, why);
        w.set(images, &mut site.image_bandwidth, Maybe(Rate));
        if let Some(fields) = w.fields() {
            *says_memory |= fields.has("memory_gb");
            if shares_nodes && site.image_bandwidth.is_some() && !*says_memory && !around.defaults {
                fields.missing("memory_gb", "how much memory a node has, as there is an image_bandwidth");
            }
        }
        let open = Open { is_lost, defaults: around.defaults, could };
        walk_program(&mut site.program, managers::tongue(&site.scheduler), open, w);
        w.set(latency_key(), &mut site.latency, SPAN);
        let report_every = key("report_every", "ended tasks are reported at multiples of this; 0 s is at once");
        w.set(report_every, &mut site.report_every, SPAN);
        for row in systems::ALL {
            (row.own.site)(site, rows.iter().any(|its| its.key == row.key), w);
        }
        let reserves = rows.iter().any(|row| row.traits.has_reserved);
        let why = match (shares_nodes, is_outside) {
            (true, _) => "expected nothing reserved: schedulers of shared nodes do not plan around it".to_owned(),
            (_, true) => "expected nothing reserved: an external program does not know of it".to_owned(),
            _ => {
                format!(
                    "expected nothing reserved: only sites under a {} plan around it",
                    tables(|row| row.traits.has_reserved)
                )
            }
        };
        let reserved = key("reserved", "").means("nodes that are kept from jobs for some time");
        // To say that there is none is right everywhere.
        let is_none = |field: Field<'_>| field.listed().is_some_and(|list| list.is_empty());
        let says_none = w.fields().and_then(|fields| fields.get("reserved")).is_some_and(is_none);
        let reserved = reserved.only_if(says_none || reserves && !shares_nodes && !is_outside, why);
        let reserved = reserved.expects(RESERVED).each(RESERVED);
        w.rows(reserved, Layout::Lines, &mut site.reserved, no_reservation, walk_reserved);
        if let Some(fields) = w.fields() {
            check_reserved(fields, site);
        }
    }
}

impl Around<'_> {
    fn walk_systems(&self, systems: &mut Vec<usize>, w: &mut dyn Walk) {
        // Where there is one system, nobody has to say who uses a site.
        if w.writes() && self.systems.len() == 1 {
            return;
        }
        let about = "the systems that use it, by the names of their tables: one, or a list";
        let system = key("system", "who uses it").means(about).usual("the only system of the topology");
        w.set(system, systems, Systems { keys: self.systems.iter().map(|row| row.key).collect() });
        let Some(fields) = w.fields() else { return };
        let used = || systems.iter().map(|system| self.systems[*system]);
        let alone = match used().find(|row| row.traits.keeps_sites) {
            _ if systems.len() < 2 => None,
            Some(row) => {
                Some(format!("a site of [{}] serves no other system: give the others sites of their own", row.key))
            }
            None if used().any(|row| row.traits.shares_sites) => None,
            None => {
                let keys = any_of(used().map(|row| row.key)).replace(" or ", " and ");
                let hosts = tables(|row| row.traits.shares_sites);
                Some(format!(
                    "{keys} cannot share a site: only a {hosts} shares its sites, so it has to be one of them"
                ))
            }
        };
        if let Some(text) = alone {
            match fields.get("system") {
                Some(field) => field.complain(text),
                None => fields.complain(text),
            }
        }
        if systems.is_empty() && !self.defaults {
            if self.systems.len() > 1 && !fields.has("system") {
                let keys = any_of(self.systems.iter().map(|row| row.key));
                fields.missing("system", &format!("which system uses this site: {keys}"));
            }
            systems.push(0);
        }
    }

    /// Leaves out what the defaults of all sites say that makes no sense under the systems of this one.
    fn fit(&self, site: &mut Site) {
        let rows = self.rows(&site.systems);
        let is_shared = site.systems.len() > 1;
        let fitting = schedulers(&rows, is_shared);
        let is_managed = !is_shared && takes_managers(&rows) && managers::find(&site.scheduler).is_some();
        if !is_managed && !fitting.iter().any(|named| named.name == site.scheduler) {
            site.scheduler = fitting.first().map_or("", |named| named.name).to_owned();
        }
        if !rows.iter().any(|row| row.traits.has_speeds) {
            site.speed_millionths = USUAL_SPEED;
        }
        if !managers::shares_nodes(&site.scheduler) {
            (site.memory_kb, site.image_bandwidth) = (USUAL_MEMORY, None);
        }
        if is_managed || !rows.iter().any(|row| row.traits.has_reserved) {
            site.reserved.clear();
        }
        if managers::tongue(&site.scheduler).is_none() {
            site.program = Program::default();
        }
        if !rows.iter().any(|row| row.traits.has_terms) {
            site.terms = Terms::default();
        }
    }

    /// The systems that use a site; all of them, if nothing has been said.
    fn rows(&self, systems: &[usize]) -> Vec<&'static Row> {
        match systems {
            [] => self.systems.to_vec(),
            systems => systems.iter().map(|system| self.systems[*system]).collect(),
        }
    }
}

/// The tables of the systems that can do something, for people.
fn tables(can: impl Fn(&Row) -> bool) -> String {
    let tables: Vec<String> = systems::ALL.iter().filter(|row| can(row)).map(|row| format!("[{}]", row.key)).collect();
    any_of(tables.iter().map(String::as_str))
}

const SPEED_MAX: u64 = 1_000_000;
const USUAL_SPEED: u64 = 1_000_000;
/// What the nodes of the DFRS paper have, in kB; and the most, in GB.
const USUAL_MEMORY: u64 = 8_000_000;
const MEMORY_MAX: u64 = 1_000_000;

struct KindName;

impl Form<String> for KindName {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        const KIND: &str = "a kind of core: at most 63 letters, digits, hyphens, underscores and dots";
        let text = field.text(KIND)?;
        let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
        if (1..=63).contains(&text.len()) && text.bytes().all(fits) { Some(text.to_owned()) } else { field.wrong(KIND) }
    }

    fn text(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn shape(&self) -> Shape {
        let what = "letters, digits, hyphens, underscores and dots";
        Shape::Text { what, pattern: Some("^[-_.A-Za-z0-9]{1,63}$"), example: "Kind1" }
    }
}

/// One system by its key, or several.
struct Systems {
    keys: Vec<&'static str>,
}

impl Form<Vec<usize>> for Systems {
    fn read(&self, field: &Field<'_>) -> Option<Vec<usize>> {
        let keys = || self.keys.iter().copied();
        let place = |key: &str| keys().position(|other| other == key);
        let find = |field: &Field<'_>| field.choice("a system of this topology", keys(), place);
        let Some(list) = field.listed() else { return find(field).map(|system| vec![system]) };
        let mut found: Vec<usize> = list.iter().filter_map(find).collect();
        let known = found.len();
        found.sort_unstable();
        found.dedup();
        // Of one that is not known it has been told already.
        if found.len() < known || list.is_empty() {
            field.complain("expected at least one system, each only once");
        }
        Some(found).filter(|found| !found.is_empty())
    }

    fn text(&self, value: &Vec<usize>) -> Option<String> {
        let keys: Vec<String> = value.iter().map(|system| quoted(self.keys[*system])).collect();
        (!keys.is_empty()).then(|| format!("[{}]", keys.join(", ")))
    }

    fn shape(&self) -> Shape {
        Shape::Free {
            what: "the key of a system's table, or a list of such",
            example: "\"market\"",
            json: r#"{ "anyOf": [
                { "type": "string" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }
            ] }"#,
        }
    }
}

/// The names that a site may choose from, the usual one first; those of whoever lets others in, if it is shared.
pub fn schedulers(rows: &[&Row], is_shared: bool) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    let hosts = |row: &&&Row| !is_shared || row.traits.shares_sites;
    for named in rows.iter().filter(hosts).flat_map(|row| (row.schedulers)()) {
        if !all.contains(&named) {
            all.push(named);
        }
    }
    all
}

fn takes_managers(rows: &[&Row]) -> bool {
    rows.iter().any(|row| row.traits.takes_managers)
}

struct Scheduler<'r> {
    fitting: Vec<Named>,
    rows: &'r [&'static Row],
    /// All of the topology.
    systems: &'r [&'static Row],
    /// Whether several systems use the site.
    is_shared: bool,
}

impl Scheduler<'_> {
    /// A name that follows a grammar.
    fn read_manager(&self, field: &Field<'_>, name: Result<String, String>) -> Option<String> {
        match name {
            Err(wrong) => field.complain(wrong),
            Ok(name) if !takes_managers(self.rows) => {
                let tables = tables(|row| row.traits.takes_managers);
                let why = match managers::shares_nodes(&name) {
                    true => "jobs share nodes at its sites only",
                    false => "only its sites can be managed by an external program",
                };
                field.complain(format!("{name} needs a {tables} table: {why}"));
            }
            Ok(name) if self.is_shared => field.complain(match managers::shares_nodes(&name) {
                true => format!("the scheduler {name} lets jobs share nodes, so no other system can use this site"),
                false => format!("the scheduler {name} is an external program, so no other system can use this site"),
            }),
            Ok(name) => return Some(name),
        }
        None
    }
}

impl Form<String> for Scheduler<'_> {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        let names = self.fitting.iter().map(|named| named.name);
        let text = field.text(any_of(names.clone()))?;
        let fits = |named: &Named| named.name == text;
        if let Some(name) = managers::read(text) {
            return self.read_manager(field, name);
        }
        if !self.fitting.iter().any(fits)
            && let Some(row) = systems::ALL.iter().find(|row| (row.schedulers)().iter().any(fits))
        {
            let here: Vec<String> = self.rows.iter().map(|row| format!("[{}]", row.key)).collect();
            let here = any_of(here.iter().map(String::as_str));
            let of = match self.rows.iter().find(|row| self.is_shared && row.traits.shares_sites) {
                Some(host) => format!("[{}], which runs what {} share", host.key, here.replace(" or ", " and ")),
                None => format!("a site under {here}"),
            };
            let expected = match self.fitting.first() {
                Some(first) => format!("a scheduler of {of}, such as {}", first.name),
                None => format!("no scheduler: sites under {here} do not schedule"),
            };
            let why = match self.systems.iter().any(|its| its.key == row.key) {
                true => format!("{text} is for sites of [{}] alone", row.key),
                false => format!("{text} needs a [{}] table", row.key),
            };
            return field.wrong(format_args!("{expected} ({why})"));
        }
        // Of names that follow a grammar there are too many: one stands for all.
        let kinds = if takes_managers(self.rows) && !self.is_shared { managers::ALL } else { &[] };
        let shown = |kind: &managers::Kind| if kind.grammar.is_empty() { usize::MAX } else { 1 };
        let managing: Vec<Named> = kinds.iter().flat_map(|kind| (kind.names)().into_iter().take(shown(kind))).collect();
        field.name("a site scheduler", names.chain(managing.iter().map(|named| named.name))).map(str::to_owned)
    }

    fn text(&self, value: &String) -> Option<String> {
        (!self.fitting.is_empty()).then(|| quoted(value))
    }

    fn remark(&self, value: &String) -> Option<String> {
        let named = self.fitting.iter().find(|named| named.name == value);
        named
            .map(|named| Word::new(named.name, named.about).about)
            .or_else(|| Some(managers::find(value)?.about.to_owned()))
    }

    fn shape(&self) -> Shape {
        let kinds = if takes_managers(self.rows) { managers::ALL } else { &[] };
        let names = kinds.iter().flat_map(|kind| (kind.names)());
        Shape::Grammar {
            words: Word::named(&self.fitting.iter().copied().chain(names).collect::<Vec<_>>()),
            rest: kinds.iter().flat_map(|kind| kind.grammar).copied().collect(),
            patterns: kinds.iter().map(|kind| kind.pattern).collect(),
        }
    }
}

const RESERVED: &str = "a list such as [{ from = \"1 h\", until = \"2 h\", nodes = \"0-3 7\" }]";

fn no_reservation() -> Reserved {
    Reserved { from: Time::ZERO, until: Time::ZERO, nodes: NodeSet::default() }
}

fn walk_reserved(reserved: &mut Reserved, w: &mut dyn Walk) {
    let Reserved { from, until, nodes } = reserved;
    w.set(key("from", "").need("a time"), from, Moment);
    w.set(key("until", "").need("a time"), until, Moment);
    w.set(key("nodes", "").need("numbers of nodes, such as \"0-3 7\""), nodes, Nodes);
    let Some(fields) = w.fields() else { return };
    if until <= from && fields.has("from") && fields.has("until") {
        fields.complain("expected an end after its start".to_owned());
    }
}

/// Which nodes, by their numbers.
struct Nodes;

impl Form<NodeSet> for Nodes {
    fn read(&self, field: &Field<'_>) -> Option<NodeSet> {
        let text = field.text("numbers of nodes, such as \"0-3 7\"")?;
        let nodes = NodeSet::parse(text).filter(|nodes| !nodes.is_empty());
        nodes.or_else(|| field.wrong("numbers of nodes in order, neighbours as a range, such as \"0-3 7\""))
    }

    fn text(&self, value: &NodeSet) -> Option<String> {
        Some(format!("\"{value}\""))
    }

    fn shape(&self) -> Shape {
        let what = "numbers of nodes in order";
        Shape::Text { what, pattern: Some("^[0-9]+(-[0-9]+)?( [0-9]+(-[0-9]+)?)*$"), example: "0-3 7" }
    }
}

/// What is reserved must be there, and only once at a time.
fn check_reserved(fields: &Fields<'_>, site: &Site) {
    if site.reserved.is_empty() {
        return;
    }
    let Some(field) = fields.get("reserved") else { return };
    let Some(list) = field.listed() else { return };
    let mut calendar = Calendar::new(CORES_MAX);
    for (reserved, field) in site.reserved.iter().zip(&list) {
        let Reserved { from, until, nodes } = reserved;
        if from < until && !nodes.is_empty() && calendar.insert(*from, *until, nodes).is_err() {
            field.complain("some of these nodes are already reserved during that time, or have too large a number");
        }
    }
}

/// All sites and the kinds of core that they offer.
pub fn read_sites(
    systems: &[Service],
    defaults: Option<&Fields<'_>>,
    names: &Names,
    root: &Fields<'_>,
    w: &mut dyn Walk,
) -> (Vec<Site>, Vec<String>) {
    let rows: Vec<&Row> = systems.iter().map(|system| system.row()).collect();
    let mut usual = Described::usual();
    let mut around = Around { systems: &rows, names, some_kind: false, defaults: true };
    let written = defaults.and_then(|all| all.get("site"));
    if let Some(fields) = written.as_ref().and_then(|field| field.table("a table of defaults")) {
        usual.walk(&around, &mut crate::settings::Reader::new(&fields));
        fields.finish();
    }
    around.defaults = false;
    let field = root.get("site");
    let tables = field.as_ref().and_then(Field::listed).unwrap_or_default();
    let tables = || tables.iter().filter_map(Field::as_table);
    around.some_kind = !usual.kind.is_empty() || tables().any(|table| table.get("kind").is_some());

    let mut described: Vec<Described> = Vec::new();
    walk_sites(&mut described, &usual, &around, w);
    let mut kinds = Kinds::default();
    let mut sites = Vec::with_capacity(described.len());
    let mut idle = Vec::new();
    for Described { mut site, kind, says_memory } in described {
        let says_more = says_memory && !usual.says_memory || site.image_bandwidth != usual.site.image_bandwidth;
        around.fit(&mut site);
        if says_more && !managers::shares_nodes(&site.scheduler) {
            idle.push(site.name.clone());
        }
        if site.cores == 0 {
            site.cores = CORES_MAX;
        }
        match kinds.number(if kind.is_empty() { "any" } else { &kind }) {
            Some(kind) => site.kind = kind,
            None => {
                let most = usize::from(u16::MAX) + 1;
                let message = format!("expected at most {most} kinds of core, found one more");
                field.iter().for_each(|field| field.complain(&message));
            }
        }
        sites.push(site);
    }
    if let Some(field) = &field {
        check_all(field, &sites, &rows);
        if !idle.is_empty() {
            let names = any_of(idle.iter().map(String::as_str)).replace(" or ", " and ");
            let keys = "memory_gb and image_bandwidth have no effect at";
            field.findings().note(format!("{keys} {names}: jobs share no nodes there, and are not moved"));
        }
    }
    (sites, kinds.names)
}

/// `[[site]]`.
pub fn walk_sites(sites: &mut Vec<Described>, usual: &Described, around: &Around<'_>, w: &mut dyn Walk) {
    let site = key("site", "").means("a site: a cluster of nodes").need("at least one [[site]]").by_name();
    w.rows(site, Layout::Sections("site"), sites, || usual.clone(), |site, w| site.walk(around, w));
}

/// What can only be said of all sites together, or of each as it is in the end.
fn check_all(field: &Field<'_>, sites: &[Site], rows: &[&Row]) {
    let tables = field.listed().unwrap_or_default();
    for (site, field) in sites.iter().zip(&tables) {
        let last = site.reserved.iter().filter_map(|reserved| reserved.nodes.runs().last()).map(|run| run.1).max();
        if last.is_some_and(|last| last >= site.cores) {
            let last = last.unwrap_or_default();
            let message = format!("expected nodes of the site, which has {}, found node {last}", site.cores);
            let reserved = field.as_table().and_then(|table| table.get("reserved")).map(|node| node.place);
            let place = reserved.unwrap_or(field.place());
            field.findings().add(Complaint::new(place, format!("site.{}.reserved", site.name), message));
        }
    }
    for (number, row) in rows.iter().enumerate() {
        let its = sites.iter().filter(|site| site.systems.contains(&number));
        let cores: u64 = its.map(|site| u64::from(site.cores)).sum();
        if cores > row.cores_max {
            field.complain(format!("expected at most {} cores under a [{}], found {cores}", row.cores_max, row.key));
        }
    }
}

/// Numbers the kinds of core in order of first mention.
#[derive(Default)]
struct Kinds {
    names: Vec<String>,
    numbers: BTreeMap<String, Kind>,
}

impl Kinds {
    fn number(&mut self, name: &str) -> Option<Kind> {
        if let Some(kind) = self.numbers.get(name) {
            return Some(*kind);
        }
        let kind = Kind(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), kind);
        Some(kind)
    }
}

/// `[[user]]`.
pub fn walk_users(users: &mut Vec<User>, usual: &User, around: &People<'_>, w: &mut dyn Walk) {
    let user = key("user", "").means("a user, who submits jobs").by_name();
    let user = user.need_unless(around.idle, SUBMITS);
    w.rows(user, Layout::Sections("user"), users, || usual.clone(), |user, w| walk_user(user, around, w));
}

pub const SUBMITS: &str = "at least one [[user]] to submit jobs";

/// What users may refer to.
pub struct People<'a> {
    pub systems: &'a [&'static Row],
    pub sites: &'a SiteNames<'a>,
    /// None, where they are the defaults of all users.
    pub names: Option<&'a Names>,
    /// Whether there may be none, as long as there is nothing to submit.
    pub idle: bool,
}

/// A user, or the defaults of all users if there are no names.
pub fn walk_user(user: &mut User, around: &People<'_>, w: &mut dyn Walk) {
    if let Some(names) = around.names {
        w.set(key("name", "").need(NAME), &mut user.name, FreshName { names, what: "user" });
        walk_count(w);
    }
    w.set(latency_key(), &mut user.latency, SPAN);
    walk_habit(user, around, w);
    for row in systems::ALL {
        (row.own.user)(user, around.systems.iter().any(|its| its.key == row.key), around.sites, w);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Planning {
    Script,
    Resubmit,
    External,
}

/// The planners of users.
const PLANNERS: &[(&str, Planning, &str)] = &[
    ("script", Planning::Script, "submits each job at its time, and waits for it"),
    (
        "resubmit",
        Planning::Resubmit,
        "takes back a job that has waited too long in a queue, and submits it again, to go elsewhere",
    ),
    ("external", Planning::External, "whatever an external program orders, in JSON lines"),
];

const TRIES_MAX: u32 = 1_000;

fn walk_habit(user: &mut User, around: &People<'_>, w: &mut dyn Walk) {
    let User { habit, program, .. } = user;
    // A user with the usual habit need not say so.
    if w.writes() && *habit == Habit::Script {
        return;
    }
    let (mut planning, mut patience, mut most) = match *habit {
        Habit::Script => (Planning::Script, Span::from_minutes(60), 3),
        Habit::Resubmit { patience, most } => (Planning::Resubmit, patience, most),
        Habit::External => (Planning::External, Span::from_minutes(60), 3),
    };
    w.set(key("planner", "what it does about its jobs"), &mut planning, PLANNERS);
    let resubmits = planning == Planning::Resubmit;
    let why = "expected a planner = \"resubmit\" beside it";
    let key_patience = key("patience", "after this long in a queue a job is taken back").only_if(resubmits, why);
    w.set(key_patience, &mut patience, POSITIVE_SPAN);
    let tries = key("tries", "how often a job is resubmitted at most").only_if(resubmits, why);
    w.set(tries, &mut most, 1..=TRIES_MAX);
    let is_external = planning == Planning::External;
    let could = around.systems.iter().any(|row| row.traits.has_planners);
    walk_planner(program, is_external, could, around.names.is_none(), w);
    if let Some(fields) = w.fields()
        && is_external
        && !could
        && let Some(field) = fields.get("planner")
    {
        field.complain(format!(
            "external needs a {} table: only its users can plan like that",
            tables(|row| row.traits.has_planners)
        ));
    }
    *habit = match planning {
        Planning::Script => Habit::Script,
        Planning::Resubmit => Habit::Resubmit { patience, most },
        Planning::External => Habit::External,
    };
}

pub fn usual_user() -> User {
    User {
        name: String::new(),
        latency: Span::ZERO,
        habit: Habit::Script,
        approach: crate::grid::Approach::default(),
        program: crate::grid::Program::default(),
    }
}
