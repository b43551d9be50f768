//! The log and the tables of a result as Parquet, made from the finished files. Each is read twice: once to find its
//! columns and their types, and once to convert it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value};

use super::Failure;
use super::csv::CsvReader;
use super::disk::cannot;
use super::files::{EVENTS, ResultFolder};
use crate::few;
use crate::report::parquet::{Cell, Column, Kind, Packing, Writer};

/// Columns of whole numbers. Any other column that looks like numbers is one of floats, so that a column has one type
/// in all runs.
const INTS: [&str; 21] = [
    "because",
    "booking",
    "bytes",
    "first_task",
    "job",
    "job_id",
    "left",
    "migrations",
    "moved",
    "nodes",
    "preemptions",
    "procs",
    "request",
    "requested_number_of_resources",
    "starved",
    "step",
    "success",
    "task",
    "tasks",
    "times",
    "version",
];

/// Columns that may look like numbers but are text.
const TEXTS: [&str; 19] = [
    "accepted",
    "actor",
    "allocated",
    "allocated_resources",
    "cores",
    "edge",
    "final_state",
    "from",
    "kind",
    "link",
    "metadata",
    "name",
    "profile",
    "site",
    "state",
    "system",
    "to",
    "user",
    "workload_name",
];

/// Columns of every event, in order. `step` is left out of the log if it is 0, but always has a column.
const FIRST: [&str; 4] = ["t", "step", "actor", "event"];

const GZIP: Packing = Packing { codec: 2, pack };

/// Adds the files to a folder whose other files are closed.
pub fn add(folder: &mut ResultFolder) -> Result<(), Failure> {
    let is_table = |name: &&str| *name == EVENTS || name.ends_with(".csv");
    let tables: Vec<String> = folder.names().filter(is_table).map(str::to_owned).collect();
    for from in tables {
        let path = folder.stand_in().path().join(&from);
        let to = Path::new(&from).with_extension("parquet");
        write(folder, &path, &to.to_string_lossy())?;
    }
    Ok(())
}

fn write(folder: &mut ResultFolder, from: &Path, to: &str) -> Result<(), Failure> {
    let columns = columns(from)?;
    let places: few::Map<&str, usize> =
        columns.iter().enumerate().map(|(place, column)| (column.name.as_str(), place)).collect();
    let mut file = folder.writer(to)?;
    let mut writer = Writer::new(columns.clone(), GZIP);
    each_row(from, &mut |row| {
        let mut values = vec![&Value::Null; columns.len()];
        for (name, value) in row {
            values[places[name.as_str()]] = value;
        }
        let values: Vec<_> = columns.iter().map(|column| column.kind).zip(values).collect();
        let texts: Vec<String> = values.iter().map(|(kind, value)| text(*kind, value)).collect();
        writer.row(values.iter().zip(&texts).map(|((kind, value), text)| cell(*kind, value, text)));
        Ok(file.put(&writer.take())?)
    })?;
    file.put(&writer.finish())?;
    Ok(folder.close(file)?)
}

/// All columns, and what stands in them.
fn columns(from: &Path) -> Result<Vec<Column>, Failure> {
    let of_all = if from.ends_with(EVENTS) { &FIRST[..] } else { &[] };
    let mut seen: Vec<Seen> = of_all.iter().map(|name| Seen::new(name)).collect();
    let mut places: few::Map<String, usize> = of_all.iter().map(|name| (*name).to_owned()).zip(0..).collect();
    each_row(from, &mut |row| {
        for (name, value) in row {
            let place = *places.or_insert_with(name.clone(), || {
                seen.push(Seen::new(name));
                seen.len() - 1
            });
            seen[place].see(value);
        }
        Ok(())
    })?;
    Ok(seen.into_iter().map(Seen::column).collect())
}

/// A column, with the kind of the values seen in it so far.
struct Seen {
    name: String,
    kind: Option<Kind>,
}

impl Seen {
    fn new(name: &str) -> Seen {
        Seen { name: name.to_owned(), kind: None }
    }

    fn see(&mut self, value: &Value) {
        let kind = match value {
            Value::Null => return,
            Value::Number(number) if INTS.contains(&self.name.as_str()) && number.as_i64().is_some() => Kind::Int,
            Value::Number(_) => Kind::Float,
            _ => Kind::Text,
        };
        self.kind = Some(match (self.kind, kind) {
            (None, kind) => kind,
            (Some(before), kind) if before == kind => kind,
            (Some(Kind::Text), _) | (_, Kind::Text) => Kind::Text,
            _ => Kind::Float,
        });
    }

    fn column(self) -> Column {
        let kind = match TEXTS.contains(&self.name.as_str()) {
            true => Kind::Text,
            false if INTS.contains(&self.name.as_str()) => self.kind.unwrap_or(Kind::Int),
            false => self.kind.unwrap_or(Kind::Float),
        };
        Column { name: self.name, kind }
    }
}

type Row = [(String, Value)];

/// Text of a value in a column of texts: lists and tables stay as written. Empty for null, and in other columns.
fn text(kind: Kind, value: &Value) -> String {
    match value {
        Value::Null | Value::String(_) => String::new(),
        value if kind == Kind::Text => value.to_string(),
        _ => String::new(),
    }
}

fn cell<'a>(kind: Kind, value: &'a Value, text: &'a str) -> Option<Cell<'a>> {
    match (kind, value) {
        (_, Value::Null) => None,
        (Kind::Text, Value::String(text)) => Some(Cell::Text(text)),
        (Kind::Text, _) => Some(Cell::Text(text)),
        (Kind::Int, value) => value.as_i64().map(Cell::Int),
        (Kind::Float, value) => value.as_f64().map(Cell::Float),
    }
}

fn each_row(path: &Path, take: &mut dyn FnMut(&Row) -> Result<(), Failure>) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| cannot("read", path, &error);
    let file = BufReader::new(File::open(path).map_err(cannot)?);
    let senseless = || Failure::Internal(format!("{} has changed since it was written", path.display()));
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        for line in file.lines() {
            let event: Map<String, Value> = serde_json::from_str(&line.map_err(cannot)?).map_err(|_| senseless())?;
            take(&event.into_iter().collect::<Vec<_>>())?;
        }
        return Ok(());
    }
    let mut table = CsvReader::new(file);
    let Some(names) = table.next_row().map_err(cannot)? else { return Ok(()) };
    while let Some(cells) = table.next_row().map_err(cannot)? {
        if cells.len() != names.len() {
            return Err(senseless());
        }
        let row = names.iter().zip(cells).map(|(name, cell)| (name.clone(), value(name, cell)));
        take(&row.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// A cell of a table as a JSON value: a number if it looks like one and its column is not of texts.
fn value(name: &str, cell: String) -> Value {
    if cell.is_empty() {
        return Value::Null;
    }
    if TEXTS.contains(&name) {
        return Value::String(cell);
    }
    let number = cell.parse::<i64>().ok().map(Value::from);
    let number = number.or_else(|| cell.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from));
    number.unwrap_or(Value::String(cell))
}

fn pack(page: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(page).and_then(|()| packed.finish()).expect("memory takes all bytes")
}

#[cfg(test)]
mod tests {
    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;

    use super::*;
    use crate::report::tests::{any_entry, names};
    use crate::report::{EventWriter, Names};

    /// Columns of tables that are floating numbers, or texts that never look like numbers.
    const OTHERS: [&str; 14] = [
        "consumed_energy",
        "execution_time",
        "finish_time",
        "last_end",
        "ready_time",
        "requested_time",
        "slr",
        "starting_time",
        "stretch",
        "submission_time",
        "turnaround_time",
        "value",
        "value_max",
        "waiting_time",
    ];

    #[test]
    fn what_stands_in_each_column_is_known() {
        let mut seen: few::Map<String, [bool; 3]> = few::Map::new();
        let mut runner = TestRunner::deterministic();
        let writer = EventWriter::new(&Names { links: vec!["trunk".to_owned()], ..names() });
        for _ in 0..5_000 {
            let mut line = Vec::new();
            writer.write(&any_entry().new_tree(&mut runner).unwrap().current(), &mut line);
            let event: Map<String, Value> = serde_json::from_slice(&line).unwrap();
            for (name, value) in event.into_iter().filter(|(_, value)| !value.is_null()) {
                let what = [value.is_i64() || value.is_u64(), value.is_f64(), !value.is_number()];
                let seen = seen.or_default(name);
                what.iter().enumerate().for_each(|(kind, is)| seen[kind] |= is);
            }
        }
        assert!(seen.len() > 40, "{}", seen.len());
        let is_known = |name: &str, seen: [bool; 3]| match (seen, INTS.contains(&name), TEXTS.contains(&name)) {
            ([true, false, false], is_int, is_text) => is_int && !is_text,
            ([_, true, false], is_int, is_text) => !is_int && !is_text,
            ([false, false, true], ..) => true,
            (_, is_int, is_text) => !is_int && is_text,
        };
        let unknown: Vec<_> = seen.iter().filter(|(name, seen)| !is_known(name, **seen)).collect();
        assert!(unknown.is_empty(), "whole, floating, others: {unknown:?}");
        for table in [include_str!("../report/golden/jobs.csv"), include_str!("../report/golden/tasks.csv")] {
            for name in table.lines().next().unwrap().split(',') {
                assert!(INTS.contains(&name) || TEXTS.contains(&name) || OTHERS.contains(&name), "{name}");
            }
        }
    }
}
