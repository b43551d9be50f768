//! State that the library keeps for descriptors of the program: limits of waiting, and timers.

use core::ffi::c_int;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU16, AtomicU64};

use crate::own::page;
use crate::sys::process_id;

/// Number of descriptors that can have limits or timers, from 0 on.
const FEW: usize = 4096;

/// Keeps a number for each of the first descriptors.
pub struct PerDescriptor<T>([T; FEW]);

impl<T> PerDescriptor<T> {
    pub fn of(&self, fd: c_int) -> Option<&T> {
        usize::try_from(fd).ok().and_then(|fd| self.0.get(fd))
    }
}

/// Time limit of receiving, in ns; 0 for none.
pub static RECEIVE_WITHIN: PerDescriptor<AtomicU64> = PerDescriptor([const { AtomicU64::new(0) }; FEW]);
/// Time limit of sending, in ns; 0 for none.
pub static SEND_WITHIN: PerDescriptor<AtomicU64> = PerDescriptor([const { AtomicU64::new(0) }; FEW]);
/// Timer of a timerfd, plus one; 0 for none.
pub static TIMERS: PerDescriptor<AtomicU16> = PerDescriptor([const { AtomicU16::new(0) }; FEW]);

/// The timer of a timerfd.
pub fn timer_of(fd: c_int) -> Option<usize> {
    (TIMERS.of(fd)?.load(SeqCst) as usize).checked_sub(1)
}

/// Forgets a descriptor that is closed; its timer is free.
pub fn forget_descriptor(fd: c_int) {
    for limits in [&RECEIVE_WITHIN, &SEND_WITHIN] {
        if let Some(limit) = limits.of(fd)
            && limit.load(SeqCst) != 0
        {
            limit.store(0, SeqCst);
        }
    }
    if let Some(timer) = timer_of(fd) {
        TIMERS.of(fd).expect("it has a timer").store(0, SeqCst);
        let page = page();
        if page.timers[timer].process.load(SeqCst) == process_id() {
            page.free_timer(timer);
        }
    }
}
