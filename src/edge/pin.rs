//! Which cores a grid of local processes may use.
//!
//! Hub and leaves mostly take turns. A wake-up that crosses cores costs several times what a turn on one core does,
//! so a local grid is faster on one core, unless its actors compute for long between messages.

use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Where threads may run that take no part in the turns.
static OTHERS: OnceLock<Vec<usize>> = OnceLock::new();

/// Keeps this process, and all that it starts from now on, on one of the cores that it may use. Several grids at a
/// time spread over the cores by their process numbers. Where the system does not allow it, nothing changes. Gives the
/// cores that it might use before.
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

/// Threads that work beside the turns may use these cores, wherever this process was put.
pub fn let_others_use(cores: Vec<usize>) {
    let _ = OTHERS.set(cores);
}

/// Lets this thread work beside the turns.
pub fn to_any_core() {
    let Some(cores) = OTHERS.get().filter(|cores| !cores.is_empty()) else { return };
    let mut any = CpuSet::new();
    cores.iter().for_each(|core| any.set(*core));
    let _ = sched_setaffinity(None, &any);
}
