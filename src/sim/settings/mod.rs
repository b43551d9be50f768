//! Settings: each table is described once.
//!
//! A struct of settings has a function that walks it: it names every key with its value, the [`Form`] of the value and
//! a line about its meaning. Every operation on settings is a [`Walk`] over that description: [`Reader`] fills the
//! struct from a file and reports errors, [`TomlPage`] writes it (and so yields the text that the run's hash covers),
//! and [`list_keys()`] lists the keys, for the reference of keys, the catalogue of names and the schema for editors.
//!
//! A [`Context`] holds what a key may refer to, such as the names of sites. Nothing here knows a system or a source.

mod context;
mod diagnostic;
mod fields;
mod forms;
pub mod limits;
mod list;
mod read;
mod reference;
mod schema;
pub mod units;
pub mod version;
mod walk;
mod write;
mod written;

pub use crate::numerals::{format_count, format_counted};
pub use context::{Context, Fit, NameIndex};
pub use diagnostic::{Diagnostic, Diagnostics, Location};
pub use diagnostic::{InvalidInput, Rendered};
pub use diagnostic::{is_unprintable, make_printable};
pub(crate) use fields::shorten_text;
pub use fields::{Field, Fields, any_of, is_name};
pub use forms::{
    CoreTime, Flag, Form, FormExt, LATENCY, List, Maybe, Millionths, Moment, NAME, Name, Number, OneOf, POSITIVE_SPAN,
    Pair, Path as FilePath, Rate, Registered, SPAN, Shape, Text, Unless, Volume, Word, command_form, quote_text,
    remark_text,
};
pub use list::{Listed, What, list_keys};
pub use read::Reader;
pub use reference::{Chapter, reference_page};
pub use schema::file_schema;
pub use walk::{Key, Layout, Purpose, TableRows, Walk, key};
pub use write::TomlPage;
pub use written::{
    Attached, FileContent, Keyed, Path, Table, Value, WrittenNode, convert_table, parse_table, parse_value,
};
