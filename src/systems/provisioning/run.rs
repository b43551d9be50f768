//! How far a job has come: which of its tasks go where, what their data waits for, and who has ended.
//!
//! A task is entered at its site when all before it have ended and their data is there. Whoever plans says where tasks
//! go ahead of that, and then data leaves as soon as it is there; else a task is ready first, and its data follows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::world::World;
use crate::few;
use crate::grid::{BookingId, Graph, Job, TaskId};
use crate::time::{Span, Time};

pub struct Run {
    pub job: Arc<Job>,
    pub graph: Graph,
    tasks: Vec<Task>,
    open: usize,
    /// The places of tasks in the order of HEFT, from the first time on that somebody asks.
    turns: Option<Vec<u32>>,
}

#[derive(Clone, Debug, Default)]
struct Task {
    /// Predecessors that have not ended.
    before: u32,
    /// Data from those that is under way, and its time, if that has not come.
    data: u32,
    goes: Option<Goes>,
    entered: bool,
    /// It was to tell when it starts, and has.
    begun: bool,
    ended: bool,
    /// How often it had been lost when it was last taken back.
    losses: u32,
}

/// Where a task goes, by the number of the provider, and into which of what has been booked there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Goes {
    pub provider: usize,
    pub within: Vec<(BookingId, u32)>,
    pub padded: Option<Padded>,
    /// Whether it runs in what has been booked for it or not at all, and is taken back if others of its job cannot run.
    pub is_leg: bool,
}

impl Goes {
    /// Whether its user wants to know when it starts.
    pub fn tells(&self) -> bool {
        self.padded.is_some() || self.is_leg
    }
}

/// A task that is to work at a time of its own, and holds its processors until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padded {
    pub work_from: Time,
    /// What it asks for.
    pub walltime: Span,
}

/// Data that can leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaves {
    pub from_task: u32,
    pub to_task: u32,
    pub bytes: u64,
    pub from: usize,
    pub to: usize,
}

impl Run {
    pub fn new(job: Arc<Job>) -> Run {
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let task = |task| Task { before: graph.predecessors(task).len() as u32, ..Task::default() };
        let tasks = (0..job.tasks.len()).map(task).collect();
        Run { open: job.tasks.len(), tasks, graph, turns: None, job }
    }

    pub fn id(&self, task: u32) -> TaskId {
        TaskId { job: self.job.id, index: task }
    }

    /// Tasks that wait for nothing but to be told where to go.
    pub fn ready(&self) -> Vec<u32> {
        let ready = |task: &Task| task.before == 0 && task.goes.is_none();
        self.tasks.iter().zip(0..).filter(|(task, _)| ready(task)).map(|(_, number)| number).collect()
    }

    pub fn goes(&self, task: u32) -> Option<&Goes> {
        self.tasks.get(task as usize)?.goes.as_ref()
    }

    /// Whether a task is at a provider: waits there, or runs.
    pub fn is_at(&self, task: u32, provider: usize) -> bool {
        let at = |task: &Task| {
            task.entered && !task.ended && task.goes.as_ref().is_some_and(|goes| goes.provider == provider)
        };
        self.tasks.get(task as usize).is_some_and(at)
    }

    /// A provider says that a task has started which was to tell so; false if it was not, or has before.
    pub fn begun(&mut self, task: u32, provider: usize) -> bool {
        if !self.is_at(task, provider) || !self.goes(task).is_some_and(Goes::tells) {
            return false;
        }
        !std::mem::replace(&mut self.tasks[task as usize].begun, true)
    }

    /// Puts tasks into the order of HEFT.
    pub fn by_rank(&mut self, tasks: &mut [u32], world: &World) {
        if tasks.len() < 2 {
            return;
        }
        let job = &self.job;
        let turns = self.turns.get_or_insert_with(|| {
            let mut turns = vec![0; job.tasks.len()];
            let application = world.application(job, Span::ZERO);
            (0..).zip(application.order()).for_each(|(turn, task)| turns[*task as usize] = turn);
            turns
        });
        few::sort_by_key(tasks, |task| turns[*task as usize]);
    }

    pub fn is_over(&self) -> bool {
        self.open == 0
    }

    /// Says where a task goes, and what data can leave for it. Each must be told of when it has arrived.
    pub fn send(&mut self, task: u32, goes: Goes) -> Vec<Leaves> {
        let to = goes.provider;
        self.tasks[task as usize].goes = Some(goes);
        let mut leaves = Vec::new();
        for &from in self.graph.predecessors(task as usize) {
            let edge = self.job.edges.binary_search_by_key(&(from, task), |edge| (edge.from, edge.to));
            let edge = self.job.edges[edge.expect("the graph is that of the job's edges")];
            let before = &self.tasks[from as usize];
            let Some(from) = before.goes.as_ref().filter(|_| before.ended).map(|goes| goes.provider) else { continue };
            if from != to {
                leaves.push(Leaves { from_task: edge.from, to_task: task, bytes: edge.data, from, to });
            }
        }
        self.tasks[task as usize].data += leaves.len() as u32;
        leaves
    }

    /// A task is not entered before its time has come, of which [`Self::arrived`] is told like of data.
    pub fn hold_back(&mut self, task: u32) {
        self.tasks[task as usize].data += 1;
    }

    /// Some data for a task is there.
    pub fn arrived(&mut self, task: u32) {
        self.tasks[task as usize].data -= 1;
    }

    /// Enters a task that nothing is in the way of any more; where it goes, if so.
    pub fn enter(&mut self, task: u32) -> Option<Goes> {
        let task = &mut self.tasks[task as usize];
        let is_due = task.before == 0 && task.data == 0 && !task.entered;
        let goes = task.goes.clone().filter(|_| is_due)?;
        task.entered = true;
        Some(goes)
    }

    /// A task that was entered has been taken back; it had been lost so often.
    pub fn left(&mut self, task: u32, losses: u32) {
        if let Some(task) = self.tasks.get_mut(task as usize) {
            (task.entered, task.begun, task.goes, task.losses) = (false, false, None, losses);
        }
    }

    pub fn losses(&self, task: u32) -> u32 {
        self.tasks[task as usize].losses
    }

    /// It has been lost at its site, and does not come again.
    pub fn lost(&mut self, task: u32) {
        self.tasks[task as usize].entered = false;
    }

    /// Those that wait at sites, or run there.
    pub fn at_sites(&self) -> Vec<u32> {
        let is_there = |task: &Task| task.entered && !task.ended;
        self.tasks.iter().zip(0..).filter(|(task, _)| is_there(task)).map(|(_, number)| number).collect()
    }

    /// What has been booked at which provider for tasks that have not ended.
    pub fn unused(&self) -> BTreeSet<(usize, BookingId)> {
        let open = self.tasks.iter().filter(|task| !task.ended).filter_map(|task| task.goes.as_ref());
        open.flat_map(|goes| goes.within.iter().map(|(booking, _)| (goes.provider, *booking))).collect()
    }

    /// A task has ended: which data leaves, and who has nobody before it any more. `None` if it was not entered.
    pub fn ended(&mut self, task: u32) -> Option<(Vec<Leaves>, Vec<u32>)> {
        let number = task as usize;
        let state = self.tasks.get_mut(number).filter(|state| state.entered && !state.ended)?;
        state.ended = true;
        self.open -= 1;
        let from = state.goes.as_ref().map_or(0, |goes| goes.provider);
        let (mut leaves, mut freed) = (Vec::new(), Vec::new());
        let first = self.job.edges.partition_point(|edge| edge.from < task);
        for edge in self.job.edges[first..].iter().take_while(|edge| edge.from == task) {
            let next = &mut self.tasks[edge.to as usize];
            next.before -= 1;
            if next.before == 0 {
                freed.push(edge.to);
            }
            if let Some(to) = next.goes.as_ref().map(|goes| goes.provider).filter(|to| *to != from) {
                next.data += 1;
                leaves.push(Leaves { from_task: task, to_task: edge.to, bytes: edge.data, from, to });
            }
        }
        Some((leaves, freed))
    }
}
