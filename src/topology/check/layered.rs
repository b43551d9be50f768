//! A workload of random layered workflows.

use super::super::fields::{Field, Fields, any_of};
use super::{Context, EDGES_MAX, TASKS_MAX, TOO_LONG_A_JOB};
use crate::grid::{DATA_MAX, Kind, LONGEST};
use crate::time::{Span, Time};
use crate::workload::layered::{Costs, Generator, Shape};

const WORKFLOWS_MAX: u32 = 100_000;
const JUMP_MAX: u32 = 10_000;
const CCR_MAX: u64 = 1_000;

pub(super) fn check_layered(fields: &Fields<'_>, context: &Context<'_>) -> Generator {
    let seed = fields.get("seed").and_then(|field| field.whole(0..=u64::MAX)).unwrap_or(context.seed);
    let span = |key: &'static str| fields.get(key).and_then(|field| field.span()).unwrap_or(Span::ZERO);
    let workflows = fields.get("workflows").and_then(|field| field.whole(1..=WORKFLOWS_MAX)).unwrap_or(1);
    let tasks = fields.need("tasks", "how many tasks a workflow has").and_then(|field| field.whole(1..=TASKS_MAX));
    let share = |key: &'static str, usual: f64| {
        let found =
            fields.get(key).and_then(|field| field.number("a number from 0 to 1", |n| (0.0..=1.0).contains(&n)));
        found.unwrap_or(usual)
    };
    let fat = fields.get("fat").and_then(|field| field.number("a number above 0, up to 1", |n| 0.0 < n && n <= 1.0));
    let usual = Shape { tasks: 1, fat: 0.5, density: 0.5, regularity: 0.5, jump: 1 };
    let shape = Shape {
        tasks: tasks.unwrap_or(usual.tasks),
        fat: fat.unwrap_or(usual.fat),
        density: share("density", usual.density),
        regularity: share("regularity", usual.regularity),
        jump: fields.get("jump").and_then(|field| field.whole(1..=JUMP_MAX)).unwrap_or(usual.jump),
    };
    let runtime = fields.get("runtime").and_then(|field| check_runtime(&field, shape.tasks));
    let costs = Costs {
        runtime: runtime.unwrap_or(USUAL_RUNTIME),
        ccr_millionths: fields.get("ccr").and_then(|field| field.millionths(CCR_MAX)).unwrap_or(1_000_000),
        bandwidth: fields.get("bandwidth").and_then(|field| field.capacity()).unwrap_or(1_000_000_000),
    };
    let kind = match fields.get("kind") {
        Some(field) => context.grid.kind(&field),
        None if context.grid.names.len() > 1 => {
            let kinds = any_of(context.grid.names.iter().map(String::as_str));
            fields.missing("kind", &format!("the kind of core that the tasks need: {kinds}"));
            None
        }
        None => Some(Kind(0)),
    };
    let (arrive, every) = (Time::ZERO + span("arrive"), span("every"));
    if u128::from(every.micros()) * u128::from(workflows) > u128::from(LONGEST.micros()) {
        fields.complain("expected the last workflow to come within 285 years".to_owned());
    }
    let generator = Generator { seed, workflows, arrive, every, shape, costs, kind: kind.unwrap_or(Kind(0)) };
    check_size(fields, &generator);
    generator
}

/// As long as the paper's, if one of its units is a second.
const USUAL_RUNTIME: (Span, Span) = (Span::from_secs(10), Span::from_secs(40));

fn check_runtime(field: &Field<'_>, tasks: u32) -> Option<(Span, Span)> {
    let pair = field.pair("the shortest and the longest run time of a task, such as [\"10 s\", \"40 s\"]")?;
    let [Some(shortest), Some(longest)] = pair.each_ref().map(|field| field.positive_span()) else { return None };
    if shortest > longest {
        return field.wrong("the shorter time first");
    }
    if u128::from(longest.micros()) * u128::from(tasks) > u128::from(LONGEST.micros()) {
        return pair[1].wrong(TOO_LONG_A_JOB);
    }
    Some((shortest, longest))
}

/// Draws what might be too large for a job, to see whether it is.
fn check_size(fields: &Fields<'_>, generator: &Generator) {
    let (edges, data) = (generator.shape.edges_max(), generator.costs.data(generator.costs.runtime.1.micros()));
    let heaviest = data.map_or(f64::INFINITY, |data| data as f64 * edges);
    if edges <= EDGES_MAX as f64 && heaviest <= DATA_MAX as f64 {
        return;
    }
    for number in 0..generator.workflows {
        match generator.workflow(number) {
            Ok(workflow) if workflow.edges.len() <= EDGES_MAX => {}
            Ok(workflow) => {
                let found = workflow.edges.len();
                return fields
                    .complain(format!("expected at most {EDGES_MAX} edges, found {found} in workflow {number}"));
            }
            Err(error) => return fields.complain(format!("workflow {number}: {error}")),
        }
    }
}
