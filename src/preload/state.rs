//! The state that a stepped clock shares with the programs that it runs: one page of memory, mapped by the controller
//! and by every process. It makes no system calls.
//!
//! Every thread has a slot. A thread that is about to block marks its slot asleep, with a deadline if it has one, and
//! marks it awake when it is back. The controller moves the time only while no slot is awake, to the earliest deadline,
//! and wakes one sleeper. One compare-and-swap of the slot's state decides what ends a sleep: the controller, or data
//! that arrive. There is no lock and no counter, so that a process that is killed at any instruction leaves nothing
//! wrong behind but slots of its own, which the controller frees.

use core::sync::atomic::Ordering::SeqCst;
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64};

/// Threads at a time, of all processes together.
pub const SLOTS: usize = 16_384;
/// Armed timers at a time: timerfd, alarm, setitimer, timer_create.
pub const TIMERS: usize = 4096;
/// Generations of threads that a path tells apart; deeper ones are ordered by their birth.
pub const DEPTH: usize = 12;
/// The deadline of a thread that waits for data alone.
pub const NEVER: u64 = u64::MAX;
/// Value of `CLOCK_MONOTONIC` at the start, in ns: high enough that no program takes an age for a negative number.
pub const UPTIME_NANOS: u64 = 1_000_000 * 1_000_000_000;
/// First word of a page that is ready.
pub const MAGIC: u32 = 0x4841_4e53;

/// No thread has the slot.
pub const FREE: u8 = 0;
/// The thread blocks in a call of the library.
pub const ASLEEP: u8 = 1;
/// The controller has seen the thread block in a call that the library does not know.
pub const PRESUMED: u8 = 2;
/// The thread runs, as far as is known. States from here on hold the clock.
pub const AWAKE: u8 = 3;
/// Reserved for a thread or process that is being made.
pub const BORN: u8 = 4;
/// The thread is about to end; the slot is freed once it is gone.
pub const ENDING: u8 = 5;

/// The system may run any thread that is ready, or several at a time.
pub const NO_TURNS: u32 = 0;
/// All threads, and the controller, share one core, and each runs until it blocks.
pub const IN_TURN: u32 = 1;
/// A thread has left the core or the turns.
pub const OUT_OF_TURN: u32 = 2;

/// A sleeper that only the clock and calls of the library can wake: it waits on a futex.
pub const ON_FUTEX: u8 = 0;
/// A sleeper that waits for data in the kernel, with a bell to wake it at its deadline if it has one.
pub const ON_DATA: u8 = 1;

#[repr(C)]
pub struct Page {
    pub magic: AtomicU32,
    /// Process number of the controller.
    pub controller: AtomicU32,
    /// Virtual time since the start, in ns.
    pub now: AtomicU64,
    /// Virtual date of the start, in ns since 1970.
    pub start: AtomicU64,
    /// Virtual time that passes at a reading of a clock if none has passed since the thread's last one, in ns; 0 for
    /// none.
    pub charge: AtomicU64,
    /// Virtual time that no charge passes, in ns: the end of the clock. `NEVER` if it has none, or if it is driven.
    pub end: AtomicU64,
    /// Rises whenever a thread finds that all are asleep. The controller waits on it as a futex.
    pub attention: AtomicU32,
    /// 1 while the controller waits on `attention`.
    pub waits: AtomicU32,
    /// Rises whenever a sleeper on a futex may have been woken by another thread.
    pub stirred: AtomicU32,
    /// Rises whenever a sleep ends that the controller has not ended, and whenever a child is to be made.
    pub activity: AtomicU32,
    /// `NO_TURNS`, `IN_TURN` or `OUT_OF_TURN`.
    pub turns: AtomicU32,
    births: AtomicU64,
    /// Upper bound of the slots and timers that have ever been in use.
    high: AtomicU32,
    timers_high: AtomicU32,
    states: [AtomicU8; SLOTS],
    /// Ends of sleeps in virtual time, or `NEVER`, by slot: beside each other, as each step reads all.
    deadlines: [AtomicU64; SLOTS],
    pub slots: [Slot; SLOTS],
    pub timers: [Timer; TIMERS],
}

#[repr(C)]
pub struct Slot {
    /// 1 once the controller has ended the sleep. The sleeper waits on it as a futex.
    pub word: AtomicU32,
    pub process: AtomicU32,
    pub thread: AtomicU32,
    /// Process that reserved the slot.
    pub parent: AtomicU32,
    pub key: Key,
    /// `ON_FUTEX` or `ON_DATA`.
    pub kind: AtomicU8,
    /// Descriptor of the eventfd that ends the sleep on data, in the sleeper's process; -1 if there is none.
    pub bell: AtomicI32,
    /// Changes whenever `bell` names another eventfd.
    pub bell_age: AtomicU32,
    /// Children made so far, threads and processes alike.
    children: AtomicU32,
    /// Virtual time of the thread's last reading of a clock, in ns; that of its birth if it has read none.
    pub read_at: AtomicU64,
}

/// Rank of a thread among those with one deadline: the path of births that leads to it, then its number.
#[repr(C)]
pub struct Key {
    path: [AtomicU32; DEPTH],
    number: AtomicU64,
}

/// A copy of a `Key`, to compare.
pub type Rank = ([u32; DEPTH], u64);

pub const TIMER_FREE: u8 = 0;
pub const TIMER_IDLE: u8 = 1;
pub const TIMER_ARMED: u8 = 2;

#[repr(C)]
pub struct Timer {
    pub state: AtomicU8,
    pub process: AtomicU32,
    /// Descriptor of the eventfd to count expiries in, in the owner's process; -1 if a signal is sent.
    pub bell: AtomicI32,
    pub bell_age: AtomicU32,
    pub signal: AtomicU32,
    pub deadline: AtomicU64,
    /// Period in ns; 0 for a timer that expires once.
    pub period: AtomicU64,
    pub key: Key,
}

/// State of a slot before a sleep; a handler of a signal may sleep inside of another sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Before {
    state: u8,
    kind: u8,
    deadline: u64,
}

/// Owner of the deadline that the clock comes to next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Slot(usize),
    Timer(usize),
}

impl Page {
    /// Slots that may be in use.
    pub fn used_slots(&self) -> usize {
        (self.high.load(SeqCst) as usize).min(SLOTS)
    }

    pub fn timers_used(&self) -> usize {
        (self.timers_high.load(SeqCst) as usize).min(TIMERS)
    }

    pub fn now(&self) -> u64 {
        self.now.load(SeqCst)
    }

    pub fn state(&self, slot: usize) -> u8 {
        self.states[slot].load(SeqCst)
    }

    /// End of a thread's sleep in virtual time, or `NEVER`.
    pub fn deadline(&self, slot: usize) -> u64 {
        self.deadlines[slot].load(SeqCst)
    }

    /// Reserves a slot for a child of the thread in `parent`, or for one without a known parent. None if all are taken.
    /// O(slots in use).
    pub fn reserve(&self, parent: Option<usize>, process: u32) -> Option<usize> {
        let slot = self.states.iter().position(|state| {
            state.load(SeqCst) == FREE && state.compare_exchange(FREE, BORN, SeqCst, SeqCst).is_ok()
        })?;
        self.high.fetch_max(slot as u32 + 1, SeqCst);
        self.activity.fetch_add(1, SeqCst);
        let fresh = &self.slots[slot];
        fresh.process.store(0, SeqCst);
        fresh.thread.store(0, SeqCst);
        fresh.parent.store(process, SeqCst);
        self.deadlines[slot].store(NEVER, SeqCst);
        fresh.kind.store(ON_FUTEX, SeqCst);
        fresh.bell.store(-1, SeqCst);
        fresh.children.store(0, SeqCst);
        fresh.read_at.store(self.now(), SeqCst);
        let child = match parent {
            Some(parent) => self.slots[parent].children.fetch_add(1, SeqCst) + 1,
            None => u32::MAX,
        };
        fresh.key.descend(parent.map(|parent| &self.slots[parent].key), child, self.births.fetch_add(1, SeqCst));
        Some(slot)
    }

    /// Gives a reserved slot, or one of an image that `exec` has replaced, to a thread that runs.
    pub fn adopt(&self, slot: usize, process: u32, thread: u32) {
        let taken = &self.slots[slot];
        taken.process.store(process, SeqCst);
        taken.thread.store(thread, SeqCst);
        self.deadlines[slot].store(NEVER, SeqCst);
        taken.bell.store(-1, SeqCst);
        self.states[slot].store(AWAKE, SeqCst);
    }

    /// The slot of a process whose new image begins: its own from before `exec`, or one that its parent has reserved.
    /// Frees all others of that process: their threads are gone. O(slots in use).
    pub fn claim(&self, process: u32, parent: u32) -> Option<usize> {
        let mut mine = None;
        for slot in 0..self.used_slots() {
            if self.state(slot) != FREE && self.slots[slot].process.load(SeqCst) == process {
                // The thread that called `exec` has the number of its process now; before, it may have had another.
                match mine {
                    None => mine = Some(slot),
                    Some(_) => self.free_slot(slot),
                }
            }
        }
        mine.or_else(|| {
            (0..self.used_slots()).find(|slot| {
                let reserved = &self.slots[*slot];
                self.state(*slot) == BORN
                    && reserved.parent.load(SeqCst) == parent
                    && reserved.process.compare_exchange(0, process, SeqCst, SeqCst).is_ok()
            })
        })
    }

    /// Frees a slot: its thread is gone, or was never made.
    pub fn free_slot(&self, slot: usize) {
        self.slots[slot].process.store(0, SeqCst);
        self.states[slot].store(FREE, SeqCst);
    }

    /// Marks a thread as about to end.
    pub fn mark_ending(&self, slot: usize) {
        self.states[slot].store(ENDING, SeqCst);
    }

    /// Marks a thread asleep until `deadline`. The caller rings for the controller if `all_asleep` is true afterwards,
    /// and waits until `word` is 1 or its data are there.
    pub fn sleep(&self, slot: usize, deadline: u64, kind: u8) -> Before {
        let sleeper = &self.slots[slot];
        let before = Before { state: self.state(slot), kind: sleeper.kind.load(SeqCst), deadline: self.deadline(slot) };
        // In between the slot must not look asleep with a deadline that is half of one sleep and half of another.
        self.states[slot].store(AWAKE, SeqCst);
        sleeper.word.store(0, SeqCst);
        self.deadlines[slot].store(deadline, SeqCst);
        sleeper.kind.store(kind, SeqCst);
        self.states[slot].store(ASLEEP, SeqCst);
        before
    }

    /// Marks a thread awake again. True if the controller has ended the sleep.
    pub fn wake(&self, slot: usize, before: Before) -> bool {
        let by_clock = self.states[slot].compare_exchange(ASLEEP, AWAKE, SeqCst, SeqCst).is_err();
        if !by_clock {
            self.activity.fetch_add(1, SeqCst);
        }
        let sleeper = &self.slots[slot];
        self.deadlines[slot].store(before.deadline, SeqCst);
        sleeper.kind.store(before.kind, SeqCst);
        if before.state == ASLEEP || before.state == ENDING {
            self.states[slot].store(before.state, SeqCst);
        }
        by_clock
    }

    /// True if no slot holds the clock. O(slots in use), a byte each.
    pub fn all_asleep(&self) -> bool {
        self.highest_state() < AWAKE
    }

    /// True if no slot holds the clock, and each thread has marked its own sleep. O(slots in use), a byte each.
    pub fn all_marked_asleep(&self) -> bool {
        self.highest_state() <= ASLEEP
    }

    /// The state that holds the clock most, of the first threads that hold it or of all.
    fn highest_state(&self) -> u8 {
        const AT_ONCE: usize = 64;
        let mut highest = FREE;
        for states in self.states[..self.used_slots()].chunks(AT_ONCE) {
            // Without a branch for each slot: this runs several times a step.
            highest = states.iter().fold(highest, |highest, state| highest.max(state.load(SeqCst)));
            if highest >= AWAKE {
                break;
            }
        }
        highest
    }

    /// Notes that a thread has left the core or the turns that all threads share.
    pub fn leave_turns(&self) {
        let _ = self.turns.compare_exchange(IN_TURN, OUT_OF_TURN, SeqCst, SeqCst);
    }

    /// Notes that the controller has seen a thread block. False if the thread has changed its state meanwhile.
    pub fn presume_asleep(&self, slot: usize) -> bool {
        self.states[slot].compare_exchange(AWAKE, PRESUMED, SeqCst, SeqCst).is_ok()
    }

    /// The sleeper or timer with the earliest deadline; of several, the first by rank. O(slots and timers in use).
    pub fn earliest_deadline(&self) -> Option<(u64, Next)> {
        let mut best: Option<(u64, Rank, Next)> = None;
        let mut consider = |deadline: u64, key: &Key, next: Next| {
            if deadline != NEVER
                && !best
                    .as_ref()
                    .is_some_and(|(than, rank, _)| deadline > *than || deadline == *than && key.rank() > *rank)
            {
                best = Some((deadline, key.rank(), next));
            }
        };
        for (index, timer) in self.timers[..self.timers_used()].iter().enumerate() {
            if timer.state.load(SeqCst) == TIMER_ARMED {
                consider(timer.deadline.load(SeqCst), &timer.key, Next::Timer(index));
            }
        }
        // Most threads wait for data alone.
        for slot in (0..self.used_slots()).filter(|&slot| self.deadline(slot) != NEVER && self.state(slot) == ASLEEP) {
            consider(self.deadline(slot), &self.slots[slot].key, Next::Slot(slot));
        }
        best.map(|(deadline, _, next)| (deadline, next))
    }

    /// Moves the time forward, never back.
    pub fn advance(&self, to: u64) {
        self.now.fetch_max(to, SeqCst);
    }

    /// Moves the time forward for the thread in `slot` without the controller, as the controller would if that thread
    /// slept until `to`. False if it might do something else first: another thread holds the clock, a sleeper or timer
    /// is due by then, or the clock ends before. O(slots and timers in use).
    pub fn advance_alone(&self, slot: usize, to: u64) -> bool {
        let awake = self.states[..self.used_slots()].iter().filter(|state| state.load(SeqCst) >= AWAKE).count();
        let is_alone = awake == 1 && self.state(slot) == AWAKE;
        let may = is_alone
            && to <= self.end.load(SeqCst)
            && self.earliest_deadline().is_none_or(|(deadline, _)| deadline > to);
        if may {
            self.advance(to);
        }
        may
    }

    /// Ends a sleep for the controller, which then wakes the thread. False if the thread is awake already.
    pub fn release(&self, slot: usize) -> bool {
        let is_asleep = self.states[slot].compare_exchange(ASLEEP, AWAKE, SeqCst, SeqCst).is_ok();
        if is_asleep {
            self.slots[slot].word.store(1, SeqCst);
        }
        is_asleep
    }

    /// Takes a timer for a process; it is idle. None if all are taken.
    pub fn take_timer(&self, owner: usize, process: u32) -> Option<usize> {
        let index = self
            .timers
            .iter()
            .position(|timer| timer.state.compare_exchange(TIMER_FREE, TIMER_IDLE, SeqCst, SeqCst).is_ok())?;
        self.timers_high.fetch_max(index as u32 + 1, SeqCst);
        let timer = &self.timers[index];
        timer.process.store(process, SeqCst);
        timer.bell.store(-1, SeqCst);
        timer.signal.store(0, SeqCst);
        timer.deadline.store(NEVER, SeqCst);
        timer.period.store(0, SeqCst);
        timer.key.copy(&self.slots[owner].key, self.births.fetch_add(1, SeqCst));
        Some(index)
    }

    /// Sets a timer, or stops it if `deadline` is `NEVER`.
    pub fn arm_timer(&self, timer: usize, deadline: u64, period: u64) {
        let timer = &self.timers[timer];
        timer.state.store(TIMER_IDLE, SeqCst);
        timer.deadline.store(deadline, SeqCst);
        timer.period.store(period, SeqCst);
        if deadline != NEVER {
            timer.state.store(TIMER_ARMED, SeqCst);
        }
    }

    /// Time until a timer expires, and its period, in ns; 0 and the period if it is stopped.
    pub fn time_left(&self, timer: usize) -> (u64, u64) {
        let timer = &self.timers[timer];
        let period = timer.period.load(SeqCst);
        match timer.state.load(SeqCst) {
            TIMER_ARMED => (timer.deadline.load(SeqCst).saturating_sub(self.now()).max(1), period),
            _ => (0, period),
        }
    }

    /// Notes that a timer has expired: it is stopped, or set to its next period.
    pub fn expire_timer(&self, index: usize) {
        let timer = &self.timers[index];
        let deadline = timer.deadline.load(SeqCst);
        let period = timer.period.load(SeqCst);
        self.arm_timer(index, if period == 0 { NEVER } else { deadline.saturating_add(period) }, period);
    }

    /// Frees the timers of a process that has ended. A process of which a thread is left keeps them.
    pub fn free_timers_of(&self, process: u32) {
        if (0..self.used_slots())
            .any(|slot| self.state(slot) != FREE && self.slots[slot].process.load(SeqCst) == process)
        {
            return;
        }
        for timer in 0..self.timers_used() {
            if self.timers[timer].process.load(SeqCst) == process {
                self.free_timer(timer);
            }
        }
    }

    pub fn free_timer(&self, timer: usize) {
        self.timers[timer].state.store(TIMER_FREE, SeqCst);
    }
}

impl Key {
    /// Becomes the key of a thread's child with this ordinal.
    fn descend(&self, parent: Option<&Key>, child: u32, number: u64) {
        let mut is_placed = false;
        for (level, own) in self.path.iter().enumerate() {
            let above = parent.map_or(0, |parent| parent.path[level].load(SeqCst));
            let here = match above {
                0 if !is_placed => {
                    is_placed = true;
                    child
                }
                above => above,
            };
            own.store(here, SeqCst);
        }
        self.number.store(number, SeqCst);
    }

    fn copy(&self, of: &Key, number: u64) {
        for (own, theirs) in self.path.iter().zip(&of.path) {
            own.store(theirs.load(SeqCst), SeqCst);
        }
        self.number.store(number, SeqCst);
    }

    /// Number of the birth, which no other has.
    pub fn number(&self) -> u64 {
        self.number.load(SeqCst)
    }

    pub fn rank(&self) -> Rank {
        (core::array::from_fn(|level| self.path[level].load(SeqCst)), self.number.load(SeqCst))
    }
}
