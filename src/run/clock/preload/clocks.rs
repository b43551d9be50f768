//! Clocks, and sleeps.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::Ordering::SeqCst;

use crate::own::{after, deadline_of, nanoseconds, page, sleep_until, timespec};
use crate::state::UPTIME;
use crate::sys::*;

pub const REALTIME: c_int = 0;
pub const MONOTONIC: c_int = 1;

/// Value of a clock of the program at the start, in ns. None for clocks of processor time.
pub fn offset(clock: c_int) -> Option<u64> {
    match clock {
        0 | 5 | 8 | 11 => Some(page().start.load(SeqCst)),
        1 | 4 | 6 | 7 | 9 => Some(UPTIME),
        _ => None,
    }
}

fn show(clock: c_int) -> Option<Timespec> {
    offset(clock).map(|offset| timespec(offset + page().now()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    match show(clock) {
        Some(now) if !time.is_null() => {
            unsafe { *time = now };
            0
        }
        _ => returned(unsafe { call(CLOCK_GETTIME, clock as usize, time as usize, 0, 0, 0, 0) }) as c_int,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut Timeval, zone: *mut [c_int; 2]) -> c_int {
    let now = timespec(page().start.load(SeqCst) + page().now());
    if !time.is_null() {
        unsafe { *time = Timeval { sec: now.sec, usec: now.nsec / 1000 } };
    }
    if !zone.is_null() {
        unsafe { *zone = [0, 0] };
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(time: *mut i64) -> i64 {
    let now = timespec(page().start.load(SeqCst) + page().now()).sec;
    if !time.is_null() {
        unsafe { *time = now };
    }
    now
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timespec_get(time: *mut Timespec, base: c_int) -> c_int {
    match base {
        1 => unsafe { clock_gettime(REALTIME, time) },
        2 => unsafe { clock_gettime(MONOTONIC, time) },
        _ => return 0,
    };
    base
}

/// Clock ticks since the system has started, 100 a second; and the processor time of the process, in `buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn times(buffer: *mut c_void) -> i64 {
    unsafe { real!(times: fn(*mut c_void) -> i64)(buffer) };
    ((UPTIME + page().now()) / 10_000_000) as i64
}

/// Facts about the system, of which the first is the number of seconds since its start: with the real one, slurmctld
/// would find that a node has just been started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sysinfo(facts: *mut i64) -> c_int {
    let done = unsafe { real!(sysinfo: fn(*mut i64) -> c_int)(facts) };
    if done == 0 {
        unsafe { *facts = ((UPTIME + page().now()) / 1_000_000_000) as i64 };
    }
    done
}

/// Programs cannot change the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_settime(_: c_int, _: *const Timespec) -> c_int {
    set_errno(EPERM);
    -1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn settimeofday(_: *const Timeval, _: *const c_void) -> c_int {
    set_errno(EPERM);
    -1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    match unsafe { clock_nanosleep(MONOTONIC, 0, time, left) } {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    const ABSOLUTE: c_int = 1;
    if offset(clock).is_none() || time.is_null() {
        let arguments = (clock as usize, flags as usize, time as usize, left as usize);
        let (clock, flags, time, left) = arguments;
        return -unsafe { call(CLOCK_NANOSLEEP, clock, flags, time, left, 0, 0) } as c_int;
    }
    let time = unsafe { &*time };
    let is_absolute = flags & ABSOLUTE != 0;
    let deadline = if is_absolute { deadline_of(clock, time) } else { nanoseconds(time).map(after) };
    let Some(deadline) = deadline else { return EINVAL };
    if sleep_until(deadline) {
        return 0;
    }
    if !is_absolute && !left.is_null() {
        unsafe { *left = timespec(deadline - page().now()) };
    }
    EINTR
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn usleep(time: c_uint) -> c_int {
    if sleep_until(after(u64::from(time) * 1000)) {
        return 0;
    }
    set_errno(EINTR);
    -1
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let deadline = after(u64::from(seconds) * 1_000_000_000);
    if sleep_until(deadline) {
        return 0;
    }
    (deadline - page().now()).div_ceil(1_000_000_000) as c_uint
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_sleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    match unsafe { clock_nanosleep(REALTIME, 0, time, left) } {
        0 => 0,
        EINTR => -1,
        _ => -2,
    }
}
