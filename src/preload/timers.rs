//! Timers: each is an entry of the page. The controller writes to an eventfd, or sends a signal, when one expires.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use crate::by_descriptor::{TIMERS, timer_of};
use crate::data::poll_until;
use crate::eventfds::{close_own, own_eventfd};
use crate::own::{own_slot, page, record_wake};
use crate::processes::start_own_thread;
use crate::state::{NEVER, TIMER_FREE};
use crate::sys::*;
use crate::times::{clock_offset, deadline_after, deadline_of, to_nanoseconds, to_timespec, to_timeval};

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Setting {
    period: Timespec,
    first: Timespec,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Alarm {
    period: Timeval,
    first: Timeval,
}

const ABSOLUTE: c_int = 1;
fn set_timer(timer: usize, clock: c_int, flags: c_int, new: &Setting) -> c_int {
    let (Some(period), Some(first)) = (to_nanoseconds(&new.period), to_nanoseconds(&new.first)) else { return EINVAL };
    let deadline = match first {
        0 => NEVER,
        _ if flags & ABSOLUTE != 0 => deadline_of(clock, &new.first).unwrap_or(NEVER),
        _ => deadline_after(first),
    };
    page().arm_timer(timer, deadline, period);
    0
}

fn timer_setting(timer: usize) -> Setting {
    let (first, period) = page().time_left(timer);
    Setting { period: to_timespec(period), first: to_timespec(first) }
}

/// An eventfd is read as a timerfd is: it counts expiries, and reading takes them.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    if clock_offset(clock).is_none() {
        set_errno(EINVAL);
        return -1;
    }
    let fd = libc_result(make_eventfd(flags as usize)) as c_int;
    if fd < 0 {
        return fd;
    }
    let page = page();
    let (Some(entry), Some(timer)) = (TIMERS.of(fd), page.take_timer(own_slot(), process_id())) else {
        fail(&[b"too many timers at a time"]);
    };
    let taken = &page.timers[timer];
    // The clock is kept where a timer that sends signals has its signal.
    taken.signal.store(clock as u32, SeqCst);
    taken.bell_age.fetch_add(1, SeqCst);
    taken.bell.store(fd, SeqCst);
    entry.store(timer as u16 + 1, SeqCst);
    fd
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timerfd_settime(fd: c_int, flags: c_int, new: &Setting, old: *mut Setting) -> c_int {
    let Some(timer) = timer_of(fd) else {
        set_errno(EINVAL);
        return -1;
    };
    // SAFETY: the caller passes a place for the old setting, or null.
    unsafe { put(old, timer_setting(timer)) };
    // Expiries that were not read are those of the old setting.
    let mut polled = [PollFd { fd, events: POLLIN, revents: 0 }];
    if wait_for(&mut polled, AT_ONCE, None) > 0 {
        take_count(fd);
    }
    match set_timer(timer, page().timers[timer].signal.load(SeqCst) as c_int, flags, new) {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timerfd_gettime(fd: c_int, now: *mut Setting) -> c_int {
    let Some(timer) = timer_of(fd) else {
        set_errno(EINVAL);
        return -1;
    };
    // SAFETY: the caller passes a place for the setting.
    unsafe { now.write(timer_setting(timer)) };
    0
}

const SIGALRM: u32 = 14;

/// The process's alarm, of which it has one, even after `exec`.
fn alarm_of_process(is_made: bool) -> Option<usize> {
    let page = page();
    let process = process_id();
    (0..page.timers_used())
        .find(|timer| {
            let timer = &page.timers[*timer];
            timer.state.load(SeqCst) != TIMER_FREE
                && timer.process.load(SeqCst) == process
                && timer.bell.load(SeqCst) < 0
                && timer.signal.load(SeqCst) == SIGALRM
        })
        .or_else(|| {
            let timer = is_made.then(|| page.take_timer(own_slot(), process)).flatten()?;
            page.timers[timer].signal.store(SIGALRM, SeqCst);
            Some(timer)
        })
}

/// Sets the process's alarm; returns the time that was left, and the period.
fn set_alarm(first: u64, period: u64) -> (u64, u64) {
    let Some(timer) = alarm_of_process(first != 0) else { return (0, 0) };
    let page = page();
    let before = page.time_left(timer);
    page.arm_timer(timer, if first == 0 { NEVER } else { deadline_after(first) }, period);
    before
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    set_alarm(u64::from(seconds) * 1_000_000_000, 0).0.div_ceil(1_000_000_000) as c_uint
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn ualarm(first: c_uint, period: c_uint) -> c_uint {
    (set_alarm(u64::from(first) * 1000, u64::from(period) * 1000).0 / 1000) as c_uint
}

fn alarm_time(time: &Timeval) -> u64 {
    time.sec as u64 * 1_000_000_000 + time.usec as u64 * 1000
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn setitimer(which: c_int, new: *const Alarm, old: *mut Alarm) -> c_int {
    if which != 0 {
        return pass_on!(setitimer(which: c_int, new: *const Alarm, old: *mut Alarm) -> c_int);
    }
    // SAFETY: the caller passes an alarm, or null for none. It is copied, as the old one may have its place.
    let new = if new.is_null() { Alarm::default() } else { unsafe { new.read() } };
    let (first, period) = set_alarm(alarm_time(&new.first), alarm_time(&new.period));
    // SAFETY: the caller passes a place for the old alarm, or null.
    unsafe { put(old, Alarm { period: to_timeval(period), first: to_timeval(first) }) };
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn getitimer(which: c_int, now: *mut Alarm) -> c_int {
    if which != 0 {
        return pass_on!(getitimer(which: c_int, now: *mut Alarm) -> c_int);
    }
    let (first, period) = alarm_of_process(false).map_or((0, 0), |timer| page().time_left(timer));
    // SAFETY: the caller passes a place for the alarm.
    unsafe { *now = Alarm { period: to_timeval(period), first: to_timeval(first) } };
    0
}

/// A `sigevent`.
#[repr(C)]
pub struct Event {
    value: u64,
    signal: c_int,
    notify: c_int,
    /// The function to call, or the number of the thread that gets the signal.
    function: usize,
    attributes: usize,
}

const SEND_SIGNAL: c_int = 0;
const SEND_NOTHING: c_int = 1;
const CALL: c_int = 2;
const SEND_TO_THREAD: c_int = 4;

/// An eventfd, and a wait on it in virtual time.
struct Bell(c_int);

impl Bell {
    fn new() -> Bell {
        Bell(own_eventfd())
    }

    /// Rings since the last time; waits for one.
    fn take_rings(&self) -> u64 {
        let mut polled = [PollFd { fd: self.0, events: POLLIN, revents: 0 }];
        loop {
            if let Some(rings) = take_count(self.0) {
                return rings;
            }
            poll_until(&mut polled, NEVER, None);
        }
    }
}

/// A timer of `timer_create`, with a thread of the library that listens for its expiries.
struct Listener {
    timer: usize,
    clock: c_int,
    event: Event,
    bell: Bell,
    /// Expiries beyond the first one of the last notification.
    overrun: AtomicU64,
    is_deleted: AtomicU64,
}

#[repr(C)]
struct SignalInfo {
    signal: c_int,
    error: c_int,
    code: c_int,
    pad: c_int,
    timer: c_int,
    overrun: c_int,
    value: u64,
    rest: [u64; 12],
}

const BY_TIMER: c_int = -2;

unsafe extern "C-unwind" fn run_listener(listener: *mut c_void) -> *mut c_void {
    // SAFETY: `timer_create` passes a listener, which only this thread frees.
    let listener = unsafe { &*listener.cast::<Listener>() };
    loop {
        let expiries = listener.bell.take_rings();
        if listener.is_deleted.load(SeqCst) != 0 {
            break;
        }
        listener.overrun.store(expiries - 1, SeqCst);
        let event = &listener.event;
        let info = SignalInfo {
            signal: event.signal,
            error: 0,
            code: BY_TIMER,
            pad: 0,
            timer: 0,
            overrun: (expiries - 1) as c_int,
            value: event.value,
            rest: [0; 12],
        };
        let own = process_id() as usize;
        let signal = event.signal as usize;
        let info = &raw const info as usize;
        match event.notify {
            // SAFETY: the program has given this function, to be called with the value by a thread of the library.
            CALL => unsafe {
                core::mem::transmute::<usize, unsafe extern "C-unwind" fn(u64)>(event.function)(event.value);
            },
            SEND_TO_THREAD => {
                let thread = event.function & 0xffff_ffff;
                // SAFETY: the system reads `info`, which is as long as a `siginfo_t`.
                unsafe { call(RT_TGSIGQUEUEINFO, own, thread, signal, info, 0, 0) };
            }
            _ => {
                // SAFETY: the system reads `info`, which is as long as a `siginfo_t`.
                unsafe { call(RT_SIGQUEUEINFO, own, signal, info, 0, 0, 0) };
            }
        }
        record_wake();
    }
    close_own(listener.bell.0);
    // SAFETY: it is memory of `malloc`, and this is its last use: the program has deleted the timer.
    unsafe { free(core::ptr::from_ref(listener).cast_mut().cast()) };
    null_mut()
}

/// Timers of processor time are the C library's; its numbers are small or negative, while ours are addresses.
fn timer_listener(timer: usize) -> Option<&'static Listener> {
    const LOWEST: isize = 1 << 20;
    // SAFETY: programs pass numbers that they have got from `timer_create`, and do so until they delete the timer.
    (timer as isize > LOWEST).then(|| unsafe { &*(timer as *const Listener) })
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timer_create(clock: c_int, event: *const Event, timer: *mut usize) -> c_int {
    if clock_offset(clock).is_none() {
        return pass_on!(timer_create(clock: c_int, event: *const Event, timer: *mut usize) -> c_int);
    }
    let event = if event.is_null() {
        Event { value: 0, signal: SIGALRM as c_int, notify: SEND_SIGNAL, function: 0, attributes: 0 }
    } else {
        // SAFETY: the caller passes an event where it does not pass null.
        unsafe { event.read() }
    };
    let page = page();
    let memory = malloc(size_of::<Listener>()).cast::<Listener>();
    let taken = page.take_timer(own_slot(), process_id());
    let (Some(taken), false) = (taken, memory.is_null()) else {
        set_errno(EAGAIN);
        return -1;
    };
    let bell = Bell::new();
    page.timers[taken].bell_age.fetch_add(1, SeqCst);
    page.timers[taken].bell.store(bell.0, SeqCst);
    let notifies = event.notify != SEND_NOTHING;
    let overrun = AtomicU64::new(0);
    let is_deleted = AtomicU64::new(0);
    // SAFETY: the memory is as long as a listener.
    unsafe { memory.write(Listener { timer: taken, clock, event, bell, overrun, is_deleted }) };
    // SAFETY: `run_listener` takes a listener, which it frees itself.
    if notifies && !unsafe { start_own_thread(run_listener, memory.cast()) } {
        page.free_timer(taken);
        set_errno(EAGAIN);
        return -1;
    }
    // SAFETY: the caller passes a place for the number of the timer.
    unsafe { timer.write(memory as usize) };
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timer_settime(timer: usize, flags: c_int, new: &Setting, old: *mut Setting) -> c_int {
    let Some(ours) = timer_listener(timer) else {
        return pass_on!(timer_settime(timer: usize, flags: c_int, new: &Setting, old: *mut Setting) -> c_int);
    };
    // SAFETY: the caller passes a place for the old setting, or null.
    unsafe { put(old, timer_setting(ours.timer)) };
    match set_timer(ours.timer, ours.clock, flags, new) {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timer_gettime(timer: usize, now: *mut Setting) -> c_int {
    match timer_listener(timer) {
        // SAFETY: the caller passes a place for the setting.
        Some(ours) => unsafe { now.write(timer_setting(ours.timer)) },
        None => return pass_on!(timer_gettime(timer: usize, now: *mut Setting) -> c_int),
    }
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timer_getoverrun(timer: usize) -> c_int {
    match timer_listener(timer) {
        Some(ours) => ours.overrun.load(SeqCst) as c_int,
        None => pass_on!(timer_getoverrun(timer: usize) -> c_int),
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn timer_delete(timer: usize) -> c_int {
    let Some(ours) = timer_listener(timer) else {
        return pass_on!(timer_delete(timer: usize) -> c_int);
    };
    page().free_timer(ours.timer);
    if ours.event.notify == SEND_NOTHING {
        close_own(ours.bell.0);
        // SAFETY: it is memory of `malloc`, has no thread, and its program uses it no more.
        unsafe { free(timer as *mut c_void) };
        return 0;
    }
    // Its thread frees it.
    ours.is_deleted.store(1, SeqCst);
    add_one(ours.bell.0);
    0
}
