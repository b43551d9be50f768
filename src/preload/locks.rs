//! Conditions, which this library implements itself so that a wait on one can end by the clock; semaphores, in the form
//! of the GNU C library; mutexes and other locks, whose waiters are marked asleep; raw futexes by way of `syscall`.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::clocks::{clock_gettime, clock_nanosleep};
use crate::own::{blocking, page, record_wake, sleep_on, sleep_until};
use crate::polls::is_idle_thread;
use crate::processes::sched_setaffinity;
use crate::state::NEVER;
use crate::sys::*;
use crate::times::{MONOTONIC, REALTIME, deadline_after, deadline_of, to_nanoseconds};

/// Fits into a `pthread_cond_t`; all zeros is one at rest.
#[repr(C)]
pub struct Condition {
    /// Rises with every signal.
    signals: AtomicU32,
    clock: AtomicU32,
    /// 1 if other processes may use it.
    is_shared: AtomicU32,
    waiters: AtomicU32,
}

impl Condition {
    fn flags(&self) -> usize {
        if self.is_shared.load(SeqCst) == 0 { PRIVATE } else { 0 }
    }

    fn wake_waiters(&self, most: usize) {
        self.signals.fetch_add(1, SeqCst);
        if self.waiters.load(SeqCst) > 0 {
            record_wake();
            futex_wake(&self.signals, most, self.flags());
        }
    }

    /// Waits until the condition is signalled, or until a deadline.
    ///
    /// # Safety
    /// `mutex` is one of the C library, and the calling thread holds it.
    unsafe fn wait(&self, mutex: *mut c_void, deadline: u64) -> c_int {
        self.waiters.fetch_add(1, SeqCst);
        let seen = self.signals.load(SeqCst);
        let error = pass_on!(pthread_mutex_unlock(mutex: *mut c_void) -> c_int);
        if error != 0 {
            self.waiters.fetch_sub(1, SeqCst);
            return error;
        }
        let mut is_late = false;
        loop {
            let (result, by_clock) = sleep_on(&self.signals, seen, self.flags(), deadline);
            let is_signalled = self.signals.load(SeqCst) != seen;
            is_late = is_late || by_clock;
            // A handler of a signal does not end the wait.
            if is_signalled || is_late || result >= 0 {
                is_late = is_late && !is_signalled;
                break;
            }
        }
        self.waiters.fetch_sub(1, SeqCst);
        // SAFETY: the caller answers for the mutex.
        let error = unsafe { pthread_mutex_lock(mutex) };
        // As POSIX requires, a thread that is cancelled in a wait has the mutex.
        pthread_testcancel();
        if error == 0 && is_late { ETIMEDOUT } else { error }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_init(condition: *mut Condition, attributes: *const c_void) -> c_int {
    let mut clock = REALTIME;
    let mut shared = 0;
    if !attributes.is_null() {
        let get_clock = real!(pthread_condattr_getclock: fn(*const c_void, *mut c_int) -> c_int);
        let get_sharing = real!(pthread_condattr_getpshared: fn(*const c_void, *mut c_int) -> c_int);
        // SAFETY: the caller passes attributes of a condition.
        unsafe {
            get_clock(attributes, &mut clock);
            get_sharing(attributes, &mut shared);
        }
    }
    let fresh = Condition {
        signals: AtomicU32::new(0),
        clock: AtomicU32::new(clock as u32),
        is_shared: AtomicU32::new(shared as u32),
        waiters: AtomicU32::new(0),
    };
    // SAFETY: the caller passes a place for a `pthread_cond_t`, which is larger.
    unsafe { condition.write(fresh) };
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_destroy(_: *mut Condition) -> c_int {
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_signal(condition: &Condition) -> c_int {
    condition.wake_waiters(1);
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: &Condition) -> c_int {
    condition.wake_waiters(i32::MAX as usize);
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_wait(condition: &Condition, mutex: *mut c_void) -> c_int {
    // SAFETY: the caller holds the mutex that it passes.
    unsafe { condition.wait(mutex, NEVER) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: &Condition,
    mutex: *mut c_void,
    end: &Timespec,
) -> c_int {
    // SAFETY: the caller holds the mutex that it passes.
    unsafe { pthread_cond_clockwait(condition, mutex, condition.clock.load(SeqCst) as c_int, end) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: &Condition,
    mutex: *mut c_void,
    clock: c_int,
    end: &Timespec,
) -> c_int {
    match deadline_of(clock, end) {
        // SAFETY: the caller holds the mutex that it passes.
        Some(_) if is_idle_thread() => unsafe { condition.wait(mutex, NEVER) },
        // SAFETY: the caller holds the mutex that it passes.
        Some(deadline) => unsafe { condition.wait(mutex, deadline) },
        None => EINVAL,
    }
}

/// Results of the functions of C11 for those of POSIX.
fn of_c11(error: c_int) -> c_int {
    match error {
        0 => 0,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn cnd_init(condition: *mut Condition) -> c_int {
    // SAFETY: the caller passes a place for a condition.
    unsafe { pthread_cond_init(condition, core::ptr::null()) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn cnd_destroy(_: *mut Condition) {}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn cnd_signal(condition: &Condition) -> c_int {
    condition.wake_waiters(1);
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn cnd_broadcast(condition: &Condition) -> c_int {
    condition.wake_waiters(i32::MAX as usize);
    0
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn cnd_wait(condition: &Condition, mutex: *mut c_void) -> c_int {
    // SAFETY: the caller holds the mutex that it passes.
    of_c11(unsafe { pthread_cond_wait(condition, mutex) })
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn cnd_timedwait(condition: &Condition, mutex: *mut c_void, end: &Timespec) -> c_int {
    // SAFETY: the caller holds the mutex that it passes.
    of_c11(unsafe { pthread_cond_clockwait(condition, mutex, REALTIME, end) })
}

/// A `sem_t` of the GNU C library on a machine of 64 bits, little end first.
#[repr(C)]
pub struct Semaphore {
    /// The value in the lower half, the number of waiters in the upper one.
    data: AtomicU64,
    /// 0 if only one process uses it.
    sharing: c_int,
}

const WAITER: u64 = 1 << 32;

impl Semaphore {
    fn try_take(&self, and_waiter: u64) -> bool {
        self.data.fetch_update(SeqCst, SeqCst, |data| (data as u32 > 0).then(|| data - 1 - and_waiter)).is_ok()
    }

    fn wait(&self, deadline: u64) -> c_int {
        if self.try_take(0) {
            return 0;
        }
        self.data.fetch_add(WAITER, SeqCst);
        // SAFETY: the lower half comes first in memory; it is as well aligned as the whole, and as long-lived.
        let word = unsafe { AtomicU32::from_ptr(self.data.as_ptr().cast()) };
        let flags = if self.sharing == 0 { PRIVATE } else { 0 };
        loop {
            if self.try_take(WAITER) {
                return 0;
            }
            let (result, is_late) = sleep_on(word, 0, flags, deadline);
            let error = if is_late { ETIMEDOUT } else { EINTR };
            pthread_testcancel();
            if is_late || result == -(EINTR as isize) {
                if self.try_take(WAITER) {
                    return 0;
                }
                self.data.fetch_sub(WAITER, SeqCst);
                set_errno(error);
                return -1;
            }
        }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: &Semaphore) -> c_int {
    semaphore.wait(NEVER)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_timedwait(semaphore: &Semaphore, end: &Timespec) -> c_int {
    // SAFETY: the caller passes a semaphore.
    unsafe { sem_clockwait(semaphore, REALTIME, end) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sem_clockwait(semaphore: &Semaphore, clock: c_int, end: &Timespec) -> c_int {
    match deadline_of(clock, end) {
        Some(deadline) => semaphore.wait(deadline),
        None if semaphore.try_take(0) => 0,
        None => {
            set_errno(EINVAL);
            -1
        }
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn sem_post(semaphore: *mut c_void) -> c_int {
    record_wake();
    pass_on!(sem_post(semaphore: *mut c_void) -> c_int)
}

macro_rules! locks {
    ($($name:ident, $attempt:ident;)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            match pass_on!($attempt(lock: *mut c_void) -> c_int) {
                EBUSY => blocking(|| pass_on!($name(lock: *mut c_void) -> c_int)),
                result => result,
            }
        }
    )*};
}

locks! {
    pthread_mutex_lock, pthread_mutex_trylock;
    pthread_rwlock_rdlock, pthread_rwlock_tryrdlock;
    pthread_rwlock_wrlock, pthread_rwlock_trywrlock;
}

/// Longest pause between two attempts to take a lock that has a deadline, in ns.
const PAUSE_NANOS_MAX: u64 = 1_000_000_000;

/// Tries to take a lock until a deadline, at growing intervals of virtual time.
fn try_until(deadline: Option<u64>, attempt: impl Fn() -> c_int) -> c_int {
    let mut pause = 1_000_000;
    loop {
        let result = attempt();
        let Some(deadline) = deadline else { return if result == EBUSY { EINVAL } else { result } };
        let now = page().now();
        match result {
            EBUSY if now >= deadline => return ETIMEDOUT,
            EBUSY => sleep_until(deadline.min(now + pause)),
            result => return result,
        };
        pause = (pause * 2).min(PAUSE_NANOS_MAX);
    }
}

macro_rules! timed_locks {
    ($($timed:ident, $clocked:ident, $attempt:ident;)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $timed(lock: *mut c_void, end: &Timespec) -> c_int {
            // SAFETY: the caller passes a lock of this kind.
            unsafe { $clocked(lock, REALTIME, end) }
        }

        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $clocked(lock: *mut c_void, clock: c_int, end: &Timespec) -> c_int {
            try_until(deadline_of(clock, end), || pass_on!($attempt(lock: *mut c_void) -> c_int))
        }
    )*};
}

timed_locks! {
    pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_trylock;
    pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock;
    pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock;
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(thread: usize, result: *mut c_void, end: &Timespec) -> c_int {
    try_until(deadline_of(REALTIME, end), || pass_on!(pthread_tryjoin_np(thread: usize, result: *mut c_void) -> c_int))
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    blocking(|| pass_on!(pthread_barrier_wait(barrier: *mut c_void) -> c_int))
}

/// System calls that programs make through the C library's `syscall`: those that wait or read a clock are made virtual.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    let number = number as usize;
    match number {
        // SAFETY: the caller passes the arguments of this system call.
        FUTEX => libc_result(unsafe { virtual_futex(a, b, c, d, e, f) }) as c_long,
        // SAFETY: the caller passes a clock and a place for the time.
        CLOCK_GETTIME => unsafe { clock_gettime(a as c_int, b as *mut Timespec).into() },
        // SAFETY: the caller passes a process, and a set with its size.
        SCHED_SETAFFINITY => unsafe { sched_setaffinity(a as c_int, b, c as _).into() },
        CLOCK_NANOSLEEP => {
            // SAFETY: the caller passes a time, and a place for the rest or null.
            let error = unsafe { clock_nanosleep(a as c_int, b as c_int, c as _, d as _) };
            libc_result(-(error as isize)) as c_long
        }
        _ => {
            if [SCHED_SETPARAM, SCHED_SETSCHEDULER, SCHED_SETATTR].contains(&number) {
                page().leave_turns();
            }
            // SAFETY: the caller passes the arguments of this system call.
            libc_result(unsafe { call(number, a, b, c, d, e, f) }) as c_long
        }
    }
}

/// A futex of the program: waits become sleeps, for as long in virtual time.
///
/// # Safety
/// As the system call demands of its arguments, and a word that is waited on can be read.
unsafe fn virtual_futex(
    word: usize,
    operation: usize,
    value: usize,
    time: usize,
    second: usize,
    third: usize,
) -> isize {
    const COMMAND: usize = 0x7f;
    const ON_REALTIME: usize = 256;
    const WAIT: usize = 0;
    const WAIT_BITSET: usize = 9;
    let command = operation & COMMAND;
    if command != WAIT && command != WAIT_BITSET {
        record_wake();
        // SAFETY: the caller answers for the arguments.
        return unsafe { call(FUTEX, word, operation, value, time, second, third) };
    }
    let time = time as *const Timespec;
    // SAFETY: the caller passes a time, or null for none.
    let deadline = match (unsafe { time.as_ref() }, command) {
        (None, _) => Some(NEVER),
        (Some(time), WAIT) => to_nanoseconds(time).map(deadline_after),
        (Some(time), _) => {
            let clock = if operation & ON_REALTIME != 0 { REALTIME } else { MONOTONIC };
            deadline_of(clock, time)
        }
    };
    let Some(deadline) = deadline else { return -(EINVAL as isize) };
    // SAFETY: the caller passes the address of a word, which is aligned and stays for as long as it is waited on.
    let word = unsafe { AtomicU32::from_ptr(word as *mut u32) };
    if word.load(SeqCst) != value as u32 {
        return -(EAGAIN as isize);
    }
    match sleep_on(word, value as u32, operation & PRIVATE, deadline) {
        (_, true) => -(ETIMEDOUT as isize),
        (result, _) if result < 0 => result,
        _ => 0,
    }
}
