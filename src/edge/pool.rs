//! Many pieces of work on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::Duration;

/// Does the work of all items on so many threads, until somebody says stop. Hands over results as they come, and `None`
/// now and then where there are none.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    stopped: &(dyn Fn() -> bool + Sync),
    work: &(dyn Fn(&T) -> R + Sync),
    take: &mut dyn FnMut(Option<R>),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = channel();
    scope(|scope| {
        for _ in 0..threads.clamp(1, items.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)).filter(|_| !stopped()) {
                    // The receiver lives as long as this scope.
                    let _ = sender.send(work(item));
                }
            });
        }
        drop(sender);
        loop {
            match receiver.recv_timeout(REDRAW) {
                Ok(result) => take(Some(result)),
                Err(RecvTimeoutError::Timeout) => take(None),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
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
