//! What a desk does about nodes that fail: who was on them comes back to the queue, and the queue plans around them.
//!
//! To the queue's policy a node that is down is booked until it is expected back. Costs grow with the nodes that are down and the jobs
//! that run.

use std::collections::BTreeMap;

use super::policy::{Policy, Reserved};
use crate::grid::{Expected, TaskId};
use crate::kernel::ActorId;
use crate::roles::site::{Attempts, Loss, left_of};
use crate::systems::Fails;
use crate::time::{Span, Time};

/// The remedies of one site.
pub struct Remedy {
    attempts: Attempts,
    /// Whoever runs, and what is left of it in the end.
    running: BTreeMap<TaskId, Work>,
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
    /// How often it has been lost.
    pub losses: u32,
}

impl Remedy {
    pub fn new(fails: &Fails, nodes: u32) -> Remedy {
        let attempts = fails.attempts(nodes);
        Remedy { attempts, running: BTreeMap::new(), down: Vec::new(), back: Vec::new() }
    }

    /// How long a span of work takes on so many nodes, with its checkpoints.
    pub fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.attempts.stretched(work, nodes)
    }

    /// It starts; says what is done if it is lost.
    pub fn starts(&mut self, task: TaskId, work: Work) -> Loss {
        self.running.insert(task, work);
        self.attempts.starts(work.losses, work.nodes)
    }

    /// It is over, or gone.
    pub fn ends(&mut self, task: TaskId) {
        self.running.remove(&task);
    }

    pub fn lost(&mut self, task: TaskId, loss: Loss, saved: Span) {
        let work = self.running.remove(&task).expect("who is lost has run");
        if !loss.is_told {
            let (walltime, runtime) = (left_of(work.walltime, saved), left_of(work.runtime, saved));
            self.back.push((task, Work { walltime, runtime, losses: work.losses.saturating_add(1), ..work }));
        }
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
        let is_first = self.attempts.are_first();
        if is_first {
            // The last of them is then the first of all.
            self.back.reverse();
        }
        (std::mem::take(&mut self.back), is_first)
    }
}
