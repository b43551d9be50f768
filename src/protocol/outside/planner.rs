//! The conversation with a planner of a user.

use serde::{Deserialize, Serialize};

use super::{SiteLine, VERSION, call, seconds};
use crate::grid::JobId;
use crate::time::{Span, Time};

#[derive(Debug, Serialize)]
pub struct PlannerHello<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    version: u32,
    role: &'static str,
    topology: &'a str,
    seed: u64,
    user: &'a str,
    /// Sites that it may choose from.
    sites: Vec<SiteLine<'a>>,
}

impl<'a> PlannerHello<'a> {
    pub fn new(topology: &'a str, seed: u64, user: &'a str, sites: Vec<SiteLine<'a>>) -> PlannerHello<'a> {
        PlannerHello { kind: "hello", version: VERSION, role: "planner", topology, seed, user, sites }
    }
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
    #[serde(rename = "type")]
    kind: &'static str,
    ask: u64,
    t: f64,
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
    pub fn new(ask: u64, now: Time, heard: &'a [UserEvent]) -> PlannerQuestion<'a> {
        let line = |heard: &'a UserEvent| match heard {
            UserEvent::Due { job, nodes, walltime, site } => {
                let walltime = seconds(walltime.micros());
                UserEventLine::Due { job: *job, nodes: *nodes, walltime, site: site.as_deref() }
            }
            &UserEvent::Over { job } => UserEventLine::Over { job },
            &UserEvent::Recalled { job, in_time } => UserEventLine::Recalled { job, in_time },
            UserEvent::Called => UserEventLine::Called,
        };
        PlannerQuestion { kind: "plan", ask, t: seconds(now.micros()), events: heard.iter().map(line).collect() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannerAnswer {
    #[serde(rename = "type")]
    _kind: PlanWord,
    pub ask: u64,
    orders: Vec<UserOrderLine>,
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
    pub fn advice(self) -> Result<Vec<UserAction>, String> {
        let plan = |order| {
            Ok(match order {
                UserOrderLine::Submit { job, site } => UserAction::Submit { job, site },
                UserOrderLine::Recall { job } => UserAction::Recall { job },
                UserOrderLine::Call { t } => UserAction::Call { at: call(t)? },
            })
        };
        self.orders.into_iter().map(plan).collect()
    }
}
