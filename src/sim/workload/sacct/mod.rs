//! Dumps of `sacct`, the accounting of Slurm: one record a line, columns between delimiters (`-P` or `-p`).
//!
//! A job arrives when it became eligible, so that holds, `--begin` and dependencies count in no wait; it has the cores
//! or nodes that it was allocated, and its run time is the time that it ran. Records that are no job of the log, such
//! as jobs that never started or have not ended, are counted by reason. The columns of a request (account, QOS,
//! partition, constraints, memory, devices) become options of `sbatch` for a real Slurm.

mod columns;
mod jobs;
mod records;
mod request;
#[cfg(test)]
mod tests;
pub(super) mod values;

use serde::Serialize;

use self::columns::{Header, Layout, Role, listed_names, misspelt};
use self::records::{count_records, read_records};
use super::rigid::Trace;
use crate::settings::make_printable;
use crate::words::words;

pub use self::columns::DELIMITER_MAX;

words! {
    /// Size of a job of a dump.
    #[derive(Default)]
    SizeIn {
        /// The cores that a job was allocated.
        #[default]
        Cores = "cores",
        /// The nodes that a job was allocated, for machines whose nodes are not shared.
        Nodes = "nodes",
    }
}

impl SizeIn {
    /// Columns that the size may be in, the best first.
    fn roles(self) -> &'static [Role] {
        match self {
            SizeIn::Cores => &[Role::AllocCpus, Role::NCpus, Role::AllocTres, Role::ReqCpus, Role::ReqTres],
            SizeIn::Nodes => &[Role::AllocNodes, Role::NNodes, Role::AllocTres, Role::ReqNodes, Role::ReqTres],
        }
    }
}

/// Facts about a dump that may not be in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Form {
    /// Text between columns; None for that of the header, or else `|`.
    pub delimiter: Option<String>,
    /// Columns of a dump without a header, as `sacct --format` takes them.
    pub fields: Option<String>,
    pub size: SizeIn,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SacctError {
    #[error(
        "line 1: expected the names of columns, as sacct writes them without --noheader, found `{}`: `fields` can name \
         the columns", make_printable(.0)
    )]
    NoHeader(String),
    #[error("it is empty")]
    Empty,
    #[error("line 1: its columns are not separated by {expected:?}: did you mean {found:?}?")]
    WrongDelimiter { expected: String, found: String },
    #[error("there is no column {unknown} of sacct; did you mean {near}?")]
    UnknownColumn { unknown: String, near: String },
    #[error("it has no column {0}, without which no job can be made of a record")]
    NoColumn(String),
}

/// Lines by which the end of lines is judged if there is no header.
const JUDGED_LINES: usize = 200;

/// Delimiters that may be meant instead of another one.
const USUAL_DELIMITERS: [&str; 7] = ["|", ",", ";", "\t", "\u{1f}", "^", "~"];

const FIRST_SHOWN: usize = 40;

/// True if a file begins like a dump with a header.
pub fn is_dump(bytes: &[u8]) -> bool {
    Header::detect(&first_line(bytes)).is_some()
}

/// Reads a dump. O(bytes), unless texts have delimiters or line feeds: then a record takes O(pieces * columns).
pub fn read(bytes: &[u8], form: &Form) -> Result<Trace, SacctError> {
    let first = first_line(bytes);
    let (layout, has_header) = match &form.fields {
        Some(fields) => layout_of_fields(bytes, &first, &listed_names(fields), form.delimiter.as_deref())?,
        None if bytes.trim_ascii().is_empty() => return Err(SacctError::Empty),
        None => (layout_of_header(&first, form.delimiter.as_deref())?, true),
    };
    layout.check(form.size.roles())?;
    let header_end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    let (body, first_number) = if has_header { (&bytes[header_end..], 2) } else { (bytes, 1) };
    let mut jobs = jobs::JobCollector::new(&layout, form.size);
    let read = read_records(body, first_number, &layout, |entry| {
        jobs.add(entry);
        Ok::<_, std::convert::Infallible>(())
    });
    read.unwrap_or_else(|never| match never {});
    Ok(jobs.finish())
}

fn first_line(bytes: &[u8]) -> String {
    const LONGEST: usize = 1 << 14;
    let line = bytes[..bytes.len().min(LONGEST)].split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

fn layout_of_header(first: &str, delimiter: Option<&str>) -> Result<Layout, SacctError> {
    let detected = Header::detect(first);
    let header = match delimiter {
        Some(delimiter) => Header::parse(first, delimiter),
        None => detected.clone(),
    };
    match (header, detected, delimiter) {
        (Some(Header { names, delimiter, ends }), ..) => Ok(Layout::new(&names, delimiter.as_bytes(), ends)),
        (None, Some(found), Some(expected)) => {
            Err(SacctError::WrongDelimiter { expected: expected.to_owned(), found: found.delimiter })
        }
        (None, ..) => Err(SacctError::NoHeader(first.chars().take(FIRST_SHOWN).collect())),
    }
}

/// The layout of a dump whose columns are named elsewhere, and true if its first line has their names nevertheless.
fn layout_of_fields(
    bytes: &[u8],
    first: &str,
    names: &[String],
    delimiter: Option<&str>,
) -> Result<(Layout, bool), SacctError> {
    if let Some((unknown, near)) = misspelt(names) {
        return Err(SacctError::UnknownColumn { unknown: unknown.to_owned(), near: near.to_owned() });
    }
    let expected = delimiter.unwrap_or("|");
    let parts = |delimiter: &str| first.split(delimiter).count();
    if parts(expected) < names.len() {
        let found = USUAL_DELIMITERS.into_iter().find(|other| *other != expected && parts(other) >= names.len());
        if let Some(found) = found {
            return Err(SacctError::WrongDelimiter { expected: expected.to_owned(), found: found.to_owned() });
        }
    }
    let [bare, ended] = [false, true].map(|ends| Layout::new(names, expected.as_bytes(), ends));
    let lines = || bytes.split(|byte| *byte == b'\n').take(JUDGED_LINES);
    let layout = if count_records(lines(), &ended) > count_records(lines(), &bare) { ended } else { bare };
    let has_header = Header::parse(first, expected).is_some();
    Ok((layout, has_header))
}
