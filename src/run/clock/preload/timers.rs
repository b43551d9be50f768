//! Timers: each is an entry of the page. The controller writes to an eventfd, or sends a signal, when one expires.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU16, AtomicU64};

use crate::clocks::offset;
use crate::own::{after, deadline_of, me, nanoseconds, page, timespec};
use crate::processes::{Bell, on_bell};
use crate::state::{NEVER, TIMER_FREE};
use crate::sys::*;

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
/// Number of descriptors that can have timers.
const FEW: usize = 4096;

/// Entry of a timerfd, plus one, by descriptor; and its clock.
static ENTRIES: [AtomicU16; FEW] = [const { AtomicU16::new(0) }; FEW];

fn entry_of(fd: c_int) -> Option<&'static AtomicU16> {
    usize::try_from(fd).ok().and_then(|fd| ENTRIES.get(fd))
}

fn timer_of(fd: c_int) -> Option<usize> {
    (entry_of(fd)?.load(SeqCst) as usize).checked_sub(1)
}

/// Frees the timer of a descriptor that is closed.
pub fn closed(fd: c_int) {
    if let Some(timer) = timer_of(fd) {
        entry_of(fd).expect("it has a timer").store(0, SeqCst);
        let page = page();
        if page.timers[timer].process.load(SeqCst) == process() {
            page.free_timer(timer);
        }
    }
}

fn set(timer: usize, clock: c_int, flags: c_int, new: &Setting) -> c_int {
    let (Some(period), Some(first)) = (nanoseconds(&new.period), nanoseconds(&new.first)) else { return EINVAL };
    let deadline = match first {
        0 => NEVER,
        _ if flags & ABSOLUTE != 0 => deadline_of(clock, &new.first).unwrap_or(NEVER),
        _ => after(first),
    };
    page().arm(timer, deadline, period);
    0
}

fn get(timer: usize) -> Setting {
    let (first, period) = page().left(timer);
    Setting { period: timespec(period), first: timespec(first) }
}

/// An eventfd is read as a timerfd is: it counts expiries, and reading takes them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    if offset(clock).is_none() {
        set_errno(EINVAL);
        return -1;
    }
    let fd = returned(unsafe { call(EVENTFD2, 0, flags as usize, 0, 0, 0, 0) }) as c_int;
    if fd < 0 {
        return fd;
    }
    let page = page();
    let (Some(entry), Some(timer)) = (entry_of(fd), page.take_timer(me(), process())) else {
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_settime(fd: c_int, flags: c_int, new: &Setting, old: *mut Setting) -> c_int {
    let Some(timer) = timer_of(fd) else {
        set_errno(EINVAL);
        return -1;
    };
    if !old.is_null() {
        unsafe { *old = get(timer) };
    }
    // Expiries that were not read are those of the old setting.
    let mut polled = PollFd { fd, events: POLLIN, revents: 0 };
    let mut expiries = 0u64;
    if wait_for(&mut polled, 1, AT_ONCE, null_mut()) > 0 {
        unsafe { call(READ, fd as usize, &raw mut expiries as usize, 8, 0, 0, 0) };
    }
    match set(timer, page().timers[timer].signal.load(SeqCst) as c_int, flags, new) {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_gettime(fd: c_int, now: *mut Setting) -> c_int {
    let Some(timer) = timer_of(fd) else {
        set_errno(EINVAL);
        return -1;
    };
    unsafe { *now = get(timer) };
    0
}

const SIGALRM: u32 = 14;

/// The process's alarm, of which it has one, even after `exec`.
fn alarm_of_process(is_made: bool) -> Option<usize> {
    let (page, process) = (page(), process());
    let is_it = |timer: &usize| {
        let timer = &page.timers[*timer];
        timer.state.load(SeqCst) != TIMER_FREE
            && timer.process.load(SeqCst) == process
            && timer.bell.load(SeqCst) < 0
            && timer.signal.load(SeqCst) == SIGALRM
    };
    (0..page.timers_used()).find(is_it).or_else(|| {
        let timer = is_made.then(|| page.take_timer(me(), process)).flatten()?;
        page.timers[timer].signal.store(SIGALRM, SeqCst);
        Some(timer)
    })
}

/// Sets the process's alarm; returns the time that was left, and the period.
fn set_alarm(first: u64, period: u64) -> (u64, u64) {
    let Some(timer) = alarm_of_process(first != 0) else { return (0, 0) };
    let page = page();
    let before = page.left(timer);
    page.arm(timer, if first == 0 { NEVER } else { after(first) }, period);
    before
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    set_alarm(u64::from(seconds) * 1_000_000_000, 0).0.div_ceil(1_000_000_000) as c_uint
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn ualarm(first: c_uint, period: c_uint) -> c_uint {
    (set_alarm(u64::from(first) * 1000, u64::from(period) * 1000).0 / 1000) as c_uint
}

fn alarm_time(time: &Timeval) -> u64 {
    time.sec as u64 * 1_000_000_000 + time.usec as u64 * 1000
}

fn timeval(time: u64) -> Timeval {
    Timeval { sec: (time / 1_000_000_000) as i64, usec: (time % 1_000_000_000 / 1000) as i64 }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn setitimer(which: c_int, new: *const Alarm, old: *mut Alarm) -> c_int {
    if which != 0 {
        return unsafe { real!(setitimer: fn(c_int, *const Alarm, *mut Alarm) -> c_int)(which, new, old) };
    }
    let new = if new.is_null() { Alarm::default() } else { unsafe { *new } };
    let (first, period) = set_alarm(alarm_time(&new.first), alarm_time(&new.period));
    if !old.is_null() {
        unsafe { *old = Alarm { period: timeval(period), first: timeval(first) } };
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn getitimer(which: c_int, now: *mut Alarm) -> c_int {
    if which != 0 {
        return unsafe { real!(getitimer: fn(c_int, *mut Alarm) -> c_int)(which, now) };
    }
    let (first, period) = alarm_of_process(false).map_or((0, 0), |timer| page().left(timer));
    unsafe { *now = Alarm { period: timeval(period), first: timeval(first) } };
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
struct Told {
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

unsafe extern "C-unwind" fn listen(listener: *mut c_void) -> *mut c_void {
    let listener = unsafe { &*listener.cast::<Listener>() };
    loop {
        let expiries = listener.bell.heard();
        if listener.is_deleted.load(SeqCst) != 0 {
            break;
        }
        listener.overrun.store(expiries - 1, SeqCst);
        let event = &listener.event;
        let told = Told {
            signal: event.signal,
            error: 0,
            code: BY_TIMER,
            pad: 0,
            timer: 0,
            overrun: (expiries - 1) as c_int,
            value: event.value,
            rest: [0; 12],
        };
        let (own, signal, told) = (process() as usize, event.signal as usize, &raw const told as usize);
        match event.notify {
            CALL => unsafe {
                core::mem::transmute::<usize, unsafe extern "C-unwind" fn(u64)>(event.function)(event.value);
            },
            SEND_TO_THREAD => {
                let thread = event.function & 0xffff_ffff;
                unsafe { call(RT_TGSIGQUEUEINFO, own, thread, signal, told, 0, 0) };
            }
            _ => {
                unsafe { call(RT_SIGQUEUEINFO, own, signal, told, 0, 0, 0) };
            }
        }
        crate::own::stir();
    }
    crate::descriptors::disown(listener.bell.0);
    unsafe {
        call(CLOSE, listener.bell.0 as usize, 0, 0, 0, 0, 0);
        free(core::ptr::from_ref(listener).cast_mut().cast());
    }
    null_mut()
}

/// Timers of processor time are the C library's; its numbers are small or negative, while ours are addresses.
fn listener(timer: usize) -> Option<&'static Listener> {
    const LOWEST: isize = 1 << 20;
    (timer as isize > LOWEST).then(|| unsafe { &*(timer as *const Listener) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_create(clock: c_int, event: *const Event, timer: *mut usize) -> c_int {
    if offset(clock).is_none() {
        return unsafe { real!(timer_create: fn(c_int, *const Event, *mut usize) -> c_int)(clock, event, timer) };
    }
    let event = if event.is_null() {
        Event { value: 0, signal: SIGALRM as c_int, notify: SEND_SIGNAL, function: 0, attributes: 0 }
    } else {
        unsafe { event.read() }
    };
    let page = page();
    let memory = unsafe { malloc(size_of::<Listener>()) }.cast::<Listener>();
    let taken = page.take_timer(me(), process());
    let (Some(taken), false) = (taken, memory.is_null()) else {
        set_errno(EAGAIN);
        return -1;
    };
    let bell = Bell::new();
    page.timers[taken].bell_age.fetch_add(1, SeqCst);
    page.timers[taken].bell.store(bell.0, SeqCst);
    let is_heard = event.notify != SEND_NOTHING;
    let zero = || AtomicU64::new(0);
    unsafe { memory.write(Listener { timer: taken, clock, event, bell, overrun: zero(), is_deleted: zero() }) };
    if is_heard && !on_bell(listen, memory.cast()) {
        page.free_timer(taken);
        set_errno(EAGAIN);
        return -1;
    }
    unsafe { *timer = memory as usize };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_settime(timer: usize, flags: c_int, new: &Setting, old: *mut Setting) -> c_int {
    let Some(ours) = listener(timer) else {
        let real = real!(timer_settime: fn(usize, c_int, &Setting, *mut Setting) -> c_int);
        return unsafe { real(timer, flags, new, old) };
    };
    if !old.is_null() {
        unsafe { *old = get(ours.timer) };
    }
    match set(ours.timer, ours.clock, flags, new) {
        0 => 0,
        error => {
            set_errno(error);
            -1
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_gettime(timer: usize, now: *mut Setting) -> c_int {
    match listener(timer) {
        Some(ours) => unsafe { *now = get(ours.timer) },
        None => return unsafe { real!(timer_gettime: fn(usize, *mut Setting) -> c_int)(timer, now) },
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_getoverrun(timer: usize) -> c_int {
    match listener(timer) {
        Some(ours) => ours.overrun.load(SeqCst) as c_int,
        None => unsafe { real!(timer_getoverrun: fn(usize) -> c_int)(timer) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn timer_delete(timer: usize) -> c_int {
    let Some(ours) = listener(timer) else {
        return unsafe { real!(timer_delete: fn(usize) -> c_int)(timer) };
    };
    page().free_timer(ours.timer);
    if ours.event.notify == SEND_NOTHING {
        crate::descriptors::disown(ours.bell.0);
        unsafe {
            call(CLOSE, ours.bell.0 as usize, 0, 0, 0, 0, 0);
            free(timer as *mut c_void);
        }
        return 0;
    }
    // Its thread frees it.
    ours.is_deleted.store(1, SeqCst);
    let one = 1u64;
    unsafe { call(WRITE, ours.bell.0 as usize, &raw const one as usize, 8, 0, 0, 0) };
    0
}
