//! What a form is, and how schemas and references tell of one.

use crate::grid::Named;
use crate::settings::fields::Field;
use crate::settings::steers;

/// What the value under a key looks like.
pub trait Form<T> {
    /// The value that is written, or a complaint.
    fn read(&self, field: &Field<'_>) -> Option<T>;

    /// The value in TOML, such that it reads back to the same; `None` if it is to be left out.
    fn text(&self, value: &T) -> Option<String>;

    /// What the value means, if it is a word with a line of its own.
    fn remark(&self, _value: &T) -> Option<String> {
        None
    }

    fn shape(&self) -> Shape;
}

/// A form as schemas and references tell of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A text; with a regular expression, if there is one that tells most faults, and an example that fits.
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
    /// A number, with so many decimals at most if that is said; `above` if the least is not one of them.
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
    /// Bits or bytes a second, with the unit.
    Rate,
    /// Bytes, with or without a unit.
    Volume {
        most: u64,
    },
    Words(Vec<Word>),
    /// Words, and what else may be made of them: told line by line, and as regular expressions.
    Grammar {
        words: Vec<Word>,
        rest: Vec<&'static str>,
        patterns: Vec<&'static str>,
    },
    /// The name of something else.
    NameOf(&'static str),
    List {
        of: Box<Shape>,
        least: usize,
        most: usize,
    },
    /// Something else, with an example in TOML and a schema of its own.
    Free {
        what: &'static str,
        example: &'static str,
        json: &'static str,
    },
}

/// A word that a setting may be, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub name: &'static str,
    pub about: String,
}

impl Word {
    /// The line may be a doc comment, which is a whole sentence.
    pub fn new(name: &'static str, about: &str) -> Word {
        Word { name, about: remark(about) }
    }

    pub fn named(all: &[Named]) -> Vec<Word> {
        all.iter().map(|named| Word::new(named.name, named.about)).collect()
    }

    pub fn all<T>(all: &[(&'static str, T, &'static str)]) -> Vec<Word> {
        all.iter().map(|(name, _, about)| Word::new(name, about)).collect()
    }
}

/// What a doc comment says, as part of another sentence.
pub fn remark(sentence: &str) -> String {
    without_capital(sentence.trim().trim_end_matches('.'))
}

/// Abbreviations keep theirs.
fn without_capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => first.to_lowercase().chain(letters).collect(),
        _ => sentence.to_owned(),
    }
}

/// A text as TOML has it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if steers(c) && u32::from(c) > 0xffff => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
            c if steers(c) => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
