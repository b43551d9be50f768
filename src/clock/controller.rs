//! The controller of a clock: starts programs, and moves the clock until they have ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, wait};
use rustix::thread::futex;
use rustix::time::Timespec;

use crate::proc::process_pid;
use crate::processes::{Processes, pipe_has_data};
use crate::state::{NEVER, Page};
use crate::steps::{Step, Stepper};

/// Time without a step after which a running program is reported.
const BUSY: Duration = Duration::from_secs(5);
/// Time after which programs without any deadline are reported.
const IDLE: Duration = Duration::from_secs(5);
/// Standstill of the clock after which processes without the library are searched for, and the longest period of later
/// searches.
const SEARCH: Duration = Duration::from_millis(40);
const SEARCH_RARELY: Duration = Duration::from_secs(1);
/// Times that as long as the last search has taken pass before the next one: hundreds of processes take some 50 ms.
const SEARCH_PAUSES: u32 = 20;
/// Time that an interrupted command has to end.
const GRACE: Duration = Duration::from_secs(3);

/// Shortest and longest time between two looks while a thread runs, and while all are asleep without a deadline.
const SHORT: Duration = Duration::from_micros(30);
const USUAL: Duration = Duration::from_micros(150);
const LONG: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(50);

/// Exit code of a program that has ended neither by itself nor by a signal; that of an internal error.
const UNKNOWN: u8 = 70;

/// The exit code of a shell: a signal counts from 128.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(UNKNOWN)
}

/// Waits for the end of a process if its first thread is about to end, but not for long. Returns true, as the next look
/// is due.
fn await_end((process, thread): (u32, u32)) -> bool {
    let end = (process == thread).then(|| pidfd_open(process_pid(process)?, PidfdFlags::empty()).ok()).flatten();
    if let Some(end) = end {
        let at_most = Timespec { tv_sec: 0, tv_nsec: LONG.subsec_nanos().into() };
        let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&at_most));
    }
    true
}

/// End of a stretch of the controller's work.
pub enum StretchEnd {
    /// The command has ended, with this exit code.
    Left(u8),
    /// The clock has reached its last time.
    Over,
    /// The real time within which the driving process expects an answer has passed before the clock reached its time.
    Paused,
    /// A watched pipe has data, or a program has ended.
    Stopped,
    Interrupted,
}

/// Requests to end the run, from other threads: copies of those that its controller has.
#[derive(Clone, Default)]
pub struct Wakers {
    interrupts: Arc<AtomicU32>,
    /// True if no caller is left to wait for.
    is_orphan: Arc<AtomicBool>,
}

impl Wakers {
    /// Asks the programs to end, and ends the run when it is called again.
    pub fn interrupt(&self) {
        self.interrupts.fetch_add(1, SeqCst);
    }

    /// Ends the run, without time for the programs to end by themselves.
    pub fn end(&self) {
        self.is_orphan.store(true, SeqCst);
        self.interrupts.fetch_add(1, SeqCst);
    }
}

/// The controller of a clock: moves the time of a page whenever all threads sleep, starts the programs that live by it,
/// and reaps them. It is the parent of its programs, and adopts their orphans. The [`Stepper`] has the rules of a step,
/// and [`Processes`] looks at threads and wakes them.
pub struct ClockController<'a> {
    pub page: &'a Page,
    pub stepper: Stepper,
    processes: Processes,
    /// Variables by which programs find the clock.
    variables: [(&'static str, OsString); 2],
    /// Numbers of the programs that run, by process: the command has 0.
    programs: BTreeMap<u32, u32>,
    /// Programs that have ended, with their exit codes.
    ended: Vec<(u32, u8)>,
    /// True if the run goes on until all processes have ended, not only the command.
    pub waits_for_all: bool,
    /// Longest real time of a stretch of a driven clock. None if the clock is not driven.
    pub answers_within: Option<Duration>,
    wakers: Wakers,
    asked_to_end: Option<Instant>,
    /// Real time that the last search for processes without the library has taken.
    search_took: Duration,
}

impl<'a> ClockController<'a> {
    /// A controller whose clock goes until a virtual time, in ns, and whose programs get `variables`.
    pub fn new(
        page: &'a Page,
        processes: Processes,
        variables: [(&'static str, OsString); 2],
        until: u64,
        wakers: Wakers,
    ) -> ClockController<'a> {
        ClockController {
            page,
            stepper: Stepper::new(until),
            processes,
            variables,
            programs: BTreeMap::new(),
            ended: Vec::new(),
            waits_for_all: false,
            answers_within: None,
            wakers,
            asked_to_end: None,
            search_took: Duration::ZERO,
        }
    }

    /// Starts a program under the clock. It is reaped like all other processes.
    pub fn spawn(&mut self, mut command: Command, number: u32) -> std::io::Result<()> {
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        // The program takes it when its image begins.
        let slot = self.page.reserve(None, std::process::id());
        let child = command.spawn().inspect_err(|_| slot.into_iter().for_each(|slot| self.page.free_slot(slot)))?;
        self.programs.insert(child.id(), number);
        Ok(())
    }

    /// Moves a driven clock to this time, in ns.
    pub fn move_to(&mut self, until: u64) -> StretchEnd {
        self.stepper.until = until;
        self.run()
    }

    /// Moves a driven clock to this time, in ns, or to the first moment at which a pipe has data or a program has
    /// ended. Nothing is read from the pipe.
    pub fn search_to(&mut self, until: u64, pipe: Arc<File>) -> StretchEnd {
        self.processes.stops_at = Some(pipe);
        let end = self.move_to(until);
        self.processes.stops_at = None;
        end
    }

    pub fn take_ended(&mut self) -> Vec<(u32, u8)> {
        std::mem::take(&mut self.ended)
    }

    /// True if a program has ended, and none was asked to.
    pub fn has_ended_by_itself(&self) -> bool {
        !self.ended.is_empty() && self.asked_to_end.is_none()
    }

    /// Number of processes beyond the clock's reach so far.
    pub fn unreached(&self) -> usize {
        self.processes.unreached()
    }

    pub fn is_interrupted(&self) -> bool {
        self.wakers.interrupts.load(SeqCst) > 0
    }

    /// Moves the clock until the command has ended, or until another end of `StretchEnd`.
    pub fn run(&mut self) -> StretchEnd {
        let begun = Instant::now();
        let answers_within = self.answers_within;
        let is_late = || answers_within.is_some_and(|within| begun.elapsed() > within);
        let mut pause = SHORT;
        // Start of the time since which the clock stands still, and of that since which all are asleep.
        let mut still_since: Option<Instant> = None;
        let mut still_at = self.page.now();
        let mut idle_since: Option<Instant> = None;
        let mut searched = Instant::now();
        let mut search_after = SEARCH;
        // True if processes without the library have been searched for since the last step.
        let mut is_searched = false;
        // True if the last wait was ended by a thread.
        let mut is_second_try = false;
        loop {
            let seen = self.page.attention.load(SeqCst);
            let step = self.stepper.step(self.page, &mut self.processes);
            if let Step::Done(_) = step {
                (pause, still_since, idle_since, search_after) = (SHORT, None, None, SEARCH);
                is_searched = false;
                // Programs that wake again and again leave no other occasion to answer.
                if !is_late() && !self.is_interrupted() {
                    continue;
                }
            }
            if step == Step::Stopped {
                // Ends of other processes are no reason.
                let end = self.reap_processes();
                if end.is_some() || !self.ended.is_empty() || self.has_data() {
                    return end.unwrap_or(StretchEnd::Stopped);
                }
                continue;
            }
            let is_driven = answers_within.is_some();
            let has_end = self.stepper.until < NEVER - 1;
            if step == Step::Idle && has_end && !is_driven && !is_searched {
                // The end of the clock is a time limit like any other: it passes once all processes are known to wait.
                self.processes.find_strangers(self.page);
                is_searched = true;
                continue;
            }
            if step == Step::Over || step == Step::Idle && (is_driven || has_end) {
                self.page.advance(self.stepper.until);
                return self.reap_processes().unwrap_or(StretchEnd::Over);
            }
            let is_rung = self.wait(seen, pause, step == Step::Busy);
            // The step finds out whether all are asleep; if they are not, there may be something else to do.
            if is_rung && step == Step::Busy && !is_second_try {
                is_second_try = true;
                continue;
            }
            is_second_try = false;
            if let Some(end) = self.reap_processes() {
                return end;
            }
            if is_late() {
                return StretchEnd::Paused;
            }
            let ending =
                (step == Step::Busy).then(|| self.processes.examine_threads(self.page, &mut self.stepper)).flatten();
            let is_ending = ending.is_some_and(await_end);
            pause = match step {
                Step::Busy if is_ending => SHORT,
                Step::Busy => (pause * 2).clamp(USUAL, LONG),
                Step::Idle => (pause * 2).min(LONGEST),
                _ => (pause * 2).min(LONG),
            };
            // Charges move the clock without a step.
            if self.page.now() != still_at {
                (still_at, still_since) = (self.page.now(), None);
            }
            let now = Instant::now();
            let still = *still_since.get_or_insert(now);
            let is_due = searched.elapsed() >= search_after.max(self.search_took * SEARCH_PAUSES);
            if is_due && now - still >= SEARCH {
                search_after = (search_after * 2).min(SEARCH_RARELY);
                self.processes.find_strangers(self.page);
                searched = Instant::now();
                self.search_took = searched - now;
            }
            if step == Step::Idle {
                let idle = *idle_since.get_or_insert(now);
                if now - idle >= IDLE {
                    self.processes.warn_of_idle(self.page);
                }
            } else {
                idle_since = None;
                if now - still >= BUSY {
                    self.processes.warn_of_busy(self.page, BUSY.as_secs());
                }
            }
        }
    }

    /// True if the pipe of a search has data.
    fn has_data(&self) -> bool {
        self.processes.stops_at.as_ref().is_some_and(|pipe| pipe_has_data(pipe))
    }

    /// Waits until a thread has found that all are asleep, but not for long. True if one has.
    fn wait(&self, seen: u32, pause: Duration, is_busy: bool) -> bool {
        self.page.waits.store(1, SeqCst);
        let is_due = is_busy && self.page.all_asleep();
        let end = Timespec { tv_sec: 0, tv_nsec: pause.subsec_nanos().into() };
        let is_rung = is_due
            || futex::wait(&self.page.attention, futex::Flags::empty(), seen, Some(&end)) != Err(Errno::TIMEDOUT);
        self.page.waits.store(0, SeqCst);
        is_rung
    }

    /// Takes note of processes that have ended, and of signals.
    fn reap_processes(&mut self) -> Option<StretchEnd> {
        let is_driven = self.answers_within.is_some();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((ended, status))) => {
                    self.stepper.look_at_all();
                    let program = self.programs.remove(&ended.as_raw_nonzero().get().unsigned_abs());
                    let status = exit_code(ExitStatus::from_raw(status.as_raw()));
                    self.ended.extend(program.map(|number| (number, status)));
                }
                // No process is left.
                Err(_) if !is_driven => {
                    return Some(
                        self.ended.first().map_or(StretchEnd::Interrupted, |(_, code)| StretchEnd::Left(*code)),
                    );
                }
                Ok(None) | Err(_) => break,
            }
        }
        if let Some((_, code)) = self.ended.first().filter(|_| !is_driven && !self.waits_for_all) {
            return Some(StretchEnd::Left(*code));
        }
        if !self.is_interrupted() {
            return None;
        }
        let first = *self.asked_to_end.get_or_insert_with(|| {
            for program in self.programs.keys().copied().filter_map(process_pid) {
                let _ = kill_process(program, Signal::TERM);
            }
            Instant::now()
        });
        self.stepper.look_at_all();
        let is_over = self.wakers.interrupts.load(SeqCst) > 1 || self.wakers.is_orphan.load(SeqCst);
        (is_over || first.elapsed() > GRACE).then_some(StretchEnd::Interrupted)
    }
}
