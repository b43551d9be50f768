//! Standard error.

use std::io::Write;

use super::{Verbosity, current_verbosity};

/// Writes a line. A failure to write does not end the process.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes a remark on progress, unless `--quiet`.
pub fn note(text: &str) {
    if current_verbosity() != Verbosity::Quiet {
        line(text);
    }
}

/// Writes a warning, with `--quiet`, too.
pub fn warning(text: &str) {
    line(&format!("warning: {text}"));
}
