//! Descriptions of settings: a walk from key to key.

use std::borrow::Cow;

use super::fields::Fields;
use super::forms::{Form, Shape};

/// An operation on all settings of a table, one after the other.
///
/// Descriptions call the methods of `impl dyn Walk`; the methods of the trait are for implementations of walks.
pub trait Walk {
    fn walk_purpose(&self) -> Purpose;

    /// A value under a key.
    fn walk_value(&mut self, key: &Key, slot: &mut dyn Slot);

    /// One or several tables under a key.
    fn walk_tables(&mut self, key: &Key, layout: Layout, rows: &mut dyn TableRows);

    /// Settings that exist only if the word under `key` is one of `words`; `chosen` is the index of that word, if it is
    /// known.
    fn walk_variants(
        &mut self,
        key: &'static str,
        words: &[&'static str],
        chosen: Option<usize>,
        inner: &mut dyn FnMut(usize, &mut dyn Walk),
    );

    /// A key that other code reads, but that belongs to the table.
    fn key_read_elsewhere(&mut self, key: &Key, shape: Shape);

    /// A comment line for readers of the written text.
    fn write_remark(&mut self, _text: &str) {}

    /// The written table, while reading: for checks that need several settings at once.
    fn written_fields(&self) -> Option<&Fields<'_>> {
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Read,
    Write,
    List,
}

/// A key and its description.
#[derive(Clone, Debug)]
pub struct Key {
    pub name: &'static str,
    /// Comment beside the key in a resolved topology.
    pub about: &'static str,
    /// Meaning, if the comment is too short for it.
    pub means: &'static str,
    /// Description of a valid value in errors, if the key is required.
    pub need: Option<Cow<'static, str>>,
    /// Text for the default, if no value expresses it.
    pub usual: Option<&'static str>,
    /// Reason why the key is not allowed here.
    pub unfit: Option<Cow<'static, str>>,
    /// Description of the table in errors.
    pub expects: &'static str,
    /// Description in errors of each table of a list.
    pub each: &'static str,
    /// True if the key does not affect the run; excluded from the hash.
    pub aside: bool,
    /// True if the key is required, but another table may contain it.
    pub may_be_elsewhere: bool,
    /// True if the key names a file that may contain the other required keys.
    pub holds_the_rest: bool,
    /// True if errors name its tables by their names.
    pub by_name: bool,
}

/// Creates a key; `about` is the comment beside it in a resolved topology.
pub fn key(name: &'static str, about: &'static str) -> Key {
    let need = None;
    let usual = None;
    let unfit = None;
    let aside = false;
    let by_name = false;
    let may_be_elsewhere = false;
    let holds_the_rest = false;
    let means = "";
    let expects = "";
    let each = "";
    Key { name, about, means, need, usual, unfit, expects, each, aside, may_be_elsewhere, holds_the_rest, by_name }
}

impl Key {
    /// Sets the meaning, for the reference of keys.
    pub fn means(self, means: &'static str) -> Key {
        Key { means, ..self }
    }

    /// Makes the key required.
    pub fn need(self, expected: impl Into<Cow<'static, str>>) -> Key {
        Key { need: Some(expected.into()), ..self }
    }

    /// Makes the key required unless another table contains it, as `there` tells.
    pub fn need_unless(self, there: bool, expected: &'static str) -> Key {
        let need = (!there).then_some(Cow::Borrowed(expected));
        Key { need, may_be_elsewhere: true, ..self }
    }

    /// Marks the key of a file that may contain the other required keys.
    pub fn holds_the_rest(self) -> Key {
        Key { holds_the_rest: true, ..self }
    }

    /// Sets the text for the default.
    pub fn usual(self, usual: &'static str) -> Key {
        Key { usual: Some(usual), ..self }
    }

    /// Allows the key only if `fits`; otherwise it is left out, and a user that writes it gets the reason.
    pub fn only_if(self, fits: bool, why: impl Into<Cow<'static, str>>) -> Key {
        Key { unfit: (!fits).then(|| why.into()), ..self }
    }

    /// Sets the description of the table in errors, such as "a table such as { command = [...] }".
    pub fn expects(self, table: &'static str) -> Key {
        Key { expects: table, ..self }
    }

    /// Sets the description in errors of each table of a list.
    pub fn each(self, row: &'static str) -> Key {
        Key { each: row, ..self }
    }

    /// Lets errors name the tables of a list by their names, as in `site.york`.
    pub fn by_name(self) -> Key {
        Key { by_name: true, ..self }
    }

    /// Excludes the key from the hash of a topology, as it does not affect the run.
    pub fn aside(self) -> Key {
        Key { aside: true, ..self }
    }

    /// Line about the key in references.
    pub fn line(&self) -> &str {
        [self.means, self.about, self.need.as_deref().unwrap_or_default()]
            .into_iter()
            .find(|line| !line.is_empty())
            .unwrap_or_default()
    }
}

/// TOML syntax of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `[market.bidder]`, with the whole path.
    Section(&'static str),
    /// `[[workload.job]]`, with the whole path.
    Sections(&'static str),
    /// A table in one line: `worth = { max = 1.0 }`.
    Inline,
    /// A list of such tables, one per line.
    Lines,
}

/// A value with its form, as walks see it.
pub trait Slot {
    /// Reads the value from `field`; on an error reports it and keeps the value.
    fn read_field(&mut self, field: &super::Field<'_>);

    /// The value in TOML; None if it is left out.
    fn slot_text(&self) -> Option<String>;

    /// Meaning of the value, if it is a word with a description.
    fn slot_remark(&self) -> Option<String>;

    fn slot_shape(&self) -> Shape;
}

/// Tables of one kind, as walks see them.
pub trait TableRows {
    /// Removes all rows, before others are read.
    fn clear(&mut self);

    /// Adds a row with default settings, and walks it.
    fn add_row(&mut self, w: &mut dyn Walk);

    /// Adds a row for one that cannot be read, so that later rows keep their numbers.
    fn add_placeholder(&mut self) {}

    fn row_count(&self) -> usize;

    fn walk_row(&mut self, index: usize, w: &mut dyn Walk);
}

impl dyn Walk + '_ {
    /// Walks one setting. Reading keeps the value if nothing is written, so the initial value is the default.
    pub fn set<T, F: Form<T>>(&mut self, key: Key, value: &mut T, form: F) {
        self.walk_value(&key, &mut Bound { value, form });
    }

    /// Walks a table that always exists, if only with its defaults.
    pub fn table<T>(&mut self, key: Key, layout: Layout, value: &mut T, walk: impl FnMut(&mut T, &mut dyn Walk)) {
        self.walk_tables(&key, layout, &mut Always { value, walk });
    }

    /// Walks an optional table; `usual` makes the value that a written table is read into.
    pub fn maybe<T>(
        &mut self,
        key: Key,
        layout: Layout,
        value: &mut Option<T>,
        usual: impl Fn() -> T,
        walk: impl FnMut(&mut T, &mut dyn Walk),
    ) {
        self.walk_tables(&key, layout, &mut Sometimes { value, usual, walk });
    }

    /// Walks a list of tables; `usual` makes the value that each written table is read into.
    pub fn rows<T>(
        &mut self,
        key: Key,
        layout: Layout,
        rows: &mut Vec<T>,
        usual: impl Fn() -> T,
        walk: impl FnMut(&mut T, &mut dyn Walk),
    ) {
        self.walk_tables(&key, layout, &mut Many { rows, usual, walk });
    }

    pub fn reads(&self) -> bool {
        self.walk_purpose() == Purpose::Read
    }

    pub fn writes(&self) -> bool {
        self.walk_purpose() == Purpose::Write
    }

    /// True if a key is being read and is missing.
    pub fn lacks(&self, key: &str) -> bool {
        self.written_fields().is_some_and(|fields| !fields.has(key))
    }
}

struct Bound<'v, T, F> {
    value: &'v mut T,
    form: F,
}

impl<T, F: Form<T>> Slot for Bound<'_, T, F> {
    fn read_field(&mut self, field: &super::Field<'_>) {
        if let Some(value) = self.form.read_value(field) {
            *self.value = value;
        }
    }

    fn slot_text(&self) -> Option<String> {
        self.form.toml_text(self.value)
    }

    fn slot_remark(&self) -> Option<String> {
        self.form.value_remark(self.value)
    }

    fn slot_shape(&self) -> Shape {
        self.form.value_shape()
    }
}

struct Always<'v, T, W> {
    value: &'v mut T,
    walk: W,
}

impl<T, W: FnMut(&mut T, &mut dyn Walk)> TableRows for Always<'_, T, W> {
    fn clear(&mut self) {}

    fn add_row(&mut self, w: &mut dyn Walk) {
        (self.walk)(self.value, w);
    }

    fn row_count(&self) -> usize {
        1
    }

    fn walk_row(&mut self, _: usize, w: &mut dyn Walk) {
        (self.walk)(self.value, w);
    }
}

struct Sometimes<'v, T, U, W> {
    value: &'v mut Option<T>,
    usual: U,
    walk: W,
}

impl<T, U: Fn() -> T, W: FnMut(&mut T, &mut dyn Walk)> TableRows for Sometimes<'_, T, U, W> {
    fn clear(&mut self) {
        *self.value = None;
    }

    fn add_row(&mut self, w: &mut dyn Walk) {
        let mut value = (self.usual)();
        (self.walk)(&mut value, w);
        *self.value = Some(value);
    }

    fn row_count(&self) -> usize {
        usize::from(self.value.is_some())
    }

    fn walk_row(&mut self, _: usize, w: &mut dyn Walk) {
        if let Some(value) = self.value {
            (self.walk)(value, w);
        }
    }
}

struct Many<'v, T, U, W> {
    rows: &'v mut Vec<T>,
    usual: U,
    walk: W,
}

impl<T, U: Fn() -> T, W: FnMut(&mut T, &mut dyn Walk)> TableRows for Many<'_, T, U, W> {
    fn clear(&mut self) {
        self.rows.clear();
    }

    fn add_row(&mut self, w: &mut dyn Walk) {
        let mut row = (self.usual)();
        (self.walk)(&mut row, w);
        self.rows.push(row);
    }

    fn add_placeholder(&mut self) {
        self.rows.push((self.usual)());
    }

    fn row_count(&self) -> usize {
        self.rows.len()
    }

    fn walk_row(&mut self, index: usize, w: &mut dyn Walk) {
        (self.walk)(&mut self.rows[index], w);
    }
}
