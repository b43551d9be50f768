//! Calls that close descriptors or take their numbers: the library's own stay open, and the state of others is
//! forgotten. Also the limits that socket options set.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use crate::by_descriptor::{RECEIVE_WITHIN, SEND_WITHIN, forget_descriptor};
use crate::eventfds::{MANY, disown_descriptor, is_own};
use crate::own::page;
use crate::sys::*;
use crate::times::to_timeval;

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if is_own(fd) {
        // The program has not opened it.
        set_errno(EBADF);
        return -1;
    }
    forget_descriptor(fd);
    pass_on!(close(fd: c_int) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    give_up_descriptor(to);
    pass_on!(dup2(from: c_int, to: c_int) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    give_up_descriptor(to);
    pass_on!(dup3(from: c_int, to: c_int, flags: c_int) -> c_int)
}

/// Gives up a descriptor that the program takes for itself; its thread makes another one when it needs it.
fn give_up_descriptor(fd: c_int) {
    if is_own(fd) {
        disown_descriptor(fd);
        let page = page();
        let process = process_id();
        for slot in &page.slots[..page.used_slots()] {
            if slot.process.load(SeqCst) == process {
                let _ = slot.bell.compare_exchange(fd, -1, SeqCst, SeqCst);
            }
        }
    }
    forget_descriptor(fd);
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    const CLOEXEC: c_int = 4;
    if flags & CLOEXEC == 0 {
        (first..=last.min(MANY as c_uint - 1)).for_each(|fd| give_up_descriptor(fd as c_int));
    }
    pass_on!(close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: the caller asks for all descriptors from `first` on to be closed.
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
#[cfg_attr(preloaded, unsafe(no_mangle))]
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
        // SAFETY: the value of this option is a time, and long enough for one.
        let time = unsafe { value.cast::<Timeval>().read() };
        limit.store(time.sec as u64 * 1_000_000_000 + time.usec as u64 * 1000, SeqCst);
        return 0;
    }
    pass_on!(setsockopt(fd: c_int, level: c_int, option: c_int, value: *const c_void, length: c_uint) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    length: *mut c_uint,
) -> c_int {
    if let Some(limit) = limit_of(fd, level, option)
        && !length.is_null()
        // SAFETY: the caller passes the length of its value there.
        && unsafe { *length } as usize >= size_of::<Timeval>()
    {
        // SAFETY: the value of this option is a time, and the caller has a place that is long enough for one.
        unsafe {
            value.cast::<Timeval>().write(to_timeval(limit.load(SeqCst)));
            length.write(size_of::<Timeval>() as c_uint);
        }
        return 0;
    }
    pass_on!(getsockopt(fd: c_int, level: c_int, option: c_int, value: *mut c_void, length: *mut c_uint) -> c_int)
}

/// Disables the delay of small segments of a TCP connection, which would take real time.
pub fn send_at_once(fd: c_int) {
    let one: c_int = 1;
    let error = errno();
    let real = real!(setsockopt: fn(c_int, c_int, c_int, *const c_void, c_uint) -> c_int);
    // SAFETY: the value of this option is one number.
    unsafe { real(fd, 6, 1, (&raw const one).cast(), size_of::<c_int>() as c_uint) };
    set_errno(error);
}
