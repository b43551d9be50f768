//! CyberShake for one site, as G. Singh's thesis on provisioning has it: 8,039 tasks, two of which take a day on 288
//! processors before 4,017 short ones follow, each with a shorter one behind it.

use serde::Serialize;

use super::workflow::parallel::{CYBERSHAKE_CORES, CYBERSHAKE_TASKS, cybershake};
use super::{Row, Source, Supply, walk_train};
use crate::grid::{Job, JobId, Kind, LONGEST};
use crate::settings::{Context, Fields, Fit, Walk};
use crate::time::{Span, Time};

/// It comes once, or again and again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cybershake {
    pub workflows: u32,
    /// When the first one comes, and how long after it the next.
    pub arrive: Time,
    pub every: Span,
    pub kind: Kind,
}

pub const ROW: Row = Row {
    name: "cybershake",
    about: "the CyberShake workflow of 8,039 tasks, some of which need 288 cores",
    read: |w, context| {
        let mut cybershake = Cybershake { workflows: 1, arrive: Time::ZERO, every: Span::ZERO, kind: Kind(0) };
        cybershake.walk(w, context);
        Source::Cybershake(cybershake)
    },
};

const WORKFLOWS_MAX: u32 = 10_000;

impl Cybershake {
    /// All jobs in order of arrival, not numbered yet.
    pub(super) fn jobs(&self) -> Vec<Job> {
        let workflow = cybershake();
        let (tasks, edges) = (workflow.job_tasks(self.kind), workflow.edges);
        let job = |number: u32| {
            let arrive = self.arrive + Span::from_micros(self.every.micros() * u64::from(number));
            Job { id: JobId(0), arrive, first_task: 0, tasks: tasks.clone(), edges: edges.clone(), worth: None }
        };
        (0..self.workflows).map(job).collect()
    }

    fn check(&self, fields: &Fields<'_>, context: &Context<'_>) {
        if u128::from(self.every.micros()) * u128::from(self.workflows) > u128::from(LONGEST.micros()) {
            fields.complain("expected the last workflow to arrive within 285 years".to_owned());
        }
        // Wherever too wide tasks are answered during a run, all of it would be: it is always these cores that are
        // missing.
        if let Some((name, largest)) = context.largest(self.kind).filter(|(_, largest)| CYBERSHAKE_CORES > *largest) {
            let message =
                format!("some tasks need {CYBERSHAKE_CORES} cores, but the largest site of kind {name} has {largest}");
            let hint = match context.fit {
                Fit::Must(hint) => hint,
                Fit::May => None,
            };
            match fields.get("source") {
                Some(field) => fields.findings().add(field.complaint(message).hints(hint)),
                None => fields.complain(message),
            }
        }
    }
}

impl Supply for Cybershake {
    fn name(&self) -> &'static str {
        ROW.name
    }

    fn walk(&mut self, w: &mut dyn Walk, context: &Context<'_>) {
        walk_train((&mut self.workflows, WORKFLOWS_MAX), &mut self.arrive, &mut self.every, w);
        context.walk_kind(&mut self.kind, "the kind of core that the tasks need", w);
        if let Some(fields) = w.fields() {
            self.check(fields, context);
        }
    }

    fn jobs_in_all(&self) -> u64 {
        self.workflows.into()
    }

    fn tasks_in_all(&self) -> u64 {
        u64::from(self.workflows) * u64::from(CYBERSHAKE_TASKS)
    }

    fn told(&self) -> (&'static str, String) {
        ("workflow", "CyberShake".to_owned())
    }
}
