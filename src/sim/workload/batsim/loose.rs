//! Values of any type.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::time::Span;
use crate::workload::rigid::is_bearable_time;

/// A value of any type: a wrong one is the fault of one job, not of the file.
#[derive(Default)]
pub enum Loose {
    #[default]
    Missing,
    Whole(u64),
    Number(f64),
    Text(Box<str>),
    Other,
}

impl Loose {
    /// This value, or that of another key if this one is missing.
    pub fn or<'a>(&'a self, other: &'a Loose) -> &'a Loose {
        if matches!(self, Loose::Missing) { other } else { self }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Loose::Whole(number) => Some(*number as f64),
            Loose::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The value for a message, with a space before it. Empty for lists, tables and the like.
    pub fn message_suffix(&self) -> String {
        match self {
            Loose::Whole(number) => format!(" {number}"),
            Loose::Number(number) => format!(" {number}"),
            Loose::Text(text) => format!(" {text:?}"),
            Loose::Missing | Loose::Other => String::new(),
        }
    }

    /// An identifier as text.
    pub fn text(&self) -> Option<String> {
        match self {
            Loose::Whole(number) => Some(number.to_string()),
            Loose::Text(text) => Some(text.to_string()),
            _ => None,
        }
    }
}

/// A span of `number` seconds, if it can be represented.
pub fn seconds_span(number: &Loose) -> Option<Span> {
    let micros = (number.number().filter(|seconds| *seconds >= 0.0)? * 1e6).round();
    let micros = micros as u64;
    is_bearable_time(micros).then(|| Span::from_micros(micros))
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Loose;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Loose, E> {
                Ok(Loose::Whole(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Loose, E> {
                Ok(Loose::Number(number as f64))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Loose, E> {
                Ok(Loose::Number(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose::Text(text.into()))
            }

            fn visit_bool<E: Error>(self, _: bool) -> Result<Loose, E> {
                Ok(Loose::Other)
            }

            fn visit_unit<E: Error>(self) -> Result<Loose, E> {
                Ok(Loose::Missing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Loose, A::Error> {
                IgnoredAny.visit_seq(seq).map(|_| Loose::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose, A::Error> {
                IgnoredAny.visit_map(map).map(|_| Loose::Other)
            }
        }
        deserializer.deserialize_any(Any)
    }
}
