//! A workload of one workflow from a file. It becomes a table of one job, so that a resolved topology needs no other
//! file.

use super::{CostTable, WorkflowFile, file_stem, read_workflow};
use crate::grid::{Kind, Workflow};
use crate::settings::limits::{EDGES_MAX, TASKS_MAX};
use crate::settings::{Context, Field, Fields, FilePath, Fit, Moment, Walk, key};
use crate::time::Time;
use crate::workload::overestimate::Overestimate;
use crate::workload::table::{ListedJob, Table};
use crate::workload::{Source, SourceRow};

pub const ROW: SourceRow = SourceRow {
    name: "workflow",
    about: "a workflow from a file: WfFormat, DAX, DOT or a table of costs",
    read: |w, context| {
        let mut written = FromFile { arrive: Time::ZERO, kind: Kind(0), file: String::new(), overestimate: None };
        Source::Table(Table::of_jobs(written.walk(w, context).into_iter().collect()))
    },
};

struct FromFile {
    arrive: Time,
    kind: Kind,
    file: String,
    overestimate: Option<Overestimate>,
}

impl FromFile {
    fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) -> Option<ListedJob> {
        w.set(key("arrive", "").means("the time of its submission"), &mut self.arrive, Moment);
        context.walk_kind(&mut self.kind, "the kind of core that the tasks need", w);
        let file = key("file", "").need("a workflow: WfFormat (JSON), DAX (XML), DOT or a table of costs (JSON)");
        w.set(file, &mut self.file, FilePath("the path of a workflow"));

        Overestimate::walk_optional(&mut self.overestimate, context.seed, w, context);

        let fields = w.written_fields()?;
        let field = fields.get("file")?;
        let workflow = match open_workflow(&field, context)? {
            WorkflowFile::Workflow(workflow) => workflow,
            WorkflowFile::Table(table) => return self.of_table(table, &field, context),
        };
        check_workflow(fields, &field, &workflow, self.kind, context)?;
        let mut tasks = workflow.job_tasks(self.kind);
        if let Some(overestimate) = &self.overestimate {
            overestimate.check(workflow.work().micros().into(), fields);
            overestimate.apply(0, &mut tasks);
        }
        let task_names = workflow.tasks.into_iter().map(|task| task.name).collect();
        let job = ListedJob::with_tasks(self.arrive, tasks, workflow.edges);
        Some(ListedJob { name: Some(workflow.name).filter(|name| !name.is_empty()), task_names, ..job })
    }

    /// A job with the run times of a table of costs at the sites of its kind, and data that takes the costs of its
    /// edges at the mean capacity between two sites.
    fn of_table(&self, table: CostTable, field: &Field<'_>, context: &Context<'_>) -> Option<ListedJob> {
        let complain = |message: String| field.complain(format!("{}: {message}", self.file));
        if !context.site_times {
            complain("it has run times by site: only a [workflow] runs such workflows".to_owned());
            return None;
        }
        check_counts(field, table.names.len(), table.edges.len())?;
        let kind = Some(self.kind);
        let its = context.site_kinds.iter().enumerate().filter(|(_, of)| **of == kind).map(|(site, _)| site);
        let its: Vec<usize> = its.collect();
        let names: Vec<&str> = its.iter().map(|site| context.sites.name(*site)).collect();
        let sites = table.sites(&names).map(|sites| sites.into_iter().map(|site| its[site]).collect::<Vec<usize>>());
        let tasks = sites.and_then(|sites| table.tasks(&sites, self.kind)).map_err(&complain).ok();
        let edges = table.transfers((context.mean_capacity)()).map_err(&complain).ok();
        let (tasks, times) = tasks?;
        let job = ListedJob::with_tasks(self.arrive, tasks, edges?);
        Some(ListedJob { name: Some(file_stem(&self.file)), task_names: table.names, times, ..job })
    }
}

fn open_workflow(field: &Field<'_>, context: &Context<'_>) -> Option<WorkflowFile> {
    let (path, content) = context.attached.files.get(&field.location())?;
    let message = match content.as_ref().map(|bytes| read_workflow(path, bytes)) {
        Ok(Ok(workflow)) => return Some(workflow),
        Ok(Err(error)) => error.of(path),
        Err(reason) => format!("cannot read {path}: {reason}"),
    };
    field.complain(message);
    None
}

fn check_workflow(
    fields: &Fields<'_>,
    field: &Field<'_>,
    workflow: &Workflow,
    kind: Kind,
    context: &Context<'_>,
) -> Option<()> {
    check_counts(field, workflow.tasks.len(), workflow.edges.len())?;
    let Fit::Must(hint) = context.fit else { return Some(()) };
    let (name, largest) = context.largest(kind)?;
    let widest = workflow.tasks.iter().max_by_key(|task| task.cores)?;
    if widest.cores > largest {
        let task = &widest.name;
        let cores = widest.cores;
        let message = format!("task `{task}` needs {cores} cores, but the largest site of kind {name} has {largest}");
        fields.diagnostics().add(field.diagnostic(message).hints(hint));
        return None;
    }
    Some(())
}

/// Reports an error if there are more tasks or edges than a job may have.
fn check_counts(field: &Field<'_>, tasks: usize, edges: usize) -> Option<()> {
    for (found, most, what) in [(tasks, TASKS_MAX as usize, "tasks"), (edges, EDGES_MAX, "edges")] {
        if found > most {
            field.complain(format!("expected at most {most} {what}, found {found}"));
            return None;
        }
    }
    Some(())
}
