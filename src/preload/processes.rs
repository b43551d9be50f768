//! Threads and processes: each child gets a slot before it exists, so that there is no moment at which it is unknown.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::ptr::{null, null_mut};
use core::slice;
use core::sync::atomic::Ordering::SeqCst;

use crate::data::poll_until;
use crate::descriptors::dup2;
use crate::own::{
    PRELOAD, TEXTS, VARIABLE, become_thread, blocking, mark_ending_slot, own_slot, page, record_wake, set_unborn,
    wake_to_cancel,
};
use crate::state::{BORN, IN_TURN};
use crate::sys::*;
use crate::times::{deadline_after, to_nanoseconds};

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// Arguments of a thread that begins.
struct Beginning {
    start: Start,
    argument: *mut c_void,
    slot: usize,
}

unsafe extern "C-unwind" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` passes a beginning in memory of `malloc`, which this thread has to itself.
    let Beginning { start, argument, slot } = unsafe {
        let copy = beginning.cast::<Beginning>().read();
        free(beginning);
        copy
    };
    become_thread(slot);
    // SAFETY: the program has passed this argument for this function.
    unsafe { start(argument) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let page = page();
    let Some(slot) = page.reserve(Some(own_slot()), process_id()) else { return EAGAIN };
    page.slots[slot].process.store(process_id(), SeqCst);
    let beginning = malloc(size_of::<Beginning>()).cast::<Beginning>();
    if beginning.is_null() {
        page.free_slot(slot);
        return EAGAIN;
    }
    // SAFETY: the memory is as long as a beginning.
    unsafe { beginning.write(Beginning { start, argument, slot }) };
    let create = real!(pthread_create: fn(*mut c_void, *const c_void, Start, *mut c_void) -> c_int);
    // SAFETY: the caller passes a place for the thread, and attributes or null; `begin` takes this argument.
    let result = unsafe { create(thread, attributes, begin, beginning.cast()) };
    if result != 0 {
        page.free_slot(slot);
        // SAFETY: there is no thread that would read it.
        unsafe { free(beginning.cast()) };
    }
    result
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_join(thread: usize, result: *mut c_void) -> c_int {
    blocking(|| pass_on!(pthread_join(thread: usize, result: *mut c_void) -> c_int))
}

/// Also wakes a thread that sleeps in this library, so that it can act on it.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cancel(thread: usize) -> c_int {
    let result = pass_on!(pthread_cancel(thread: usize) -> c_int);
    wake_to_cancel(thread);
    result
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn fork() -> c_int {
    let Some(reserved) = Reserved::new() else {
        set_errno(EAGAIN);
        return -1;
    };
    let me = own_slot();
    set_unborn(me, Some(reserved.slot));
    let child = pass_on!(fork() -> c_int);
    if child != 0 {
        set_unborn(me, None);
    }
    if child < 0 {
        reserved.release_slot();
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
        let slot = page.reserve(Some(own_slot()), process_id())?;
        Some(Reserved { slot, number: page.slots[slot].key.number() })
    }

    /// Gives the slot back if no child has taken it.
    pub fn release_slot(&self) {
        let page = page();
        let reserved = &page.slots[self.slot];
        let is_ours = page.state(self.slot) == BORN && reserved.key.number() == self.number;
        if is_ours && reserved.process.load(SeqCst) == 0 {
            page.free_slot(self.slot);
        }
    }
}

/// A child that shared the memory of its parent would share its slot.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn vfork() -> c_int {
    // SAFETY: a child of `fork` may do all that one of `vfork` may.
    unsafe { fork() }
}

/// As in the C library, which would call a `fork` of its own.
#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn daemon(stays: c_int, keeps: c_int) -> c_int {
    // SAFETY: the caller asks for a fork; its parent ends as it would by the function of the C library.
    match unsafe { fork() } {
        -1 => return -1,
        0 => {}
        // SAFETY: `_exit` may be called at any time.
        _ => unsafe { _exit(0) },
    }
    if pass_on!(setsid() -> c_int) < 0 {
        return -1;
    }
    if stays == 0 {
        let root = c"/".as_ptr();
        pass_on!(chdir(root: *const c_char) -> c_int);
    }
    if keeps == 0 {
        const READ_WRITE: usize = 2;
        let sink = open_file(c"/dev/null", READ_WRITE) as c_int;
        for fd in 0..3 {
            // SAFETY: the caller asks for its standard streams to be replaced.
            unsafe { dup2(sink, fd) };
        }
        if sink > 2 {
            close_descriptor(sink);
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
    /// The environment `given`, with the texts by which a program finds the clock.
    ///
    /// # Safety
    /// `given` is null, or an array of texts that ends with null and does not change meanwhile.
    unsafe fn with_own_texts(given: Texts) -> Passed {
        let given = if given.is_null() { (&raw const NOTHING).cast() } else { given };
        // SAFETY: the array ends with null, as the caller promises.
        let texts = unsafe {
            let count = (0..).take_while(|&at| !(*given.add(at)).is_null()).count();
            slice::from_raw_parts(given, count)
        };
        let ours = [TEXTS.get(0), TEXTS.get(1)];
        // SAFETY: each text of an environment ends with a zero.
        let texts_given = || texts.iter().map(|text| unsafe { CStr::from_ptr(*text) });
        if texts_given().filter(|text| index_of_ours(text).is_some_and(|which| *text == ours[which])).count() == 2 {
            return Passed { given, copy: null_mut() };
        }
        let copy = malloc((texts.len() + 3) * size_of::<*const c_char>()).cast::<*const c_char>();
        if copy.is_null() {
            return Passed { given, copy };
        }
        let others = texts_given().filter(|text| index_of_ours(text).is_none());
        let passed = ours.into_iter().chain(others).map(CStr::as_ptr).chain([null()]);
        for (at, text) in passed.enumerate() {
            // SAFETY: the copy has room for all given texts, two more and the null.
            unsafe { copy.add(at).write(text) };
        }
        Passed { given: copy, copy }
    }
}

/// Index in `TEXTS` of the variable that a text of an environment sets. None if it sets another one.
fn index_of_ours(text: &CStr) -> Option<usize> {
    [VARIABLE, PRELOAD].iter().position(|name| {
        let rest = text.to_bytes().strip_prefix(name.to_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"="))
    })
}

/// An environment without a text.
static NOTHING: usize = 0;

impl Drop for Passed {
    fn drop(&mut self) {
        // SAFETY: it is null, or memory of `malloc` that nothing else has.
        unsafe { free(self.copy.cast()) };
    }
}

pub fn own_environment() -> Texts {
    // SAFETY: programs that change their environment while another thread starts one break its contract.
    unsafe { environ }.cast_const().cast()
}

/// True if programs that get this process's environment as it is find the clock.
pub fn environment_has_clock() -> bool {
    page();
    // SAFETY: an environment is an array of texts that ends with null.
    unsafe { Passed::with_own_texts(own_environment()) }.copy.is_null()
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn execve(path: *const c_char, arguments: Texts, variables: Texts) -> c_int {
    page();
    // SAFETY: the caller passes an environment, or null.
    let passed = unsafe { Passed::with_own_texts(variables) };
    let variables = passed.given;
    pass_on!(execve(path: *const c_char, arguments: Texts, variables: Texts) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn execv(path: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the caller passes a path and arguments.
    unsafe { execve(path, arguments, own_environment()) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn execvpe(file: *const c_char, arguments: Texts, variables: Texts) -> c_int {
    page();
    // SAFETY: the caller passes an environment, or null.
    let passed = unsafe { Passed::with_own_texts(variables) };
    let variables = passed.given;
    pass_on!(execvpe(file: *const c_char, arguments: Texts, variables: Texts) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: Texts) -> c_int {
    // SAFETY: the caller passes a name and arguments.
    unsafe { execvpe(file, arguments, own_environment()) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn fexecve(fd: c_int, arguments: Texts, variables: Texts) -> c_int {
    page();
    // SAFETY: the caller passes an environment, or null.
    let passed = unsafe { Passed::with_own_texts(variables) };
    let variables = passed.given;
    pass_on!(fexecve(fd: c_int, arguments: Texts, variables: Texts) -> c_int)
}

macro_rules! spawns {
    ($($name:ident)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name(
            child: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: Texts,
            variables: Texts,
        ) -> c_int {
            page();
            let variables = if variables.is_null() { own_environment() } else { variables };
            // SAFETY: the caller passes an environment, or null for its own.
            let passed = unsafe { Passed::with_own_texts(variables) };
            let variables = passed.given;
            let mut made: c_int = 0;
            let number = &raw mut made;
            let reserved = Reserved::new();
            let result = pass_on!($name(
                number: *mut c_int,
                path: *const c_char,
                actions: *const c_void,
                attributes: *const c_void,
                arguments: Texts,
                variables: Texts,
            ) -> c_int);
            if result != 0 {
                reserved.inspect(Reserved::release_slot);
            } else {
                // SAFETY: the caller passes a place for the number of the process, or null.
                unsafe { put(child, made) };
            }
            result
        }
    )*};
}

spawns! { posix_spawn posix_spawnp }

macro_rules! leaves {
    ($($name:ident)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        #[allow(non_snake_case, reason = "names of the C library")]
        pub unsafe extern "C" fn $name(code: c_int) -> ! {
            mark_ending_slot(own_slot());
            exit_group(code)
        }
    )*};
}

leaves! { _exit _Exit }

const AT_ONCE: c_int = 1;

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn wait4(child: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    let wait = |options| pass_on!(wait4(child: c_int, status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int);
    match wait(options | AT_ONCE) {
        0 if options & AT_ONCE == 0 => blocking(|| wait(options)),
        result => result,
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn waitpid(child: c_int, status: *mut c_int, options: c_int) -> c_int {
    // SAFETY: the caller passes a place for the status, or null.
    unsafe { wait4(child, status, options, null_mut()) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn wait3(status: *mut c_int, options: c_int, usage: *mut c_void) -> c_int {
    // SAFETY: the caller passes a place for the status, or null; likewise for the usage.
    unsafe { wait4(-1, status, options, usage) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn wait(status: *mut c_int) -> c_int {
    // SAFETY: the caller passes a place for the status, or null.
    unsafe { wait4(-1, status, 0, null_mut()) }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn waitid(kind: c_uint, child: c_uint, info: *mut c_void, options: c_int) -> c_int {
    let wait = || pass_on!(waitid(kind: c_uint, child: c_uint, info: *mut c_void, options: c_int) -> c_int);
    if options & AT_ONCE == 0 { blocking(wait) } else { wait() }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pause() -> c_int {
    blocking(|| pass_on!(pause() -> c_int))
}

macro_rules! await_signals {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            blocking(|| pass_on!($name($($argument: $kind),*) -> c_int))
        }
    )*};
}

await_signals! {
    sigsuspend(mask: *const c_void);
    sigwait(set: *const c_void, signal: *mut c_int);
    sigwaitinfo(set: *const c_void, info: *mut c_void);
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sigtimedwait(set: *const c_void, info: *mut c_void, limit: Option<&Timespec>) -> c_int {
    let take = |limit: Option<&Timespec>| pass_on!(sigtimedwait(set: *const c_void, info: *mut c_void, limit: Option<&Timespec>) -> c_int);
    let Some(limit) = limit else { return blocking(|| take(None)) };
    let Some(deadline) = to_nanoseconds(limit).map(deadline_after) else {
        set_errno(EINVAL);
        return -1;
    };
    const CLOEXEC_NONBLOCK: usize = 0o2000000 | 0o4000;
    // SAFETY: of the set that the caller passes, the system reads one word.
    let signals = unsafe { call(SIGNALFD4, usize::MAX, set as usize, 8, CLOEXEC_NONBLOCK, 0, 0) } as c_int;
    let now = Timespec::default();
    loop {
        let taken = take(Some(&now));
        if taken >= 0 || errno() != EAGAIN || page().now() >= deadline || signals < 0 {
            let error = errno();
            if signals >= 0 {
                close_descriptor(signals);
            }
            set_errno(error);
            return taken;
        }
        let mut polled = [PollFd { fd: signals, events: POLLIN, revents: 0 }];
        if poll_until(&mut polled, deadline, None) < 0 {
            close_descriptor(signals);
            set_errno(EINTR);
            return -1;
        }
    }
}

macro_rules! send_signals {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            record_wake();
            pass_on!($name($($argument: $kind),*) -> c_int)
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
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            page().leave_turns();
            pass_on!($name($($argument: $kind),*) -> c_int)
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
///
/// # Safety
/// `cores` has `size` bytes.
unsafe fn bind_within_turns(size: usize, cores: *const c_void) -> Option<c_int> {
    if page().turns.load(SeqCst) != IN_TURN {
        return None;
    }
    let mut own = [0u8; 1024];
    // SAFETY: the system writes to `own` as many bytes as it has at most.
    let length = unsafe { call(SCHED_GETAFFINITY, 0, own.len(), own.as_mut_ptr() as usize, 0, 0, 0) };
    let length = usize::try_from(length).unwrap_or(0).min(size);
    // SAFETY: the caller answers for the bytes of the cores, of which these are the first.
    let has_own = (0..length).any(|at| own[at] & unsafe { *cores.cast::<u8>().add(at) } != 0);
    Some(if has_own { 0 } else { EINVAL })
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn sched_setaffinity(process: c_int, size: usize, cores: *const c_void) -> c_int {
    // SAFETY: the caller passes a set of this many bytes.
    match unsafe { bind_within_turns(size, cores) } {
        Some(error) => libc_result(-(error as isize)) as c_int,
        None => pass_on!(sched_setaffinity(process: c_int, size: usize, cores: *const c_void) -> c_int),
    }
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_setaffinity_np(thread: usize, size: usize, cores: *const c_void) -> c_int {
    // SAFETY: the caller passes a set of this many bytes.
    unsafe { bind_within_turns(size, cores) }
        .unwrap_or_else(|| pass_on!(pthread_setaffinity_np(thread: usize, size: usize, cores: *const c_void) -> c_int))
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_attr_setaffinity_np(
    attributes: *mut c_void,
    size: usize,
    cores: *const c_void,
) -> c_int {
    let bind =
        || pass_on!(pthread_attr_setaffinity_np(attributes: *mut c_void, size: usize, cores: *const c_void) -> c_int);
    // Without cores, a thread inherits those of its creator.
    if cores.is_null() {
        return bind();
    }
    // SAFETY: the caller passes a set of this many bytes.
    unsafe { bind_within_turns(size, cores) }.unwrap_or_else(bind)
}

/// Starts a thread of the library, which no signal interrupts and no thread joins. True if it could be started.
///
/// # Safety
/// The function may be called with the argument, by another thread.
pub unsafe fn start_own_thread(start: Start, argument: *mut c_void) -> bool {
    const SET_MASK: c_int = 2;
    const DETACHED: c_int = 1;
    let mut attributes = [0u64; 8];
    let all = [u64::MAX; 16];
    let mut before = [0u64; 16];
    let mut thread = 0usize;
    let initialise = real!(pthread_attr_init: fn(*mut c_void) -> c_int);
    let set_state = real!(pthread_attr_setdetachstate: fn(*mut c_void, c_int) -> c_int);
    let mask = real!(pthread_sigmask: fn(c_int, *const c_void, *mut c_void) -> c_int);
    // SAFETY: attributes, masks and the thread's number are of the sizes that the C library has for them, or larger,
    // and the caller answers for the function.
    unsafe {
        initialise((&raw mut attributes).cast());
        set_state((&raw mut attributes).cast(), DETACHED);
        mask(SET_MASK, (&raw const all).cast(), (&raw mut before).cast());
        let result = pthread_create((&raw mut thread).cast(), (&raw const attributes).cast(), start, argument);
        mask(SET_MASK, (&raw const before).cast(), null_mut());
        result == 0
    }
}
