//! What a desk does about nodes that fail: who was on them comes back to the queue, and the queue plans around them.
//!
//! To the queue's policy a node that is down is booked until it is expected back, unless it is reserved or booked
//! anyway (`claims.rs`). Costs grow with the nodes that are down, what is claimed, and the jobs that run.

use std::collections::BTreeMap;

use super::claims::Claims;
use crate::grid::{Expected, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::roles::queue::Policy;
use crate::roles::site::{Attempts, Loss, left_of};
use crate::systems::Fails;
use crate::time::{Span, Time};

/// The remedies of one site.
pub struct Remedy {
    attempts: Attempts,
    /// Whoever runs, until when he may, and what is left of it in the end.
    running: BTreeMap<TaskId, (Time, Work)>,
    claims: Claims,
    /// Whether the policy only counts, so that it matters how many run.
    counts: bool,
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
    /// Whether whoever gave it sees to it himself if it is lost.
    pub goes_back: bool,
}

impl Remedy {
    /// For a site that is run by such a policy, which knows what is reserved.
    pub fn new(fails: &Fails, nodes: u32, policy: &dyn Policy, reserved: &[Reserved]) -> Remedy {
        // Only whoever counts moves jobs.
        let counts = policy.moves();
        let (attempts, claims) = (fails.attempts(nodes), Claims::new(nodes, counts, reserved));
        Remedy { attempts, running: BTreeMap::new(), claims, counts, back: Vec::new() }
    }

    /// How long a span of work takes on so many nodes, with its checkpoints.
    pub fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.attempts.stretched(work, nodes)
    }

    /// It starts, and may run until then; says what is done if it is lost.
    pub fn starts(&mut self, task: TaskId, work: Work, until: Time) -> Loss {
        self.running.insert(task, (until, work));
        let loss = self.attempts.starts(work.losses, work.nodes);
        Loss { is_told: loss.is_told || work.goes_back, ..loss }
    }

    /// What is booked for so many nodes starts: its giver hears of its loss.
    pub fn starts_booked(&self, nodes: u32) -> Loss {
        self.attempts.starts_for_giver(nodes)
    }

    /// It is over, or gone.
    pub fn ends(&mut self, now: Time, task: TaskId, policy: &mut dyn Policy) {
        self.running.remove(&task);
        if self.claims.keep_waiting(now) {
            self.claims.settle(now, &self.widths(), policy);
        }
    }

    pub fn lost(&mut self, task: TaskId, loss: Loss, saved: Span) {
        let (_, work) = self.running.remove(&task).expect("who is lost has run");
        if !loss.is_told {
            let (walltime, runtime) = (left_of(work.walltime, saved), left_of(work.runtime, saved));
            self.back.push((task, Work { walltime, runtime, losses: work.losses.saturating_add(1), ..work }));
        }
    }

    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// These nodes, for which the policy has room, are booked.
    pub fn book(&mut self, now: Time, task: TaskId, held: &Reserved, policy: &mut dyn Policy) {
        self.claims.add(now, task, held, policy);
    }

    /// What is left of what was booked for a task is not any more.
    pub fn release(&mut self, now: Time, task: TaskId, policy: &mut dyn Policy) {
        self.claims.remove(now, task, &self.widths(), policy);
    }

    /// These nodes are down, and all others are up.
    pub fn hear_down(&mut self, now: Time, down: &[Expected], policy: &mut dyn Policy) {
        self.claims.hear_down(now, down, &self.widths(), policy);
    }

    /// Until when how many nodes are in use by the queue's own, if that matters.
    fn widths(&self) -> Vec<(Time, u32)> {
        let all = self.running.values().filter(|_| self.counts);
        all.map(|(until, work)| (*until, work.nodes)).collect()
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
