//! Outages in a file.
//!
//! The plain form has lines `component,down,up`: any name, and two times in seconds. A first line without numbers is a
//! heading. The other form is a table of events of the Failure Trace Archive (`event_trace`): its heading names the
//! columns `component_id` (or `node_id`), `event_type` (0 for unavailable; other events are skipped),
//! `event_start_time` and `event_stop_time`. Its times are calendar times, so the first outage is shifted to zero.
//! Columns are separated by commas or tabs; lines after `#` are comments, except such a heading.
//!
//! Components are numbered in order of first mention. Archives contain overlapping outages of one component: these are
//! merged and counted.

use std::collections::BTreeMap;

use crate::grid::Traced;
use crate::settings::shorten_text;
use crate::settings::units::{SPAN_MAX, parse_exact};
use crate::time::Time;
use crate::workload::lines::LINE_MAX;

/// Indices of the columns that are read.
struct Columns {
    component: usize,
    down: usize,
    up: usize,
    /// Column of the event's type, if there is one.
    event: Option<usize>,
}

/// Content of a trace.
#[derive(Debug, PartialEq)]
pub struct OutageTrace {
    /// Outages, sorted by component and time.
    pub outages: Vec<Traced>,
    /// Number of outages that begin while their component is down already; `first_merged` is the line of the first one.
    pub merged: u64,
    pub first_merged: usize,
}

/// Outages by component: start and end in microseconds, and line number.
type OutagesByComponent = BTreeMap<u32, Vec<(u64, u64, usize)>>;

/// Parses a trace, or returns an error with its line.
pub fn parse_trace(bytes: &[u8]) -> Result<OutageTrace, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("expected text: {error}"))?;
    let (columns, written) = parse_outages(text)?;
    let first = written.values().flatten().map(|outage| outage.0).min();
    let first = first.ok_or("expected at least one outage, found none")?;
    Ok(merge_outages(written, if columns.event.is_some() { first } else { 0 }))
}

fn parse_outages(text: &str) -> Result<(Columns, OutagesByComponent), String> {
    let mut columns = Columns { component: 0, down: 1, up: 2, event: None };
    let mut is_first = true;
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut written = OutagesByComponent::new();
    for (line, number) in text.lines().zip(1..) {
        let wrong = |expected: &str| format!("line {number}: expected {expected}, found {:?}", shorten_text(line));
        if line.len() > LINE_MAX {
            return Err(wrong(&format!("a line of at most {LINE_MAX} bytes")));
        }
        let is_comment = line.starts_with('#');
        let fields: Vec<&str> = line.trim_start_matches('#').split([',', '\t']).map(str::trim).collect();
        if let Some(named) = Columns::from_heading(&fields) {
            (columns, is_first) = (named, false);
            continue;
        }
        if is_comment || line.trim().is_empty() {
            continue;
        }
        let field = |column: usize| fields.get(column).copied().ok_or_else(|| wrong("component, down and up"));
        if let Some(event) = columns.event
            && field(event)? != "0"
        {
            continue;
        }
        let times = [field(columns.down)?, field(columns.up)?].map(|text| parse_exact(text, 1_000_000));
        let is_heading = std::mem::take(&mut is_first) && times.iter().all(Result::is_err);
        if is_heading {
            continue;
        }
        let [Ok(down), Ok(up)] = times else { return Err(wrong("two times in seconds, to the microsecond")) };
        if up <= down {
            return Err(wrong("a time up that is later than down"));
        }
        if up > SPAN_MAX.micros() {
            return Err(wrong("times of at most 365250 d"));
        }
        let next = numbers.len() as u32;
        let component = *numbers.entry(field(columns.component)?).or_insert(next);
        written.entry(component).or_default().push((down, up, number));
    }
    Ok((columns, written))
}

/// Shifts times by `from`, and merges overlapping outages.
fn merge_outages(mut written: OutagesByComponent, from: u64) -> OutageTrace {
    let mut traced = Vec::new();
    let mut merged = 0;
    let mut first_merged = usize::MAX;
    for (component, outages) in &mut written {
        outages.sort_unstable();
        let mut open: Option<(u64, u64)> = None;
        for &(down, up, line) in outages.iter() {
            match &mut open {
                Some((_, until)) if down <= *until => {
                    if down < *until {
                        (merged, first_merged) = (merged + 1, first_merged.min(line));
                    }
                    *until = up.max(*until);
                }
                _ => traced.extend(open.replace((down, up)).map(|outage| (*component, outage))),
            }
        }
        traced.extend(open.map(|outage| (*component, outage)));
    }
    let traced = traced.into_iter();
    let outages = traced
        .map(|(component, (down, up))| Traced { down: time_since(down, from), up: time_since(up, from), component })
        .collect();
    OutageTrace { outages, merged, first_merged }
}

fn time_since(micros: u64, from: u64) -> Time {
    Time::from_micros(micros - from)
}

impl OutageTrace {
    /// Note for the user about merged outages.
    pub fn note(&self) -> Option<String> {
        let (what, they) =
            if self.merged == 1 { ("outage begins", "it counts") } else { ("outages begin", "they count") };
        (self.merged > 0).then(|| {
            format!(
                "{} {what} while the component is down already, the first on line {}: {they} as one with what overlaps",
                self.merged, self.first_merged
            )
        })
    }
}

impl Columns {
    /// Columns of a heading of the archive's form; None if it is none.
    fn from_heading(fields: &[&str]) -> Option<Columns> {
        Some(Columns {
            component: place_of_column("component_id", fields).or_else(|| place_of_column("node_id", fields))?,
            event: Some(place_of_column("event_type", fields)?),
            down: place_of_column("event_start_time", fields)?,
            up: place_of_column("event_stop_time", fields)?,
        })
    }
}

fn place_of_column(name: &str, fields: &[&str]) -> Option<usize> {
    fields.iter().position(|field| *field == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_outages(text: &str) -> Result<Vec<String>, String> {
        let render_outage = |one: &Traced| format!("{}: {}-{}", one.component, one.down.seconds(), one.up.seconds());
        parse_trace(text.as_bytes()).map(|all| all.outages.iter().map(render_outage).collect())
    }

    #[test]
    fn plain_lines_are_components_and_times() {
        let text = "component,down,up\n# a comment\nb,10,20.5\na,0,5\n\nb,15,30\nb,40,41\n";
        assert_eq!(parse_outages(text).unwrap(), ["0: 10-30", "0: 40-41", "1: 0-5"]);
        assert_eq!(parse_outages("3 , 1e3 , 2e3").unwrap(), ["0: 1000-2000"]);
    }

    #[test]
    fn outages_that_overlap_are_one_and_counted() {
        let note = |text: &str| parse_trace(text.as_bytes()).unwrap().note();
        let text = "a,10,50\nb,0,5\na,40,60\na,60,70\na,20,30\n";
        assert_eq!(parse_outages(text).unwrap(), ["0: 10-70", "1: 0-5"]);
        let expected = "2 outages begin while the component is down already, the first on line 3: they count as one with what overlaps";
        assert_eq!(note(text).as_deref(), Some(expected));
        // Adjacent outages do not overlap.
        assert_eq!(note("a,10,50\na,50,60\nb,20,30"), None);
    }

    #[test]
    fn events_of_the_archive_count_from_the_first_that_is_a_failure() {
        let text = "#event_id\tcomponent_id\tnode_id\tevent_type\tevent_start_time\tevent_stop_time\n\
                    1\t7\t1\t1\t1000000000\t1000000100\n\
                    2\t7\t1\t0\t1000000100\t1000000160\n\
                    3\t8\t2\t0\t1000000130\t1000000190\n";
        assert_eq!(parse_outages(text).unwrap(), ["0: 0-60", "1: 30-90"]);
    }

    #[test]
    fn errors_have_their_lines() {
        let wrong = |text: &str| parse_outages(text).unwrap_err();
        assert_eq!(wrong("a,1,2\na,5,4"), "line 2: expected a time up that is later than down, found \"a,5,4\"");
        assert_eq!(wrong("a,1,2\na,x,4"), "line 2: expected two times in seconds, to the microsecond, found \"a,x,4\"");
        assert!(wrong("a,1,31557600001").starts_with("line 1: expected times of at most 365250 d"));
        assert_eq!(wrong("a,1"), "line 1: expected component, down and up, found \"a,1\"");
        assert_eq!(wrong("component,down,up\n"), "expected at least one outage, found none");
        assert!(wrong("a,-1,4").starts_with("line 1: expected two times"));
    }

    #[test]
    fn errors_quote_only_the_beginning_of_a_long_line() {
        let wrong = |text: String| parse_outages(&text).unwrap_err();
        let message = wrong(format!("a,1,2\n{}", "x".repeat(1 << 20)));
        assert!(
            message.starts_with("line 2: expected a line of at most 16384 bytes, found \"xxx"),
            "{}",
            &message[..100]
        );
        assert!(message.len() < 200, "{} bytes", message.len());
        let message = wrong(format!("a,1,{}", "x".repeat(10_000)));
        assert!(
            message.starts_with("line 1: expected two times in seconds") && message.len() < 200,
            "{} bytes",
            message.len()
        );
    }
}
