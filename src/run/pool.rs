//! Parallel work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::scope;
use std::time::Duration;

/// Processes all items on `threads` threads until `stopped`. Passes each result to `take` as it comes, and `None` now
/// and then if there is none.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    stopped: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(&T) -> R + Sync),
    take: &mut dyn FnMut(Option<R>),
) {
    let done = Mutex::new(Vec::new());
    run_each(
        items.len(),
        threads,
        stopped,
        &|place: usize| {
            let result = work(&items[place]);
            lock_results(&done).push(result);
        },
        &mut || {
            let results = std::mem::take(&mut *lock_results(&done));
            if results.is_empty() {
                take(None);
            }
            results.into_iter().for_each(|result| take(Some(result)));
        },
    );
}

/// Calls `look` after each item and at regular intervals.
fn run_each(
    many: usize,
    threads: usize,
    stopped: &(dyn Fn() -> bool + Sync),
    one: &(dyn Fn(usize) + Sync),
    look: &mut dyn FnMut(),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    scope(|scope| {
        for _ in 0..threads.clamp(1, many.max(1)) {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    if place >= many || stopped() {
                        break;
                    }
                    one(place);
                    // The receiver lives as long as this scope.
                    let _ = sender.send(());
                }
            });
        }
        drop(sender);
        while receiver.recv_timeout(REDRAW) != Err(RecvTimeoutError::Disconnected) {
            look();
        }
        look();
    });
}

/// Locks the results. No code panics while it holds them.
fn lock_results<R>(done: &Mutex<Vec<R>>) -> MutexGuard<'_, Vec<R>> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

const REDRAW: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once() {
        let items: Vec<u64> = (0..500).collect();
        let mut done = Vec::new();
        in_parallel(&items, 3, &|| false, &|item| item * 2, &mut |result| done.extend(result));
        done.sort_unstable();
        assert_eq!(done, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        in_parallel(&items, 3, &|| true, &|item| *item, &mut |result| assert!(result.is_none()));
        in_parallel(&[], 3, &|| false, &|item: &u64| *item, &mut |result| assert!(result.is_none()));
    }
}
