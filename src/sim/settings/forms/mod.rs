//! Forms of values: reading, writing and descriptions for references and schemas.

mod combined;
mod form;
mod quantities;
mod words;

pub use self::combined::{FormExt, List, Maybe, Pair, Unless, command_form};
pub use self::form::{Form, Shape, Word, quote_text, remark_text};
pub use self::quantities::{CoreTime, Flag, LATENCY, Millionths, Moment, Number, POSITIVE_SPAN, Rate, SPAN, Volume};
pub use self::words::{NAME, Name, OneOf, Path, Registered, Text};
