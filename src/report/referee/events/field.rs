//! Fields of records: numbers, times and names, and the form of each in a log.

use super::{Cursor, EventReader, EventWriter, Unreadable, put_list};
use crate::tables::csv;
use hansa_sim::decimal::{put_float, put_number, put_number_and, put_seconds};
use hansa_sim::grid::{Area, CableId, EdgeId, Invalid, JobId, JobShape, Needs, NodeSet, TaskId};
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::ReserveAnswer;
use hansa_sim::time::{Span, Time};

/// A field of a record, under a key.
pub trait Field: Sized {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>);
    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Self, Unreadable>;
}

impl Field for u32 {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_number(line, (*self).into());
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<u32, Unreadable> {
        at.key(key)?;
        at.read_number()
    }
}

impl Field for u64 {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_number(line, *self);
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<u64, Unreadable> {
        at.key(key)?;
        at.read_number()
    }
}

impl Field for f64 {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_float(line, *self);
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<f64, Unreadable> {
        at.key(key)?;
        at.read_number()
    }
}

/// Left out where there is none.
impl Field for Option<f64> {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        if let Some(number) = self {
            number.put_field(key, writer, line);
        }
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Option<f64>, Unreadable> {
        if at.is_at_key(key) { f64::read_field(key, reader, at).map(Some) } else { Ok(None) }
    }
}

impl Field for Time {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_seconds(line, self.micros());
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Time, Unreadable> {
        at.key(key)?;
        at.read_seconds().map(Time::from_micros)
    }
}

impl Field for Span {
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_seconds(line, self.micros());
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Span, Unreadable> {
        at.key(key)?;
        at.read_seconds().map(Span::from_micros)
    }
}

impl Field for Area {
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_seconds(line, self.micros());
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Area, Unreadable> {
        at.key(key)?;
        at.read_seconds().map(Area::from_micros)
    }
}

impl Field for ActorId {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_name(line, &writer.actors, self.0);
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<ActorId, Unreadable> {
        at.key(key)?;
        reader.read_actor(at)
    }
}

impl Field for CableId {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_name(line, &writer.links, self.0);
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<CableId, Unreadable> {
        at.key(key)?;
        at.name(&reader.links, CableId, LINK)
    }
}

const LINK: &str = "the name of a link";

/// Left out where there is none.
impl Field for Vec<CableId> {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        if !self.is_empty() {
            put_key(line, key);
            put_list(line, self, |line, link| put_name(line, &writer.links, link.0));
        }
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<CableId>, Unreadable> {
        if !at.is_at_key(key) {
            return Ok(Vec::new());
        }
        at.key(key)?;
        at.read_list(|at| at.name(&reader.links, CableId, LINK))
    }
}

impl Field for JobId {
    fn put_field(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.0.put_field(key, writer, line);
    }

    fn read_field(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<JobId, Unreadable> {
        u32::read_field(key, reader, at).map(JobId)
    }
}

/// Shapes of a malleable job: `[nodes,duration,runtime]` each.
impl Field for Vec<JobShape> {
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_list(line, self, |line, JobShape { nodes, duration, runtime }| {
            line.push(b'[');
            put_number_and(line, (*nodes).into(), b',');
            put_seconds(line, duration.micros());
            line.push(b',');
            put_seconds(line, runtime.micros());
            line.push(b']');
        });
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Vec<JobShape>, Unreadable> {
        at.key(key)?;
        at.read_list(|at| {
            at.expect("[")?;
            let nodes = at.read_number()?;
            at.expect(",")?;
            let duration = Span::from_micros(at.read_seconds()?);
            at.expect(",")?;
            let runtime = Span::from_micros(at.read_seconds()?);
            at.expect("]")?;
            Ok(JobShape { nodes, duration, runtime })
        })
    }
}

/// As `"12.3"`.
impl Field for TaskId {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        put_number_and(line, self.job.0.into(), b'.');
        put_number_and(line, self.index.into(), b'"');
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<TaskId, Unreadable> {
        at.key(key)?;
        at.parsed("a task as \"job.task\"", |text| {
            let (job, index) = text.split_once('.')?;
            Some(TaskId { job: JobId(job.parse().ok()?), index: index.parse().ok()? })
        })
    }
}

/// As `"12.3-4"`, or `"12.home-0"` and `"12.0-home"`.
impl Field for EdgeId {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        put_number(line, self.job.0.into());
        line.push(b'.');
        csv::put_ends(line, self);
        line.push(b'"');
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<EdgeId, Unreadable> {
        at.key(key)?;
        at.parsed("an edge as \"job.task-task\"", |text| {
            let (job, tasks) = text.split_once('.')?;
            let (from, to) = tasks.split_once('-')?;
            Some(EdgeId { job: JobId(job.parse().ok()?), from: read_end(from)?, to: read_end(to)? })
        })
    }
}

fn read_end(text: &str) -> Option<u32> {
    if text == "home" { Some(EdgeId::HOME) } else { text.parse().ok() }
}

/// Under a key each.
impl Field for Needs {
    fn put_field(&self, _: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.cpu.put_field("cpu", writer, line);
        self.memory.put_field("memory", writer, line);
    }

    fn read_field(_: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Needs, Unreadable> {
        Ok(Needs { cpu: Field::read_field("cpu", reader, at)?, memory: Field::read_field("memory", reader, at)? })
    }
}

/// As `"0-3 7"`.
impl Field for NodeSet {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        csv::put_cores(line, self, 0);
        line.push(b'"');
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<NodeSet, Unreadable> {
        at.key(key)?;
        at.parsed("cores as \"0-3 7\"", NodeSet::parse)
    }
}

impl Field for Invalid {
    #[inline]
    fn put_field(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        line.extend_from_slice(self.name().as_bytes());
        line.push(b'"');
    }

    fn read_field(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Invalid, Unreadable> {
        at.key(key)?;
        at.parsed("what is wrong with a request", |word| {
            Invalid::ALL.into_iter().find(|invalid| word == invalid.name())
        })
    }
}

/// Under a key for each answer that there is.
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

pub fn put_name(line: &mut Vec<u8>, names: &[String], number: u32) {
    match names.get(number as usize) {
        Some(name) => line.extend_from_slice(name.as_bytes()),
        None => put_number(line, number.into()),
    }
}
