//! The forms that values have: how each is read, how it is written, and what it looks like to whoever asks.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;

use super::context::NameIndex;
use super::fields::{Field, is_name};
use super::units::{self, MILLION};
use crate::grid::Named;
use crate::time::{Span, Time};

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

/// A whole number of a range.
impl<T: TryFrom<i128> + PartialOrd + Display + Copy + TryInto<u64>> Form<T> for RangeInclusive<T> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.whole(self.clone())
    }

    fn text(&self, value: &T) -> Option<String> {
        Some(value.to_string())
    }

    fn shape(&self) -> Shape {
        let [least, most] = [self.start(), self.end()].map(|end| (*end).try_into().unwrap_or(0));
        Shape::Whole { least, most }
    }
}

/// The words of an enum.
impl<T: Copy + PartialEq> Form<T> for &'static [(&'static str, T, &'static str)] {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        field.word(self)
    }

    fn text(&self, value: &T) -> Option<String> {
        let (word, ..) = self.iter().find(|(_, variant, _)| variant == value).expect("every variant has a word");
        Some(quoted(word))
    }

    fn remark(&self, value: &T) -> Option<String> {
        let (word, _, about) = self.iter().find(|(_, variant, _)| variant == value)?;
        Some(Word::new(word, about).about)
    }

    fn shape(&self) -> Shape {
        Shape::Words(Word::all(self))
    }
}

/// The name of something that is registered, such as a policy.
#[derive(Clone, Debug)]
pub struct Registered {
    pub what: &'static str,
    pub words: Vec<Word>,
}

impl Form<String> for Registered {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        let names = self.words.iter().map(|word| word.name);
        field.name(self.what, names).map(str::to_owned)
    }

    fn text(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn remark(&self, value: &String) -> Option<String> {
        self.words.iter().find(|word| word.name == value).map(|word| word.about.clone())
    }

    fn shape(&self) -> Shape {
        Shape::Words(self.words.clone())
    }
}

/// The name of something else in the topology, by its number.
#[derive(Clone, Copy, Debug)]
pub struct OneOf<'n> {
    /// With its article.
    pub what: &'static str,
    pub names: &'n NameIndex<'n>,
}

impl Form<usize> for OneOf<'_> {
    fn read(&self, field: &Field<'_>) -> Option<usize> {
        field.choice(self.what, self.names.iter(), |name| self.names.find(name))
    }

    fn text(&self, value: &usize) -> Option<String> {
        Some(quoted(self.names.name(*value)))
    }

    fn shape(&self) -> Shape {
        Shape::NameOf(self.what)
    }
}

/// Any text, with what is expected where something else stands.
#[derive(Clone, Copy, Debug)]
pub struct Text(pub &'static str);

impl Form<String> for Text {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        field.text(self.0).map(str::to_owned)
    }

    fn text(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn shape(&self) -> Shape {
        Shape::Text { what: self.0, pattern: None, example: "words" }
    }
}

pub const PATH: &str = "the path of a file, relative to this one";

/// The path of a file, as seen from the one that names it.
#[derive(Clone, Copy, Debug)]
pub struct Path(pub &'static str);

impl Form<String> for Path {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        Text(self.0).read(field)
    }

    fn text(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn shape(&self) -> Shape {
        Shape::Text { what: PATH, pattern: None, example: "more/file" }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Form<bool> for Flag {
    fn read(&self, field: &Field<'_>) -> Option<bool> {
        field.flag()
    }

    fn text(&self, value: &bool) -> Option<String> {
        Some(value.to_string())
    }

    fn shape(&self) -> Shape {
        Shape::Flag
    }
}

/// A number of a range.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// What is expected, all of it.
    expected: &'static str,
    least: f64,
    most: f64,
    above: bool,
}

impl Number {
    pub const fn from(least: f64, most: f64, expected: &'static str) -> Number {
        Number { expected, least, most, above: false }
    }

    pub const fn above(least: f64, most: f64, expected: &'static str) -> Number {
        Number { expected, least, most, above: true }
    }

    fn fits(&self, number: f64) -> bool {
        (if self.above { self.least < number } else { self.least <= number }) && number <= self.most
    }
}

impl Form<f64> for Number {
    fn read(&self, field: &Field<'_>) -> Option<f64> {
        field.number(self.expected, |number| self.fits(number))
    }

    fn text(&self, value: &f64) -> Option<String> {
        Some(format!("{value:?}"))
    }

    fn shape(&self) -> Shape {
        Shape::Number { least: self.least, most: self.most, above: self.above, decimals: None }
    }
}

/// A number up to this, kept in millionths.
#[derive(Clone, Copy, Debug)]
pub struct Millionths {
    most: u64,
    /// The least for people and editors; whoever reads it says what is expected.
    least: f64,
    above: bool,
}

impl Millionths {
    pub const fn to(most: u64) -> Millionths {
        Millionths { most, least: 0.0, above: false }
    }

    /// To go with a check for it.
    pub const fn from(least: f64, most: u64) -> Millionths {
        Millionths { most, least, above: false }
    }

    /// To go with a check for it.
    pub const fn above_zero(most: u64) -> Millionths {
        Millionths { most, least: 0.0, above: true }
    }
}

impl Form<u64> for Millionths {
    fn read(&self, field: &Field<'_>) -> Option<u64> {
        field.millionths(self.most)
    }

    fn text(&self, value: &u64) -> Option<String> {
        let digits = format!("{:06}", value % MILLION);
        let fraction = digits.trim_end_matches('0');
        Some(format!("{}.{}", value / MILLION, if fraction.is_empty() { "0" } else { fraction }))
    }

    fn shape(&self) -> Shape {
        Shape::Number { least: self.least, most: self.most as f64, above: self.above, decimals: Some(6) }
    }
}

/// A length of time.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    above_zero: bool,
}

pub const SPAN: Length = Length { above_zero: false };
pub const POSITIVE_SPAN: Length = Length { above_zero: true };

impl Form<Span> for Length {
    fn read(&self, field: &Field<'_>) -> Option<Span> {
        if self.above_zero { field.positive_span() } else { field.span() }
    }

    fn text(&self, value: &Span) -> Option<String> {
        Some(quoted(&value.to_string()))
    }

    fn shape(&self) -> Shape {
        Shape::Span { above_zero: self.above_zero }
    }
}

/// A time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Moment;

impl Form<Time> for Moment {
    fn read(&self, field: &Field<'_>) -> Option<Time> {
        Some(Time::ZERO + field.span()?)
    }

    fn text(&self, value: &Time) -> Option<String> {
        Some(quoted(&value.since(Time::ZERO).to_string()))
    }

    fn shape(&self) -> Shape {
        Shape::Span { above_zero: false }
    }
}

/// So many bits a second.
#[derive(Clone, Copy, Debug)]
pub struct Rate;

impl Form<u64> for Rate {
    fn read(&self, field: &Field<'_>) -> Option<u64> {
        field.capacity()
    }

    fn text(&self, value: &u64) -> Option<String> {
        Some(quoted(&units::capacity_text(*value)))
    }

    fn shape(&self) -> Shape {
        Shape::Rate
    }
}

/// So many bytes.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    pub most: u64,
}

impl Form<u64> for Volume {
    fn read(&self, field: &Field<'_>) -> Option<u64> {
        field.volume(self.most)
    }

    fn text(&self, value: &u64) -> Option<String> {
        Some(if *value == 0 { quoted("0 B") } else { quoted(&units::bytes_text(*value)) })
    }

    fn shape(&self) -> Shape {
        Shape::Volume { most: self.most }
    }
}

/// What may be missing.
#[derive(Clone, Copy, Debug)]
pub struct Maybe<F>(pub F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn read(&self, field: &Field<'_>) -> Option<Option<T>> {
        self.0.read(field).map(Some)
    }

    fn text(&self, value: &Option<T>) -> Option<String> {
        self.0.text(value.as_ref()?)
    }

    fn remark(&self, value: &Option<T>) -> Option<String> {
        self.0.remark(value.as_ref()?)
    }

    fn shape(&self) -> Shape {
        self.0.shape()
    }
}

/// Not written if it is this, which holds where nothing is written.
#[derive(Clone, Copy, Debug)]
pub struct Unless<F, T>(pub F, pub T);

impl<T: PartialEq, F: Form<T>> Form<T> for Unless<F, T> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        self.0.read(field)
    }

    fn text(&self, value: &T) -> Option<String> {
        if *value == self.1 { None } else { self.0.text(value) }
    }

    fn shape(&self) -> Shape {
        self.0.shape()
    }
}

/// A list; with what is expected where there is none.
#[derive(Clone, Copy, Debug)]
pub struct List<F>(pub F, pub &'static str);

impl<T, F: Form<T>> Form<Vec<T>> for List<F> {
    fn read(&self, field: &Field<'_>) -> Option<Vec<T>> {
        Some(field.list(self.1)?.iter().filter_map(|field| self.0.read(field)).collect())
    }

    fn text(&self, value: &Vec<T>) -> Option<String> {
        Some(listed(value.iter().filter_map(|item| self.0.text(item))))
    }

    fn shape(&self) -> Shape {
        Shape::List { of: Box::new(self.0.shape()), least: 0, most: usize::MAX }
    }
}

/// A list of exactly two; with what is expected where there is something else.
#[derive(Clone, Copy, Debug)]
pub struct Pair<F>(pub F, pub &'static str);

impl<T, F: Form<T>> Form<[T; 2]> for Pair<F> {
    fn read(&self, field: &Field<'_>) -> Option<[T; 2]> {
        // Both are read before either is missed, so that both are complained about.
        let [Some(first), Some(second)] = field.pair(self.1)?.each_ref().map(|field| self.0.read(field)) else {
            return None;
        };
        Some([first, second])
    }

    fn text(&self, value: &[T; 2]) -> Option<String> {
        Some(listed(value.iter().filter_map(|item| self.0.text(item))))
    }

    fn shape(&self) -> Shape {
        Shape::List { of: Box::new(self.0.shape()), least: 2, most: 2 }
    }
}

impl<T: Copy, F: Form<T>> Form<(T, T)> for Pair<F> {
    fn read(&self, field: &Field<'_>) -> Option<(T, T)> {
        let read: Option<[T; 2]> = self.read(field);
        read.map(|[first, second]| (first, second))
    }

    fn text(&self, &(first, second): &(T, T)) -> Option<String> {
        self.text(&[first, second])
    }

    fn shape(&self) -> Shape {
        <Pair<F> as Form<[T; 2]>>::shape(self)
    }
}

/// A form with a condition of its own.
#[derive(Clone, Copy, Debug)]
pub struct Checked<F, E, C> {
    form: F,
    expected: E,
    fits: C,
}

impl<T, F: Form<T>, E: Display, C: Fn(&T) -> bool> Form<T> for Checked<F, E, C> {
    fn read(&self, field: &Field<'_>) -> Option<T> {
        let value = self.form.read(field)?;
        if (self.fits)(&value) { Some(value) } else { field.wrong(&self.expected) }
    }

    fn text(&self, value: &T) -> Option<String> {
        self.form.text(value)
    }

    fn shape(&self) -> Shape {
        self.form.shape()
    }
}

/// A form of something else that stands for the value.
pub struct Mapped<T, F, To, Back> {
    form: F,
    to: To,
    back: Back,
    of: PhantomData<T>,
}

impl<T, V, F: Form<T>, To: Fn(T) -> V, Back: Fn(&V) -> T> Form<V> for Mapped<T, F, To, Back> {
    fn read(&self, field: &Field<'_>) -> Option<V> {
        self.form.read(field).map(&self.to)
    }

    fn text(&self, value: &V) -> Option<String> {
        self.form.text(&(self.back)(value))
    }

    fn shape(&self) -> Shape {
        self.form.shape()
    }
}

/// Forms made of others.
pub trait FormExt<T>: Form<T> + Sized {
    /// Expects more than the form itself does.
    fn that<E: Display, C: Fn(&T) -> bool>(self, expected: E, fits: C) -> Checked<Self, E, C> {
        Checked { form: self, expected, fits }
    }

    /// What the value stands for, and back.
    fn meaning<V, To: Fn(T) -> V, Back: Fn(&V) -> T>(self, to: To, back: Back) -> Mapped<T, Self, To, Back> {
        Mapped { form: self, to, back, of: PhantomData }
    }
}

impl<T, F: Form<T>> FormExt<T> for F {}

pub(super) fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(", "))
}

/// A text as TOML has it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name that certificates, files and containers can have.
#[derive(Clone, Copy, Debug)]
pub struct Name;

pub const NAME: &str = "a name of at most 63 small letters, digits and hyphens";

impl Form<String> for Name {
    fn read(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text(NAME)?;
        if is_name(text) { Some(text.to_owned()) } else { field.wrong(NAME) }
    }

    fn text(&self, value: &String) -> Option<String> {
        Some(quoted(value))
    }

    fn shape(&self) -> Shape {
        let what = "a name: small letters, digits and hyphens";
        Shape::Text { what, pattern: Some("^[a-z0-9][-a-z0-9]{0,62}$"), example: "york-2" }
    }
}
