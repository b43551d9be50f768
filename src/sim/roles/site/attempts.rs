//! Treatment of tasks that may be lost, by the number of their losses.

use super::Loss;
use crate::grid::{CheckpointSchedule, Failure, Killed, Recovery};
use crate::time::Span;

pub struct Attempts {
    recovery: Recovery,
    /// Failures of the site.
    failures: Vec<Failure>,
    nodes: u32,
}

impl Attempts {
    /// Creates the treatment for a site of this many nodes.
    pub fn new(recovery: Recovery, failures: Vec<Failure>, nodes: u32) -> Attempts {
        Attempts { recovery, failures, nodes }
    }

    /// True if lost tasks precede all waiting ones.
    pub fn are_first(&self) -> bool {
        self.recovery.killed == Killed::Head
    }

    /// Checkpoints of a task on this many nodes.
    fn checkpoint_schedule(&self, nodes: u32) -> Option<CheckpointSchedule> {
        self.recovery.checkpoint_schedule(&self.failures, self.nodes, nodes)
    }

    /// Duration of a span of work on this many nodes, with its checkpoints.
    pub fn with_checkpoints(&self, work: Span, nodes: u32) -> Span {
        self.checkpoint_schedule(nodes).map_or(work, |saves| saves.with_checkpoints(work))
    }

    /// Treatment of a task that starts after this many losses. If its loss is to be reported to its sender, the site
    /// does not queue it again.
    pub fn starts(&self, losses: u32, nodes: u32) -> Loss {
        let is_last = losses.saturating_add(1) >= self.recovery.attempts;
        let is_reported = is_last || matches!(self.recovery.killed, Killed::Back | Killed::Lost);
        Loss { saves: self.checkpoint_schedule(nodes), is_reported }
    }

    /// Treatment of a task whose sender decides about losses.
    pub fn starts_for_giver(&self, nodes: u32) -> Loss {
        Loss { saves: self.checkpoint_schedule(nodes), is_reported: true }
    }
}

/// Work left after `saved`; at least a microsecond, as the task is not done.
pub fn left_of(work: Span, saved: Span) -> Span {
    Span::from_micros(work.micros().saturating_sub(saved.micros()).max(1))
}
