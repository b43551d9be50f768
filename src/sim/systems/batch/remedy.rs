//! The handling of node failures at a desk: lost jobs return to the queue, and the queue plans around failed nodes.
//!
//! To the queue's policy a failed node is booked until its expected return, unless it is reserved or booked anyway
//! (`claims.rs`). Costs grow with the failed nodes, the claims, and the running jobs.

use std::collections::BTreeMap;

use super::claims::NodeClaims;
use crate::grid::{Expected, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::roles::queue::Policy;
use crate::roles::site::{Attempts, Loss, left_of};
use crate::systems::Fails;
use crate::time::{Span, Time};

/// Failure handling of one site.
pub struct QueueFailureHandling {
    attempts: Attempts,
    /// Running jobs, with their latest ends and their work.
    running: BTreeMap<TaskId, (Time, Work)>,
    claims: NodeClaims,
    /// True if the policy only counts, so that the number of running jobs matters.
    counts: bool,
    /// Jobs that were lost in this instant and return to the queue.
    back: Vec<(TaskId, Work)>,
}

/// Demand of a task for nodes, and its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    pub sender: ActorId,
    pub nodes: u32,
    /// The requested time and the run time, without checkpoints.
    pub walltime: Span,
    pub runtime: Span,
    /// Number of times that the task was lost.
    pub losses: u32,
    /// True if its sender handles a loss itself.
    pub goes_back: bool,
}

impl QueueFailureHandling {
    /// Failure handling for a site with this policy, which knows the reservations.
    pub fn new(fails: &Fails, nodes: u32, policy: &dyn Policy, reserved: &[Reserved]) -> QueueFailureHandling {
        // Only a counting policy moves jobs.
        let counts = policy.moves_jobs();
        let attempts = fails.attempts(nodes);
        let claims = NodeClaims::new(nodes, counts, reserved);
        QueueFailureHandling { attempts, running: BTreeMap::new(), claims, counts, back: Vec::new() }
    }

    /// Duration of a span of work on this many nodes, with its checkpoints.
    pub fn with_checkpoints(&self, work: Span, nodes: u32) -> Span {
        self.attempts.with_checkpoints(work, nodes)
    }

    /// Records a start, with the latest end. Returns the loss rule of the job.
    pub fn starts(&mut self, task: TaskId, work: Work, until: Time) -> Loss {
        self.running.insert(task, (until, work));
        let loss = self.attempts.starts(work.losses, work.nodes);
        Loss { is_reported: loss.is_reported || work.goes_back, ..loss }
    }

    /// The loss rule of a booking of this many nodes: a loss is reported to the sender.
    pub fn starts_booked(&self, nodes: u32) -> Loss {
        self.attempts.starts_for_giver(nodes)
    }

    /// Records the end of a job.
    pub fn ends(&mut self, now: Time, task: TaskId, policy: &mut dyn Policy) {
        self.running.remove(&task);
        if self.claims.has_waiting_claim(now) {
            self.claims.correct_calendar(now, &self.widths(), policy);
        }
    }

    pub fn record_loss(&mut self, task: TaskId, loss: Loss, saved: Span) {
        let (_, work) = self.running.remove(&task).expect("a lost job has run");
        if !loss.is_reported {
            let walltime = left_of(work.walltime, saved);
            let runtime = left_of(work.runtime, saved);
            self.back.push((task, Work { walltime, runtime, losses: work.losses.saturating_add(1), ..work }));
        }
    }

    pub fn claims(&self) -> &NodeClaims {
        &self.claims
    }

    /// Adds a booking for which the policy has room.
    pub fn book(&mut self, now: Time, task: TaskId, held: &Reserved, policy: &mut dyn Policy) {
        self.claims.add(now, task, held, policy);
    }

    /// Frees the rest of a task's booking.
    pub fn release(&mut self, now: Time, task: TaskId, policy: &mut dyn Policy) {
        self.claims.remove(now, task, &self.widths(), policy);
    }

    /// Sets the failed nodes; all others are up.
    pub fn set_down_nodes(&mut self, now: Time, down: &[Expected], policy: &mut dyn Policy) {
        self.claims.set_down_nodes(now, down, &self.widths(), policy);
    }

    /// Latest ends and nodes of the queue's running jobs, if they matter.
    fn widths(&self) -> Vec<(Time, u32)> {
        let all = self.running.values().filter(|_| self.counts);
        all.map(|(until, work)| (*until, work.nodes)).collect()
    }

    /// The jobs that return to the queue, in the order in which they do; true if they return to its head.
    pub fn returning(&mut self) -> (Vec<(TaskId, Work)>, bool) {
        let is_first = self.attempts.are_first();
        if is_first {
            // The last one to join is then the first of the queue.
            self.back.reverse();
        }
        (std::mem::take(&mut self.back), is_first)
    }
}
