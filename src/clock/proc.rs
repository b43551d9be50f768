//! Threads as `/proc` shows them.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// The states of a thread that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadState {
    Blocks,
    Runs,
    Gone,
}

/// A thread, with an open file to look at it.
///
/// The state in `stat` alone is not enough: a thread has the state of a sleeper even before it checks its condition, so
/// it may be about to return. The system shows a call in `syscall` only if the thread has left its processor, but also
/// if its wake-up is under way from another processor.
pub struct Thread {
    pub process: u32,
    pub thread: u32,
    /// `syscall`; None if the system does not let us see it.
    call: Option<File>,
}

impl Thread {
    pub fn open(process: u32, thread: u32) -> io::Result<Thread> {
        let call = match File::open(format!("/proc/{process}/task/{thread}/syscall")) {
            Ok(call) => Some(call),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => None,
            Err(error) => return Err(error),
        };
        Ok(Thread { process, thread, call })
    }

    /// True if the thread blocks. Valid for a thread that has marked its sleep and shares its processor with the
    /// caller. Costs one system call.
    pub fn is_blocked(&self) -> bool {
        let mut text = [0; 256];
        let read = self.call.as_ref().map(|call| call.read_at(&mut text, 0));
        // "running", or the number of a call, or -1 outside of one.
        matches!(read, Some(Ok(length)) if length > 0 && text[0].is_ascii_digit())
    }

    /// The state, and the system call in which the thread blocks, if the system tells.
    pub fn state(&self) -> (ThreadState, Option<Call>) {
        let mut text = [0; 256];
        let read = self.call.as_ref().map(|call| call.read_at(&mut text, 0));
        let Some(Ok(length)) = read else { return (self.stat_state(), None) };
        match std::str::from_utf8(&text[..length]).ok().and_then(Call::parse_syscall) {
            // A thread that waits for a disk is in a call, too, but goes on by itself.
            Some(call) => (self.stat_state(), Some(call)),
            // It runs, is stopped, or waits for a page of memory; or there is no such thread.
            None => match self.stat_state() {
                ThreadState::Blocks if self.is_stopped() => (ThreadState::Blocks, None),
                ThreadState::Gone => (ThreadState::Gone, None),
                _ => (ThreadState::Runs, None),
            },
        }
    }

    /// Letter of the state; `?` if the file cannot be read now, None if there is no such thread.
    fn state_letter(&self) -> Option<u8> {
        match fs::read(format!("/proc/{}/task/{}/stat", self.process, self.thread)) {
            Ok(text) => {
                // The name in front may hold anything, so the last bracket is that of its end.
                let after_name = text.iter().rposition(|&letter| letter == b')')?;
                text.get(after_name + 2).copied()
            }
            Err(error) => (!is_gone(&error)).then_some(b'?'),
        }
    }

    fn is_stopped(&self) -> bool {
        matches!(self.state_letter(), Some(b'T' | b't'))
    }

    fn stat_state(&self) -> ThreadState {
        match self.state_letter() {
            Some(b'S' | b'T' | b't' | b'I') => ThreadState::Blocks,
            Some(b'Z' | b'X' | b'x') | None => ThreadState::Gone,
            Some(_) => ThreadState::Runs,
        }
    }
}

/// True if an error says that there is no such process or thread.
pub fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    number: i64,
    arguments: [u64; 6],
}

#[cfg(target_arch = "x86_64")]
const TIMED: &[(i64, &str, usize, CallLimit)] = &[
    (7, "poll", 2, CallLimit::Milliseconds),
    (23, "select", 4, CallLimit::Address),
    (35, "nanosleep", 0, CallLimit::Address),
    (128, "rt_sigtimedwait", 2, CallLimit::Address),
    (202, "futex", 3, CallLimit::OfFutex),
    (208, "io_getevents", 4, CallLimit::Address),
    (220, "semtimedop", 3, CallLimit::Address),
    (230, "clock_nanosleep", 2, CallLimit::Address),
    (232, "epoll_wait", 3, CallLimit::Milliseconds),
    (243, "mq_timedreceive", 4, CallLimit::Address),
    (270, "pselect6", 4, CallLimit::Address),
    (271, "ppoll", 2, CallLimit::Address),
    (281, "epoll_pwait", 3, CallLimit::Milliseconds),
    (299, "recvmmsg", 4, CallLimit::Address),
    (441, "epoll_pwait2", 3, CallLimit::Address),
    (449, "futex_waitv", 3, CallLimit::Address),
];
#[cfg(not(target_arch = "x86_64"))]
const TIMED: &[(i64, &str, usize, CallLimit)] = &[
    (4, "io_getevents", 4, CallLimit::Address),
    (22, "epoll_pwait", 3, CallLimit::Milliseconds),
    (72, "pselect6", 4, CallLimit::Address),
    (73, "ppoll", 2, CallLimit::Address),
    (98, "futex", 3, CallLimit::OfFutex),
    (101, "nanosleep", 0, CallLimit::Address),
    (115, "clock_nanosleep", 2, CallLimit::Address),
    (137, "rt_sigtimedwait", 2, CallLimit::Address),
    (183, "mq_timedreceive", 4, CallLimit::Address),
    (192, "semtimedop", 3, CallLimit::Address),
    (243, "recvmmsg", 4, CallLimit::Address),
    (441, "epoll_pwait2", 3, CallLimit::Address),
    (449, "futex_waitv", 3, CallLimit::Address),
];

/// Form of the time limit in a system call.
#[derive(Clone, Copy, Debug)]
enum CallLimit {
    /// A number of milliseconds; negative without a limit.
    Milliseconds,
    /// The address of a `timespec`; 0 without a limit.
    Address,
    /// Like `Address`, in the system call `futex`, of which only some operations have a limit.
    OfFutex,
}

impl Call {
    fn parse_syscall(text: &str) -> Option<Call> {
        let mut words = text.split_ascii_whitespace();
        // Below zero, it waits outside of a call.
        let number = words.next()?.parse().ok().filter(|number| *number >= 0)?;
        let mut arguments = [0; 6];
        for argument in &mut arguments {
            *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        }
        Some(Call { number, arguments })
    }

    /// Name of the system call if it ends by itself after some real time.
    pub fn timed_name(&self) -> Option<&'static str> {
        let (_, name, argument, limit) = TIMED.iter().find(|(number, ..)| *number == self.number)?;
        let value = self.arguments[*argument];
        let is_timed = match limit {
            CallLimit::Milliseconds => value as i32 > 0,
            CallLimit::Address => value != 0,
            // Waiting, with or without a mask, and locking.
            CallLimit::OfFutex => value != 0 && matches!(self.arguments[1] & 0x7f, 0 | 6 | 9 | 13),
        };
        is_timed.then_some(name)
    }
}

/// Children of a process, whichever of its threads has made them.
pub fn child_processes(process: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for thread in thread_ids(process) {
        let path = format!("/proc/{process}/task/{thread}/children");
        let text = fs::read_to_string(path).unwrap_or_default();
        all.extend(text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    all
}

/// Children of a process, their children, and so on.
pub fn descendant_processes(process: u32) -> Vec<u32> {
    let mut all = child_processes(process);
    let mut at = 0;
    while let Some(&next) = all.get(at) {
        all.extend(child_processes(next));
        at += 1;
    }
    all
}

pub fn thread_ids(process: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Name of a process's program, for messages.
pub fn program_name(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    name.trim_end().to_owned()
}

/// True if a process has mapped a preloaded library; None if it is gone, or still being linked.
pub fn has_mapped(process: u32, library: &Path) -> Option<bool> {
    match fs::read_to_string(format!("/proc/{process}/maps")) {
        Ok(maps) => maps_library(&maps, library),
        // That of another user, which the system has started without the library.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Some(false),
        Err(_) => None,
    }
}

/// True if these mappings have a preloaded library. None if they cannot have it yet: a linker, which the system maps
/// with the program, maps preloaded libraries before the C library.
fn maps_library(maps: &str, library: &Path) -> Option<bool> {
    let has = |is_it: &dyn Fn(&str) -> bool| maps.lines().any(is_it);
    if library.to_str().is_some_and(|library| has(&|line| line.ends_with(library))) {
        return Some(true);
    }
    let is_linking =
        has(&|line| line.contains("/ld-")) && !has(&|line| line.contains("/libc.") || line.contains("/libc-"));
    (!maps.is_empty() && !is_linking).then_some(false)
}

/// Kills all descendants of this process, which adopts orphans, and returns how many there were.
pub fn end_descendants() -> usize {
    let own = std::process::id();
    let mut ended = 0;
    // A process may make another one while it is killed.
    for _ in 0..1000 {
        let left = descendant_processes(own);
        if left.is_empty() {
            break;
        }
        for process in left.into_iter().filter_map(process_pid) {
            let _ = kill_process(process, Signal::KILL);
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {
            ended += 1;
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    ended
}

/// Number of a process in the form that system calls take. None if no process can have it.
pub fn process_pid(process: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_being_linked_may_get_the_library_yet() {
        let maps = |files: &[&str]| -> String {
            files.iter().map(|file| format!("7f00-7f01 r-xp 00000000 08:01 42      {file}\n")).collect()
        };
        let library = Path::new("/tmp/x/libhansa_clock.so");
        let linker = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
        let libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        let has = |files: &[&str]| maps_library(&maps(files), library);
        assert_eq!(has(&[]), None);
        assert_eq!(has(&["/bin/static"]), Some(false));
        assert_eq!(has(&["/bin/sleep", linker]), None);
        assert_eq!(has(&["/bin/sleep", linker, "/tmp/x/libhansa_clock.so"]), Some(true));
        assert_eq!(has(&["/bin/sleep", linker, libc]), Some(false));
        assert_eq!(has(&["/bin/sleep", linker, "/tmp/x/libhansa_clock.so", libc]), Some(true));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn calls_with_a_time_limit_are_known() {
        let timed = |text: &str| Call::parse_syscall(text).and_then(|call| call.timed_name());
        assert_eq!(timed("7 0x7ffd 0x1 0xffffffff 0x0 0x0 0x0 0x7ff 0x7fe\n"), None);
        assert_eq!(timed("7 0x7ffd 0x1 0x1388 0x0 0x0 0x0 0x7ff 0x7fe\n"), Some("poll"));
        assert_eq!(timed("202 0x7ffd 0x80 0x0 0x0 0x0 0x0 0x7ff 0x7fe\n"), None);
        assert_eq!(timed("202 0x7ffd 0x80 0x0 0x7ffe 0x0 0x0 0x7ff 0x7fe\n"), Some("futex"));
        assert_eq!(timed("0 0x0 0x7ffe 0x1000 0x0 0x0 0x0 0x7ff 0x7fe\n"), None);
        assert_eq!(Call::parse_syscall("running\n"), None);
        assert_eq!(Call::parse_syscall("-1 0x7ffd 0x7ffe\n"), None);
    }

    #[test]
    fn a_thread_of_ours_runs_or_blocks() {
        let own = std::process::id();
        let mine = Thread::open(own, rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
        assert_eq!(mine.state().0, ThreadState::Runs);
        assert!(Thread::open(own, u32::MAX).is_err_and(|error| is_gone(&error)));
        assert!(thread_ids(own).contains(&(rustix::thread::gettid().as_raw_nonzero().get() as u32)));
        assert_eq!(has_mapped(own, Path::new("/no/such/library.so")), Some(false));
    }
}
