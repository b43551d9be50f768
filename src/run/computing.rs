//! Watches the actors of a process that compute for long: names them, and ends a process that is interrupted meanwhile.
//!
//! The thread that runs actors notices an interruption between two batches. An actor that computes for minutes, or for
//! ever, keeps it from doing so; nothing can stop the actor but the end of the process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Failure, err};
use hansa_sim::kernel::{Activity, RunningBatch};

/// Time that an actor may go on after an interruption.
const GO_ON_FOR: Duration = Duration::from_secs(1);

/// Longest pause between two looks at the actor that computes.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The watched place of a process, once there is one. Clones share it.
#[derive(Clone, Default)]
pub struct ActorWatch(Arc<Mutex<WatchState>>);

#[derive(Default)]
struct WatchState {
    activity: Arc<Activity>,
    /// Names of all actors, by number.
    names: Vec<String>,
    is_interrupted: bool,
}

impl ActorWatch {
    /// Watches this place from now on, in place of an earlier one.
    pub fn watch(&self, activity: &Arc<Activity>, names: &[String]) {
        let mut state = self.state();
        state.activity = activity.clone();
        state.names = names.to_vec();
        if state.is_interrupted {
            state.activity.pause_after_each_batch();
        }
    }

    /// If an actor still computes a second after this interruption, calls `end`, which ends the process, with the
    /// reason.
    pub fn interrupt(&self, end: impl FnOnce(&str) + Send + 'static) {
        {
            let mut state = self.state();
            state.is_interrupted = true;
            state.activity.pause_after_each_batch();
        }
        let watch = self.clone();
        // Without a thread, a second interruption still ends the process.
        let _ = super::spawn_thread("interrupted", move || {
            let actor = watch.wait_for_long_batch(GO_ON_FOR);
            end(&format!("interrupted while {actor}: ended at once"));
        });
    }

    /// Names an actor that has computed for this long, and again whenever it has computed for twice as long.
    pub fn report_long_batches(&self, after: Duration) -> Result<(), Failure> {
        let watch = self.clone();
        let reporting = super::spawn_thread("computing", move || {
            let mut seen = None;
            let mut due = after;
            loop {
                std::thread::sleep(LOOK_EVERY.min(after));
                let Some(spent) = watch.time_in_batch(&mut seen) else {
                    due = after;
                    continue;
                };
                if spent >= due {
                    due *= 2;
                    let actor = seen.map(|(batch, _)| watch.describe(batch)).unwrap_or_default();
                    let spent = spent.as_secs_f64();
                    err::note(&format!("note: {actor}, for {spent:.0} s so far; Ctrl-C ends the run"));
                }
            }
        });
        reporting.map(drop).map_err(|error| Failure::System(error.to_string()))
    }

    /// Waits until one batch has run for this long, and describes it.
    fn wait_for_long_batch(&self, long: Duration) -> String {
        let mut seen = None;
        loop {
            let spent = self.time_in_batch(&mut seen);
            if spent.is_some_and(|spent| spent >= long)
                && let Some((batch, _)) = seen
            {
                return self.describe(batch);
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Time since the batch that runs now was first seen; None if no batch runs, or a new one. Updates the batch last
    /// seen and the time of its first sight.
    fn time_in_batch(&self, seen: &mut Option<(RunningBatch, Instant)>) -> Option<Duration> {
        let running = self.state().activity.running();
        match (running, &seen) {
            (Some(batch), Some((before, since))) if batch == *before => Some(since.elapsed()),
            _ => {
                *seen = running.map(|batch| (batch, Instant::now()));
                None
            }
        }
    }

    fn describe(&self, batch: RunningBatch) -> String {
        let state = self.state();
        let name = state.names.get(batch.actor.index()).map_or("an actor", String::as_str);
        format!("`{name}` computes at virtual time {}", batch.time)
    }

    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
