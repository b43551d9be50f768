//! `hansa clock`: runs a command and its children in stepped virtual time.
//!
//! The command that is typed starts a second `hansa`, the keeper, which has the page, moves the clock and is the parent
//! of the command. Each of the two ends all processes of the run when the other is gone: they adopt orphans, so a
//! daemon that a program leaves behind stays a descendant of theirs.

mod args;
mod drive;
mod run;

pub use args::{ClockArgs, charge_flag};
pub use drive::{ClockAnswer, ClockOrder, ClockedProgram};

use std::process::Command;

use rustix::process::{Signal, kill_process, set_child_subreaper};

use super::{Failure, err, signals};
use hansa_clock::LIBRARY;
use hansa_clock::proc::{end_descendants, process_pid};

/// Text below the flags.
pub const REACH: &str = "\
The clock reaches programs that use the C library of the system: sleeps, timers, time limits of poll, select, epoll, \
conditions, semaphores and sockets, and all clocks. It names the processes that it does not reach, such as statically \
linked ones and programs in Go, and stands still while they run. docs/clock.md has the limits.

The exit code is that of the command; 124 if --until has ended it, 127 if there is no such command, 126 if it cannot \
be started.";

/// Runs the command of `hansa clock`; ends with its exit code.
pub fn run_clock(args: &ClockArgs) -> Result<(), Failure> {
    if LIBRARY.is_empty() {
        let needs = "hansa clock needs Linux with the GNU C library, on x86-64 or 64-bit ARM";
        return Err(Failure::Input(format!("this hansa was built without it: {needs}")));
    }
    if std::env::var_os("HANSA_CLOCK").is_some() {
        return Err(Failure::Input("a clock already runs here, and one inside of it would have no time".to_owned()));
    }
    match args.keeper_of {
        Some(parent) => run::run_keeper(args, parent),
        None => watch_keeper(args),
    }
}

/// Starts the second `hansa`, which moves the clock and is the parent of the programs, and waits for it. Then ends all
/// processes that are left of the run.
fn watch_keeper(args: &ClockArgs) -> Result<(), Failure> {
    set_child_subreaper(process_pid(std::process::id()))
        .map_err(|error| keeper_failure("cannot adopt processes", error.into()))?;
    let own = std::env::current_exe().map_err(|error| keeper_failure("cannot find this program", error))?;
    let mut keeper = Command::new(own)
        .args(args.for_keeper(std::process::id()))
        .spawn()
        .map_err(|error| keeper_failure("cannot start the keeper of the clock", error))?;
    let keeper_id = keeper.id();
    signals::on_interrupt(move || {
        if let Some(keeper) = process_pid(keeper_id) {
            let _ = kill_process(keeper, Signal::TERM);
        }
    })?;
    let status = keeper.wait().map_err(|error| keeper_failure("cannot wait for the keeper of the clock", error))?;
    end_descendants();
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Exit(u8::try_from(code).unwrap_or(Failure::INTERNAL))),
        None => {
            err::line("error: the keeper of the clock was killed; its programs have been ended");
            Err(Failure::Exit(Failure::SYSTEM))
        }
    }
}

fn keeper_failure(what: &str, error: std::io::Error) -> Failure {
    Failure::System(format!("{what}: {error}"))
}
