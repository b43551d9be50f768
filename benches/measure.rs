//! Clocks of benches, and helpers of those that time whole programs.

use std::path::PathBuf;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this thread in seconds.
pub fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// User and system time of all child processes that have ended, in seconds.
pub fn cpu_of_children() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    let fields: Vec<&str> = stat.rsplit_once(") ").expect("it has a name").1.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("it is a number");
    (ticks(13) + ticks(14)) / 100.0
}

/// Median; the larger of two middle values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A temporary folder, removed when dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(bench: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("hansa-bench-{bench}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
        Scratch(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
