//! A workload of one workflow from a file. It becomes a table of one job, so that a resolved topology needs no other
//! file.

use super::{WorkflowFile, read};
use crate::grid::{Kind, Workflow};
use crate::settings::limits::{EDGES_MAX, TASKS_MAX};
use crate::settings::{Context, Field, Fields, FilePath, Fit, Moment, Walk, key};
use crate::time::Time;
use crate::workload::table::{ListedJob, Table};
use crate::workload::{Source, SourceRow};

pub const ROW: SourceRow = SourceRow {
    name: "workflow",
    about: "a workflow from a file: WfFormat, DAX or DOT",
    read: |w, context| {
        let mut written = FromFile { arrive: Time::ZERO, kind: Kind(0), file: String::new() };
        Source::Table(Table::of(written.walk(w, context).into_iter().collect()))
    },
};

struct FromFile {
    arrive: Time,
    kind: Kind,
    file: String,
}

impl FromFile {
    fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) -> Option<ListedJob> {
        w.set(key("arrive", "").means("the time of its submission"), &mut self.arrive, Moment);
        context.walk_kind(&mut self.kind, "the kind of core that the tasks need", w);
        let file = key("file", "").need("a workflow: WfFormat (JSON), DAX (XML) or DOT");
        w.set(file, &mut self.file, FilePath("the path of a workflow"));

        let fields = w.fields()?;
        let field = fields.get("file")?;
        let workflow = open(&field, context)?;
        check(fields, &field, &workflow, self.kind, context)?;
        let tasks = workflow.job_tasks(self.kind);
        let task_names = workflow.tasks.into_iter().map(|task| task.name).collect();
        let job = ListedJob::of(self.arrive, tasks, workflow.edges);
        Some(ListedJob { name: Some(workflow.name).filter(|name| !name.is_empty()), task_names, ..job })
    }
}

fn open(field: &Field<'_>, context: &Context<'_>) -> Option<Workflow> {
    let (path, content) = context.attached.files.get(&field.location())?;
    let message = match content.as_ref().map(|bytes| read(path, bytes)) {
        Ok(Ok(WorkflowFile::Workflow(workflow))) => return Some(workflow),
        Ok(Ok(WorkflowFile::Table(_))) => format!("{path} has times for single processors: it is only for hansa plan"),
        Ok(Err(error)) => error.of(path),
        Err(reason) => format!("cannot read {path}: {reason}"),
    };
    field.complain(message);
    None
}

fn check(fields: &Fields<'_>, field: &Field<'_>, workflow: &Workflow, kind: Kind, context: &Context<'_>) -> Option<()> {
    let counts = [(workflow.tasks.len(), TASKS_MAX as usize, "tasks"), (workflow.edges.len(), EDGES_MAX, "edges")];
    for (found, most, what) in counts {
        if found > most {
            field.complain(format!("expected at most {most} {what}, found {found}"));
            return None;
        }
    }
    let Fit::Must(hint) = context.fit else { return Some(()) };
    let (name, largest) = context.largest(kind)?;
    let widest = workflow.tasks.iter().max_by_key(|task| task.cores)?;
    if widest.cores > largest {
        let (task, cores) = (&widest.name, widest.cores);
        let message = format!("task `{task}` needs {cores} cores, but the largest site of kind {name} has {largest}");
        fields.diagnostics().add(field.diagnostic(message).hints(hint));
        return None;
    }
    Some(())
}
