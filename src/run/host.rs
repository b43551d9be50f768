//! The machine that Hansa runs on, and its clock.

use std::fs;

use time::OffsetDateTime;

use hansa_report::Host;

/// Describes this machine. Facts that cannot be found out stay empty.
pub fn describe_host() -> Host {
    let processors = read_trimmed("/proc/cpuinfo");
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    Host {
        name: read_trimmed("/proc/sys/kernel/hostname"),
        cores: processors.lines().filter(|line| line.starts_with("processor")).count(),
        cores_used: std::thread::available_parallelism().map_or(0, usize::from),
        processor: model.map_or(String::new(), |(_, name)| name.trim().to_owned()),
        kernel: format!("{} {}", std::env::consts::OS, read_trimmed("/proc/sys/kernel/osrelease")),
    }
}

fn read_trimmed(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The present time in UTC, such as `2026-01-31T12:00:00Z`.
pub fn utc_now() -> String {
    let now = OffsetDateTime::now_utc();
    let year = now.year();
    let month = u8::from(now.month());
    let day = now.day();
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", now.hour(), now.minute(), now.second())
}

/// State of a process on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostActivity {
    /// True if a signal or a debugger has stopped it.
    pub stopped: bool,
    pub waits_for_a_device: bool,
    /// CPU time used so far, in ticks.
    pub ticks: u64,
}

/// State of a process. None if the system does not tell it.
pub fn process_activity(process: u32) -> Option<HostActivity> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the process comes first, in brackets, and may contain any character.
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let ticks = fields.skip(10).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
    Some(HostActivity { stopped: matches!(state, "T" | "t"), waits_for_a_device: state == "D", ticks })
}
