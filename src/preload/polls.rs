//! Threads that only poll: they wake again and again, and find that there is nothing to do.
//!
//! Each such wake costs a step of the clock. A run that knows its programs can spare them with variables of the
//! environment; without these, the functions here are those of the C library, in virtual time.
//!
//! | variable | effect |
//! | --- | --- |
//! | `HANSA_IDLE_THREADS=NAME,NAME` | threads that give themselves one of these names wait on conditions until they are signalled, without a time limit |
//! | `HANSA_SLEEP_SERIES=10x100000` | the first thread of a process sleeps 10 times in a row for 100,000 us: the first of these sleeps takes the time of all |
//! | `HANSA_NO_SYNC=1` | files need not outlive the machine, so `fsync` returns at once |

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::own::{env_variable, page, sleep_until};
use crate::sys::*;
use crate::times::deadline_after;

/// Key of a mark that idle threads have, if there are any.
static IDLE_KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: u32 = u32::MAX;

/// Length of the sleeps of the series, in us, and their number. 0 if there is none, `UNREAD` before the first sleep.
static SERIES_MICROS: AtomicU32 = AtomicU32::new(UNREAD);
static SERIES_COUNT: AtomicU32 = AtomicU32::new(0);
const UNREAD: u32 = u32::MAX;
/// Sleeps of the present series whose time has passed before they were called, and the end of the series in virtual ns.
static SERIES_LEFT: AtomicU32 = AtomicU32::new(0);
static SERIES_END: AtomicU64 = AtomicU64::new(0);

/// A variable of the environment. Programs that change their environment meanwhile break the contract of `getenv`.
fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: other threads leave the environment alone, by that contract.
    unsafe { env_variable(name) }.map(CStr::to_bytes)
}

/// True if the calling thread waits on conditions until they are signalled.
pub fn is_idle_thread() -> bool {
    let key = IDLE_KEY.load(SeqCst);
    key != NO_KEY && !pthread_getspecific(key).is_null()
}

fn mark_idle_thread() {
    if IDLE_KEY.load(SeqCst) == NO_KEY {
        let mut key = 0;
        // SAFETY: the key needs no function at the end of a thread.
        if unsafe { pthread_key_create(&mut key, None) } != 0 {
            return;
        }
        // A key of another thread that was quicker is as good.
        let _ = IDLE_KEY.compare_exchange(NO_KEY, key, SeqCst, SeqCst);
    }
    const MARK: usize = 1;
    pthread_setspecific(IDLE_KEY.load(SeqCst), MARK as *const c_void);
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    const SET_NAME: c_int = 15;
    if option == SET_NAME && a != 0 {
        // SAFETY: the caller passes a text that ends with a zero.
        let name = unsafe { CStr::from_ptr(a as *const c_char) }.to_bytes();
        let names = variable(c"HANSA_IDLE_THREADS").unwrap_or_default();
        if names.split(|byte| *byte == b',').any(|idle| idle == name) {
            mark_idle_thread();
        }
    }
    pass_on!(prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int)
}

#[cfg_attr(preloaded, unsafe(no_mangle))]
pub unsafe extern "C" fn usleep(time: c_uint) -> c_int {
    const NANOS_PER_MICRO: u64 = 1000;
    let nanos = u64::from(time) * NANOS_PER_MICRO;
    let deadline = if is_of_series(time) { series_deadline(nanos) } else { Some(deadline_after(nanos)) };
    if deadline.is_none_or(sleep_until) {
        return 0;
    }
    set_errno(EINTR);
    -1
}

fn is_of_series(micros: c_uint) -> bool {
    if SERIES_MICROS.load(SeqCst) == UNREAD {
        let series = variable(c"HANSA_SLEEP_SERIES").and_then(parse_series).unwrap_or_default();
        SERIES_COUNT.store(series.0, SeqCst);
        SERIES_MICROS.store(series.1, SeqCst);
    }
    micros > 0 && micros == SERIES_MICROS.load(SeqCst) && thread_id() == process_id()
}

/// Number and length of sleeps in a text such as `10x100000`.
fn parse_series(text: &[u8]) -> Option<(u32, u32)> {
    let (count, length) = core::str::from_utf8(text).ok()?.split_once('x')?;
    let count = count.parse().ok()?;
    let length = length.parse().ok()?;
    (count > 0).then_some((count, length))
}

/// The time until which a sleep of the series lasts. None if its time has passed in the first one.
fn series_deadline(nanos: u64) -> Option<u64> {
    let now = page().now();
    let end = SERIES_END.load(SeqCst);
    let left = SERIES_LEFT.load(SeqCst);
    // Later than this the thread has done something else meanwhile.
    if left > 0 && (end..end + nanos).contains(&now) {
        SERIES_LEFT.store(left - 1, SeqCst);
        return None;
    }
    let count = SERIES_COUNT.load(SeqCst);
    let end = deadline_after(nanos * u64::from(count));
    SERIES_LEFT.store(count - 1, SeqCst);
    SERIES_END.store(end, SeqCst);
    Some(end)
}

macro_rules! syncs {
    ($($name:ident)*) => {$(
        #[cfg_attr(preloaded, unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name(file: c_int) -> c_int {
            match variable(c"HANSA_NO_SYNC") {
                Some(b"1") => 0,
                _ => pass_on!($name(file: c_int) -> c_int),
            }
        }
    )*};
}

syncs! { fsync fdatasync }
