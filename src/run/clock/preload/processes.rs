//! Threads and processes: each child gets a slot before it exists, so that there is no moment at which it is unknown.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::Ordering::SeqCst;

use crate::descriptors::own_eventfd;
use crate::own::{
    PRELOAD, TEXTS, UNBORN, VARIABLE, after, become_thread, blocking, known_slot, me, nanoseconds, page, stir,
};
use crate::state::{BORN, IN_TURN, NEVER};
use crate::sys::*;

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Arguments of a thread that begins.
struct Beginning {
    start: Start,
    argument: *mut c_void,
    slot: usize,
}

unsafe extern "C-unwind" fn begin(beginning: *mut c_void) -> *mut c_void {
    let Beginning { start, argument, slot } = unsafe { beginning.cast::<Beginning>().read() };
    unsafe { free(beginning) };
    become_thread(slot);
    unsafe { start(argument) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let page = page();
    let Some(slot) = page.reserve(Some(me()), process()) else { return EAGAIN };
    page.slots[slot].process.store(process(), SeqCst);
    let beginning = unsafe { malloc(size_of::<Beginning>()) }.cast::<Beginning>();
    if beginning.is_null() {
        page.free(slot);
        return EAGAIN;
    }
    unsafe { beginning.write(Beginning { start, argument, slot }) };
    let create = real!(pthread_create: fn(*mut c_void, *const c_void, Start, *mut c_void) -> c_int);
    let result = unsafe { create(thread, attributes, begin, beginning.cast()) };
    if result != 0 {
        page.free(slot);
        unsafe { free(beginning.cast()) };
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_join(thread: usize, result: *mut c_void) -> c_int {
    blocking(|| unsafe { real!(pthread_join: fn(usize, *mut c_void) -> c_int)(thread, result) })
}

/// Also wakes a thread that sleeps in this library, so that it can act on it.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: usize) -> c_int {
    let result = unsafe { real!(pthread_cancel: fn(usize) -> c_int)(thread) };
    crate::own::wake_to_cancel(thread);
    result
}

/// Reserves a slot for the child, if `fork` has not done so.
pub unsafe extern "C" fn before_fork() {
    let me = me();
    if UNBORN[me].load(SeqCst) == 0
        && let Some(slot) = page().reserve(Some(me), process())
    {
        UNBORN[me].store(slot as u16 + 1, SeqCst);
    }
}

pub unsafe extern "C" fn in_child() {
    let Some(parent) = known_slot() else { return };
    match UNBORN[parent].swap(0, SeqCst) {
        0 => drop(me()),
        slot => become_thread(slot as usize - 1),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> c_int {
    let Some(reserved) = Reserved::new() else {
        set_errno(EAGAIN);
        return -1;
    };
    let me = me();
    UNBORN[me].store(reserved.slot as u16 + 1, SeqCst);
    let child = unsafe { real!(fork: fn() -> c_int)() };
    if child != 0 {
        UNBORN[me].store(0, SeqCst);
    }
    if child < 0 {
        reserved.give_back();
    }
    child
}

/// A slot that is reserved for a child, and the number of the reservation: once the child has ended, the slot may be
/// that of another one.
pub struct Reserved {
    slot: usize,
    number: u64,
}

impl Reserved {
    pub fn new() -> Option<Reserved> {
        let page = page();
        let slot = page.reserve(Some(me()), process())?;
        Some(Reserved { slot, number: page.slots[slot].key.number() })
    }

    /// Gives the slot back if no child has taken it.
    pub fn give_back(&self) {
        let (page, reserved) = (page(), &page().slots[self.slot]);
        let is_ours = page.state(self.slot) == BORN && reserved.key.number() == self.number;
        if is_ours && reserved.process.load(SeqCst) == 0 {
            page.free(self.slot);
        }
    }
}

/// A child that shared the memory of its parent would share its slot.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vfork() -> c_int {
    unsafe { fork() }
}

/// As in the C library, which would call a `fork` of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn daemon(stays: c_int, keeps: c_int) -> c_int {
    match unsafe { fork() } {
        -1 => return -1,
        0 => {}
        _ => unsafe { _exit(0) },
    }
    unsafe {
        if real!(setsid: fn() -> c_int)() < 0 {
            return -1;
        }
        if stays == 0 {
            real!(chdir: fn(*const c_char) -> c_int)(c"/".as_ptr());
        }
        if keeps == 0 {
            const READ_WRITE: usize = 2;
            let sink = call(OPENAT, -100isize as usize, c"/dev/null".as_ptr() as usize, READ_WRITE, 0, 0, 0);
            for fd in 0..3 {
                crate::descriptors::dup2(sink as c_int, fd);
            }
            if sink > 2 {
                call(CLOSE, sink as usize, 0, 0, 0, 0, 0);
            }
        }
    }
    0
}

type Texts = *const *const c_char;

/// The environment for a program that begins: the given one, or a copy that leads to this library.
struct Passed {
    given: Texts,
    copy: *mut *const c_char,
}

impl Passed {
    fn on(given: Texts) -> Passed {
        let given = if given.is_null() { (&raw const NOTHING).cast() } else { given };
        let names = [VARIABLE, PRELOAD];
        let ours: [*const c_char; 2] = [TEXTS.get(0), TEXTS.get(1)];
        let text = |at: usize| unsafe { *given.add(at) };
        let count = (0..).take_while(|&at| !text(at).is_null()).count();
        let which = |at: usize| {
            names.iter().position(|name| {
                let (text, name) = (unsafe { CStr::from_ptr(text(at)) }.to_bytes(), name.to_bytes());
                text.starts_with(name) && text.get(name.len()) == Some(&b'=')
            })
        };
        let same = |one: *const c_char, other: *const c_char| unsafe { CStr::from_ptr(one) == CStr::from_ptr(other) };
        let found = (0..count).filter(|&at| which(at).is_some_and(|which| same(text(at), ours[which]))).count();
        if found == 2 {
            return Passed { given, copy: null_mut() };
        }
        let copy = unsafe { malloc((count + 3) * size_of::<*const c_char>()) }.cast::<*const c_char>();
        if copy.is_null() {
            return Passed { given, copy };
        }
        let mut many = 0;
        let mut push = |text| {
            unsafe { *copy.add(many) = text };
            many += 1;
        };
        ours.into_iter().for_each(&mut push);
        (0..count).filter(|&at| which(at).is_none()).for_each(|at| push(text(at)));
        push(null());
        Passed { given: copy, copy }
    }
}

static NOTHING: usize = 0;

impl Drop for Passed {
    fn drop(&mut self) {
        unsafe { free(self.copy.cast()) };
    }
}

pub fn own_environment() -> Texts {
    unsafe { environ }.cast_const().cast()
}

/// True if programs that get this process's environment as it is find the clock.
pub fn passes_clock_on() -> bool {
    page();
    Passed::on(own_environment()).copy.is_null()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Texts, variables: Texts) -> c_int {
    page();
    let passed = Passed::on(variables);
    unsafe { real!(execve: fn(*const c_char, Texts, Texts) -> c_int)(path, arguments, passed.given) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    unsafe { execve(path, arguments, own_environment()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Texts, variables: Texts) -> c_int {
    page();
    let passed = Passed::on(variables);
    unsafe { real!(execvpe: fn(*const c_char, Texts, Texts) -> c_int)(file, arguments, passed.given) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Texts) -> c_int {
    unsafe { execvpe(file, arguments, own_environment()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn fexecve(fd: c_int, arguments: Texts, variables: Texts) -> c_int {
    page();
    let passed = Passed::on(variables);
    unsafe { real!(fexecve: fn(c_int, Texts, Texts) -> c_int)(fd, arguments, passed.given) }
}

macro_rules! spawns {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            child: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: Texts,
            variables: Texts,
        ) -> c_int {
            page();
            let passed = Passed::on(if variables.is_null() { own_environment() } else { variables });
            let spawn = real!($name: fn(*mut c_int, *const c_char, *const c_void, *const c_void, Texts, Texts) -> c_int);
            let mut number = 0;
            let reserved = Reserved::new();
            let result = unsafe { spawn(&mut number, path, actions, attributes, arguments, passed.given) };
            if result != 0 {
                reserved.inspect(Reserved::give_back);
            }
            if result == 0 && !child.is_null() {
                unsafe { *child = number };
            }
            result
        }
    )*};
}

spawns! { posix_spawn posix_spawnp }

macro_rules! leaves {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(code: c_int) -> ! {
            crate::own::end(me());
            unsafe { call(EXIT_GROUP, code as usize, 0, 0, 0, 0, 0) };
            loop {}
        }
    )*};
}

leaves! { _exit _Exit }

const AT_ONCE: c_int = 1;

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait4(child: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    let wait = |options| unsafe {
        real!(wait4: fn(c_int, *mut c_int, c_int, *mut c_void) -> c_int)(child, status, options, usage)
    };
    match wait(options | AT_ONCE) {
        0 if options & AT_ONCE == 0 => blocking(|| wait(options)),
        result => result,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int {
    unsafe { wait4(child, status, options, null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    unsafe { wait4(-1, status, options, usage) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn wait(status: *mut c_int) -> c_int {
    unsafe { wait4(-1, status, 0, null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn waitid(kind: c_uint, child: c_uint, told: *mut c_void, options: c_int) -> c_int {
    let wait = || unsafe { real!(waitid: fn(c_uint, c_uint, *mut c_void, c_int) -> c_int)(kind, child, told, options) };
    if options & AT_ONCE == 0 { blocking(wait) } else { wait() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pause() -> c_int {
    blocking(|| unsafe { real!(pause: fn() -> c_int)() })
}

macro_rules! await_signals {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            blocking(|| unsafe { real!($name: fn($($kind),*) -> c_int)($($argument),*) })
        }
    )*};
}

await_signals! {
    sigsuspend(mask: *const c_void);
    sigwait(set: *const c_void, signal: *mut c_int);
    sigwaitinfo(set: *const c_void, told: *mut c_void);
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigtimedwait(set: *const c_void, told: *mut c_void, limit: *const Timespec) -> c_int {
    let take = |limit: *const Timespec| unsafe {
        real!(sigtimedwait: fn(*const c_void, *mut c_void, *const Timespec) -> c_int)(set, told, limit)
    };
    if limit.is_null() {
        return blocking(|| take(limit));
    }
    let Some(deadline) = nanoseconds(unsafe { &*limit }).map(after) else {
        set_errno(EINVAL);
        return -1;
    };
    let now = Timespec::default();
    let signals = unsafe { call(SIGNALFD4, usize::MAX, set as usize, 8, 0o2000000 | 0o4000, 0, 0) };
    loop {
        let taken = take(&now);
        if taken >= 0 || errno() != EAGAIN || page().now() >= deadline || signals < 0 {
            let error = errno();
            if signals >= 0 {
                unsafe { call(CLOSE, signals as usize, 0, 0, 0, 0, 0) };
            }
            set_errno(error);
            return taken;
        }
        let mut polled = PollFd { fd: signals as c_int, events: POLLIN, revents: 0 };
        if crate::data::poll_until(&mut polled, 1, deadline, null()) < 0 {
            unsafe { call(CLOSE, signals as usize, 0, 0, 0, 0, 0) };
            set_errno(EINTR);
            return -1;
        }
    }
}

macro_rules! send_signals {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            stir();
            unsafe { real!($name: fn($($kind),*) -> c_int)($($argument),*) }
        }
    )*};
}

send_signals! {
    kill(process: c_int, signal: c_int);
    killpg(group: c_int, signal: c_int);
    tgkill(process: c_int, thread: c_int, signal: c_int);
    pthread_kill(thread: usize, signal: c_int);
    pthread_sigqueue(thread: usize, signal: c_int, value: usize);
    sigqueue(process: c_int, signal: c_int, value: usize);
}

macro_rules! leave_turns {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            page().leave_turns();
            unsafe { real!($name: fn($($kind),*) -> c_int)($($argument),*) }
        }
    )*};
}

// From then on the controller looks at each thread, wherever it runs.
leave_turns! {
    sched_setscheduler(process: c_int, policy: c_int, parameter: *const c_void);
    sched_setparam(process: c_int, parameter: *const c_void);
    pthread_setschedparam(thread: usize, policy: c_int, parameter: *const c_void);
    pthread_setschedprio(thread: usize, priority: c_int);
}

/// Answer to a request to bind a thread to some cores, while all threads share one: as of a system that gives the
/// program no other core. None if the system itself may answer.
unsafe fn bind_within_turns(size: usize, cores: *const c_void) -> Option<c_int> {
    if page().turns.load(SeqCst) != IN_TURN {
        return None;
    }
    let mut own = [0u8; 1024];
    let length = unsafe { call(SCHED_GETAFFINITY, 0, own.len(), own.as_mut_ptr() as usize, 0, 0, 0) };
    let length = usize::try_from(length).unwrap_or(0).min(size);
    let has_own = (0..length).any(|at| own[at] & unsafe { *cores.cast::<u8>().add(at) } != 0);
    Some(if has_own { 0 } else { EINVAL })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sched_setaffinity(process: c_int, size: usize, cores: *const c_void) -> c_int {
    match unsafe { bind_within_turns(size, cores) } {
        Some(error) => returned(-(error as isize)) as c_int,
        None => unsafe { real!(sched_setaffinity: fn(c_int, usize, *const c_void) -> c_int)(process, size, cores) },
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_setaffinity_np(thread: usize, size: usize, cores: *const c_void) -> c_int {
    let bind =
        || unsafe { real!(pthread_setaffinity_np: fn(usize, usize, *const c_void) -> c_int)(thread, size, cores) };
    unsafe { bind_within_turns(size, cores) }.unwrap_or_else(bind)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_attr_setaffinity_np(
    attributes: *mut c_void,
    size: usize,
    cores: *const c_void,
) -> c_int {
    let bind = || unsafe {
        real!(pthread_attr_setaffinity_np: fn(*mut c_void, usize, *const c_void) -> c_int)(attributes, size, cores)
    };
    // Without cores, a thread inherits those of its creator.
    if cores.is_null() { bind() } else { unsafe { bind_within_turns(size, cores) }.unwrap_or_else(bind) }
}

/// A thread of the library that calls back whenever an eventfd is rung, until it is rung for `LAST`.
pub fn on_bell(heard: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void, argument: *mut c_void) -> bool {
    let mut attributes = [0u64; 8];
    let (mut all, mut before) = ([u64::MAX; 16], [0u64; 16]);
    let mut thread = 0usize;
    let mask = real!(pthread_sigmask: fn(c_int, *const c_void, *mut c_void) -> c_int);
    unsafe {
        real!(pthread_attr_init: fn(*mut c_void) -> c_int)((&raw mut attributes).cast());
        real!(pthread_attr_setdetachstate: fn(*mut c_void, c_int) -> c_int)((&raw mut attributes).cast(), 1);
        mask(2, (&raw mut all).cast(), (&raw mut before).cast());
        let result = pthread_create((&raw mut thread).cast(), (&raw const attributes).cast(), heard, argument);
        mask(2, (&raw const before).cast(), null_mut());
        result == 0
    }
}

/// An eventfd, and a wait on it in virtual time.
pub struct Bell(pub c_int);

impl Bell {
    pub fn new() -> Bell {
        Bell(own_eventfd())
    }

    /// Rings since the last time; waits for one.
    pub fn heard(&self) -> u64 {
        let mut polled = PollFd { fd: self.0, events: POLLIN, revents: 0 };
        loop {
            let mut rings = 0u64;
            if unsafe { call(READ, self.0 as usize, &raw mut rings as usize, 8, 0, 0, 0) } == 8 {
                return rings;
            }
            crate::data::poll_until(&mut polled, 1, NEVER, null());
        }
    }
}
