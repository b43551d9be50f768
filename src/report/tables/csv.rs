//! Rows of tables, and their fields.

use hansa_sim::decimal::{put_number, put_number_and, put_seconds_and, put_shortest};
use hansa_sim::grid::{EdgeId, NodeSet};
use hansa_sim::time::{Span, Time};

/// Puts the tasks of an edge, as `3-4`; `home` is the place of a job's data before and after it.
pub(crate) fn put_ends(line: &mut Vec<u8>, edge: &EdgeId) {
    let put = |line: &mut Vec<u8>, end: u32| match end {
        EdgeId::HOME => line.extend_from_slice(b"home"),
        task => put_number(line, task.into()),
    };
    put(line, edge.from);
    line.push(b'-');
    put(line, edge.to);
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

/// One row of a table. Every field leaves a comma behind, and the end removes the last one.
pub(crate) struct CsvRow<'a>(pub &'a mut Vec<u8>);

impl CsvRow<'_> {
    pub fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        put_number_and(self.0, number.into(), b',');
        self
    }

    pub fn time(&mut self, time: Time) -> &mut Self {
        put_seconds_and(self.0, time.micros(), b',');
        self
    }

    pub fn span(&mut self, span: Span) -> &mut Self {
        put_seconds_and(self.0, span.micros(), b',');
        self
    }

    /// The shortest decimals that read back as the same number.
    pub fn float(&mut self, number: f64) -> &mut Self {
        put_shortest(self.0, number);
        self.empty()
    }

    /// Text that needs no quotes, or has them.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self.empty()
    }

    pub fn cores(&mut self, cores: &NodeSet, first: u64) -> &mut Self {
        put_cores(self.0, cores, first);
        self.empty()
    }

    pub fn empty(&mut self) -> &mut Self {
        self.0.push(b',');
        self
    }

    /// Adds empty fields.
    pub fn empties(&mut self, count: usize) -> &mut Self {
        self.0.extend_from_slice(&b",,,,,,,,"[..count]);
        self
    }

    /// Adds fields in their final form, including the comma after the last one.
    pub fn fields(&mut self, fields: &[u8]) -> &mut Self {
        self.0.extend_from_slice(fields);
        self
    }

    pub fn maybe<T>(&mut self, field: Option<T>, put: impl FnOnce(&mut Self, T) -> &mut Self) -> &mut Self {
        match field {
            Some(field) => put(self, field),
            None => self.empty(),
        }
    }

    pub fn end(&mut self) {
        self.0.pop();
        self.0.push(b'\n');
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
