//! Shells of `system` and `popen`. The C library starts them with the environment of the program, by calls that this
//! library does not see. So a program that has removed the clock from its environment has its shells started here.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::SeqCst;

use crate::own::blocking;
use crate::processes::{Reserved, own_environment, passes_clock_on, posix_spawn};
use crate::sys::*;

/// A `sigset_t`, a `struct sigaction`, a `posix_spawnattr_t` and a `posix_spawn_file_actions_t`, with room to spare.
type SignalSet = [u64; 16];
type SignalAction = [u64; 20];
type Attributes = [u64; 64];
type FileActions = [u64; 16];

unsafe extern "C" {
    fn sigaction(signal: c_int, new: *const SignalAction, old: *mut SignalAction) -> c_int;
    fn pthread_sigmask(how: c_int, new: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn posix_spawnattr_init(attributes: *mut Attributes) -> c_int;
    fn posix_spawnattr_destroy(attributes: *mut Attributes) -> c_int;
    fn posix_spawnattr_setflags(attributes: *mut Attributes, flags: i16) -> c_int;
    fn posix_spawnattr_setsigmask(attributes: *mut Attributes, mask: *const SignalSet) -> c_int;
    fn posix_spawnattr_setsigdefault(attributes: *mut Attributes, signals: *const SignalSet) -> c_int;
    fn posix_spawn_file_actions_init(actions: *mut FileActions) -> c_int;
    fn posix_spawn_file_actions_destroy(actions: *mut FileActions) -> c_int;
    fn posix_spawn_file_actions_adddup2(actions: *mut FileActions, from: c_int, to: c_int) -> c_int;
    fn posix_spawn_file_actions_addclose(actions: *mut FileActions, fd: c_int) -> c_int;
    fn fdopen(fd: c_int, mode: *const c_char) -> *mut c_void;
    fn fclose(stream: *mut c_void) -> c_int;
}

const SIGINT: c_int = 2;
const SIGQUIT: c_int = 3;
const SIGCHLD: c_int = 17;
/// `SIG_IGN`, the first word of an action that ignores its signal.
const IGNORED: u64 = 1;
const SIG_BLOCK: c_int = 0;
const SIG_SETMASK: c_int = 2;
const SPAWN_SETSIGDEF: i16 = 4;
const SPAWN_SETSIGMASK: i16 = 8;
/// Status of a shell that has exited with 127, as `system` returns it if there is no shell.
const NO_SHELL: c_int = 127 << 8;

/// A lock that is held for a few instructions.
struct SpinLock(AtomicU32);

impl SpinLock {
    fn with<T>(&self, act: impl FnOnce() -> T) -> T {
        while self.0.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
            core::hint::spin_loop();
        }
        let result = act();
        self.0.store(0, SeqCst);
        result
    }
}

static LOCK: SpinLock = SpinLock(AtomicU32::new(0));

/// Actions of the signals of a terminal before the first call of `system`, which ignores them until the last one is
/// over. `LOCK` guards them.
static mut CALLS: u32 = 0;
static mut ON_INTERRUPT: SignalAction = [0; 20];
static mut ON_QUIT: SignalAction = [0; 20];

/// A stream of `popen` whose shell was started here. `LOCK` guards the list.
struct OpenedShell {
    stream: *mut c_void,
    fd: c_int,
    shell: c_int,
    next: *mut OpenedShell,
}

static mut OPENED: *mut OpenedShell = null_mut();

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Starts `sh -c command`; returns its process number, or the negative number of an error.
unsafe fn start_shell(command: *const c_char, actions: *const FileActions, attributes: *const Attributes) -> c_int {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), c"--".as_ptr(), command, null()];
    let mut shell = 0;
    let path = c"/bin/sh".as_ptr();
    let error = unsafe {
        posix_spawn(&mut shell, path, actions.cast(), attributes.cast(), arguments.as_ptr(), own_environment())
    };
    if error == 0 { shell } else { -error }
}

/// Waits for a child, and returns its status; -1 if it has been waited for elsewhere.
fn await_shell(shell: c_int) -> c_int {
    let mut status: c_int = 0;
    let result = blocking(|| {
        loop {
            let result = unsafe { call(WAIT4, shell as usize, &raw mut status as usize, 0, 0, 0, 0) };
            if result != -(EINTR as isize) {
                return result;
            }
        }
    });
    if result < 0 { returned(result) as c_int } else { status }
}

/// `system`, as POSIX describes it: the signals of a terminal are for the shell while it runs.
unsafe fn run_shell(command: *const c_char) -> c_int {
    let mut ignore: SignalAction = [0; 20];
    ignore[0] = IGNORED;
    let mut for_shell: SignalSet = [0; 16];
    let mut mask_before: SignalSet = [0; 16];
    let mut children: SignalSet = [0; 16];
    children[0] = bit(SIGCHLD);
    let mut attributes: Attributes = [0; 64];
    unsafe {
        LOCK.with(|| {
            CALLS += 1;
            if CALLS == 1 {
                sigaction(SIGINT, &ignore, &raw mut ON_INTERRUPT);
                sigaction(SIGQUIT, &ignore, &raw mut ON_QUIT);
            }
            for (signal, before) in [(SIGINT, &raw const ON_INTERRUPT), (SIGQUIT, &raw const ON_QUIT)] {
                for_shell[0] |= if (*before)[0] == IGNORED { 0 } else { bit(signal) };
            }
        });
        pthread_sigmask(SIG_BLOCK, &children, &mut mask_before);
        posix_spawnattr_init(&mut attributes);
        posix_spawnattr_setsigmask(&mut attributes, &mask_before);
        posix_spawnattr_setsigdefault(&mut attributes, &for_shell);
        posix_spawnattr_setflags(&mut attributes, SPAWN_SETSIGDEF | SPAWN_SETSIGMASK);
        let shell = start_shell(command, null(), &attributes);
        posix_spawnattr_destroy(&mut attributes);
        let status = if shell < 0 { NO_SHELL } else { await_shell(shell) };
        let error = if shell < 0 { -shell } else { errno() };
        LOCK.with(|| {
            CALLS -= 1;
            if CALLS == 0 {
                sigaction(SIGINT, &raw const ON_INTERRUPT, null_mut());
                sigaction(SIGQUIT, &raw const ON_QUIT, null_mut());
            }
        });
        pthread_sigmask(SIG_SETMASK, &mask_before, null_mut());
        set_errno(error);
        status
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let run = || unsafe { real!(system: fn(*const c_char) -> c_int)(command) };
    if command.is_null() {
        return run();
    }
    if !passes_clock_on() {
        return unsafe { run_shell(command) };
    }
    // The child has a shell to load, and takes the slot when it has done so; its number is not known.
    let reserved = Reserved::new();
    let result = blocking(run);
    reserved.inspect(Reserved::give_back);
    result
}

/// Starts a shell with one of its standard streams at the other end of a pipe. Returns the stream, or null and `errno`.
unsafe fn open_shell(command: *const c_char, mode: *const c_char) -> *mut c_void {
    const CLOSE_ON_EXEC: usize = 0o2000000;
    const SET_FLAGS: usize = 2;
    let letters = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let has = |letter: u8| letters.contains(&letter);
    if has(b'r') == has(b'w') || letters.iter().any(|letter| !b"rwe".contains(letter)) {
        set_errno(EINVAL);
        return null_mut();
    }
    let opened = unsafe { malloc(size_of::<OpenedShell>()) }.cast::<OpenedShell>();
    if opened.is_null() {
        return null_mut();
    }
    let mut ends: [c_int; 2] = [-1; 2];
    if returned(unsafe { call(PIPE2, &raw mut ends as usize, CLOSE_ON_EXEC, 0, 0, 0, 0) }) < 0 {
        unsafe { free(opened.cast()) };
        return null_mut();
    }
    let [reads, writes] = ends;
    let (own, theirs, becomes) = if has(b'r') { (reads, writes, 1) } else { (writes, reads, 0) };
    let close = |fd: c_int| unsafe { call(CLOSE, fd as usize, 0, 0, 0, 0, 0) };
    let mut actions: FileActions = [0; 16];
    unsafe {
        posix_spawn_file_actions_init(&mut actions);
        LOCK.with(|| {
            // A shell must not hold the pipes of others open.
            let mut other = OPENED;
            while !other.is_null() {
                posix_spawn_file_actions_addclose(&mut actions, (*other).fd);
                other = (*other).next;
            }
        });
        posix_spawn_file_actions_adddup2(&mut actions, theirs, becomes);
        let shell = start_shell(command, &actions, null());
        posix_spawn_file_actions_destroy(&mut actions);
        close(theirs);
        let stream = if shell < 0 { null_mut() } else { fdopen(own, if has(b'r') { c"r" } else { c"w" }.as_ptr()) };
        if stream.is_null() {
            close(own);
            free(opened.cast());
            if shell < 0 {
                set_errno(-shell);
            }
            return null_mut();
        }
        if !has(b'e') {
            call(FCNTL, own as usize, SET_FLAGS, 0, 0, 0, 0);
        }
        LOCK.with(|| {
            opened.write(OpenedShell { stream, fd: own, shell, next: OPENED });
            OPENED = opened;
        });
        stream
    }
}

/// Takes a stream from the list. None if its shell was not started here.
unsafe fn take_shell(stream: *mut c_void) -> Option<c_int> {
    LOCK.with(|| unsafe {
        let mut place = &raw mut OPENED;
        while !(*place).is_null() {
            let opened = *place;
            if (*opened).stream == stream {
                let shell = (*opened).shell;
                *place = (*opened).next;
                free(opened.cast());
                return Some(shell);
            }
            place = &raw mut (*opened).next;
        }
        None
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    if !passes_clock_on() {
        return unsafe { open_shell(command, mode) };
    }
    let open = || unsafe { real!(popen: fn(*const c_char, *const c_char) -> *mut c_void)(command, mode) };
    let reserved = Reserved::new();
    let opened = open();
    if opened.is_null() {
        reserved.inspect(Reserved::give_back);
    }
    opened
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn pclose(stream: *mut c_void) -> c_int {
    match unsafe { take_shell(stream) } {
        Some(shell) => {
            unsafe { fclose(stream) };
            await_shell(shell)
        }
        None => blocking(|| unsafe { real!(pclose: fn(*mut c_void) -> c_int)(stream) }),
    }
}
