//! Descriptors of the library's own, which programs that close all that is open must not close.

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::SeqCst;

use crate::sys::{close_descriptor, duplicate_from, make_eventfd};

/// Number of descriptors that are looked after, from 0 on.
pub const MANY: usize = 65536;

/// A bit for each descriptor of the library.
static OWN: [AtomicU64; MANY / 64] = [const { AtomicU64::new(0) }; MANY / 64];

fn own_bit(fd: c_int) -> Option<(&'static AtomicU64, u64)> {
    let fd = usize::try_from(fd).ok().filter(|&fd| fd < MANY)?;
    Some((&OWN[fd / 64], 1 << (fd % 64)))
}

/// Forgets that a descriptor is the library's own.
pub fn disown_descriptor(fd: c_int) {
    if let Some((bits, bit)) = own_bit(fd) {
        bits.fetch_and(!bit, SeqCst);
    }
}

/// Closes a descriptor of the library's own.
pub fn close_own(fd: c_int) {
    disown_descriptor(fd);
    close_descriptor(fd);
}

pub fn is_own(fd: c_int) -> bool {
    own_bit(fd).is_some_and(|(bits, bit)| bits.load(SeqCst) & bit != 0)
}

/// Makes an eventfd of the library's own, beyond the descriptors that programs count on.
pub fn own_eventfd() -> c_int {
    const CLOEXEC_NONBLOCK: usize = 0o2000000 | 0o4000;
    let made = make_eventfd(CLOEXEC_NONBLOCK);
    if made < 0 {
        return -1;
    }
    let mut fd = made as c_int;
    for least in [700, 200] {
        let moved = duplicate_from(fd, least);
        if moved >= 0 {
            close_descriptor(fd);
            fd = moved as c_int;
            break;
        }
    }
    if let Some((bits, bit)) = own_bit(fd) {
        bits.fetch_or(bit, SeqCst);
    }
    fd
}
