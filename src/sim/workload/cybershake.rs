//! CyberShake for one site, as in G. Singh's thesis on provisioning: 8,039 tasks, two of which take a day on 288
//! processors before 4,017 short ones follow, each with a shorter one after it.

use serde::Serialize;

use super::workflow::parallel::{CYBERSHAKE_CORES, CYBERSHAKE_TASKS, cybershake_workflow};
use super::{JobSource, Platform, Source, SourceRow, Train, WorkloadError};
use crate::grid::{Job, JobId, Kind};
use crate::settings::{Context, Fields, Fit, Walk};
use crate::time::Span;

/// One workflow, or a series of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cybershake {
    pub train: Train,
    pub kind: Kind,
}

pub const ROW: SourceRow = SourceRow {
    name: "cybershake",
    about: "the CyberShake workflow of 8,039 tasks, some of which need 288 cores",
    read: |w, context| {
        let mut cybershake = Cybershake { train: Train::ONE, kind: Kind(0) };
        cybershake.walk_settings(w, context);
        Source::Cybershake(cybershake)
    },
};

const WORKFLOWS_MAX: u32 = 10_000;

impl Cybershake {
    fn check(&self, fields: &Fields<'_>, context: &Context<'_>) {
        self.train.check(cybershake_workflow().work().micros().into(), fields);
        // If tasks that are too wide are refused during a run, the whole workflow would be: these cores are always
        // missing.
        if let Some((name, largest)) = context.largest(self.kind).filter(|(_, largest)| CYBERSHAKE_CORES > *largest) {
            let message =
                format!("some tasks need {CYBERSHAKE_CORES} cores, but the largest site of kind {name} has {largest}");
            let hint = match context.fit {
                Fit::Must(hint) => hint,
                Fit::May => None,
            };
            match fields.get("source") {
                Some(field) => fields.diagnostics().add(field.diagnostic(message).hints(hint)),
                None => fields.complain(message),
            }
        }
    }
}

impl JobSource for Cybershake {
    fn source_name(&self) -> &'static str {
        ROW.name
    }

    fn walk_settings(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        self.train.walk(WORKFLOWS_MAX, context.seed, w, context);
        context.walk_kind(&mut self.kind, "the kind of core that the tasks need", w);
        if let Some(fields) = w.written_fields() {
            self.check(fields, context);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.train.workflows.into()
    }

    fn tasks_in_all(&self) -> u64 {
        u64::from(self.train.workflows) * u64::from(CYBERSHAKE_TASKS)
    }

    fn create_jobs(&self, _: &Platform, _: Span) -> Result<Vec<Job>, WorkloadError> {
        let workflow = cybershake_workflow();
        Ok(self
            .train
            .arrivals()
            .map(|(number, arrive)| Job {
                id: JobId(0),
                arrive,
                first_task: 0,
                tasks: self.train.tasks(number, &workflow, self.kind),
                edges: workflow.edges.clone(),
                worth: None,
                times: None,
            })
            .collect())
    }

    fn describe_jobs(&self) -> (&'static str, String) {
        ("workflow", "CyberShake".to_owned())
    }
}
