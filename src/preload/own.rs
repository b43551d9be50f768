//! The library's own state: the page, the slot of the calling thread, and how it sleeps.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicUsize};

use crate::eventfds::close_own;
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
static UNBORN: [AtomicU16; SLOTS] = [const { AtomicU16::new(0) }; SLOTS];

/// `pthread_self` of the threads of this process, by slot.
static SELVES: [AtomicUsize; SLOTS] = [const { AtomicUsize::new(0) }; SLOTS];

/// `VARIABLE` and `PRELOAD` as this process was given them, to pass on to programs that are started without.
pub struct Texts(UnsafeCell<[[u8; 1024]; 2]>);
// SAFETY: it is written once, while the process has one thread.
unsafe impl Sync for Texts {}
pub static TEXTS: Texts = Texts(UnsafeCell::new([[0; 1024]; 2]));

impl Texts {
    pub fn get(&self, which: usize) -> &CStr {
        let texts: *const [u8; 1024] = self.0.get().cast();
        assert!(which < 2, "there are two texts");
        // SAFETY: it is one of the two texts, ends with a zero, and is not written to once the page is there.
        unsafe { CStr::from_ptr(texts.add(which).cast()) }
    }

    /// Keeps a text.
    ///
    /// # Safety
    /// The process has one thread, and no result of `get` is in use.
    unsafe fn store(&self, which: usize, name: &CStr, value: &CStr) {
        let name = name.to_bytes();
        let value = value.to_bytes();
        // SAFETY: as the caller promises, no other reference to the texts exists.
        let text = unsafe { &mut (*self.0.get())[which] };
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
        attach_page();
    }
    // SAFETY: `attach_page` has put a page there that stays mapped; all of it is atomic, for which any bytes are valid.
    unsafe { &*PAGE.load(SeqCst) }
}

const O_RDWR_CLOEXEC: usize = 2 | 0o2000000;

/// Maps the page of the clock into this process. None if the system refuses.
fn map_page(file: usize) -> Option<&'static Page> {
    const READ_WRITE: usize = 3;
    const MAP_SHARED: usize = 1;
    // SAFETY: the system chooses the address, so the mapping replaces no other one.
    let mapped = unsafe { call(MMAP, 0, size_of::<Page>(), READ_WRITE, MAP_SHARED, file, 0) };
    if (-4095..0).contains(&mapped) {
        return None;
    }
    // SAFETY: the mapping is as long as a page and never undone; all of a page is atomic: any bytes are valid.
    Some(unsafe { &*(mapped as *const Page) })
}

/// A variable of the environment.
///
/// # Safety
/// No thread changes the environment during the call, or while the result is in use.
pub unsafe fn env_variable<'a>(name: &CStr) -> Option<&'a CStr> {
    // SAFETY: the name ends with a zero, and as the caller promises, no other thread changes the environment.
    let value = unsafe { getenv(name.as_ptr()) };
    // SAFETY: texts of the environment end with a zero, and the caller does not change it.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

fn attach_page() {
    // SAFETY: this runs before `main`, while the process has one thread and the environment that `exec` has given it.
    let (path, preload) = unsafe { (env_variable(VARIABLE), env_variable(PRELOAD)) };
    let Some(path) = path else {
        fail(&[b"HANSA_CLOCK is not set, but the library is loaded: do not change LD_PRELOAD alone"]);
    };
    let text = path.to_bytes();
    let file = open_file(path, O_RDWR_CLOEXEC);
    if file < 0 {
        fail(&[b"cannot open ", text, b": the clock has ended, or its folder was removed"]);
    }
    let page = map_page(file as usize);
    close_descriptor(file as c_int);
    let Some(page) = page else { fail(&[b"cannot map ", text]) };
    if page.magic.load(SeqCst) != MAGIC {
        fail(&[text, b" is not the page of a clock of this version"]);
    }
    let mut key = 0;
    // SAFETY: the function at the end of a thread is part of this library, which is never unloaded.
    if unsafe { pthread_key_create(&mut key, Some(thread_ends)) } != 0 {
        fail(&[b"no thread-specific key is left"]);
    }
    KEY.store(key, SeqCst);
    let Some(preload) = preload else { fail(&[b"LD_PRELOAD is not set any more"]) };
    // SAFETY: the process has one thread, and the texts are read once the page is there.
    unsafe {
        TEXTS.store(0, VARIABLE, path);
        TEXTS.store(1, PRELOAD, preload);
    }
    PAGE.store(core::ptr::from_ref(page).cast_mut(), SeqCst);
    let slot = page.claim(process_id(), parent_process());
    become_thread(slot.unwrap_or_else(|| reserve_slot(page, None)));
    // SAFETY: the functions are part of this library, which is never unloaded.
    unsafe { pthread_atfork(Some(before_fork), None, Some(in_child)) };
}

/// Runs before the first instruction of the program.
pub extern "C" fn constructed() {
    page();
}

/// Runs as a destructor of this library, when the process calls `exit`: marks the thread as about to end. The C library
/// writes the process's last output afterwards.
pub extern "C" fn destructed() {
    mark_ending_slot(own_slot());
}

/// Marks a thread as about to end, and wakes the controller, which waits for that.
pub fn mark_ending_slot(slot: usize) {
    let page = page();
    page.mark_ending(slot);
    page.attention.fetch_add(1, SeqCst);
    if page.waits.load(SeqCst) == 1 {
        futex_wake(&page.attention, 1, 0);
    }
}

fn reserve_slot(page: &Page, parent: Option<usize>) -> usize {
    page.reserve(parent, process_id()).unwrap_or_else(|| fail(&[b"more than 16384 threads at a time"]))
}

/// Makes a reserved slot that of the calling thread.
pub fn become_thread(slot: usize) {
    const POLICY: isize = 0xff;
    const TAKES_TURNS: isize = 2;
    let page = page();
    if page.turns.load(SeqCst) == IN_TURN && scheduling_policy() & POLICY != TAKES_TURNS {
        page.leave_turns();
    }
    page.adopt(slot, process_id(), thread_id());
    SELVES[slot].store(pthread_self(), SeqCst);
    pthread_setspecific(KEY.load(SeqCst), (slot + 1) as *const c_void);
}

unsafe extern "C" fn thread_ends(slot: *mut c_void) {
    let slot = slot as usize - 1;
    let page = page();
    let bell = page.slots[slot].bell.swap(-1, SeqCst);
    if bell >= 0 {
        close_own(bell);
    }
    mark_ending_slot(slot);
}

/// The slot that the calling thread had at its last call; a child of `fork` still has that of its parent.
fn known_slot() -> Option<usize> {
    (pthread_getspecific(KEY.load(SeqCst)) as usize).checked_sub(1)
}

/// The slot of the calling thread. A thread that was made in a way that this library does not see gets one here.
pub fn own_slot() -> usize {
    let page = page();
    let known = known_slot();
    if let Some(slot) = known
        && page.slots[slot].process.load(SeqCst) == process_id()
    {
        return slot;
    }
    let slot = reserve_slot(page, known);
    become_thread(slot);
    slot
}

/// Reserves a slot for the child, if `fork` has not done so.
extern "C" fn before_fork() {
    let me = own_slot();
    if UNBORN[me].load(SeqCst) == 0
        && let Some(slot) = page().reserve(Some(me), process_id())
    {
        set_unborn(me, Some(slot));
    }
}

extern "C" fn in_child() {
    let Some(parent) = known_slot() else { return };
    match UNBORN[parent].swap(0, SeqCst) {
        0 => drop(own_slot()),
        slot => become_thread(slot as usize - 1),
    }
}

/// Notes the slot that is reserved for the child of a fork under way.
pub fn set_unborn(parent: usize, child: Option<usize>) {
    UNBORN[parent].store(child.map_or(0, |slot| slot as u16 + 1), SeqCst);
}

/// Wakes the controller if it has something to do.
pub fn ring_controller(page: &Page) {
    if page.all_asleep() {
        page.attention.fetch_add(1, SeqCst);
        if page.waits.load(SeqCst) == 1 {
            futex_wake(&page.attention, 1, 0);
        }
    }
}

/// Notes that a sleeper on a futex may have been woken.
pub fn record_wake() {
    page().stirred.fetch_add(1, SeqCst);
}

/// Sleeps until a virtual time, in ns since the start. False if a handler of a signal has ended the sleep.
pub fn sleep_until(deadline: u64) -> bool {
    let page = page();
    let me = own_slot();
    loop {
        let is_interrupted = sleep_once(page, me, deadline);
        pthread_testcancel();
        let is_over = page.now() >= deadline;
        if is_over || is_interrupted {
            return is_over;
        }
    }
}

/// Sleeps until a virtual time, or until another thread or a signal wakes this one. True if a signal does.
fn sleep_once(page: &Page, me: usize, deadline: u64) -> bool {
    let word = &page.slots[me].word;
    let before = page.sleep(me, deadline, ON_FUTEX);
    ring_controller(page);
    let mut result = 0;
    while word.load(SeqCst) == 0 && result != -(EINTR as isize) {
        result = futex_wait(word, 0, 0);
    }
    page.wake(me, before);
    result == -(EINTR as isize)
}

/// Virtual time that a program reads from a clock, in ns since the start.
///
/// If the clock has a charge, each reading of a thread is later than its last one, or than its birth: if no time has
/// passed since, the charge passes first. It passes like a sleep, so that threads and timers that are due earlier come
/// first, and none is passed over; a thread that is alone need not trouble the controller with that.
pub fn read_clock() -> u64 {
    let page = page();
    let charge = page.charge.load(SeqCst);
    if charge == 0 {
        return page.now();
    }
    let me = own_slot();
    let read_at = &page.slots[me].read_at;
    let begun = page.now();
    if read_at.load(SeqCst) == begun {
        let end = begun.saturating_add(charge).min(NEVER - 1);
        if !page.advance_alone(me, end) {
            let error = errno();
            while page.now() < end {
                sleep_once(page, me, end);
            }
            set_errno(error);
        }
    }
    let now = page.now();
    read_at.store(now, SeqCst);
    now
}

/// Wakes a thread of this process that is to be cancelled, so that it sees it.
pub fn wake_to_cancel(thread: usize) {
    let page = page();
    for slot in (0..page.used_slots()).filter(|&slot| SELVES[slot].load(SeqCst) == thread) {
        if page.slots[slot].process.load(SeqCst) == process_id() {
            record_wake();
            page.slots[slot].word.store(1, SeqCst);
            futex_wake(&page.slots[slot].word, 1, 0);
        }
    }
}

/// Waits on a futex of the program while it is `value`, until it is woken, until the deadline, or for a signal. True if
/// the clock has ended the wait.
pub fn sleep_on(word: &AtomicU32, value: u32, flags: usize, deadline: u64) -> (isize, bool) {
    let page = page();
    let me = own_slot();
    if deadline <= page.now() {
        // Other threads get their turn, as they do if a real deadline has passed.
        sleep_until(page.now());
        return (-(ETIMEDOUT as isize), true);
    }
    let before = page.sleep(me, deadline, ON_FUTEX);
    ring_controller(page);
    const SIZE_U32: u32 = 2;
    let own = &page.slots[me].word;
    let theirs =
        WaitV { value: value.into(), address: word.as_ptr() as u64, flags: SIZE_U32 | flags as u32, reserved: 0 };
    let own = WaitV { value: 0, address: own.as_ptr() as u64, flags: SIZE_U32, reserved: 0 };
    // SAFETY: both addresses are those of words that are borrowed here.
    let result = unsafe { futex_wait_either(&[theirs, own]) };
    let by_clock = page.wake(me, before);
    (result, by_clock && page.now() >= deadline)
}

/// Makes a call that may block until data, a child or a lock of another thread come. Its outcome and `errno` are kept.
pub fn blocking<T>(call: impl FnOnce() -> T) -> T {
    let page = page();
    let me = own_slot();
    let before = page.sleep(me, NEVER, ON_DATA);
    ring_controller(page);
    let result = call();
    let error = errno();
    page.wake(me, before);
    set_errno(error);
    result
}
