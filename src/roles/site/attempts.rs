//! What a manager does about tasks that may be lost, by how often each has been.

use super::Loss;
use crate::grid::{CheckpointSchedule, Failure, Killed, Recovery};
use crate::time::Span;

pub struct Attempts {
    recovery: Recovery,
    /// How the site fails.
    failures: Vec<Failure>,
    nodes: u32,
}

impl Attempts {
    /// At a site of so many nodes.
    pub fn new(recovery: Recovery, failures: Vec<Failure>, nodes: u32) -> Attempts {
        Attempts { recovery, failures, nodes }
    }

    /// Whether who is lost comes before all who wait.
    pub fn are_first(&self) -> bool {
        self.recovery.killed == Killed::Head
    }

    /// How a task on so many nodes saves its work.
    fn saves(&self, nodes: u32) -> Option<CheckpointSchedule> {
        self.recovery.saves(&self.failures, self.nodes, nodes)
    }

    /// How long a span of work takes on so many nodes, with its checkpoints.
    pub fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.saves(nodes).map_or(work, |saves| saves.stretched(work))
    }

    /// A task starts on so many nodes that has been lost so often; says what is done if it is lost again. If that is to
    /// be told, it does not come again here.
    pub fn starts(&self, losses: u32, nodes: u32) -> Loss {
        let is_last = losses.saturating_add(1) >= self.recovery.attempts;
        let is_told = is_last || matches!(self.recovery.killed, Killed::Back | Killed::Lost);
        Loss { saves: self.saves(nodes), is_told }
    }

    /// One starts on so many nodes of which its giver decides what becomes of it if it is lost.
    pub fn starts_for_giver(&self, nodes: u32) -> Loss {
        Loss { saves: self.saves(nodes), is_told: true }
    }
}

/// What is left of some work, of which so much is saved: not nothing, for there is something to be done yet.
pub fn left_of(work: Span, saved: Span) -> Span {
    Span::from_micros(work.micros().saturating_sub(saved.micros()).max(1))
}
