//! `events.jsonl`: the log in words, one JSON object a line, in log order.
//!
//! ```json
//! {"t":123.5,"actor":"york","event":"started","task":"12.3","cores":"0-3 7"}
//! ```
//!
//! Times and spans are seconds with exactly the decimals they need, so nothing is rounded; `step` is there unless it is
//! zero; whoever has no name is a bare number. The reader takes what the writer writes, key by key, and gives back the
//! very entry: the digest of a run can be computed again from this file.

use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::Names;
use super::text::{self, put_number, put_seconds};
use crate::grid::{Edge, EdgeId, Invalid, Job, JobId, Kind, Needs, NodeSet, Task, TaskId, Worth};
use crate::kernel::{ActorId, Entry};
use crate::protocol::{Answer, Record};
use crate::time::{Span, Stamp, Time};

/// Writes entries as lines.
#[derive(Clone, Debug)]
pub struct EventWriter {
    // As they stand in a line, quotes and all.
    actors: Vec<String>,
    kinds: Vec<String>,
}

/// Reads lines back to entries.
#[derive(Clone, Debug)]
pub struct EventReader {
    actors: BTreeMap<String, ActorId>,
    kinds: BTreeMap<String, Kind>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}")]
pub struct Unreadable {
    pub column: usize,
    pub expected: String,
}

impl EventWriter {
    pub fn new(names: &Names) -> EventWriter {
        EventWriter { actors: quoted(&names.actors), kinds: quoted(&names.kinds) }
    }

    /// Appends the line of an entry, newline included.
    pub fn write(&self, entry: &Entry<Record>, line: &mut Vec<u8>) {
        line.extend_from_slice(b"{\"t\":");
        put_seconds(line, entry.stamp.time.micros());
        if entry.stamp.step > 0 {
            line.extend_from_slice(b",\"step\":");
            put_number(line, entry.stamp.step.into());
        }
        line.extend_from_slice(b",\"actor\":");
        put_name(line, &self.actors, entry.actor.0);
        self.put_record(line, &entry.record);
        line.extend_from_slice(b"}\n");
    }

    fn put_job(&self, line: &mut Vec<u8>, job: &Job, user: ActorId) {
        put_job_id(line, job.id);
        line.extend_from_slice(b",\"user\":");
        put_name(line, &self.actors, user.0);
        line.extend_from_slice(b",\"submitted\":");
        put_seconds(line, job.arrive.micros());
        line.extend_from_slice(b",\"first_task\":");
        put_number(line, job.first_task.into());
        line.extend_from_slice(b",\"tasks\":");
        put_list(line, &job.tasks, |line, task| {
            line.extend_from_slice(b"{\"runtime\":");
            put_seconds(line, task.runtime.micros());
            line.extend_from_slice(b",\"cores\":");
            put_number(line, task.cores.into());
            line.extend_from_slice(b",\"kind\":");
            put_name(line, &self.kinds, task.kind.0.into());
            if task.walltime != task.runtime {
                line.extend_from_slice(b",\"walltime\":");
                put_seconds(line, task.walltime.micros());
            }
            line.push(b'}');
        });
        line.extend_from_slice(b",\"edges\":");
        put_list(line, &job.edges, |line, edge| {
            line.push(b'[');
            put_number(line, edge.from.into());
            line.push(b',');
            put_number(line, edge.to.into());
            if edge.data > 0 {
                line.push(b',');
                put_number(line, edge.data);
            }
            line.push(b']');
        });
        if let Some(worth) = &job.worth {
            line.extend_from_slice(b",\"worth\":");
            put_float(line, worth.max);
            line.extend_from_slice(b",\"curve\":");
            serde_json::to_writer(&mut *line, &worth.curve).expect("a checked curve is always JSON");
        }
    }
}

impl EventReader {
    pub fn new(names: &Names) -> EventReader {
        let index = |names: &[String]| quoted(names).into_iter().zip(0u32..).collect::<BTreeMap<String, u32>>();
        EventReader {
            actors: index(&names.actors).into_iter().map(|(name, id)| (name, ActorId(id))).collect(),
            kinds: index(&names.kinds).into_iter().map(|(name, id)| (name, Kind(id as u16))).collect(),
        }
    }

    /// Reads one line, without its newline.
    pub fn read(&self, line: &[u8]) -> Result<Entry<Record>, Unreadable> {
        let text = std::str::from_utf8(line)
            .map_err(|e| Unreadable { column: e.valid_up_to() + 1, expected: "UTF-8".to_owned() })?;
        let mut at = Cursor { text, at: 0 };
        at.expect("{\"t\":")?;
        let time = Time::from_micros(at.seconds()?);
        let step = if at.accept(",\"step\":") { at.number()? } else { 0 };
        at.expect(",\"actor\":")?;
        let actor = self.actor(&mut at)?;
        at.expect(",\"event\":")?;
        let record = self.record(&mut at)?;
        at.expect("}")?;
        if at.at < text.len() {
            return Err(at.wrong("the end of the line"));
        }
        Ok(Entry { stamp: Stamp { time, step }, actor, record })
    }

    fn job(&self, at: &mut Cursor<'_>) -> Result<(Arc<Job>, ActorId), Unreadable> {
        let id = at.job_id()?;
        at.expect(",\"user\":")?;
        let user = self.actor(at)?;
        at.expect(",\"submitted\":")?;
        let arrive = Time::from_micros(at.seconds()?);
        at.expect(",\"first_task\":")?;
        let first_task = at.number()?;
        at.expect(",\"tasks\":")?;
        let tasks = at.list(|at| {
            at.expect("{\"runtime\":")?;
            let runtime = Span::from_micros(at.seconds()?);
            at.expect(",\"cores\":")?;
            let cores = at.number()?;
            at.expect(",\"kind\":")?;
            let kind = at.name(&self.kinds, Kind, "a kind of core")?;
            let walltime = if at.accept(",\"walltime\":") { Span::from_micros(at.seconds()?) } else { runtime };
            at.expect("}")?;
            Ok(Task { runtime, cores, kind, walltime })
        })?;
        at.expect(",\"edges\":")?;
        let edges = at.list(|at| {
            at.expect("[")?;
            let from = at.number()?;
            at.expect(",")?;
            let to = at.number()?;
            let data = if at.accept(",") { at.number()? } else { 0 };
            at.expect("]")?;
            Ok(Edge { from, to, data })
        })?;
        let worth = if at.accept(",\"worth\":") { Some(worth(at)?) } else { None };
        Ok((Arc::new(Job { id, arrive, first_task, tasks, edges, worth }), user))
    }

    fn actor(&self, at: &mut Cursor<'_>) -> Result<ActorId, Unreadable> {
        at.name(&self.actors, ActorId, "the name of an actor")
    }
}

/// Each kind of record as it stands in a line: its name, and its fields in order, each under its own name or another one. A
/// job that is handed in comes last, with its user.
macro_rules! records {
    ($($word:literal $kind:ident { $($field:ident $(as $key:literal)?),* } $(+ $job:ident of $user:ident)?;)*) => {
        impl EventWriter {
            fn put_record(&self, line: &mut Vec<u8>, record: &Record) {
                match record {
                    $(Record::$kind { $($field,)* $($job, $user)? } => {
                        line.extend_from_slice(concat!(",\"event\":\"", $word, "\"").as_bytes());
                        $($field.put(key!($field $($key)?), self, line);)*
                        $(self.put_job(line, $job, *$user);)?
                    })*
                }
            }
        }

        impl EventReader {
            fn record(&self, at: &mut Cursor<'_>) -> Result<Record, Unreadable> {
                let before = at.at;
                match at.unquoted()? {
                    $($word => {
                        $(let $field = Field::read(key!($field $($key)?), self, at)?;)*
                        $(let ($job, $user) = self.job(at)?;)?
                        Ok(Record::$kind { $($field,)* $($job, $user)? })
                    })*
                    _ => {
                        at.at = before;
                        Err(at.wrong("the name of an event"))
                    }
                }
            }
        }
    };
}

macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

records! {
    "arrived" Arrived {} + job of user;
    "refused" Refused { task as "because" } + job of user;
    "not_admitted" NotAdmitted {} + job of user;
    "rejected" Rejected { why } + job of user;
    "assigned" Assigned { task, site };
    "started" Started { task, cores };
    "finished" Finished { task };
    "killed" Killed { task };
    "suspended" Suspended { task };
    "resumed" Resumed { task, cores };
    "moved" Moved { task, cores };
    "shared" Shared { task, share };
    "withdrawn" Withdrawn { task };
    "needs" Needs { job, needs };
    "completed" Completed { job, value };
    "removed" Removed { job };
    "answered" Answered { job, ready, deadline, answer };
    "cancelled" Cancelled { job };
    "sent" Sent { edge, from, to, bytes, active };
    "delivered" Delivered { edge };
}

/// What can stand in a record, under a key.
trait Field: Sized {
    fn put(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>);
    fn read(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Self, Unreadable>;
}

impl Field for u32 {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_number(line, (*self).into());
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<u32, Unreadable> {
        at.key(key)?;
        at.number()
    }
}

impl Field for u64 {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_number(line, *self);
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<u64, Unreadable> {
        at.key(key)?;
        at.number()
    }
}

impl Field for f64 {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_float(line, *self);
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<f64, Unreadable> {
        at.key(key)?;
        at.number()
    }
}

/// Left out where there is none.
impl Field for Option<f64> {
    fn put(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        if let Some(number) = self {
            number.put(key, writer, line);
        }
    }

    fn read(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Option<f64>, Unreadable> {
        if at.is_at_key(key) { f64::read(key, reader, at).map(Some) } else { Ok(None) }
    }
}

impl Field for Time {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_seconds(line, self.micros());
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Time, Unreadable> {
        at.key(key)?;
        at.seconds().map(Time::from_micros)
    }
}

impl Field for ActorId {
    fn put(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        put_name(line, &writer.actors, self.0);
    }

    fn read(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<ActorId, Unreadable> {
        at.key(key)?;
        reader.actor(at)
    }
}

impl Field for JobId {
    fn put(&self, key: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.0.put(key, writer, line);
    }

    fn read(key: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<JobId, Unreadable> {
        u32::read(key, reader, at).map(JobId)
    }
}

/// As `"12.3"`.
impl Field for TaskId {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        put_number(line, self.job.0.into());
        line.push(b'.');
        put_number(line, self.index.into());
        line.push(b'"');
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<TaskId, Unreadable> {
        at.key(key)?;
        at.parsed("a task as \"job.task\"", |text| {
            let (job, index) = text.split_once('.')?;
            Some(TaskId { job: JobId(job.parse().ok()?), index: index.parse().ok()? })
        })
    }
}

/// As `"12.3-4"`.
impl Field for EdgeId {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        put_number(line, self.job.0.into());
        line.push(b'.');
        put_number(line, self.from.into());
        line.push(b'-');
        put_number(line, self.to.into());
        line.push(b'"');
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<EdgeId, Unreadable> {
        at.key(key)?;
        at.parsed("an edge as \"job.task-task\"", |text| {
            let (job, tasks) = text.split_once('.')?;
            let (from, to) = tasks.split_once('-')?;
            Some(EdgeId { job: JobId(job.parse().ok()?), from: from.parse().ok()?, to: to.parse().ok()? })
        })
    }
}

/// Under a key each.
impl Field for Needs {
    fn put(&self, _: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        self.cpu.put("cpu", writer, line);
        self.memory.put("memory", writer, line);
    }

    fn read(_: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Needs, Unreadable> {
        Ok(Needs { cpu: Field::read("cpu", reader, at)?, memory: Field::read("memory", reader, at)? })
    }
}

/// As `"0-3 7"`.
impl Field for NodeSet {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        text::put_cores(line, self, 0);
        line.push(b'"');
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<NodeSet, Unreadable> {
        at.key(key)?;
        at.parsed("cores as \"0-3 7\"", NodeSet::parse)
    }
}

impl Field for Invalid {
    fn put(&self, key: &str, _: &EventWriter, line: &mut Vec<u8>) {
        put_key(line, key);
        line.push(b'"');
        line.extend_from_slice(self.name().as_bytes());
        line.push(b'"');
    }

    fn read(key: &str, _: &EventReader, at: &mut Cursor<'_>) -> Result<Invalid, Unreadable> {
        at.key(key)?;
        let named = |word: &str| Invalid::ALL.into_iter().find(|invalid| word == invalid.name());
        at.parsed("what is wrong with a request", named)
    }
}

/// Under a key for each answer that there is.
impl Field for Answer {
    fn put(&self, _: &str, writer: &EventWriter, line: &mut Vec<u8>) {
        match self {
            Answer::Accepted { site, start, nodes } => {
                site.put("accepted", writer, line);
                start.put("start", writer, line);
                nodes.put("cores", writer, line);
            }
            Answer::Declined => line.extend_from_slice(b",\"declined\":true"),
            Answer::Invalid(invalid) => invalid.put("invalid", writer, line),
        }
    }

    fn read(_: &str, reader: &EventReader, at: &mut Cursor<'_>) -> Result<Answer, Unreadable> {
        if at.accept(",\"declined\":true") {
            return Ok(Answer::Declined);
        }
        if !at.is_at_key("accepted") {
            return Invalid::read("invalid", reader, at).map(Answer::Invalid);
        }
        let site = Field::read("accepted", reader, at)?;
        let start = Field::read("start", reader, at)?;
        Ok(Answer::Accepted { site, start, nodes: Field::read("cores", reader, at)? })
    }
}

fn put_key(line: &mut Vec<u8>, key: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(key.as_bytes());
    line.extend_from_slice(b"\":");
}

fn worth(at: &mut Cursor<'_>) -> Result<Worth, Unreadable> {
    let max = at.number()?;
    at.expect(",\"curve\":")?;
    Ok(Worth { max, curve: at.json("a value curve")? })
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| serde_json::to_string(name).expect("a string is always JSON")).collect()
}

fn put_list<T>(line: &mut Vec<u8>, items: &[T], mut put: impl FnMut(&mut Vec<u8>, &T)) {
    line.push(b'[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            line.push(b',');
        }
        put(line, item);
    }
    line.push(b']');
}

fn put_name(line: &mut Vec<u8>, names: &[String], number: u32) {
    match names.get(number as usize) {
        Some(name) => line.extend_from_slice(name.as_bytes()),
        None => put_number(line, number.into()),
    }
}

fn put_job_id(line: &mut Vec<u8>, job: JobId) {
    line.extend_from_slice(b",\"job\":");
    put_number(line, job.0.into());
}

/// The shortest decimals that read back as the same number.
fn put_float(line: &mut Vec<u8>, number: f64) {
    write!(line, "{number:?}").expect("writing to memory does not fail");
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn wrong(&self, expected: impl Into<String>) -> Unreadable {
        Unreadable { column: self.at + 1, expected: expected.into() }
    }

    fn accept(&mut self, literal: &str) -> bool {
        let here = self.rest().starts_with(literal);
        if here {
            self.at += literal.len();
        }
        here
    }

    fn expect(&mut self, literal: &str) -> Result<(), Unreadable> {
        if self.accept(literal) { Ok(()) } else { Err(self.wrong(format!("`{literal}`"))) }
    }

    fn is_at_key(&self, key: &str) -> bool {
        let after = self.rest().strip_prefix(",\"").and_then(|rest| rest.strip_prefix(key));
        after.is_some_and(|rest| rest.starts_with("\":"))
    }

    /// A comma, and a key with its colon.
    fn key(&mut self, key: &str) -> Result<(), Unreadable> {
        if !self.is_at_key(key) {
            return Err(self.wrong(format!("`,\"{key}\":`")));
        }
        self.at += key.len() + 4;
        Ok(())
    }

    /// A string that can be read as something.
    fn parsed<T>(&mut self, what: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Unreadable> {
        let column = self.at + 1;
        parse(self.unquoted()?).ok_or_else(|| Unreadable { column, expected: what.to_owned() })
    }

    /// A string as it stands there, quotes and escapes included.
    fn string(&mut self) -> Result<&'a str, Unreadable> {
        let rest = self.rest();
        let mut escaped = false;
        let close = rest.bytes().skip(1).position(|byte| {
            let closes = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            closes
        });
        match close {
            Some(close) if rest.starts_with('"') => {
                self.at += close + 2;
                Ok(&rest[..close + 2])
            }
            _ => Err(self.wrong("a string")),
        }
    }

    fn unquoted(&mut self) -> Result<&'a str, Unreadable> {
        let string = self.string()?;
        Ok(&string[1..string.len() - 1])
    }

    fn digits(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number<T: FromStr>(&mut self) -> Result<T, Unreadable> {
        let before = self.at;
        self.digits().parse().map_err(|_| Unreadable { column: before + 1, expected: "a number".to_owned() })
    }

    fn seconds(&mut self) -> Result<u64, Unreadable> {
        let before = self.at;
        micros(self.digits())
            .ok_or_else(|| Unreadable { column: before + 1, expected: "seconds with at most six decimals".to_owned() })
    }

    fn name<N, T: Copy>(&mut self, names: &BTreeMap<String, T>, bare: fn(N) -> T, what: &str) -> Result<T, Unreadable>
    where
        N: FromStr,
    {
        if !self.rest().starts_with('"') {
            return Ok(bare(self.number()?));
        }
        let before = self.at;
        names
            .get(self.string()?)
            .copied()
            .ok_or_else(|| Unreadable { column: before + 1, expected: format!("{what} that the manifest lists") })
    }

    fn job_id(&mut self) -> Result<JobId, Unreadable> {
        self.expect(",\"job\":")?;
        Ok(JobId(self.number()?))
    }

    /// Whatever knows how to read itself from JSON.
    fn json<T: DeserializeOwned>(&mut self, what: &str) -> Result<T, Unreadable> {
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            _ => Err(self.wrong(what)),
        }
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, Unreadable>) -> Result<Vec<T>, Unreadable> {
        self.expect("[")?;
        let mut items = Vec::new();
        while !self.accept("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}

fn micros(digits: &str) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    if fraction.is_empty() || fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let scale = 10u64.pow(6 - fraction.len() as u32);
    let fraction = fraction.parse::<u64>().ok()? * scale;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::tests::{any_entry, names};

    #[test]
    fn lines_read_well() {
        let entries = crate::report::tests::story();
        let writer = EventWriter::new(&names());
        let mut text = Vec::new();
        entries.iter().for_each(|entry| writer.write(entry, &mut text));
        crate::report::tests::golden("events.jsonl", &text);
    }

    #[test]
    fn wrong_lines_are_told_by_column() {
        let reader = EventReader::new(&names());
        let told = |line: &str| reader.read(line.as_bytes()).unwrap_err().to_string();
        assert_eq!(told(""), "column 1: expected `{\"t\":`");
        assert_eq!(told("{\"t\":1.0000001,"), "column 6: expected seconds with at most six decimals");
        assert_eq!(
            told("{\"t\":1,\"actor\":\"hull\""),
            "column 16: expected the name of an actor that the manifest lists"
        );
        assert_eq!(told("{\"t\":1,\"actor\":\"york\",\"event\":\"sung\"}"), "column 31: expected the name of an event");
        assert_eq!(
            told("{\"t\":1,\"actor\":\"york\",\"event\":\"removed\",\"job\":1}x"),
            "column 49: expected the end of the line"
        );
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_exactly(entry in any_entry()) {
            let mut line = Vec::new();
            EventWriter::new(&names()).write(&entry, &mut line);
            prop_assert_eq!(line.pop(), Some(b'\n'));
            serde_json::from_slice::<serde_json::Value>(&line).expect("every line is JSON");
            prop_assert_eq!(EventReader::new(&names()).read(&line), Ok(entry));
        }

        #[test]
        fn no_line_makes_the_reader_panic(line in prop::collection::vec(any::<u8>(), 0..60), cut in 0usize..200, entry in any_entry()) {
            let reader = EventReader::new(&names());
            let _ = reader.read(&line);
            let mut good = Vec::new();
            EventWriter::new(&names()).write(&entry, &mut good);
            let at = cut % good.len();
            good.splice(at..at, line);
            let _ = reader.read(&good);
        }
    }
}
