//! Waits for data: poll, select and epoll with their limits, and calls that wait for one descriptor.

use core::ffi::{c_int, c_ulong, c_void};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use crate::descriptors::{RECEIVE_WITHIN, SEND_WITHIN, own_eventfd, send_at_once};
use crate::own::{after, blocking, me, nanoseconds, page, ring, sleep_until};
use crate::state::{NEVER, ON_DATA};
use crate::sys::*;

/// Most descriptors, besides the bell, that are waited for without allocating memory.
const FEW: usize = 96;

/// The calling thread's bell: the controller writes to it to end a wait for data.
fn bell(me: usize) -> Option<c_int> {
    let slot = &page().slots[me];
    let known = slot.bell.load(SeqCst);
    if known >= 0 {
        return Some(known);
    }
    let made = own_eventfd();
    (made >= 0).then(|| {
        slot.bell_age.fetch_add(1, SeqCst);
        slot.bell.store(made, SeqCst);
        made
    })
}

/// `ppoll` with a virtual deadline; the result is that of the system call.
pub fn poll_until(fds: *mut PollFd, count: usize, deadline: u64, mask: *const c_void) -> isize {
    let page = page();
    let ready = wait_for(fds, count, AT_ONCE, mask);
    if ready != 0 {
        return ready;
    }
    if deadline <= page.now() {
        return 0;
    }
    let me = me();
    if deadline == NEVER {
        let before = page.sleep(me, NEVER, ON_DATA);
        ring(page);
        let ready = wait_in_library(fds, count, mask);
        page.wake(me, before);
        return ready;
    }
    if count == 0 && mask.is_null() {
        return if sleep_until(deadline) { 0 } else { -(EINTR as isize) };
    }
    let Some(bell) = bell(me) else { fail(&[b"a program has no descriptor left for a wait"]) };
    let mut few = [PollFd::default(); FEW + 1];
    let all: *mut PollFd = match count {
        0..=FEW => few.as_mut_ptr(),
        _ => unsafe { malloc((count + 1) * size_of::<PollFd>()) }.cast(),
    };
    if all.is_null() {
        return -12;
    }
    let result = unsafe {
        core::ptr::copy_nonoverlapping(fds, all, count);
        *all.add(count) = PollFd { fd: bell, events: POLLIN, revents: 0 };
        let result = loop {
            let before = page.sleep(me, deadline, ON_DATA);
            ring(page);
            let ready = wait_in_library(all, count + 1, mask);
            page.wake(me, before);
            if ready < 0 {
                break ready;
            }
            let has_rung = (*all.add(count)).revents != 0;
            if has_rung {
                let mut rung = 0u64;
                call(READ, bell as usize, &raw mut rung as usize, 8, 0, 0, 0);
            }
            let ready = ready - isize::from(has_rung);
            if ready > 0 || page.now() >= deadline {
                core::ptr::copy_nonoverlapping(all, fds, count);
                break ready;
            }
        };
        if count > FEW {
            free(all.cast());
        }
        result
    };
    result
}

/// `ppoll` without a limit, by the C library: the thread may be cancelled in it.
fn wait_in_library(fds: *mut PollFd, count: usize, mask: *const c_void) -> isize {
    let real = real!(ppoll: fn(*mut PollFd, c_ulong, *const Timespec, *const c_void) -> c_int);
    match unsafe { real(fds, count as c_ulong, core::ptr::null(), mask) } {
        -1 => -(errno() as isize),
        ready => ready as isize,
    }
}

/// A limit in milliseconds as a deadline; negative for none.
fn in_milliseconds(limit: c_int) -> u64 {
    u64::try_from(limit).map_or(NEVER, |limit| after(limit * 1_000_000))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(fds: *mut PollFd, count: c_ulong, limit: c_int) -> c_int {
    returned(poll_until(fds, count as usize, in_milliseconds(limit), core::ptr::null())) as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __poll_chk(fds: *mut PollFd, count: c_ulong, limit: c_int, _: usize) -> c_int {
    unsafe { poll(fds, count, limit) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(fds: *mut PollFd, count: c_ulong, limit: *const Timespec, mask: *const c_void) -> c_int {
    let Some(deadline) = limit_of(limit) else {
        set_errno(EINVAL);
        return -1;
    };
    returned(poll_until(fds, count as usize, deadline, mask)) as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ppoll_chk(
    fds: *mut PollFd,
    count: c_ulong,
    limit: *const Timespec,
    mask: *const c_void,
    _: usize,
) -> c_int {
    unsafe { crate::data::ppoll(fds, count, limit, mask) }
}

/// The deadline of a limit, `NEVER` for none; None if it is invalid.
fn limit_of(limit: *const Timespec) -> Option<u64> {
    if limit.is_null() { Some(NEVER) } else { nanoseconds(unsafe { &*limit }).map(after) }
}

/// Most descriptors that `select` takes.
const SELECTED: usize = 1024;

fn has(set: *const u64, fd: usize) -> bool {
    !set.is_null() && unsafe { *set.add(fd / 64) } & 1 << (fd % 64) != 0
}

fn select_until(count: c_int, sets: [*mut u64; 3], deadline: u64, mask: *const c_void) -> c_int {
    const EVENTS: [i16; 3] = [POLLIN, POLLOUT, POLLPRI];
    const READY: [i16; 3] = [POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI];
    let Some(count) = usize::try_from(count).ok().filter(|&count| count <= SELECTED) else {
        set_errno(EINVAL);
        return -1;
    };
    let mut polled = [PollFd::default(); SELECTED];
    let mut many = 0;
    for fd in 0..count {
        let events = (0..3).filter(|&set| has(sets[set], fd)).fold(0, |events, set| events | EVENTS[set]);
        if events != 0 {
            polled[many] = PollFd { fd: fd as c_int, events, revents: 0 };
            many += 1;
        }
    }
    let result = poll_until(polled.as_mut_ptr(), many, deadline, mask);
    if result < 0 {
        return returned(result) as c_int;
    }
    if polled[..many].iter().any(|polled| polled.revents & POLLNVAL != 0) {
        set_errno(EBADF);
        return -1;
    }
    for set in sets.into_iter().filter(|set| !set.is_null()) {
        (0..count.div_ceil(64)).for_each(|word| unsafe { *set.add(word) = 0 });
    }
    let mut ready = 0;
    for polled in &polled[..many] {
        for set in 0..3 {
            if polled.events & EVENTS[set] != 0 && polled.revents & READY[set] != 0 {
                let fd = polled.fd as usize;
                unsafe { *sets[set].add(fd / 64) |= 1 << (fd % 64) };
                ready += 1;
            }
        }
    }
    ready
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn select(
    count: c_int,
    reads: *mut u64,
    writes: *mut u64,
    others: *mut u64,
    limit: *mut Timeval,
) -> c_int {
    let mut deadline = NEVER;
    if !limit.is_null() {
        let limit = unsafe { &*limit };
        if limit.sec < 0 || limit.usec < 0 {
            set_errno(EINVAL);
            return -1;
        }
        deadline = after((limit.sec as u64).saturating_mul(1_000_000_000).saturating_add(limit.usec as u64 * 1000));
    }
    let result = select_until(count, [reads, writes, others], deadline, core::ptr::null());
    if !limit.is_null() {
        // Like the system call, returns the time that was left.
        let left = deadline.saturating_sub(page().now());
        let (sec, usec) = ((left / 1_000_000_000) as i64, (left % 1_000_000_000 / 1000) as i64);
        unsafe { *limit = Timeval { sec, usec } };
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pselect(
    count: c_int,
    reads: *mut u64,
    writes: *mut u64,
    others: *mut u64,
    limit: *const Timespec,
    mask: *const c_void,
) -> c_int {
    let Some(deadline) = limit_of(limit) else {
        set_errno(EINVAL);
        return -1;
    };
    select_until(count, [reads, writes, others], deadline, mask)
}

/// Waits until an epoll has events, and collects them.
fn epoll_until(epoll: c_int, events: *mut c_void, most: c_int, deadline: u64, mask: *const c_void) -> c_int {
    let collect = |limit: c_int| unsafe {
        real!(epoll_pwait: fn(c_int, *mut c_void, c_int, c_int, *const c_void) -> c_int)(
            epoll, events, most, limit, mask,
        )
    };
    loop {
        let ready = collect(0);
        if ready != 0 || deadline <= page().now() {
            return ready;
        }
        if deadline == NEVER {
            return blocking(|| collect(-1));
        }
        let mut polled = PollFd { fd: epoll, events: POLLIN, revents: 0 };
        let result = poll_until(&mut polled, 1, deadline, mask);
        if result < 0 {
            return returned(result) as c_int;
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(epoll: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int {
    epoll_until(epoll, events, most, in_milliseconds(limit), core::ptr::null())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    mask: *const c_void,
) -> c_int {
    epoll_until(epoll, events, most, in_milliseconds(limit), mask)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    limit: *const Timespec,
    mask: *const c_void,
) -> c_int {
    let Some(deadline) = limit_of(limit) else {
        set_errno(EINVAL);
        return -1;
    };
    epoll_until(epoll, events, most, deadline, mask)
}

/// True if a call that waits for these events of a descriptor may be made: marked asleep if it may block. False if its
/// time limit has passed, with `errno` set.
fn may_go_on(fd: c_int, events: i16, limit: Option<&AtomicU64>) -> Option<bool> {
    const GET_FLAGS: usize = 3;
    const NONBLOCK: isize = 0o4000;
    let mut polled = PollFd { fd, events, revents: 0 };
    if wait_for(&mut polled, 1, AT_ONCE, core::ptr::null()) != 0
        || unsafe { call(FCNTL, fd as usize, GET_FLAGS, 0, 0, 0, 0) } & NONBLOCK != 0
    {
        return Some(false);
    }
    let limit = limit.map_or(0, |limit| limit.load(SeqCst));
    if limit == 0 {
        return Some(true);
    }
    match poll_until(&mut polled, 1, after(limit), core::ptr::null()) {
        0 => {
            set_errno(EAGAIN);
            None
        }
        ready if ready < 0 => {
            returned(ready);
            None
        }
        _ => Some(false),
    }
}

fn waiting<T: From<i8>>(fd: c_int, events: i16, limit: Option<&AtomicU64>, call: impl FnOnce() -> T) -> T {
    match may_go_on(fd, events, limit) {
        Some(true) => blocking(call),
        Some(false) => call(),
        None => T::from(-1),
    }
}

macro_rules! waits {
    ($($name:ident($fd:ident, $($argument:ident: $kind:ty),*) -> $result:ty, $events:expr, $limits:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($fd: c_int, $($argument: $kind),*) -> $result {
            waiting($fd, $events, $limits.of($fd), || unsafe {
                real!($name: fn(c_int, $($kind),*) -> $result)($fd, $($argument),*)
            })
        }
    )*};
}

waits! {
    read(fd, buffer: *mut c_void, length: usize) -> isize, POLLIN, RECEIVE_WITHIN;
    __read_chk(fd, buffer: *mut c_void, length: usize, size: usize) -> isize, POLLIN, RECEIVE_WITHIN;
    readv(fd, parts: *const c_void, count: c_int) -> isize, POLLIN, RECEIVE_WITHIN;
    recvmsg(fd, message: *mut c_void, flags: c_int) -> isize, POLLIN, RECEIVE_WITHIN;
    write(fd, buffer: *const c_void, length: usize) -> isize, POLLOUT, SEND_WITHIN;
    writev(fd, parts: *const c_void, count: c_int) -> isize, POLLOUT, SEND_WITHIN;
    sendmsg(fd, message: *const c_void, flags: c_int) -> isize, POLLOUT, SEND_WITHIN;
}

const DO_NOT_WAIT: c_int = 0x40;

macro_rules! waits_unless_told {
    ($($name:ident($fd:ident, $($before:ident: $kind:ty),*; $flags:ident; $($after:ident: $last:ty),*) -> isize, $events:expr, $limits:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($fd: c_int, $($before: $kind,)* $flags: c_int, $($after: $last),*) -> isize {
            let call = || unsafe {
                real!($name: fn(c_int, $($kind,)* c_int, $($last),*) -> isize)($fd, $($before,)* $flags, $($after),*)
            };
            if $flags & DO_NOT_WAIT != 0 { call() } else { waiting($fd, $events, $limits.of($fd), call) }
        }
    )*};
}

waits_unless_told! {
    recv(fd, buffer: *mut c_void, length: usize; flags; ) -> isize, POLLIN, RECEIVE_WITHIN;
    __recv_chk(fd, buffer: *mut c_void, length: usize, size: usize; flags; ) -> isize, POLLIN, RECEIVE_WITHIN;
    recvfrom(fd, buffer: *mut c_void, length: usize; flags; from: *mut c_void, size: *mut u32) -> isize, POLLIN, RECEIVE_WITHIN;
    __recvfrom_chk(fd, buffer: *mut c_void, length: usize, room: usize; flags; from: *mut c_void, size: *mut u32) -> isize, POLLIN, RECEIVE_WITHIN;
    send(fd, buffer: *const c_void, length: usize; flags; ) -> isize, POLLOUT, SEND_WITHIN;
    sendto(fd, buffer: *const c_void, length: usize; flags; to: *const c_void, size: u32) -> isize, POLLOUT, SEND_WITHIN;
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(fd: c_int, from: *mut c_void, size: *mut u32) -> c_int {
    unsafe { accept4(fd, from, size, 0) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(fd: c_int, from: *mut c_void, size: *mut u32, flags: c_int) -> c_int {
    let real = real!(accept4: fn(c_int, *mut c_void, *mut u32, c_int) -> c_int);
    let accepted = waiting(fd, POLLIN, RECEIVE_WITHIN.of(fd), || unsafe { real(fd, from, size, flags) });
    if accepted >= 0 {
        send_at_once(accepted);
    }
    accepted
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn connect(fd: c_int, to: *const c_void, size: u32) -> c_int {
    send_at_once(fd);
    unsafe { real!(connect: fn(c_int, *const c_void, u32) -> c_int)(fd, to, size) }
}
