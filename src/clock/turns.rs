//! Turns of threads on one core: which of those that are ready runs first.
//!
//! Under the system's real-time policy of turns, a thread runs until it blocks, and threads that become ready queue up.
//! Then the order of threads that wake at the same moment does not depend on the nanoseconds that each has run before,
//! and the controller, which takes turns with them, knows that all have blocked when it is back from the end of the
//! queue: it need not look at each.

use rustix::thread::sched_getaffinity;

/// The policy. A thread that does not block for a tenth of a second goes to the end of the queue.
const SCHED_RR: i32 = 2;

#[repr(C)]
struct SchedParam {
    priority: i32,
}

unsafe extern "C" {
    fn sched_setscheduler(process: i32, policy: i32, parameter: *const SchedParam) -> i32;
}

/// Makes this thread, which must be bound to one core, take turns with all threads and processes that it starts from
/// now on. An error says why the system does not permit it: that needs root, `CAP_SYS_NICE` or a limit for real-time
/// priorities.
pub fn take_turns() -> std::io::Result<()> {
    if sched_getaffinity(None)?.count() != 1 {
        return Err(std::io::Error::other("this process cannot be bound to one core"));
    }
    let lowest = SchedParam { priority: 1 };
    // SAFETY: it reads one structure of this thread's stack.
    match unsafe { sched_setscheduler(0, SCHED_RR, &lowest) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
