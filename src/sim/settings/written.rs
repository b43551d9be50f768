//! Written settings: tables of values with their locations. Nothing here knows their meaning.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::diagnostic::Location;

#[derive(Clone, Debug)]
pub struct WrittenNode {
    pub location: Location,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub enum Value {
    Text(String),
    /// A number out of range is clamped to it: no setting needs a larger one.
    Integer(i128),
    /// The text as written, for settings that need it exactly.
    Float(String),
    Boolean(bool),
    Date,
    List(Vec<WrittenNode>),
    Table(Table),
    /// A value that could not be read; the error has been reported.
    Lost,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub entries: Vec<Keyed>,
}

/// A value with its key.
#[derive(Clone, Debug)]
pub struct Keyed {
    pub key: String,
    pub key_location: Location,
    pub node: WrittenNode,
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&WrittenNode> {
        self.entries.iter().find(|keyed| keyed.key == key).map(|keyed| &keyed.node)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut WrittenNode> {
        self.entries.iter_mut().find(|keyed| keyed.key == key).map(|keyed| &mut keyed.node)
    }

    /// Replaces the node of the same key, or adds it.
    pub fn set(&mut self, keyed: Keyed) {
        match self.entries.iter_mut().find(|old| old.key == keyed.key) {
            Some(old) => *old = keyed,
            None => self.entries.push(keyed),
        }
    }

    pub fn take(&mut self, key: &str) -> Option<WrittenNode> {
        let at = self.entries.iter().position(|keyed| keyed.key == key)?;
        Some(self.entries.remove(at).node)
    }
}

/// Content that a topology needs and does not hold itself.
#[derive(Debug, Default)]
pub struct Attached {
    /// Files that settings name, by the location of the name: the path relative to the current directory, and the
    /// content.
    pub files: BTreeMap<Location, (String, FileContent)>,
    /// Prepared jobs of workloads, by the location of the table: what another process made of its keys.
    pub jobs: BTreeMap<Location, Arc<[u8]>>,
}

impl Attached {
    pub const NONE: Attached = Attached { files: BTreeMap::new(), jobs: BTreeMap::new() };
}

/// Content of a file, which several settings may share, or the reason why it cannot be read.
pub type FileContent = Result<Arc<[u8]>, String>;

/// Reads one value as TOML, with all of it at `location`; None if it is not TOML.
pub fn parse_value(text: &str, location: Location) -> Option<WrittenNode> {
    let value = DeValue::parse(text).ok()?;
    Some(WrittenNode { location, value: convert_value(value.get_ref(), &|_| location) })
}

/// Reads a text of keys and values as a table, with all of it at `location`; None if it is not TOML.
pub fn parse_table(text: &str, location: Location) -> Option<Table> {
    let table = DeTable::parse(text).ok()?;
    Some(convert_table(table.get_ref(), &|_| location))
}

pub fn convert_table(table: &DeTable<'_>, location: &impl Fn(std::ops::Range<usize>) -> Location) -> Table {
    let entries = table.iter().map(|(key, value)| Keyed {
        key: key.get_ref().to_string(),
        key_location: location(key.span()),
        node: WrittenNode { location: location(value.span()), value: convert_value(value.get_ref(), location) },
    });
    Table { entries: entries.collect() }
}

fn convert_value(value: &DeValue<'_>, location: &impl Fn(std::ops::Range<usize>) -> Location) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Integer(parse_integer(number.as_str(), number.radix())),
        DeValue::Float(number) => Value::Float(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Value::Boolean(*flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| WrittenNode {
                    location: location(item.span()),
                    value: convert_value(item.get_ref(), location),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(convert_table(table, location)),
    }
}

fn parse_integer(text: &str, radix: u32) -> i128 {
    let beyond = if text.starts_with('-') { i128::MIN } else { i128::MAX };
    i128::from_str_radix(text, radix).unwrap_or(beyond)
}

/// The keys that lead to a value, as a linked list that is rendered only for an error.
#[derive(Clone, Copy, Debug)]
pub struct Path<'p> {
    up: Option<&'p Path<'p>>,
    last: PathStep<'p>,
}

#[derive(Clone, Copy, Debug)]
enum PathStep<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    pub fn root(key: &'p str) -> Path<'p> {
        Path { up: None, last: PathStep::Key(key) }
    }

    pub fn key<'q>(&'q self, key: &'q str) -> Path<'q> {
        Path { up: Some(self), last: PathStep::Key(key) }
    }

    pub fn index<'q>(&'q self, index: usize) -> Path<'q> {
        Path { up: Some(self), last: PathStep::Index(index) }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            write!(f, "{up}.")?;
        }
        match self.last {
            PathStep::Key(key) => f.write_str(key),
            PathStep::Index(index) => write!(f, "{index}"),
        }
    }
}
