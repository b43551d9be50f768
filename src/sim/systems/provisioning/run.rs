//! Progress of a job: the places of its tasks, the data they wait for, and the tasks that have ended.
//!
//! A task is entered at its site when all its predecessors have ended and their data has arrived. A planning strategy
//! assigns places ahead of that, and then data leaves as soon as it exists; otherwise a task becomes ready first, and
//! its data follows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::world::World;
use crate::grid::{BookingId, Graph, Job, TaskId};
use crate::time::{Span, Time};

pub struct Run {
    pub job: Arc<Job>,
    pub graph: Graph,
    tasks: Vec<TaskRun>,
    open: usize,
    /// Positions of the tasks in HEFT order, computed at the first use.
    turns: Option<Vec<u32>>,
}

/// Time of an alarm, and its place among the alarms of that time.
pub type AlarmPosition = (Time, usize);

#[derive(Clone, Debug, Default)]
struct TaskRun {
    /// Number of predecessors that have not ended.
    before: u32,
    /// Number of transfers under way to it, and its own time, if that has not come.
    data: u32,
    /// Position of the last of those arrivals that are known ahead.
    last_arrival: AlarmPosition,
    /// True if its submission has been sent, as of its last arrival.
    is_foreseen: bool,
    assignment: Option<Assignment>,
    entered: bool,
    /// True if the task has announced its start, as requested.
    begun: bool,
    ended: bool,
    /// True if its site reports its end as one from which nothing follows.
    ends_quietly: bool,
    /// Number of times that the task had been lost when it was last taken back.
    losses: u32,
}

/// The place of a task: a provider, by its number, and bookings there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    pub provider: usize,
    pub within: Vec<(BookingId, u32)>,
    pub padded: Option<Padded>,
    /// True if it runs in its bookings or not at all, and is taken back if other tasks of its job cannot run.
    pub is_leg: bool,
}

impl Assignment {
    /// True if the user wants a message about the task's start.
    pub fn reports_start(&self) -> bool {
        self.padded.is_some() || self.is_leg
    }
}

/// A task with its own time for its work, which holds its processors until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padded {
    pub work_from: Time,
    /// The requested run time.
    pub walltime: Span,
}

/// A transfer whose data is ready to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub from_task: u32,
    pub to_task: u32,
    pub bytes: u64,
    pub from: usize,
    pub to: usize,
}

impl Run {
    pub fn new(job: Arc<Job>) -> Run {
        let graph = Graph::new(job.tasks.len(), &job.edges);
        let tasks = (0..job.tasks.len())
            .map(|task| TaskRun { before: graph.predecessors(task).len() as u32, ..TaskRun::default() })
            .collect();
        Run { open: job.tasks.len(), tasks, graph, turns: None, job }
    }

    pub fn id(&self, task: u32) -> TaskId {
        TaskId { job: self.job.id, index: task }
    }

    /// Tasks that have all inputs but no place yet.
    pub fn ready(&self) -> Vec<u32> {
        self.tasks.iter().zip(0..).filter(|(task, _)| is_ready(task)).map(|(_, number)| number).collect()
    }

    pub fn assignment(&self, task: u32) -> Option<&Assignment> {
        self.tasks.get(task as usize)?.assignment.as_ref()
    }

    /// True if a task waits or runs at a provider.
    pub fn is_at(&self, task: u32, provider: usize) -> bool {
        self.tasks.get(task as usize).is_some_and(|task| {
            task.entered
                && !task.ended
                && task.assignment.as_ref().is_some_and(|assignment| assignment.provider == provider)
        })
    }

    /// Sets whether nothing follows from the end of a task that is entered.
    pub fn set_quiet_end(&mut self, task: u32, is_quiet: bool) {
        self.tasks[task as usize].ends_quietly = is_quiet;
    }

    /// True if nothing follows from the end of a task.
    pub fn ends_quietly(&self, task: u32) -> bool {
        self.tasks.get(task as usize).is_some_and(|task| task.ends_quietly)
    }

    /// True if no other task of the job depends on a task.
    pub fn is_last(&self, task: u32) -> bool {
        let first = self.job.edges.partition_point(|edge| edge.from < task);
        self.job.edges.get(first).is_none_or(|edge| edge.from != task)
    }

    /// Records a start that a provider announces; false if no announcement was due.
    pub fn begun(&mut self, task: u32, provider: usize) -> bool {
        if !self.is_at(task, provider) || !self.assignment(task).is_some_and(Assignment::reports_start) {
            return false;
        }
        !std::mem::replace(&mut self.tasks[task as usize].begun, true)
    }

    /// Sorts tasks in HEFT order.
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
        tasks.sort_by_key(|task| turns[*task as usize]);
    }

    pub fn is_over(&self) -> bool {
        self.open == 0
    }

    /// Sets the place of a task, and returns the transfers that can leave for it. The caller reports each arrival.
    pub fn send(&mut self, task: u32, assignment: Assignment) -> Vec<Transfer> {
        let to = assignment.provider;
        self.tasks[task as usize].assignment = Some(assignment);
        let mut transfers = Vec::new();
        for &from in self.graph.predecessors(task as usize) {
            let edge = self.job.edges.binary_search_by_key(&(from, task), |edge| (edge.from, edge.to));
            let edge = self.job.edges[edge.expect("the graph is that of the job's edges")];
            let before = &self.tasks[from as usize];
            let Some(from) = before.assignment.as_ref().filter(|_| before.ended).map(|assignment| assignment.provider)
            else {
                continue;
            };
            if from != to {
                transfers.push(Transfer { from_task: edge.from, to_task: task, bytes: edge.data, from, to });
            }
        }
        self.tasks[task as usize].data += transfers.len() as u32;
        transfers
    }

    /// Delays a task until a time of its own, which [`Self::record_arrival`] reports like a transfer.
    pub fn add_delay(&mut self, task: u32) {
        self.tasks[task as usize].data += 1;
    }

    /// Records that an arrival for a task is known ahead, and that nothing can prevent it.
    pub fn expect_arrival(&mut self, task: u32, at: AlarmPosition) {
        let last = &mut self.tasks[task as usize].last_arrival;
        *last = at.max(*last);
    }

    /// The place of a task, and its last arrival, if that is the last open dependency and known to come. Once for each
    /// task.
    pub fn foresee_entry(&mut self, task: u32, now: Time) -> Option<(AlarmPosition, Assignment)> {
        let task = &mut self.tasks[task as usize];
        let is_open = task.before == 0 && task.data > 0 && !task.entered && !task.is_foreseen;
        let assignment = task.assignment.clone().filter(|_| is_open && task.last_arrival.0 > now)?;
        task.is_foreseen = true;
        Some((task.last_arrival, assignment))
    }

    /// True if the submission of a task has been sent ahead.
    pub fn is_foreseen(&self, task: u32) -> bool {
        self.tasks[task as usize].is_foreseen
    }

    /// Records that an input of a task has arrived.
    pub fn record_arrival(&mut self, task: u32) {
        self.tasks[task as usize].data -= 1;
    }

    /// Enters a task without open dependencies, and returns its place.
    pub fn enter_if_ready(&mut self, task: u32) -> Option<Assignment> {
        let task = &mut self.tasks[task as usize];
        let is_due = task.before == 0 && task.data == 0 && !task.entered;
        let assignment = task.assignment.clone().filter(|_| is_due)?;
        task.entered = true;
        Some(assignment)
    }

    /// Records that an entered task has been taken back, with its number of losses.
    pub fn record_withdrawal(&mut self, task: u32, losses: u32) {
        if let Some(task) = self.tasks.get_mut(task as usize) {
            (task.entered, task.begun, task.assignment, task.losses) = (false, false, None, losses);
        }
    }

    pub fn losses(&self, task: u32) -> u32 {
        self.tasks[task as usize].losses
    }

    /// Records that a task is lost at its site for good.
    pub fn record_loss(&mut self, task: u32) {
        self.tasks[task as usize].entered = false;
    }

    /// Tasks that wait or run at sites.
    pub fn at_sites(&self) -> Vec<u32> {
        self.tasks.iter().zip(0..).filter(|(task, _)| is_entered(task)).map(|(_, number)| number).collect()
    }

    /// Bookings, with their providers, of tasks that have not ended.
    pub fn unused(&self) -> BTreeSet<(usize, BookingId)> {
        let open = self.tasks.iter().filter(|task| !task.ended).filter_map(|task| task.assignment.as_ref());
        open.flat_map(|assignment| assignment.within.iter().map(|(booking, _)| (assignment.provider, *booking)))
            .collect()
    }

    /// True if a task that has not ended is assigned to a booking of a provider.
    pub fn is_wanted(&self, (provider, booking): (usize, BookingId)) -> bool {
        let mut open = self.tasks.iter().filter(|task| !task.ended).filter_map(|task| task.assignment.as_ref());
        open.any(|assignment| {
            assignment.provider == provider && assignment.within.iter().any(|(its, _)| *its == booking)
        })
    }

    /// Records the end of a task. Returns the transfers that leave, and the tasks without open predecessors. `None` if
    /// it was not entered.
    pub fn record_end(&mut self, task: u32) -> Option<(Vec<Transfer>, Vec<u32>)> {
        let number = task as usize;
        let state = self.tasks.get_mut(number).filter(|state| state.entered && !state.ended)?;
        state.ended = true;
        self.open -= 1;
        let from = state.assignment.as_ref().map_or(0, |assignment| assignment.provider);
        let mut transfers = Vec::new();
        let mut freed = Vec::new();
        let first = self.job.edges.partition_point(|edge| edge.from < task);
        for edge in self.job.edges[first..].iter().take_while(|edge| edge.from == task) {
            let next = &mut self.tasks[edge.to as usize];
            next.before -= 1;
            if next.before == 0 {
                freed.push(edge.to);
            }
            if let Some(to) = next.assignment.as_ref().map(|assignment| assignment.provider).filter(|to| *to != from) {
                next.data += 1;
                transfers.push(Transfer { from_task: task, to_task: edge.to, bytes: edge.data, from, to });
            }
        }
        Some((transfers, freed))
    }
}

fn is_ready(task: &TaskRun) -> bool {
    task.before == 0 && task.assignment.is_none()
}

fn is_entered(task: &TaskRun) -> bool {
    task.entered && !task.ended
}
