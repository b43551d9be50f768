//! The trait of forms, and their descriptions for schemas and references.

use crate::grid::Named;
use crate::settings::fields::Field;
use crate::settings::is_unprintable;

/// Form of the value under a key.
pub trait Form<T> {
    /// Reads a value; reports an error and returns None if it is wrong.
    fn read_value(&self, field: &Field<'_>) -> Option<T>;

    /// The value in TOML, such that reading it yields the same value; None if it is left out.
    fn toml_text(&self, value: &T) -> Option<String>;

    /// Meaning of the value, if it is a word with a description.
    fn value_remark(&self, _value: &T) -> Option<String> {
        None
    }

    fn value_shape(&self) -> Shape;
}

/// Description of a form for schemas and references.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A text; with a regular expression, if one finds most errors, and a valid example.
    Text {
        what: &'static str,
        pattern: Option<&'static str>,
        example: &'static str,
    },
    Flag,
    Whole {
        least: u64,
        most: u64,
    },
    /// A number, with at most this many decimals if given; `above` if `least` is exclusive.
    Number {
        least: f64,
        most: f64,
        above: bool,
        decimals: Option<u32>,
    },
    /// A time with its unit.
    Span {
        above_zero: bool,
    },
    /// Bits or bytes per second, with the unit.
    Rate,
    /// Bytes, with or without a unit.
    Volume {
        most: u64,
    },
    Words(Vec<Word>),
    /// Words and composed expressions: `rest` describes the latter line by line, `patterns` as regular expressions.
    Grammar {
        words: Vec<Word>,
        rest: Vec<&'static str>,
        patterns: Vec<&'static str>,
    },
    /// The name of another item.
    NameOf(&'static str),
    List {
        of: Box<Shape>,
        least: usize,
        most: usize,
    },
    /// A form of its own, with an example in TOML and a schema.
    Free {
        what: &'static str,
        example: &'static str,
        json: &'static str,
    },
}

/// A word that a setting may be, and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub name: &'static str,
    pub about: String,
}

impl Word {
    /// Creates a word; `about` may be a doc comment, which is a whole sentence.
    pub fn new(name: &'static str, about: &str) -> Word {
        Word { name, about: remark_text(about) }
    }

    pub fn from_named(all: &[Named]) -> Vec<Word> {
        all.iter().map(|named| Word::new(named.name, named.about)).collect()
    }

    pub fn from_variants<T>(all: &[(&'static str, T, &'static str)]) -> Vec<Word> {
        all.iter().map(|(name, _, about)| Word::new(name, about)).collect()
    }
}

/// A doc comment as part of another sentence.
pub fn remark_text(sentence: &str) -> String {
    without_capital(sentence.trim().trim_end_matches('.'))
}

/// The sentence with a lower-case first letter; abbreviations keep theirs.
fn without_capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => sentence.to_owned(),
    }
}

/// A text as a TOML string.
pub fn quote_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_unprintable(c) && u32::from(c) > 0xffff => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
            c if is_unprintable(c) => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
