//! The keeper: starts the command, and moves the clock until it has ended.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    PidfdFlags, Signal, WaitOptions, getppid, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setpgid, wait,
};
use rustix::thread::futex;
use rustix::time::Timespec;

use super::super::run_dir::RunDir;
use super::super::{Failure, err, pin, signals};
use super::args::{ClockArgs, not_run};
use super::page::MappedPage;
use super::turns::take_turns;
use super::world::{Processes, pid};
use super::{drive, end_descendants, proc};
use hansa_clock::LIBRARY;
use hansa_clock::state::{IN_TURN, NEVER, Page};
use hansa_clock::steps::{Step, Stepper};

/// Exit code if `--until` has ended the run, like that of `timeout`.
const TIMED_OUT: u8 = 124;
/// Exit codes of a shell for a missing command, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

/// Time without a step after which a running program is reported.
const BUSY: Duration = Duration::from_secs(5);
/// Time after which programs without any deadline are reported.
const IDLE: Duration = Duration::from_secs(5);
/// Standstill of the clock after which processes without the library are searched for, and the longest period of later
/// searches.
const SEARCH: Duration = Duration::from_millis(40);
const SEARCH_RARELY: Duration = Duration::from_secs(1);
/// Most processes that one message names.
const NAMED: usize = 5;
/// Time that an interrupted command has to end.
const GRACE: Duration = Duration::from_secs(3);

/// Runs the command under the clock, for `parent`, and ends with its exit code.
pub fn keep(args: &ClockArgs, parent: u32) -> Result<(), Failure> {
    let system = |what: &str, error: std::io::Error| Failure::System(format!("{what}: {error}"));
    let adopts = set_child_subreaper(pid(std::process::id()));
    adopts.map_err(|error| system("cannot adopt processes", error.into()))?;
    let follows = set_parent_process_death_signal(Some(Signal::TERM));
    follows.map_err(|error| system("cannot follow the parent", error.into()))?;
    let wakers = Wakers::default();
    {
        let wakers = wakers.clone();
        signals::on_interrupt(move || match getppid() == pid(parent) {
            true => drop(wakers.interrupts.fetch_add(1, SeqCst)),
            false => wakers.end(),
        })?;
    }
    if getppid() != pid(parent) {
        return Err(Failure::Told(Failure::INTERRUPTED));
    }
    if futex::waitv(&[], futex::WaitvFlags::empty(), None, rustix::time::ClockId::Monotonic) == Err(Errno::NOSYS) {
        return Err(Failure::System("hansa clock needs Linux 5.16 or later".to_owned()));
    }

    let dir = RunDir::new()?;
    let library = dir.path.join("libhansa_clock.so");
    let shown = library.to_string_lossy().into_owned();
    if shown.contains([' ', ':']) {
        return Err(Failure::System(format!(
            "{shown} cannot be preloaded: set TMPDIR to a path without spaces and colons"
        )));
    }
    fs::write(&library, LIBRARY)
        .and_then(|()| fs::set_permissions(&library, fs::Permissions::from_mode(0o700)))
        .map_err(|error| system(&format!("cannot write {shown}"), error))?;
    let path = dir.path.join("page");
    let page = MappedPage::create(&path).map_err(|error| system(&format!("cannot make {}", path.display()), error))?;
    page.start.store(args.start.0 * 1_000_000_000, SeqCst);

    let cores = if args.all_cores { Vec::new() } else { pin::to_one_core() };
    let is_alone = !cores.is_empty();
    // On the only core of a machine, programs that compute would leave little to all others. A driver waits for them
    // anyway, and may be bound to one core of several.
    if args.in_turn || args.driven || cores.len() > 1 {
        match take_turns() {
            Ok(()) => page.turns.store(IN_TURN, SeqCst),
            Err(error) if args.in_turn => return Err(system("--in-turn is not possible", error)),
            Err(_) => {}
        }
    }
    let until = args.until.map_or(NEVER - 1, |until| u64::try_from(until.as_nanos()).unwrap_or(NEVER - 1));
    let mut keeper = Keeper {
        page: &page,
        stepper: Stepper::new(until),
        variables: [("HANSA_CLOCK", path.into()), ("LD_PRELOAD", preloads(&library))],
        processes: Processes::new(library, is_alone),
        programs: BTreeMap::new(),
        ended: Vec::new(),
        waits_for_all: args.wait,
        answers_within: None,
        wakers: wakers.clone(),
        asked_to_end: None,
    };
    if args.driven {
        // The end of the process group of its driver must not end this process, which then ends its programs.
        setpgid(None, None).map_err(|error| system("cannot lead a process group", error.into()))?;
        let end = drive::drive(&mut keeper, &wakers);
        end_descendants();
        return end;
    }
    keeper.stepper.is_judged = args.judge;
    let program = args.command.first().map_or(OsStr::new(""), AsRef::as_ref);
    let mut command = Command::new(program);
    command.args(args.command.get(1..).unwrap_or_default());
    let begun = Instant::now();
    keeper.spawn(command, 0).map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        err::line(&format!("error: cannot run {}: {}", Path::new(program).display(), not_run(program, &error)));
        Failure::Told(if is_missing { NOT_FOUND } else { NOT_STARTED })
    })?;
    let end = keeper.run();
    let real = begun.elapsed();
    let left: Vec<String> = proc::descendants(std::process::id())
        .into_iter()
        .map(|process| format!("{} (pid {process})", proc::name(process)))
        .collect();
    end_descendants();
    if !left.is_empty() && !keeper.ended.is_empty() && keeper.asked_to_end.is_none() {
        let shown = left[..left.len().min(NAMED)].join(", ");
        let more = left.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        err::note(&format!(
            "ended processes that the command left behind: {shown}{rest}; --wait would have waited for them"
        ));
    }
    err::note(&account(page.now(), real, keeper.stepper.steps));
    match keeper.processes.unreached() {
        0 => {}
        1 => err::warning("1 process was beyond the clock's reach"),
        many => err::warning(&format!("{many} processes were beyond the clock's reach")),
    }
    if keeper.stepper.misjudged > 0 {
        return Err(Failure::Internal(format!("{} threads could run when the clock moved", keeper.stepper.misjudged)));
    }
    match end {
        KeeperEnd::Left(0) => Ok(()),
        KeeperEnd::Left(code) => Err(Failure::Told(code)),
        KeeperEnd::Over => Err(Failure::Told(TIMED_OUT)),
        KeeperEnd::Paused | KeeperEnd::Interrupted => Err(Failure::Interrupted("interrupted".to_owned())),
    }
}

/// The exit code of a shell: a signal counts from 128.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(Failure::INTERNAL)
}

fn preloads(library: &Path) -> std::ffi::OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The last line of a run.
fn account(virtual_time: u64, real: Duration, steps: u64) -> String {
    let each = match steps {
        0 => String::new(),
        _ => format!(", {:.0} us a step", real.as_secs_f64() * 1e6 / steps as f64),
    };
    format!(
        "clock: {} of virtual time in {:.3} s of real time ({steps} step{}{each})",
        in_words(virtual_time),
        real.as_secs_f64(),
        if steps == 1 { "" } else { "s" },
    )
}

/// Nanoseconds for people: `1 d 2 h 3 min 4.5 s`.
fn in_words(time: u64) -> String {
    let (seconds, rest) = (time / 1_000_000_000, time % 1_000_000_000);
    let mut words = String::new();
    for (count, unit) in [(seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min")] {
        if count > 0 || !words.is_empty() {
            words.push_str(&format!("{count} {unit} "));
        }
    }
    let fraction = format!("{:.6}", rest as f64 / 1e9);
    let fraction = fraction.trim_start_matches('0').trim_end_matches('0').trim_end_matches('.');
    format!("{words}{}{fraction} s", seconds % 60)
}

/// Waits for the end of a process if its first thread is about to end, but not for long. Returns true, as the next look
/// is due.
fn await_end((process, thread): (u32, u32)) -> bool {
    let end = (process == thread).then(|| pidfd_open(pid(process)?, PidfdFlags::empty()).ok()).flatten();
    if let Some(end) = end {
        let at_most = Timespec { tv_sec: 0, tv_nsec: LONG.subsec_nanos().into() };
        let _ = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&at_most));
    }
    true
}

/// End of a stretch of the keeper's work.
pub enum KeeperEnd {
    /// The command has ended, with this exit code.
    Left(u8),
    /// The clock has come to its end.
    Over,
    /// An answer is due.
    Paused,
    Interrupted,
}

/// Requests to end, from other threads.
#[derive(Clone, Default)]
pub struct Wakers {
    interrupts: Arc<AtomicU32>,
    /// True if no caller is left to wait for.
    is_orphan: Arc<AtomicBool>,
}

impl Wakers {
    /// Ends the run, without time for the programs to end by themselves.
    pub fn end(&self) {
        self.is_orphan.store(true, SeqCst);
        self.interrupts.fetch_add(1, SeqCst);
    }
}

pub struct Keeper<'a> {
    pub page: &'a Page,
    pub stepper: Stepper,
    processes: Processes,
    /// Variables by which programs find the clock.
    variables: [(&'static str, OsString); 2],
    /// Numbers of the programs that run, by process: the command has 0.
    programs: BTreeMap<u32, u32>,
    /// Programs that have ended, with their exit codes.
    ended: Vec<(u32, u8)>,
    waits_for_all: bool,
    /// Longest real time of a stretch of a driven clock. None if the clock is not driven.
    pub answers_within: Option<Duration>,
    wakers: Wakers,
    asked_to_end: Option<Instant>,
}

/// Shortest and longest time between two looks while a thread runs, and while all are asleep without a deadline.
const SHORT: Duration = Duration::from_micros(30);
const USUAL: Duration = Duration::from_micros(150);
const LONG: Duration = Duration::from_millis(5);
const LONGEST: Duration = Duration::from_millis(50);

impl Keeper<'_> {
    /// Starts a program under the clock. It is reaped like all other processes.
    pub fn spawn(&mut self, mut command: Command, number: u32) -> std::io::Result<()> {
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        // The program takes it when its image begins.
        let slot = self.page.reserve(None, std::process::id());
        let child = command.spawn().inspect_err(|_| slot.into_iter().for_each(|slot| self.page.free(slot)))?;
        self.programs.insert(child.id(), number);
        Ok(())
    }

    /// Moves a driven clock to this time, in ns.
    pub fn move_to(&mut self, until: u64) -> KeeperEnd {
        self.stepper.until = until;
        self.run()
    }

    pub fn take_ended(&mut self) -> Vec<(u32, u8)> {
        std::mem::take(&mut self.ended)
    }

    pub fn is_interrupted(&self) -> bool {
        self.wakers.interrupts.load(SeqCst) > 0
    }

    fn run(&mut self) -> KeeperEnd {
        let begun = Instant::now();
        let answers_within = self.answers_within;
        let is_late = || answers_within.is_some_and(|within| begun.elapsed() > within);
        let mut pause = SHORT;
        // Start of the time since which the clock stands still, and of that since which all are asleep.
        let mut still_since: Option<Instant> = None;
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
                return self.reap().unwrap_or(KeeperEnd::Over);
            }
            let is_rung = self.wait(seen, pause, step == Step::Busy);
            // The step finds out whether all are asleep; if they are not, there may be something else to do.
            if is_rung && step == Step::Busy && !is_second_try {
                is_second_try = true;
                continue;
            }
            is_second_try = false;
            if let Some(end) = self.reap() {
                return end;
            }
            if is_late() {
                return KeeperEnd::Paused;
            }
            let ending = (step == Step::Busy).then(|| self.processes.examine(self.page, &mut self.stepper)).flatten();
            let is_ending = ending.is_some_and(await_end);
            pause = match step {
                Step::Busy if is_ending => SHORT,
                Step::Busy => (pause * 2).clamp(USUAL, LONG),
                Step::Idle => (pause * 2).min(LONGEST),
                _ => (pause * 2).min(LONG),
            };
            let now = Instant::now();
            let still = *still_since.get_or_insert(now);
            if searched.elapsed() >= search_after && now - still >= SEARCH {
                searched = now;
                search_after = (search_after * 2).min(SEARCH_RARELY);
                self.processes.find_strangers(self.page);
            }
            if step == Step::Idle {
                let idle = *idle_since.get_or_insert(now);
                if now - idle >= IDLE {
                    self.processes.name_idle(self.page);
                }
            } else {
                idle_since = None;
                if now - still >= BUSY {
                    self.processes.name_busy(self.page, BUSY.as_secs());
                }
            }
        }
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
    fn reap(&mut self) -> Option<KeeperEnd> {
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
                    return Some(self.ended.first().map_or(KeeperEnd::Interrupted, |(_, code)| KeeperEnd::Left(*code)));
                }
                Ok(None) | Err(_) => break,
            }
        }
        if let Some((_, code)) = self.ended.first().filter(|_| !is_driven && !self.waits_for_all) {
            return Some(KeeperEnd::Left(*code));
        }
        if !self.is_interrupted() {
            return None;
        }
        let first = *self.asked_to_end.get_or_insert_with(|| {
            for program in self.programs.keys().copied().filter_map(pid) {
                let _ = kill_process(program, Signal::TERM);
            }
            Instant::now()
        });
        self.stepper.look_at_all();
        let is_over = self.wakers.interrupts.load(SeqCst) > 1 || self.wakers.is_orphan.load(SeqCst);
        (is_over || first.elapsed() > GRACE).then_some(KeeperEnd::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_in_plain_units() {
        assert_eq!(in_words(0), "0 s");
        assert_eq!(in_words(86_400_000_000_000), "1 d 0 h 0 min 0 s");
        assert_eq!(in_words(61_500_000_000), "1 min 1.5 s");
        assert_eq!(in_words(1_000), "0.000001 s");
        let text = account(3_600_000_000_000, Duration::from_millis(12), 3);
        assert_eq!(text, "clock: 1 h 0 min 0 s of virtual time in 0.012 s of real time (3 steps, 4000 us a step)");
    }
}
