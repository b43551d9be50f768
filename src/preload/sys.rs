//! System calls without the C library in between, as its functions are the ones that this library replaces.

use core::arch::asm;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const MMAP: usize = 9;
    pub const GETPID: usize = 39;
    pub const WAIT4: usize = 61;
    pub const FCNTL: usize = 72;
    pub const READ: usize = 0;
    pub const GETPPID: usize = 110;
    pub const GETTID: usize = 186;
    pub const FUTEX: usize = 202;
    pub const CLOCK_GETTIME: usize = 228;
    pub const CLOCK_NANOSLEEP: usize = 230;
    pub const EXIT_GROUP: usize = 231;
    pub const OPENAT: usize = 257;
    pub const PPOLL: usize = 271;
    pub const SIGNALFD4: usize = 289;
    pub const EVENTFD2: usize = 290;
    pub const PIPE2: usize = 293;
    pub const RT_SIGQUEUEINFO: usize = 129;
    pub const SCHED_SETPARAM: usize = 142;
    pub const SCHED_SETSCHEDULER: usize = 144;
    pub const SCHED_GETSCHEDULER: usize = 145;
    pub const SCHED_SETAFFINITY: usize = 203;
    pub const SCHED_GETAFFINITY: usize = 204;
    pub const SCHED_SETATTR: usize = 314;
    pub const RT_TGSIGQUEUEINFO: usize = 297;
    pub const FUTEX_WAITV: usize = 449;
}
#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const FCNTL: usize = 25;
    pub const EVENTFD2: usize = 19;
    pub const OPENAT: usize = 56;
    pub const CLOSE: usize = 57;
    pub const PIPE2: usize = 59;
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const PPOLL: usize = 73;
    pub const SIGNALFD4: usize = 74;
    pub const EXIT_GROUP: usize = 94;
    pub const FUTEX: usize = 98;
    pub const CLOCK_GETTIME: usize = 113;
    pub const CLOCK_NANOSLEEP: usize = 115;
    pub const SCHED_SETPARAM: usize = 118;
    pub const SCHED_SETSCHEDULER: usize = 119;
    pub const SCHED_GETSCHEDULER: usize = 120;
    pub const SCHED_SETAFFINITY: usize = 122;
    pub const SCHED_GETAFFINITY: usize = 123;
    pub const RT_SIGQUEUEINFO: usize = 138;
    pub const GETPID: usize = 172;
    pub const GETPPID: usize = 173;
    pub const GETTID: usize = 178;
    pub const MMAP: usize = 222;
    pub const WAIT4: usize = 260;
    pub const RT_TGSIGQUEUEINFO: usize = 240;
    pub const SCHED_SETATTR: usize = 274;
    pub const FUTEX_WAITV: usize = 449;
}
pub use numbers::*;

/// Makes a system call; returns its result, or the negative number of an error.
///
/// # Safety
/// As the system call demands of its arguments.
pub unsafe fn call(number: usize, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> isize {
    let result: isize;
    // SAFETY: the instruction changes the named registers alone, and the caller answers for the arguments.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    // SAFETY: the instruction changes the named registers alone, and the caller answers for the arguments.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => result, in("x1") b, in("x2") c, in("x3") d,
            in("x4") e, in("x5") f, options(nostack));
    }
    result
}

/// Makes one of the system calls that get numbers alone.
fn call_with_numbers(number: usize, a: usize, b: usize, c: usize) -> isize {
    debug_assert!(
        [CLOSE, EVENTFD2, EXIT_GROUP, FCNTL, GETPID, GETPPID, GETTID, SCHED_GETSCHEDULER].contains(&number),
        "a call with pointers"
    );
    // SAFETY: these system calls access no memory of the program; the commands of `FCNTL` below get numbers, too.
    unsafe { call(number, a, b, c, 0, 0, 0) }
}

pub fn process_id() -> u32 {
    call_with_numbers(GETPID, 0, 0, 0) as u32
}

pub fn parent_process() -> u32 {
    call_with_numbers(GETPPID, 0, 0, 0) as u32
}

pub fn thread_id() -> u32 {
    call_with_numbers(GETTID, 0, 0, 0) as u32
}

/// Policy of the calling thread, with its flags.
pub fn scheduling_policy() -> isize {
    call_with_numbers(SCHED_GETSCHEDULER, 0, 0, 0)
}

/// Ends all threads of the process.
pub fn exit_group(code: c_int) -> ! {
    loop {
        call_with_numbers(EXIT_GROUP, code as usize, 0, 0);
    }
}

/// Opens a file; returns its descriptor, or the negative number of an error.
pub fn open_file(path: &CStr, flags: usize) -> isize {
    const WORKING_FOLDER: isize = -100;
    // SAFETY: the system reads the path up to its zero.
    unsafe { call(OPENAT, WORKING_FOLDER as usize, path.as_ptr() as usize, flags, 0, 0, 0) }
}

/// Closes a descriptor past `close`, which looks after those of programs alone.
pub fn close_descriptor(fd: c_int) {
    call_with_numbers(CLOSE, fd as usize, 0, 0);
}

/// Makes an eventfd; returns its descriptor, or the negative number of an error.
pub fn make_eventfd(flags: usize) -> isize {
    call_with_numbers(EVENTFD2, 0, flags, 0)
}

/// Takes the count of an eventfd. None if there is none, or `fd` is no eventfd.
pub fn take_count(fd: c_int) -> Option<u64> {
    let mut count = 0u64;
    // SAFETY: the system writes 8 bytes at most, all of them to `count`.
    let length = unsafe { call(READ, fd as usize, &raw mut count as usize, size_of::<u64>(), 0, 0, 0) };
    (length == size_of::<u64>() as isize).then_some(count)
}

/// Adds one to the count of an eventfd.
pub fn add_one(fd: c_int) {
    let one = 1u64;
    // SAFETY: the system reads 8 bytes, those of `one`.
    unsafe { call(WRITE, fd as usize, &raw const one as usize, size_of::<u64>(), 0, 0, 0) };
}

/// Duplicates a descriptor to the lowest one from `least` on, which `exec` closes.
pub fn duplicate_from(fd: c_int, least: usize) -> isize {
    const DUPFD_CLOEXEC: usize = 1030;
    call_with_numbers(FCNTL, fd as usize, DUPFD_CLOEXEC, least)
}

/// Makes `exec` keep a descriptor open.
pub fn keep_over_exec(fd: c_int) {
    const SET_FLAGS: usize = 2;
    call_with_numbers(FCNTL, fd as usize, SET_FLAGS, 0);
}

/// True if calls on a descriptor return at once.
pub fn never_blocks(fd: c_int) -> bool {
    const GET_FLAGS: usize = 3;
    const NONBLOCK: isize = 0o4000;
    call_with_numbers(FCNTL, fd as usize, GET_FLAGS, 0) & NONBLOCK != 0
}

pub const EINTR: c_int = 4;
pub const EAGAIN: c_int = 11;
pub const ENOMEM: c_int = 12;
pub const EFAULT: c_int = 14;
pub const EPERM: c_int = 1;
pub const EBADF: c_int = 9;
pub const EBUSY: c_int = 16;
pub const EINVAL: c_int = 22;
pub const ETIMEDOUT: c_int = 110;

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Timespec {
    pub sec: i64,
    pub nsec: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Timeval {
    pub sec: i64,
    pub usec: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct PollFd {
    pub fd: c_int,
    pub events: i16,
    pub revents: i16,
}

pub const POLLIN: i16 = 1;
pub const POLLPRI: i16 = 2;
pub const POLLOUT: i16 = 4;
pub const POLLERR: i16 = 8;
pub const POLLHUP: i16 = 16;
pub const POLLNVAL: i16 = 32;

#[repr(C)]
pub struct WaitV {
    pub value: u64,
    pub address: u64,
    pub flags: u32,
    pub reserved: u32,
}

/// First word of a `sigset_t`, which is all that the system reads of one.
pub type SignalMask = u64;

// Safe functions accept all arguments: a key of no thread-specific data is refused, and its values are no more than
// numbers to the C library.
unsafe extern "C" {
    safe fn __errno_location() -> *mut c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn getenv(name: *const c_char) -> *mut c_char;
    pub safe fn malloc(size: usize) -> *mut c_void;
    pub fn free(memory: *mut c_void);
    pub fn pthread_key_create(key: *mut u32, end: Option<unsafe extern "C" fn(*mut c_void)>) -> c_int;
    pub safe fn pthread_getspecific(key: u32) -> *mut c_void;
    pub safe fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub fn pthread_atfork(
        before: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub safe fn pthread_self() -> usize;
    pub static mut environ: *mut *mut c_char;
}

unsafe extern "C-unwind" {
    pub safe fn pthread_testcancel();
}

pub fn errno() -> c_int {
    // SAFETY: the address is that of the calling thread's own number.
    unsafe { *__errno_location() }
}

pub fn set_errno(error: c_int) {
    // SAFETY: the address is that of the calling thread's own number.
    unsafe { *__errno_location() = error }
}

/// The result of a system call in the form of C functions: -1 and `errno`.
pub fn libc_result(result: isize) -> isize {
    if (-4095..0).contains(&result) {
        set_errno(-result as c_int);
        return -1;
    }
    result
}

/// Writes a result to the place that a program has given for it; nothing if that is null.
///
/// # Safety
/// `place` is null or valid for a write.
pub unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: the caller answers for the place.
        unsafe { place.write(value) };
    }
}

const FUTEX_WAIT: usize = 0;
const FUTEX_WAKE: usize = 1;
pub const PRIVATE: usize = 128;

/// Waits while `word` is `value`, until it is woken or a handler of a signal has run. Without an end in real time, the
/// wait would go on after most handlers, so it has one, after years.
pub fn futex_wait(word: &AtomicU32, value: u32, flags: usize) -> isize {
    let end = Timespec { sec: 1 << 32, nsec: 0 };
    let operation = FUTEX_WAIT | flags;
    // SAFETY: the system reads the word and the time, and both outlive the call.
    unsafe { call(FUTEX, word.as_ptr() as usize, operation, value as usize, &raw const end as usize, 0, 0) }
}

pub fn futex_wake(word: &AtomicU32, count: usize, flags: usize) -> isize {
    // SAFETY: the system uses the address of the word, and no memory.
    unsafe { call(FUTEX, word.as_ptr() as usize, FUTEX_WAKE | flags, count, 0, 0, 0) }
}

/// Waits for either of two futexes to be woken.
///
/// # Safety
/// The addresses are those of words that outlive the call.
pub unsafe fn futex_wait_either(waits: &[WaitV; 2]) -> isize {
    // SAFETY: the system reads the two entries, and the words, for which the caller answers.
    unsafe { call(FUTEX_WAITV, waits.as_ptr() as usize, waits.len(), 0, 0, 0, 0) }
}

/// Waits for descriptors, for a time or without end.
pub fn wait_for(fds: &mut [PollFd], time: Option<Timespec>, mask: Option<&SignalMask>) -> isize {
    let mut time = time;
    let time = time.as_mut().map_or(0, |time| &raw mut *time as usize);
    let mask = mask.map_or(0, |mask| &raw const *mask as usize);
    // SAFETY: the system writes to the entries and the time, and reads the mask; all of them outlive the call.
    unsafe { call(PPOLL, fds.as_mut_ptr() as usize, fds.len(), time, mask, size_of::<SignalMask>(), 0) }
}

pub const AT_ONCE: Option<Timespec> = Some(Timespec { sec: 0, nsec: 0 });

/// Ends the process with a message.
pub fn fail(parts: &[&[u8]]) -> ! {
    for part in [&[b"hansa clock: " as &[u8]], parts, &[b"\n"]].concat_parts() {
        // SAFETY: the system reads the bytes of the part.
        unsafe { call(WRITE, 2, part.as_ptr() as usize, part.len(), 0, 0, 0) };
    }
    exit_group(7)
}

trait Parts<'a> {
    fn concat_parts(self) -> impl Iterator<Item = &'a [u8]>;
}

impl<'a> Parts<'a> for [&'a [&'a [u8]]; 3] {
    fn concat_parts(self) -> impl Iterator<Item = &'a [u8]> {
        self.into_iter().flat_map(|parts| parts.iter().copied())
    }
}

/// A function of the libraries behind this one, looked up once.
pub struct Real {
    name: &'static CStr,
    found: AtomicUsize,
}

impl Real {
    pub const fn new(name: &'static CStr) -> Real {
        Real { name, found: AtomicUsize::new(0) }
    }

    /// The function as one of the type `F`.
    ///
    /// # Safety
    /// `F` is the type of pointers to this function.
    pub unsafe fn function<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // SAFETY: the address is that of the function, and has the size of `F`, which is its type.
        unsafe { core::mem::transmute_copy(&self.address()) }
    }

    fn address(&self) -> usize {
        const NEXT: *mut c_void = null_mut::<c_void>().wrapping_byte_sub(1);
        match self.found.load(Relaxed) {
            0 => {
                // SAFETY: the name ends with a zero.
                let found = unsafe { dlsym(NEXT, self.name.as_ptr()) } as usize;
                if found == 0 {
                    fail(&[b"the C library has no ", self.name.to_bytes()]);
                }
                self.found.store(found, Relaxed);
                found
            }
            found => found,
        }
    }
}

/// The function of this name that would be called without this library.
macro_rules! real {
    ($name:ident: fn($($kind:ty),* $(,)?) $(-> $result:ty)?) => {{
        const NAME: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!(),
        };
        static REAL: $crate::sys::Real = $crate::sys::Real::new(NAME);
        // SAFETY: the arguments and the result are those of the function's declaration in the C library.
        unsafe { REAL.function::<unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?>() }
    }};
}

/// Calls the function of this name that would be called without this library. It is for the functions that replace it,
/// with the arguments of their callers.
macro_rules! pass_on {
    ($name:ident($($argument:ident: $kind:ty),* $(,)?) $(-> $result:ty)?) => {{
        let function = real!($name: fn($($kind),*) $(-> $result)?);
        // SAFETY: the caller keeps the contract of the function, as it has called the one that replaces it.
        unsafe { function($($argument),*) }
    }};
}
