//! Conditions, which this library implements itself so that a wait on one can end by the clock; semaphores, in the form
//! of the GNU C library; mutexes and other locks, whose waiters are marked asleep; raw futexes by way of `syscall`.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::clocks::REALTIME;
use crate::own::{after, blocking, deadline_of, nanoseconds, page, sleep_on, sleep_until, stir};
use crate::state::NEVER;
use crate::sys::*;

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

    fn signal(&self, most: usize) {
        self.signals.fetch_add(1, SeqCst);
        if self.waiters.load(SeqCst) > 0 {
            stir();
            futex_wake(&self.signals, most, self.flags());
        }
    }

    unsafe fn wait(&self, mutex: *mut c_void, deadline: u64) -> c_int {
        self.waiters.fetch_add(1, SeqCst);
        let seen = self.signals.load(SeqCst);
        let error = unsafe { real!(pthread_mutex_unlock: fn(*mut c_void) -> c_int)(mutex) };
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
        let error = unsafe { pthread_mutex_lock(mutex) };
        // As POSIX requires, a thread that is cancelled in a wait has the mutex.
        unsafe { pthread_testcancel() };
        if error == 0 && is_late { ETIMEDOUT } else { error }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_init(condition: *mut Condition, attributes: *const c_void) -> c_int {
    let (mut clock, mut shared) = (REALTIME, 0);
    if !attributes.is_null() {
        unsafe {
            real!(pthread_condattr_getclock: fn(*const c_void, *mut c_int) -> c_int)(attributes, &mut clock);
            real!(pthread_condattr_getpshared: fn(*const c_void, *mut c_int) -> c_int)(attributes, &mut shared);
        }
    }
    let fresh = Condition {
        signals: AtomicU32::new(0),
        clock: AtomicU32::new(clock as u32),
        is_shared: AtomicU32::new(shared as u32),
        waiters: AtomicU32::new(0),
    };
    unsafe { condition.write(fresh) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_destroy(_: *mut Condition) -> c_int {
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: &Condition) -> c_int {
    condition.signal(1);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: &Condition) -> c_int {
    condition.signal(i32::MAX as usize);
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(condition: &Condition, mutex: *mut c_void) -> c_int {
    unsafe { condition.wait(mutex, NEVER) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: &Condition,
    mutex: *mut c_void,
    end: &Timespec,
) -> c_int {
    unsafe { pthread_cond_clockwait(condition, mutex, condition.clock.load(SeqCst) as c_int, end) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    condition: &Condition,
    mutex: *mut c_void,
    clock: c_int,
    end: &Timespec,
) -> c_int {
    match deadline_of(clock, end) {
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_init(condition: *mut Condition) -> c_int {
    unsafe { pthread_cond_init(condition, core::ptr::null()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_destroy(_: *mut Condition) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_signal(condition: &Condition) -> c_int {
    unsafe { pthread_cond_signal(condition) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cnd_broadcast(condition: &Condition) -> c_int {
    unsafe { pthread_cond_broadcast(condition) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_wait(condition: &Condition, mutex: *mut c_void) -> c_int {
    of_c11(unsafe { pthread_cond_wait(condition, mutex) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn cnd_timedwait(condition: &Condition, mutex: *mut c_void, end: &Timespec) -> c_int {
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
        let take = |data: u64| (data as u32 > 0).then(|| data - 1 - and_waiter);
        self.data.fetch_update(SeqCst, SeqCst, take).is_ok()
    }

    fn wait(&self, deadline: u64) -> c_int {
        if self.try_take(0) {
            return 0;
        }
        self.data.fetch_add(WAITER, SeqCst);
        // The lower half comes first in memory.
        let word = unsafe { AtomicU32::from_ptr(self.data.as_ptr().cast()) };
        let flags = if self.sharing == 0 { PRIVATE } else { 0 };
        loop {
            if self.try_take(WAITER) {
                return 0;
            }
            let (result, is_late) = sleep_on(word, 0, flags, deadline);
            let error = if is_late { ETIMEDOUT } else { EINTR };
            unsafe { pthread_testcancel() };
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

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_wait(semaphore: &Semaphore) -> c_int {
    semaphore.wait(NEVER)
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sem_timedwait(semaphore: &Semaphore, end: &Timespec) -> c_int {
    unsafe { sem_clockwait(semaphore, REALTIME, end) }
}

#[unsafe(no_mangle)]
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

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sem_post(semaphore: *mut c_void) -> c_int {
    stir();
    unsafe { real!(sem_post: fn(*mut c_void) -> c_int)(semaphore) }
}

macro_rules! locks {
    ($($name:ident, $attempt:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(lock: *mut c_void) -> c_int {
            match unsafe { real!($attempt: fn(*mut c_void) -> c_int)(lock) } {
                EBUSY => blocking(|| unsafe { real!($name: fn(*mut c_void) -> c_int)(lock) }),
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
const PAUSE: u64 = 1_000_000_000;

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
        pause = (pause * 2).min(PAUSE);
    }
}

macro_rules! timed_locks {
    ($($timed:ident, $clocked:ident, $attempt:ident;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $timed(lock: *mut c_void, end: &Timespec) -> c_int {
            unsafe { $clocked(lock, REALTIME, end) }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $clocked(lock: *mut c_void, clock: c_int, end: &Timespec) -> c_int {
            try_until(deadline_of(clock, end), || unsafe { real!($attempt: fn(*mut c_void) -> c_int)(lock) })
        }
    )*};
}

timed_locks! {
    pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_trylock;
    pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock;
    pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock;
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(thread: usize, result: *mut c_void, end: &Timespec) -> c_int {
    let join = real!(pthread_tryjoin_np: fn(usize, *mut c_void) -> c_int);
    try_until(deadline_of(REALTIME, end), || unsafe { join(thread, result) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    blocking(|| unsafe { real!(pthread_barrier_wait: fn(*mut c_void) -> c_int)(barrier) })
}

/// System calls that programs make through the C library's `syscall`: those that wait or read a clock are made virtual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    let number = number as usize;
    match number {
        FUTEX => returned(unsafe { futex(a, b, c, d, e, f) }) as c_long,
        CLOCK_GETTIME => unsafe { crate::clocks::clock_gettime(a as c_int, b as *mut Timespec).into() },
        SCHED_SETAFFINITY => unsafe { crate::processes::sched_setaffinity(a as c_int, b, c as _).into() },
        CLOCK_NANOSLEEP => {
            let error = unsafe { crate::clocks::clock_nanosleep(a as c_int, b as c_int, c as _, d as _) };
            returned(-(error as isize)) as c_long
        }
        _ => {
            if [SCHED_SETPARAM, SCHED_SETSCHEDULER, SCHED_SETATTR].contains(&number) {
                page().leave_turns();
            }
            returned(unsafe { call(number, a, b, c, d, e, f) }) as c_long
        }
    }
}

/// A futex of the program: waits become sleeps, for as long in virtual time.
unsafe fn futex(word: usize, operation: usize, value: usize, time: usize, second: usize, third: usize) -> isize {
    const COMMAND: usize = 0x7f;
    const ON_REALTIME: usize = 256;
    const WAIT: usize = 0;
    const WAIT_BITSET: usize = 9;
    let command = operation & COMMAND;
    if command != WAIT && command != WAIT_BITSET {
        stir();
        return unsafe { call(FUTEX, word, operation, value, time, second, third) };
    }
    let deadline = match (time as *const Timespec, command) {
        (time, _) if time.is_null() => Some(NEVER),
        (time, WAIT) => nanoseconds(unsafe { &*time }).map(after),
        (time, _) => {
            let clock = if operation & ON_REALTIME != 0 { REALTIME } else { crate::clocks::MONOTONIC };
            deadline_of(clock, unsafe { &*time })
        }
    };
    let Some(deadline) = deadline else { return -(EINVAL as isize) };
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
