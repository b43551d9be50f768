//! Core affinity of a grid of local processes.
//!
//! Hub and leaves mostly take turns. A wake-up that crosses cores costs several times what a turn on one core does,
//! so a local grid is faster on one core, unless its actors compute for long between messages.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Cores for threads that take no part in the turns.
static OTHERS: OnceLock<Vec<usize>> = OnceLock::new();

/// Keeps this process, and all that it starts from now on, on one of its allowed cores. Several grids at a time spread
/// over the cores by their process numbers. If the system does not allow it, nothing changes. Returns the cores that
/// were allowed before.
pub fn to_one_core() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if cores.len() > 1 {
        let mut one = CpuSet::new();
        one.set(cores[std::process::id() as usize % cores.len()]);
        let _ = sched_setaffinity(None, &one);
    }
    cores
}

/// True if this thread may use one core only.
pub fn has_one_core() -> bool {
    sched_getaffinity(None).is_ok_and(|allowed| allowed.count() == 1)
}

/// Sets the cores for threads that work beside the turns.
pub fn let_others_use(cores: Vec<usize>) {
    let _ = OTHERS.set(cores);
}

/// Moves this thread to the cores for threads beside the turns.
pub fn to_any_core() {
    let Some(cores) = OTHERS.get().filter(|cores| !cores.is_empty()) else { return };
    let mut any = CpuSet::new();
    cores.iter().for_each(|core| any.set(*core));
    let _ = sched_setaffinity(None, &any);
}
