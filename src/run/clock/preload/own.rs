//! The library's own state: the page, the slot of the calling thread, and how it sleeps.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize};

use crate::state::{IN_TURN, MAGIC, NEVER, ON_DATA, ON_FUTEX, Page, SLOTS};
use crate::sys::*;

/// Variable with the path of the page.
pub const VARIABLE: &CStr = c"HANSA_CLOCK";
pub const PRELOAD: &CStr = c"LD_PRELOAD";

static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// Key of the thread's slot, plus one.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);
/// Slots reserved for the children of forks under way, plus one, by slot of the thread that forks. Private memory, so
/// that a child finds the one that was reserved for it.
pub static UNBORN: [AtomicU16; SLOTS] = [const { AtomicU16::new(0) }; SLOTS];

/// `pthread_self` of the threads of this process, by slot.
static SELVES: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];

/// `VARIABLE` and `PRELOAD` as this process was given them, to pass on to programs that are started without.
pub struct Texts(UnsafeCell<[[u8; 1024]; 2]>);
// Written once, while the process has one thread.
unsafe impl Sync for Texts {}
pub static TEXTS: Texts = Texts(UnsafeCell::new([[0; 1024]; 2]));

impl Texts {
    pub fn get(&self, which: usize) -> *mut c_char {
        unsafe { (&raw mut (*self.0.get())[which]).cast() }
    }

    fn keep(&self, which: usize, name: &CStr, value: *const c_char) {
        let value = unsafe { CStr::from_ptr(value) }.to_bytes();
        let text = unsafe { &mut (*self.0.get())[which] };
        let name = name.to_bytes();
        if name.len() + value.len() + 2 > text.len() {
            fail(&[b"the path of the folder for temporary files is too long"]);
        }
        text[..name.len()].copy_from_slice(name);
        text[name.len()] = b'=';
        text[name.len() + 1..][..value.len()].copy_from_slice(value);
    }
}

/// The page; the first caller maps it.
pub fn page() -> &'static Page {
    let page = PAGE.load(SeqCst);
    if page.is_null() {
        begin();
    }
    unsafe { &*PAGE.load(SeqCst) }
}

const O_RDWR_CLOEXEC: usize = 2 | 0o2000000;
const READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;

fn begin() {
    let path = unsafe { getenv(VARIABLE.as_ptr()) };
    if path.is_null() {
        fail(&[b"HANSA_CLOCK is not set, but the library is loaded: do not change LD_PRELOAD alone"]);
    }
    let text = unsafe { CStr::from_ptr(path) }.to_bytes();
    let file = unsafe { call(OPENAT, -100isize as usize, path as usize, O_RDWR_CLOEXEC, 0, 0, 0) };
    if file < 0 {
        fail(&[b"cannot open ", text, b": the clock has ended, or its folder was removed"]);
    }
    let mapped = unsafe { call(MMAP, 0, size_of::<Page>(), READ_WRITE, MAP_SHARED, file as usize, 0) };
    unsafe { call(CLOSE, file as usize, 0, 0, 0, 0, 0) };
    if (-4095..0).contains(&mapped) {
        fail(&[b"cannot map ", text]);
    }
    let page = mapped as *mut Page;
    if unsafe { &*page }.magic.load(SeqCst) != MAGIC {
        fail(&[text, b" is not the page of a clock of this version"]);
    }
    let mut key = 0;
    if unsafe { pthread_key_create(&mut key, Some(thread_ends)) } != 0 {
        fail(&[b"no thread-specific key is left"]);
    }
    KEY.store(key, SeqCst);
    TEXTS.keep(0, VARIABLE, path);
    let preload = unsafe { getenv(PRELOAD.as_ptr()) };
    if preload.is_null() {
        fail(&[b"LD_PRELOAD is not set any more"]);
    }
    TEXTS.keep(1, PRELOAD, preload);
    PAGE.store(page, SeqCst);
    let page = unsafe { &*page };
    let slot = page.claim(process(), unsafe { call(GETPPID, 0, 0, 0, 0, 0, 0) } as u32);
    become_thread(slot.unwrap_or_else(|| reserved(page, None)));
    unsafe { pthread_atfork(Some(crate::processes::before_fork), None, Some(crate::processes::in_child)) };
}

extern "C" fn constructed() {
    page();
}

/// Marks the end of the process, as far as `exit` comes here; its last output is written after this.
extern "C" fn destructed() {
    end(me());
}

/// Marks a thread as about to end, and wakes the controller, which waits for that.
pub fn end(slot: usize) {
    let page = page();
    page.end(slot);
    page.attention.fetch_add(1, SeqCst);
    if page.waits.load(SeqCst) == 1 {
        futex_wake(&page.attention, 1, 0);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructed;
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructed;

fn reserved(page: &Page, parent: Option<usize>) -> usize {
    page.reserve(parent, process()).unwrap_or_else(|| fail(&[b"more than 16384 threads at a time"]))
}

/// Makes a reserved slot that of the calling thread.
pub fn become_thread(slot: usize) {
    const POLICY: isize = 0xff;
    const TAKES_TURNS: isize = 2;
    let page = page();
    if page.turns.load(SeqCst) == IN_TURN
        && unsafe { call(SCHED_GETSCHEDULER, 0, 0, 0, 0, 0, 0) } & POLICY != TAKES_TURNS
    {
        page.leave_turns();
    }
    page.adopt(slot, process(), thread());
    SELVES[slot].store(unsafe { pthread_self() }, SeqCst);
    unsafe { pthread_setspecific(KEY.load(SeqCst), (slot + 1) as *const c_void) };
}

unsafe extern "C" fn thread_ends(slot: *mut c_void) {
    let slot = slot as usize - 1;
    let page = page();
    let bell = page.slots[slot].bell.swap(-1, SeqCst);
    if bell >= 0 {
        crate::descriptors::disown(bell);
        unsafe { call(CLOSE, bell as usize, 0, 0, 0, 0, 0) };
    }
    end(slot);
}

/// The slot that the calling thread had at its last call; a child of `fork` still has that of its parent.
pub fn known_slot() -> Option<usize> {
    (unsafe { pthread_getspecific(KEY.load(SeqCst)) } as usize).checked_sub(1)
}

/// The slot of the calling thread. A thread that was made in a way that this library does not see gets one here.
pub fn me() -> usize {
    let page = page();
    let known = known_slot();
    if let Some(slot) = known
        && page.slots[slot].process.load(SeqCst) == process()
    {
        return slot;
    }
    let slot = reserved(page, known);
    become_thread(slot);
    slot
}

/// Wakes the controller if it has something to do.
pub fn ring(page: &Page) {
    if page.all_asleep() {
        page.attention.fetch_add(1, SeqCst);
        if page.waits.load(SeqCst) == 1 {
            futex_wake(&page.attention, 1, 0);
        }
    }
}

/// Notes that a sleeper on a futex may have been woken.
pub fn stir() {
    page().stirred.fetch_add(1, SeqCst);
}

/// Sleeps until a virtual time, in ns since the start. False if a handler of a signal has ended the sleep.
pub fn sleep_until(deadline: u64) -> bool {
    let (page, me) = (page(), me());
    let word = &page.slots[me].word;
    loop {
        let before = page.sleep(me, deadline, ON_FUTEX);
        ring(page);
        let mut result = 0;
        while word.load(SeqCst) == 0 && result != -(EINTR as isize) {
            result = futex_wait(word, 0, 0);
        }
        page.wake(me, before);
        unsafe { pthread_testcancel() };
        let is_over = page.now() >= deadline;
        if is_over || result == -(EINTR as isize) {
            return is_over;
        }
    }
}

/// Wakes a thread of this process that is to be cancelled, so that it sees it.
pub fn wake_to_cancel(thread: usize) {
    let page = page();
    for slot in (0..page.used()).filter(|&slot| SELVES[slot].load(SeqCst) == thread) {
        if page.slots[slot].process.load(SeqCst) == process() {
            stir();
            page.slots[slot].word.store(1, SeqCst);
            futex_wake(&page.slots[slot].word, 1, 0);
        }
    }
}

/// Waits on a futex of the program while it is `value`, until it is woken, until the deadline, or for a signal. True if
/// the clock has ended the wait.
pub fn sleep_on(word: &AtomicU32, value: u32, flags: usize, deadline: u64) -> (isize, bool) {
    let (page, me) = (page(), me());
    if deadline <= page.now() {
        // Other threads get their turn, as they do if a real deadline has passed.
        sleep_until(page.now());
        return (-(ETIMEDOUT as isize), true);
    }
    let before = page.sleep(me, deadline, ON_FUTEX);
    ring(page);
    const SIZE_U32: u32 = 2;
    let own = &page.slots[me].word;
    let theirs =
        WaitV { value: value.into(), address: word.as_ptr() as u64, flags: SIZE_U32 | flags as u32, reserved: 0 };
    let result =
        futex_wait_either(&[theirs, WaitV { value: 0, address: own.as_ptr() as u64, flags: SIZE_U32, reserved: 0 }]);
    let by_clock = page.wake(me, before);
    (result, by_clock && page.now() >= deadline)
}

/// Makes a call that may block until data, a child or a lock of another thread come. Its outcome and `errno` are kept.
pub fn blocking<T>(call: impl FnOnce() -> T) -> T {
    let (page, me) = (page(), me());
    let before = page.sleep(me, NEVER, ON_DATA);
    ring(page);
    let result = call();
    let error = errno();
    page.wake(me, before);
    set_errno(error);
    result
}

/// A virtual deadline after this long.
pub fn after(time: u64) -> u64 {
    page().now().saturating_add(time).min(NEVER - 1)
}

/// Nanoseconds of a valid time.
pub fn nanoseconds(time: &Timespec) -> Option<u64> {
    let is_valid = time.sec >= 0 && (0..1_000_000_000).contains(&time.nsec);
    is_valid.then(|| (time.sec as u64).saturating_mul(1_000_000_000).saturating_add(time.nsec as u64))
}

pub fn timespec(time: u64) -> Timespec {
    Timespec { sec: (time / 1_000_000_000) as i64, nsec: (time % 1_000_000_000) as i64 }
}

/// A moment of a clock of the program, as a deadline in ns since the start.
pub fn deadline_of(clock: c_int, time: &Timespec) -> Option<u64> {
    if !(0..1_000_000_000).contains(&time.nsec) {
        return None;
    }
    let offset = crate::clocks::offset(clock)?;
    Some(nanoseconds(time).map_or(0, |time| time.saturating_sub(offset)).min(NEVER - 1))
}

/// Keeps a number for each of the first descriptors.
pub struct PerDescriptor<T, const N: usize>(pub [T; N]);

impl<const N: usize> PerDescriptor<AtomicU64, N> {
    pub fn of(&self, fd: c_int) -> Option<&AtomicU64> {
        usize::try_from(fd).ok().and_then(|fd| self.0.get(fd))
    }
}
