//! The transfers of a job: which came last, and what slowed one down.

use serde::Serialize;

use crate::Tally;
use crate::referee::tally::JobRow;
use crate::referee::transfers::FlowRow;
use hansa_sim::grid::EdgeId;
use hansa_sim::network::{LinkId, Mode, Paths};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{Topology, link_names};

/// Flows that are named beside a slow one.
const NAMED: usize = 3;

/// A transfer, and its competitors on the link that limited it most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowStory {
    /// The tasks between which it goes: `3-4`; `home-0` is input.
    pub edge: String,
    pub from: String,
    pub to: String,
    pub bytes: u64,
    /// Seconds that it took, and would have taken alone on its links.
    pub seconds: f64,
    pub alone: Option<f64>,
    /// Seconds for which links that were down held it up.
    pub held_up: f64,
    /// The link of its route with the least bandwidth for it, on average over its time. None if no link limits it.
    pub bottleneck: Option<String>,
    /// Number of other transfers over the bottleneck, on average over its time.
    pub others: f64,
    /// The transfers that shared it for longest.
    pub shared_with: Vec<SharedFlow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SharedFlow {
    pub job: String,
    pub edge: String,
    /// Seconds for which both used the link.
    pub seconds: f64,
}

/// All flows for the tasks of one job.
pub(super) struct JobFlows<'a> {
    tally: &'a Tally,
    flows: Vec<&'a FlowRow>,
}

impl<'a> JobFlows<'a> {
    /// O(flows of the run).
    pub fn of(tally: &'a Tally, row: &JobRow) -> JobFlows<'a> {
        let own =
            tally.transfers.rows.iter().filter(|flow| flow.edge.job == row.job.id && flow.edge.to != EdgeId::HOME);
        JobFlows { tally, flows: own.collect() }
    }

    /// The flow to a task that arrived last, up to a time.
    pub fn last_to_task(&self, task: usize, until: Time) -> Option<&'a FlowRow> {
        let own = self.flows.iter().filter(|flow| flow.edge.to as usize == task);
        let arrived = own.filter(|flow| flow.ended.is_some_and(|ended| ended <= until));
        arrived.copied().max_by_key(|flow| (flow.ended, flow.edge.from))
    }

    /// The story of a flow that has ended. O(flows of the run).
    pub fn explain(&self, topology: &Topology, flow: &FlowRow) -> FlowStory {
        let site = |site: u32| self.tally.sites[site as usize].name.clone();
        let mut story = FlowStory {
            edge: edge_words(flow.edge),
            from: site(flow.from),
            to: site(flow.to),
            bytes: flow.bytes,
            seconds: flow.duration_seconds().unwrap_or_default(),
            alone: self.tally.transfers.time_alone(flow),
            held_up: flow.held_up_micros() as f64 / 1e6,
            bottleneck: None,
            others: 0.0,
            shared_with: Vec::new(),
        };
        let Some(paths) = self.tally.transfers.paths() else { return story };
        let route = paths.route(flow.from as usize, flow.to as usize);
        let used = route.iter().map(|link| LinkUse::of(self.tally, paths, *link, flow));
        let Some(slowest) = used.min_by(|one, other| one.bandwidth.total_cmp(&other.bandwidth)) else { return story };
        if slowest.bandwidth.is_finite() {
            story.bottleneck = link_names(topology).get(slowest.link.index()).cloned();
            story.others = slowest.others;
            for (together, other) in slowest.shared.iter().take(NAMED) {
                story.shared_with.push(SharedFlow {
                    job: self.tally.label(other.edge.job),
                    edge: edge_words(other.edge),
                    seconds: together.micros() as f64 / 1e6,
                });
            }
        }
        story
    }
}

/// A link while a flow used it.
struct LinkUse<'a> {
    link: LinkId,
    /// The flow's share of the capacity, if all flows had equal ones.
    bandwidth: f64,
    /// Number of other flows, on average over its time.
    others: f64,
    /// The other flows, each with the time for which both used the link, the longest first.
    shared: Vec<(Span, &'a FlowRow)>,
}

impl<'a> LinkUse<'a> {
    fn of(tally: &'a Tally, paths: &Paths, link: LinkId, flow: &FlowRow) -> LinkUse<'a> {
        let facts = &paths.links[link.index()];
        let end = flow.ended.unwrap_or(tally.last);
        let mut shared = Vec::new();
        if facts.mode == Mode::Shared {
            for other in tally.transfers.rows.iter().filter(|other| !std::ptr::eq(*other, flow)) {
                let until = other.ended.unwrap_or(tally.last).min(end);
                let from = other.active.max(flow.active);
                if from < until && paths.route(other.from as usize, other.to as usize).contains(&link) {
                    shared.push((until.since(from), other));
                }
            }
        }
        shared.sort_by_key(|(together, other)| (std::cmp::Reverse(*together), other.released, other.edge));
        let together: f64 = shared.iter().map(|(together, _)| together.micros() as f64).sum();
        let others = together / end.since(flow.active).micros().max(1) as f64;
        let bandwidth = facts.effective(1 + others.round() as u32) / (1.0 + others);
        LinkUse { link, bandwidth, others, shared }
    }
}

/// The ends of an edge, as in `transfers.csv`.
pub(super) fn edge_words(edge: EdgeId) -> String {
    match edge.from {
        EdgeId::HOME => format!("home-{}", edge.to),
        from if edge.to == EdgeId::HOME => format!("{from}-home"),
        from => format!("{from}-{}", edge.to),
    }
}
