//! Kinds of core: names and numbers.

use std::collections::BTreeMap;

use crate::grid::Kind;
use crate::settings::{Field, Form, Shape, quote_text};

/// Form of the name of a kind.
pub struct KindName;

impl Form<String> for KindName {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        const KIND: &str = "a kind of core: at most 63 letters, digits, hyphens, underscores and dots";
        let text = field.text(KIND)?;
        let is_valid = text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'));
        if (1..=63).contains(&text.len()) && is_valid { Some(text.to_owned()) } else { field.report_wrong(KIND) }
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        let what = "letters, digits, hyphens, underscores and dots";
        Shape::Text { what, pattern: Some("^[-_.A-Za-z0-9]{1,63}$"), example: "Kind1" }
    }
}

/// Numbers of the kinds of core, in order of first mention.
#[derive(Default)]
pub struct Kinds {
    pub names: Vec<String>,
    numbers: BTreeMap<String, Kind>,
}

impl Kinds {
    pub fn number(&mut self, name: &str) -> Option<Kind> {
        if let Some(kind) = self.numbers.get(name) {
            return Some(*kind);
        }
        let kind = Kind(u16::try_from(self.names.len()).ok()?);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), kind);
        Some(kind)
    }
}
