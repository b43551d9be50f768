//! Moments and spans of the program's clocks, as virtual time in ns since the start.

use core::ffi::c_int;
use core::sync::atomic::Ordering::SeqCst;

use crate::own::page;
use crate::state::{NEVER, UPTIME_NANOS};
use crate::sys::{Timespec, Timeval};

pub const REALTIME: c_int = 0;
pub const MONOTONIC: c_int = 1;

/// Value of a clock of the program at the start, in ns. None for clocks of processor time.
pub fn clock_offset(clock: c_int) -> Option<u64> {
    match clock {
        0 | 5 | 8 | 11 => Some(page().start.load(SeqCst)),
        1 | 4 | 6 | 7 | 9 => Some(UPTIME_NANOS),
        _ => None,
    }
}

/// A virtual deadline after this long.
pub fn deadline_after(time: u64) -> u64 {
    page().now().saturating_add(time).min(NEVER - 1)
}

/// Nanoseconds of a valid time.
pub fn to_nanoseconds(time: &Timespec) -> Option<u64> {
    let is_valid = time.sec >= 0 && (0..1_000_000_000).contains(&time.nsec);
    is_valid.then(|| (time.sec as u64).saturating_mul(1_000_000_000).saturating_add(time.nsec as u64))
}

pub fn to_timespec(time: u64) -> Timespec {
    Timespec { sec: (time / 1_000_000_000) as i64, nsec: (time % 1_000_000_000) as i64 }
}

pub fn to_timeval(time: u64) -> Timeval {
    Timeval { sec: (time / 1_000_000_000) as i64, usec: (time % 1_000_000_000 / 1000) as i64 }
}

/// A moment of a clock of the program, as a deadline in ns since the start.
pub fn deadline_of(clock: c_int, time: &Timespec) -> Option<u64> {
    if !(0..1_000_000_000).contains(&time.nsec) {
        return None;
    }
    let offset = clock_offset(clock)?;
    Some(to_nanoseconds(time).map_or(0, |time| time.saturating_sub(offset)).min(NEVER - 1))
}
