//! Files of a topology: includes and attachments of workloads, and expansion of sites and users with a `count`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use toml::de::DeTable;
use xxhash_rust::xxh3::xxh3_128;

use super::pieces::{PIECEWISE_FROM, TableList};
use super::slurm_conf;
use crate::grid::SlurmCluster;
use crate::settings::{
    Attached, Diagnostic, Diagnostics, FileContent, Keyed, Location, Path, Table, Value, WrittenNode, convert_table,
    format_count,
};

/// Size of the largest file that is read, in bytes.
const FILE_BYTES_MAX: usize = 256 << 20;

/// Size of the largest text that is parsed at once, in bytes.
pub const BYTES_MAX: usize = 64 << 20;

/// Most keys that are parsed at once. A key takes 400 to 1,000 bytes of memory meanwhile.
pub const KEYS_MAX: usize = 1_000_000;

/// Most keys of a file whose longest list of tables is parsed in pieces. A parsed key takes about 200 bytes.
const LISTED_KEYS_MAX: usize = 16_000_000;

/// A file that a topology was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub path: String,
    /// XXH3-128 of its bytes, in hexadecimal.
    pub hash: String,
}

impl Input {
    pub fn of_file(path: &str, bytes: &[u8]) -> Input {
        Input { path: path.to_owned(), hash: format!("{:032x}", xxh3_128(bytes)) }
    }
}

/// Reads the bytes of a file, or returns the reason why it cannot.
pub type Read<'r> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'r;

/// Reads files and collects their errors.
pub struct Library<'r, 'x> {
    pub read: &'r mut Read<'x>,
    pub diagnostics: Diagnostics,
    pub inputs: Vec<Input>,
    included: BTreeMap<String, Option<Table>>,
    attached: BTreeMap<String, FileContent>,
}

impl<'r, 'x> Library<'r, 'x> {
    pub fn new(read: &'r mut Read<'x>) -> Library<'r, 'x> {
        Library {
            read,
            diagnostics: Diagnostics::default(),
            inputs: Vec::new(),
            included: BTreeMap::new(),
            attached: BTreeMap::new(),
        }
    }

    /// Reads and parses a file that is named at `from`, or by the user; None if there are errors.
    pub fn open(&mut self, path: &str, from: Option<(Location, &str)>) -> Option<Table> {
        let bytes = match (self.read)(path) {
            Ok(bytes) => bytes,
            Err(reason) => {
                let (location, key) = from.unwrap_or_else(|| {
                    (Location::whole_source(self.diagnostics.add_source(Some(path.to_owned()), String::new())), "")
                });
                self.diagnostics.add(Diagnostic::new(location, key, format!("cannot read {path}: {reason}")));
                return None;
            }
        };
        self.inputs.push(Input::of_file(path, &bytes));
        if bytes.len() > FILE_BYTES_MAX {
            let source = self.diagnostics.add_source(Some(path.to_owned()), String::new());
            self.refuse_size(source, FILE_BYTES_MAX, &bytes);
            return None;
        }

        // Escapes of broken bytes keep the offsets of the text before them.
        let (text, broken) = match String::from_utf8(bytes) {
            Ok(text) => (text, None),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let byte = error.as_bytes()[at];
                (escape_broken_line(error.as_bytes(), at), Some((at, byte)))
            }
        };
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let source = self.diagnostics.add_source(Some(path.to_owned()), text[mark..].to_owned());
        if let Some((at, byte)) = broken {
            let location = Location::of_span(source, at - mark..at - mark + 1);
            let message = format!("expected text in UTF-8, found the byte 0x{byte:02x}");
            self.diagnostics.add(Diagnostic::new(location, "", message));
            return None;
        }
        self.parse_source(source)
    }

    /// Parses a file as a table, in pieces if it is large and nearly all of it is one list.
    fn parse_source(&self, source: usize) -> Option<Table> {
        let text = &self.diagnostics.source(source).text;
        let list = if text.len() < PIECEWISE_FROM { None } else { TableList::find(text) };
        let listed = list.as_ref().map_or(0..0, TableList::range);
        if text.len() - listed.len() > BYTES_MAX {
            self.refuse_size(source, BYTES_MAX, text.as_bytes());
            return None;
        }
        let keys = count_keys(text);
        let at_once = keys - count_keys(&text[listed]);
        if at_once > KEYS_MAX {
            self.refuse_keys(source, KEYS_MAX, at_once);
            return None;
        }
        if keys > LISTED_KEYS_MAX {
            self.refuse_keys(source, LISTED_KEYS_MAX, keys);
            return None;
        }
        let Some(list) = list.filter(|_| other_format(text).is_none()) else {
            return parse_document(&self.diagnostics, source);
        };
        match list.parse(text, source) {
            Ok(table) => Some(table),
            // This reports all errors.
            Err(_) if text.len() <= BYTES_MAX && keys <= KEYS_MAX => parse_document(&self.diagnostics, source),
            Err(Some(error)) => {
                self.diagnostics.add(error);
                None
            }
            Err(None) if text.len() > BYTES_MAX => {
                self.refuse_size(source, BYTES_MAX, text.as_bytes());
                None
            }
            Err(None) => {
                self.refuse_keys(source, KEYS_MAX, keys);
                None
            }
        }
    }

    fn refuse_size(&self, source: usize, most: usize, bytes: &[u8]) {
        let message = format!("expected a file of at most {} MiB, found {} bytes", most >> 20, bytes.len());
        let begin = String::from_utf8_lossy(&bytes[..BEGIN]);
        let diagnostic = Diagnostic::new(Location::whole_source(source), "", message);
        self.diagnostics.add(match other_format(&begin) {
            Some(what) => diagnostic.hint(what),
            None => diagnostic,
        });
    }

    fn refuse_keys(&self, source: usize, most: usize, found: usize) {
        let message =
            format!("expected at most {} keys, found {}", format_count(most as u64), format_count(found as u64));
        let diagnostic = Diagnostic::new(Location::whole_source(source), "", message);
        self.diagnostics.add(diagnostic.hint("many jobs go into a file of their own, which a [[workload]] names"));
    }

    /// Table of an included file; read once, however often it is included.
    fn open_included(&mut self, path: &str, from: (Location, &str)) -> Option<Table> {
        if !self.included.contains_key(path) {
            let table = self.open(path, Some(from));
            self.included.insert(path.to_owned(), table);
        }
        self.included[path].clone()
    }

    /// Content of an attached file; read once, however often it is named.
    pub fn open_attached(&mut self, path: &str) -> FileContent {
        if !self.attached.contains_key(path) {
            let content = (self.read)(path).map(Arc::from);
            self.inputs.extend(content.iter().map(|bytes| Input::of_file(path, bytes)));
            self.attached.insert(path.to_owned(), content);
        }
        self.attached[path].clone()
    }
}

/// Number of keys of a text: each has a sign that hardly anything else has.
fn count_keys(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'=').count()
}

/// Format of a text whose first line cannot be TOML, so that a large log is not parsed as a topology. None if it may be
/// TOML, or the format is unknown. O(first line).
pub fn other_format(text: &str) -> Option<&'static str> {
    let line = first_line(text)?;
    // A value is on the line of its key.
    let may_be_toml = line.contains('=') || line.starts_with('[');
    let has_cells = |separator: char| line.split(separator).count() > 2;
    match line {
        line if line.starts_with('{') => {
            Some("this is JSON, not TOML: expected lines like key = value, and [tables] of them")
        }
        line if line.starts_with('<') => Some(
            "this is XML, not TOML: a workflow in DAX can be the file of a [[workload]] with source = \"workflow\"",
        ),
        line if line.starts_with(';') => Some(SWF),
        _ if may_be_toml => None,
        line if line.starts_with("digraph") || line.starts_with("strict digraph") => {
            Some("this is a graph in DOT, not TOML: it can be the file of a [[workload]] with source = \"workflow\"")
        }
        line if is_of_numbers(line) => Some(SWF),
        _ if has_cells('|') => Some(
            "this is a table of values separated by |, not TOML: what sacct writes can be the file of a [[workload]] \
             with source = \"sacct\"",
        ),
        _ if has_cells(',') => Some("this is a table of values separated by commas (CSV), not TOML"),
        _ => None,
    }
}

/// The first line that is neither empty nor a comment, without the spaces around it.
fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))
}

const SWF: &str = "this is a log in the Standard Workload Format, not TOML: it can be the file of a [[workload]] with \
                   source = \"swf\"";

/// True for a line of a log, which has 18 numbers or more, with some leniency.
fn is_of_numbers(line: &str) -> bool {
    line.split_whitespace().count() >= 10 && line.split_whitespace().all(|number| number.parse::<f64>().is_ok())
}

/// Bytes at the beginning of a file that is too large, in which its format is looked for.
const BEGIN: usize = 1 << 12;

fn parse_document(diagnostics: &Diagnostics, source: usize) -> Option<Table> {
    let text = &diagnostics.source(source).text;
    if let Some(message) = other_format(text) {
        let first = first_line(text).map_or(0, |line| line.as_ptr().addr() - text.as_ptr().addr());
        diagnostics.add(Diagnostic::new(Location::of_span(source, first..first + 1), "", message.to_owned()));
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    // End of the header of a repeated table: the parser also reports its keys as duplicates.
    let mut again = None;
    // A syntax error causes others: later ones in its line, and keys of tables with a faulty header.
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count();
    let mut faulty_line = None;
    for error in &errors {
        let is_twice = error.message() == "duplicate key";
        let line = error.span().map(|span| line_of(span.start));
        if faulty_line.is_some() && (is_twice || faulty_line == line) {
            continue;
        }
        if !is_twice {
            faulty_line = line;
        }
        let location = error.span().map_or(Location::whole_source(source), |span| Location::of_span(source, span));
        let diagnostic = Diagnostic::new(location, "", format!("this is not TOML: {}", error.message()));
        match error.span().filter(|_| is_twice) {
            Some(span) if text[..span.start].ends_with('[') => {
                again = Some(span.end);
                diagnostics.add(add_first_location(diagnostic, text, source, span));
            }
            Some(span) if again.is_some_and(|begin| !text[begin..span.start].contains("\n[")) => {}
            _ => diagnostics.add(diagnostic),
        }
    }
    errors.is_empty().then(|| convert_table(table.get_ref(), &|span| Location::of_span(source, span)))
}

/// Adds to an error about a repeated table its first location and a hint on lists of tables.
fn add_first_location(diagnostic: Diagnostic, text: &str, source: usize, span: Range<usize>) -> Diagnostic {
    let name = &text[span.clone()];
    let first = ["[", "[["].iter().filter_map(|brackets| {
        let header = format!("{brackets}{name}]");
        let at = if text.starts_with(&header) { 0 } else { text.find(&format!("\n{header}"))? + 1 };
        Some(at + brackets.len())
    });
    let diagnostic = match first.min().filter(|&first| first < span.start) {
        Some(first) => {
            diagnostic.with_related("it is first here", Location::of_span(source, first..first + name.len()))
        }
        None => diagnostic,
    };
    diagnostic.hint(format!("where there may be several, each begins with two brackets: [[{name}]]"))
}

/// Replaces `include` in workloads by the included keys; keys beside it take precedence.
pub fn include_files(root: &mut Table, path: &str, library: &mut Library<'_, '_>) {
    let Some(WrittenNode { value: Value::List(workloads), .. }) = root.get_mut("workload") else { return };
    for (number, workload) in workloads.iter_mut().enumerate() {
        if let Value::Table(table) = &mut workload.value {
            let chain = vec![normalize_path(path)];
            match resolve_includes(std::mem::take(table), chain, &format!("workload.{number}.include"), library) {
                Some(whole) => *table = whole,
                None => workload.value = Value::Lost,
            }
        }
    }
}

/// Resolves one table. `chain` holds the files that lead to it, the file of `table` last.
fn resolve_includes(
    mut table: Table,
    mut chain: Vec<String>,
    key: &str,
    library: &mut Library<'_, '_>,
) -> Option<Table> {
    let Some(WrittenNode { location, value }) = table.take("include") else { return Some(table) };
    let Value::Text(name) = value else {
        let found = library.diagnostics.text_at(location);
        let message = format!("expected the path of a file, found {found}");
        library.diagnostics.add(Diagnostic::new(location, key, message));
        return None;
    };
    let path = path_beside(chain.last().expect("the chain begins with the topology's file"), &name);
    if chain.contains(&path) {
        chain.push(path);
        let message = format!("files include each other in a cycle: {}", chain.join(" -> "));
        library.diagnostics.add(Diagnostic::new(location, key, message));
        return None;
    }
    if chain.len() > INCLUDES_MAX {
        let message = format!("expected at most {INCLUDES_MAX} files that include one another, found more");
        library.diagnostics.add(Diagnostic::new(location, key, message));
        return None;
    }

    let inner = library.open_included(&path, (location, key))?;
    chain.push(path);
    let mut whole = resolve_includes(inner, chain, key, library)?;
    table.entries.into_iter().for_each(|keyed| whole.set(keyed));
    Some(whole)
}

const INCLUDES_MAX: usize = 16;

/// Reads the files that workloads name under `file`, and failures under `trace`. Does not parse them. Files of
/// workloads whose jobs are prepared are not read.
pub fn attach_files(root: &Table, path: &str, prepared: &[Option<Vec<u8>>], library: &mut Library<'_, '_>) -> Attached {
    let mut attached = Attached::NONE;
    let list = |name: &str| match root.get(name) {
        Some(WrittenNode { value: Value::List(tables), .. }) => &tables[..],
        _ => &[],
    };
    let workloads = list("workload");
    let failures = list("failure");
    for (table, jobs) in workloads.iter().zip(prepared) {
        attached.jobs.extend(jobs.as_deref().map(|jobs| (table.location, jobs.into())));
    }
    let tables = workloads.iter().map(|table| (table, "file")).chain(failures.iter().map(|table| (table, "trace")));
    for (WrittenNode { location: place, value }, key) in tables {
        let Value::Table(table) = value else { continue };
        let Some(WrittenNode { location, value: Value::Text(name) }) = table.get(key) else { continue };
        let base = library.diagnostics.source(location.source()).path.clone();
        let path = path_beside(base.as_deref().unwrap_or(path), name);
        let content = match attached.jobs.contains_key(place) {
            true => Err("its jobs are prepared".to_owned()),
            false => library.open_attached(&path),
        };
        attached.files.insert(*location, (path, content));
    }
    attached
}

/// Gives each site with a folder of Slurm's files the cores of the nodes there, or checks the cores that it has. Where
/// the folder is not at hand, a site keeps the cores that it has.
pub fn fill_slurm_cores(root: &mut Table, path: &str, library: &mut Library<'_, '_>) {
    let Some(WrittenNode { value: Value::List(sites), .. }) = root.get_mut("site") else { return };
    for (number, site) in sites.iter_mut().enumerate() {
        let Value::Table(site) = &mut site.value else { continue };
        let Some(WrittenNode { value: Value::Table(slurm), .. }) = site.get("slurm") else { continue };
        let Some(WrittenNode { location, value: Value::Text(folder) }) = slurm.get("site") else { continue };
        let location = *location;
        let base = library.diagnostics.source(location.source()).path.clone();
        let conf = path_beside(base.as_deref().unwrap_or(path), &format!("{folder}/slurm.conf"));
        let mut is_there = false;
        let lines = slurm_conf::read_conf(&conf, &mut |path| {
            let content = library.open_attached(path);
            is_there |= content.is_ok();
            content.map(|bytes| bytes.to_vec())
        });
        if !is_there && site.get("cores").is_some() {
            continue;
        }
        let key = format!("site.{number}.slurm.site");
        let nodes = lines.and_then(|lines| slurm_conf::list_nodes(&lines));
        let cores = nodes.and_then(|groups| {
            let nodes: usize = groups.iter().map(|group| group.names.len()).sum();
            match slurm_conf::count_cpus(&groups) {
                Some(0) => Err(format!("{conf} has no line with NodeName")),
                _ if nodes > SlurmCluster::NODES_MAX as usize => {
                    Err(format!("expected at most {} nodes in {conf}, found {nodes}", SlurmCluster::NODES_MAX))
                }
                Some(cores) => Ok(cores),
                None => Err(format!("{conf} has more CPUs than can be counted")),
            }
        });
        match (cores, site.get("cores")) {
            (Err(wrong), written) => {
                let has_cores = written.is_some();
                library.diagnostics.add(Diagnostic::new(location, key, wrong));
                if !has_cores {
                    // There is no second error about them.
                    site.set(make_cores(location, 1));
                }
            }
            (Ok(cores), Some(WrittenNode { location, value: Value::Integer(written) }))
                if *written != i128::from(cores) =>
            {
                let message = format!("expected {cores}, the CPUs of all nodes in {conf}, or none, found {written}");
                library.diagnostics.add(Diagnostic::new(*location, format!("site.{number}.cores"), message));
            }
            (Ok(_), Some(_)) => {}
            (Ok(cores), None) => site.set(make_cores(location, cores)),
        }
    }
}

fn make_cores(location: Location, cores: u32) -> Keyed {
    let node = WrittenNode { location, value: Value::Integer(cores.into()) };
    Keyed { key: "cores".to_owned(), key_location: location, node }
}

/// Locations of the commands of external programs, by key; `root` must be expanded.
pub fn command_locations(root: &Table, diagnostics: &Diagnostics) -> BTreeMap<String, String> {
    fn inner_table<'t>(table: &'t Table, key: &str) -> Option<&'t Table> {
        if let Value::Table(inner) = &table.get(key)?.value { Some(inner) } else { None }
    }
    let mut locations = BTreeMap::new();
    // Programs of systems: the table of the system, and in it the table of the program.
    for Keyed { key: system, node, .. } in &root.entries {
        let Value::Table(system_table) = &node.value else { continue };
        for Keyed { key: program, node, .. } in system_table.entries.iter().filter(|_| system != "defaults") {
            let Value::Table(program_table) = &node.value else { continue };
            if let Some(command) = program_table.get("command") {
                locations.insert(format!("{system}.{program}.command"), diagnostics.locate(command.location));
            }
        }
    }
    let mut last = None;
    for section in ["site", "user"] {
        let usual = inner_table(root, "defaults").and_then(|defaults| inner_table(defaults, section)?.get("command"));
        let Some(WrittenNode { value: Value::List(members), .. }) = root.get(section) else { continue };
        for member in members {
            let Value::Table(member) = &member.value else { continue };
            let Some(WrittenNode { value: Value::Text(name), .. }) = member.get("name") else { continue };
            let Some(WrittenNode { location, .. }) = member.get("command").or(usual) else { continue };
            // Members of one `count` have the same location, and finding its line takes a scan of the text.
            if last.as_ref().is_none_or(|(known, _)| known != location) {
                last = Some((*location, diagnostics.locate(*location)));
            }
            let location = last.as_ref().map(|(_, location)| location.clone()).unwrap_or_default();
            locations.insert(format!("{section}.{name}.command"), location);
        }
    }
    locations
}

/// The path `name` relative to the folder of the file `base`.
pub fn path_beside(base: &str, name: &str) -> String {
    match base.rsplit_once('/') {
        Some((folder, _)) if !name.starts_with('/') => normalize_path(&format!("{folder}/{name}")),
        _ => normalize_path(name),
    }
}

/// Removes `.` and `..` as far as the text alone allows, so that one file has one name.
fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    let rest = if root.is_empty() && parts.is_empty() { ".".to_owned() } else { parts.join("/") };
    format!("{root}{rest}")
}

/// Replaces each site and user with a `count` by that many, numbered from 1.
pub fn expand_counts(root: &mut Table, diagnostics: &Diagnostics) {
    for section in ["site", "user"] {
        let Some(WrittenNode { value: Value::List(members), .. }) = root.get_mut(section) else { continue };
        let mut expanded = Vec::with_capacity(members.len());
        for (number, member) in std::mem::take(members).into_iter().enumerate() {
            let key = Path::root(section);
            let key = key.index(number);
            expand_member(member, &key, diagnostics, &mut expanded);
            if expanded.len() > MEMBERS_MAX {
                let location = expanded.last().expect("it is not empty").location;
                let message = format!("expected at most {MEMBERS_MAX} {section}s, found more");
                diagnostics.add(Diagnostic::new(location, section, message));
                expanded.truncate(MEMBERS_MAX);
                break;
            }
        }
        *members = expanded;
    }
}

/// Most sites, and most users, of a topology.
pub const MEMBERS_MAX: usize = 100_000;

fn expand_member(mut member: WrittenNode, key: &Path<'_>, diagnostics: &Diagnostics, expanded: &mut Vec<WrittenNode>) {
    let Value::Table(table) = &mut member.value else { return expanded.push(member) };
    let Some(WrittenNode { location: count_location, value: count }) = table.take("count") else {
        return expanded.push(member);
    };
    let Value::Integer(count @ 1..=MEMBERS_MAX_WIDE) = count else {
        let found = diagnostics.text_at(count_location);
        let message = format!("expected a whole number from 1 to {MEMBERS_MAX}, found {found}");
        diagnostics.add(Diagnostic::new(count_location, key.key("count"), message));
        return expanded.push(WrittenNode { location: member.location, value: Value::Lost });
    };
    let Some(WrittenNode { location, value: Value::Text(pattern) }) = table.get("name") else {
        // A site without a name is a single faulty one; the error is reported when sites are checked.
        return expanded.push(member);
    };
    if pattern.matches("{}").count() != 1 {
        let message =
            format!("expected a name with one {{}} for the number, because there is a `count`, found {pattern:?}");
        let diagnostic =
            Diagnostic::new(*location, key.key("name"), message).with_related("the count is", count_location);
        diagnostics.add(diagnostic.hint(format!("for example \"{}-{{}}\"", pattern.replace("{}", ""))));
        return expanded.push(WrittenNode { location: member.location, value: Value::Lost });
    }

    let pattern = pattern.clone();
    for number in 1..=count {
        let mut member = member.clone();
        if let Value::Table(Table { entries }) = &mut member.value {
            let name = entries.iter_mut().find(|keyed| keyed.key == "name").expect("its pattern was just read");
            name.node.value = Value::Text(pattern.replace("{}", &number.to_string()));
        }
        expanded.push(member);
    }
}

const MEMBERS_MAX_WIDE: i128 = MEMBERS_MAX as i128;

/// Bytes of a line that are shown from the first one on that is not UTF-8.
const BROKEN_SHOWN: usize = 32;

/// The text up to the first byte that is not UTF-8, and the beginning of the rest of that line, where such bytes are
/// written as `\xff`.
fn escape_broken_line(bytes: &[u8], at: usize) -> String {
    let rest = bytes[at..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut text = String::from_utf8_lossy(&bytes[..at]).into_owned();
    for chunk in rest[..rest.len().min(BROKEN_SHOWN)].utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    if rest.len() > BROKEN_SHOWN {
        text.push_str("...");
    }
    text
}
