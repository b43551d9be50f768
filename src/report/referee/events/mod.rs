//! `events.jsonl`: the log in words, one JSON object a line, in log order.
//!
//! ```json
//! {"t":123.5,"actor":"york","event":"started","task":"12.3","cores":"0-3 7"}
//! ```
//!
//! Times and spans are seconds with exactly the decimals they need, so nothing is rounded; `step` is there unless it is
//! zero; an actor without a name is a bare number. The reader accepts the writer's form, key by key, and returns the
//! same entry: the digest of a run can be computed again from this file. Records are listed in [`super::records`]
//! and in the `records.rs` of each subject.

mod cursor;
mod field;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

pub(crate) use self::cursor::Cursor;
use self::field::put_name;
pub(crate) use self::field::{Field, LineValue, ListItem, groups, put_word, rows};
use crate::Names;
use hansa_sim::decimal::{put_json_float, put_number, put_number_and, put_seconds};
use hansa_sim::grid::{Curve, Edge, Job, Kind, SiteTime, SiteTimes, Task, Worth};
use hansa_sim::kernel::{ActorId, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Stamp, Time};

/// Writes entries as lines.
#[derive(Clone, Debug)]
pub struct EventWriter {
    // As they stand in a line, quotes and all.
    pub(crate) actors: Vec<String>,
    kinds: Vec<String>,
    links: Vec<String>,
}

/// Reads lines back to entries.
#[derive(Clone, Debug)]
pub struct EventReader {
    actors: BTreeMap<String, u32>,
    kinds: BTreeMap<String, u32>,
    links: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: expected {expected}")]
pub struct Unreadable {
    pub column: usize,
    pub expected: String,
}

/// Longer than any line that a frame's worth of job makes.
const LINE_MAX: u64 = 256 << 20;

/// Takes the next line of a log, with its newline; says whether there was one.
pub(crate) fn next_line(events: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(events.by_ref().take(LINE_MAX).read_until(b'\n', line)? > 0)
}

impl EventWriter {
    pub fn new(names: &Names) -> EventWriter {
        EventWriter {
            actors: quote_names(&names.actors),
            kinds: quote_names(&names.kinds),
            links: quote_names(&names.links),
        }
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

    pub(crate) fn put_job(&self, line: &mut Vec<u8>, job: &Job, user: ActorId) {
        job.id.put_field("job", self, line);
        user.put_field("user", self, line);
        job.arrive.put_field("submitted", self, line);
        job.first_task.put_field("first_task", self, line);
        line.extend_from_slice(b",\"tasks\":");
        put_list(line, job.tasks.iter().enumerate(), |line, (number, task)| {
            line.extend_from_slice(b"{\"runtime\":");
            put_seconds(line, task.runtime.micros());
            task.cores.put_field("cores", self, line);
            line.extend_from_slice(b",\"kind\":");
            put_name(line, &self.kinds, task.kind.0.into());
            if task.walltime != task.runtime {
                task.walltime.put_field("walltime", self, line);
            }
            if let Some(times) = job.times_of(number) {
                line.extend_from_slice(b",\"runtimes\":");
                put_list(line, times, |line, time| time.put_value(self, line));
            }
            line.push(b'}');
        });
        line.extend_from_slice(b",\"edges\":");
        put_list(line, &job.edges, |line, edge| {
            line.push(b'[');
            put_number_and(line, edge.from.into(), b',');
            if edge.data > 0 {
                put_number_and(line, edge.to.into(), b',');
                put_number_and(line, edge.data, b']');
            } else {
                put_number_and(line, edge.to.into(), b']');
            }
        });
        if let Some(worth) = &job.worth {
            worth.max.put_field("worth", self, line);
            line.extend_from_slice(b",\"curve\":");
            put_curve(line, &worth.curve);
        }
    }
}

impl EventReader {
    pub fn new(names: &Names) -> EventReader {
        EventReader {
            actors: index_names(&names.actors),
            kinds: index_names(&names.kinds),
            links: index_names(&names.links),
        }
    }

    /// Reads one line with its newline.
    pub(crate) fn read_line(&self, line: &[u8]) -> Result<Entry<Record>, Unreadable> {
        self.read_entry(line.strip_suffix(b"\n").ok_or_else(|| Unreadable {
            column: line.len() + 1,
            expected: "the end of the line: the file is truncated".to_owned(),
        })?)
    }

    /// Reads one line, without its newline.
    pub fn read_entry(&self, line: &[u8]) -> Result<Entry<Record>, Unreadable> {
        let text = std::str::from_utf8(line)
            .map_err(|e| Unreadable { column: e.valid_up_to() + 1, expected: "UTF-8".to_owned() })?;
        let mut at = Cursor { text, at: 0 };
        at.expect("{\"t\":")?;
        let time = Time::from_micros(at.read_seconds()?);
        let step = if at.accept(",\"step\":") { at.read_number()? } else { 0 };
        at.expect(",\"actor\":")?;
        let actor = self.read_actor(&mut at)?;
        at.expect(",\"event\":")?;
        let record = self.record(&mut at)?;
        at.expect("}")?;
        if at.at < text.len() {
            return Err(at.expected_error("the end of the line"));
        }
        Ok(Entry { stamp: Stamp { time, step }, actor, record })
    }

    pub(crate) fn job(&self, at: &mut Cursor<'_>) -> Result<(Arc<Job>, ActorId), Unreadable> {
        let id = Field::read_field("job", self, at)?;
        let user = Field::read_field("user", self, at)?;
        let arrive = Field::read_field("submitted", self, at)?;
        let first_task = Field::read_field("first_task", self, at)?;
        at.expect(",\"tasks\":")?;
        let mut times = Vec::new();
        let tasks = at.read_list(|at| {
            at.expect("{\"runtime\":")?;
            let runtime = Span::from_micros(at.read_seconds()?);
            let cores = Field::read_field("cores", self, at)?;
            at.expect(",\"kind\":")?;
            let kind = at.name(&self.kinds, Kind, "a kind of core")?;
            let walltime = Option::read_field("walltime", self, at)?.unwrap_or(runtime);
            times.push(Option::read_field("runtimes", self, at)?.unwrap_or_default());
            at.expect("}")?;
            Ok(Task { runtime, cores, kind, walltime })
        })?;
        at.expect(",\"edges\":")?;
        let edges = at.read_list(|at| {
            at.expect("[")?;
            let from = at.read_number()?;
            at.expect(",")?;
            let to = at.read_number()?;
            let data = if at.accept(",") { at.read_number()? } else { 0 };
            at.expect("]")?;
            Ok(Edge { from, to, data })
        })?;
        let worth = if at.accept(",\"worth\":") { Some(read_worth(at)?) } else { None };
        Ok((Arc::new(Job { id, arrive, first_task, tasks, edges, worth, times: SiteTimes::new(times) }), user))
    }

    pub(crate) fn read_actor(&self, at: &mut Cursor<'_>) -> Result<ActorId, Unreadable> {
        at.name(&self.actors, ActorId, "the name of an actor")
    }
}

rows! { SiteTime { site, runtime } }

fn index_names(names: &[String]) -> BTreeMap<String, u32> {
    BTreeMap::from_iter(quote_names(names).into_iter().zip(0..))
}

fn read_worth(at: &mut Cursor<'_>) -> Result<Worth, Unreadable> {
    let max = at.read_number()?;
    at.expect(",\"curve\":")?;
    Ok(Worth { max, curve: at.json("a value curve")? })
}

fn quote_names(names: &[String]) -> Vec<String> {
    names.iter().map(|name| serde_json::to_string(name).expect("a string is always JSON")).collect()
}

pub(crate) fn put_list<T>(
    line: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut put: impl FnMut(&mut Vec<u8>, T),
) {
    line.push(b'[');
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            line.push(b',');
        }
        put(line, item);
    }
    line.push(b']');
}

/// Appends a curve in the form that serde_json gives it.
fn put_curve(line: &mut Vec<u8>, curve: &Curve) {
    line.extend_from_slice(b"{\"initial\":");
    put_json_float(line, curve.initial());
    line.extend_from_slice(b",\"final\":");
    put_json_float(line, curve.final_());
    line.extend_from_slice(b",\"points\":[");
    let before = line.len();
    for (slr, value) in curve.points() {
        line.push(b'[');
        put_json_float(line, slr);
        line.push(b',');
        put_json_float(line, value);
        line.extend_from_slice(b"],");
    }
    if line.len() > before {
        line.pop();
    }
    line.extend_from_slice(b"]}");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::{any_entry, names};

    #[test]
    fn lines_read_well() {
        let entries = crate::tests::story();
        let writer = EventWriter::new(&names());
        let mut text = Vec::new();
        entries.iter().for_each(|entry| writer.write(entry, &mut text));
        crate::tests::golden("events.jsonl", &text);
    }

    #[test]
    fn wrong_lines_are_told_by_column() {
        let reader = EventReader::new(&names());
        let message = |line: &str| reader.read_entry(line.as_bytes()).unwrap_err().to_string();
        assert_eq!(message(""), "column 1: expected `{\"t\":`");
        assert_eq!(message("{\"t\":1.0000001,"), "column 6: expected seconds with at most six decimals");
        assert_eq!(
            message("{\"t\":1,\"actor\":\"hull\""),
            "column 16: expected the name of an actor that the manifest lists"
        );
        assert_eq!(
            message("{\"t\":1,\"actor\":\"york\",\"event\":\"sung\"}"),
            "column 31: expected the name of an event"
        );
        assert_eq!(
            message("{\"t\":1,\"actor\":\"york\",\"event\":\"removed\",\"job\":1}x"),
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
            prop_assert_eq!(EventReader::new(&names()).read_entry(&line), Ok(entry));
        }

        #[test]
        fn curves_are_as_serde_json_writes_them(
            initial in 1e-9..1e3f64, width in prop_oneof![1e-3..1e3f64, Just(1e18)],
            points in prop::collection::vec((0.0..=1.0f64, prop_oneof![0.0..=1.0f64, Just(1e-7)]), 0..5),
        ) {
            let (mut ages, mut values): (Vec<f64>, Vec<f64>) =
                points.into_iter().map(|(part, value)| (initial + part * width, value)).unzip();
            ages.sort_by(f64::total_cmp);
            values.sort_by(|one, other| other.total_cmp(one));
            let points: Vec<(f64, f64)> = ages.into_iter().zip(values).collect();
            let curve = Curve::new(initial, initial + width, &points).unwrap();
            let mut line = Vec::new();
            put_curve(&mut line, &curve);
            prop_assert_eq!(String::from_utf8(line).unwrap(), serde_json::to_string(&curve).unwrap());
        }

        #[test]
        fn no_line_makes_the_reader_panic(line in prop::collection::vec(any::<u8>(), 0..60), cut in 0usize..200, entry in any_entry()) {
            let reader = EventReader::new(&names());
            let _ = reader.read_entry(&line);
            let mut good = Vec::new();
            EventWriter::new(&names()).write(&entry, &mut good);
            let at = cut % good.len();
            good.splice(at..at, line);
            let _ = reader.read_entry(&good);
        }
    }
}
