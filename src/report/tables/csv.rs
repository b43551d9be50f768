//! Rows of tables, and their fields.

use super::columns::{ColumnForm, TableForm};
use hansa_sim::decimal::{put_number, put_number_and, put_seconds_and, put_shortest};
use hansa_sim::grid::{EdgeId, NodeSet};
use hansa_sim::time::{Span, Time};

/// Puts the tasks of an edge, as `3-4`; `home` is the place of a job's data before and after it.
pub(crate) fn put_ends(line: &mut Vec<u8>, edge: &EdgeId) {
    put_end(line, edge.from);
    line.push(b'-');
    put_end(line, edge.to);
}

fn put_end(line: &mut Vec<u8>, end: u32) {
    match end {
        EdgeId::HOME => line.extend_from_slice(b"home"),
        task => put_number(line, task.into()),
    }
}

/// Runs of cores as `0-3 7`, counted from `first`.
pub(crate) fn put_cores(line: &mut Vec<u8>, cores: &NodeSet, first: u64) {
    let runs = cores.runs().iter();
    put_runs(line, runs.map(|&(low, high)| (first + u64::from(low), first + u64::from(high))));
}

pub(crate) fn put_runs(line: &mut Vec<u8>, runs: impl Iterator<Item = (u64, u64)>) {
    let before = line.len();
    for (low, high) in runs {
        if high > low {
            put_number_and(line, low, b'-');
        }
        put_number_and(line, high, b' ');
    }
    if line.len() > before {
        line.pop();
    }
}

/// A row of a table in progress. It knows the columns of its table, so that fields can be left empty up to a column, or
/// up to the end. Every field leaves a comma behind, and the end removes the last one.
pub(crate) struct CsvRow<'a> {
    pub text: &'a mut Vec<u8>,
    columns: &'static [ColumnForm],
    /// Number of fields so far, and of the columns that this run has, which come first.
    at: usize,
    present: usize,
}

impl TableForm {
    /// Begins a row of all columns.
    pub(crate) fn row<'a>(&self, text: &'a mut Vec<u8>) -> CsvRow<'a> {
        self.row_without(0, text)
    }

    /// Begins a row of a table without as many of its last columns.
    pub(crate) fn row_without<'a>(&self, absent: usize, text: &'a mut Vec<u8>) -> CsvRow<'a> {
        CsvRow { text, columns: self.columns, at: 0, present: self.columns.len() - absent }
    }
}

impl CsvRow<'_> {
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        put_number_and(self.text, number.into(), b',');
        self.at += 1;
        self
    }

    pub fn time(&mut self, time: Time) -> &mut Self {
        put_seconds_and(self.text, time.micros(), b',');
        self.at += 1;
        self
    }

    pub fn span(&mut self, span: Span) -> &mut Self {
        put_seconds_and(self.text, span.micros(), b',');
        self.at += 1;
        self
    }

    /// The shortest decimals that read back as the same number.
    pub fn float(&mut self, number: f64) -> &mut Self {
        put_shortest(self.text, number);
        self.close()
    }

    /// Appends a text, in quotes if it needs them.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.text.extend_from_slice(text.as_bytes());
        self.close()
    }

    pub fn cores(&mut self, cores: &NodeSet, first: u64) -> &mut Self {
        put_cores(self.text, cores, first);
        self.close()
    }

    /// Ends a field, which is empty if nothing has been put into it.
    pub fn close(&mut self) -> &mut Self {
        self.text.push(b',');
        self.at += 1;
        self
    }

    /// Leaves all fields empty up to that of a column, which comes next.
    pub fn until(&mut self, column: &str) -> &mut Self {
        while self.columns[self.at].name != column {
            self.close();
        }
        self
    }

    pub fn maybe<T>(&mut self, field: Option<T>, put: impl FnOnce(&mut Self, T) -> &mut Self) -> &mut Self {
        match field {
            Some(field) => put(self, field),
            None => self.close(),
        }
    }

    /// Ends the row, with empty fields for the rest of its columns.
    pub fn end(&mut self) {
        debug_assert!(self.at <= self.present, "a row has as many fields as columns");
        while self.at < self.present {
            self.close();
        }
        self.text.pop();
        self.text.push(b'\n');
    }
}

/// A name as a field of a table.
pub fn field(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(put: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut line = Vec::new();
        put(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn cores_are_numbered_through() {
        let cores = NodeSet::parse("0-3 7").unwrap();
        assert_eq!(put(|line| put_cores(line, &cores, 0)), cores.to_string());
        assert_eq!(put(|line| put_cores(line, &cores, 10)), "10-13 17");
    }
}
