//! The processes under the clock: looking at their threads, waking them, and finding those that it does not reach.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    PidfdFlags, PidfdGetfdFlags, Resource, Signal, WaitId, WaitIdOptions, getrlimit, kill_process, pidfd_getfd,
    pidfd_open, waitid,
};
use rustix::thread::{futex, sched_yield};
use rustix::time::Timespec;

use crate::proc::{self, Call, Thread, ThreadState, process_pid};
use crate::state::{AWAKE, BORN, ENDING, FREE, IN_TURN, ON_DATA, PRESUMED, Page};
use crate::steps::{Look, Stepper, World};

pub struct Processes {
    library: PathBuf,
    /// Shows a warning to the user.
    warn: fn(&str),
    /// True if all programs share one processor with the controller.
    is_alone: bool,
    /// Files of threads that are open, at most, and that may be.
    open_files: usize,
    most_files: usize,
    /// Open files of the threads in slots.
    threads: Vec<Option<Thread>>,
    /// The calls in which threads block that have not marked a sleep, by slot.
    blocked: BTreeMap<usize, Call>,
    /// Copies of the eventfds that wake sleepers, and of those that count expiries, by slot or timer, with their ages.
    bells: BTreeMap<(bool, usize), (u32, File)>,
    /// Slots that are reserved for children, with the number of the reservation and when it was seen first.
    reserved: BTreeMap<usize, (u64, Instant)>,
    /// Threads without a slot.
    strangers: Vec<Thread>,
    /// Processes that were seen without a slot before.
    suspects: BTreeSet<u32>,
    /// Processes that a message was about, by the kind of message.
    named: BTreeSet<(u32, &'static str)>,
    /// Processes beyond the clock's reach so far.
    unreached: BTreeSet<u32>,
    /// Pipe at whose data the clock stops, as it does at the end of a child. None if it does not stop.
    pub stops_at: Option<Arc<File>>,
}

/// Turns that the controller gives to all threads that are ready before it moves the clock. One is enough for a thread
/// that data have woken. Others serve threads that are woken by a handler of a signal which marks nothing, and those
/// whose time on the processor is up just then.
const TURNS: usize = 3;

/// Time after which a reserved slot is checked that no child has taken.
pub const UNTAKEN: Duration = Duration::from_millis(100);

/// Half of the files that this process may open besides those that it needs anyway.
fn half_of_files() -> usize {
    const NEEDED: usize = 20;
    let limit = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1 << 20);
    (limit.saturating_sub(NEEDED) / 2).max(2)
}

/// Processes and threads that have slots.
fn numbers_in_slots(page: &Page) -> BTreeSet<(u32, u32)> {
    let taken = (0..page.used_slots()).filter(|&slot| page.state(slot) != FREE);
    taken.map(|slot| (page.slots[slot].process.load(SeqCst), page.slots[slot].thread.load(SeqCst))).collect()
}

impl Processes {
    pub fn new(library: PathBuf, is_alone: bool, warn: fn(&str)) -> Processes {
        Processes {
            library,
            warn,
            is_alone,
            open_files: 0,
            most_files: half_of_files(),
            threads: Vec::new(),
            blocked: BTreeMap::new(),
            bells: BTreeMap::new(),
            reserved: BTreeMap::new(),
            strangers: Vec::new(),
            suspects: BTreeSet::new(),
            named: BTreeSet::new(),
            unreached: BTreeSet::new(),
            stops_at: None,
        }
    }

    pub fn unreached(&self) -> usize {
        self.unreached.len()
    }

    /// The thread in a slot. If its process is still being made, the first thread of that process.
    fn thread_at(&mut self, page: &Page, slot: usize) -> Option<&mut Thread> {
        let process = page.slots[slot].process.load(SeqCst);
        let thread = Some(page.slots[slot].thread.load(SeqCst)).filter(|&thread| thread != 0).unwrap_or(process);
        if self.threads.len() <= slot {
            self.threads.resize_with(slot + 1, || None);
        }
        let known = &mut self.threads[slot];
        // A slot's next thread may have another number.
        if known.as_ref().is_none_or(|known| (known.process, known.thread) != (process, thread)) {
            if self.open_files >= self.most_files {
                // Each is opened again when it is needed.
                self.threads.iter_mut().for_each(|thread| *thread = None);
                self.open_files = 0;
            }
            self.threads[slot] = Thread::open(process, thread).ok();
            self.open_files += 1;
        }
        self.threads[slot].as_mut()
    }

    fn state(&mut self, page: &Page, slot: usize) -> (ThreadState, Option<Call>) {
        self.thread_at(page, slot).map_or((ThreadState::Gone, None), |thread| thread.state())
    }

    fn report_once(&mut self, process: u32, kind: &'static str, text: impl FnOnce(&str) -> String) {
        if self.named.insert((process, kind)) {
            (self.warn)(&text(&format!("pid {process} ({})", proc::program_name(process))));
        }
    }

    /// Warns of a process that waits in real time.
    fn warn_of_timed(&mut self, process: u32, call: &str) {
        self.unreached.insert(process);
        if self.is_without_library(process) {
            self.warn_without_library(process);
            return;
        }
        self.report_once(process, "timed", |it| {
            format!(
                "{it} waits by a system call of its own ({call}): it does so in real time, and the clock stands still"
            )
        });
    }

    fn warn_without_library(&mut self, process: u32) {
        self.unreached.insert(process);
        self.report_once(process, "library", |it| {
            format!(
                "{it} is beyond the clock's reach: it is statically linked, or was started without LD_PRELOAD; it sees \
                 real time, and the clock stands still while it runs or sleeps"
            )
        });
    }

    /// Looks at all threads that hold the clock: frees the slots of those that are gone, and notes which of them block
    /// in calls that the library does not see. Returns a thread that is about to end, with its process.
    pub fn examine_threads(&mut self, page: &Page, stepper: &mut Stepper) -> Option<(u32, u32)> {
        let mut ending = None;
        for slot in 0..page.used_slots() {
            let state = page.state(slot);
            if state < AWAKE {
                continue;
            }
            let process = page.slots[slot].process.load(SeqCst);
            if process == 0 {
                if state == BORN {
                    self.free_untaken(page, slot);
                }
                continue;
            }
            let (look, call) = self.state(page, slot);
            if state == ENDING && look != ThreadState::Gone {
                ending = Some((process, page.slots[slot].thread.load(SeqCst)));
            }
            // A thread that is being made has no number yet, so this was the first thread of its process.
            if state == BORN && look != ThreadState::Gone {
                continue;
            }
            match look {
                ThreadState::Gone => {
                    if page.state(slot) == state && page.slots[slot].process.load(SeqCst) == process {
                        stepper.free_gone(page, slot);
                        self.blocked.remove(&slot);
                    }
                }
                ThreadState::Runs => drop(self.blocked.remove(&slot)),
                ThreadState::Blocks => {
                    let Some(call) = call else { continue };
                    if self.blocked.insert(slot, call) != Some(call) {
                        continue;
                    }
                    match call.timed_name() {
                        Some(name) => self.warn_of_timed(process, name),
                        None => drop(page.presume_asleep(slot)),
                    }
                }
            }
        }
        ending
    }

    /// Frees a slot that is reserved for a child that does not take it: it ended before it could, or it has no library
    /// and counts as a stranger. A child that has just been made is there, and has no slot.
    ///
    /// A thread that makes a child is awake until the child is there. It may wait for the processor meanwhile, for as
    /// long as others compute; a slot that is freed then would be that of two threads.
    fn free_untaken(&mut self, page: &Page, slot: usize) {
        let parent = page.slots[slot].parent.load(SeqCst);
        if is_awake(parent, page) {
            self.reserved.remove(&slot);
            return;
        }
        let number = page.slots[slot].key.number();
        let since = match self.reserved.get(&slot) {
            Some((known, since)) if *known == number => *since,
            _ => {
                self.reserved.insert(slot, (number, Instant::now()));
                return;
            }
        };
        if since.elapsed() < UNTAKEN {
            return;
        }
        let mut children = proc::child_processes(parent).into_iter().chain(proc::child_processes(std::process::id()));
        if !children.any(|child| !holds_slot(child, page) && !self.suspects.contains(&child))
            && page.slots[slot].process.load(SeqCst) == 0
        {
            page.free_slot(slot);
        }
    }

    fn is_without_library(&mut self, process: u32) -> bool {
        proc::has_mapped(process, &self.library) == Some(false)
    }

    /// Finds threads without a slot, among all descendants of this process. One that has just been made may get its
    /// slot yet, so a process counts when it is seen for the second time.
    pub fn find_strangers(&mut self, page: &Page) {
        let known = numbers_in_slots(page);
        let mut suspects = BTreeSet::new();
        let mut strangers = Vec::new();
        for process in proc::descendant_processes(std::process::id()) {
            let is_reached = !self.is_without_library(process);
            if !is_reached && self.suspects.contains(&process) {
                self.warn_without_library(process);
            }
            if !is_reached {
                suspects.insert(process);
            }
            for thread in proc::thread_ids(process) {
                if known.contains(&(process, thread)) || is_reached && known.contains(&(process, 0)) {
                    continue;
                }
                let stranger = Thread::open(process, thread).ok();
                strangers.extend(stranger.filter(|stranger| stranger.state().0 != ThreadState::Gone));
            }
        }
        self.suspects = suspects;
        self.strangers = strangers;
    }

    /// Warns of the threads that keep the clock from moving.
    pub fn warn_of_busy(&mut self, page: &Page, seconds: u64) {
        for slot in 0..page.used_slots() {
            if page.state(slot) != AWAKE && page.state(slot) != PRESUMED {
                continue;
            }
            let process = page.slots[slot].process.load(SeqCst);
            if self.state(page, slot).0 == ThreadState::Runs {
                self.report_once(process, "busy", |it| {
                    format!("{it} has not slept for {seconds} s of real time: the clock stands still until it does")
                });
            }
        }
    }

    /// Reports, once, that all processes wait for data or each other.
    pub fn warn_of_idle(&mut self, page: &Page) {
        let mut waiting: BTreeSet<u32> = BTreeSet::new();
        for slot in (0..page.used_slots()).filter(|&slot| page.state(slot) != FREE) {
            waiting.insert(page.slots[slot].process.load(SeqCst));
        }
        let names: Vec<String> =
            waiting.iter().map(|&process| format!("pid {process} ({})", proc::program_name(process))).collect();
        if self.named.insert((0, "idle")) {
            (self.warn)(&format!("all wait for data or for each other, and none for a time: {}", names.join(", ")));
        }
    }

    /// Writes to an eventfd of another process, by a copy of it.
    fn ring_eventfd(&mut self, is_timer: bool, index: usize, process: u32, fd: i32, age: u32) {
        let known = self.bells.get(&(is_timer, index)).is_some_and(|(known, _)| *known == age);
        if !known {
            let copied = process_pid(process).and_then(|process| {
                let process = pidfd_open(process, PidfdFlags::empty()).ok()?;
                pidfd_getfd(process, fd, PidfdGetfdFlags::empty()).ok()
            });
            match copied {
                Some(copy) => drop(self.bells.insert((is_timer, index), (age, copy.into()))),
                None => {
                    self.report_once(process, "bell", |it| {
                        format!("{it} cannot be woken: its descriptors are out of reach")
                    });
                    return;
                }
            }
        }
        if let Some((_, bell)) = self.bells.get_mut(&(is_timer, index)) {
            let _ = bell.write_all(&1u64.to_ne_bytes());
        }
    }
}

pub fn pipe_has_data(pipe: &File) -> bool {
    poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&Timespec::default())) == Ok(1)
}

/// True if a thread of a process is awake.
fn is_awake(process: u32, page: &Page) -> bool {
    (0..page.used_slots()).any(|slot| page.state(slot) == AWAKE && page.slots[slot].process.load(SeqCst) == process)
}

fn holds_slot(process: u32, page: &Page) -> bool {
    (0..page.used_slots()).any(|slot| page.state(slot) != FREE && page.slots[slot].process.load(SeqCst) == process)
}

impl World for Processes {
    fn settle(&mut self, page: &Page) -> bool {
        if page.turns.load(SeqCst) != IN_TURN || !self.strangers.is_empty() {
            return false;
        }
        // The controller goes to the end of the queue of its core: all that are ready run before it is back.
        (0..TURNS).for_each(|_| sched_yield());
        true
    }

    fn inspect_thread(&mut self, page: &Page, slot: usize) -> Look {
        let is_presumed = page.state(slot) == PRESUMED;
        if !is_presumed && self.is_alone && self.thread_at(page, slot).is_some_and(|thread| thread.is_blocked()) {
            return Look::Blocks;
        }
        match self.state(page, slot) {
            (ThreadState::Gone, _) => Look::Gone,
            (ThreadState::Runs, _) => Look::Runs,
            (ThreadState::Blocks, Some(call)) if is_presumed => match call.timed_name() {
                None => Look::Blocks,
                Some(name) => {
                    self.warn_of_timed(page.slots[slot].process.load(SeqCst), name);
                    Look::Runs
                }
            },
            (ThreadState::Blocks, _) => Look::Blocks,
        }
    }

    fn wake(&mut self, page: &Page, slot: usize) {
        let sleeper = &page.slots[slot];
        if sleeper.kind.load(SeqCst) == ON_DATA {
            let process = sleeper.process.load(SeqCst);
            let bell = sleeper.bell.load(SeqCst);
            self.ring_eventfd(false, slot, process, bell, sleeper.bell_age.load(SeqCst));
        } else {
            let _ = futex::wake(&sleeper.word, futex::Flags::empty(), 1);
        }
    }

    fn is_owned(&mut self, page: &Page, timer: usize) -> bool {
        let owner = page.timers[timer].process.load(SeqCst);
        (0..page.used_slots()).any(|slot| page.state(slot) != FREE && page.slots[slot].process.load(SeqCst) == owner)
            && std::path::Path::new("/proc").join(owner.to_string()).exists()
    }

    fn expire_timer(&mut self, page: &Page, timer: usize) {
        let expired = &page.timers[timer];
        let process = expired.process.load(SeqCst);
        let bell = expired.bell.load(SeqCst);
        if bell >= 0 {
            self.ring_eventfd(true, timer, process, bell, expired.bell_age.load(SeqCst));
        } else if let (Some(process), Some(signal)) =
            (process_pid(process), Signal::from_named_raw(expired.signal.load(SeqCst) as i32))
        {
            let _ = kill_process(process, signal);
        }
    }

    fn is_to_stop(&mut self) -> bool {
        let Some(pipe) = &self.stops_at else { return false };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        pipe_has_data(pipe) || matches!(waitid(WaitId::All, options), Ok(Some(_)))
    }

    fn strangers_block(&mut self, page: &Page) -> bool {
        if self.strangers.is_empty() {
            return true;
        }
        let known = numbers_in_slots(page);
        let mut strangers = std::mem::take(&mut self.strangers);
        strangers.retain(|stranger| {
            !known.contains(&(stranger.process, stranger.thread)) && stranger.state().0 != ThreadState::Gone
        });
        let mut all_block = true;
        for stranger in &strangers {
            match stranger.state() {
                (ThreadState::Blocks, Some(call)) => {
                    if let Some(name) = call.timed_name() {
                        self.warn_of_timed(stranger.process, name);
                        all_block = false;
                    }
                }
                _ => all_block = false,
            }
        }
        self.strangers = strangers;
        all_block
    }
}
