//! Jobs listed one by one in a topology file.

mod tasks;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::sbatch::{RequestList, SbatchForm, SbatchOptions};
use super::staging::{Data, walk_volumes};
use super::{JobSource, Platform, Source, SourceRow, WorkloadError, walk_delay};
use crate::grid::{
    Curve, CurveError, DATA_MAX, Edge, Job, JobId, Needs, SiteTime, SiteTimes, Staging, Task, Volumes, Worth,
};
use crate::settings::limits::{EDGES_MAX, POINTS_MAX};
use crate::settings::{
    Context, Field, Fields, Form, FormExt, Layout, Maybe, Moment, Number, Shape, Text, Unless, Walk, key,
};
use crate::time::{Span, Time};

use tasks::check_tasks;
pub use tasks::{ListedTask, RuntimeRow};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub data: Data,
    /// Time by which all jobs are submitted later.
    pub delay: Span,
    /// Jobs in order of submission.
    pub jobs: Vec<ListedJob>,
}

/// A job as the list has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ListedJob {
    /// Its name in tables, traces and pages, and the names of its tasks, if there are any; they do not affect a run.
    pub name: Option<String>,
    pub task_names: Vec<String>,
    pub arrive: Time,
    pub tasks: Vec<Task>,
    pub edges: Vec<Edge>,
    pub worth: Option<Worth>,
    /// Run times of each of its tasks by site, as an index into the topology's; a row is empty if the task has one run
    /// time for all sites. Empty if all are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<RuntimeRow>,
    /// Needs per node of each of its tasks; `None` for whole nodes.
    pub needs: Option<Needs>,
    /// Data of a job of one task.
    pub volumes: Volumes,
    /// Options of `sbatch` for sites that a real Slurm manages; empty if there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sbatch: String,
}

pub const ROW: SourceRow = SourceRow {
    name: "table",
    about: "a list of jobs",
    read: |w, context| {
        let mut table = Table::of_jobs(Vec::new());
        table.walk_settings(w, context);
        Source::Table(table)
    },
};

impl JobSource for Table {
    fn source_name(&self) -> &'static str {
        ROW.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        self.data.walk(w, context);
        walk_delay(&mut self.delay, w);
        let each = self.data.each;
        let job = key("job", "").means("a job, in order of arrival").need("at least one [[workload.job]]");
        let job = job.each("a table that describes a job");
        let mut before = Time::ZERO;
        w.rows(job, Layout::Sections("workload.job"), &mut self.jobs, ListedJob::default, |job, w| {
            job.walk(before, w, context);
            if w.reads() {
                job.volumes = each;
            }
            walk_volumes(&mut job.volumes, Some(each), w, context);
            before = before.max(job.arrive);
        });
        self.data.check(self.jobs.iter().map(|job| job.volumes), w);
    }

    fn jobs_in_all(&self) -> u64 {
        self.jobs.len() as u64
    }

    fn tasks_in_all(&self) -> u64 {
        self.jobs.iter().map(|job| job.tasks.len() as u64).sum()
    }

    fn create_jobs(&self, platform: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        let later = |job: Job| Job { arrive: job.arrive + self.delay, ..job };
        Ok(self.jobs.iter().map(|job| later(job.job(platform))).collect())
    }

    fn job_needs(&self, place: usize) -> Option<Needs> {
        self.jobs.get(place)?.needs
    }

    fn job_staging(&self, place: usize) -> Option<Staging> {
        self.data.of(self.jobs.get(place)?.volumes)
    }

    fn request_list(&self) -> RequestList {
        let written = self.jobs.iter().zip(0..).filter(|(job, _)| !job.sbatch.is_empty());
        let options: BTreeMap<u32, String> = written.map(|(job, place)| (place, job.sbatch.clone())).collect();
        if options.is_empty() { RequestList::None } else { RequestList::Listed(Arc::new(options)) }
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        let from = match self.jobs.as_slice() {
            [ListedJob { name: Some(name), .. }] => format!("called {name}"),
            _ => "listed one by one".to_owned(),
        };
        ("job", from)
    }
}

impl Table {
    /// A table without data.
    pub fn of_jobs(jobs: Vec<ListedJob>) -> Table {
        Table { data: Data::default(), delay: Span::ZERO, jobs }
    }
}

impl ListedJob {
    /// A job without name and value.
    pub fn with_tasks(arrive: Time, tasks: Vec<Task>, edges: Vec<Edge>) -> ListedJob {
        ListedJob { arrive, tasks, edges, ..ListedJob::default() }
    }

    fn walk(&mut self, before: Time, w: &mut dyn Walk, context: &Context<'_>) {
        if w.reads() {
            self.arrive = before;
        }
        let in_order = Moment.with_condition("jobs in order of arrival", |arrive: &Time| *arrive >= before);
        let arrive = key("arrive", "").means("the time of its submission").usual("the arrival of the one before it");
        w.set(arrive, &mut self.arrive, in_order);
        let name = key("name", "").means("its name in tables, traces and pages").aside();
        w.set(name, &mut self.name, Maybe(Text("a name")));
        self.walk_tasks(w, context);
        let edges = key("edges", "").means("the tasks that need the output of others, by their numbers from 0");
        w.set(edges, &mut self.edges, Edges { tasks: self.tasks.len() });
        self.walk_worth(w);
        self.walk_needs(w, context);
        self.walk_sbatch(w, context);
    }

    fn walk_tasks(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let mut written: Vec<ListedTask> = self
            .tasks
            .iter()
            .enumerate()
            .map(|(at, task)| ListedTask {
                task: *task,
                name: self.task_names.get(at).cloned().unwrap_or_default(),
                times: self.times.get(at).cloned().unwrap_or_default(),
            })
            .collect();
        let tasks = key("tasks", "").need("a list of tasks").expects("a list of tasks");
        let tasks = tasks.each("a task such as { runtime = \"6 min\", cores = 3 }");
        w.rows(tasks, Layout::Lines, &mut written, ListedTask::with_defaults, |task, w| task.walk(w, context));
        if w.reads() {
            (self.tasks, self.task_names, self.times) = (Vec::new(), Vec::new(), Vec::new());
            for ListedTask { task, name, times } in written {
                self.tasks.push(task);
                self.task_names.push(name);
                self.times.push(times);
            }
            if self.task_names.iter().all(String::is_empty) {
                self.task_names.clear();
            }
            if self.times.iter().all(Vec::is_empty) {
                self.times.clear();
            }
        }
        if let Some(field) = w.written_fields().and_then(|fields| fields.get("tasks")) {
            check_tasks(&field, &self.tasks, &self.times);
        }
    }

    fn walk_needs(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let why = "leave this out: only sites under a [batch] table can share nodes";
        let mut needs = self.needs.unwrap_or(Needs::NODE);
        let cpu = key("cpu", "")
            .means("the share of a node's processors that each of its parallel tasks needs")
            .usual("`1.0`");
        w.set(cpu.only_if(context.shares_nodes, why), &mut needs.cpu, Unless(SHARE, 1.0));
        let memory = key("memory", "")
            .means("the share of a node's memory that each of its parallel tasks fills")
            .usual("`1.0`");
        w.set(memory.only_if(context.shares_nodes, why), &mut needs.memory, Unless(SHARE, 1.0));
        self.needs = (needs != Needs::NODE).then_some(needs);
    }

    fn walk_sbatch(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        let sbatch = key("sbatch", "options of sbatch, for sites that a real Slurm manages (docs/slurm.md)");
        let why = "leave sbatch out: only jobs of a [batch] table go to a Slurm";
        let sbatch = sbatch.only_if(context.walltimes, why).usual("none");
        w.set(sbatch, &mut self.sbatch, Unless(SbatchForm, String::new()));
        let Some(field) = w.written_fields().and_then(|fields| fields.get("sbatch")) else { return };
        let options = SbatchOptions::parse(&self.sbatch).unwrap_or_default();
        let [task] = self.tasks.as_slice() else { return };
        match options.cores() {
            Err(wrong) => field.complain(wrong.to_string()),
            Ok(cores) if options.has_size() && cores != Some(task.cores) => {
                let stated = cores.map_or("more than can be counted".to_owned(), |cores| cores.to_string());
                field.complain(format!("expected options for the {} cores of the job, found {stated}", task.cores));
            }
            Ok(_) => {}
        }
    }

    fn walk_worth(&mut self, w: &mut dyn Walk) {
        let worth = key("worth", "").means("the value of its result to its user, and its decay with age");
        let worth = worth.expects("a table such as { max = 100.0, initial = 2.0, final = 6.0 }");
        let mut written = self.worth.as_ref().map(WrittenWorth::of_worth);
        w.maybe(worth, Layout::Inline, &mut written, WrittenWorth::default, WrittenWorth::walk);
        if w.reads() {
            self.worth = written.and_then(|written| written.worth);
        }
    }
}

/// A fraction of a node.
const SHARE: Number = Number::above(0.0, 1.0, "a share of a node, above 0 and at most 1");

/// Dependencies between tasks.
struct Edges {
    tasks: usize,
}

const EDGES: &str = "a list of pairs of tasks, such as [[0, 1]]";

impl Form<Vec<Edge>> for Edges {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<Edge>> {
        read_edges(field, self.tasks)
    }

    fn toml_text(&self, edges: &Vec<Edge>) -> Option<String> {
        let edges: Vec<String> = edges
            .iter()
            .map(|Edge { from, to, data }| match data {
                0 => format!("[{from}, {to}]"),
                data => format!("[{from}, {to}, {data}]"),
            })
            .collect();
        (!edges.is_empty()).then(|| format!("[{}]", edges.join(", ")))
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "a list of pairs of tasks, each with the bytes that go from one to the other if that matters",
            example: "[[0, 1, \"2 GB\"]]",
            json: r#"{ "type": "array", "items": {
                "type": "array", "items": { "type": ["integer", "string"], "minimum": 0 }, "minItems": 2, "maxItems": 3
            } }"#,
        }
    }
}

fn read_edges(field: &Field<'_>, tasks: usize) -> Option<Vec<Edge>> {
    let list = field.list(EDGES)?;
    if list.len() > EDGES_MAX {
        return field.report_wrong(format_args!("at most {EDGES_MAX} edges"));
    }
    let last = u32::try_from(tasks.saturating_sub(1)).unwrap_or(u32::MAX);
    let mut found: BTreeMap<Edge, usize> = BTreeMap::new();
    for (number, field) in list.iter().enumerate() {
        let Some((ends, data)) = edge_ends(field) else { continue };
        let [from, to] = ends;
        let [Some(from), Some(to)] = [from, to].map(|end| end.whole_of("the number of a task,", 0..=last)) else {
            continue;
        };
        let data = data.map_or(Some(0), |data| data.volume(DATA_MAX));
        let edge = Edge { from, to, data: data.unwrap_or(0) };
        let before = found.range(Edge::new(from, to)..).next().filter(|(edge, _)| (edge.from, edge.to) == (from, to));
        if before.is_some() || found.insert(edge, number).is_some() {
            field.complain(format!("the edge from {from} to {to} is in the list twice"));
        }
    }

    let edges: Vec<Edge> = found.keys().copied().collect();
    if let Some(circle) = find_cycle(tasks, &edges) {
        let circle: Vec<String> = circle.iter().map(u32::to_string).collect();
        field.complain(format!("tasks wait for each other in a cycle: {}", circle.join(" -> ")));
        return None;
    }
    for (Edge { from, to, .. }, number) in found.iter().filter(|(edge, _)| edge.from > edge.to) {
        list[*number].complain(format!("task {to} needs task {from}, so {from} must come before it in the list"));
    }
    Some(edges)
}

/// Two tasks, and the bytes between them, if they are given.
fn edge_ends<'s>(field: &'s Field<'_>) -> Option<([Field<'s>; 2], Option<Field<'s>>)> {
    const EXPECTED: &str = "a task and one that needs its output, such as [0, 1]";
    let mut list = field.list(EXPECTED)?;
    let data = if list.len() == 3 { list.pop() } else { None };
    let length = list.len();
    let Ok(ends) = <[Field; 2]>::try_from(list) else {
        field.complain(format!("expected {EXPECTED}, found a list of {length}"));
        return None;
    };
    Some((ends, data))
}

/// A cycle of tasks, with the first one repeated at the end.
fn find_cycle(tasks: usize, edges: &[Edge]) -> Option<Vec<u32>> {
    let mut waits_for = vec![0u32; tasks];
    let mut next: Vec<Vec<u32>> = vec![Vec::new(); tasks];
    for Edge { from, to, .. } in edges {
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

    // Every waiting task waits for another waiting one: following predecessors leads into a cycle.
    let mut back: BTreeMap<u32, u32> = BTreeMap::new();
    for edge in
        edges.iter().filter(|edge| waits_for_others(&edge.from, &waits_for) && waits_for_others(&edge.to, &waits_for))
    {
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

fn waits_for_others(task: &u32, waits_for: &[u32]) -> bool {
    waits_for[*task as usize] > 0
}

/// Written form of a worth.
#[derive(Default)]
struct WrittenWorth {
    max: Option<f64>,
    initial: Option<f64>,
    last: Option<f64>,
    points: Vec<Option<(f64, f64)>>,
    /// The worth, once it has been read.
    worth: Option<Worth>,
}

const FINITE: Number = Number::from(f64::MIN, f64::MAX, "a number");

impl WrittenWorth {
    fn of_worth(worth: &Worth) -> WrittenWorth {
        let Worth { max, curve } = worth;
        let points = curve.points().map(Some).collect();
        WrittenWorth {
            max: Some(*max),
            initial: Some(curve.initial()),
            last: Some(curve.final_()),
            points,
            worth: None,
        }
    }

    fn walk(&mut self, w: &mut dyn Walk) {
        let max = Maybe(Number::from(0.0, f64::MAX, "a finite number that is not negative"));
        w.set(key("max", "").need("the value of an early result"), &mut self.max, max);
        let initial = key("initial", "").need("the SLR until which a result has its full value");
        w.set(initial, &mut self.initial, Maybe(CurveNumber));
        let last = key("final", "").need("the SLR from which on a result has no value");
        w.set(last, &mut self.last, Maybe(CurveNumber));
        let points = key("points", "").means("for each bend between the two, an SLR and the share of the value there");
        w.set(points, &mut self.points, Points);
        if let Some(fields) = w.written_fields() {
            self.worth = self.read(fields);
        }
    }

    fn read(&self, fields: &Fields<'_>) -> Option<Worth> {
        let points = self.points.iter().copied().collect::<Option<Vec<(f64, f64)>>>()?;
        match Curve::new(self.initial?, self.last?, &points) {
            Ok(curve) => Some(Worth { max: self.max?, curve }),
            Err(error) => {
                let point = match error {
                    CurveError::OutOfRange { point, .. }
                    | CurveError::Unsorted { point, .. }
                    | CurveError::Increasing { point, .. } => Some(point - 1),
                    CurveError::NonFinite(_) | CurveError::BadDeadlines { .. } => None,
                };
                let field = fields.get("points");
                let list = field.as_ref().zip(point).and_then(|(field, _)| field.list(POINTS));
                match list.as_ref().zip(point).and_then(|(list, point)| list.get(point)) {
                    Some(point) => point.complain(error.to_string()),
                    None => fields.complain(error.to_string()),
                }
                None
            }
        }
    }
}

/// A number in the notation of curves.
struct CurveNumber;

impl Form<f64> for CurveNumber {
    fn read_value(&self, field: &Field<'_>) -> Option<f64> {
        FINITE.read_value(field)
    }

    fn toml_text(&self, value: &f64) -> Option<String> {
        Some(toml::Value::from(*value).to_string())
    }

    fn value_shape(&self) -> Shape {
        FINITE.value_shape()
    }
}

/// Form of the points of a value curve; reads None from an invalid list.
struct Points;

const POINTS: &str = "a list of points, such as [[3.0, 0.8]]";

impl Form<Vec<Option<(f64, f64)>>> for Points {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<Option<(f64, f64)>>> {
        let list = field.list(POINTS)?;
        if list.len() > POINTS_MAX {
            field.complain(format!("expected at most {POINTS_MAX} points, found {}", list.len()));
            return None;
        }
        Some(
            list.iter()
                .map(|field| {
                    let [slr, value] = field.pair("an SLR and the share of the value there, such as [3.0, 0.8]")?;
                    FINITE.read_value(&slr).zip(FINITE.read_value(&value))
                })
                .collect(),
        )
    }

    fn toml_text(&self, points: &Vec<Option<(f64, f64)>>) -> Option<String> {
        Some(
            toml::Value::Array(
                points.iter().flatten().copied().map(|(slr, value)| toml::Value::from(vec![slr, value])).collect(),
            )
            .to_string(),
        )
    }

    fn value_shape(&self) -> Shape {
        Shape::Free {
            what: "a list of two numbers each",
            example: "[[3.0, 0.8]]",
            json: r#"{ "type": "array", "items": {
                "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2
            } }"#,
        }
    }
}

impl ListedJob {
    fn job(&self, platform: &Platform) -> Job {
        let ListedJob { arrive, tasks, edges, worth, times, .. } = self.clone();
        let rows = times.into_iter().map(|row| {
            row.into_iter().map(|(site, runtime)| SiteTime { site: platform.sites[site], runtime }).collect()
        });
        let times = SiteTimes::new(rows.collect());
        Job { id: JobId(0), arrive, first_task: 0, tasks, edges, worth, times }
    }
}
