//! Values as readable YAML: blocks, and texts of several lines as they are.

use std::fmt::Write as _;

use serde_json::Value;

/// Keys that come first in an object.
const FIRST: [&str; 4] = ["apiVersion", "kind", "metadata", "name"];

/// Documents, one after the other.
pub fn write_documents(all: &[Value]) -> String {
    let mut text = String::new();
    for (number, value) in all.iter().enumerate() {
        if number > 0 {
            text.push_str("---\n");
        }
        write_block(&mut text, value, 0, false);
    }
    text
}

/// A value at the begin of a line, or behind `- `.
fn write_block(text: &mut String, value: &Value, indent: usize, goes_on: bool) {
    let margin = |first: bool| if first && goes_on { String::new() } else { " ".repeat(indent) };
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| FIRST.iter().position(|first| first == key).unwrap_or(FIRST.len()));
            for (number, (key, value)) in entries.into_iter().enumerate() {
                let _ = write!(text, "{}{}:", margin(number == 0), scalar_text(key));
                write_value(text, value, indent);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (number, item) in items.iter().enumerate() {
                let _ = write!(text, "{}- ", margin(number == 0));
                write_block(text, item, indent + 2, true);
            }
        }
        value => {
            let _ = writeln!(text, "{}", flow_text(value));
        }
    }
}

/// A value behind its key.
fn write_value(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            text.push('\n');
            write_block(text, value, indent + 2, false);
        }
        // Short lists of plain words, such as commands, read better in a line.
        Value::Array(items) if !items.is_empty() && items.iter().any(|item| item.is_object()) => {
            text.push('\n');
            write_block(text, value, indent + 2, false);
        }
        Value::String(words) if is_literal(words) => write_literal(text, words, indent + 2),
        value => {
            let _ = writeln!(text, " {}", flow_text(value));
        }
    }
}

fn flow_text(value: &Value) -> String {
    match value {
        Value::String(text) => scalar_text(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow_text).collect::<Vec<_>>().join(", ")),
        // Other values have the same form in both.
        value => value.to_string(),
    }
}

/// True if a text can be a block that preserves all of it.
fn is_literal(text: &str) -> bool {
    let strange = |letter: char| {
        letter != '\n' && (letter.is_control() || matches!(letter, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'))
    };
    text.contains('\n') && !text.contains(strange) && text.lines().any(|line| !line.trim().is_empty())
}

fn write_literal(text: &mut String, words: &str, indent: usize) {
    // The number is its indentation: a first line may begin with spaces of its own.
    let chomp = if words.ends_with('\n') { "+" } else { "-" };
    let _ = writeln!(text, " |2{chomp}");
    for line in words.strip_suffix('\n').unwrap_or(words).split('\n') {
        let _ = writeln!(text, "{}{line}", if line.is_empty() { String::new() } else { " ".repeat(indent) });
    }
}

/// A word that YAML takes for a text in any version, or one in quotes.
fn scalar_text(text: &str) -> String {
    let starts = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    let safe = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./-".contains(letter));
    let means = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&text.to_lowercase().as_str());
    match starts && safe && !means {
        true => text.to_owned(),
        false => serde_json::to_string(text).expect("a text is always JSON"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_stand_as_people_write_them() {
        let value = json!({
            "kind": "Job",
            "when": "on",
            "number": "7",
            "mode": 288,
            "command": ["/hansa", "--part=1/2", "two words"],
            "list": [{ "name": "a", "inner": { "b": true } }, { "name": "c" }],
            "none": {},
            "file": "name = \"x\"\n\n  [a]\n",
            "cut": "  one\ntwo",
            "tab": "a\tb\n",
        });
        let expected = "kind: Job\nwhen: \"on\"\nnumber: \"7\"\nmode: 288\ncommand: [/hansa, \"--part=1/2\", \"two words\"]\n\
                        list:\n  - name: a\n    inner:\n      b: true\n  - name: c\nnone: {}\n\
                        file: |2+\n  name = \"x\"\n\n    [a]\ncut: |2-\n    one\n  two\ntab: \"a\\tb\\n\"\n";
        let sorted = |text: &str| {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let written = write_documents(std::slice::from_ref(&value));
        assert_eq!(sorted(&written), sorted(expected), "{written}");
    }
}
