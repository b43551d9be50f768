//! Counts the allocations of each thread, so that a test can check a budget.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated and not freed, and their maximum.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

/// Runs `doing`; returns its result and its peak memory in bytes beyond what was held before.
pub fn most<T>(doing: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    let outer = MOST.replace(before);
    let done = doing();
    let most = MOST.get();
    MOST.set(outer.max(most));
    (done, (most - before) as usize)
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: all calls go to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller keeps the contract of this function, which is that of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller keeps the contract of this function, which is that of the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract of this function, which is that of the system's.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract of this function, which is that of the system's.
        unsafe { System.realloc(place, layout, size) }
    }
}

fn note(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    if held > MOST.get() {
        MOST.set(held);
    }
}

#[test]
fn freed_memory_is_not_counted() {
    let ((), bytes) = most(|| (0..10).for_each(|_| drop(vec![1u8; 1_000_000])));
    assert!((1_000_000..1_001_000).contains(&bytes), "{bytes}");
    let (kept, bytes) = most(|| vec![vec![1u8; 1_000_000], vec![2; 2_000_000]]);
    assert!((3_000_000..3_001_000).contains(&bytes), "{bytes}");
    drop(kept);
}
