//! Settings that differ between resolved topologies.

use toml::{Table, Value};

use hansa_sim::settings::format_counted;

/// Longest value of a setting that is shown.
const VALUE_MAX: usize = 60;

/// A key that differs, with its value in each topology.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Path as `--set` takes it, such as `site.york.cores`.
    pub key: String,
    /// None if the topology has no such key.
    pub values: Vec<Option<String>>,
}

/// All settings that differ, in order of their keys. A topology that cannot be parsed has no keys.
pub fn differing_settings(topologies: &[&str]) -> Vec<Setting> {
    let tables: Vec<Value> =
        topologies.iter().map(|text| Value::Table(text.parse::<Table>().unwrap_or_default())).collect();
    let mut found = Vec::new();
    find_differing(String::new(), &tables.iter().map(Some).collect::<Vec<_>>(), &mut found);
    found
}

fn find_differing(path: String, values: &[Option<&Value>], found: &mut Vec<Setting>) {
    if values.iter().all(|value| *value == values[0]) {
        return;
    }
    let tables: Option<Vec<Vec<(String, &Value)>>> = values.iter().map(|value| named_entries((*value)?)).collect();
    let Some(tables) = tables else {
        let values = values.iter().map(|value| value.map(value_text)).collect();
        return found.push(Setting { key: path, values });
    };
    let mut keys: Vec<&str> = tables.iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable_by_key(|key| (key.parse::<u64>().unwrap_or(0), *key));
    keys.dedup();
    for key in keys {
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let values: Vec<Option<&Value>> =
            tables.iter().map(|table| place_of_key(table, key).map(|at| table[at].1)).collect();
        find_differing(path, &values, found);
    }
}

fn place_of_key(table: &[(String, &'_ Value)], key: &str) -> Option<usize> {
    table.iter().position(|(name, _)| name == key)
}

/// Entries of a table, or of an array of tables by their names, or else their positions. None for other values.
fn named_entries(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Table(table) => Some(table.iter().map(|(key, value)| (key.clone(), value)).collect()),
        Value::Array(array) if !array.is_empty() && array.iter().all(Value::is_table) => {
            let named: Option<Vec<String>> =
                array.iter().map(|value| value.get("name").and_then(Value::as_str).map(str::to_owned)).collect();
            let names = named.unwrap_or_else(|| (0..array.len()).map(|place| place.to_string()).collect());
            Some(names.into_iter().zip(array).collect())
        }
        _ => None,
    }
}

fn value_text(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Table(table) => format!("({})", format_counted(table.len() as u64, "key")),
        Value::Array(array) if array.iter().any(Value::is_table) => {
            format!("({})", format_counted(array.len() as u64, "table"))
        }
        other => other.to_string(),
    };
    match text.chars().count() > VALUE_MAX {
        true => text.chars().take(VALUE_MAX - 1).chain(['…']).collect(),
        false => text,
    }
}
