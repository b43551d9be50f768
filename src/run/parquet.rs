//! The log and the tables of a result as Parquet, made from the finished files. The log is read twice: once to find its
//! columns and their types, and once to convert it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::Failure;
use super::csv::CsvReader;
use super::disk::operation_failure;
use super::files::{EVENTS, ResultFile, ResultFolder};
use hansa_report::parquet::{Cell, Column, Kind, Packing, Writer};
use hansa_report::reference;

/// Fields of events that are whole numbers. Any other one that looks like numbers is one of floats, so that a column
/// has one type in all runs.
const INTS: [&str; 17] = [
    "because",
    "booking",
    "bytes",
    "first_task",
    "idle",
    "job",
    "left",
    "nodes",
    "procs",
    "received",
    "shape",
    "step",
    "task",
    "tasks",
    "times",
    "version",
    "waiting",
];

/// Fields of events that may look like numbers but are text.
const TEXTS: [&str; 12] =
    ["accepted", "actor", "cores", "edge", "from", "kind", "link", "name", "site", "system", "to", "user"];

/// Columns of every event, in order. `step` is left out of the log if it is 0, but always has a column.
const FIRST: [&str; 4] = ["t", "step", "actor", "event"];

const GZIP: Packing = Packing { codec: 2, pack: gzip_page };

/// Adds the files to a folder whose other files are closed.
pub fn add_tables(folder: &mut ResultFolder) -> Result<(), Failure> {
    let tables: Vec<String> =
        folder.names().filter(|name| *name == EVENTS || name.ends_with(".csv")).map(str::to_owned).collect();
    for from in tables {
        let path = folder.partial_dir().path().join(&from);
        let to = Path::new(&from).with_extension("parquet");
        let file = folder.create_file(&to.to_string_lossy())?;
        let file = if from == EVENTS { write_log(file, &path) } else { write_table(file, &path, &from) }?;
        folder.close(file)?;
    }
    Ok(())
}

/// Writes a table, whose columns are described.
fn write_table(mut file: ResultFile, path: &Path, from: &str) -> Result<ResultFile, Failure> {
    let mut table = CsvReader::new(BufReader::new(File::open(path).map_err(|error| cannot_read(error, path))?));
    let names = table.next_row().map_err(|error| cannot_read(error, path))?.ok_or_else(|| senseless_table(path))?;
    let columns: Vec<Column> = names
        .into_iter()
        .map(|name| match reference::kind_of_column(from, &name) {
            Some(kind) => Ok(Column { name, kind }),
            None => Err(Failure::Internal(format!("{from} has a column {name} that is not described"))),
        })
        .collect::<Result<_, _>>()?;
    let mut writer = Writer::new(columns.clone(), GZIP);
    while let Some(cells) = table.next_row().map_err(|error| cannot_read(error, path))? {
        if cells.len() != columns.len() {
            return Err(senseless_table(path));
        }
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            writer.put_cell(
                at,
                match columns[at].kind {
                    Kind::Text => Cell::Text(cell),
                    Kind::Int => Cell::Int(cell.parse().map_err(|_| senseless_table(path))?),
                    Kind::Float => Cell::Float(cell.parse().map_err(|_| senseless_table(path))?),
                },
            );
        }
        writer.end_row();
        write_ready(&mut file, &writer.take_ready())?;
    }
    write_ready(&mut file, &writer.finish())?;
    Ok(file)
}

fn cannot_read(error: std::io::Error, path: &Path) -> Failure {
    operation_failure("read", path, &error)
}

fn senseless_table(path: &Path) -> Failure {
    Failure::Internal(format!("{} is not what was written", path.display()))
}

fn write_ready(file: &mut ResultFile, ready: &[u8]) -> Result<(), Failure> {
    if ready.is_empty() { Ok(()) } else { Ok(file.append_bytes(ready)?) }
}

/// Writes the log, whose columns are the fields of all its events.
fn write_log(mut file: ResultFile, from: &Path) -> Result<ResultFile, Failure> {
    let mut columns = Columns::default();
    FIRST.iter().for_each(|name| columns.insert(name));
    each_event(from, &mut |row| {
        for (position, (_, value)) in row.iter().enumerate() {
            let column = columns.find(position, row).unwrap_or_else(|| {
                columns.insert_all(row);
                columns.find(position, row).expect("it has been inserted")
            });
            columns.seen[column].note_value(value);
        }
        Ok(())
    })?;
    let all: Vec<Column> = columns.seen.iter().map(Seen::column).collect();
    let mut writer = Writer::new(all.clone(), GZIP);
    each_event(from, &mut |row| {
        for (position, (_, value)) in row.iter().enumerate() {
            let column = columns.find(position, row).expect("all columns have been found");
            match (all[column].kind, value) {
                (_, Value::Null) => {}
                (Kind::Text, Value::Text(text)) => writer.put_cell(column, Cell::Text(text)),
                (Kind::Text, value) => writer.put_cell(column, Cell::Text(&value.written_text())),
                (Kind::Int, value) => {
                    value.as_i64().into_iter().for_each(|number| writer.put_cell(column, Cell::Int(number)))
                }
                (Kind::Float, value) => {
                    value.as_f64().into_iter().for_each(|number| writer.put_cell(column, Cell::Float(number)))
                }
            }
        }
        writer.end_row();
        write_ready(&mut file, &writer.take_ready())
    })?;
    write_ready(&mut file, &writer.finish())?;
    Ok(file)
}

/// The columns of a table, in the order in which they were found.
#[derive(Default)]
struct Columns {
    seen: Vec<Seen>,
    by_name: BTreeMap<String, usize>,
    /// Column of the last cell at each position of a row: mostly that of the next one, too.
    last: Vec<usize>,
}

impl Columns {
    fn insert(&mut self, name: &str) {
        self.by_name.insert(name.to_owned(), self.seen.len());
        self.seen.push(Seen::new(name));
    }

    /// Inserts the new columns of an event, in the order of their names.
    fn insert_all(&mut self, row: &Row<'_>) {
        let mut names: Vec<&str> = row.iter().map(|(name, _)| name.as_ref()).collect();
        names.sort_unstable();
        for name in names {
            if !self.by_name.contains_key(name) {
                self.insert(name);
            }
        }
    }

    /// Column of the cell at this position of a row. None if it is new.
    fn find(&mut self, position: usize, row: &Row<'_>) -> Option<usize> {
        let (name, _) = &row[position];
        if let Some(last) = self.last.get(position)
            && self.seen[*last].name == *name
        {
            return Some(*last);
        }
        let column = *self.by_name.get(name.as_ref())?;
        self.last.resize(self.last.len().max(position + 1), column);
        self.last[position] = column;
        Some(column)
    }
}

/// A column, and the kind of the values that have been found in it.
struct Seen {
    name: String,
    is_whole: bool,
    is_text: bool,
    kind: Option<Kind>,
}

impl Seen {
    fn new(name: &str) -> Seen {
        Seen { name: name.to_owned(), is_whole: INTS.contains(&name), is_text: TEXTS.contains(&name), kind: None }
    }

    fn note_value(&mut self, value: &Value<'_>) {
        let kind = match value {
            Value::Null => return,
            Value::Int(_) if self.is_whole => Kind::Int,
            Value::Int(_) | Value::Float(_) => Kind::Float,
            Value::Text(_) => Kind::Text,
            Value::Other(other) if other.is_number() => Kind::Float,
            Value::Other(_) => Kind::Text,
        };
        self.kind = Some(match (self.kind, kind) {
            (None, kind) => kind,
            (Some(before), kind) if before == kind => kind,
            (Some(Kind::Text), _) | (_, Kind::Text) => Kind::Text,
            _ => Kind::Float,
        });
    }

    fn column(&self) -> Column {
        let kind = match self.kind {
            _ if self.is_text => Kind::Text,
            Some(kind) => kind,
            None if self.is_whole => Kind::Int,
            None => Kind::Float,
        };
        Column { name: self.name.clone(), kind }
    }
}

/// A value of a row; texts are borrowed from it where they have no escapes.
enum Value<'a> {
    Null,
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    /// A list, a table, a truth value, or a number above `i64::MAX`.
    Other(serde_json::Value),
}

impl Value<'_> {
    /// Text in a column of texts: lists and tables stay as written.
    fn written_text(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => serde_json::Value::from(*number).to_string(),
            Value::Text(text) => text.to_string(),
            Value::Other(other) => other.to_string(),
        }
    }

    fn as_i64(&self) -> Option<i64> {
        if let Value::Int(number) = self { Some(*number) } else { None }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Other(other) => other.as_f64(),
            Value::Null | Value::Text(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Value<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(OfValue)
    }
}

struct OfValue;

impl<'de> Visitor<'de> for OfValue {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of an event")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(i64::try_from(value).map_or_else(|_| Value::Other(value.into()), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Value<'de>, A::Error> {
        serde_json::Value::deserialize(SeqAccessDeserializer::new(list)).map(Value::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Value<'de>, A::Error> {
        serde_json::Value::deserialize(MapAccessDeserializer::new(table)).map(Value::Other)
    }
}

type Row<'a> = [(Cow<'a, str>, Value<'a>)];

/// An event, as its keys and values in order.
struct Event<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'de> Deserialize<'de> for Event<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event<'de>, D::Error> {
        deserializer.deserialize_map(OfEvent)
    }
}

struct OfEvent;

impl<'de> Visitor<'de> for OfEvent {
    type Value = Event<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Event<'de>, A::Error> {
        let mut row = Vec::with_capacity(16);
        while let Some((key, value)) = table.next_entry::<Value<'de>, Value<'de>>()? {
            let Value::Text(key) = key else { return Err(A::Error::custom("a key is a text")) };
            row.push((key, value));
        }
        Ok(Event(row))
    }
}

fn each_event(path: &Path, take: &mut dyn FnMut(&Row<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| operation_failure("read", path, &error);
    let mut file = BufReader::new(File::open(path).map_err(cannot)?);
    let mut line = String::new();
    while file.read_line(&mut line).map_err(cannot)? > 0 {
        let Event(row) = serde_json::from_str(&line)
            .map_err(|_| Failure::Internal(format!("{} is not what was written", path.display())))?;
        take(&row)?;
        line.clear();
    }
    Ok(())
}

fn gzip_page(page: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(page).and_then(|()| packed.finish()).expect("memory takes all bytes")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::strategy::{Strategy, ValueTree};
    use proptest::test_runner::TestRunner;
    use serde_json::{Map, Value};

    use super::{INTS, TEXTS};
    use crate::any_entry::any_entry;
    use crate::story::names;
    use hansa_report::{EventWriter, Names};

    #[test]
    fn what_stands_in_each_column_is_known() {
        let mut seen: BTreeMap<String, [bool; 3]> = BTreeMap::new();
        let mut runner = TestRunner::deterministic();
        let writer = EventWriter::new(&Names { links: vec!["trunk".to_owned()], ..names() });
        for _ in 0..5_000 {
            let mut line = Vec::new();
            writer.write(&any_entry().new_tree(&mut runner).unwrap().current(), &mut line);
            let event: Map<String, Value> = serde_json::from_slice(&line).unwrap();
            for (name, value) in event.into_iter().filter(|(_, value)| !value.is_null()) {
                let what = [value.is_i64() || value.is_u64(), value.is_f64(), !value.is_number()];
                let seen = seen.entry(name).or_default();
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
    }
}
