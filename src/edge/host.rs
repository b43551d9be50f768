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
        cores: std::thread::available_parallelism().map_or(0, usize::from),
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
