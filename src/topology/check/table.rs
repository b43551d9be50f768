//! A workload whose jobs are written out.

use std::collections::BTreeMap;

use super::super::fields::{Field, Fields, any_of};
use super::super::file::Path;
use super::{CORES_MAX, Context, EDGES_MAX, POINTS_MAX, REFUSE, TASKS_MAX, TOO_LONG_A_JOB, tables};
use crate::grid::{Curve, CurveError, DATA_MAX, Edge, Kind, LONGEST, Task, Worth};
use crate::time::{Span, Time};
use crate::workload::table::{Entry, Table};

pub(super) fn check_table(fields: &Fields<'_>, context: &Context<'_>) -> Table {
    let mut jobs = Vec::new();
    let Some(field) = fields.need("job", "at least one [[workload.job]]") else { return Table { jobs } };
    let list = tables(Some(&field), &Path::root("workload").key("job")).unwrap_or_default();
    let mut before = Time::ZERO;
    for fields in list.iter().filter_map(|field| field.table("a table that describes a job")) {
        let job = check_job(&fields, before, context);
        before = before.max(job.arrive);
        jobs.push(job);
        fields.finish();
    }
    Table { jobs }
}

fn check_job(fields: &Fields<'_>, before: Time, context: &Context<'_>) -> Entry {
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
    Entry { arrive: arrive.unwrap_or(before), tasks, edges: edges.unwrap_or_default(), worth }
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
            task.unwrap_or(Task::new(Span::ZERO, 1, Kind(0)))
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
    let queued = context.system.row().is_rigid;
    let walltime = if queued { fields.get("walltime").and_then(|field| field.positive_span()) } else { None };
    let (runtime, cores, kind) = (runtime?, cores?, kind?);
    if context.system.must_place()
        && let Some((name, largest)) = context.grid.largest(kind)
        && cores > largest
    {
        let message = format!("the task wants {cores} cores, and the largest site of kind {name} has {largest}");
        fields.findings().add(cores_field?.complaint(message).hint(REFUSE));
    }
    Some(Task { walltime: walltime.unwrap_or(runtime), ..Task::new(runtime, cores, kind) })
}

fn check_edges(field: &Field<'_>, tasks: usize) -> Option<Vec<Edge>> {
    let list = field.list("a list of pairs of tasks, such as [[0, 1]]")?;
    if list.len() > EDGES_MAX {
        return field.wrong(format_args!("at most {EDGES_MAX} edges"));
    }
    let last = u32::try_from(tasks.saturating_sub(1)).unwrap_or(u32::MAX);
    let mut found: BTreeMap<Edge, usize> = BTreeMap::new();
    for (number, field) in list.iter().enumerate() {
        let Some((ends, data)) = ends(field) else { continue };
        let [from, to] = ends;
        let [Some(from), Some(to)] = [from, to].map(|end| end.whole_of("the number of a task,", 0..=last)) else {
            continue;
        };
        let data = data.map_or(Some(0), |data| data.whole_of("a number of bytes", 0..=DATA_MAX));
        let edge = Edge { from, to, data: data.unwrap_or(0) };
        let before = found.range(Edge::new(from, to)..).next().filter(|(edge, _)| (edge.from, edge.to) == (from, to));
        if before.is_some() || found.insert(edge, number).is_some() {
            field.complain(format!("the edge from {from} to {to} is in the list twice"));
        }
    }

    let edges: Vec<Edge> = found.keys().copied().collect();
    if let Some(circle) = circle(tasks, &edges) {
        let circle: Vec<String> = circle.iter().map(u32::to_string).collect();
        field.complain(format!("tasks wait for each other in a circle: {}", circle.join(" -> ")));
        return None;
    }
    for (Edge { from, to, .. }, number) in found.iter().filter(|(edge, _)| edge.from > edge.to) {
        list[*number].complain(format!("task {to} needs task {from}, so {from} must come ahead of it in the list"));
    }
    Some(edges)
}

/// Two tasks, and the bytes that go from one to the other if that is said.
fn ends<'s>(field: &'s Field<'_>) -> Option<([Field<'s>; 2], Option<Field<'s>>)> {
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

/// Some tasks that need each other, the first again at the end.
fn circle(tasks: usize, edges: &[Edge]) -> Option<Vec<u32>> {
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
    if points.len() > POINTS_MAX {
        field.complain(format!("expected at most {POINTS_MAX} points, found {}", points.len()));
        return None;
    }
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
