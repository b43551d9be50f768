//! Keeps a process's connections alive while its own thread computes.
//!
//! Actors compute outside of the runtime: the thread that drives a hub or a leaf enters the runtime only to write and
//! to wait, which is fastest on one thread. But a planner may compute for minutes, and peers take a process for dead
//! that is silent for seconds. So a second thread, the keeper, checks every second whether the runtime is driven. If
//! not, it drives the runtime itself until the first thread is back, so packets are answered and signals handled. While
//! the first thread comes by often enough, the keeper costs it one look at a flag per visit.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{EnterGuard, Runtime};
use tokio::sync::Notify;

use super::Failure;

/// Period of the keeper's checks: short enough for connections, which are given up after ten times as long.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A runtime that is driven even when the thread that owns it computes.
pub struct WatchedRuntime {
    runtime: Arc<Runtime>,
    state: Arc<KeeperState>,
    keeper: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct KeeperState {
    /// Grows as long as any thread drives the runtime.
    beats: AtomicU64,
    /// The keeper drives the runtime, or is about to.
    stands_in: AtomicBool,
    back: Notify,
    over: AtomicBool,
}

impl WatchedRuntime {
    pub fn new() -> Result<WatchedRuntime, Failure> {
        WatchedRuntime::looking_every(LOOK_EVERY)
    }

    pub fn looking_every(pause: Duration) -> Result<WatchedRuntime, Failure> {
        let runtime = Arc::new(super::build_runtime()?);
        let state = Arc::<KeeperState>::default();
        let heart = state.clone();
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(pause / 2).await;
                heart.beats.fetch_add(1, Ordering::Relaxed);
            }
        });
        let kept = runtime.clone();
        let watched = state.clone();
        let keeper = super::spawn_thread("keeper", move || keep_running(&kept, &watched, pause));
        let keeper = keeper.map_err(|error| Failure::System(error.to_string()))?;
        Ok(WatchedRuntime { runtime, state, keeper: Some(keeper) })
    }

    /// Drives the runtime until the future is done. Actors compute outside of this call.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        // If the keeper starts just after this look, it drives the future as well until the next visit.
        if self.state.stands_in.load(Ordering::Relaxed) {
            self.state.back.notify_one();
        }
        self.runtime.block_on(future)
    }

    /// Runs the ready tasks of the runtime, without waiting.
    pub fn run_ready_tasks(&self) {
        self.block_on(tokio::task::yield_now());
    }

    /// Enters the runtime without driving it, for code that creates tasks, timers or sockets.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }
}

impl Drop for WatchedRuntime {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        self.state.back.notify_one();
        if let Some(keeper) = self.keeper.take() {
            keeper.thread().unpark();
            let _ = keeper.join();
        }
    }
}

fn keep_running(runtime: &Runtime, state: &KeeperState, pause: Duration) {
    let mut seen = None;
    loop {
        std::thread::park_timeout(pause);
        if state.over.load(Ordering::Relaxed) {
            return;
        }
        let beats = state.beats.load(Ordering::Relaxed);
        if seen.replace(beats) != Some(beats) {
            continue;
        }
        state.stands_in.store(true, Ordering::Relaxed);
        runtime.block_on(async {
            let mut back = pin!(state.back.notified());
            // A wake-up that came too late for the previous turn is not meant for this one.
            if back.as_mut().enable() && !state.over.load(Ordering::Relaxed) {
                back.set(state.back.notified());
            }
            back.await;
        });
        state.stands_in.store(false, Ordering::Relaxed);
        seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Computes without entering the runtime.
    fn compute(time: Duration) {
        std::thread::sleep(time);
    }

    fn count(kept: &WatchedRuntime) -> Arc<AtomicU64> {
        let count = Arc::<AtomicU64>::default();
        let counting = count.clone();
        kept.runtime.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(10)).await;
                counting.fetch_add(1, Ordering::Relaxed);
            }
        });
        count
    }

    #[test]
    fn timers_go_on_while_the_thread_computes() {
        let kept = WatchedRuntime::looking_every(Duration::from_millis(50)).unwrap();
        let count = count(&kept);
        for _ in 0..5 {
            kept.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
            let before = count.load(Ordering::Relaxed);
            compute(Duration::from_millis(500));
            assert!(count.load(Ordering::Relaxed) > before + 10);
        }
    }

    #[test]
    fn the_keeper_leaves_when_the_thread_is_back() {
        let kept = WatchedRuntime::looking_every(Duration::from_millis(20)).unwrap();
        for _ in 0..20 {
            compute(Duration::from_millis(60));
            let begun = Instant::now();
            kept.run_ready_tasks();
            while kept.state.stands_in.load(Ordering::Relaxed) {
                assert!(begun.elapsed() < Duration::from_secs(5));
                kept.run_ready_tasks();
            }
        }
    }

    #[test]
    fn it_ends_at_once_even_in_the_middle_of_computing() {
        let begun = Instant::now();
        let kept = WatchedRuntime::looking_every(Duration::from_secs(60)).unwrap();
        drop(kept);
        let kept = WatchedRuntime::looking_every(Duration::from_millis(10)).unwrap();
        compute(Duration::from_millis(100));
        drop(kept);
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
