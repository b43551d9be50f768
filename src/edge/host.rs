//! What machine this is, and what time it is there.

use std::fs;

use time::OffsetDateTime;

use crate::report::Host;

/// As far as it can be found out; what cannot is empty.
pub fn host() -> Host {
    let read = |path| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    Host {
        name: read("/proc/sys/kernel/hostname"),
        cores: processors.lines().filter(|line| line.starts_with("processor")).count(),
        cores_used: std::thread::available_parallelism().map_or(0, usize::from),
        processor: model.map_or(String::new(), |(_, name)| name.trim().to_owned()),
        kernel: format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease")),
    }
}

/// `2026-01-31T12:00:00Z`
pub fn utc_now() -> String {
    let now = OffsetDateTime::now_utc();
    let (year, month, day) = (now.year(), u8::from(now.month()), now.day());
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", now.hour(), now.minute(), now.second())
}

/// What a process of this machine is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// By a signal, or by a debugger.
    pub stopped: bool,
    pub waits_for_a_device: bool,
    /// What it has used of its processors, in ticks.
    pub ticks: u64,
}

/// Looks at a process, where the system tells.
pub fn activity(process: u32) -> Option<Activity> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its name comes before, in brackets, and may hold anything.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let ticks = fields.skip(10).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
    Some(Activity { stopped: matches!(state, "T" | "t"), waits_for_a_device: state == "D", ticks })
}
