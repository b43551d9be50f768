//! The batch that a place runs now, for threads that watch it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::ActorId;
use crate::time::{Stamp, Time};

/// The batch that a place runs now.
///
/// An actor may compute for minutes, and nothing can interrupt it. The thread that runs actors writes here what it
/// does; a thread that watches it reads it, and may ask for a pause. No result depends on either, as a run may be
/// divided into any number of calls.
#[derive(Debug, Default)]
pub struct Activity {
    /// Twice the number of batches that have ended, plus one while a batch runs.
    turns: AtomicU64,
    actor: AtomicU32,
    micros: AtomicU64,
    pauses: AtomicBool,
}

/// A batch that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningBatch {
    /// Different for every batch of a place.
    pub turn: u64,
    pub actor: ActorId,
    pub time: Time,
}

impl Activity {
    /// The batch that runs; None if there is none, or if it changes during the call.
    pub fn running(&self) -> Option<RunningBatch> {
        let turn = self.turns.load(Ordering::SeqCst);
        let actor = ActorId(self.actor.load(Ordering::SeqCst));
        let time = Time::from_micros(self.micros.load(Ordering::SeqCst));
        let is_running = turn % 2 == 1 && self.turns.load(Ordering::SeqCst) == turn;
        is_running.then_some(RunningBatch { turn, actor, time })
    }

    /// Makes the place run one batch a call from now on.
    pub fn pause_after_each_batch(&self) {
        self.pauses.store(true, Ordering::Relaxed);
    }

    pub(super) fn pauses(&self) -> bool {
        self.pauses.load(Ordering::Relaxed)
    }

    pub(super) fn begin(&self, actor: ActorId, now: Stamp) {
        self.actor.store(actor.0, Ordering::Relaxed);
        self.micros.store(now.time.micros(), Ordering::Relaxed);
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    pub(super) fn end(&self) {
        self.turns.store(self.turns.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}
