//! The conversation with a manager of a site.

use serde::{Deserialize, Serialize};

use super::{Answer, Decision, JobEnd, SiteAction, SiteEvent, SiteLine, call_time, parse_nodes, to_seconds};
use crate::grid::JobId;
use crate::time::Time;

/// Facts for a manager.
#[derive(Debug, Serialize)]
pub struct ManagerFacts<'a> {
    pub site: SiteLine<'a>,
}

#[derive(Debug, Serialize)]
pub struct ManagerQuestion {
    events: Vec<SiteEventLine>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum SiteEventLine {
    Submitted {
        job: JobId,
        nodes: u32,
        walltime: f64,
    },
    Ended {
        job: JobId,
        how: &'static str,
        nodes: String,
    },
    Lost {
        job: JobId,
        nodes: String,
        waits: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        walltime: Option<f64>,
    },
    Nodes {
        down: Vec<DownNodes>,
    },
    Recalled {
        job: JobId,
    },
    Called,
}

/// Nodes that are down, and their expected return.
#[derive(Debug, Serialize)]
struct DownNodes {
    nodes: String,
    back: f64,
}

impl ManagerQuestion {
    pub fn new(happened: &[(Time, SiteEvent)]) -> ManagerQuestion {
        let line = |(_, happened): &(Time, SiteEvent)| match happened {
            &SiteEvent::Submitted { job, nodes, walltime, .. } => {
                SiteEventLine::Submitted { job, nodes, walltime: to_seconds(walltime.micros()) }
            }
            SiteEvent::Ended { job, how, on, .. } => {
                let how = match how {
                    JobEnd::Done => "done",
                    JobEnd::Walltime => "walltime",
                    JobEnd::Killed => "killed",
                };
                SiteEventLine::Ended { job: *job, how, nodes: on.to_string() }
            }
            SiteEvent::Lost { job, on, waits, .. } => {
                let walltime = waits.map(|walltime| to_seconds(walltime.micros()));
                SiteEventLine::Lost { job: *job, nodes: on.to_string(), waits: waits.is_some(), walltime }
            }
            SiteEvent::Nodes { down } => {
                let down = down
                    .iter()
                    .map(|one| DownNodes { nodes: one.nodes.to_string(), back: to_seconds(one.back.micros()) });
                SiteEventLine::Nodes { down: down.collect() }
            }
            &SiteEvent::Recalled { job } => SiteEventLine::Recalled { job },
            SiteEvent::Called => SiteEventLine::Called,
        };
        ManagerQuestion { events: happened.iter().map(line).collect() }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManagerAnswer {
    #[serde(rename = "type")]
    _kind: ManageWord,
    ask: u64,
    orders: Vec<SiteOrderLine>,
}

impl Answer for ManagerAnswer {
    const KIND: &'static str = "manage";
    const EXAMPLE: &'static str = r#"{"type":"manage","ask":1,"orders":[{"order":"start","job":0,"nodes":"0-3"}]}"#;

    fn question_number(&self) -> u64 {
        self.ask
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ManageWord {
    Manage,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case", deny_unknown_fields)]
enum SiteOrderLine {
    Start { job: JobId, nodes: Option<String> },
    Reject { job: JobId },
    Kill { job: JobId },
    Call { t: f64 },
}

impl ManagerAnswer {
    /// The requested actions, or an error if the answer is invalid.
    pub fn decision(self, now: Time) -> Result<Decision, String> {
        let read_order = |order: SiteOrderLine| {
            Ok::<SiteAction, String>(match order {
                SiteOrderLine::Start { job, nodes: named } => {
                    SiteAction::Start { job, on: named.as_deref().map(parse_nodes).transpose()? }
                }
                SiteOrderLine::Reject { job } => SiteAction::Reject { job },
                SiteOrderLine::Kill { job } => SiteAction::Kill { job },
                SiteOrderLine::Call { t } => SiteAction::Call { at: call_time(t)? },
            })
        };
        let actions: Result<Vec<_>, String> =
            self.orders.into_iter().map(|order| Ok((now, read_order(order)?))).collect();
        Ok(Decision { actions: actions?, ready: now })
    }
}
