//! The tasks of a listed job, each with one run time for all sites or with one per site.

use crate::grid::{Kind, LONGEST, SITE_TIMES_MAX, Task};
use crate::near::nearest_name;
use crate::settings::limits::{CORES_MAX, TASKS_MAX, TOO_LONG_A_JOB};
use crate::settings::{Context, Field, Fields, Fit, Form, POSITIVE_SPAN, Shape, Text, Unless, Walk, any_of, key};
use crate::time::Span;

/// Run times of a task by site, as an index into the topology's, ascending; empty if it has one for all sites.
pub type RuntimeRow = Vec<(usize, Span)>;

/// A task as the list has it.
#[derive(Clone)]
pub struct ListedTask {
    pub task: Task,
    pub name: String,
    pub times: RuntimeRow,
}

impl ListedTask {
    pub fn with_defaults() -> ListedTask {
        ListedTask { task: Task::new(Span::ZERO, 1, Kind(0)), name: String::new(), times: Vec::new() }
    }

    pub fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let Task { runtime, cores, kind, walltime } = &mut self.task;
        let mut written = (*runtime, std::mem::take(&mut self.times));
        let about = "the run time of the task at speed 1, or one for each site where it may run";
        let needed = key("runtime", "").means(about).need("the run time of the task");
        w.set(needed, &mut written, Runtime { context });
        (*runtime, self.times) = written;
        w.set(key("cores", "").need("the number of cores of the task"), cores, 1..=CORES_MAX);
        context.walk_kind(kind, "the kind of core that the task needs", w);
        if w.reads() {
            *walltime = *runtime;
        }
        let asked = key("walltime", "").means("the time for which its user requests the cores").usual("`runtime`");
        let why = "leave walltime out: only jobs of a [batch] or [provisioning] table request a time";
        let asked = asked.only_if(context.walltimes, why);
        w.set(asked, walltime, Unless(POSITIVE_SPAN, *runtime));
        if let Some(fields) = w.written_fields() {
            self.check_sites(fields, context);
            self.check_cores(fields, context);
        }
        let named = key("name", "").means("its name in tables, traces and pages").usual("none").aside();
        w.set(named, &mut self.name, Unless(Text("a name"), String::new()));
    }

    /// Checks that the sites of its run times can run such a task.
    fn check_sites(&self, fields: &Fields<'_>, context: &Context<'_>) {
        let Some(field) = fields.get("runtime") else { return };
        for (site, _) in &self.times {
            let name = context.sites.name(*site);
            match context.site_kinds.get(*site) {
                Some(None) => field.complain(format!("site {name} is used by other systems only: leave it out")),
                Some(Some(kind)) if *kind != self.task.kind => {
                    let [offered, needed] = [*kind, self.task.kind].map(|kind| kind_name(context, kind));
                    field.complain(format!("site {name} has cores of kind {offered}, but the task needs {needed}"));
                }
                _ => {}
            }
        }
    }

    fn check_cores(&self, fields: &Fields<'_>, context: &Context<'_>) {
        let Fit::Must(hint) = context.fit else { return };
        let cores = self.task.cores;
        let own = self.times.iter().filter_map(|(site, _)| context.cores.get(*site)).max();
        let (name, largest) = match own {
            Some(largest) => ("where it has a run time".to_owned(), *largest),
            None => match context.largest(self.task.kind) {
                Some((name, largest)) => (format!("of kind {name}"), largest),
                None => return,
            },
        };
        if let Some(field) = fields.get("cores").filter(|_| cores > largest) {
            let message = format!("the task needs {cores} cores, but the largest site {name} has {largest}");
            fields.diagnostics().add(field.diagnostic(message).hints(hint));
        }
    }
}

fn kind_name<'c>(context: &'c Context<'_>, kind: Kind) -> &'c str {
    context.largest(kind).map_or("", |(name, _)| name)
}

/// Checks the number and the total length of a job's tasks.
pub fn check_tasks(field: &Field<'_>, tasks: &[Task], times: &[RuntimeRow]) {
    if field.list_items().is_none() {
        return;
    }
    if tasks.is_empty() || tasks.len() > TASKS_MAX as usize {
        field.complain(format!("expected from 1 to {TASKS_MAX} tasks, found {}", tasks.len()));
    }
    let count: usize = times.iter().map(Vec::len).sum();
    if count > SITE_TIMES_MAX {
        field.complain(format!("expected at most {SITE_TIMES_MAX} run times by site, found {count}"));
    }
    // One task may request more time than there is. Several are planned one after the other, by their requested times.
    let longest =
        tasks.iter().enumerate().map(|(at, task)| longest_run(task, tasks).max(longest_runtime(times.get(at))));
    if longest.fold(Span::ZERO, Span::saturating_add) > LONGEST {
        field.report_wrong::<()>(TOO_LONG_A_JOB);
    }
}

fn longest_run(task: &Task, tasks: &[Task]) -> Span {
    if tasks.len() > 1 { task.runtime.max(task.walltime) } else { task.runtime }
}

/// The longest run time of a row; zero if it is empty.
fn longest_runtime(row: Option<&RuntimeRow>) -> Span {
    row.into_iter().flatten().map(|(_, time)| *time).max().unwrap_or(Span::ZERO)
}

/// Form of a run time: a time, or a table of times by site. With the latter comes the least of them.
struct Runtime<'c> {
    context: &'c Context<'c>,
}

impl Form<(Span, RuntimeRow)> for Runtime<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<(Span, RuntimeRow)> {
        let Some(members) = field.members() else { return Some((POSITIVE_SPAN.read_value(field)?, Vec::new())) };
        if !self.context.site_times {
            field.complain("expected one time for all sites: only jobs of a [workflow] table have one for each site");
            return None;
        }
        if members.is_empty() {
            field.complain("expected a run time for at least one site: the task may run at none");
            return None;
        }
        let mut row = Vec::with_capacity(members.len());
        for (name, field) in &members {
            let time = POSITIVE_SPAN.read_value(field);
            match self.context.sites.find(name) {
                Some(site) => row.extend(time.map(|time| (site, time))),
                None => {
                    let sites = self.context.sites.iter();
                    let message = format!("there is no site {name:?}: expected {}", any_of(sites.clone()));
                    field.diagnostics().add(field.diagnostic(message).suggesting(nearest_name(name, sites)));
                }
            }
        }
        row.sort_unstable_by_key(|(site, _)| *site);
        Some((row.iter().map(|(_, time)| *time).min()?, row))
    }

    fn toml_text(&self, (runtime, row): &(Span, RuntimeRow)) -> Option<String> {
        if row.is_empty() {
            return POSITIVE_SPAN.toml_text(runtime);
        }
        let times: Vec<String> =
            row.iter().map(|(site, time)| format!("{} = \"{time}\"", self.context.sites.name(*site))).collect();
        Some(format!("{{ {} }}", times.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "a time above zero, or a table of such times by site; the task does not run at sites that it leaves out",
            example: "{ york = \"6 min\", leeds = \"9 min\" }",
            json: r#"{ "anyOf": [
                { "type": "string", "pattern": "^\\s*[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*(us|ms|s|min|h|d)\\s*$",
                  "not": { "pattern": "^[^1-9]*$" } },
                { "type": "object", "minProperties": 1, "additionalProperties":
                    { "type": "string", "pattern": "^\\s*[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*(us|ms|s|min|h|d)\\s*$",
                      "not": { "pattern": "^[^1-9]*$" } } }
            ] }"#,
        }
    }
}
