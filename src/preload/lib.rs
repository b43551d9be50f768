//! The library that `hansa clock` preloads into the programs that it runs: it answers their clocks from the page that
//! they share with the controller, and turns every wait with an end into a sleep that the controller ends.
//!
//! It is compiled twice. `build.rs` makes the shared library, with `--cfg preloaded`: only then do its functions have
//! the names of those that they replace. Cargo makes an ordinary crate, so that the code is checked, linted and
//! documented like all other code; the crate carries the shared library in [`LIBRARY`], and the page in [`state`].
//!
//! It uses `core` alone: it runs inside of programs of all kinds, before their own first instruction and in handlers of
//! signals.
//!
//! | file | functions of the C library |
//! | --- | --- |
//! | `clocks.rs` | clocks, and sleeps |
//! | `data.rs` | poll, select, epoll, and calls that wait for data of one descriptor |
//! | `descriptors.rs` | close, dup and socket options, as far as they concern the others |
//! | `locks.rs` | conditions, semaphores, mutexes, raw futexes |
//! | `polls.rs` | usleep, and calls by which threads that only poll are spared, if a run says which |
//! | `processes.rs` | threads, fork, exec, waiting for children, signals |
//! | `shells.rs` | system, popen |
//! | `timers.rs` | timerfd, alarm, setitimer, timer_create |
//! | `users.rs` | users of processes and files, and their names, if a run has its own |

#![no_std]
#![allow(clippy::missing_safety_doc, reason = "nearly all are functions of the C library, with its contracts")]
#![allow(clippy::too_many_arguments, reason = "as above")]

pub mod state;

#[cfg(preloadable)]
#[macro_use]
pub mod sys;
#[cfg(preloadable)]
pub mod by_descriptor;
#[cfg(preloadable)]
pub mod clocks;
#[cfg(preloadable)]
pub mod data;
#[cfg(preloadable)]
pub mod descriptors;
#[cfg(preloadable)]
pub mod eventfds;
#[cfg(preloaded)]
mod loaded;
#[cfg(preloadable)]
pub mod locks;
#[cfg(preloadable)]
pub mod own;
#[cfg(preloadable)]
pub mod polls;
#[cfg(preloadable)]
pub mod processes;
#[cfg(preloadable)]
pub mod shells;
#[cfg(preloadable)]
pub mod timers;
#[cfg(preloadable)]
pub mod times;
#[cfg(preloadable)]
pub mod users;

/// The shared library; empty where it cannot be built.
#[cfg(not(preloaded))]
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libhansa_clock.so"));
