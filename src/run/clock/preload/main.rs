//! The library that `hansa clock` preloads into the programs that it runs: it answers their clocks from the page that
//! they share with the controller, and turns every wait with an end into a sleep that the controller ends.
//!
//! `build.rs` compiles it, and `hansa` carries the result. It uses `core` alone: it runs inside of programs of all
//! kinds, before their own first instruction and in handlers of signals.
//!
//! | file | functions of the C library |
//! | --- | --- |
//! | `clocks.rs` | clocks, and sleeps |
//! | `data.rs` | poll, select, epoll, and calls that wait for data of one descriptor |
//! | `descriptors.rs` | close, dup and socket options, as far as they concern the others |
//! | `locks.rs` | conditions, semaphores, mutexes, raw futexes |
//! | `processes.rs` | threads, fork, exec, waiting for children, signals |
//! | `shells.rs` | system, popen |
//! | `timers.rs` | timerfd, alarm, setitimer, timer_create |

#![no_std]
#![allow(clippy::missing_safety_doc, reason = "all of them are functions of the C library, with its contracts")]
#![allow(clippy::too_many_arguments, reason = "as above")]

#[allow(dead_code, reason = "the other half is the controller's")]
mod state;
#[macro_use]
mod sys;
mod clocks;
mod data;
mod descriptors;
mod locks;
mod own;
mod processes;
mod shells;
mod timers;

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    sys::fail(&[b"internal error in the preloaded library; please report it"])
}

/// Called for frames of this library when a thread is cancelled, or left by `pthread_exit`: they have nothing to clean
/// up.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() -> core::ffi::c_int {
    const CONTINUE: core::ffi::c_int = 8;
    CONTINUE
}
