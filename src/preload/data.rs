//! Waits for data: poll, select and epoll with their limits, and calls that wait for one descriptor.

use core::ffi::{c_int, c_ulong, c_void};
use core::slice;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use crate::by_descriptor::{RECEIVE_WITHIN, SEND_WITHIN};
use crate::descriptors::send_at_once;
use crate::eventfds::own_eventfd;
use crate::own::{blocking, own_slot, page, ring_controller, sleep_until};
use crate::state::{NEVER, ON_DATA};
use crate::sys::*;
use crate::times::{deadline_after, to_nanoseconds, to_timeval};

/// Most descriptors, besides the bell, that are waited for without allocating memory.
const FEW: usize = 96;

/// The calling thread's bell: the controller writes to it to end a wait for data.
fn thread_bell(me: usize) -> Option<c_int> {
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
pub fn poll_until(fds: &mut [PollFd], deadline: u64, mask: Option<&SignalMask>) -> isize {
    let page = page();
    let ready = wait_for(fds, AT_ONCE, mask);
    if ready != 0 {
        return ready;
    }
    if deadline <= page.now() {
        return 0;
    }
    let me = own_slot();
    if deadline == NEVER {
        let before = page.sleep(me, NEVER, ON_DATA);
        ring_controller(page);
        let ready = wait_in_library(fds, mask);
        page.wake(me, before);
        return ready;
    }
    if fds.is_empty() && mask.is_none() {
        return if sleep_until(deadline) { 0 } else { -(EINTR as isize) };
    }
    let Some(bell) = thread_bell(me) else { fail(&[b"a program has no descriptor left for a wait"]) };
    let rings = PollFd { fd: bell, events: POLLIN, revents: 0 };
    if let Some(few) = [PollFd::default(); FEW + 1].get_mut(..=fds.len()) {
        few[..fds.len()].copy_from_slice(fds);
        few[fds.len()] = rings;
        return poll_with_bell(me, few, fds, deadline, mask);
    }
    let memory = malloc((fds.len() + 1) * size_of::<PollFd>()).cast::<PollFd>();
    if memory.is_null() {
        return -(ENOMEM as isize);
    }
    // SAFETY: the memory has room for the given entries and one more, is written to before it is read, and nothing else
    // uses it.
    let many = unsafe {
        memory.copy_from_nonoverlapping(fds.as_ptr(), fds.len());
        memory.add(fds.len()).write(rings);
        slice::from_raw_parts_mut(memory, fds.len() + 1)
    };
    let ready = poll_with_bell(me, many, fds, deadline, mask);
    // SAFETY: it was allocated above, and its last use was in the call before this one.
    unsafe { free(memory.cast()) };
    ready
}

/// Waits for the entries in `all`, the last of which is the bell of the thread `me`, and writes the results to `fds`.
fn poll_with_bell(
    me: usize,
    all: &mut [PollFd],
    fds: &mut [PollFd],
    deadline: u64,
    mask: Option<&SignalMask>,
) -> isize {
    let page = page();
    loop {
        let before = page.sleep(me, deadline, ON_DATA);
        ring_controller(page);
        let ready = wait_in_library(all, mask);
        page.wake(me, before);
        if ready < 0 {
            return ready;
        }
        let bell = all[fds.len()];
        let has_rung = bell.revents != 0;
        if has_rung {
            take_count(bell.fd);
        }
        let ready = ready - isize::from(has_rung);
        if ready > 0 || page.now() >= deadline {
            fds.copy_from_slice(&all[..fds.len()]);
            return ready;
        }
    }
}

/// `ppoll` without a limit, by the C library: the thread may be cancelled in it.
fn wait_in_library(fds: &mut [PollFd], mask: Option<&SignalMask>) -> isize {
    let real = real!(ppoll: fn(*mut PollFd, c_ulong, *const Timespec, Option<&SignalMask>) -> c_int);
    // SAFETY: the entries are as many as stated, and of the mask the system reads one word.
    match unsafe { real(fds.as_mut_ptr(), fds.len() as c_ulong, core::ptr::null(), mask) } {
        -1 => -(errno() as isize),
        ready => ready as isize,
    }
}

/// `ppoll` as programs call it.
///
/// # Safety
/// `fds` has `count` entries that nothing else uses.
unsafe fn poll_entries(fds: *mut PollFd, count: c_ulong, deadline: u64, mask: Option<&SignalMask>) -> c_int {
    let entries = match count {
        0 => &mut [],
        _ if fds.is_null() => {
            set_errno(EFAULT);
            return -1;
        }
        // SAFETY: the caller answers for the entries.
        count => unsafe { slice::from_raw_parts_mut(fds, count as usize) },
    };
    libc_result(poll_until(entries, deadline, mask)) as c_int
}

/// A limit in milliseconds as a deadline; negative for none.
fn in_milliseconds(limit: c_int) -> u64 {
    u64::try_from(limit).map_or(NEVER, |limit| deadline_after(limit * 1_000_000))
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn poll(fds: *mut PollFd, count: c_ulong, limit: c_int) -> c_int {
    // SAFETY: the caller passes this many entries.
    unsafe { poll_entries(fds, count, in_milliseconds(limit), None) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn __poll_chk(fds: *mut PollFd, count: c_ulong, limit: c_int, _: usize) -> c_int {
    // SAFETY: the caller passes this many entries.
    unsafe { poll(fds, count, limit) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn ppoll(
    fds: *mut PollFd,
    count: c_ulong,
    limit: Option<&Timespec>,
    mask: Option<&SignalMask>,
) -> c_int {
    let Some(deadline) = limit_of(limit) else {
        set_errno(EINVAL);
        return -1;
    };
    // SAFETY: the caller passes this many entries.
    unsafe { poll_entries(fds, count, deadline, mask) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn __ppoll_chk(
    fds: *mut PollFd,
    count: c_ulong,
    limit: Option<&Timespec>,
    mask: Option<&SignalMask>,
    _: usize,
) -> c_int {
    // SAFETY: the caller passes this many entries.
    unsafe { ppoll(fds, count, limit, mask) }
}

/// The deadline of a limit, `NEVER` for none; None if it is invalid.
fn limit_of(limit: Option<&Timespec>) -> Option<u64> {
    limit.map_or(Some(NEVER), |limit| to_nanoseconds(limit).map(deadline_after))
}

/// Most descriptors that `select` takes.
const SELECTED: usize = 1024;

/// A set of descriptors that a program passes to `select`: a bit for each, up to the end of the last word.
///
/// # Safety
/// `set` is null, or has `count` bits that nothing else uses.
unsafe fn select_bits<'a>(set: *mut u64, count: c_int) -> Option<&'a mut [u64]> {
    let count = usize::try_from(count).unwrap_or(0).min(SELECTED);
    // SAFETY: the caller answers for the bits.
    (!set.is_null()).then(|| unsafe { slice::from_raw_parts_mut(set, count.div_ceil(64)) })
}

fn has_bit(set: Option<&[u64]>, fd: usize) -> bool {
    set.is_some_and(|set| set[fd / 64] & 1 << (fd % 64) != 0)
}

fn select_until(count: c_int, sets: [Option<&mut [u64]>; 3], deadline: u64, mask: Option<&SignalMask>) -> c_int {
    const EVENTS: [i16; 3] = [POLLIN, POLLOUT, POLLPRI];
    const READY: [i16; 3] = [POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, POLLPRI];
    let Some(count) = usize::try_from(count).ok().filter(|&count| count <= SELECTED) else {
        set_errno(EINVAL);
        return -1;
    };
    let mut sets = sets;
    let mut polled = [PollFd::default(); SELECTED];
    let mut many = 0;
    for fd in 0..count {
        let asked = (0..3).filter(|&set| has_bit(sets[set].as_deref(), fd));
        let events = asked.fold(0, |events, set| events | EVENTS[set]);
        if events != 0 {
            polled[many] = PollFd { fd: fd as c_int, events, revents: 0 };
            many += 1;
        }
    }
    let result = poll_until(&mut polled[..many], deadline, mask);
    if result < 0 {
        return libc_result(result) as c_int;
    }
    if polled[..many].iter().any(|polled| polled.revents & POLLNVAL != 0) {
        set_errno(EBADF);
        return -1;
    }
    sets.iter_mut().flatten().for_each(|set| set.fill(0));
    let mut ready = 0;
    for polled in &polled[..many] {
        for (set, bits) in sets.iter_mut().enumerate() {
            if polled.events & EVENTS[set] != 0
                && polled.revents & READY[set] != 0
                && let Some(bits) = bits
            {
                let fd = polled.fd as usize;
                bits[fd / 64] |= 1 << (fd % 64);
                ready += 1;
            }
        }
    }
    ready
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn select(
    count: c_int,
    reads: *mut u64,
    writes: *mut u64,
    others: *mut u64,
    limit: Option<&mut Timeval>,
) -> c_int {
    // SAFETY: the caller passes sets of this many descriptors.
    let sets = unsafe { [select_bits(reads, count), select_bits(writes, count), select_bits(others, count)] };
    let Some(limit) = limit else { return select_until(count, sets, NEVER, None) };
    if limit.sec < 0 || limit.usec < 0 {
        set_errno(EINVAL);
        return -1;
    }
    let span = (limit.sec as u64).saturating_mul(1_000_000_000).saturating_add(limit.usec as u64 * 1000);
    let deadline = deadline_after(span);
    let result = select_until(count, sets, deadline, None);
    // Like the system call, returns the time that was left.
    *limit = to_timeval(deadline.saturating_sub(page().now()));
    result
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pselect(
    count: c_int,
    reads: *mut u64,
    writes: *mut u64,
    others: *mut u64,
    limit: Option<&Timespec>,
    mask: Option<&SignalMask>,
) -> c_int {
    let Some(deadline) = limit_of(limit) else {
        set_errno(EINVAL);
        return -1;
    };
    // SAFETY: the caller passes sets of this many descriptors.
    let sets = unsafe { [select_bits(reads, count), select_bits(writes, count), select_bits(others, count)] };
    select_until(count, sets, deadline, mask)
}

/// Waits until an epoll has events, and collects them.
///
/// # Safety
/// `events` has room for `most` events.
unsafe fn epoll_until(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    deadline: u64,
    mask: Option<&SignalMask>,
) -> c_int {
    let real = real!(epoll_pwait: fn(c_int, *mut c_void, c_int, c_int, Option<&SignalMask>) -> c_int);
    // SAFETY: the caller answers for the room, and of the mask the system reads one word.
    let collect = |limit: c_int| unsafe { real(epoll, events, most, limit, mask) };
    loop {
        let ready = collect(0);
        if ready != 0 || deadline <= page().now() {
            return ready;
        }
        if deadline == NEVER {
            return blocking(|| collect(-1));
        }
        let mut polled = [PollFd { fd: epoll, events: POLLIN, revents: 0 }];
        let result = poll_until(&mut polled, deadline, mask);
        if result < 0 {
            return libc_result(result) as c_int;
        }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn epoll_wait(epoll: c_int, events: *mut c_void, most: c_int, limit: c_int) -> c_int {
    // SAFETY: the caller passes room for this many events.
    unsafe { epoll_until(epoll, events, most, in_milliseconds(limit), None) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    limit: c_int,
    mask: Option<&SignalMask>,
) -> c_int {
    // SAFETY: the caller passes room for this many events.
    unsafe { epoll_until(epoll, events, most, in_milliseconds(limit), mask) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn epoll_pwait2(
    epoll: c_int,
    events: *mut c_void,
    most: c_int,
    limit: Option<&Timespec>,
    mask: Option<&SignalMask>,
) -> c_int {
    let Some(deadline) = limit_of(limit) else {
        set_errno(EINVAL);
        return -1;
    };
    // SAFETY: the caller passes room for this many events.
    unsafe { epoll_until(epoll, events, most, deadline, mask) }
}

/// True if a call that waits for these events of a descriptor may block, so that its thread is to be marked asleep.
/// None if its time limit has passed, with `errno` set.
fn may_block(fd: c_int, events: i16, limit: Option<&AtomicU64>) -> Option<bool> {
    let mut polled = [PollFd { fd, events, revents: 0 }];
    if wait_for(&mut polled, AT_ONCE, None) != 0 || never_blocks(fd) {
        return Some(false);
    }
    let limit = limit.map_or(0, |limit| limit.load(SeqCst));
    if limit == 0 {
        return Some(true);
    }
    match poll_until(&mut polled, deadline_after(limit), None) {
        0 => {
            set_errno(EAGAIN);
            None
        }
        ready if ready < 0 => {
            libc_result(ready);
            None
        }
        _ => Some(false),
    }
}

fn waiting<T: From<i8>>(fd: c_int, events: i16, limit: Option<&AtomicU64>, call: impl FnOnce() -> T) -> T {
    match may_block(fd, events, limit) {
        Some(true) => blocking(call),
        Some(false) => call(),
        None => T::from(-1),
    }
}

macro_rules! waits {
    ($($name:ident($fd:ident, $($argument:ident: $kind:ty),*) -> $result:ty, $events:expr, $limits:ident;)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name($fd: c_int, $($argument: $kind),*) -> $result {
            waiting($fd, $events, $limits.of($fd), || pass_on!($name($fd: c_int, $($argument: $kind),*) -> $result))
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

macro_rules! waits_by_flags {
    ($($name:ident($fd:ident, $($before:ident: $kind:ty),*; $flags:ident; $($after:ident: $last:ty),*) -> isize, $events:expr, $limits:ident;)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name($fd: c_int, $($before: $kind,)* $flags: c_int, $($after: $last),*) -> isize {
            let call =
                || pass_on!($name($fd: c_int, $($before: $kind,)* $flags: c_int, $($after: $last),*) -> isize);
            if $flags & DO_NOT_WAIT != 0 { call() } else { waiting($fd, $events, $limits.of($fd), call) }
        }
    )*};
}

waits_by_flags! {
    recv(fd, buffer: *mut c_void, length: usize; flags; ) -> isize, POLLIN, RECEIVE_WITHIN;
    __recv_chk(fd, buffer: *mut c_void, length: usize, size: usize; flags; ) -> isize, POLLIN, RECEIVE_WITHIN;
    recvfrom(fd, buffer: *mut c_void, length: usize; flags; from: *mut c_void, size: *mut u32) -> isize, POLLIN, RECEIVE_WITHIN;
    __recvfrom_chk(fd, buffer: *mut c_void, length: usize, room: usize; flags; from: *mut c_void, size: *mut u32) -> isize, POLLIN, RECEIVE_WITHIN;
    send(fd, buffer: *const c_void, length: usize; flags; ) -> isize, POLLOUT, SEND_WITHIN;
    sendto(fd, buffer: *const c_void, length: usize; flags; to: *const c_void, size: u32) -> isize, POLLOUT, SEND_WITHIN;
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn accept(fd: c_int, from: *mut c_void, size: *mut u32) -> c_int {
    // SAFETY: the caller passes a place for the address and its size, or null.
    unsafe { accept4(fd, from, size, 0) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn accept4(fd: c_int, from: *mut c_void, size: *mut u32, flags: c_int) -> c_int {
    let accepted = waiting(
        fd,
        POLLIN,
        RECEIVE_WITHIN.of(fd),
        || pass_on!(accept4(fd: c_int, from: *mut c_void, size: *mut u32, flags: c_int) -> c_int),
    );
    if accepted >= 0 {
        send_at_once(accepted);
    }
    accepted
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn connect(fd: c_int, to: *const c_void, size: u32) -> c_int {
    send_at_once(fd);
    pass_on!(connect(fd: c_int, to: *const c_void, size: u32) -> c_int)
}
