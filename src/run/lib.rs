//! The only code that touches the world: processes, sockets, files, the terminal and the wall clock.

// The edge may read the clock and hash as it likes: none of it reaches an actor.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the edge is where the world is")]

#[cfg(test)]
#[path = "../sim/tests/any_entry.rs"]
mod any_entry;
mod background;
pub mod bench;
mod bound;
mod certs;
mod choosing;
pub mod cli;
mod clock;
mod cluster;
mod commit;
mod compare;
mod compose;
mod computing;
mod convert;
mod csv;
mod disk;
mod drive_hub;
mod drive_leaf;
mod err;
mod failure;
pub mod files;
mod flag_values;
mod freight;
mod generate;
#[cfg(test)]
#[path = "../report/tests/golden.rs"]
mod golden;
mod grouping;
pub mod gzip;
mod host;
pub mod identity;
mod inline;
mod input;
mod journal;
mod keeper;
mod launch;
mod lifeline;
mod logs;
mod man;
mod member;
mod out;
mod outside;
mod parquet;
mod partial_dir;
mod pin;
mod plan;
mod pool;
pub mod quic;
mod recording;
mod report;
mod reproduce;
mod results;
mod resume;
mod route;
mod run_dir;
mod sanitize;
mod signals;
#[cfg(test)]
#[path = "../report/tests/story.rs"]
mod story;
mod sweep;
mod terminal;
#[cfg(test)]
mod tests;
mod tournament;
mod validate;
mod what_if;
mod when;
mod why;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

pub use failure::{EXIT_CODES, Failure};

static VERSION: OnceLock<&str> = OnceLock::new();

/// Sets the text of `--version`; only the first call has an effect.
fn set_version(version: &'static str) {
    let _ = VERSION.set(version);
}

/// Set in a process whose program has all commands, under any file name.
static HAS_ALL_COMMANDS: AtomicBool = AtomicBool::new(false);

/// The program with all commands: this one, or the program `hansa` beside it or on the path.
fn main_program() -> std::io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let beside = own.with_file_name("hansa");
    Ok(match HAS_ALL_COMMANDS.load(Ordering::Relaxed) {
        true => own,
        false if beside.is_file() => beside,
        false => PathBuf::from("hansa"),
    })
}

/// Text of `--version`: the release, and the commit if the binary knows it.
fn version_text() -> &'static str {
    VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}

/// Amount of output besides the requested one. One value per process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors only.
    Quiet,
    Usual,
    Verbose,
    Chatty,
}

impl Verbosity {
    /// Flags that pass this value on to another process.
    fn verbosity_flags(self) -> &'static [&'static str] {
        match self {
            Verbosity::Quiet => &["--quiet"],
            Verbosity::Usual => &[],
            Verbosity::Verbose => &["--verbose"],
            Verbosity::Chatty => &["--verbose", "--verbose"],
        }
    }
}

static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();

/// Sets the value of the command line; only the first call has an effect.
fn set_verbosity(verbosity: Verbosity) {
    let _ = VERBOSITY.set(verbosity);
}

fn current_verbosity() -> Verbosity {
    VERBOSITY.get().copied().unwrap_or(Verbosity::Usual)
}

/// The command as typed, program name first; invalid Unicode is replaced.
fn typed_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// A runtime of one thread: lock-step traffic is fastest where nothing has to change cores.
pub fn build_runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::System(format!("cannot start the runtime: {error}")))
}

/// Starts a thread, if the system has one to spare.
fn spawn_thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<std::thread::JoinHandle<()>> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| std::io::Error::new(error.kind(), format!("cannot start a thread: {error}")))
}
