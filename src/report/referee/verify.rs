//! Comparison of two results: whether they are the same run, and if not, the first difference and its causes.
//!
//! Both logs are read side by side, line by line, and the digest of each is computed again, so a summary that does not
//! match its log, or a log that has been changed, is detected.

use std::fmt;
use std::io::{self, BufRead};

use serde_json::{Value, json};

use crate::referee::events::next_line;
use crate::referee::records::record_sentence;
use crate::{EventReader, Manifest, Names, Status, SummaryFile, Unreadable};
use hansa_sim::kernel::{Digest, Entry};
use hansa_sim::protocol::{Record, codec};
use hansa_sim::settings::format_counted;

/// One of the two results.
pub struct Side<R> {
    /// Its name on the command line.
    pub name: String,
    pub manifest: Manifest,
    pub summary: SummaryFile,
    pub events: R,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub a: Found,
    pub b: Found,
    /// Possible causes of differences, the likeliest first.
    pub causes: Vec<String>,
    pub difference: Option<Difference>,
}

/// The claims of one result, and the contents of its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub name: String,
    pub status: Status,
    /// Digest in the summary.
    pub claimed: String,
    /// Digest of the log; `None` if a line of it cannot be read.
    pub computed: Option<String>,
    pub events: u64,
    pub unreadable: Option<(u64, Unreadable)>,
}

/// The first event that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Line number in `events.jsonl`, from 1.
    pub line: u64,
    /// The events in words; `None` if a log has no such line.
    pub a: Option<String>,
    pub b: Option<String>,
    pub what: String,
}

impl Comparison {
    /// True if the two are the same run, and both are complete.
    pub fn is_same_run(&self) -> bool {
        self.difference.is_none()
            && self.a.claimed == self.b.claimed
            && [&self.a, &self.b].into_iter().all(|side| side.is_intact() && side.status == Status::Complete)
    }

    /// JSON for programs, with the files that are damaged.
    pub fn json(&self, damaged: &[String]) -> Value {
        let Comparison { a, b, causes, difference } = self;
        let difference = difference
            .as_ref()
            .map(|Difference { line, a, b, what }| json!({ "line": line, "what": what, "a": a, "b": b }));
        json!({
            "same": self.is_same_run() && damaged.is_empty(), "a": side_json(a), "b": side_json(b), "causes": causes,
            "difference": difference, "damaged": damaged,
        })
    }
}

fn side_json(side: &Found) -> Value {
    let unreadable = side.unreadable.as_ref().map(|(line, wrong)| format!("line {line}, {wrong}"));
    json!({
        "name": side.name, "status": side.status, "claimed": side.claimed, "computed": side.computed,
        "events": side.events, "unreadable": unreadable,
    })
}

impl Found {
    /// True if the log is the one of the summary.
    pub fn is_intact(&self) -> bool {
        self.computed.as_ref() == Some(&self.claimed)
    }
}

/// Reads both logs to their ends; fails only if reading fails.
pub fn compare_logs<A: BufRead, B: BufRead>(a: Side<A>, b: Side<B>) -> io::Result<Comparison> {
    let causes = list_causes(&a, &b);
    let mut left = LogReader::new(&a.manifest.names, a.events);
    let mut right = LogReader::new(&b.manifest.names, b.events);

    let mut difference = None;
    loop {
        let more = (left.advance()?, right.advance()?);
        if difference.is_none() && left.line != right.line {
            difference = Some(describe_difference(&left, &right));
        }
        if more == (false, false) {
            break;
        }
    }

    let a = left.into_found(a.name, a.manifest.status, a.summary.results.digest);
    let b = right.into_found(b.name, b.manifest.status, b.summary.results.digest);
    Ok(Comparison { a, b, causes, difference })
}

/// The first event in which two logs differ; None if they agree. Reads no further than that.
pub fn first_difference<A: BufRead, B: BufRead>(
    (a_names, a): (&Names, A),
    (b_names, b): (&Names, B),
) -> io::Result<Option<Difference>> {
    let mut left = LogReader::new(a_names, a);
    let mut right = LogReader::new(b_names, b);
    loop {
        let more = (left.advance()?, right.advance()?);
        if left.line != right.line {
            return Ok(Some(describe_difference(&left, &right)));
        }
        if more == (false, false) {
            return Ok(None);
        }
    }
}

struct LogReader<'a, R> {
    names: &'a Names,
    reader: EventReader,
    events: R,
    /// The current line with its newline; empty after the last.
    line: Vec<u8>,
    number: u64,
    entry: Option<Entry<Record>>,
    digest: Digest,
    encoded: Vec<u8>,
    unreadable: Option<(u64, Unreadable)>,
}

impl<'a, R: BufRead> LogReader<'a, R> {
    fn new(names: &'a Names, events: R) -> LogReader<'a, R> {
        LogReader {
            names,
            reader: EventReader::new(names),
            events,
            line: Vec::new(),
            number: 0,
            entry: None,
            digest: Digest::new(),
            encoded: Vec::new(),
            unreadable: None,
        }
    }

    fn advance(&mut self) -> io::Result<bool> {
        self.entry = None;
        if !next_line(&mut self.events, &mut self.line)? {
            return Ok(false);
        }
        self.number += 1;
        match self.reader.read_line(&self.line) {
            Ok(entry) => {
                self.encoded.clear();
                codec::pack_value(&entry, &mut self.encoded).map_err(io::Error::other)?;
                self.digest.update(&self.encoded);
                self.entry = Some(entry);
            }
            Err(wrong) if self.unreadable.is_none() => self.unreadable = Some((self.number, wrong)),
            Err(_) => {}
        }
        Ok(true)
    }

    fn into_found(self, name: String, status: Status, claimed: String) -> Found {
        let computed = self.unreadable.is_none().then(|| self.digest.finish());
        Found { name, status, claimed, computed, events: self.number, unreadable: self.unreadable }
    }

    fn entry_words(&self) -> Option<String> {
        match &self.entry {
            Some(entry) => Some(entry_sentence(entry, self.names)),
            None if self.line.is_empty() => None,
            None => Some("a line that cannot be read".to_owned()),
        }
    }
}

fn describe_difference<A: BufRead, B: BufRead>(a: &LogReader<'_, A>, b: &LogReader<'_, B>) -> Difference {
    let what = match (&a.entry, &b.entry) {
        _ if a.line.is_empty() || b.line.is_empty() => "one log ends before the other".to_owned(),
        (Some(left), Some(right)) => what_differs((left, a.names), (right, b.names)),
        _ => "a line that is damaged".to_owned(),
    };
    Difference { line: a.number.max(b.number), a: a.entry_words(), b: b.entry_words(), what }
}

fn what_differs((a, a_names): (&Entry<Record>, &Names), (b, b_names): (&Entry<Record>, &Names)) -> String {
    let mut what = Vec::new();
    if a.stamp != b.stamp {
        what.push("its time");
    }
    if a_names.of_actor(a.actor) != b_names.of_actor(b.actor) {
        what.push("its actor");
    }
    match (&a.record, &b.record) {
        (left, right) if std::mem::discriminant(left) != std::mem::discriminant(right) => {
            what.push("its kind");
        }
        (Record::Arrived { job: left, .. }, Record::Arrived { job: right, .. })
        | (Record::Refused { job: left, .. }, Record::Refused { job: right, .. })
        | (Record::NotAdmitted { job: left, .. }, Record::NotAdmitted { job: right, .. })
        | (Record::Rejected { job: left, .. }, Record::Rejected { job: right, .. })
            if left != right =>
        {
            what.push(if left.id == right.id { "content of its job" } else { "number of its job" });
        }
        // A sentence omits details, and a number may differ in meaning between the two.
        (left, right) if left != right || record_sentence(left, a_names) != record_sentence(right, b_names) => {
            what.push("its details");
        }
        _ => {}
    }
    if what.is_empty() { "its form".to_owned() } else { what.join(", ") }
}

/// An entry as a sentence.
fn entry_sentence(entry: &Entry<Record>, names: &Names) -> String {
    format!("{}: {} {}", entry.stamp, names.of_actor(entry.actor), record_sentence(&entry.record, names))
}

fn list_causes<A, B>(a: &Side<A>, b: &Side<B>) -> Vec<String> {
    let left = &a.manifest;
    let right = &b.manifest;
    let mut causes = Vec::new();
    if left.topology_hash != right.topology_hash {
        let names = [&a.summary.results.topology, &b.summary.results.topology];
        let mut lines = left.topology.lines().map(strip_setting).zip(right.topology.lines().map(strip_setting));
        let line = lines.find(|(left, right)| left != right);
        let how = match line {
            _ if names[0] != names[1] => format!("{} and {}", names[0], names[1]),
            Some((left, right)) => format!("`{left}` and `{right}`"),
            None if left.topology.lines().count() == right.topology.lines().count() => "only in comments".to_owned(),
            None => "one is longer".to_owned(),
        };
        causes.push(format!("the topologies differ: {how}"));
    }
    if left.seed != right.seed {
        causes.push(format!("the seeds differ: {} and {}", left.seed, right.seed));
    }
    causes.extend(other_causes((&a.name, left), (&b.name, right)));
    causes
}

/// Paths of inputs that two runs have with different contents.
pub fn changed_inputs<'a>(left: &'a Manifest, right: &'a Manifest) -> impl Iterator<Item = &'a str> {
    left.inputs
        .iter()
        .filter(|input| right.inputs.iter().any(|other| other.path == input.path && other.hash != input.hash))
        .map(|input| input.path.as_str())
}

/// Possible causes of differences besides settings: inputs, versions, and runs that ended early.
fn other_causes((a, left): (&str, &Manifest), (b, right): (&str, &Manifest)) -> Vec<String> {
    let mut causes: Vec<String> = changed_inputs(left, right).map(|path| format!("the input {path} differs")).collect();
    if left.version != right.version {
        causes.push(format!("the versions of Hansa differ: {} and {}", left.version, right.version));
    }
    for (name, manifest) in [(a, left), (b, right)] {
        if let Status::Partial(why) = &manifest.status {
            causes.push(format!("{name} is partial: {why}"));
        }
    }
    causes
}

/// A line of TOML without its comment and without spaces that align it.
fn strip_setting(line: &str) -> String {
    let mut in_text = false;
    let mut escaped = false;
    let end = line.find(|letter: char| {
        if escaped {
            escaped = false;
        } else if in_text && letter == '\\' {
            escaped = true;
        } else if letter == '"' {
            in_text = !in_text;
        }
        letter == '#' && !in_text
    });
    let line = line[..end.unwrap_or(line.len())].trim();
    match line.split_once('=') {
        Some((key, value)) => format!("{} = {}", key.trim(), value.trim()),
        None => line.to_owned(),
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_same_run() {
            return writeln!(f, "The same run: {}, digest {}.", format_counted(self.a.events, "event"), self.a.claimed);
        }
        for cause in &self.causes {
            writeln!(f, "Note: {cause}.")?;
        }
        for side in [&self.a, &self.b] {
            match (&side.unreadable, &side.computed) {
                (Some((line, wrong)), _) => {
                    writeln!(f, "{} is damaged: events.jsonl, line {line}, {wrong}.", side.name)?;
                }
                (None, Some(computed)) if *computed != side.claimed => writeln!(
                    f,
                    "{} is damaged: its summary claims digest {}, but its events have {computed}.",
                    side.name, side.claimed
                )?,
                _ => {}
            }
        }
        match &self.difference {
            Some(difference) => {
                if self.a.claimed == self.b.claimed {
                    writeln!(f, "The summaries agree on digest {}, but the events differ.", self.a.claimed)?;
                } else {
                    writeln!(f, "The digests differ: {} and {}.", self.a.claimed, self.b.claimed)?;
                }
                write!(f, "{difference}")?;
                let width = self.a.name.chars().count().max(self.b.name.chars().count());
                for (side, words) in [(&self.a, &difference.a), (&self.b, &difference.b)] {
                    let words = words
                        .clone()
                        .unwrap_or_else(|| format!("(ends after {})", format_counted(side.events, "event")));
                    writeln!(f, "  {:<width$}  {words}", side.name)?;
                }
                Ok(())
            }
            None if self.a.claimed != self.b.claimed => {
                writeln!(f, "The events agree, but the summaries claim {} and {}.", self.a.claimed, self.b.claimed)
            }
            None => writeln!(f, "The events agree, all {} of them.", self.a.events),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "The first event that differs is on line {} ({}):", self.line, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_without_comments_and_padding() {
        assert_eq!(strip_setting("  cores       = 64     # of the site"), "cores = 64");
        assert_eq!(strip_setting(r##"about = "a \" # b"   # why"##), r##"about = "a \" # b""##);
        assert_eq!(strip_setting("[[site]]   # a cluster"), "[[site]]");
    }
}
