//! Descriptors: the library's own, which programs that close all that is open must not close, and the limits that
//! socket options set.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use crate::own::PerDescriptor;
use crate::sys::*;

const MANY: usize = 65536;

/// A bit for each descriptor of the library.
static OWN: [AtomicU64; MANY / 64] = [const { AtomicU64::new(0) }; MANY / 64];
/// Time limits of receiving and sending, in ns; 0 for none.
pub static RECEIVE_WITHIN: PerDescriptor<AtomicU64, 4096> = PerDescriptor([const { AtomicU64::new(0) }; 4096]);
pub static SEND_WITHIN: PerDescriptor<AtomicU64, 4096> = PerDescriptor([const { AtomicU64::new(0) }; 4096]);

fn bit(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok().filter(|&fd| fd < MANY)?;
    Some((&OWN[fd / 64], 1 << (fd % 64)))
}

pub fn disown(fd: c_int) {
    if let Some((bits, bit)) = bit(fd) {
        bits.fetch_and(!bit, SeqCst);
    }
}

fn is_own(fd: c_int) -> bool {
    bit(fd).is_some_and(|(bits, bit)| bits.load(SeqCst) & bit != 0)
}

/// Makes an eventfd of the library's own, beyond the descriptors that programs count on.
pub fn own_eventfd() -> c_int {
    const CLOEXEC_NONBLOCK: usize = 0o2000000 | 0o4000;
    const DUPFD_CLOEXEC: usize = 1030;
    let made = unsafe { call(EVENTFD2, 0, CLOEXEC_NONBLOCK, 0, 0, 0, 0) };
    if made < 0 {
        return -1;
    }
    let mut fd = made;
    for least in [700, 200] {
        let moved = unsafe { call(FCNTL, made as usize, DUPFD_CLOEXEC, least, 0, 0, 0) };
        if moved >= 0 {
            unsafe { call(CLOSE, made as usize, 0, 0, 0, 0, 0) };
            fd = moved;
            break;
        }
    }
    if let Some((bits, bit)) = bit(fd as c_int) {
        bits.fetch_or(bit, SeqCst);
    }
    fd as c_int
}

fn forget(fd: c_int) {
    for limits in [&RECEIVE_WITHIN, &SEND_WITHIN] {
        if let Some(limit) = limits.of(fd)
            && limit.load(SeqCst) != 0
        {
            limit.store(0, SeqCst);
        }
    }
    crate::timers::closed(fd);
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if is_own(fd) {
        // The program has not opened it.
        set_errno(EBADF);
        return -1;
    }
    forget(fd);
    unsafe { real!(close: fn(c_int) -> c_int)(fd) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    lose(to);
    unsafe { real!(dup2: fn(c_int, c_int) -> c_int)(from, to) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    lose(to);
    unsafe { real!(dup3: fn(c_int, c_int, c_int) -> c_int)(from, to, flags) }
}

/// Gives up a descriptor that the program takes for itself; its thread makes another one when it needs it.
fn lose(fd: c_int) {
    if is_own(fd) {
        disown(fd);
        let (page, process) = (crate::own::page(), process());
        for slot in &page.slots[..page.used()] {
            if slot.process.load(SeqCst) == process {
                let _ = slot.bell.compare_exchange(fd, -1, SeqCst, SeqCst);
            }
        }
    }
    forget(fd);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    const CLOEXEC: c_int = 4;
    if flags & CLOEXEC == 0 {
        (first..=last.min(MANY as c_uint - 1)).for_each(|fd| lose(fd as c_int));
    }
    unsafe { real!(close_range: fn(c_uint, c_uint, c_int) -> c_int)(first, last, flags) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn closefrom(first: c_int) {
    unsafe { close_range(first.max(0) as c_uint, c_uint::MAX, 0) };
}

const SOL_SOCKET: c_int = 1;
const RECEIVE_TIMEOUT: c_int = 20;
const SEND_TIMEOUT: c_int = 21;

fn limit_of(fd: c_int, level: c_int, option: c_int) -> Option<&'static AtomicU64> {
    match (level, option) {
        (SOL_SOCKET, RECEIVE_TIMEOUT) => RECEIVE_WITHIN.of(fd),
        (SOL_SOCKET, SEND_TIMEOUT) => SEND_WITHIN.of(fd),
        _ => None,
    }
}

/// Limits of waiting are kept here, as the system would measure them in real time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: c_uint,
) -> c_int {
    if let Some(limit) = limit_of(fd, level, option)
        && length as usize >= size_of::<Timeval>()
        && !value.is_null()
    {
        let time = unsafe { &*value.cast::<Timeval>() };
        limit.store(time.sec as u64 * 1_000_000_000 + time.usec as u64 * 1000, SeqCst);
        return 0;
    }
    let real = real!(setsockopt: fn(c_int, c_int, c_int, *const c_void, c_uint) -> c_int);
    unsafe { real(fd, level, option, value, length) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    length: *mut c_uint,
) -> c_int {
    if let Some(limit) = limit_of(fd, level, option)
        && !length.is_null()
        && unsafe { *length } as usize >= size_of::<Timeval>()
    {
        let time = limit.load(SeqCst);
        let time = Timeval { sec: (time / 1_000_000_000) as i64, usec: (time % 1_000_000_000 / 1000) as i64 };
        unsafe {
            *value.cast() = time;
            *length = size_of::<Timeval>() as c_uint;
        }
        return 0;
    }
    let real = real!(getsockopt: fn(c_int, c_int, c_int, *mut c_void, *mut c_uint) -> c_int);
    unsafe { real(fd, level, option, value, length) }
}

/// Disables the delay of small segments of a TCP connection, which would take real time.
pub fn send_at_once(fd: c_int) {
    let one: c_int = 1;
    let error = errno();
    let real = real!(setsockopt: fn(c_int, c_int, c_int, *const c_void, c_uint) -> c_int);
    unsafe { real(fd, 6, 1, (&raw const one).cast(), size_of::<c_int>() as c_uint) };
    set_errno(error);
}
