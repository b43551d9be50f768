//! Settings of the command line. They are inserted into the written topology, so that all checks apply to them.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use crate::near::nearest_name;
use crate::settings::{self, Keyed, Table, Value, WrittenNode};
use crate::settings::{Diagnostic, Diagnostics, Location};
use crate::settings::{Layout, Listed, What, any_of};
use crate::systems;

/// A setting that takes precedence over the file, such as `market.policy=srtf`: a path of keys, in which an index or a
/// name selects an item of a list, and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    text: String,
    /// Offset of the end of the path.
    equals: usize,
    /// Location in a file; None for the command line.
    written: Option<WrittenSetting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct WrittenSetting {
    file: Arc<OverrideFile>,
    /// Range of each step of the path.
    steps: Vec<Range<usize>>,
    value: Range<usize>,
}

/// A file with settings for a topology in another file.
#[derive(Debug, PartialEq, Eq)]
pub struct OverrideFile {
    pub path: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--set {0}: expected KEY=VALUE, such as --set market.policy=srtf")]
pub struct NoOverride(String);

impl Override {
    pub fn parse(text: &str) -> Result<Override, NoOverride> {
        let (path, _) = text.split_once('=').ok_or_else(|| no_override(text))?;
        if path.split('.').any(|step| step.trim() != step || step.is_empty()) || path.split('.').count() > STEPS_MAX {
            return Err(no_override(text));
        }
        Ok(Override { text: text.to_owned(), equals: path.len(), written: None })
    }

    /// The key and the value, as in `--set`.
    pub fn parts(&self) -> (&str, &str) {
        (&self.text[..self.equals], &self.text[self.equals + "=".len()..])
    }

    /// A setting from a file; its errors point to that file.
    pub fn in_file(
        origin: &Arc<OverrideFile>,
        path: &str,
        steps: Vec<Range<usize>>,
        value: Range<usize>,
    ) -> Result<Override, NoOverride> {
        let setting = Override::parse(&format!("{path}={}", &origin.text[value.clone()]))?;
        Ok(Override { written: Some(WrittenSetting { file: origin.clone(), steps, value }), ..setting })
    }

    /// A setting that a file implies; its errors point to `value` there.
    pub fn implied_by_file(
        origin: &Arc<OverrideFile>,
        path: &str,
        steps: Vec<Range<usize>>,
        value: Range<usize>,
        text: &str,
    ) -> Result<Override, NoOverride> {
        let setting = Override::parse(&format!("{path}={text}"))?;
        Ok(Override { written: Some(WrittenSetting { file: origin.clone(), steps, value }), ..setting })
    }
}

fn no_override(text: &str) -> NoOverride {
    NoOverride(text.escape_debug().to_string())
}

/// The longest valid path is `workload.0.job.0.worth.points.0.0`.
const STEPS_MAX: usize = 16;

/// A parsed override that has not been applied yet.
pub(super) struct Setting {
    path: Vec<(String, Location)>,
    whole: Location,
    value: WrittenNode,
}

/// Parses overrides into steps and values with their locations.
pub(super) fn parse_overrides(overrides: &[Override], diagnostics: &mut Diagnostics) -> Vec<Setting> {
    let setting = |Override { text, equals, written }: &Override| {
        let path = &text[..*equals];
        let value = &text[equals + "=".len()..];
        if let Some(WrittenSetting { file, steps, value: span }) = written {
            let source = diagnostics.add_source(Some(file.path.clone()), file.text.clone());
            let at = |span: &Range<usize>| Location::of_span(source, span.clone());
            let whole = at(steps.last().expect("a path has a step"));
            let location = at(span);
            // A quoted step may contain several keys.
            let locations = steps.iter().map(at).chain(std::iter::repeat(whole));
            let path = path.split('.').map(str::to_owned).zip(locations).collect();
            return Setting { path, whole, value: parse_override_value(value, location) };
        }

        let shown = format!("{FLAG}{text}");
        let start = FLAG.len();
        let end = shown.len();
        let source = diagnostics.add_source(None, shown);
        let mut at = start;
        let steps = path.split('.').map(|step| {
            let location = Location::of_span(source, at..at + step.len());
            at += step.len() + ".".len();
            (step.to_owned(), location)
        });
        let path = steps.collect();

        let split = start + equals;
        let location = Location::of_span(source, split + "=".len()..end);
        Setting { path, whole: Location::of_span(source, start..split), value: parse_override_value(value, location) }
    };
    overrides.iter().map(setting).collect()
}

/// A value that is not TOML is a text, so that it needs no quotes in a shell.
fn parse_override_value(value: &str, location: Location) -> WrittenNode {
    settings::parse_value(value, location)
        .unwrap_or_else(|| WrittenNode { location, value: Value::Text(value.to_owned()) })
}

const FLAG: &str = "--set ";

/// Applies the settings that have a place in the written tables and returns the rest, which may be for a site that a
/// `count` makes, or for an included file.
pub(super) fn apply_to_written(root: &mut Table, mut settings: Vec<Setting>) -> Vec<Setting> {
    settings.retain(|setting| put_in_table(root, setting, 0, TableState::Written).is_err());
    settings
}

/// Applies the rest to the complete tables; reports those that have no place there either.
pub(super) fn apply_to_complete(root: &mut Table, settings: Vec<Setting>, diagnostics: &Diagnostics) {
    for setting in settings {
        if let Err((at, known)) = put_in_table(root, &setting, 0, TableState::Complete) {
            diagnostics.add(no_place(&setting, at, known));
        }
    }
}

/// Notes settings of `defaults` that have no effect, because all sites or users have their own.
pub(super) fn note_without_effect(root: &Table, overrides: &[Override], diagnostics: &Diagnostics) {
    for Override { text, equals, .. } in overrides.iter().filter(|setting| setting.written.is_none()) {
        let mut steps = text[..*equals].split('.');
        let (Some("defaults"), Some(section), Some(key)) = (steps.next(), steps.next(), steps.next()) else { continue };
        let Some(WrittenNode { value: Value::List(members), .. }) = root.get(section) else { continue };
        let all_have_it =
            members.iter().all(|member| matches!(&member.value, Value::Table(member) if member.get(key).is_some()));
        if !members.is_empty() && all_have_it {
            diagnostics.note(format!("{FLAG}{text} changes nothing: every {section} has its own `{key}`"));
        }
    }
}

/// Error about a setting whose step number `at` does not exist.
fn no_place(setting: &Setting, at: usize, known: Alternatives) -> Diagnostic {
    let steps: Vec<&str> = setting.path.iter().map(|(step, _)| step.as_str()).collect();
    let key = steps.join(".");
    let before = steps[..at].join(".");
    let (step, location) = &setting.path[at];
    match known {
        Alternatives::Names(names) => {
            let meant = nearest_name(step, names.iter().map(String::as_str));
            Diagnostic::new(*location, key, format!("there is no {before} {step:?}")).suggesting(meant)
        }
        Alternatives::Count(0) => Diagnostic::new(*location, key, format!("there is no {before} at all")),
        Alternatives::Count(count) => {
            Diagnostic::new(*location, key, format!("expected an index below {count}, found {step:?}"))
        }
        Alternatives::Absent(table, there) if there.is_empty() => {
            Diagnostic::new(*location, key, format!("there is no [[{table}]] in this topology"))
        }
        Alternatives::Absent(table, there) => {
            let tables: Vec<String> = there.iter().map(|key| format!("[{key}]")).collect();
            let tables = any_of(tables.iter().map(String::as_str));
            let message = format!("there is no [{table}] in this topology, which runs a {tables}");
            let diagnostic = Diagnostic::new(*location, key, message);
            diagnostic
                .hint(format!("--set {table}={{}} adds one, with its defaults"))
                .suggesting(nearest_name(step, there))
        }
        Alternatives::Elsewhere(paths) => {
            let meant = any_of(paths.iter().map(String::as_str));
            Diagnostic::new(*location, key, "a topology itself has no such key").hint(format!("did you mean {meant}?"))
        }
        Alternatives::Nothing => {
            Diagnostic::new(setting.whole, key, format!("{before} is a single value and has no {step:?}"))
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TableState {
    Written,
    Complete,
}

/// Valid alternatives to a wrong step.
enum Alternatives {
    Names(Vec<String>),
    Count(usize),
    Nothing,
    /// A table that the topology does not have and that a setting does not create, with the tables that it has.
    Absent(&'static str, Vec<&'static str>),
    /// Paths of keys with this name in tables of the topology; the topology itself has none.
    Elsewhere(Vec<String>),
}

/// Paths of a key in the tables of a topology; None if it is a key of the topology itself, or unknown.
fn paths_elsewhere(root: &Table, step: &str) -> Option<Vec<String>> {
    static KEYS: LazyLock<Vec<Listed>> = LazyLock::new(super::topology_keys);
    if KEYS.iter().any(|listed| listed.key.name == step) {
        return None;
    }
    let mut paths = Vec::new();
    for Listed { key, what, .. } in KEYS.iter() {
        let What::Table(_, keys) = what else { continue };
        let is_there = keys.iter().any(|listed| listed.key.name == step && matches!(listed.what, What::Value(_)));
        let Some(node) = root.get(key.name).filter(|_| is_there) else { continue };
        match &node.value {
            Value::List(items) => paths.extend(items.iter().enumerate().map(|(index, item)| {
                let name = item_name(item).map_or(index.to_string(), str::to_owned);
                format!("`{}.{name}.{step}`", key.name)
            })),
            _ => paths.push(format!("`{}.{step}`", key.name)),
        }
    }
    (!paths.is_empty()).then_some(paths)
}

/// Reason why a setting may not create its table: a new system or an incomplete link is not intended.
fn absence_reason(root: &Table, step: &str) -> Option<Alternatives> {
    // The list of all keys is long and constant.
    static LISTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
        super::topology_keys()
            .into_iter()
            .filter(|listed| matches!(listed.what, What::Table(Layout::Sections(_), _)))
            .map(|listed| listed.key.name)
            .collect()
    });
    if let Some(name) = LISTS.iter().find(|name| **name == step) {
        return Some(Alternatives::Absent(name, Vec::new()));
    }
    let row = systems::find_system(step)?;
    let mut there: Vec<&'static str> =
        systems::ALL.iter().map(|row| row.key).filter(|key| root.get(key).is_some()).collect();
    if there.is_empty() {
        there.push(systems::ALL[0].key);
    }
    (!there.contains(&row.key)).then_some(Alternatives::Absent(row.key, there))
}

fn put_in_table(
    table: &mut Table,
    setting: &Setting,
    at: usize,
    stage: TableState,
) -> Result<(), (usize, Alternatives)> {
    let (step, location) = &setting.path[at];
    if at + 1 == setting.path.len() {
        if at == 0
            && let Some(paths) = paths_elsewhere(table, step)
        {
            return Err((at, Alternatives::Elsewhere(paths)));
        }
        table.set(keyed_node(setting.value.clone(), location, step));
        return Ok(());
    }
    if table.get(step).is_none() {
        if stage == TableState::Written {
            return Err((at, Alternatives::Nothing));
        }
        if let Some(absent) = absence_reason(table, step).filter(|_| at == 0) {
            return Err((at, absent));
        }
        table.set(keyed_node(
            WrittenNode { location: *location, value: Value::Table(Table::default()) },
            location,
            step,
        ));
    }
    put_in_node(table.get_mut(step).expect("it is there or was just made"), setting, at + 1, stage)
}

fn keyed_node(node: WrittenNode, location: &Location, step: &str) -> Keyed {
    Keyed { key: step.to_owned(), key_location: *location, node }
}

fn put_in_node(
    node: &mut WrittenNode,
    setting: &Setting,
    at: usize,
    stage: TableState,
) -> Result<(), (usize, Alternatives)> {
    let items = match &mut node.value {
        Value::Table(table) => return put_in_table(table, setting, at, stage),
        Value::List(items) => items,
        Value::Lost => return Ok(()),
        _ => return Err((at, Alternatives::Nothing)),
    };
    // Expansion of `count` renumbers sites and users, so after it only names are valid.
    let renumbered = stage == TableState::Complete && at == 1 && matches!(setting.path[0].0.as_str(), "site" | "user");
    let Some(item) = pick_item(items, &setting.path[at].0, !renumbered) else { return Err((at, known_items(items))) };
    if at + 1 == setting.path.len() {
        items[item] = setting.value.clone();
        return Ok(());
    }
    put_in_node(&mut items[item], setting, at + 1, stage)
}

fn pick_item(items: &[WrittenNode], step: &str, by_index: bool) -> Option<usize> {
    let named = items.iter().position(|item| item_name(item) == Some(step));
    named.or_else(|| step.parse().ok().filter(|index| by_index && *index < items.len()))
}

fn known_items(items: &[WrittenNode]) -> Alternatives {
    let names: Vec<String> = items.iter().filter_map(item_name).map(str::to_owned).collect();
    if names.is_empty() { Alternatives::Count(items.len()) } else { Alternatives::Names(names) }
}

fn item_name(item: &WrittenNode) -> Option<&str> {
    match &item.value {
        Value::Table(table) => match &table.get("name")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}
