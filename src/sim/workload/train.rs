//! Series of a generator's workflows.

use serde::Serialize;

use super::overestimate::Overestimate;
use crate::grid::{Kind, LONGEST, Task, Workflow};
use crate::settings::{Context, Fields, Moment, SPAN, Walk, key};
use crate::time::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Train {
    pub workflows: u32,
    /// Arrival of the first one, and the interval to the next.
    pub arrive: Time,
    pub every: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overestimate: Option<Overestimate>,
}

impl Train {
    pub const ONE: Train = Train { workflows: 1, arrive: Time::ZERO, every: Span::ZERO, overestimate: None };

    /// Walks the settings; there are at most `most` workflows, drawn with `seed`.
    pub(super) fn walk(&mut self, most: u32, seed: u64, w: &mut dyn Walk, context: &Context<'_>) {
        w.set(key("workflows", "").means("the number of them"), &mut self.workflows, 1..=most);
        w.set(key("arrive", "the first").means("the arrival of the first one"), &mut self.arrive, Moment);
        w.set(key("every", "from one to the next").means("the time from one to the next"), &mut self.every, SPAN);
        Overestimate::walk_optional(&mut self.overestimate, seed, w, context);
    }

    /// Checks workflows whose tasks run for at most `work` microseconds together.
    pub(super) fn check(&self, work: u128, fields: &Fields<'_>) {
        if u128::from(self.every.micros()) * u128::from(self.workflows) > u128::from(LONGEST.micros()) {
            fields.complain("expected the last workflow to arrive within 285 years".to_owned());
        }
        if let Some(overestimate) = &self.overestimate {
            overestimate.check(work, fields);
        }
    }

    /// Tasks of a workflow, with the times that they request.
    pub(super) fn tasks(&self, number: u32, workflow: &Workflow, kind: Kind) -> Vec<Task> {
        let mut tasks = workflow.job_tasks(kind);
        if let Some(overestimate) = &self.overestimate {
            overestimate.apply(number, &mut tasks);
        }
        tasks
    }

    /// Arrivals, with the numbers of workflows.
    pub(super) fn arrivals(self) -> impl Iterator<Item = (u32, Time)> {
        (0..self.workflows)
            .map(move |number| (number, self.arrive + Span::from_micros(self.every.micros() * u64::from(number))))
    }
}
