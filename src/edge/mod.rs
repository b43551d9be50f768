//! The only code that touches the world: processes, sockets, files, the terminal and the wall clock.

// The edge may look at the clock and hash as it likes: nothing of it reaches an actor.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the edge is where the world is")]

pub mod bench;
mod beside;
mod bound;
mod certs;
pub mod cli;
mod clock;
mod cluster;
mod commit;
mod compose;
mod conduct;
mod convert;
mod csv;
mod disk;
mod failure;
pub mod files;
mod freight;
mod generate;
pub mod gzip;
mod heard;
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
mod muster;
mod nest;
mod outside;
mod parquet;
mod pin;
mod plan;
mod play;
mod pool;
pub mod quic;
mod recording;
mod report;
mod reproduce;
mod results;
mod resume;
mod route;
mod signals;
mod stand_in;
mod sweep;
mod terminal;
#[cfg(test)]
mod tests;
mod tournament;
mod validate;

use std::sync::OnceLock;

use disk::plainly;
pub use failure::{EXIT_CODES, Failure};

/// What `--version` says: the release, and the commit where that is known.
pub const VERSION: &str = env!("HANSA_VERSION");

/// How much is said besides what was asked for. One process, one voice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loudness {
    /// Only what is wrong, or may be.
    Quiet,
    Usual,
    Verbose,
    Chatty,
}

impl Loudness {
    /// As another process is told of it.
    fn flags(self) -> &'static [&'static str] {
        match self {
            Loudness::Quiet => &["--quiet"],
            Loudness::Usual => &[],
            Loudness::Verbose => &["--verbose"],
            Loudness::Chatty => &["--verbose", "--verbose"],
        }
    }
}

static LOUDNESS: OnceLock<Loudness> = OnceLock::new();

/// As the command line has it; the first to say it counts.
fn set_loudness(loudness: Loudness) {
    let _ = LOUDNESS.set(loudness);
}

fn loudness() -> Loudness {
    LOUDNESS.get().copied().unwrap_or(Loudness::Usual)
}

/// The command as it was typed, the program first; what is no text is shown as well as it can be.
fn typed_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// Tells what may be wrong, or was left out, however quiet there is to be.
fn warn(text: &str) {
    tell(&format!("warning: {text}"));
}

/// Tells how things go, which nobody has to know, unless there is to be quiet.
fn note(text: &str) {
    if loudness() != Loudness::Quiet {
        tell(text);
    }
}

/// Prints what a command has done, unless there is to be quiet. What it was asked to print is printed in any case.
fn say(text: &str) -> Result<(), Failure> {
    if loudness() == Loudness::Quiet { Ok(()) } else { print(text) }
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

/// Writes to standard output.
fn print(text: &str) -> Result<(), Failure> {
    match show(text) {
        // Whoever reads through `head` has seen enough.
        Err(Failure::Unread) => Ok(()),
        end => end,
    }
}

/// The same, for a command that is of no use any more once nobody reads what it prints.
fn show(text: &str) -> Result<(), Failure> {
    use std::io::{ErrorKind, Write};
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::System(format!("cannot write to standard output: {}", plainly(&error))),
    })
}

/// Writes a line to standard error. Whoever does not read it must not end us.
fn tell(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
