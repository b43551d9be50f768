//! Standard output.

use std::io::{ErrorKind, Write};

use super::disk::io_reason;
use super::{Failure, Verbosity, current_verbosity};

/// Writes the output that a command was called for. A closed pipe is not an error.
pub fn always(text: &str) -> Result<(), Failure> {
    match or_fail(text) {
        // A reader such as `head` that stops early has all it wants.
        Err(Failure::Unread) => Ok(()),
        end => end,
    }
}

/// Writes the effect of a command, unless `--quiet`.
pub fn unless_quiet(text: &str) -> Result<(), Failure> {
    if current_verbosity() == Verbosity::Quiet { Ok(()) } else { always(text) }
}

/// Writes for commands that only serve their reader: a closed pipe is an error.
pub fn or_fail(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::Unread,
        _ => Failure::System(format!("cannot write to standard output: {}", io_reason(&error))),
    })
}
