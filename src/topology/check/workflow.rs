//! A workload that is one workflow from a file.

use super::super::fields::{Field, Fields, any_of};
use super::{Context, EDGES_MAX, REFUSE, TASKS_MAX};
use crate::grid::{Kind, Workflow};
use crate::systems::market::Market;
use crate::time::Time;
use crate::workload::table::{Entry, Table};
use crate::workload::workflow::{Written, read};

/// The workflow becomes a table of one job, so that a resolved topology needs no other file.
pub(super) fn check_workflow(fields: &Fields<'_>, context: &Context<'_>) -> Table {
    let arrive = fields.get("arrive").and_then(|field| field.span());
    let kind = match fields.get("kind") {
        Some(field) => context.grid.kind(&field),
        None if context.grid.names.len() > 1 => {
            let kinds = any_of(context.grid.names.iter().map(String::as_str));
            fields.missing("kind", &format!("the kind of core that the tasks need: {kinds}"));
            None
        }
        None => Some(Kind(0)),
    };
    let field = fields.need("file", "a workflow: WfFormat (JSON), DAX (XML) or DOT");
    let jobs = field.zip(kind).and_then(|(field, kind)| {
        let workflow = open(&field, context)?;
        check_sizes(fields, &field, &workflow, kind, context)?;
        let arrive = Time::ZERO + arrive.unwrap_or_default();
        Some(Entry { arrive, tasks: workflow.job_tasks(kind), edges: workflow.edges, worth: None })
    });
    Table { jobs: jobs.into_iter().collect() }
}

fn open(field: &Field<'_>, context: &Context<'_>) -> Option<Workflow> {
    field.text("the path of a workflow")?;
    let (path, content) = context.attached.get(&field.place())?;
    let complain = |message: String| {
        field.complain(message);
        None
    };
    match content.as_ref().map(|bytes| read(path, bytes)) {
        Ok(Ok(Written::Workflow(workflow))) => Some(workflow),
        Ok(Ok(Written::Table(_))) => {
            complain(format!("{path} has times for single processors: it can only be planned"))
        }
        Ok(Err(error)) => complain(error.of(path)),
        Err(reason) => complain(format!("cannot read {path}: {reason}")),
    }
}

fn check_sizes(
    fields: &Fields<'_>,
    field: &Field<'_>,
    workflow: &Workflow,
    kind: Kind,
    context: &Context<'_>,
) -> Option<()> {
    if workflow.tasks.len() > TASKS_MAX as usize {
        field.complain(format!("expected at most {TASKS_MAX} tasks, found {}", workflow.tasks.len()));
        return None;
    }
    if workflow.edges.len() > EDGES_MAX {
        field.complain(format!("expected at most {EDGES_MAX} edges, found {}", workflow.edges.len()));
        return None;
    }
    let (name, largest) = context.grid.largest(kind)?;
    let widest = workflow.tasks.iter().max_by_key(|task| task.cores)?;
    if widest.cores > largest && context.system.must_place() {
        let message = format!(
            "task `{}` wants {} cores, and the largest site of kind {name} has {largest}",
            widest.name, widest.cores
        );
        let complaint = field.complaint(message);
        let market = context.system.settings::<Market>().is_some();
        fields.findings().add(if market { complaint.hint(REFUSE) } else { complaint });
        return None;
    }
    Some(())
}
