//! Shells of `system` and `popen`. The C library starts them with the environment of the program, by calls that this
//! library does not see. So a program that has removed the clock from its environment has its shells started here.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::SeqCst;

use crate::own::blocking;
use crate::processes::{Reserved, environment_has_clock, own_environment, posix_spawn};
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

/// State of all shells of this process, behind a lock that is held for a few instructions.
struct Guarded {
    lock: AtomicU32,
    shells: UnsafeCell<Shells>,
}

struct Shells {
    /// Calls of `system` under way: they ignore the signals of a terminal until the last one is over.
    calls: u32,
    /// Actions of SIGINT and SIGQUIT before the first of these calls.
    on_interrupt: SignalAction,
    on_quit: SignalAction,
    /// First of the streams of `popen` whose shells were started here.
    opened: *mut OpenedShell,
}

/// A stream of `popen` whose shell was started here, in a list.
struct OpenedShell {
    stream: *mut c_void,
    fd: c_int,
    shell: c_int,
    next: *mut OpenedShell,
}

// SAFETY: only the holder of the lock has a reference to the shells, and any thread may use them.
unsafe impl Sync for Guarded {}

impl Guarded {
    /// Calls a function, which must not take the lock again.
    fn with<T>(&self, act: impl FnOnce(&mut Shells) -> T) -> T {
        while self.lock.compare_exchange(0, 1, SeqCst, SeqCst).is_err() {
            core::hint::spin_loop();
        }
        // SAFETY: this thread holds the lock until `act` has returned.
        let result = act(unsafe { &mut *self.shells.get() });
        self.lock.store(0, SeqCst);
        result
    }
}

static SHELLS: Guarded = Guarded {
    lock: AtomicU32::new(0),
    shells: UnsafeCell::new(Shells { calls: 0, on_interrupt: [0; 20], on_quit: [0; 20], opened: null_mut() }),
};

fn signal_bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Starts `sh -c command`; returns its process number, or the negative number of an error.
///
/// # Safety
/// `command` ends with a zero; `actions` and `attributes` are null or initialised.
unsafe fn start_shell(command: *const c_char, actions: *const FileActions, attributes: *const Attributes) -> c_int {
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), c"--".as_ptr(), command, null()];
    let mut shell = 0;
    let path = c"/bin/sh".as_ptr();
    // SAFETY: the caller answers for the texts, actions and attributes; the arguments end with null.
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
            // SAFETY: the system writes to the status alone.
            let result = unsafe { call(WAIT4, shell as usize, &raw mut status as usize, 0, 0, 0, 0) };
            if result != -(EINTR as isize) {
                return result;
            }
        }
    });
    if result < 0 { libc_result(result) as c_int } else { status }
}

/// Ignores the signals of a terminal while `system` runs. Returns the signals that the program does not ignore itself.
fn ignore_terminal() -> SignalSet {
    let mut ignore: SignalAction = [0; 20];
    ignore[0] = IGNORED;
    SHELLS.with(|shells| {
        shells.calls += 1;
        if shells.calls == 1 {
            // SAFETY: the actions have the size of those of the C library, or more.
            unsafe {
                sigaction(SIGINT, &ignore, &mut shells.on_interrupt);
                sigaction(SIGQUIT, &ignore, &mut shells.on_quit);
            }
        }
        let mut not_ignored: SignalSet = [0; 16];
        for (signal, before) in [(SIGINT, &shells.on_interrupt), (SIGQUIT, &shells.on_quit)] {
            not_ignored[0] |= if before[0] == IGNORED { 0 } else { signal_bit(signal) };
        }
        not_ignored
    })
}

/// Undoes `ignore_terminal` at the end of the last call.
fn heed_terminal() {
    SHELLS.with(|shells| {
        shells.calls -= 1;
        if shells.calls == 0 {
            // SAFETY: the actions are those that the C library has returned.
            unsafe {
                sigaction(SIGINT, &shells.on_interrupt, null_mut());
                sigaction(SIGQUIT, &shells.on_quit, null_mut());
            }
        }
    });
}

/// `system`, as POSIX describes it: the signals of a terminal are for the shell while it runs.
///
/// # Safety
/// `command` ends with a zero.
unsafe fn run_shell(command: *const c_char) -> c_int {
    let for_shell = ignore_terminal();
    let mut mask_before: SignalSet = [0; 16];
    let mut children: SignalSet = [0; 16];
    children[0] = signal_bit(SIGCHLD);
    let mut attributes: Attributes = [0; 64];
    // SAFETY: masks and attributes are at least as long as those of the C library; the caller answers for the command.
    let shell = unsafe {
        pthread_sigmask(SIG_BLOCK, &children, &mut mask_before);
        posix_spawnattr_init(&mut attributes);
        posix_spawnattr_setsigmask(&mut attributes, &mask_before);
        posix_spawnattr_setsigdefault(&mut attributes, &for_shell);
        posix_spawnattr_setflags(&mut attributes, SPAWN_SETSIGDEF | SPAWN_SETSIGMASK);
        let shell = start_shell(command, null(), &attributes);
        posix_spawnattr_destroy(&mut attributes);
        shell
    };
    let status = if shell < 0 { NO_SHELL } else { await_shell(shell) };
    let error = if shell < 0 { -shell } else { errno() };
    heed_terminal();
    // SAFETY: the mask is the one that the C library has returned.
    unsafe { pthread_sigmask(SIG_SETMASK, &mask_before, null_mut()) };
    set_errno(error);
    status
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    let run = || pass_on!(system(command: *const c_char) -> c_int);
    if command.is_null() {
        return run();
    }
    if !environment_has_clock() {
        // SAFETY: the caller passes a command.
        return unsafe { run_shell(command) };
    }
    // The child has a shell to load, and takes the slot when it has done so; its number is not known.
    let reserved = Reserved::new();
    let result = blocking(run);
    reserved.inspect(Reserved::release_slot);
    result
}

/// Starts a shell with one of its standard streams at the other end of a pipe. Returns the stream, or null and `errno`.
///
/// # Safety
/// `command` and `mode` end with zeros.
unsafe fn open_shell(command: *const c_char, mode: *const c_char) -> *mut c_void {
    const CLOSE_ON_EXEC: usize = 0o2000000;
    // SAFETY: the caller answers for the mode.
    let letters = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let has = |letter: u8| letters.contains(&letter);
    if has(b'r') == has(b'w') || letters.iter().any(|letter| !b"rwe".contains(letter)) {
        set_errno(EINVAL);
        return null_mut();
    }
    let opened = malloc(size_of::<OpenedShell>()).cast::<OpenedShell>();
    if opened.is_null() {
        return null_mut();
    }
    let mut ends: [c_int; 2] = [-1; 2];
    // SAFETY: the system writes the two descriptors to `ends`.
    if libc_result(unsafe { call(PIPE2, &raw mut ends as usize, CLOSE_ON_EXEC, 0, 0, 0, 0) }) < 0 {
        // SAFETY: it was allocated above, and nothing else has it.
        unsafe { free(opened.cast()) };
        return null_mut();
    }
    let [reads, writes] = ends;
    let (own, theirs, becomes) = if has(b'r') { (reads, writes, 1) } else { (writes, reads, 0) };
    // SAFETY: the caller answers for the command.
    let shell = unsafe { start_piped_shell(command, theirs, becomes) };
    close_descriptor(theirs);
    let mode = if has(b'r') { c"r" } else { c"w" };
    // SAFETY: the mode ends with a zero, and the descriptor is used by nothing else.
    let stream = if shell < 0 { null_mut() } else { unsafe { fdopen(own, mode.as_ptr()) } };
    if stream.is_null() {
        close_descriptor(own);
        // SAFETY: it was allocated above, and nothing else has it.
        unsafe { free(opened.cast()) };
        if shell < 0 {
            set_errno(-shell);
        }
        return null_mut();
    }
    if !has(b'e') {
        keep_over_exec(own);
    }
    SHELLS.with(|shells| {
        // SAFETY: the memory is as long as an opened shell.
        unsafe { opened.write(OpenedShell { stream, fd: own, shell, next: shells.opened }) };
        shells.opened = opened;
    });
    stream
}

/// Starts a shell that has a descriptor as one of its standard streams, and the pipes of no other shell.
///
/// # Safety
/// `command` ends with a zero.
unsafe fn start_piped_shell(command: *const c_char, fd: c_int, becomes: c_int) -> c_int {
    let mut actions: FileActions = [0; 16];
    // SAFETY: the actions have the size of those of the C library, or more, and are used between `init` and `destroy`;
    // the caller answers for the command, and shells in the list live until they are taken from it under the lock.
    unsafe {
        posix_spawn_file_actions_init(&mut actions);
        SHELLS.with(|shells| {
            let mut other = shells.opened;
            while !other.is_null() {
                posix_spawn_file_actions_addclose(&mut actions, (*other).fd);
                other = (*other).next;
            }
        });
        posix_spawn_file_actions_adddup2(&mut actions, fd, becomes);
        let shell = start_shell(command, &actions, null());
        posix_spawn_file_actions_destroy(&mut actions);
        shell
    }
}

/// Takes a stream from the list. None if its shell was not started here.
fn take_shell(stream: *mut c_void) -> Option<c_int> {
    SHELLS.with(|shells| {
        let mut place = &raw mut shells.opened;
        // SAFETY: `place` is the head of the list or in a shell of it, and these live until they are freed here.
        unsafe {
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
        }
        None
    })
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn popen(command: *const c_char, mode: *const c_char) -> *mut c_void {
    if !environment_has_clock() {
        // SAFETY: the caller passes a command and a mode.
        return unsafe { open_shell(command, mode) };
    }
    let reserved = Reserved::new();
    let opened = pass_on!(popen(command: *const c_char, mode: *const c_char) -> *mut c_void);
    if opened.is_null() {
        reserved.inspect(Reserved::release_slot);
    }
    opened
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn pclose(stream: *mut c_void) -> c_int {
    match take_shell(stream) {
        Some(shell) => {
            // SAFETY: the caller passes a stream that is open.
            unsafe { fclose(stream) };
            await_shell(shell)
        }
        None => blocking(|| pass_on!(pclose(stream: *mut c_void) -> c_int)),
    }
}
