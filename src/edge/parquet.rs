//! The log and the tables of a result as Parquet, made of the files that are there already: twice read, once to see which columns
//! there are and what stands in them, and once to write.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value};

use super::Failure;
use super::disk::cannot;
use super::files::{EVENTS, JOBS, ResultFolder};
use crate::report::parquet::{Cell, Column, Kind, Packing, Writer};

/// Files that become others.
const TABLES: [(&str, &str); 5] = [
    (EVENTS, "events.parquet"),
    (JOBS, "jobs.parquet"),
    ("tasks.csv", "tasks.parquet"),
    ("transfers.csv", "transfers.parquet"),
    ("reservations.csv", "reservations.parquet"),
];

/// Columns of whole numbers. What else looks like a number is a floating one, so that a column is the same in every run.
const INTS: [&str; 18] = [
    "active",
    "booking",
    "bytes",
    "first_task",
    "hold",
    "job",
    "job_id",
    "nodes",
    "procs",
    "request",
    "requested_number_of_resources",
    "slots",
    "starved",
    "step",
    "success",
    "task",
    "version",
    "row",
];

/// Columns that look like numbers now and then, and are texts.
const TEXTS: [&str; 17] = [
    "actor",
    "allocated",
    "allocated_resources",
    "cores",
    "edge",
    "final_state",
    "from",
    "kind",
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

const FIRST: [&str; 4] = ["t", "step", "actor", "event"];

const GZIP: Packing = Packing { codec: 2, pack };

/// Adds them to a folder whose other files are closed.
pub fn add(folder: &mut ResultFolder) -> Result<(), Failure> {
    for (from, to) in TABLES {
        let path = folder.stand_in().path().join(from);
        if path.exists() {
            write(folder, &path, to)?;
        }
    }
    Ok(())
}

fn write(folder: &mut ResultFolder, from: &Path, to: &str) -> Result<(), Failure> {
    let mut columns: Vec<Seen> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    each_row(from, &mut |row| {
        for (name, value) in row {
            let place = *places.entry(name.clone()).or_insert_with(|| {
                columns.push(Seen { name: name.clone(), kind: None });
                columns.len() - 1
            });
            columns[place].see(value);
        }
        Ok(())
    })?;
    let mut columns: Vec<Column> = columns.into_iter().map(Seen::column).collect();
    // What all events have; a table's first column is never one of these.
    columns.sort_by_key(|column| FIRST.iter().position(|name| *name == column.name).unwrap_or(FIRST.len()));
    let mut file = folder.writer(to)?;
    let mut writer = Writer::new(columns.clone(), GZIP);
    each_row(from, &mut |row| {
        let texts: Vec<String> = columns.iter().map(|column| text(column.kind, find(row, &column.name))).collect();
        let cells = columns.iter().zip(&texts).map(|(column, text)| cell(column.kind, find(row, &column.name), text));
        writer.row(cells);
        Ok(file.put(&writer.take())?)
    })?;
    file.put(&writer.finish())?;
    Ok(folder.close(file)?)
}

/// A column, and what has been seen in it.
struct Seen {
    name: String,
    kind: Option<Kind>,
}

impl Seen {
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

fn find<'r>(row: &'r Row, name: &str) -> &'r Value {
    row.iter().find(|(found, _)| found == name).map_or(&Value::Null, |(_, value)| value)
}

/// What a column of texts has of a value that is none: lists and tables stay as they were written.
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
    let mut lines = BufReader::new(File::open(path).map_err(cannot)?).lines();
    let senseless = || Failure::Internal(format!("{} is not what was written", path.display()));
    if path.extension().is_some_and(|extension| extension == "jsonl") {
        for line in lines {
            let event: Map<String, Value> = serde_json::from_str(&line.map_err(cannot)?).map_err(|_| senseless())?;
            take(&event.into_iter().collect::<Vec<_>>())?;
        }
        return Ok(());
    }
    let Some(header) = lines.next().transpose().map_err(cannot)? else { return Ok(()) };
    let names = cells(&header);
    for line in lines {
        let cells = cells(&line.map_err(cannot)?);
        if cells.len() != names.len() {
            return Err(senseless());
        }
        let row = names.iter().zip(cells).map(|(name, cell)| (name.clone(), value(name, cell)));
        take(&row.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// A cell of a table as what it looks like.
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

/// The cells of a line; quotes keep commas in them.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut inside = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(cell) = cells.last_mut() else { break };
        match letter {
            '"' if inside && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => inside = !inside,
            ',' if !inside => cells.push(String::new()),
            letter => cell.push(letter),
        }
    }
    cells
}

fn pack(page: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(page).and_then(|()| packed.finish()).expect("memory takes all bytes")
}
