//! Table `[[workload]]`: jobs, their users, and their system.

use super::{Parts, system_context};
use crate::grid::Site;
use crate::settings::{
    Context, Field, Fields, FilePath, Form, Layout, List, Location, Maybe, NameIndex, OneOf, Registered, Shape, Unless,
    Walk, Word, any_of, format_counted, key, quote_text,
};
use crate::systems::{self, Service, SystemRow};
use crate::topology::Workload;
use crate::workload::{self, Source};

/// Largest number of jobs in a round of the users of a workload.
const TURNS_MAX: u32 = 1_000;

/// A workload as written in its table; the source is None until it is read.
pub struct WrittenWorkload {
    name: String,
    users: Vec<usize>,
    shares: Vec<u32>,
    system: usize,
    source: Option<Source>,
    location: Option<Location>,
}

/// Scope of the keys of workloads: the context of the jobs of each system.
pub struct WorkloadScope<'a> {
    systems: &'a [Service],
    contexts: Vec<Context<'a>>,
    /// True for each system with a site; None if the sites have errors.
    housed: Option<Vec<bool>>,
    /// True if there may be no workloads.
    idle: bool,
}

impl<'a> WorkloadScope<'a> {
    pub fn of_parts(parts: &Parts<'a>) -> WorkloadScope<'a> {
        let contexts = (0..parts.systems.len()).map(|system| system_context(parts, system)).collect();
        WorkloadScope { systems: parts.systems, contexts, housed: None, idle: false }
    }

    /// Adds the sites, if they have no errors.
    pub fn with_sites(self, sites: &[Site]) -> WorkloadScope<'a> {
        WorkloadScope {
            housed: Some(
                (0..self.systems.len()).map(|system| sites.iter().any(|site| site.systems.contains(&system))).collect(),
            ),
            ..self
        }
    }

    /// Allows a grid without workloads.
    pub fn allowing_no_workload(self, idle: bool) -> WorkloadScope<'a> {
        WorkloadScope { idle, ..self }
    }

    /// A scope for lists of keys, without a grid.
    pub fn without_grid(systems: &'a [Service]) -> WorkloadScope<'a> {
        let contexts = systems.iter().map(|_| Context::without_grid()).collect();
        WorkloadScope { systems, contexts, housed: None, idle: false }
    }

    /// True unless the system is known to have no sites.
    fn has_sites(&self, system: usize) -> bool {
        self.housed.as_ref().is_none_or(|housed| housed[system])
    }

    fn users(&self) -> &NameIndex<'a> {
        &self.contexts[0].users
    }
}

/// Reads all workloads, with their locations.
pub fn read_workloads(known: &WorkloadScope<'_>, root: &Fields<'_>, w: &mut dyn Walk) -> Vec<(Workload, Location)> {
    let mut written = Vec::new();
    walk_workloads(&mut written, known, w);
    let workloads: Vec<(Workload, Location)> = written.into_iter().filter_map(complete_workload).collect();

    let tasks: u64 = workloads.iter().map(|(workload, _)| workload.source.job_source().tasks_in_all()).sum();
    if let Some(field) = root.get("workload").filter(|_| tasks > u64::from(u32::MAX)) {
        field.complain(format!("expected at most {} tasks in all, found up to {tasks}", u32::MAX));
    }
    workloads
}

fn complete_workload(written: WrittenWorkload) -> Option<(Workload, Location)> {
    let WrittenWorkload { users, shares, system, source, location, .. } = written;
    Some((Workload { users, shares, system, source: source? }, location?))
}

pub fn write_workloads(workloads: &[Workload], known: &WorkloadScope<'_>, w: &mut dyn Walk) {
    walk_workloads(
        &mut workloads
            .iter()
            .map(|workload| {
                let Workload { users, shares, system, source } = workload.clone();
                WrittenWorkload {
                    name: source.job_source().source_name().to_owned(),
                    users,
                    shares,
                    system,
                    source: Some(source),
                    location: None,
                }
            })
            .collect(),
        known,
        w,
    );
}

pub fn walk_workloads(workloads: &mut Vec<WrittenWorkload>, known: &WorkloadScope<'_>, w: &mut dyn Walk) {
    let all = 0..known.users().len();
    let usual = || WrittenWorkload {
        name: String::new(),
        users: all.clone().collect(),
        shares: Vec::new(),
        system: 0,
        source: None,
        location: None,
    };
    let workload = key("workload", "").means("jobs, and the users who submit them");
    let workload = workload.need_unless(known.idle, "at least one [[workload]]");
    w.rows(workload, Layout::Sections("workload"), workloads, usual, |workload, w| workload.walk(known, w));
}

impl WrittenWorkload {
    fn walk(&mut self, known: &WorkloadScope<'_>, w: &mut dyn Walk) {
        self.location = w.written_fields().map(Fields::location);
        let include = key("include", "").means("a file with keys of this table; keys given here take precedence");
        w.key_read_elsewhere(&include.usual("none").holds_the_rest(), FilePath("").value_shape());
        // Without a source, the other keys cannot be checked.
        let names = any_of(workload::ALL.iter().map(|row| row.name));
        let words = workload::ALL.iter().map(|row| Word::new(row.name, row.about)).collect();
        let source = key("source", "the origin of the jobs").need(format!("{names}, or an include"));
        w.set(source, &mut self.name, SourceName(Registered { what: "a workload source", words }));
        let chosen = workload::ALL.iter().position(|row| row.name == self.name);
        if w.reads() {
            self.walk_users(known, w);
            let Some(chosen) = chosen else {
                // Other keys may be right or wrong.
                w.written_fields().into_iter().for_each(Fields::allow_unknown_keys);
                return;
            };
            self.walk_system(chosen, known, w);
        } else {
            self.walk_system(chosen.unwrap_or_default(), known, w);
            self.walk_users(known, w);
        }

        // For a system without sites, no other errors are reported.
        let unknown = Context::without_grid();
        let context = if known.has_sites(self.system) { &known.contexts[self.system] } else { &unknown };
        let words: Vec<&str> = workload::ALL.iter().map(|row| row.name).collect();
        let source = &mut self.source;
        w.walk_variants("source", &words, chosen, &mut |number, w| match source.as_mut().filter(|_| w.writes()) {
            Some(source) => source.job_source_mut().walk_settings(w, context),
            None => *source = Some((workload::ALL[number].read)(w, context)),
        });
        if let Some(fields) = w.written_fields() {
            self.check(fields, known);
        }
    }

    fn walk_users(&mut self, known: &WorkloadScope<'_>, w: &mut dyn Walk) {
        // The list of all users, of which there may be thousands, is the default and is not written.
        if w.writes() && self.users.iter().copied().eq(0..known.users().len()) {
            w.write_remark("users: all");
        } else {
            let users = key("users", "").means("the users who submit the jobs, in turns").usual("all users");
            w.set(users, &mut self.users, Users { names: known.users() });
        }
        let shares = key("shares", "the jobs that each of its users submits in a round, in the order of the users");
        let each = List(1..=TURNS_MAX, "a list of whole numbers, one per user");
        w.set(shares.usual("one each"), &mut self.shares, Unless(each, Vec::new()));
        let Some(field) = w.written_fields().and_then(|fields| fields.get("shares")) else { return };
        let users = self.users.len();
        let shares = self.shares.len();
        let turns: u64 = self.shares.iter().copied().map(u64::from).sum();
        if shares != users {
            field.complain(format!(
                "expected one number for each of {}, found {shares}",
                format_counted(users as u64, "user")
            ));
        } else if turns > u64::from(TURNS_MAX) {
            field.complain(format!(
                "expected a sum of at most {TURNS_MAX}, found {turns}: shares of 90 and 10 are 9 and 1"
            ));
        }
    }

    /// Sets the system of a workload: the configured one, or the only one that accepts jobs of the source.
    fn walk_system(&mut self, chosen: usize, known: &WorkloadScope<'_>, w: &mut dyn Walk) {
        if w.writes() && known.systems.len() == 1 {
            return;
        }
        let name = workload::ALL[chosen].name;
        let takes = |row: &SystemRow| row.all_sources().any(|source| source == name);
        let keys: NameIndex<'_> = known.systems.iter().map(|system| system.system_row().key).collect();
        let about = "the system that the jobs go to, by the name of its table";
        let system = key("system", "the system that its jobs go to")
            .means(about)
            .usual("the only system that accepts such jobs");
        let mut written = if w.reads() { None } else { Some(self.system) };
        w.set(system, &mut written, Maybe(OneOf { what: "a system of this topology", names: &keys }));
        let Some(fields) = w.written_fields() else { return };
        if written.is_none() && fields.has("system") {
            // An unknown name has already been reported.
            return;
        }
        self.system = written.unwrap_or_else(|| {
            let of = |takes: &dyn Fn(&SystemRow) -> bool| -> Vec<usize> {
                (0..known.systems.len()).filter(|at| takes(known.systems[*at].system_row())).collect()
            };
            let taking = Some(of(&|row: &SystemRow| row.sources.contains(&name)))
                .filter(|home| !home.is_empty())
                .unwrap_or_else(|| of(&takes));
            if taking.len() > 1 {
                let keys = any_of(taking.iter().map(|at| known.systems[*at].system_row().key));
                fields.missing("system", &format!("which system these jobs go to: {keys}"));
            }
            taking.first().copied().unwrap_or(0)
        });
        let row = known.systems[self.system].system_row();
        if let Some(field) = fields.get("source").filter(|_| !takes(row)) {
            let takers = systems::ALL.iter().filter(|row| takes(row));
            let takers: Vec<String> = takers.map(|row| format!("[{}]", row.key)).collect();
            let fitting = any_of(row.all_sources());
            let takers = any_of(takers.iter().map(String::as_str));
            field.complain(format!(
                "expected {fitting}, which a [{}] accepts; jobs of source {} need a {takers} table in the topology",
                row.key, self.name
            ));
        } else if !known.has_sites(self.system)
            && let Some(field) = fields.get("system").or_else(|| fields.get("source"))
        {
            field.complain(format!("no site is used by [{0}]: expected a [[site]] with system = \"{0}\"", row.key));
        }
    }

    fn check(&self, fields: &Fields<'_>, known: &WorkloadScope<'_>) {
        let row = known.systems[self.system].system_row();
        if let Some(Source::Table(table)) = &self.source
            && row.traits.is_rigid
            && table.jobs.iter().any(|job| job.tasks.len() > 1)
            && let Some(field) = fields.get("source")
        {
            field.complain(format!("expected jobs of one task each: a [{}] accepts no others", row.key));
        }
    }
}

/// Form of the name of a source, with a hint for names of batch systems: the source that reads their logs.
#[derive(Clone, Debug)]
struct SourceName(Registered);

const BATCH_SYSTEMS: [&str; 5] = ["slurm", "pbs", "torque", "sge", "lsf"];

fn log_hint(name: &str) -> Option<&'static str> {
    match name {
        "slurm" => Some("the accounting of Slurm is read as sacct -P writes it: source = \"sacct\""),
        _ if BATCH_SYSTEMS.contains(&name) => {
            Some("logs of batch systems are read in the Standard Workload Format: source = \"swf\"")
        }
        _ => None,
    }
}

impl Form<String> for SourceName {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let names = self.0.words.iter().map(|word| word.name);
        let name = field.name_or(self.0.what, names, &log_hint);
        name.map(str::to_owned)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        self.0.toml_text(value)
    }

    fn value_remark(&self, value: &String) -> Option<String> {
        self.0.value_remark(value)
    }

    fn value_shape(&self) -> Shape {
        Form::<String>::value_shape(&self.0)
    }
}

/// Form of a list of users, each once.
struct Users<'n> {
    names: &'n NameIndex<'n>,
}

impl Form<Vec<usize>> for Users<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<usize>> {
        let list = field.list("a list of users")?;
        if list.is_empty() {
            field.complain("expected at least one user, found none: no user would submit the jobs");
        }
        let one = OneOf { what: "a user", names: self.names };
        let mut users = Vec::with_capacity(list.len());
        let mut seen = vec![false; self.names.len()];
        for field in &list {
            let Some(user) = one.read_value(field) else { continue };
            if std::mem::replace(&mut seen[user], true) {
                field.complain("this user is in the list twice");
            }
            users.push(user);
        }
        Some(users)
    }

    fn toml_text(&self, value: &Vec<usize>) -> Option<String> {
        let names: Vec<String> = value.iter().map(|user| quote_text(self.names.name(*user))).collect();
        Some(format!("[{}]", names.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        Shape::List { of: Box::new(Shape::NameOf("a user")), least: 1, most: usize::MAX }
    }
}
