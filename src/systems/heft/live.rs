//! The workflows that the planner has taken in and that are not over, and where each of their tasks stands.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut, Range};
use std::sync::Arc;

use super::Placed;
use crate::grid::{Graph, Job, JobId};
use crate::kernel::ActorId;
use crate::time::Span;

/// Workflows by their numbers, which are given out as they come.
#[derive(Default)]
pub(super) struct Workflows {
    numbers: BTreeMap<JobId, u32>,
    /// Those that are over are forgotten.
    all: Vec<Option<Box<Live>>>,
}

/// A workflow under way.
pub(super) struct Live {
    pub job: Arc<Job>,
    pub user: ActorId,
    pub graph: Graph,
    pub tasks: Vec<State>,
    pub unfinished: usize,
    /// How many of its tasks sites have, and how much of its data is on its way: of all that there is news to come.
    pub under_way: usize,
    /// Whether it has been given up.
    pub is_removed: bool,
}

pub(super) struct State {
    pub phase: Phase,
    /// Without plans, only its site is of interest.
    pub placed: Placed,
    /// Tasks that have not ended, or whose data is not there yet.
    pub missing: u32,
    /// How often it has been lost, and how much of its work is saved.
    pub losses: u32,
    pub saved: Span,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Phase {
    Waiting,
    /// It has a site, and its data is on the way there. Only without plans.
    Fetching,
    Running,
    Done,
}

impl Workflows {
    /// Whether there has ever been one of that name.
    pub fn know(&self, job: JobId) -> bool {
        self.numbers.contains_key(&job)
    }

    /// The number of one that is not over.
    pub fn find(&self, job: JobId) -> Option<u32> {
        self.numbers.get(&job).copied().filter(|number| self.all[*number as usize].is_some())
    }

    pub fn add(&mut self, live: Live) -> u32 {
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
    type Output = Live;

    fn index(&self, number: u32) -> &Live {
        self.all[number as usize].as_ref().expect("it is not over")
    }
}

impl IndexMut<u32> for Workflows {
    fn index_mut(&mut self, number: u32) -> &mut Live {
        self.all[number as usize].as_mut().expect("it is not over")
    }
}

impl Live {
    pub fn new(job: Arc<Job>, user: ActorId) -> Live {
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let state = |task: usize| State {
            phase: Phase::Waiting,
            placed: Placed::default(),
            missing: graph.predecessors(task).len() as u32,
            losses: 0,
            saved: Span::ZERO,
        };
        let tasks: Vec<State> = (0..job.tasks.len()).map(state).collect();
        Live { unfinished: tasks.len(), job, user, graph, tasks, under_way: 0, is_removed: false }
    }

    /// By number.
    pub fn edges_out_of(&self, task: u32) -> Range<usize> {
        let edges = &self.job.edges;
        edges.partition_point(|edge| edge.from < task)..edges.partition_point(|edge| edge.from <= task)
    }

    /// The edges into a task, with the site and the size of what comes along them.
    pub fn inputs(&self, task: u32) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        self.graph.predecessors(task as usize).iter().map(move |&from| {
            let edges = &self.job.edges;
            let at = edges.partition_point(|edge| (edge.from, edge.to) < (from, task));
            (at as u32, self.tasks[from as usize].placed.site, edges[at].data)
        })
    }
}
