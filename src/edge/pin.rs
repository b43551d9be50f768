//! Which cores a grid of local processes may use.
//!
//! Hub and leaves mostly take turns. A wake-up that crosses cores costs several times what a turn on one core does,
//! so a local grid is faster on one core, unless its actors compute for long between messages.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Keeps this process, and all that it starts from now on, on one of the cores that it may use. Several grids at a
/// time spread over the cores by their process numbers. Where the system does not allow it, nothing changes.
pub fn to_one_core() {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if cores.len() > 1 {
        let mut one = CpuSet::new();
        one.set(cores[std::process::id() as usize % cores.len()]);
        let _ = sched_setaffinity(None, &one);
    }
}
