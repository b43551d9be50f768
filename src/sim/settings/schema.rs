//! JSON Schema of settings, draft 7, as editors of TOML use it.
//!
//! The schema accepts everything that the reader accepts, and rejects most of what the reader rejects: unknown keys,
//! wrong words, wrong types, numbers out of range and times without a unit. Conditions that depend on other settings
//! are left to the reader.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::forms::{Shape, Word};
use super::list::{Listed, What};
use super::walk::Layout;

/// Schema of a file with these keys.
pub fn file_schema(title: &str, keys: &[Listed]) -> Value {
    let Value::Object(mut root) = table_schema(keys) else { unreachable!("a table is an object") };
    root.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    root.insert("title".into(), json!(title));
    Value::Object(root)
}

fn table_schema(keys: &[Listed]) -> Value {
    let plain: Vec<&Listed> = keys.iter().filter(|listed| !matches!(listed.what, What::Variant { .. })).collect();
    let variants: Vec<(&str, &str, &[Listed])> = keys
        .iter()
        .filter_map(|listed| match &listed.what {
            What::Variant { word, keys } => Some((listed.key.name, *word, keys.as_slice())),
            _ => None,
        })
        .collect();
    if variants.is_empty() {
        return closed_table(&plain);
    }

    // All forms of each key; the cases below restrict them by word.
    let mut all: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for listed in plain.iter().copied().chain(variants.iter().flat_map(|(.., keys)| keys.iter())) {
        let forms = all.entry(listed.key.name).or_default();
        let form = property_schema(listed);
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    let mut properties = Map::new();
    for (name, mut forms) in all {
        let form = if forms.len() == 1 { forms.remove(0) } else { json!({ "anyOf": forms }) };
        properties.insert(name.to_owned(), form);
    }
    let cases: Vec<Value> = variants
        .iter()
        .map(|(key, word, keys)| {
            let fitting: Vec<&Listed> = plain.iter().copied().chain(keys.iter()).collect();
            json!({ "if": { "properties": { *key: { "const": word } }, "required": [key] }, "then": closed_table(&fitting) })
        })
        .collect();
    let mut whole =
        json!({ "type": "object", "properties": properties, "additionalProperties": false, "allOf": cases });
    require_keys(&mut whole, &plain);
    whole
}

/// A table with these keys and no others.
fn closed_table(keys: &[&Listed]) -> Value {
    let mut properties = Map::new();
    properties.extend(keys.iter().map(|listed| (listed.key.name.to_owned(), property_schema(listed))));
    let mut closed = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    require_keys(&mut closed, keys);
    closed
}

/// Adds the required keys, unless another key says where they are.
fn require_keys(table: &mut Value, keys: &[&Listed]) {
    let needed = keys.iter().filter(|listed| listed.key.need.is_some() && !listed.key.may_be_elsewhere);
    let needed: Vec<&str> = needed.map(|listed| listed.key.name).collect();
    let Some(rest) = keys.iter().find(|listed| listed.key.holds_the_rest) else {
        table["required"] = json!(needed);
        return;
    };
    table["anyOf"] = json!([{ "required": [rest.key.name] }, { "required": needed }]);
}

fn property_schema(listed: &Listed) -> Value {
    let mut form = match &listed.what {
        What::Value(shape) => value_schema(shape),
        What::Table(Layout::Section(_) | Layout::Inline, keys) => table_schema(keys),
        What::Table(Layout::Sections(_) | Layout::Lines, keys) => {
            let least = usize::from(listed.key.need.is_some());
            json!({ "type": "array", "items": table_schema(keys), "minItems": least })
        }
        What::Variant { .. } => unreachable!("variants are no properties"),
    };
    let mut line = listed.key.line().to_owned();
    if let Some(usual) = &listed.usual {
        line.push_str(&format!(" (default: {usual})"));
    }
    form["description"] = json!(line);
    form
}

fn value_schema(shape: &Shape) -> Value {
    match shape {
        Shape::Text { pattern: Some(pattern), .. } => json!({ "type": "string", "pattern": pattern }),
        Shape::Text { pattern: None, .. } => json!({ "type": "string" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Number { least, most, above: true, .. } => {
            json!({ "type": "number", "exclusiveMinimum": least, "maximum": most })
        }
        Shape::Number { least, most, above: false, .. } => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Shape::Span { above_zero: true } => {
            json!({ "type": "string", "pattern": SPAN, "not": { "pattern": "^[^1-9]*$" } })
        }
        Shape::Span { above_zero: false } => {
            json!({ "anyOf": [{ "type": "string", "pattern": SPAN }, { "enum": [0, "0"] }] })
        }
        Shape::Rate => json!({ "type": "string", "pattern": RATE }),
        Shape::Volume { most } => json!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": most }, { "type": "string", "pattern": VOLUME }]
        }),
        Shape::Grammar { words, patterns, .. } => {
            let patterns = patterns.iter().map(|pattern| json!({ "type": "string", "pattern": pattern }));
            let all: Vec<Value> = [value_schema(&Shape::Words(words.clone()))].into_iter().chain(patterns).collect();
            if all.len() == 1 { all[0].clone() } else { json!({ "anyOf": all }) }
        }
        Shape::Words(words) => {
            let names: Vec<&str> = words.iter().map(|word| word.name).collect();
            let lines: Vec<&str> = words.iter().map(|Word { about, .. }| about.as_str()).collect();
            // Taplo, and so Even Better TOML, reads the meanings of words here.
            json!({ "type": "string", "enum": names, "x-taplo": { "docs": { "enumValues": lines } } })
        }
        Shape::NameOf(_) => json!({ "type": "string", "minLength": 1 }),
        Shape::List { of, least, most } => {
            let mut list = json!({ "type": "array", "items": value_schema(of), "minItems": least });
            if *most < usize::MAX {
                list["maxItems"] = json!(most);
            }
            list
        }
        Shape::Free { json, .. } => serde_json::from_str(json).expect("schemas in the source are JSON"),
    }
}

const SPAN: &str = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)\s*(us|ms|s|min|h|d)\s*$";
const VOLUME: &str = r"^([0-9]+\.?[0-9]*|\.[0-9]+)\s*[kMGT]?B$";
const RATE: &str = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*([kMGT]?bps|[kMGT]?B/s)\s*$";
