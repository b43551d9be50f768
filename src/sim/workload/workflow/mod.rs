//! Workflows from files, one module per format; the first letter of a file identifies its format.

mod dax;
mod dot;
mod files;
pub mod parallel;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod wfformat;
pub mod write;

use std::fmt;

use crate::grid::{LONGEST, Workflow};
use crate::settings::{make_printable, shorten_text};
use crate::time::Span;

pub use source::ROW;
pub use table::CostTable;

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkflowFile {
    Workflow(Workflow),
    Table(CostTable),
}

/// Error in a workflow file, with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Line and column, if the error is at one position of the text.
    line: Option<(usize, usize)>,
    /// Path of the key, such as `workflow.tasks[3].runtime`; may be empty.
    key: String,
    message: String,
}

/// Longest text in bytes.
pub const LONGEST_TEXT: usize = 64 << 20;

/// Operations per second of a core of speed 1, for files that count work in operations.
pub const FLOPS: f64 = 1e9;

/// Reads a workflow. `path` gives its name if the file does not.
pub fn read_workflow(path: &str, bytes: &[u8]) -> Result<WorkflowFile, Unreadable> {
    if bytes.len() > LONGEST_TEXT {
        return Err(Unreadable::at_key("", format!("a workflow file has at most {} MB", LONGEST_TEXT >> 20)));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Unreadable { line: Some((line, 1)), key: String::new(), message: "expected text in UTF-8".to_owned() }
    })?;
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().chars().next() {
        Some('{') if table::is_one(text) => table::read_table(text).map(WorkflowFile::Table),
        Some('{') => wfformat::read_wfformat(path, text).map(WorkflowFile::Workflow),
        Some('[') => Err(Unreadable::at_key("", "expected an object of WfFormat, found a list")),
        Some('<') => dax::read_dax(path, text).map(WorkflowFile::Workflow),
        Some(_) if is_dot(text) => dot::read_dot(path, text).map(WorkflowFile::Workflow),
        Some(_) => Err(Unreadable::on_line(1, 1, format!("expected {KINDS}, found {}", describe_found(text)))),
        None => Err(Unreadable::at_key("", format!("the file is empty: expected {KINDS}"))),
    }
}

const KINDS: &str = "a workflow: WfFormat or a table of costs (JSON), DAX (XML) or DOT";

/// True if a text begins like a graph in DOT, perhaps after comments.
fn is_dot(text: &str) -> bool {
    let text = skip_comments(text);
    let word = text.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
    ["strict", "digraph", "graph"].iter().any(|start| word.eq_ignore_ascii_case(start))
}

/// The rest of a text after the comments of DOT at its beginning.
fn skip_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = if rest.starts_with("/*") {
            rest.split_once("*/").map_or("", |(_, after)| after)
        } else if rest.starts_with("//") || rest.starts_with('#') {
            rest.split_once('\n').map_or("", |(_, after)| after)
        } else {
            return rest;
        };
        rest = after.trim_start();
    }
}

/// The probable kind of a text that is no workflow, or its beginning.
fn describe_found(text: &str) -> String {
    let Some(first) = skip_comments(text).lines().next() else { return "only comments".to_owned() };
    let is_numbers =
        first.split_whitespace().count() > 5 && first.split_whitespace().all(|word| word.parse::<f64>().is_ok());
    if first.starts_with(';') || is_numbers {
        "a log of jobs (SWF)".to_owned()
    } else if first.starts_with('[') || first.split_once('=').is_some_and(|(key, _)| !key.trim().contains(' ')) {
        "TOML".to_owned()
    } else {
        format!("`{}`", shorten_text(first))
    }
}

/// The reason why a text is not JSON, without the place, which is told apart.
pub(super) fn json_fault(error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "the file ends before its JSON does: it is truncated".to_owned();
    }
    let what = error.to_string();
    what.split(" at line ").next().unwrap_or_default().to_owned()
}

impl Unreadable {
    fn at_key(key: impl Into<String>, message: impl Into<String>) -> Unreadable {
        Unreadable { line: None, key: key.into(), message: message.into() }
    }

    fn on_line(line: usize, column: usize, message: impl Into<String>) -> Unreadable {
        Unreadable { line: Some((line, column)), key: String::new(), message: message.into() }
    }

    /// The error with its file in front.
    pub fn of(&self, path: &str) -> String {
        match self.line {
            Some((line, column)) => format!("{path}:{line}:{column}: {self}"),
            None => format!("{path}: {self}"),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.is_empty() {
            true => f.write_str(&make_printable(&self.message)),
            false => write!(f, "{}: {}", make_printable(&self.key), make_printable(&self.message)),
        }
    }
}

impl std::error::Error for Unreadable {}

/// Name of a workflow that is named after its file.
fn file_stem(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.strip_suffix(".gz").unwrap_or(file);
    file.rsplit_once('.').map_or(file, |(stem, _)| stem).to_owned()
}

/// Seconds of a file, rounded to microseconds.
fn seconds_span(seconds: f64) -> Result<Span, &'static str> {
    let micros = (seconds * 1e6).round();
    if !seconds.is_finite() || seconds < 0.0 {
        Err("expected a time that is finite and not negative")
    } else if micros > LONGEST.micros() as f64 {
        Err("expected a time of at most 2^53 microseconds, some 285 years")
    } else {
        Ok(Span::from_micros(micros as u64))
    }
}

/// Bytes of a file, rounded to integers.
fn whole_bytes(size: f64) -> Result<u64, &'static str> {
    if !size.is_finite() || size < 0.0 {
        Err("expected a size that is finite and not negative")
    } else if size > crate::grid::DATA_MAX as f64 {
        Err("expected a size of at most 2^53 bytes, some 9 PB")
    } else {
        Ok(size.round() as u64)
    }
}

/// Cores of a file, rounded up.
fn whole_cores(count: Option<f64>) -> Result<u32, &'static str> {
    match count.unwrap_or(1.0).ceil() {
        count if (1.0..=f64::from(u32::MAX)).contains(&count) => Ok(count as u32),
        _ => Err("expected a number of cores from 1 to 2^32 - 1"),
    }
}
