//! Table `[[site]]`: a cluster of nodes, and the `[defaults]` of all sites.

mod kinds;
mod multifactor;
mod reserved;
mod scheduler;
mod systems;

use kinds::{KindName, Kinds};
pub use multifactor::multifactor_text;
use multifactor::walk_multifactor;
use scheduler::{Scheduler, site_schedulers, takes_managers};

use super::names::{FreshName, TakenNames};
use super::programs::{ProgramGaps, walk_program};
use super::{latency_key, table_names, walk_count};
use crate::grid::{Program, QueueOrder, SlurmCluster, Speed, Terms};
use crate::settings::limits::CORES_MAX;
use crate::settings::{
    Diagnostic, Field, Fields, FormExt, LATENCY, Layout, Maybe, Millionths, NAME, Purpose, Rate, SPAN, Unless, Walk,
    any_of, key,
};
use crate::systems::managers::ProgramProtocol;
use crate::systems::{ALL, Service, SystemRow, find_host, managers};
use crate::topology::Site;

/// A site as written in its table, or the defaults of all sites.
#[derive(Clone)]
pub struct Described {
    /// The site, without cores, scheduler and systems unless they are specified.
    pub site: Site,
    /// Name of its kind; empty unless specified.
    pub kind: String,
    /// True if the memory of its nodes is specified.
    pub has_memory: bool,
}

/// Scope of the keys of sites.
pub struct SiteScope<'a> {
    pub systems: &'a [&'static SystemRow],
    pub names: &'a TakenNames,
    /// True if a site specifies its kind of core, so that all must.
    pub some_kind: bool,
    /// True for the defaults of all sites.
    pub defaults: bool,
}

impl Described {
    pub fn with_defaults() -> Described {
        Described { site: Site::with_defaults(), kind: String::new(), has_memory: false }
    }

    pub fn walk(&mut self, known: &SiteScope<'_>, w: &mut dyn Walk) {
        self.walk_identity(known, w);
        let rows = known.rows(&self.site.systems);
        self.walk_speed(&rows, w);
        self.walk_scheduler(&rows, known, w);
        let site = &mut self.site;
        w.set(latency_key(), &mut site.latency, LATENCY);
        let report_every = key("report_every", "ended tasks are reported at multiples of this; 0 s is at once");
        w.set(report_every, &mut site.report_every, SPAN);
        for row in ALL {
            (row.own.site)(site, rows.iter().any(|its| its.key == row.key), w);
        }
        walk_reserved(site, &rows, w);
        walk_priorities(site, &rows, known.defaults, w);
    }

    /// Walks name, size and systems.
    fn walk_identity(&mut self, known: &SiteScope<'_>, w: &mut dyn Walk) {
        let Described { site, kind, .. } = self;
        if !known.defaults {
            w.set(key("name", "").need(NAME), &mut site.name, FreshName { names: known.names, what: "site" });
            walk_count(w);
        }
        let cores = key("cores", "")
            .means("the number of cores of the site")
            .need_unless(known.defaults || site.cores > 0, "the number of cores of the site");
        w.set(cores, &mut site.cores, Unless(1..=CORES_MAX, 0));
        let about = "the kind of its cores, which tasks may require; either all sites name theirs or none does";
        let kind_key = key("kind", "").means(about).usual("`\"any\"`");
        let need = known.some_kind && kind.is_empty() && !known.defaults;
        w.set(
            if need { kind_key.need("a kind of core, as other sites name theirs") } else { kind_key },
            kind,
            KindName,
        );
        systems::walk_site_systems(&mut site.systems, known.systems, known.defaults, w);
    }

    fn walk_speed(&mut self, rows: &[&'static SystemRow], w: &mut dyn Walk) {
        let has_speeds = rows.iter().any(|row| row.traits.has_speeds);
        let speed =
            key("speed", "divisor of the times of workflows' tasks and of reservations; other jobs run at speed 1")
                .only_if(has_speeds, speed_reason());
        let above_zero =
            Millionths::above_zero(SPEED_MAX).with_condition("a speed above zero", |speed: &u64| *speed > 0);
        w.set(speed, &mut self.site.speed_millionths, above_zero);
    }

    /// Walks the scheduler and its parameters.
    fn walk_scheduler(&mut self, rows: &[&'static SystemRow], known: &SiteScope<'_>, w: &mut dyn Walk) {
        let Described { site, has_memory, .. } = self;
        let is_shared = site.systems.len() > 1;
        let scheduler = key("scheduler", "the policy by which a site schedules its work")
            .usual("the first of those that fit its system");
        let usual = site.scheduler.clone();
        w.set(
            scheduler,
            &mut site.scheduler,
            Scheduler {
                fitting: site_schedulers(&ruling_systems(rows, is_shared)),
                rows,
                systems: known.systems,
                is_shared,
            },
        );
        let queues = orders_queue(rows, site);
        let order = key("order", "order in which the queue is considered; jobs of one rank in order of arrival");
        w.set(order.only_if(queues, order_reason()), &mut site.order, QueueOrder::ALL);
        let shares_nodes = managers::shares_nodes(&site.scheduler);
        // An unreadable name has already been reported.
        let is_lost = site.scheduler == usual && w.written_fields().is_some_and(|fields| fields.has("scheduler"));
        let could = site.systems.len() == 1 && takes_managers(rows);
        // The memory of a node has no effect under a queue, but is not wrong there.
        let is_allowed = match w.walk_purpose() {
            Purpose::List => true,
            Purpose::Write => shares_nodes,
            Purpose::Read => shares_nodes || is_lost || could || known.defaults && takes_managers(rows),
        };
        let about = "memory of a node, in GB; used to compute how much memory is moved with jobs";
        let why = "expected also a scheduler under which jobs share nodes, such as \"GreedyPM */per\"";
        let memory = key("memory_gb", about).only_if(is_allowed, why);
        let above_zero =
            Millionths::above_zero(MEMORY_MAX).with_condition("a number of GB above zero", |memory: &u64| *memory > 0);
        w.set(memory, &mut site.memory_kb, above_zero);
        let about = "at which rate the images of a job's tasks move when it is resumed or moved";
        let images = key("image_bandwidth", about).usual("only the penalty counts").only_if(is_allowed, why);
        w.set(images, &mut site.image_bandwidth, Maybe(Rate));
        if let Some(fields) = w.written_fields() {
            *has_memory |= fields.has("memory_gb");
            if shares_nodes && site.image_bandwidth.is_some() && !*has_memory && !known.defaults {
                fields.missing("memory_gb", "how much memory a node has, as there is an image_bandwidth");
            }
        }
        let open = ProgramGaps { is_lost, defaults: known.defaults, could };
        walk_program(&mut site.program, managers::program_protocol(&site.scheduler), open, w);
    }
}

fn speed_reason() -> String {
    format!("leave speed out: only sites under a {} may differ in speed", table_names(|row| row.traits.has_speeds))
}

fn order_reason() -> String {
    let tables = table_names(|row| row.traits.orders_queue);
    format!("expected a queue to order: one of the policies for queues of a {tables} as the scheduler")
}

impl SiteScope<'_> {
    /// Drops defaults that are meaningless under the systems of a site.
    fn fit(&self, site: &mut Site) {
        let rows = self.rows(&site.systems);
        let is_shared = site.systems.len() > 1;
        let ruling = ruling_systems(&rows, is_shared);
        let fitting = site_schedulers(&ruling);
        let is_managed = !is_shared && takes_managers(&rows) && managers::find_kind(&site.scheduler).is_some();
        if !is_managed && !fitting.iter().any(|named| named.name == site.scheduler) {
            site.scheduler = fitting.first().map_or("", |named| named.name).to_owned();
        }
        if !rows.iter().any(|row| row.traits.has_speeds) {
            site.speed_millionths = Speed::USUAL.0;
        }
        if !managers::shares_nodes(&site.scheduler) {
            (site.memory_kb, site.image_bandwidth) = (Site::USUAL_MEMORY, None);
        }
        if is_managed || !ruling.iter().any(|row| row.traits.has_reserved) {
            site.reserved.clear();
        }
        if !orders_queue(&rows, site) {
            site.order = QueueOrder::Arrival;
        }
        if site.order != QueueOrder::Multifactor {
            site.multifactor = None;
        }
        let usual = Program::default();
        site.program = match managers::program_protocol(&site.scheduler) {
            None => usual,
            Some(ProgramProtocol::Slurm) => Program { slurm: std::mem::take(&mut site.program.slurm), ..usual },
            Some(ProgramProtocol::Lines | ProgramProtocol::Batsim) => {
                Program { slurm: usual.slurm, ..std::mem::take(&mut site.program) }
            }
        };
        if !rows.iter().any(|row| row.traits.has_terms) {
            site.terms = Terms::default();
        }
    }

    /// Systems of a site; all of them if none are specified.
    fn rows(&self, systems: &[usize]) -> Vec<&'static SystemRow> {
        match systems {
            [] => self.systems.to_vec(),
            systems => systems.iter().map(|system| self.systems[*system]).collect(),
        }
    }
}

fn walk_reserved(site: &mut Site, rows: &[&'static SystemRow], w: &mut dyn Walk) {
    let shares_nodes = managers::shares_nodes(&site.scheduler);
    let is_outside = managers::program_protocol(&site.scheduler).is_some();
    let ruling = ruling_systems(rows, site.systems.len() > 1);
    let reserves = ruling.iter().any(|row| row.traits.has_reserved);
    let why = match (shares_nodes, is_outside) {
        (true, _) => "expected nothing reserved: schedulers of shared nodes do not plan around it".to_owned(),
        (_, true) => "expected nothing reserved: an external program does not know of it".to_owned(),
        _ => {
            let tables = table_names(|row| row.traits.has_reserved);
            // A system that could plan around reserved nodes uses the site, but does not run it.
            match ruling.first().filter(|_| rows.iter().any(|row| row.traits.has_reserved)) {
                Some(host) => format!(
                    "expected nothing reserved: only a {tables} plans around it, and [{}] runs this site",
                    host.key
                ),
                None => format!("expected nothing reserved: only sites under a {tables} plan around it"),
            }
        }
    };
    let reserved = key("reserved", "").means("nodes that are kept from jobs for some time");
    // An empty list is right everywhere.
    let has_none = w
        .written_fields()
        .and_then(|fields| fields.get("reserved"))
        .is_some_and(|field| field.list_items().is_some_and(|list| list.is_empty()));
    let reserved = reserved.only_if(has_none || reserves && !shares_nodes && !is_outside, why);
    let reserved = reserved.expects(reserved::EXPECTED).each(reserved::EXPECTED);
    w.rows(reserved, Layout::Lines, &mut site.reserved, reserved::empty_reservation, reserved::walk_reservation);
    if let Some(fields) = w.written_fields() {
        reserved::check_reserved(fields, site);
    }
}

/// Walks the weights and accounts of the order `multifactor`. The table may stay while another order, or a scheduler
/// that is no queue, is chosen, as in a comparison of both.
fn walk_priorities(site: &mut Site, rows: &[&'static SystemRow], defaults: bool, w: &mut dyn Walk) {
    let is_ranked = site.order == QueueOrder::Multifactor;
    let fits = match w.walk_purpose() {
        Purpose::List => true,
        Purpose::Write => is_ranked,
        Purpose::Read => rows.iter().any(|row| row.traits.orders_queue),
    };
    let about = "weights and accounts of the order `multifactor`, as in `slurm.conf` (docs/queues.md)";
    let table = key("multifactor", "").means(about).usual("none").only_if(fits, order_reason());
    let table = table.expects("a table such as { age = 1000, fair_share = 10000 }");
    let written = &mut site.multifactor;
    w.maybe(table, Layout::Section("site.multifactor"), written, Box::default, |rules, w| walk_multifactor(rules, w));
    if let Some(fields) = w.written_fields().filter(|_| is_ranked && !defaults)
        && !fields.has("multifactor")
        && site.multifactor.is_none()
    {
        fields
            .missing("multifactor", "its weights, such as { age = 1000, fair_share = 10000 }, or a `slurm` with them");
    }
}

/// True if a policy for queues whose order can be chosen runs the site, or may run sites of these defaults.
fn orders_queue(rows: &[&'static SystemRow], site: &Site) -> bool {
    let ruling = ruling_systems(rows, site.systems.len() > 1);
    ruling.iter().any(|row| row.traits.orders_queue) && managers::find_kind(&site.scheduler).is_none()
}

/// The systems that run a site, out of those that use it: of several, only the host.
fn ruling_systems<'r>(rows: &[&'r SystemRow], is_shared: bool) -> Vec<&'r SystemRow> {
    let host = find_host(rows.iter().copied()).filter(|_| is_shared);
    host.map_or_else(|| rows.to_vec(), |host| vec![host])
}

const SPEED_MAX: u64 = 1_000_000;
const MEMORY_MAX: u64 = 1_000_000;

/// Reads all sites and their kinds of core.
pub fn read_sites(
    systems: &[Service],
    defaults: Option<&Fields<'_>>,
    names: &TakenNames,
    root: &Fields<'_>,
    w: &mut dyn Walk,
) -> (Vec<Site>, Vec<String>) {
    let rows: Vec<&SystemRow> = systems.iter().map(|system| system.system_row()).collect();
    let mut usual = Described::with_defaults();
    let mut known = SiteScope { systems: &rows, names, some_kind: false, defaults: true };
    let written = defaults.and_then(|all| all.get("site"));
    if let Some(fields) = written.as_ref().and_then(|field| field.table("a table of defaults")) {
        usual.walk(&known, &mut crate::settings::Reader::new(&fields));
        fields.finish();
    }
    known.defaults = false;
    let field = root.get("site");
    let tables = field.as_ref().and_then(Field::list_items).unwrap_or_default();
    known.some_kind =
        !usual.kind.is_empty() || tables.iter().filter_map(Field::as_table).any(|table| table.get("kind").is_some());

    let mut described: Vec<Described> = Vec::new();
    walk_sites(&mut described, &usual, &known, w);
    let mut kinds = Kinds::default();
    let mut sites = Vec::with_capacity(described.len());
    let mut idle = Vec::new();
    for Described { mut site, kind, has_memory } in described {
        let has_more = has_memory && !usual.has_memory || site.image_bandwidth != usual.site.image_bandwidth;
        known.fit(&mut site);
        if has_more && !managers::shares_nodes(&site.scheduler) {
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
        check_shared(field, &sites, systems);
        if !idle.is_empty() {
            let names = any_of(idle.iter().map(String::as_str)).replace(" or ", " and ");
            let keys = "memory_gb and image_bandwidth have no effect at";
            field.diagnostics().note(format!("{keys} {names}: jobs share no nodes there, and are not moved"));
        }
    }
    (sites, kinds.names)
}

/// Walks `[[site]]`.
pub fn walk_sites(sites: &mut Vec<Described>, usual: &Described, known: &SiteScope<'_>, w: &mut dyn Walk) {
    let site = key("site", "").means("a site: a cluster of nodes").need("at least one [[site]]").by_name();
    w.rows(site, Layout::Sections("site"), sites, || usual.clone(), |site, w| site.walk(known, w));
}

/// Reason why the cores of a site do not make a Slurm cluster, and the key to change.
fn slurm_misfit(site: &Site) -> Option<(&'static str, String)> {
    let is_slurm = managers::program_protocol(&site.scheduler) == Some(ProgramProtocol::Slurm);
    if !is_slurm || !site.program.slurm.site.is_empty() {
        return None;
    }
    let cores = site.cores;
    let nodes = site.program.slurm.nodes;
    let most = SlurmCluster::NODES_MAX;
    if nodes == 0 && cores > most {
        let share = (1..=most).rev().find(|nodes| cores.is_multiple_of(*nodes)).unwrap_or(1);
        return Some((
            "slurm",
            format!(
                "expected slurm = {{ nodes = {share} }} for {cores} cores, or the like: Slurm manages at most {most} \
                 nodes here, a node a core unless `nodes` is given"
            ),
        ));
    }
    (nodes > 0 && !cores.is_multiple_of(nodes))
        .then(|| ("slurm.nodes", format!("expected a number of nodes that divides {cores} cores, found {nodes}")))
}

/// Checks that no other system uses a site that offers its cores, as its offers would know of one system only.
fn check_shared(field: &Field<'_>, sites: &[Site], systems: &[Service]) {
    for (site, field) in sites.iter().zip(&field.list_items().unwrap_or_default()) {
        let mut uses = site.systems.iter().map(|system| &systems[*system]);
        let Some(service) = uses.find(|system| system.offers_every().is_some()).filter(|_| site.systems.len() > 1)
        else {
            continue;
        };
        let key = service.system_row().key;
        let table = field.as_table();
        let location = table.as_ref().and_then(|table| table.get("system")).map_or(field.location(), |at| at.location);
        let message = format!(
            "expected [{key}] alone: its clearing is \"messages\", and a site that another system uses too sends no offers"
        );
        field.diagnostics().add(Diagnostic::new(location, format!("site.{}.system", site.name), message));
    }
}

/// Checks that need all sites, or the final state of each.
fn check_all(field: &Field<'_>, sites: &[Site], rows: &[&SystemRow]) {
    let tables = field.list_items().unwrap_or_default();
    for (site, field) in sites.iter().zip(&tables) {
        let last = site.reserved.iter().filter_map(|reserved| reserved.nodes.runs().last()).map(|run| run.1).max();
        if last.is_some_and(|last| last >= site.cores) {
            let last = last.unwrap_or_default();
            let message = format!(
                "expected nodes from 0 to {}, as the site has {}, found node {last}",
                site.cores.saturating_sub(1),
                site.cores
            );
            let reserved = field.as_table().and_then(|table| table.get("reserved")).map(|node| node.location);
            let location = reserved.unwrap_or(field.location());
            field.diagnostics().add(Diagnostic::new(location, format!("site.{}.reserved", site.name), message));
        }
    }
    for (site, field) in sites.iter().zip(&tables) {
        let Some((key, message)) = slurm_misfit(site) else { continue };
        let table = field.as_table();
        let written = table.as_ref().and_then(|table| table.get("slurm").or_else(|| table.get("cores")));
        let location = written.map_or(field.location(), |written| written.location);
        field.diagnostics().add(Diagnostic::new(location, format!("site.{}.{key}", site.name), message));
    }
    for (number, row) in rows.iter().enumerate() {
        let its = sites.iter().filter(|site| site.systems.contains(&number));
        let cores: u64 = its.map(|site| u64::from(site.cores)).sum();
        if cores > row.cores_max {
            field.complain(format!("expected at most {} cores under a [{}], found {cores}", row.cores_max, row.key));
        }
    }
}
