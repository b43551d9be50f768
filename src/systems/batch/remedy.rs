//! What a desk does about nodes that fail: who was on them comes back to the queue, and the queue plans around them.
//!
//! To the queue's policy a node that is down is booked until it is expected back. Costs grow with the nodes that are down and the jobs
//! that run.

use std::collections::BTreeMap;

use super::policy::{Policy, Reserved};
use crate::grid::{Expected, Failure, Killed, Recovery, Saves, TaskId};
use crate::kernel::ActorId;
use crate::roles::site::Loss;
use crate::systems::Fails;
use crate::time::{Span, Time};

/// The remedies of one site.
pub struct Remedy {
    recovery: Recovery,
    /// How it fails.
    failures: Vec<Failure>,
    nodes: u32,
    /// Whoever runs, and what is left of it in the end.
    running: BTreeMap<TaskId, Work>,
    /// How often a task has been lost that is still here.
    losses: BTreeMap<TaskId, u32>,
    down: Vec<Reserved>,
    /// Who has been lost in this instant and comes back to the queue.
    back: Vec<(TaskId, Work)>,
}

/// What somebody wants of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub giver: ActorId,
    pub nodes: u32,
    /// What its user asks for, and what it takes; without checkpoints.
    pub walltime: Span,
    pub runtime: Span,
}

impl Remedy {
    pub fn new(fails: &Fails, nodes: u32) -> Remedy {
        let Fails { recovery, failures, .. } = fails.clone();
        let (running, losses) = (BTreeMap::new(), BTreeMap::new());
        Remedy { recovery, failures, nodes, running, losses, down: Vec::new(), back: Vec::new() }
    }

    fn saves(&self, nodes: u32) -> Option<Saves> {
        self.recovery.saves(&self.failures, self.nodes, nodes)
    }

    /// How long a span of work takes on so many nodes, with its checkpoints.
    pub fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.saves(nodes).map_or(work, |saves| saves.stretched(work))
    }

    /// It starts; says what is done if it is lost.
    pub fn starts(&mut self, task: TaskId, work: Work) -> Loss {
        let losses = self.losses.get(&task).copied().unwrap_or(0);
        let is_last = losses + 1 >= self.recovery.attempts;
        let is_told = is_last || matches!(self.recovery.killed, Killed::Back | Killed::Lost);
        self.running.insert(task, work);
        Loss { saves: self.saves(work.nodes), is_told }
    }

    /// It is over, or gone.
    pub fn ends(&mut self, task: TaskId) {
        self.running.remove(&task);
        self.losses.remove(&task);
    }

    pub fn lost(&mut self, task: TaskId, loss: Loss, saved: Span) {
        let work = self.running.remove(&task).expect("who is lost has run");
        if loss.is_told {
            self.losses.remove(&task);
            return;
        }
        *self.losses.entry(task).or_default() += 1;
        let left = |all: Span| Span::from_micros(all.micros().saturating_sub(saved.micros()).max(1));
        self.back.push((task, Work { walltime: left(work.walltime), runtime: left(work.runtime), ..work }));
    }

    /// Books what is down; what is not any more, or for another time, is released.
    pub fn book(&mut self, now: Time, expected: &[Expected], policy: &mut dyn Policy) {
        let stays = |held: &Reserved| expected.iter().any(|one| one.back == held.until && one.nodes == held.nodes);
        for held in self.down.extract_if(.., |held| !stays(held)) {
            if held.until > now {
                policy.release(now, &held);
            }
        }
        for Expected { back, nodes } in expected {
            if !self.down.iter().any(|held| held.until == *back && held.nodes == *nodes) {
                let held = Reserved { from: now, until: *back, nodes: nodes.clone() };
                policy.book(now, &held);
                self.down.push(held);
            }
        }
    }

    /// Those that come back to the queue, in the order in which they do, and whether it is to its head.
    pub fn returning(&mut self) -> (Vec<(TaskId, Work)>, bool) {
        let is_first = self.recovery.killed == Killed::Head;
        if is_first {
            // The last of them is then the first of all.
            self.back.reverse();
        }
        (std::mem::take(&mut self.back), is_first)
    }
}
