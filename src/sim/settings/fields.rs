//! Typed access to written tables: each value is checked when it is read, and keys that are never read are unknown.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::ops::RangeInclusive;

use super::diagnostic::{Diagnostic, Diagnostics, Location};
use super::units::{self, CapacityError, CoreTimeError, Inexact, SpanError};
use super::written::{Keyed, Path, Table, Value, WrittenNode};
use crate::near::nearest_name;
use crate::time::Span;

/// A table that is being read.
pub struct Fields<'a> {
    table: &'a Table,
    location: Location,
    /// Path of the table; None for the topology itself.
    path: Option<Path<'a>>,
    asked: RefCell<Vec<&'static str>>,
    /// True if unknown keys are allowed in this table.
    anything: Cell<bool>,
    diagnostics: &'a Diagnostics,
}

/// A written value and its path.
pub struct Field<'a> {
    node: &'a WrittenNode,
    path: Path<'a>,
    diagnostics: &'a Diagnostics,
}

impl<'a> Fields<'a> {
    pub fn at_root(table: &'a Table, diagnostics: &'a Diagnostics) -> Fields<'a> {
        Fields {
            table,
            location: Location::whole_source(0),
            path: None,
            asked: RefCell::default(),
            anything: Cell::new(false),
            diagnostics,
        }
    }

    pub fn diagnostics(&self) -> &'a Diagnostics {
        self.diagnostics
    }

    pub fn get<'s>(&'s self, key: &'static str) -> Option<Field<'s>> {
        self.asked.borrow_mut().push(key);
        Some(Field { node: self.table.get(key)?, path: self.path_to(key), diagnostics: self.diagnostics })
    }

    /// Reads a key; reports an error if it is missing.
    pub fn need<'s>(&'s self, key: &'static str, expected: &str) -> Option<Field<'s>> {
        let field = self.get(key);
        if field.is_none() {
            self.missing(key, expected);
        }
        field
    }

    pub fn missing(&self, key: &'static str, expected: &str) {
        let diagnostic = self.diagnostic(key, format!("missing: expected {expected}"));
        self.diagnostics.add(match self.misspelt_key(key) {
            Some(written) => diagnostic.hint(format!("`{written}` is similar: is this key meant?")),
            None => diagnostic,
        });
    }

    /// The key that has not been read so far and is nearest to a missing one. None if no such key is near.
    fn misspelt_key(&self, key: &str) -> Option<&'a str> {
        let asked = self.asked.borrow();
        let written = self.table.entries.iter().map(|entry| entry.key.as_str());
        nearest_name(key, written.filter(|written| !asked.contains(written)))
    }

    /// An error about a missing key.
    pub fn diagnostic(&self, key: &'static str, message: String) -> Diagnostic {
        Diagnostic::new(self.location, self.path_to(key), message)
    }

    pub fn location(&self) -> Location {
        self.location
    }

    /// Allows unknown keys in this table.
    pub fn allow_unknown_keys(&self) {
        self.anything.set(true);
    }

    pub fn has(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Reports an error about the table as a whole.
    pub fn complain(&self, message: String) {
        self.diagnostics.add(self.diagnostic_here(message));
    }

    /// An error about the table as a whole.
    pub fn diagnostic_here(&self, message: String) -> Diagnostic {
        match &self.path {
            Some(path) => Diagnostic::new(self.location, path, message),
            None => Diagnostic::new(self.location, "", message),
        }
    }

    /// Reports every key that has not been read.
    pub fn finish(&self) {
        if self.anything.get() {
            return;
        }
        let mut asked = self.asked.borrow().clone();
        asked.sort_unstable();
        asked.dedup();
        for Keyed { key, key_location, .. } in &self.table.entries {
            if self.diagnostics.is_full() {
                return;
            }
            if asked.binary_search(&key.as_str()).is_err() {
                let message = format!("no such key: expected {}", any_of(asked.iter().copied()));
                let diagnostic = Diagnostic::new(*key_location, self.path_to(key), message);
                let meant = nearest_name(key, asked.iter().copied());
                if let Some(meant) = meant.filter(|meant| !self.has(meant)) {
                    // A misspelt required key is reported once.
                    self.diagnostics.withdraw(self.location, &self.path_to(meant).to_string());
                }
                self.diagnostics.add(diagnostic.suggesting(meant));
            }
        }
    }

    fn path_to<'s>(&'s self, key: &'s str) -> Path<'s> {
        match &self.path {
            Some(path) => path.key(key),
            None => Path::root(key),
        }
    }
}

/// True if words are equal but for hyphens and underscores.
fn is_word(word: &str, text: &str) -> bool {
    word == text || word.replace('_', "-") == text.replace('_', "-")
}

impl<'a> Field<'a> {
    pub fn location(&self) -> Location {
        self.node.location
    }

    pub fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.node.location, self.path, message)
    }

    pub fn complain(&self, message: impl Into<String>) {
        self.diagnostics.add(self.diagnostic(message));
    }

    /// Reports that the value is not the expected one.
    pub fn report_wrong<T>(&self, expected: impl Display) -> Option<T> {
        self.diagnostics.add(self.mismatch(expected)?);
        None
    }

    /// Reports that a number was expected; a text that begins with a number gets a hint.
    fn no_number<T>(&self, expected: impl Display) -> Option<T> {
        let diagnostic = self.mismatch(expected)?;
        let hint = match &self.node.value {
            Value::Text(text) => {
                let text = text.trim();
                let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
                let number = &text[..end];
                let unit = text[end..].trim();
                match (number.parse::<f64>().is_ok(), unit.chars().all(char::is_alphabetic)) {
                    (true, true) if unit.is_empty() => Some(format!("write it without quotes: {number}")),
                    (true, true) => Some(format!("write a plain number, without quotes and unit: {number}")),
                    _ => None,
                }
            }
            _ => None,
        };
        self.diagnostics.add(match hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        });
        None
    }

    fn mismatch(&self, expected: impl Display) -> Option<Diagnostic> {
        let written = self.diagnostics.text_at(self.node.location);
        let found = match &self.node.value {
            Value::Lost => return None,
            Value::List(_) if !written.starts_with('[') => "a list".to_owned(),
            Value::Table(_) if !written.starts_with(['[', '{']) => "a table".to_owned(),
            _ => shorten_text(written),
        };
        Some(self.diagnostic(format!("expected {expected}, found {found}")))
    }

    /// True if the value is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.node.value, Value::Text(_))
    }

    pub fn text(&self, expected: impl Display) -> Option<&'a str> {
        match &self.node.value {
            Value::Text(text) => Some(text),
            _ => self.report_wrong(expected),
        }
    }

    pub fn whole_number<T: TryFrom<i128> + PartialOrd + Display>(&self, range: RangeInclusive<T>) -> Option<T> {
        self.whole_of("a whole number", range)
    }

    /// A whole number within `range`; `what` names it in errors.
    pub fn whole_of<T: TryFrom<i128> + PartialOrd + Display>(&self, what: &str, range: RangeInclusive<T>) -> Option<T> {
        let number = match &self.node.value {
            Value::Integer(number) => T::try_from(*number).ok().filter(|number| range.contains(number)),
            _ => None,
        };
        number.or_else(|| self.no_number(format_args!("{what} from {} to {}", range.start(), range.end())))
    }

    pub fn flag(&self) -> Option<bool> {
        match &self.node.value {
            Value::Boolean(flag) => Some(*flag),
            _ => self.report_wrong("true or false"),
        }
    }

    /// A number that `fits`. Negative zero becomes zero.
    pub fn number(&self, expected: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        match &self.node.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(text) => text.parse().ok(),
            _ => None,
        }
        .map(|number: f64| number + 0.0)
        .filter(|number| fits(*number))
        .or_else(|| self.no_number(expected))
    }

    /// A fraction in millionths, exactly.
    pub fn millionths(&self, max: u64) -> Option<u64> {
        let read = match &self.node.value {
            Value::Integer(number) => units::parse_exact(&number.to_string(), units::MILLION),
            Value::Float(text) => units::parse_exact(text, units::MILLION),
            _ => Err(Inexact::Malformed),
        };
        match read {
            Ok(millionths) if millionths <= max * units::MILLION => Some(millionths),
            Err(Inexact::TooFine) => self.report_wrong("a number with at most six decimals"),
            _ => self.no_number(format_args!("a number from 0 to {max}")),
        }
    }

    /// A span; `usual` is the unit to suggest if there is none.
    pub fn span(&self, usual: &str) -> Option<Span> {
        let read = match &self.node.value {
            Value::Text(text) => units::parse_span(text),
            Value::Integer(0) => Ok(Span::ZERO),
            Value::Integer(_) | Value::Float(_) => Err(SpanError::UnitMissing),
            _ => Err(SpanError::Malformed),
        };
        match read {
            Ok(span) => Some(span),
            Err(error) => {
                let diagnostic = self.mismatch(&error)?;
                let written = self.diagnostics.text_at(self.node.location);
                self.diagnostics.add(match error {
                    SpanError::UnitMissing => {
                        diagnostic.hint(format!("for example \"{} {usual}\"", written.trim_matches('"')))
                    }
                    SpanError::UnitUnknown { meant } => diagnostic.suggesting(meant),
                    _ => diagnostic,
                });
                None
            }
        }
    }

    /// A capacity in bits per second.
    pub fn capacity(&self) -> Option<u64> {
        let read = match &self.node.value {
            Value::Text(text) => units::parse_capacity(text),
            Value::Integer(..=0) => Err(CapacityError::NotPositive),
            Value::Integer(_) | Value::Float(_) => Err(CapacityError::UnitMissing),
            _ => Err(CapacityError::Malformed),
        };
        match read {
            Ok(bits) => Some(bits),
            Err(error) => {
                let diagnostic = self.mismatch(&error)?;
                let written = self.diagnostics.text_at(self.node.location);
                self.diagnostics.add(match error {
                    CapacityError::UnitMissing => {
                        diagnostic.hint(format!("for example \"{} Mbps\"", written.trim_matches('"')))
                    }
                    CapacityError::UnitUnknown { meant } => diagnostic.suggesting(meant),
                    _ => diagnostic,
                });
                None
            }
        }
    }

    /// Core time in core microseconds.
    pub fn core_time(&self) -> Option<u64> {
        let read = match &self.node.value {
            Value::Text(text) => units::core_time(text),
            Value::Integer(_) | Value::Float(_) => Err(CoreTimeError::UnitMissing),
            _ => Err(CoreTimeError::Malformed),
        };
        match read {
            Ok(micros) => Some(micros),
            Err(error) => {
                let diagnostic = self.mismatch(&error)?;
                let written = self.diagnostics.text_at(self.node.location);
                let number = written.trim_matches('"').trim_end_matches(|c: char| !c.is_ascii_digit());
                self.diagnostics.add(match error {
                    CoreTimeError::UnitMissing | CoreTimeError::UnitUnknown => {
                        diagnostic.hint(format!("for example \"{number} core h\""))
                    }
                    _ => diagnostic,
                });
                None
            }
        }
    }

    /// A volume in bytes, with or without a unit.
    pub fn volume(&self, most: u64) -> Option<u64> {
        let Value::Text(text) = &self.node.value else {
            return self.whole_of("a number of bytes, or a text such as \"2 GB\",", 0..=most);
        };
        match units::parse_bytes(text) {
            Some(bytes) if bytes <= most => Some(bytes),
            _ => self.report_wrong(format_args!("a volume such as \"2 GB\", up to {most} bytes")),
        }
    }

    /// A span above zero.
    pub fn positive_span(&self) -> Option<Span> {
        match self.span("s")? {
            Span::ZERO => self.report_wrong("a time above zero"),
            span => Some(span),
        }
    }

    /// The result of `find` for a word; `words` are the valid ones. `what` may be empty if the words are clear without
    /// it.
    pub fn choice<'w, T>(
        &self,
        what: &str,
        words: impl Iterator<Item = &'w str>,
        find: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.choice_or(what, words, find, &|_| None)
    }

    /// Like `choice`, with a hint for some of the words that are not valid.
    fn choice_or<'w, T>(
        &self,
        what: &str,
        words: impl Iterator<Item = &'w str>,
        find: impl Fn(&str) -> Option<T>,
        hint: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<T> {
        let words: Vec<&str> = words.collect();
        let (expected, text) = self.text_among(what, &words)?;
        let choice = find(text);
        if choice.is_none()
            && let Some(mismatch) = self.mismatch(&expected)
        {
            self.diagnostics.add(mismatch.suggesting(nearest_name(text, words)).hints(hint(text)));
        }
        choice
    }

    /// The expectation for errors, and the written text.
    fn text_among(&self, what: &str, words: &[&str]) -> Option<(String, &'a str)> {
        let expected = if what.is_empty() { list_words(words) } else { format!("{what}: {}", list_words(words)) };
        let text = self.text(&expected)?;
        Some((expected, text))
    }

    /// The variant of an enum with this word.
    pub fn word<T: Copy>(&self, all: &[(&'static str, T, &'static str)]) -> Option<T> {
        self.choice("", all.iter().map(|(word, ..)| *word), |text| {
            all.iter().find(|(word, ..)| is_word(word, text)).map(|(_, variant, _)| *variant)
        })
    }

    /// The one of these names that equals the value.
    pub fn name<'n>(&self, what: &str, names: impl Iterator<Item = &'n str> + Clone) -> Option<&'n str> {
        self.name_or(what, names, &|_| None)
    }

    /// Like `name`, with a hint for some of the names that are not valid.
    pub fn name_or<'n>(
        &self,
        what: &str,
        names: impl Iterator<Item = &'n str> + Clone,
        hint: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<&'n str> {
        self.choice_or(what, names.clone(), |text| names.clone().find(|name| is_word(name, text)), hint)
    }

    pub fn diagnostics(&self) -> &'a Diagnostics {
        self.diagnostics
    }

    /// The value as a table, unread; None if it is not one.
    pub fn as_table(&self) -> Option<&'a Table> {
        match &self.node.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The values of a table by their keys, in the order of the file; None if this is not a table.
    pub fn members<'s>(&'s self) -> Option<Vec<(&'a str, Field<'s>)>> {
        let Value::Table(table) = &self.node.value else { return None };
        Some(
            table
                .entries
                .iter()
                .map(|keyed| {
                    let path = self.path.key(&keyed.key);
                    (keyed.key.as_str(), Field { node: &keyed.node, path, diagnostics: self.diagnostics })
                })
                .collect(),
        )
    }

    /// True if this is a zero, which needs no unit for some quantities.
    pub fn is_zero(&self) -> bool {
        matches!(self.node.value, Value::Integer(0))
    }

    /// The items of a list; None if this is not a list.
    pub fn list_items<'s>(&'s self) -> Option<Vec<Field<'s>>> {
        if matches!(self.node.value, Value::List(_)) { self.list("a list") } else { None }
    }

    pub fn list<'s>(&'s self, expected: impl Display) -> Option<Vec<Field<'s>>> {
        let Value::List(items) = &self.node.value else { return self.report_wrong(expected) };
        Some(
            items
                .iter()
                .enumerate()
                .map(|(index, node)| Field { node, path: self.path.index(index), diagnostics: self.diagnostics })
                .collect(),
        )
    }

    /// The items of a list of exactly two.
    pub fn pair<'s>(&'s self, expected: impl Display + Copy) -> Option<[Field<'s>; 2]> {
        let list = self.list(expected)?;
        let length = list.len();
        <[Field; 2]>::try_from(list).ok().or_else(|| {
            self.complain(format!("expected {expected}, found a list of {length}"));
            None
        })
    }

    pub fn table(&self, expected: impl Display) -> Option<Fields<'a>> {
        self.table_at(self.path, expected)
    }

    /// A table whose path is its name within `section` if it has a valid name, else its index.
    pub fn member<'s>(&self, section: &'s Path<'s>, expected: impl Display) -> Option<Fields<'s>>
    where
        'a: 's,
    {
        let path = match &self.node.value {
            Value::Table(table) => match table.get("name").map(|name| &name.value) {
                Some(Value::Text(name)) if is_name(name) => section.key(name),
                _ => self.path,
            },
            _ => self.path,
        };
        self.table_at(path, expected)
    }

    fn table_at<'s>(&self, path: Path<'s>, expected: impl Display) -> Option<Fields<'s>>
    where
        'a: 's,
    {
        let Value::Table(table) = &self.node.value else { return self.report_wrong(expected) };
        let asked = RefCell::default();
        let anything = Cell::new(false);
        Some(Fields {
            table,
            location: self.node.location,
            path: Some(path),
            asked,
            anything,
            diagnostics: self.diagnostics,
        })
    }
}

/// True if a text may become the name of a certificate, a file or a container.
pub fn is_name(text: &str) -> bool {
    text.len() <= 63
        && text.bytes().next().is_some_and(is_name_letter)
        && text.bytes().all(|c| is_name_letter(c) || c == b'-')
}

fn is_name_letter(c: u8) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit()
}

/// `a, b or c`; a long list is cut and ends with the number of others.
pub fn any_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    list_words(&words.collect::<Vec<&str>>())
}

fn list_words(words: &[&str]) -> String {
    if words.len() > LISTED + FEW {
        return format!("{} or {} others", words[..LISTED].join(", "), words.len() - LISTED);
    }
    match words {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

const LISTED: usize = 16;
const FEW: usize = 8;

/// The beginning of a text, for error messages.
pub(crate) fn shorten_text(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(60).take_while(|c| *c != '\n').collect();
    if start.len() < text.len() { format!("{}...", start.trim_end()) } else { start }
}
