//! The only code that touches the world: processes, sockets, files, the terminal and the wall clock.

// The edge may read the clock and hash as it likes: none of it reaches an actor.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the edge is where the world is")]

mod background;
pub mod bench;
mod bound;
mod certs;
pub mod cli;
mod clock;
mod cluster;
mod commit;
mod compare;
mod compose;
mod convert;
mod csv;
mod disk;
mod drive_hub;
mod drive_leaf;
mod failure;
pub mod files;
mod flag_values;
mod freight;
mod generate;
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
mod sweep;
mod terminal;
#[cfg(test)]
mod tests;
mod tournament;
mod validate;

use std::sync::OnceLock;

use disk::io_reason;
pub use failure::{EXIT_CODES, Failure};

/// Text of `--version`: the release, and the commit if it is known.
pub const VERSION: &str = env!("HANSA_VERSION");

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
    fn flags(self) -> &'static [&'static str] {
        match self {
            Verbosity::Quiet => &["--quiet"],
            Verbosity::Usual => &[],
            Verbosity::Verbose => &["--verbose"],
            Verbosity::Chatty => &["--verbose", "--verbose"],
        }
    }
}

static LOUDNESS: OnceLock<Verbosity> = OnceLock::new();

/// Sets the value of the command line; only the first call has an effect.
fn set_loudness(verbosity: Verbosity) {
    let _ = LOUDNESS.set(verbosity);
}

fn verbosity() -> Verbosity {
    LOUDNESS.get().copied().unwrap_or(Verbosity::Usual)
}

/// The command as typed, program name first; invalid Unicode is replaced.
fn typed_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// Writes a warning to standard error, with `--quiet`, too.
fn warn(text: &str) {
    tell(&format!("warning: {text}"));
}

/// Writes a remark on progress to standard error, unless `--quiet`.
fn note(text: &str) {
    if verbosity() != Verbosity::Quiet {
        tell(text);
    }
}

/// Prints the effect of a command, unless `--quiet`. The output that a command was called for is printed with `print`.
fn say(text: &str) -> Result<(), Failure> {
    if verbosity() == Verbosity::Quiet { Ok(()) } else { print(text) }
}

/// A runtime of one thread: lock-step traffic is fastest where nothing has to change cores.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::System(format!("cannot start the runtime: {error}")))
}

/// Starts a thread, if the system has one to spare.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<std::thread::JoinHandle<()>> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| std::io::Error::new(error.kind(), format!("cannot start a thread: {error}")))
}

/// Writes to standard output. A closed pipe is not an error.
fn print(text: &str) -> Result<(), Failure> {
    match show(text) {
        // A reader such as `head` that stops early has all it wants.
        Err(Failure::Unread) => Ok(()),
        end => end,
    }
}

/// Writes to standard output; a closed pipe is an error, for commands that only serve their reader.
fn show(text: &str) -> Result<(), Failure> {
    use std::io::{ErrorKind, Write};
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::System(format!("cannot write to standard output: {}", io_reason(&error))),
    })
}

/// Writes a line to standard error. A failure to write does not end the process.
fn tell(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
