//! The Standard Workload Format, version 2.2: one job per line, eighteen numbers per job, comments after semicolons,
//! and -1 for unknown values.
//!
//! Times are seconds. Most logs have integers; decimals are kept to the microsecond. A line that cannot be read is left
//! out and counted, and lines out of order are sorted and counted.
//!
//! Logs of recent machines have three fields more: GPUs (19), a soft walltime (20), and a description of the allocation
//! (21), such as `frontier:excl:2500x112`, 2,500 nodes of 112 cores each without other jobs. Fields 5 and 8 count nodes
//! or cores there, depending on the job, so the size of such a job is the number of nodes of field 21.

use std::io::{self, BufRead};

use super::lines::{LineReader, LogLine};
use super::rigid::{Collector, JOBS_MAX, Kilobytes, LogNames, Rigid, Trace, is_bearable_time};
use super::sacct::values::days_since_1970;
use crate::decimal::{put_number, put_seconds};
use crate::settings::make_printable;
use crate::time::{Span, Time};

const FIELDS: usize = 18;

/// Fields after those of the standard in logs that describe allocations.
const EXTRA_FIELDS: usize = 3;

/// Names of the fields in error messages, from the standard.
const NAMES: [&str; FIELDS] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
];

/// Most comment lines kept.
const HEADER_MAX: usize = 1_000;

/// Reads a whole log; memory is used for the jobs only.
pub fn read_log(input: impl BufRead) -> io::Result<Trace> {
    let mut lines = LineReader::new(input);
    let mut collector = Collector::default();
    let mut comments = 0;
    while let Some((number, line)) = lines.next()? {
        let place = format_args!("line {number}");
        let text = match line {
            LogLine::TooLong => {
                collector.leave_out(place, "longer than any line of a log".to_owned());
                continue;
            }
            LogLine::Text(text) => text.trim_ascii(),
        };
        match text.first() {
            None => {}
            Some(b';') => {
                comments += 1;
                if comments <= HEADER_MAX {
                    let comment = String::from_utf8_lossy(&text[1..]);
                    collector.comment(comment.strip_prefix(' ').unwrap_or(&comment).to_owned());
                }
            }
            Some(_) if collector.is_full() => {
                return Err(io::Error::other(format!("line {number}: more than {JOBS_MAX} jobs")));
            }
            Some(_) => match read_job(text) {
                Ok((job, ExtraFields::Ignored(count))) => {
                    collector.ignore_fields(count);
                    collector.job(place, job);
                }
                Ok((job, ExtraFields::Allocation { has_gpus, has_soft_walltime })) => {
                    collector.note_allocation(has_gpus, has_soft_walltime);
                    collector.job(place, job);
                }
                Err(what) => collector.leave_out(place, format!("{what}{}", lookalike_hint(text))),
            },
        }
    }
    let mut trace = collector.finish();
    trace.names = names_of_header(&trace.header);
    Ok(trace)
}

/// Names that lines of a header such as `Queue: 1 normal` and `Partition: 2 gpu` give to numbers.
fn names_of_header(header: &[String]) -> LogNames {
    let queues = header.iter().filter_map(|line| numbered_name(line, "Queue:")).collect();
    let partitions = header.iter().filter_map(|line| numbered_name(line, "Partition:")).collect();
    LogNames { queues, partitions, ..LogNames::default() }
}

fn numbered_name(line: &str, title: &str) -> Option<(u32, String)> {
    let (number, name) = line.trim().strip_prefix(title)?.trim().split_once(char::is_whitespace)?;
    Some((number.parse().ok()?, make_printable(name.trim())))
}

/// Names of months in headers, from January on.
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Day on which a log starts, counted from 1970-01-01: that of its header `StartTime`, with the form
/// `Fri Apr 24 18:11:04 PDT 1998` or `1998-04-24 18:11:04`.
pub fn start_day(header: &[String]) -> Option<i64> {
    let line = header.iter().find_map(|line| line.trim_start().strip_prefix("StartTime:"))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let parts = words.first()?.split('-').map(|part| part.parse().ok()).collect::<Option<Vec<i64>>>();
    if let Some([year, month, day]) = parts.as_deref().and_then(|parts| <[i64; 3]>::try_from(parts).ok()) {
        return is_date(year, month, day).then(|| days_since_1970(year, month, day));
    }
    let month = words.iter().find_map(|word| MONTHS.iter().position(|month| month == word))? as i64 + 1;
    let numbers: Vec<i64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let day = *numbers.first()?;
    let year = *numbers.last()?;
    is_date(year, month, day).then(|| days_since_1970(year, month, day))
}

fn is_date(year: i64, month: i64, day: i64) -> bool {
    (1_900..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day)
}

/// Time of day at which a log starts: the time in its header `StartTime: Fri Apr 24 18:11:04 PDT 1998`, which is local.
pub fn start_of_day(header: &[String]) -> Option<Span> {
    let line = header.iter().find_map(|line| line.trim_start().strip_prefix("StartTime:"))?;
    let clock = line.split_whitespace().find(|word| word.split(':').count() == 3)?;
    let mut parts = clock.split(':').map(|part| part.parse::<u64>().ok());
    let hours = parts.next()?.filter(|hours| *hours < 24)?;
    let minutes = parts.next()?.filter(|minutes| *minutes < 60)?;
    let seconds = parts.next()?.filter(|seconds| *seconds < 60)?;
    Some(Span::from_secs(hours * 3_600 + minutes * 60 + seconds))
}

/// A remark on a line that has the form of another format; empty if none is recognised.
fn lookalike_hint(text: &[u8]) -> &'static str {
    let count = |sign: u8| text.iter().filter(|&&byte| byte == sign).count();
    if count(b'|') > 1 {
        "; it looks like output of `sacct`, which source = \"sacct\" reads"
    } else if count(b',') > 1 {
        "; it looks like a CSV table, but a log has eighteen numbers a line, separated by spaces (SWF)"
    } else {
        ""
    }
}

/// Fields of a line after the last one of the standard.
enum ExtraFields {
    /// Number of fields whose meaning is not known here.
    Ignored(u64),
    /// GPUs and a soft walltime, which are known but not used, and an allocation, from which the job has its size.
    Allocation { has_gpus: bool, has_soft_walltime: bool },
}

/// Number of nodes of a description of an exclusive allocation, such as `frontier:excl:2500x112`; None for other texts.
fn exclusive_nodes(word: &[u8]) -> Option<u32> {
    let mut parts = str::from_utf8(word).ok()?.split(':');
    let (Some(_), Some("excl"), Some(size), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (nodes, cores) = size.split_once('x').filter(|(nodes, cores)| is_count(nodes) && is_count(cores))?;
    let cores: u32 = cores.parse().ok()?;
    nodes.parse().ok().filter(|nodes: &u32| *nodes > 0 && cores > 0)
}

/// The numbers of a line in millionths; None where it has -1.
struct Fields([Option<u64>; FIELDS]);

impl Fields {
    fn whole_number(&self, index: usize) -> Result<Option<u64>, String> {
        match self.0[index] {
            Some(micros) if micros % 1_000_000 != 0 => Err(format!("the {} is not a whole number", NAMES[index])),
            known => Ok(known.map(|micros| micros / 1_000_000)),
        }
    }

    fn small_number(&self, index: usize) -> Result<Option<u32>, String> {
        match self.whole_number(index)?.map(u32::try_from) {
            Some(Err(_)) => Err(format!("the {} is too large", NAMES[index])),
            Some(Ok(number)) => Ok(Some(number)),
            None => Ok(None),
        }
    }

    fn time(&self, index: usize) -> Result<Option<Span>, String> {
        match self.0[index] {
            Some(micros) if !is_bearable_time(micros) => Err(format!("the {} is too long", NAMES[index])),
            known => Ok(known.map(Span::from_micros)),
        }
    }
}

fn missing(index: usize) -> String {
    format!("the {} is missing", NAMES[index])
}

/// Reads the job of a line, and its fields after the last one of the standard.
fn read_job(text: &[u8]) -> Result<(Rigid, ExtraFields), String> {
    let mut fields = [None; FIELDS];
    let mut rest = text;
    for (index, field) in fields.iter_mut().enumerate() {
        let Some((word, plain)) = next_word(&mut rest) else {
            return Err(format!("expected {FIELDS} numbers, found {index}"));
        };
        *field = match plain {
            Some(number) => number,
            None => read_number(word).map_err(|wrong| {
                let word = String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
                format!("the {} is {word}, which is {wrong}", NAMES[index])
            })?,
        };
    }
    let mut extra = [&b""[..]; EXTRA_FIELDS];
    let mut extra_count = 0;
    while let Some((word, _)) = next_word(&mut rest) {
        if let Some(place) = extra.get_mut(extra_count) {
            *place = word;
        }
        extra_count += 1;
    }
    let [gpus, soft_walltime, allocation] = extra;
    let nodes = if extra_count == EXTRA_FIELDS { exclusive_nodes(allocation) } else { None };

    let fields = Fields(fields);
    let job = Rigid {
        number: fields.whole_number(0)?.ok_or_else(|| missing(0))?,
        submit: Time::ZERO + fields.time(1)?.ok_or_else(|| missing(1))?,
        wait: fields.time(2)?,
        runtime: fields.time(3)?,
        allocated: if nodes.is_some() { nodes } else { fields.small_number(4)? },
        cpu_time: fields.time(5)?,
        memory_used: fields.0[6].map(Kilobytes::from_millionths),
        requested: if nodes.is_some() { nodes } else { fields.small_number(7)? },
        requested_time: fields.time(8)?,
        memory_requested: fields.0[9].map(Kilobytes::from_millionths),
        status: fields.small_number(10)?,
        user: fields.small_number(11)?,
        group: fields.small_number(12)?,
        executable: fields.small_number(13)?,
        queue: fields.small_number(14)?,
        partition: fields.small_number(15)?,
        preceding: fields.whole_number(16)?,
        think: fields.time(17)?,
        profile: None,
        request: None,
    };
    let is_known = |word: &[u8]| !matches!(read_number(word), Ok(None | Some(0)));
    let extra = match nodes {
        None => ExtraFields::Ignored(extra_count as u64),
        Some(_) => ExtraFields::Allocation { has_gpus: is_known(gpus), has_soft_walltime: is_known(soft_walltime) },
    };
    Ok((job, extra))
}

/// Most digits of a number that [`next_word`] reads: in millionths it fits.
const PLAIN_DIGITS: usize = 12;

/// Takes the next word of a line. Returns its number in millionths, too, if it is -1 or a few digits, as nearly all
/// are: one pass finds both. [`read_number`] reads or refuses all other words.
#[inline]
fn next_word<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Option<Option<u64>>)> {
    let begin = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let text = &rest[begin..];
    let mut number = 0u64;
    let mut length = 0;
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        number = number.wrapping_mul(10).wrapping_add(digit.into());
        length += 1;
    }
    let digits = length;
    length += text[digits..].iter().position(u8::is_ascii_whitespace).unwrap_or(text.len() - digits);
    let (word, after) = text.split_at(length);
    *rest = after;
    let plain = match word {
        b"-1" => Some(None),
        _ if digits == length && digits <= PLAIN_DIGITS => Some(Some(number * 1_000_000)),
        _ => None,
    };
    Some((word, plain))
}

/// Parses a number in millionths; `None` for -1. Truncated to millionths.
fn read_number(word: &[u8]) -> Result<Option<u64>, &'static str> {
    if let Some(rest) = word.strip_prefix(b"-") {
        let (ones, zeros) = rest.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        let nothing = zeros.is_empty() || (zeros[0] == b'.' && zeros[1..].iter().all(|&digit| digit == b'0'));
        return match (ones, nothing) {
            (b'1', true) => Ok(None),
            (b'0'..=b'9', _) => Err("negative"),
            _ => Err("not a number"),
        };
    }
    let (whole, fraction) = match word.iter().position(|&byte| byte == b'.') {
        Some(point) => (&word[..point], &word[point + 1..]),
        None => (word, &[][..]),
    };
    if (whole.is_empty() && fraction.is_empty()) || !word.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.') {
        return Err("not a number");
    }
    let mut number = 0u64;
    for &digit in whole {
        let next = number.checked_mul(10).and_then(|number| number.checked_add(u64::from(digit - b'0')));
        number = next.ok_or("absurdly large")?;
    }
    let mut number = number.checked_mul(1_000_000).ok_or("absurdly large")?;
    let mut unit = 100_000;
    for &digit in fraction {
        if digit == b'.' {
            return Err("not a number");
        }
        number = number.checked_add(unit * u64::from(digit - b'0')).ok_or("absurdly large")?;
        unit /= 10;
    }
    Ok(Some(number))
}

/// Writes a log, in pieces of a few kilobytes.
pub fn write_log<E>(header: &[String], jobs: &[Rigid], mut put: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let mut text = Vec::new();
    write_header(header, &mut text);
    for job in jobs {
        write_job(job, &mut text);
        if text.len() > 1 << 16 {
            put(&text)?;
            text.clear();
        }
    }
    put(&text)
}

pub fn write_header(header: &[String], text: &mut Vec<u8>) {
    for line in header {
        text.extend_from_slice(b"; ");
        text.extend_from_slice(line.replace(['\n', '\r'], " ").trim_end().as_bytes());
        text.push(b'\n');
    }
}

/// Header of a log written by Hansa.
pub fn log_header(about: &str, jobs: usize, nodes: u32) -> Vec<String> {
    vec![
        "Version: 2.2".to_owned(),
        format!("Computer: {about}"),
        format!("Conversion: hansa {}", env!("CARGO_PKG_VERSION")),
        format!("MaxJobs: {jobs}"),
        format!("MaxRecords: {jobs}"),
        format!("MaxNodes: {nodes}"),
        format!("MaxProcs: {nodes}"),
    ]
}

pub fn write_job(job: &Rigid, text: &mut Vec<u8>) {
    fn write_number(text: &mut Vec<u8>, number: Option<impl Into<u64>>) {
        write_field(text, number.map(Into::into), put_number);
    }
    fn write_span(text: &mut Vec<u8>, span: Option<Span>) {
        write_field(text, span.map(Span::micros), put_seconds);
    }
    fn write_memory(text: &mut Vec<u8>, memory: Option<Kilobytes>) {
        write_field(text, memory.map(Kilobytes::millionths), put_seconds);
    }
    put_number(text, job.number);
    text.push(b' ');
    put_seconds(text, job.submit.micros());
    write_span(text, job.wait);
    write_span(text, job.runtime);
    write_number(text, job.allocated);
    write_span(text, job.cpu_time);
    write_memory(text, job.memory_used);
    write_number(text, job.requested);
    write_span(text, job.requested_time);
    write_memory(text, job.memory_requested);
    for field in [job.status, job.user, job.group, job.executable, job.queue, job.partition] {
        write_number(text, field);
    }
    write_number(text, job.preceding);
    write_span(text, job.think);
    text.push(b'\n');
}

/// Appends the next field of a line.
fn write_field(text: &mut Vec<u8>, field: Option<u64>, put: fn(&mut Vec<u8>, u64)) {
    text.push(b' ');
    match field {
        Some(field) => put(text, field),
        None => text.extend_from_slice(b"-1"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOG: &str = "\
; Version: 2.2
;MaxProcs: 240
   1  342072 32 43306 32 43307 -1 32 43200 -1 1 4 1 -1 -1 1 -1 -1
2 342343 5 553 40 552.21 1024.5 -1 -1 -1 1 4 1 -1 2 1 1 60
";

    fn rewritten(trace: &Trace) -> String {
        let mut bytes = Vec::new();
        let jobs: Vec<Rigid> = trace.jobs.iter().collect();
        write_log(&trace.header, &jobs, |piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), ()>(())
        })
        .unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_log_is_read_and_written_back() {
        let trace = read_log(LOG.as_bytes()).unwrap();
        assert!(trace.faults.is_empty());
        assert_eq!(trace.header, ["Version: 2.2", "MaxProcs: 240"]);
        let jobs: Vec<Rigid> = trace.jobs.iter().collect();
        let [first, second] = &jobs[..] else { panic!("two jobs") };
        assert_eq!((first.nodes(), first.walltime()), (Ok(32), Some(Span::from_secs(43_200))));
        assert_eq!((second.nodes(), second.walltime()), (Ok(40), None));
        assert_eq!(second.cpu_time, Some(Span::from_millis(552_210)));
        assert_eq!((second.preceding, second.think), (Some(1), Some(Span::from_minutes(1))));
        assert_eq!(
            rewritten(&trace),
            "; Version: 2.2\n; MaxProcs: 240\n\
             1 342072 32 43306 32 43307 -1 32 43200 -1 1 4 1 -1 -1 1 -1 -1\n\
             2 342343 5 553 40 552.21 1024.5 -1 -1 -1 1 4 1 -1 2 1 1 60\n"
        );
    }

    #[test]
    fn bad_lines_are_counted_and_listed() {
        let log = "\
1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
2 5 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1
3 5 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1 7
4 5 -1 ten 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
1 6 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
6 -5 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
7 99999999999999999999 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
8 7 -1 9999999999999 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
9 8 -1 10 1 -1 -1 1.5 10 -1 1 1 1 -1 -1 -1 -1 -1
10 -1 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
11 3 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
12 2 -1 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
";
        let trace = read_log(log.as_bytes()).unwrap();
        assert_eq!(trace.jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 12, 11, 3]);
        let faults: Vec<String> =
            trace.faults.first.iter().map(|fault| format!("{}: {}", fault.place, fault.what)).collect();
        assert_eq!(
            faults,
            [
                "line 2: expected 18 numbers, found 17",
                "line 4: the run time is ten, which is not a number",
                "line 5: there is a job 1 already",
                "line 6: the submit time is -5, which is negative",
                "line 7: the submit time is 99999999999999999999, which is absurdly large",
                "line 8: the run time is too long",
                "line 9: the requested processors is not a whole number",
                "line 10: the submit time is missing",
                "job 3: it is out of order by its submit time",
                "job 11: it is out of order by its submit time",
            ]
        );
        assert_eq!((trace.faults.left_out, trace.faults.disordered), (8, 2));
        assert!(trace.faults.to_string().starts_with("8 left out, 2 put in order\n  line 2: "));
    }

    #[test]
    fn fields_after_the_eighteenth_are_ignored_and_counted_once() {
        let line = "0 -1 10 4 -1 -1 4 10 -1 1 1 1 -1 -1 -1 -1 -1";
        let trace = read_log(format!("1 {line} 7 8 9\n2 {line} x\n3 {line}\n").as_bytes()).unwrap();
        assert_eq!(trace.jobs.len(), 3);
        assert!(trace.faults.is_empty());
        assert_eq!(
            trace.faults.note(),
            Some("2 lines have more than 18 fields: up to 3 extra fields a line ignored".to_owned())
        );
    }

    #[test]
    fn the_size_of_an_exclusive_allocation_is_its_number_of_nodes() {
        let line =
            |size: &str, extra: &str| format!("0 -1 10 {size} -1 -1 {size} 10 -1 1 1 1 -1 -1 -1 -1 -1 {extra}\n");
        let log = [
            format!("1 {}", line("589824", "16 -1 frontier:excl:2500x112")),
            format!("2 {}", line("3", "-1 3600 frontier:excl:2x112")),
            format!("3 {}", line("4", "8 -1 frontier:shared:1x56")),
            format!("4 {}", line("5", "-1 -1 frontier:excl:0x112")),
            format!("5 {}", line("6", "-1 -1 frontier:excl:2x112:x")),
            format!("6 {}", line("7", "frontier:excl:2x112")),
            format!("7 {}", line("8", "-1 -1 frontier:excl:+2x112")),
            // Fields that have no use need not be readable.
            format!("8 {}", line("9999999999", "-1 -1 frontier:excl:9x1")),
        ];
        let trace = read_log(log.concat().as_bytes()).unwrap();
        let sizes: Vec<_> = trace.jobs.iter().map(|job| job.nodes().unwrap()).collect();
        assert_eq!(sizes, [2_500, 2, 4, 5, 6, 7, 8, 9]);
        assert!(trace.faults.is_empty());
        let note = trace.faults.note().unwrap();
        assert_eq!(
            note,
            "3 jobs have the size that their field 21 describes, in nodes (such as frontier:excl:2500x112, 2,500 \
             nodes), instead of that of fields 5 and 8; their GPUs (field 19, of 1 job) and soft walltimes (field 20, \
             of 1 job) are ignored; 5 lines have more than 18 fields: up to 3 extra fields a line ignored"
        );
        let alone = read_log(log[7].as_bytes()).unwrap().faults.note().unwrap();
        assert!(alone.starts_with("1 job has the size that its field 21") && !alone.contains("ignored"), "{alone}");
    }

    #[test]
    fn carriage_returns_alone_end_the_lines_of_a_log() {
        let trace = read_log(LOG.replace('\n', "\r").as_bytes()).unwrap();
        assert_eq!(trace, read_log(LOG.as_bytes()).unwrap());
    }

    #[test]
    fn other_formats_are_recognised() {
        let message = |text: &str| read_log(text.as_bytes()).unwrap().faults.first[0].what.clone();
        assert_eq!(
            message("JobID|User|Submit|Start|End|NNodes\n"),
            "the job number is JobID|User|Submit|Start|End|NNodes, which is not a number; it looks like output of \
             `sacct`, which source = \"sacct\" reads"
        );
        assert_eq!(
            message("1,0,-1,10,1\n"),
            "the job number is 1,0,-1,10,1, which is not a number; it looks like a CSV table, but a log has eighteen \
             numbers a line, separated by spaces (SWF)"
        );
    }

    #[test]
    fn the_header_says_on_what_day_a_log_starts() {
        let start = |line: &str| start_day(&[" Version: 2".to_owned(), format!(" {line}")]);
        assert_eq!(start("StartTime: Fri Apr 24 18:11:04 PDT 1998"), Some(10_340));
        assert_eq!(start("StartTime: 1998-04-24 18:11:04"), Some(10_340));
        assert_eq!(start("StartTime: Thu Jan  1 00:00:00 UTC 1970"), Some(0));
        for line in ["StartTime: yesterday", "StartTime: 18:11:04", "StartTime: 1998-14-24", "StartTime: Apr 1998", ""]
        {
            assert_eq!(start(line), None, "{line}");
        }
    }

    #[test]
    fn the_header_says_at_what_time_of_day_a_log_starts() {
        let start = |line: &str| start_of_day(&["Version: 2.2".to_owned(), line.to_owned()]);
        assert_eq!(start("StartTime: Fri Apr 24 18:11:04 PDT 1998"), Some(Span::from_secs(65_464)));
        for line in ["StartTime: yesterday", "StartTime: 25:00:00", "EndTime: Fri Apr 24 18:11:04 PDT 1998", ""] {
            assert_eq!(start(line), None, "{line}");
        }
    }

    #[test]
    fn jobs_that_cannot_run_have_a_reason() {
        let job = |fields: &str| {
            let line = format!("1 0 -1 {fields} 10 -1 1 1 1 -1 -1 -1 -1 -1");
            read_log(line.as_bytes()).unwrap().jobs.get(0).unwrap().check().map_err(|why| why.to_string())
        };
        assert_eq!(job("-1 4 -1 -1 4"), Err("its run time is unknown".to_owned()));
        assert_eq!(job("10 0 -1 -1 -1"), Err("its number of processors is unknown".to_owned()));
        assert_eq!(job("0 4 -1 -1 -1"), Ok(()));
    }

    proptest! {
        /// One pass over a line finds the words that splitting finds, and the numbers that the full reader reads.
        #[test]
        fn plain_words_are_numbers(text in "[-0-9. \t]{0,60}") {
            let mut rest = text.as_bytes();
            let mut words = Vec::new();
            while let Some((word, plain)) = next_word(&mut rest) {
                words.push(word);
                if let Some(number) = plain {
                    prop_assert_eq!(read_number(word), Ok(number));
                }
            }
            let split = text.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            prop_assert_eq!(words, split.collect::<Vec<_>>());
        }

        /// Reading terminates for any text, and the jobs read survive writing and reading.
        #[test]
        fn reading_survives_anything(text in "[-0-9. \n;a\t]{0,200}") {
            let trace = read_log(text.as_bytes()).unwrap();
            let again = read_log(rewritten(&trace).as_bytes()).unwrap();
            prop_assert_eq!(&again.jobs, &trace.jobs);
            prop_assert!(again.faults.is_empty());
        }

        #[test]
        fn jobs_survive_the_file(numbers in prop::collection::vec((0u64..50, 0u64..9_000_000_000, 0u32..300), 0..30)) {
            let mut jobs: Vec<Rigid> = Vec::new();
            for (number, &(submit, micros, nodes)) in numbers.iter().enumerate() {
                let submit = jobs.last().map_or(Time::ZERO, |job| job.submit) + Span::from_secs(submit);
                let runtime = Some(Span::from_micros(micros));
                let requested = (nodes > 0).then_some(nodes);
                jobs.push(Rigid { number: number as u64 + 1, submit, runtime, requested, ..Rigid::default() });
            }
            let trace = Trace { jobs: jobs.into_iter().collect(), ..Trace::default() };
            prop_assert_eq!(read_log(rewritten(&trace).as_bytes()).unwrap(), trace);
        }
    }
}
