//! The keeper: starts the command, and moves the clock until it has ended.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, getppid, set_child_subreaper, set_parent_process_death_signal, setpgid};
use rustix::thread::futex;

use super::super::run_dir::RunDir;
use super::super::{Failure, err, pin, signals};
use super::args::{ClockArgs, not_run};
use super::drive;
use hansa_clock::LIBRARY;
use hansa_clock::controller::{ClockController, StretchEnd, Wakers};
use hansa_clock::page::MappedPage;
use hansa_clock::proc::{self, end_descendants, process_pid};
use hansa_clock::processes::Processes;
use hansa_clock::state::{IN_TURN, NEVER};
use hansa_clock::turns::take_turns;

/// Exit code if `--until` has ended the run, like that of `timeout`.
const TIMED_OUT: u8 = 124;
/// Exit codes of a shell for a missing command, and for one that cannot be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

const NANOS_PER_MICRO: u64 = 1_000;

/// Most processes that one message names.
const NAMED: usize = 5;

/// Runs the command under the clock, for `parent`, and ends with its exit code.
pub fn run_keeper(args: &ClockArgs, parent: u32) -> Result<(), Failure> {
    let adopts = set_child_subreaper(process_pid(std::process::id()));
    adopts.map_err(|error| keeper_failure("cannot adopt processes", error.into()))?;
    let follows = set_parent_process_death_signal(Some(Signal::TERM));
    follows.map_err(|error| keeper_failure("cannot follow the parent", error.into()))?;
    let wakers = Wakers::default();
    {
        let wakers = wakers.clone();
        signals::on_interrupt(move || match getppid() == process_pid(parent) {
            true => wakers.interrupt(),
            false => wakers.end(),
        })?;
    }
    if getppid() != process_pid(parent) {
        return Err(Failure::Exit(Failure::INTERRUPTED));
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
        .map_err(|error| keeper_failure(&format!("cannot write {shown}"), error))?;
    let path = dir.path.join("page");
    let page =
        MappedPage::create(&path).map_err(|error| keeper_failure(&format!("cannot make {}", path.display()), error))?;
    page.start.store(args.start.0 * 1_000_000_000, SeqCst);
    page.charge.store(args.charge.micros() * NANOS_PER_MICRO, SeqCst);
    let until = args.until.map_or(NEVER - 1, |until| u64::try_from(until.as_nanos()).unwrap_or(NEVER - 1));
    // A driven clock has no end: charges may pass the time that it is moved to, and its answers have the time reached.
    page.end.store(until, SeqCst);

    let cores = if args.all_cores { Vec::new() } else { pin::to_one_core() };
    let is_alone = !cores.is_empty();
    // On the only core of a machine, programs that compute would leave little to all others. A driver waits for them
    // anyway, and may be bound to one core of several.
    if args.in_turn || args.driven || cores.len() > 1 {
        match take_turns() {
            Ok(()) => page.turns.store(IN_TURN, SeqCst),
            Err(error) if args.in_turn => return Err(keeper_failure("--in-turn is not possible", error)),
            Err(_) => {}
        }
    }
    let variables = [("HANSA_CLOCK", path.into()), ("LD_PRELOAD", preload_variable(&library))];
    let processes = Processes::new(library, is_alone, err::warning);
    let mut controller = ClockController::new(&page, processes, variables, until, wakers.clone());
    controller.waits_for_all = args.wait;
    if args.driven {
        // The end of the process group of its driver must not end this process, which then ends its programs.
        setpgid(None, None).map_err(|error| keeper_failure("cannot lead a process group", error.into()))?;
        let end = drive::drive_clock(&mut controller, &wakers);
        end_descendants();
        return end;
    }
    controller.stepper.is_judged = args.judge;
    let program = args.command.first().map_or(OsStr::new(""), AsRef::as_ref);
    let mut command = Command::new(program);
    command.args(args.command.get(1..).unwrap_or_default());
    let begun = Instant::now();
    controller.spawn(command, 0).map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        err::line(&format!("error: cannot run {}: {}", Path::new(program).display(), not_run(program, &error)));
        Failure::Exit(if is_missing { NOT_FOUND } else { NOT_STARTED })
    })?;
    let end = controller.run();
    let real = begun.elapsed();
    let left: Vec<String> = proc::descendant_processes(std::process::id())
        .into_iter()
        .map(|process| format!("{} (pid {process})", proc::program_name(process)))
        .collect();
    end_descendants();
    if !left.is_empty() && controller.has_ended_by_itself() {
        let shown = left[..left.len().min(NAMED)].join(", ");
        let more = left.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        err::note(&format!(
            "ended processes that the command left behind: {shown}{rest}; --wait would have waited for them"
        ));
    }
    err::note(&summary_line(page.now(), real, controller.stepper.steps));
    match controller.unreached() {
        0 => {}
        1 => err::warning("1 process was beyond the clock's reach"),
        many => err::warning(&format!("{many} processes were beyond the clock's reach")),
    }
    if controller.stepper.misjudged > 0 {
        return Err(Failure::Internal(format!(
            "{} threads could run when the clock moved",
            controller.stepper.misjudged
        )));
    }
    match end {
        StretchEnd::Left(0) => Ok(()),
        StretchEnd::Left(code) => Err(Failure::Exit(code)),
        StretchEnd::Over => Err(Failure::Exit(TIMED_OUT)),
        StretchEnd::Paused | StretchEnd::Stopped | StretchEnd::Interrupted => {
            Err(Failure::Interrupted("interrupted".to_owned()))
        }
    }
}

fn keeper_failure(what: &str, error: std::io::Error) -> Failure {
    Failure::System(format!("{what}: {error}"))
}

fn preload_variable(library: &Path) -> std::ffi::OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

/// The last line of a run.
fn summary_line(virtual_time: u64, real: Duration, steps: u64) -> String {
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

/// Formats nanoseconds as `1 d 2 h 3 min 4.5 s`.
fn in_words(time: u64) -> String {
    let seconds = time / 1_000_000_000;
    let rest = time % 1_000_000_000;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_in_plain_units() {
        assert_eq!(in_words(0), "0 s");
        assert_eq!(in_words(86_400_000_000_000), "1 d 0 h 0 min 0 s");
        assert_eq!(in_words(61_500_000_000), "1 min 1.5 s");
        assert_eq!(in_words(1_000), "0.000001 s");
        let text = summary_line(3_600_000_000_000, Duration::from_millis(12), 3);
        assert_eq!(text, "clock: 1 h 0 min 0 s of virtual time in 0.012 s of real time (3 steps, 4000 us a step)");
    }
}
