//! The conversation with a planner of a user.

use serde::{Deserialize, Serialize};

use super::{Answer, SiteLine, call_time, to_seconds};
use crate::grid::JobId;
use crate::time::{Span, Time};

/// Facts for a planner.
#[derive(Debug, Serialize)]
pub struct PlannerFacts<'a> {
    pub user: &'a str,
    /// Sites that it may choose from.
    pub sites: Vec<SiteLine<'a>>,
}

/// An event for a user whose planner is an external program.
#[derive(Clone, Debug, PartialEq)]
pub enum UserEvent {
    /// A job is due: it can be submitted from now on.
    Due { job: JobId, nodes: u32, walltime: Span, site: Option<String> },
    /// A submitted job is over, in any way.
    Over { job: JobId },
    /// Answer to a recall: if it was in time, the user has the job again.
    Recalled { job: JobId, in_time: bool },
    /// The time at which the program asked to be called.
    Called,
}

/// An action that a program requests for the jobs of a user.
#[derive(Clone, Debug, PartialEq)]
pub enum UserAction {
    /// Submits a job, to one site or to any.
    Submit { job: JobId, site: Option<String> },
    /// Recalls a job.
    Recall { job: JobId },
    /// Requests a call at this time, even without events.
    Call { at: Time },
}

#[derive(Debug, Serialize)]
pub struct PlannerQuestion<'a> {
    events: Vec<UserEventLine<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum UserEventLine<'a> {
    Due { job: JobId, nodes: u32, walltime: f64, site: Option<&'a str> },
    Over { job: JobId },
    Recalled { job: JobId, in_time: bool },
    Called,
}

impl<'a> PlannerQuestion<'a> {
    pub fn new(events: &'a [UserEvent]) -> PlannerQuestion<'a> {
        PlannerQuestion {
            events: events
                .iter()
                .map(|event| match event {
                    UserEvent::Due { job, nodes, walltime, site } => {
                        let walltime = to_seconds(walltime.micros());
                        UserEventLine::Due { job: *job, nodes: *nodes, walltime, site: site.as_deref() }
                    }
                    &UserEvent::Over { job } => UserEventLine::Over { job },
                    &UserEvent::Recalled { job, in_time } => UserEventLine::Recalled { job, in_time },
                    UserEvent::Called => UserEventLine::Called,
                })
                .collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannerAnswer {
    #[serde(rename = "type")]
    _kind: PlanWord,
    ask: u64,
    orders: Vec<UserOrderLine>,
}

impl Answer for PlannerAnswer {
    const KIND: &'static str = "plan";
    const EXAMPLE: &'static str = r#"{"type":"plan","ask":1,"orders":[{"order":"submit","job":0,"site":null}]}"#;

    fn question_number(&self) -> u64 {
        self.ask
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlanWord {
    Plan,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
enum UserOrderLine {
    Submit { job: JobId, site: Option<String> },
    Recall { job: JobId },
    Call { t: f64 },
}

impl PlannerAnswer {
    /// The requested actions, or an error if the answer is invalid.
    pub fn decision(self) -> Result<Vec<UserAction>, String> {
        self.orders
            .into_iter()
            .map(|order| {
                Ok(match order {
                    UserOrderLine::Submit { job, site } => UserAction::Submit { job, site },
                    UserOrderLine::Recall { job } => UserAction::Recall { job },
                    UserOrderLine::Call { t } => UserAction::Call { at: call_time(t)? },
                })
            })
            .collect()
    }
}
