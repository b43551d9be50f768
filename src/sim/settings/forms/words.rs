//! Forms of texts: words of an enum, names of registered items or of items of the topology, paths.

use super::form::{Form, Shape, Word, quote_text};
use crate::settings::context::NameIndex;
use crate::settings::fields::{Field, is_name};

/// The words of an enum.
impl<T: Copy + PartialEq> Form<T> for &'static [(&'static str, T, &'static str)] {
    fn read_value(&self, field: &Field<'_>) -> Option<T> {
        field.word(self)
    }

    fn toml_text(&self, value: &T) -> Option<String> {
        let (word, ..) = self.iter().find(|(_, variant, _)| variant == value).expect("every variant has a word");
        Some(quote_text(word))
    }

    fn value_remark(&self, value: &T) -> Option<String> {
        let (word, _, about) = self.iter().find(|(_, variant, _)| variant == value)?;
        Some(Word::new(word, about).about)
    }

    fn value_shape(&self) -> Shape {
        Shape::Words(Word::from_variants(self))
    }
}

/// The name of a registered item, such as a policy.
#[derive(Clone, Debug)]
pub struct Registered {
    pub what: &'static str,
    pub words: Vec<Word>,
}

impl Form<String> for Registered {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let names = self.words.iter().map(|word| word.name);
        field.name(self.what, names).map(str::to_owned)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_remark(&self, value: &String) -> Option<String> {
        self.words.iter().find(|word| word.name == value).map(|word| word.about.clone())
    }

    fn value_shape(&self) -> Shape {
        Shape::Words(self.words.clone())
    }
}

/// The name of another item of the topology, by its number.
#[derive(Clone, Copy, Debug)]
pub struct OneOf<'n> {
    /// Name of the kind of item, with its article.
    pub what: &'static str,
    pub names: &'n NameIndex<'n>,
}

impl Form<usize> for OneOf<'_> {
    fn read_value(&self, field: &Field<'_>) -> Option<usize> {
        field.choice(self.what, self.names.iter(), |name| self.names.find(name))
    }

    fn toml_text(&self, value: &usize) -> Option<String> {
        Some(quote_text(self.names.name(*value)))
    }

    fn value_shape(&self) -> Shape {
        Shape::NameOf(self.what)
    }
}

/// Any text; `0` is the expectation for errors.
#[derive(Clone, Copy, Debug)]
pub struct Text(pub &'static str);

impl Form<String> for Text {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        field.text(self.0).map(str::to_owned)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        Shape::Text { what: self.0, pattern: None, example: "words" }
    }
}

pub const PATH: &str = "the path of a file, relative to this one";

/// The path of a file, relative to the file that names it.
#[derive(Clone, Copy, Debug)]
pub struct Path(pub &'static str);

impl Form<String> for Path {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        Text(self.0).read_value(field)
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        Shape::Text { what: PATH, pattern: None, example: "more/file" }
    }
}

/// A name that is valid for certificates, files and containers.
#[derive(Clone, Copy, Debug)]
pub struct Name;

pub const NAME: &str = "a name of at most 63 small letters, digits and hyphens";

impl Form<String> for Name {
    fn read_value(&self, field: &Field<'_>) -> Option<String> {
        let text = field.text(NAME)?;
        if is_name(text) { Some(text.to_owned()) } else { field.report_wrong(NAME) }
    }

    fn toml_text(&self, value: &String) -> Option<String> {
        Some(quote_text(value))
    }

    fn value_shape(&self) -> Shape {
        let what = "a name: small letters, digits and hyphens";
        Shape::Text { what, pattern: Some("^[a-z0-9][-a-z0-9]{0,62}$"), example: "york-2" }
    }
}
