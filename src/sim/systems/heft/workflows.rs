//! The planner's workflows that are not over, with the state of each task.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut, Range};
use std::sync::Arc;

use super::HeftPlacement;
use crate::grid::{Graph, Job, JobId};
use crate::kernel::ActorId;
use crate::time::{Span, Time};

/// Workflows by their numbers, which are assigned in order of arrival.
#[derive(Default)]
pub(super) struct Workflows {
    numbers: BTreeMap<JobId, u32>,
    /// The workflows; those that are over are dropped.
    all: Vec<Option<Box<ActiveWorkflow>>>,
}

/// A workflow in progress.
pub(super) struct ActiveWorkflow {
    pub job: Arc<Job>,
    pub user: ActorId,
    /// The time of its arrival, from which its plan counts.
    pub planned_at: Time,
    pub graph: Graph,
    pub tasks: Vec<WorkflowState>,
    pub unfinished: usize,
    /// Number of its tasks at sites and of its transfers: of all expected messages.
    pub under_way: usize,
    /// True if it has been given up.
    pub is_removed: bool,
}

pub(super) struct WorkflowState {
    pub phase: WorkflowPhase,
    /// Its place; without plans, only the site of it is used.
    pub placed: HeftPlacement,
    /// Number of predecessors that have not ended, or whose data has not arrived.
    pub missing: u32,
    /// Number of times that the task was lost, and its saved work.
    pub losses: u32,
    pub saved: Span,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum WorkflowPhase {
    Waiting,
    /// It has a site, and its data is on the way there. Only without plans.
    Fetching,
    Running,
    Done,
}

impl Workflows {
    /// True if a workflow of that name was ever known.
    pub fn know(&self, job: JobId) -> bool {
        self.numbers.contains_key(&job)
    }

    /// The number of a workflow that is not over.
    pub fn find(&self, job: JobId) -> Option<u32> {
        self.numbers.get(&job).copied().filter(|number| self.all[*number as usize].is_some())
    }

    pub fn add(&mut self, live: ActiveWorkflow) -> u32 {
        let number = self.all.len() as u32;
        self.numbers.insert(live.job.id, number);
        self.all.push(Some(Box::new(live)));
        number
    }

    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.all.iter().flatten().count()
    }

    pub fn forget_if_over(&mut self, number: u32) {
        let live = &self[number];
        if live.under_way == 0 && (live.unfinished == 0 || live.is_removed) {
            self.all[number as usize] = None;
        }
    }
}

impl Index<u32> for Workflows {
    type Output = ActiveWorkflow;

    fn index(&self, number: u32) -> &ActiveWorkflow {
        self.all[number as usize].as_ref().expect("it is not over")
    }
}

impl IndexMut<u32> for Workflows {
    fn index_mut(&mut self, number: u32) -> &mut ActiveWorkflow {
        self.all[number as usize].as_mut().expect("it is not over")
    }
}

impl ActiveWorkflow {
    pub fn new(job: Arc<Job>, user: ActorId, planned_at: Time) -> ActiveWorkflow {
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let tasks: Vec<WorkflowState> = (0..job.tasks.len())
            .map(|task| WorkflowState {
                phase: WorkflowPhase::Waiting,
                placed: HeftPlacement::default(),
                missing: graph.predecessors(task).len() as u32,
                losses: 0,
                saved: Span::ZERO,
            })
            .collect();
        ActiveWorkflow { unfinished: tasks.len(), job, user, planned_at, graph, tasks, under_way: 0, is_removed: false }
    }

    /// Edges out of a task, as a range of numbers.
    pub fn edges_out_of(&self, task: u32) -> Range<usize> {
        let edges = &self.job.edges;
        edges.partition_point(|edge| edge.from < task)..edges.partition_point(|edge| edge.from <= task)
    }

    /// The edges into a task, each with the source site and the size of its data.
    pub fn inputs(&self, task: u32) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        self.graph.predecessors(task as usize).iter().map(move |&from| {
            let edges = &self.job.edges;
            let at = edges.partition_point(|edge| (edge.from, edge.to) < (from, task));
            (at as u32, self.tasks[from as usize].placed.site, edges[at].data)
        })
    }
}
