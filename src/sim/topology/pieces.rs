//! Large files, of which a list of tables is parsed piece by piece.
//!
//! The parser of TOML takes some fifty times the size of a text in memory: for its tokens, its events and a tree for
//! each table. Nearly all of a large topology is one list, such as of `[[workload.job]]`. Its tables do not depend on
//! each other, so a few at a time are parsed as a document of their own and appended to the list of the rest.

use std::ops::Range;

use toml::de::DeTable;

use crate::settings::{Diagnostic, Location, Table, Value, WrittenNode, convert_table};

/// Size of the smallest file that is parsed in pieces, in bytes.
pub const PIECEWISE_FROM: usize = 1 << 20;

/// Least size of a piece in bytes. Tests have small pieces, so that short texts have several.
const PIECE: usize = if cfg!(test) { 64 } else { 1 << 16 };

/// Consecutive tables of one list, from the second on: headers like the first one, their keys and their own tables.
#[derive(Debug, PartialEq, Eq)]
pub struct TableList<'t> {
    /// Name of the list, such as `workload.job`.
    name: &'t str,
    /// Offsets at which pieces begin and the last one ends; each begins with a header.
    cuts: Vec<usize>,
}

/// Headers of one list while a text is read.
struct Reading<'t> {
    name: &'t str,
    cuts: Vec<usize>,
}

impl<'t> TableList<'t> {
    /// The longest list of a text, if it is the last mention of the key at its root, so that it ends as a part of the
    /// same table in which it began. None if no list has several pieces, or if a multi-line string may
    /// contain lines that look like headers. O(text).
    pub fn find(text: &'t str) -> Option<TableList<'t>> {
        if text.contains("\"\"\"") || text.contains("'''") {
            return None;
        }
        let mut longest: Option<TableList<'t>> = None;
        let mut reading: Option<Reading<'t>> = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let begin = at;
            at += line.len();
            let Some(root) = header_root(line) else { continue };
            if let Some(list) = &mut reading {
                if list_name(line) == Some(list.name) {
                    if list.cuts.last().is_none_or(|last| begin - last >= PIECE) {
                        list.cuts.push(begin);
                    }
                    continue;
                }
                if is_part_of(line, list.name) {
                    continue;
                }
            }
            longest = longer(longest, reading.take(), begin).filter(|list| !may_be(root, list.root()));
            reading = list_name(line).map(|name| Reading { name, cuts: Vec::new() });
        }
        longer(longest, reading, text.len())
    }

    /// Offsets of the list in its text.
    pub fn range(&self) -> Range<usize> {
        self.cuts[0]..self.cuts[self.cuts.len() - 1]
    }

    fn root(&self) -> &'t str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// Parses the rest of the text at once, and the list in pieces. Fails with the first error; without one if the
    /// tables of the list turn out to be something else.
    pub fn parse(&self, text: &str, source: usize) -> Result<Table, Option<Diagnostic>> {
        let Range { start, end } = self.range();
        let rest = format!("{}{}", &text[..start], &text[end..]);
        let place = |at: usize| if at < start { at } else { at + (end - start) };
        let mut whole =
            parse_part(&rest, &|span| Location::of_span(source, place(span.start)..place(span.end))).map_err(Some)?;
        let list = find_list(&mut whole, self.name).ok_or(None)?;
        for piece in self.cuts.windows(2) {
            let begin = piece[0];
            let locate = |span: Range<usize>| Location::of_span(source, begin + span.start..begin + span.end);
            let table = parse_part(&text[begin..piece[1]], &locate).map_err(Some)?;
            list.extend(take_list(table, self.name).ok_or(None)?);
        }
        Ok(whole)
    }
}

/// Parses a part of a file as a document; fails with the first error.
fn parse_part(text: &str, locate: &impl Fn(Range<usize>) -> Location) -> Result<Table, Diagnostic> {
    let (parsed, errors) = DeTable::parse_recoverable(text);
    match errors.first() {
        None => Ok(convert_table(parsed.get_ref(), locate)),
        Some(error) => {
            let location = locate(error.span().unwrap_or(0..0));
            Err(Diagnostic::new(location, "", format!("this is not TOML: {}", error.message())))
        }
    }
}

/// The longer one of two lists, where the second ends at `end`.
fn longer<'t>(longest: Option<TableList<'t>>, reading: Option<Reading<'t>>, end: usize) -> Option<TableList<'t>> {
    let ended = reading.filter(|list| !list.cuts.is_empty()).map(|Reading { name, mut cuts }| {
        cuts.push(end);
        TableList { name, cuts }
    });
    let length = |list: &TableList<'_>| list.range().len();
    [longest, ended].into_iter().flatten().max_by_key(length)
}

/// First key of a header; None for other lines, such as the items of a list.
fn header_root(line: &str) -> Option<&str> {
    let inner = line.trim_start().strip_prefix('[')?.trim_start_matches('[').trim_start();
    let (keys, rest) = inner.split_once(']')?;
    let ends = rest.trim_start_matches(']').trim_start();
    let is_header = !keys.contains(',') && (ends.is_empty() || ends.starts_with('#'));
    is_header.then(|| keys.split(['.', ' ', '\t']).next().unwrap_or(keys))
}

/// True if a key of a header may be this one, which is bare.
fn may_be(written: &str, key: &str) -> bool {
    written == key || written.starts_with(['"', '\''])
}

/// Name of the list of a header such as `[[workload.job]]`, at the beginning of a line and of bare keys.
fn list_name(line: &str) -> Option<&str> {
    let name = line.trim_end().strip_prefix("[[")?.strip_suffix("]]")?;
    let is_bare = |key: &str| {
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    name.split('.').all(is_bare).then_some(name)
}

/// True for a header of a table within the tables of a list. A list within them is read as one of its own.
fn is_part_of(line: &str, name: &str) -> bool {
    line.strip_prefix('[').and_then(|inner| inner.strip_prefix(name)).is_some_and(|rest| rest.starts_with('.'))
}

/// The list of this name in a document, where each list of tables on the way has it in its last table.
fn find_list<'a>(table: &'a mut Table, name: &str) -> Option<&'a mut Vec<WrittenNode>> {
    let (key, rest) = name.split_once('.').map_or((name, None), |(key, rest)| (key, Some(rest)));
    match (&mut table.get_mut(key)?.value, rest) {
        (Value::List(list), None) => Some(list),
        (Value::Table(inner), Some(rest)) => find_list(inner, rest),
        (Value::List(list), Some(rest)) => match &mut list.last_mut()?.value {
            Value::Table(inner) => find_list(inner, rest),
            _ => None,
        },
        _ => None,
    }
}

/// The list of this name, if a document has nothing else.
fn take_list(mut table: Table, name: &str) -> Option<Vec<WrittenNode>> {
    let (key, rest) = name.split_once('.').map_or((name, None), |(key, rest)| (key, Some(rest)));
    let keyed = table.entries.pop().filter(|keyed| keyed.key == key && table.entries.is_empty())?;
    match (keyed.node.value, rest) {
        (Value::List(list), None) => Some(list),
        (Value::Table(inner), Some(rest)) => take_list(inner, rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Diagnostics;

    const HEAD: &str =
        "name = \"x\" # [[workload.job]]\n[market]\n[[site]]\nname = \"york\"\ncores = 8\n[[workload]]\n";

    fn jobs(count: u32) -> String {
        let job = |number: u32| {
            let worth = if number.is_multiple_of(3) { "[workload.job.worth]\nmax = 1\n" } else { "# [[site]]\n" };
            let edges = if number.is_multiple_of(4) { "edges = [\n[0, 1],\n  [1, 2]\n]\n" } else { "" };
            format!("[[workload.job]]\narrive = \"{number} s\"\ntasks = [{{ cores = {number} }}]\n{edges}{worth}")
        };
        (0..count).map(job).collect()
    }

    fn parse_at_once(text: &str) -> Option<Table> {
        parse_part(text, &|span| Location::of_span(0, span)).ok()
    }

    #[test]
    fn pieces_add_up_to_the_whole() {
        let tail = "[[user]]\nname = \"alice\"\n";
        let first = "[[workload.job]]\narrive = \"1 s\"\n[[workload]]\nsource = \"table\"\n";
        for (name, text) in [
            ("workload.job", format!("{HEAD}{}", jobs(50))),
            ("workload.job", format!("{HEAD}{first}{}{tail}", jobs(50))),
            ("site", format!("{HEAD}{}[defaults]\n", "[[site]]\nname = \"durham\"\n".repeat(40))),
        ] {
            let list = TableList::find(&text).unwrap();
            assert_eq!(list.name, name);
            assert!(list.cuts.len() > 5 && list.range().len() > text.len() / 2, "{list:?}");
            let whole = parse_at_once(&text).unwrap();
            let pieces = list.parse(&text, 0).ok().unwrap();
            assert_eq!(format!("{pieces:?}"), format!("{whole:?}"));
        }
    }

    #[test]
    fn a_list_that_may_go_on_is_none() {
        let jobs = jobs(50);
        for text in [
            format!("{HEAD}about = \"\"\"\n[[workload.job]]\n\"\"\"\n{jobs}"),
            format!("{HEAD}{jobs}[[workload]]\nsource = \"lublin\"\n"),
            format!("{HEAD}{jobs}  [\"workload\"]\n"),
            format!("{HEAD}{jobs}[[user]]\nname = \"alice\"\n[[workload.job]]\n"),
            format!("{HEAD}[[workload.job]]\narrive = \"1 s\"\n"),
            jobs.replace("[[workload.job]]", "[[ workload.job ]]"),
        ] {
            assert_eq!(TableList::find(&text), None, "{text}");
        }
    }

    #[test]
    fn an_error_in_a_piece_is_where_it_is() {
        for (wrong, text) in [
            ("cores = 31 ]", format!("{HEAD}{}", jobs(50)).replace("cores = 31 }", "cores = 31 ]")),
            ("[market]", format!("{HEAD}{}[market]\n", jobs(50))),
        ] {
            assert!(parse_at_once(&text).is_none());
            let mut diagnostics = Diagnostics::default();
            let source = diagnostics.add_source(Some("x.toml".to_owned()), text.clone());
            let error = TableList::find(&text).unwrap().parse(&text, source).err().unwrap();
            diagnostics.add(error.unwrap());
            let message = diagnostics.verdict(None::<()>).unwrap_err().to_string();
            let line = text[..text.rfind(wrong).unwrap()].matches('\n').count() + 1;
            assert!(message.contains("this is not TOML") && message.contains(&format!("x.toml:{line}:")), "{message}");
        }
    }

    #[test]
    fn tables_that_are_something_else_are_no_list() {
        let text = format!("{HEAD}{}", jobs(50)).replace("# [[site]]", "  [ 'a,b' ]");
        assert!(parse_at_once(&text).is_none());
        let list = TableList::find(&text).unwrap();
        assert!(list.parse(&text, 0).is_err_and(|error| error.is_none()));
    }
}
