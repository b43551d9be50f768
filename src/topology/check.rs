//! From what is written to what is meant. Every fault is complained about; what is faulty is then taken for
//! something harmless, so that the check can go on to the next one.

use std::collections::BTreeMap;

use super::complaint::{Findings, Place};
use super::fields::{Field, Fields, any_of, is_name};
use super::file::{Path, Table};
use super::{
    Blocking, EdfDeadline, Market, Network, Pvdsq, Pvr, Removal, Site, SuccSum, Topology, Unplaceable, User, Workload,
};
use crate::catalog;
use crate::grid::{Curve, CurveError, Edge, Kind, LONGEST, Task, Worth};
use crate::time::{Span, Time};
use crate::workload::market::{Generator, LoadBasis};
use crate::workload::{Source, table};

const CORES_MAX: u32 = 1 << 31;
const CCR_MAX: u64 = 1_000;
const LOAD_MAX: f64 = 10.0;
const JOBS_MAX: u32 = 10_000_000;
// A job travels in one frame, so it cannot be of any size.
const TASKS_MAX: u32 = 10_000;
const EDGES_MAX: usize = 100_000;
const DEGREE_MAX: f64 = 50.0;

/// Only good if there are no complaints in the end.
pub(super) fn check(root: &Table, findings: &Findings) -> Topology {
    let fields = Fields::root(root, findings);
    let name = fields.need("name", "a name for the topology").and_then(|field| name(&field));
    let about = fields.get("about").and_then(|field| field.text("a text"));
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(1);

    let market = fields.get("market").and_then(|field| field.table("a [market] table"));
    let market = market.map_or_else(Market::default, Market::check);
    let defaults = fields.get("defaults").and_then(|field| field.table("a table of defaults"));
    let mut names = Names { taken: BTreeMap::new(), findings };
    let (sites, kinds) = check_sites(&fields, defaults.as_ref(), &mut names);
    let users = check_users(&fields, defaults.as_ref(), &mut names);
    if let Some(defaults) = defaults {
        defaults.finish();
    }

    let context = Context { seed, market: &market, grid: Grid::new(&kinds, &sites), users: by_name(&users) };
    let workloads = check_workloads(&fields, &context);
    fields.finish();

    let about = about.map(str::to_owned);
    Topology { name: name.unwrap_or_default(), about, seed, market, sites, users, workloads, kinds }
}

const NAME: &str = "a name of at most 63 small letters, digits and hyphens";

fn name(field: &Field<'_>) -> Option<String> {
    let text = field.text(NAME)?;
    if is_name(text) { Some(text.to_owned()) } else { field.wrong(NAME) }
}

impl Default for Market {
    fn default() -> Market {
        Market {
            policy: "fifo".to_owned(),
            tick: Span::from_minutes(1),
            ccr_millionths: 200_000,
            network: Network::PerCluster,
            blocking: Blocking::PerKind,
            removal: Removal::Deadline,
            unplaceable: Unplaceable::Error,
            succ_sum: SuccSum::PerPath,
            edf: EdfDeadline::Initial,
            pvdsq: Pvdsq::ResourceSquared,
            pvr: Pvr::Value,
        }
    }
}

impl Market {
    fn check(fields: Fields<'_>) -> Market {
        let usual = Market::default();
        let policy = fields.get("policy").and_then(|field| field.entry("a bid policy", &catalog::bid_policies()));
        let tick = fields.get("tick").and_then(|field| field.positive_span());
        let ccr = fields.get("ccr").and_then(|field| field.millionths(CCR_MAX));
        fn word<T: Copy>(
            fields: &Fields<'_>,
            key: &'static str,
            all: &[(&'static str, T, &'static str)],
            usual: T,
        ) -> T {
            fields.get(key).and_then(|field| field.word(all)).unwrap_or(usual)
        }
        let market = Market {
            policy: policy.map_or(usual.policy, str::to_owned),
            tick: tick.unwrap_or(usual.tick),
            ccr_millionths: ccr.unwrap_or(usual.ccr_millionths),
            network: word(&fields, "network", Network::ALL, usual.network),
            blocking: word(&fields, "blocking", Blocking::ALL, usual.blocking),
            removal: word(&fields, "removal", Removal::ALL, usual.removal),
            unplaceable: word(&fields, "unplaceable", Unplaceable::ALL, usual.unplaceable),
            succ_sum: word(&fields, "succ_sum", SuccSum::ALL, usual.succ_sum),
            edf: word(&fields, "edf", EdfDeadline::ALL, usual.edf),
            pvdsq: word(&fields, "pvdsq", Pvdsq::ALL, usual.pvdsq),
            pvr: word(&fields, "pvr", Pvr::ALL, usual.pvr),
        };
        fields.finish();
        market
    }
}

/// Names of those who take part in every run.
const RESERVED: [&str; 2] = ["router", "auctioneer"];

/// Sites and users share one space of names: both have certificates and containers of that name.
struct Names<'f> {
    taken: BTreeMap<String, (Place, &'static str)>,
    findings: &'f Findings,
}

impl Names<'_> {
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
    scheduler: Option<&'static str>,
    latency: Option<Span>,
}

impl<'a> SiteSettings<'a> {
    fn read(fields: &'a Fields<'_>) -> SiteSettings<'a> {
        SiteSettings {
            cores: fields.get("cores").and_then(|field| field.whole(1..=CORES_MAX)),
            kind: fields.get("kind").and_then(|field| kind_name(&field)),
            scheduler: fields
                .get("scheduler")
                .and_then(|field| field.entry("a site scheduler", &catalog::schedulers())),
            latency: fields.get("latency").and_then(|field| field.span()),
        }
    }
}

fn kind_name<'a>(field: &Field<'a>) -> Option<&'a str> {
    const KIND: &str = "a kind of core: at most 63 letters, digits, hyphens, underscores and dots";
    let text = field.text(KIND)?;
    let fits = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if (1..=63).contains(&text.len()) && text.bytes().all(fits) { Some(text) } else { field.wrong(KIND) }
}

fn check_sites(fields: &Fields<'_>, defaults: Option<&Fields<'_>>, names: &mut Names<'_>) -> (Vec<Site>, Vec<String>) {
    let defaults = defaults.and_then(|all| all.get("site")).and_then(|field| field.table("a table of defaults"));
    let usual = defaults.as_ref().map(SiteSettings::read);
    let defaults_have = |key| defaults.as_ref().is_some_and(|defaults| defaults.has(key));

    let section = Path::root("site");
    let field = fields.need("site", "at least one [[site]]");
    let members = members(field.as_ref(), &section);
    let some_kind = defaults_have("kind") || members.iter().any(|fields| fields.has("kind"));
    let mut kinds = Kinds::default();
    let mut sites = Vec::with_capacity(members.len());
    for fields in members {
        let name = names.take(&fields, "site");
        let settings = SiteSettings::read(&fields);
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
            scheduler: settings.scheduler.or_else(|| usual?.scheduler).unwrap_or("auction").to_owned(),
            latency: settings.latency.or_else(|| usual?.latency).unwrap_or(Span::ZERO),
        });
        fields.finish();
    }
    if let Some(defaults) = defaults {
        defaults.finish();
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

fn check_users(fields: &Fields<'_>, defaults: Option<&Fields<'_>>, names: &mut Names<'_>) -> Vec<User> {
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

/// The tables of a section that sites or users are in.
fn members<'a>(field: Option<&'a Field<'a>>, section: &'a Path<'a>) -> Vec<Fields<'a>> {
    tables(field, section).iter().flatten().filter_map(|field| field.member(section)).collect()
}

fn tables<'a>(field: Option<&'a Field<'a>>, section: &Path<'_>) -> Option<Vec<Field<'a>>> {
    let field = field?;
    let list = field.list(format_args!("[[{section}]] tables, with two brackets"))?;
    if list.is_empty() {
        field.complain(format!("expected at least one [[{section}]], found none"));
    }
    Some(list)
}

/// What workloads may refer to.
struct Context<'a> {
    seed: u64,
    market: &'a Market,
    grid: Grid<'a>,
    users: BTreeMap<&'a str, usize>,
}

/// The kinds of core that there are.
struct Grid<'a> {
    names: &'a [String],
    kinds: BTreeMap<&'a str, Kind>,
    /// The cores of the largest site of each kind.
    largest: Vec<u32>,
}

impl<'a> Grid<'a> {
    fn new(names: &'a [String], sites: &[Site]) -> Grid<'a> {
        let mut largest = vec![0; names.len()];
        for site in sites {
            let largest = &mut largest[usize::from(site.kind.0)];
            *largest = site.cores.max(*largest);
        }
        let kinds = names.iter().zip(0..).map(|(name, number)| (name.as_str(), Kind(number))).collect();
        Grid { names, kinds, largest }
    }

    fn kind(&self, field: &Field<'_>) -> Option<Kind> {
        let names = self.names.iter().map(String::as_str);
        field.choice("a kind of core that a site offers", names, |name| self.kinds.get(name).copied())
    }

    /// The name of a kind and the cores of its largest site; `None` once there are complaints about all sites.
    fn largest(&self, kind: Kind) -> Option<(&str, u32)> {
        let index = usize::from(kind.0);
        Some((self.names.get(index)?, *self.largest.get(index)?))
    }
}

fn by_name(users: &[User]) -> BTreeMap<&str, usize> {
    users.iter().enumerate().map(|(index, user)| (user.name.as_str(), index)).collect()
}

fn check_workloads(fields: &Fields<'_>, context: &Context<'_>) -> Vec<Workload> {
    let field = fields.need("workload", "at least one [[workload]]");
    let tables = tables(field.as_ref(), &Path::root("workload")).unwrap_or_default();
    let tables = tables.iter().filter_map(|field| field.table("a [[workload]] table"));
    let workloads: Vec<Workload> = tables.filter_map(|fields| check_workload(fields, context)).collect();

    let tasks: u64 = workloads.iter().map(|workload| most_tasks(&workload.source)).sum();
    if let Some(field) = field.filter(|_| tasks > u64::from(u32::MAX)) {
        field.complain(format!("expected at most {} tasks in all, found up to {tasks}", u32::MAX));
    }
    workloads
}

fn most_tasks(source: &Source) -> u64 {
    match source {
        Source::Market(generator) => u64::from(generator.jobs) * u64::from(generator.tasks.1),
        Source::Table(table) => table.jobs.iter().map(|job| job.tasks.len() as u64).sum(),
    }
}

fn check_workload(fields: Fields<'_>, context: &Context<'_>) -> Option<Workload> {
    let users = fields.get("users").and_then(|field| check_submitters(&field, context));
    let users = users.unwrap_or_else(|| (0..context.users.len()).collect());
    // Without a source nobody knows which other keys make sense.
    let expected = format!("{}, or an include", any_of(catalog::sources().iter().map(|entry| entry.name)));
    let source = match fields.need("source", &expected)?.entry("a workload source", &catalog::sources())? {
        "market" => Source::Market(check_generator(&fields, context)),
        "table" => Source::Table(check_table(&fields, context)),
        other => unreachable!("the catalogue has a workload source {other} that topologies cannot describe"),
    };
    fields.finish();
    Some(Workload { users, source })
}

fn check_submitters(field: &Field<'_>, context: &Context<'_>) -> Option<Vec<usize>> {
    let list = field.list("a list of users")?;
    if list.is_empty() {
        field.complain("expected at least one user, found none: nobody would submit the jobs");
    }
    let mut users = Vec::with_capacity(list.len());
    let mut seen = vec![false; context.users.len()];
    for field in &list {
        let names = context.users.keys().copied();
        let Some(user) = field.choice("a user", names, |name| context.users.get(name).copied()) else { continue };
        match seen.get_mut(user) {
            Some(seen) if *seen => field.complain("this user is in the list twice"),
            Some(seen) => *seen = true,
            None => {}
        }
        users.push(user);
    }
    Some(users)
}

fn check_generator(fields: &Fields<'_>, context: &Context<'_>) -> Generator {
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(context.seed);
    let jobs = fields.need("jobs", "how many jobs to generate").and_then(|field| field.whole(1..=JOBS_MAX));
    let above_zero = format!("a number above 0, up to {LOAD_MAX}");
    let load = fields.get("load").and_then(|field| field.number(&above_zero, |load| 0.0 < load && load <= LOAD_MAX));
    let load_basis = fields.get("load_basis").and_then(|field| field.word(catalog::LOAD_BASES));
    let tasks = fields.get("tasks").and_then(|field| check_tasks_range(&field)).unwrap_or((5, 20));
    let total_runtime = check_total_runtime(fields, tasks.1, context).unwrap_or(USUAL_RUNTIME);
    let kinds = match fields.get("kinds") {
        Some(field) => check_two_kinds(&field, context),
        None => usual_kinds(fields, context),
    };
    let share = |share: f64| (0.0..=1.0).contains(&share);
    let kind_share = fields.get("kind_share").and_then(|field| field.number("a number from 0 to 1", share));
    let degree_range = format!("a number from 0 to {DEGREE_MAX}");
    let fits = |degree: f64| (0.0..=DEGREE_MAX).contains(&degree);
    let degree = fields.get("degree").and_then(|field| field.number(&degree_range, fits));
    let generator = Generator {
        seed,
        jobs: jobs.unwrap_or(1),
        load: load.unwrap_or(1.0),
        load_basis: load_basis.unwrap_or(LoadBasis::Total),
        tasks,
        total_runtime,
        cores_max: fields.get("cores_max").and_then(|field| field.whole(1..=CORES_MAX)).unwrap_or(100),
        kinds: kinds.unwrap_or([Kind(0); 2]),
        kind_share: kind_share.unwrap_or(0.8),
        degree: degree.unwrap_or(1.0),
    };
    if kinds.is_some() {
        check_widest(fields, &generator, context);
    }
    generator
}

fn check_tasks_range(field: &Field<'_>) -> Option<(u32, u32)> {
    let pair = field.pair("the fewest and the most tasks of a job, such as [5, 20]")?;
    let [Some(fewest), Some(most)] = pair.each_ref().map(|field| field.whole(1..=TASKS_MAX)) else { return None };
    if fewest > most {
        return field.wrong("the smaller number first");
    }
    Some((fewest, most))
}

/// In ticks, as in the paper.
const USUAL_RUNTIME: (u64, u64) = (10, 200_000);

fn check_total_runtime(fields: &Fields<'_>, most_tasks: u32, context: &Context<'_>) -> Option<(u64, u64)> {
    let tick = context.market.tick;
    let ticks = |field: &Field<'_>| {
        let span = field.positive_span()?;
        if !span.micros().is_multiple_of(tick.micros()) {
            return field.wrong(format_args!("whole ticks of the market, which are {tick} long"));
        }
        Some(span.micros() / tick.micros())
    };
    // Each task may be rounded up to a tick.
    let too_long = |longest: u64| {
        u128::from(longest + u64::from(most_tasks)) * u128::from(tick.micros()) > u128::from(LONGEST.micros())
    };

    let expected = "the shortest and the longest total run time of a job, such as [\"10 min\", \"2 d\"]";
    let Some(field) = fields.get("total_runtime") else {
        if too_long(USUAL_RUNTIME.1) {
            fields.missing("total_runtime", &format!("{expected}, as the usual 200000 ticks would take 285 years"));
        }
        return None;
    };
    let pair = field.pair(expected)?;
    let [Some(shortest), Some(longest)] = pair.each_ref().map(ticks) else { return None };
    if shortest > longest {
        return field.wrong("the shorter time first");
    }
    if too_long(longest) {
        return pair[1].wrong(TOO_LONG_A_JOB);
    }
    Some((shortest, longest))
}

const TOO_LONG_A_JOB: &str = "tasks that take less than 285 years together";

fn check_two_kinds(field: &Field<'_>, context: &Context<'_>) -> Option<[Kind; 2]> {
    let [usual, other] = field.pair("the usual kind of core and the other one")?;
    Some([context.grid.kind(&usual)?, context.grid.kind(&other)?])
}

fn usual_kinds(fields: &Fields<'_>, context: &Context<'_>) -> Option<[Kind; 2]> {
    match context.grid.names.len() {
        0 => None,
        1 => Some([Kind(0), Kind(0)]),
        2 => Some([Kind(0), Kind(1)]),
        more => {
            fields.missing("kinds", &format!("which two of the {more} kinds of core the tasks use"));
            None
        }
    }
}

/// If jobs that fit nowhere are errors, no task may come out too wide.
fn check_widest(fields: &Fields<'_>, generator: &Generator, context: &Context<'_>) {
    if context.market.unplaceable != Unplaceable::Error {
        return;
    }
    let share = generator.kind_share;
    for (kind, used) in generator.kinds.into_iter().zip([share > 0.0, share < 1.0]) {
        let Some((name, largest)) = context.grid.largest(kind).filter(|_| used) else { continue };
        let widest = generator.cores_max;
        if widest > largest {
            let message = format!("tasks may want {widest} cores, and the largest site of kind {name} has {largest}");
            match fields.get("cores_max") {
                Some(field) => fields.findings().add(field.complaint(message).hint(REFUSE)),
                None => fields.findings().add(fields.complaint("cores_max", message).hint(REFUSE)),
            }
            return;
        }
    }
}

const REFUSE: &str = "with `market.unplaceable = \"refuse\"` jobs that fit nowhere are refused, and the run goes on";

fn check_table(fields: &Fields<'_>, context: &Context<'_>) -> table::Table {
    let mut jobs = Vec::new();
    let Some(field) = fields.need("job", "at least one [[workload.job]]") else { return table::Table { jobs } };
    let list = tables(Some(&field), &Path::root("workload").key("job")).unwrap_or_default();
    let mut before = Time::ZERO;
    for fields in list.iter().filter_map(|field| field.table("a table that describes a job")) {
        let job = check_job(&fields, before, context);
        before = before.max(job.arrive);
        jobs.push(job);
        fields.finish();
    }
    table::Table { jobs }
}

fn check_job(fields: &Fields<'_>, before: Time, context: &Context<'_>) -> table::Entry {
    let arrive = fields.get("arrive").and_then(|field| {
        let arrive = Time::ZERO + field.span()?;
        if arrive < before {
            return field.wrong("jobs in order of arrival");
        }
        Some(arrive)
    });
    let tasks = fields.need("tasks", "a list of tasks").map(|field| check_tasks(&field, context)).unwrap_or_default();
    let edges = fields.get("edges").and_then(|field| check_edges(&field, tasks.len()));
    let worth = fields.get("worth").and_then(|field| check_worth(&field));
    table::Entry { arrive: arrive.unwrap_or(before), tasks, edges: edges.unwrap_or_default(), worth }
}

fn check_tasks(field: &Field<'_>, context: &Context<'_>) -> Vec<Task> {
    let Some(list) = field.list("a list of tasks") else { return Vec::new() };
    if list.is_empty() || list.len() > TASKS_MAX as usize {
        field.complain(format!("expected from 1 to {TASKS_MAX} tasks, found {}", list.len()));
    }
    let expected = "a task such as { runtime = \"6 min\", cores = 3 }";
    let tasks: Vec<Task> = list
        .iter()
        .map(|field| {
            let task = field.table(expected).and_then(|fields| {
                let task = check_task(&fields, context);
                fields.finish();
                task
            });
            // Keeps the numbers of the others, which edges refer to.
            task.unwrap_or(Task { runtime: Span::ZERO, cores: 1, kind: Kind(0) })
        })
        .collect();
    if tasks.iter().map(|task| task.runtime).fold(Span::ZERO, Span::saturating_add) > LONGEST {
        field.wrong::<()>(TOO_LONG_A_JOB);
    }
    tasks
}

fn check_task(fields: &Fields<'_>, context: &Context<'_>) -> Option<Task> {
    let runtime = fields.need("runtime", "how long the task runs").and_then(|field| field.positive_span());
    let cores_field = fields.need("cores", "how many cores the task uses");
    let cores = cores_field.as_ref().and_then(|field| field.whole(1..=CORES_MAX));
    let kind = match fields.get("kind") {
        Some(field) => context.grid.kind(&field),
        None if context.grid.names.len() > 1 => {
            let kinds = any_of(context.grid.names.iter().map(String::as_str));
            fields.missing("kind", &format!("the kind of core that the task needs: {kinds}"));
            None
        }
        None => Some(Kind(0)),
    };
    let (runtime, cores, kind) = (runtime?, cores?, kind?);
    if let (Unplaceable::Error, Some((name, largest))) = (context.market.unplaceable, context.grid.largest(kind))
        && cores > largest
    {
        let message = format!("the task wants {cores} cores, and the largest site of kind {name} has {largest}");
        fields.findings().add(cores_field?.complaint(message).hint(REFUSE));
    }
    Some(Task { runtime, cores, kind })
}

fn check_edges(field: &Field<'_>, tasks: usize) -> Option<Vec<Edge>> {
    let list = field.list("a list of pairs of tasks, such as [[0, 1]]")?;
    if list.len() > EDGES_MAX {
        return field.wrong(format_args!("at most {EDGES_MAX} edges"));
    }
    let last = u32::try_from(tasks.saturating_sub(1)).unwrap_or(u32::MAX);
    let mut found: BTreeMap<Edge, usize> = BTreeMap::new();
    for (number, field) in list.iter().enumerate() {
        let Some([from, to]) = field.pair("a task and one that needs its output, such as [0, 1]") else { continue };
        let [Some(from), Some(to)] = [from, to].map(|end| end.whole_of("the number of a task,", 0..=last)) else {
            continue;
        };
        let edge = Edge { from, to };
        if found.insert(edge, number).is_some() {
            field.complain(format!("the edge from {from} to {to} is in the list twice"));
        }
    }

    let edges: Vec<Edge> = found.keys().copied().collect();
    if let Some(circle) = circle(tasks, &edges) {
        let circle: Vec<String> = circle.iter().map(u32::to_string).collect();
        field.complain(format!("tasks wait for each other in a circle: {}", circle.join(" -> ")));
        return None;
    }
    for (Edge { from, to }, number) in found.iter().filter(|(edge, _)| edge.from > edge.to) {
        list[*number].complain(format!("task {to} needs task {from}, so {from} must come ahead of it in the list"));
    }
    Some(edges)
}

/// Some tasks that need each other, the first again at the end.
fn circle(tasks: usize, edges: &[Edge]) -> Option<Vec<u32>> {
    let mut waits_for = vec![0u32; tasks];
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); tasks];
    for Edge { from, to } in edges {
        waits_for[*to as usize] += 1;
        next[*from as usize].push(*to);
    }
    let mut ready: Vec<usize> = (0..tasks).filter(|&task| waits_for[task] == 0).collect();
    while let Some(task) = ready.pop() {
        for &to in &next[task] {
            waits_for[to as usize] -= 1;
            if waits_for[to as usize] == 0 {
                ready.push(to as usize);
            }
        }
    }

    // Whoever still waits, waits for somebody who does: going back long enough leads round.
    let stuck = |task: &u32| waits_for[*task as usize] > 0;
    let mut back: BTreeMap<u32, u32> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| stuck(&edge.from) && stuck(&edge.to)) {
        back.entry(edge.to).or_insert(edge.from);
    }
    let mut at = *back.keys().next()?;
    let mut way = vec![at];
    loop {
        at = back[&at];
        if let Some(start) = way.iter().position(|task| *task == at) {
            way.push(at);
            way.drain(..start);
            way.reverse();
            return Some(way);
        }
        way.push(at);
    }
}

fn check_worth(field: &Field<'_>) -> Option<Worth> {
    let fields = field.table("a table such as { max = 100.0, initial = 2.0, final = 6.0 }")?;
    let finite = |field: Field<'_>| field.number("a number", f64::is_finite);
    let max = fields.need("max", "the value of an early result");
    let max = max.and_then(|field| field.number("a number that is not negative", |max| max.is_finite() && max >= 0.0));
    let initial = fields.need("initial", "the SLR until which a result has its full value").and_then(finite);
    let final_ = fields.need("final", "the SLR from which on a result has no value").and_then(finite);
    let points = fields.get("points");
    let points = points.as_ref().and_then(|field| field.list("a list of points, such as [[3.0, 0.8]]"));
    let points = points.unwrap_or_default();
    let pairs: Vec<Option<(f64, f64)>> = points
        .iter()
        .map(|field| {
            let [slr, value] = field.pair("an SLR and the share of the value there, such as [3.0, 0.8]")?;
            finite(slr).zip(finite(value))
        })
        .collect();
    fields.finish();
    let pairs = pairs.into_iter().collect::<Option<Vec<(f64, f64)>>>()?;

    match Curve::new(initial?, final_?, &pairs) {
        Ok(curve) => Some(Worth { max: max?, curve }),
        Err(error) => {
            let point = match error {
                CurveError::OutOfRange { point, .. }
                | CurveError::Unsorted { point, .. }
                | CurveError::Increasing { point, .. } => points.get(point - 1),
                CurveError::NonFinite(_) | CurveError::BadDeadlines { .. } => None,
            };
            point.unwrap_or(field).complain(error.to_string());
            None
        }
    }
}
