//! Clocks, and sleeps.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::Ordering::SeqCst;

use crate::own::{page, read_clock, sleep_until};
use crate::state::UPTIME_NANOS;
use crate::sys::*;
use crate::times::{MONOTONIC, REALTIME, clock_offset, deadline_after, deadline_of, to_nanoseconds, to_timespec};

fn clock_value(clock: c_int) -> Option<Timespec> {
    clock_offset(clock).map(|offset| to_timespec(offset + read_clock()))
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int {
    match clock_value(clock) {
        Some(now) if !time.is_null() => {
            // SAFETY: the caller passes a place for the time.
            unsafe { time.write(now) };
            0
        }
        // SAFETY: the caller passes a place for the time, and the system refuses addresses that are none.
        _ => libc_result(unsafe { call(CLOCK_GETTIME, clock as usize, time as usize, 0, 0, 0, 0) }) as c_int,
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn gettimeofday(time: *mut Timeval, zone: *mut [c_int; 2]) -> c_int {
    let now = to_timespec(page().start.load(SeqCst) + read_clock());
    // SAFETY: the caller passes places for the time and the zone, or null.
    unsafe {
        put(time, Timeval { sec: now.sec, usec: now.nsec / 1000 });
        put(zone, [0, 0]);
    }
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn time(time: *mut i64) -> i64 {
    let now = to_timespec(page().start.load(SeqCst) + read_clock()).sec;
    // SAFETY: the caller passes a place for the time, or null.
    unsafe { put(time, now) };
    now
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timespec_get(time: *mut Timespec, base: c_int) -> c_int {
    let clock = match base {
        1 => REALTIME,
        2 => MONOTONIC,
        _ => return 0,
    };
    // SAFETY: the caller passes a place for the time.
    unsafe { clock_gettime(clock, time) };
    base
}

/// Clock ticks since the system has started, 100 a second; and the processor time of the process, in `buffer`.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn times(buffer: *mut c_void) -> i64 {
    pass_on!(times(buffer: *mut c_void) -> i64);
    ((UPTIME_NANOS + read_clock()) / 10_000_000) as i64
}

/// Facts about the system, of which the first is the number of seconds since its start: with the real one, slurmctld
/// would find that a node has just been started.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn sysinfo(facts: *mut i64) -> c_int {
    let done = pass_on!(sysinfo(facts: *mut i64) -> c_int);
    if done == 0 {
        // SAFETY: the function has just written to the place that the caller has given.
        unsafe { *facts = ((UPTIME_NANOS + read_clock()) / 1_000_000_000) as i64 };
    }
    done
}

/// Programs cannot change the clock.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn clock_settime(_: c_int, _: *const Timespec) -> c_int {
    set_errno(EPERM);
    -1
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn settimeofday(_: *const Timeval, _: *const c_void) -> c_int {
    set_errno(EPERM);
    -1
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn nanosleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    // SAFETY: the caller passes a time, and a place for the rest or null.
    match unsafe { clock_nanosleep(MONOTONIC, 0, time, left) } {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const Timespec,
    left: *mut Timespec,
) -> c_int {
    const ABSOLUTE: c_int = 1;
    if clock_offset(clock).is_none() || time.is_null() {
        let time = time as usize;
        let left = left as usize;
        // SAFETY: the caller passes a time, and a place for the rest or null; the system refuses other addresses.
        return -unsafe { call(CLOCK_NANOSLEEP, clock as usize, flags as usize, time, left, 0, 0) } as c_int;
    }
    // SAFETY: the caller passes a time. It is copied, as it may be the place for the rest, too.
    let time = unsafe { time.read() };
    let is_absolute = flags & ABSOLUTE != 0;
    let deadline = if is_absolute { deadline_of(clock, &time) } else { to_nanoseconds(&time).map(deadline_after) };
    let Some(deadline) = deadline else { return EINVAL };
    if sleep_until(deadline) {
        return 0;
    }
    if !is_absolute {
        // SAFETY: the caller passes a place for the rest, or null.
        unsafe { put(left, to_timespec(deadline - page().now())) };
    }
    EINTR
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let deadline = deadline_after(u64::from(seconds) * 1_000_000_000);
    if sleep_until(deadline) {
        return 0;
    }
    (deadline - page().now()).div_ceil(1_000_000_000) as c_uint
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn thrd_sleep(time: *const Timespec, left: *mut Timespec) -> c_int {
    // SAFETY: the caller passes a time, and a place for the rest or null.
    match unsafe { clock_nanosleep(REALTIME, 0, time, left) } {
        0 => 0,
        EINTR => -1,
        _ => -2,
    }
}
