//! Fields of records: numbers, times and names, and the form of each in a log.

use super::{Cursor, EventReader, EventWriter, Unreadable, put_list};
use crate::tables::csv;
use hansa_sim::decimal::{put_float, put_number, put_number_and, put_seconds};
use hansa_sim::grid::{Area, BookingId, CableId, EdgeId, Invalid, JobId, JobShape, Needs, NodeSet, Rate, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// A field of a record, under a key. Some have several keys of their own, and some are left out if they are empty.
pub trait Field: Sized {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>);
    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Self, Unreadable>;
}

/// A value that a line has as it stands, under a key or in a list.
pub trait LineValue: Sized {
    fn put_value(&self, writer: &EventWriter, line: &mut Vec<u8>);
    fn read_value(reader: &EventReader, at: &mut Cursor<'_>) -> Result<Self, Unreadable>;
}

impl<V: LineValue> Field for V {
    #[inline]
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        self.put_value(writer, line);
    }

    #[inline]
    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<V, Unreadable> {
        at.key(key)?;
        V::read_value(reader, at)
    }
}

/// Values by the functions that write and read them.
macro_rules! values {
    ($($kind:ty: |$value:ident, $line:ident| $put:expr, |$at:ident| $read:expr;)*) => {$(
        impl LineValue for $kind {
            #[inline]
            fn put_value(&self, _: &EventWriter, $line: &mut Vec<u8>) {
                let $value = self;
                $put;
            }

            fn read_value(_: &EventReader, $at: &mut Cursor<'_>) -> Result<$kind, Unreadable> {
                $read
            }
        }
    )*};
}

values! {
    u32: |number, line| put_number(line, (*number).into()), |at| at.read_number();
    u64: |number, line| put_number(line, *number), |at| at.read_number();
    f64: |number, line| put_float(line, *number), |at| at.read_number();
    bool: |is, line| line.extend_from_slice(if *is { b"true" } else { b"false" }), |at| at.read_number();
    Time: |time, line| put_seconds(line, time.micros()), |at| at.read_seconds().map(Time::from_micros);
    Span: |span, line| put_seconds(line, span.micros()), |at| at.read_seconds().map(Span::from_micros);
    Area: |area, line| put_seconds(line, area.micros()), |at| at.read_seconds().map(Area::from_micros);
    JobId: |job, line| put_number(line, job.0.into()), |at| at.read_number().map(JobId);
    BookingId: |booking, line| put_number(line, booking.0), |at| at.read_number().map(BookingId);
    Rate: |rate, line| put_number(line, rate.0.into()), |at| at.read_number().map(Rate);
    TaskId: |task, line| put_task(line, *task), |at| at.parsed("a task as \"job.task\"", read_task);
    EdgeId: |edge, line| put_edge(line, edge), |at| at.parsed("an edge as \"job.task-task\"", read_edge);
    NodeSet: |nodes, line| put_nodes(line, nodes), |at| at.parsed("cores as \"0-3 7\"", NodeSet::parse);
    Invalid: |invalid, line| put_word(line, invalid.name()), |at| at.parsed("what is wrong with a request", read_invalid);
}

impl LineValue for ActorId {
    fn put_value(&self, writer: &EventWriter, line: &mut Vec<u8>) {
        put_name(line, &writer.actors, self.0);
    }

    fn read_value(reader: &EventReader, at: &mut Cursor<'_>) -> Result<ActorId, Unreadable> {
        reader.read_actor(at)
    }
}

impl LineValue for CableId {
    fn put_value(&self, writer: &EventWriter, line: &mut Vec<u8>) {
        put_name(line, &writer.links, self.0);
    }

    fn read_value(reader: &EventReader, at: &mut Cursor<'_>) -> Result<CableId, Unreadable> {
        at.name(&reader.links, CableId, "the name of a link")
    }
}

/// Omitted from the line if it is None.
impl<F: Field> Field for Option<F> {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        if let Some(field) = self {
            field.put_field(key, writer, line);
        }
    }

    #[inline]
    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Option<F>, Unreadable> {
        if at.is_at_key(key) { F::read_field(key, reader, at).map(Some) } else { Ok(None) }
    }
}

/// Omitted from the line if the list is empty.
impl Field for Vec<CableId> {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        if !self.is_empty() {
            put_key(line, key);
            put_list(line, self, |line, link| link.put_value(writer, line));
        }
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<CableId>, Unreadable> {
        if !at.is_at_key(key) {
            return Ok(Vec::new());
        }
        at.key(key)?;
        at.read_list(|at| CableId::read_value(reader, at))
    }
}

/// A value that may be an item of a list.
pub trait ListItem: LineValue {}

impl<I: ListItem> LineValue for Vec<I> {
    fn put_value(&self, writer: &EventWriter, line: &mut Vec<u8>) {
        put_list(line, self, |line, item| item.put_value(writer, line));
    }

    fn read_value(reader: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<I>, Unreadable> {
        at.read_list(|at| I::read_value(reader, at))
    }
}

/// Items of lists that are themselves lists: `[nodes,duration,runtime]`.
macro_rules! rows {
    ($($kind:ident { $first:ident $(, $field:ident)* })*) => {$(
        impl $crate::referee::events::LineValue for $kind {
            fn put_value(&self, writer: &$crate::referee::events::EventWriter, line: &mut Vec<u8>) {
                line.push(b'[');
                self.$first.put_value(writer, line);
                $(
                    line.push(b',');
                    self.$field.put_value(writer, line);
                )*
                line.push(b']');
            }

            fn read_value(
                reader: &$crate::referee::events::EventReader,
                at: &mut $crate::referee::events::Cursor<'_>,
            ) -> Result<$kind, $crate::referee::events::Unreadable> {
                at.expect("[")?;
                let $first = $crate::referee::events::LineValue::read_value(reader, at)?;
                $(
                    at.expect(",")?;
                    let $field = $crate::referee::events::LineValue::read_value(reader, at)?;
                )*
                at.expect("]")?;
                Ok($kind { $first $(, $field)* })
            }
        }

        impl $crate::referee::events::ListItem for $kind {}
    )*};
}

/// Fields with a key for each of their parts.
macro_rules! groups {
    ($($kind:ident { $($field:ident: $key:literal),* })*) => {$(
        impl $crate::referee::events::Field for $kind {
            fn put_field(&self, _: &str, writer: &$crate::referee::events::EventWriter, line: &mut Vec<u8>) {
                $(self.$field.put_field($key, writer, line);)*
            }

            fn read_field(
                _: &str,
                reader: &$crate::referee::events::EventReader,
                at: &mut $crate::referee::events::Cursor<'_>,
            ) -> Result<$kind, $crate::referee::events::Unreadable> {
                $(let $field = $crate::referee::events::Field::read_field($key, reader, at)?;)*
                Ok($kind { $($field),* })
            }
        }
    )*};
}

pub(crate) use {groups, rows};

rows! { JobShape { nodes, duration, runtime } }

groups! { Needs { cpu: "cpu", memory: "memory" } }

/// Appends a task in the form `"12.3"`.
#[inline]
fn put_task(line: &mut Vec<u8>, task: TaskId) {
    line.push(b'"');
    put_number_and(line, task.job.0.into(), b'.');
    put_number_and(line, task.index.into(), b'"');
}

fn read_task(text: &str) -> Option<TaskId> {
    let (job, index) = text.split_once('.')?;
    Some(TaskId { job: JobId(job.parse().ok()?), index: index.parse().ok()? })
}

/// As `"12.3-4"`, or `"12.home-0"` and `"12.0-home"`.
#[inline]
fn put_edge(line: &mut Vec<u8>, edge: &EdgeId) {
    line.push(b'"');
    put_number(line, edge.job.0.into());
    line.push(b'.');
    csv::put_ends(line, edge);
    line.push(b'"');
}

fn read_edge(text: &str) -> Option<EdgeId> {
    let (job, tasks) = text.split_once('.')?;
    let (from, to) = tasks.split_once('-')?;
    Some(EdgeId { job: JobId(job.parse().ok()?), from: read_end(from)?, to: read_end(to)? })
}

fn read_end(text: &str) -> Option<u32> {
    if text == "home" { Some(EdgeId::HOME) } else { text.parse().ok() }
}

/// Appends nodes in the form `"0-3 7"`.
#[inline]
fn put_nodes(line: &mut Vec<u8>, nodes: &NodeSet) {
    line.push(b'"');
    csv::put_cores(line, nodes, 0);
    line.push(b'"');
}

fn read_invalid(word: &str) -> Option<Invalid> {
    Invalid::ALL.into_iter().find(|invalid| word == invalid.name())
}

/// Written under a key that depends on the answer.
impl Field for ReserveAnswer {
    fn put_field(&self, _: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        match self {
            ReserveAnswer::Accepted { site, start, nodes } => {
                site.put_field("accepted", writer, line);
                start.put_field("start", writer, line);
                nodes.put_field("cores", writer, line);
            }
            ReserveAnswer::Declined => line.extend_from_slice(b",\"declined\":true"),
            ReserveAnswer::Invalid(invalid) => invalid.put_field("invalid", writer, line),
        }
    }

    fn read_field(_: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<ReserveAnswer, Unreadable> {
        if at.accept(",\"declined\":true") {
            return Ok(ReserveAnswer::Declined);
        }
        if !at.is_at_key("accepted") {
            return Invalid::read_field("invalid", reader, at).map(ReserveAnswer::Invalid);
        }
        let site = Field::read_field("accepted", reader, at)?;
        let start = Field::read_field("start", reader, at)?;
        Ok(ReserveAnswer::Accepted { site, start, nodes: Field::read_field("cores", reader, at)? })
    }
}

/// Wherever it is called the key is known, and then it is copied in as many moves as it takes.
#[inline]
pub fn put_key(line: &mut Vec<u8>, key: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(key.as_bytes());
    line.extend_from_slice(b"\":");
}

/// A word in quotes, which needs no escapes.
#[inline]
pub fn put_word(line: &mut Vec<u8>, word: &str) {
    line.push(b'"');
    line.extend_from_slice(word.as_bytes());
    line.push(b'"');
}

pub fn put_name(line: &mut Vec<u8>, names: &[String], number: u32) {
    match names.get(number as usize) {
        Some(name) => line.extend_from_slice(name.as_bytes()),
        None => put_number(line, number.into()),
    }
}
