//! Forms of numbers, times, amounts and flags.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::form::{Form, Shape, quote_text};
use crate::grid::Area;
use crate::settings::fields::Field;
use crate::settings::units::{self, MILLION};
use crate::time::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub struct Flag;

impl Form<bool> for Flag {
    fn read_value(&self, field: &Field<'_>) -> Option<bool> {
        field.flag()
    }

    fn toml_text(&self, value: &bool) -> Option<String> {
        Some(value.to_string())
    }

    fn value_shape(&self) -> Shape {
        Shape::Flag
    }
}

/// A whole number of a range.
impl<T: TryFrom<i128> + PartialOrd + Display + Copy + TryInto<u64>> Form<T> for RangeInclusive<T> {
    fn read_value(&self, field: &Field<'_>) -> Option<T> {
        field.whole_number(self.clone())
    }

    fn toml_text(&self, value: &T) -> Option<String> {
        Some(value.to_string())
    }

    fn value_shape(&self) -> Shape {
        let [least, most] = [self.start(), self.end()].map(|end| (*end).try_into().unwrap_or(0));
        Shape::Whole { least, most }
    }
}

/// A number of a range.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Description of a valid value, for errors.
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
    fn read_value(&self, field: &Field<'_>) -> Option<f64> {
        field.number(self.expected, |number| self.fits(number))
    }

    fn toml_text(&self, value: &f64) -> Option<String> {
        Some(format!("{value:?}"))
    }

    fn value_shape(&self) -> Shape {
        Shape::Number { least: self.least, most: self.most, above: self.above, decimals: None }
    }
}

/// A number up to `most`, kept in millionths.
#[derive(Clone, Copy, Debug)]
pub struct Millionths {
    most: u64,
    /// Least value in references and schemas; the reader of the setting checks it.
    least: f64,
    above: bool,
}

impl Millionths {
    pub const fn to(most: u64) -> Millionths {
        Millionths { most, least: 0.0, above: false }
    }

    /// Creates a form whose lower bound the caller checks.
    pub const fn from(least: f64, most: u64) -> Millionths {
        Millionths { most, least, above: false }
    }

    /// Creates a form above zero; the caller checks it.
    pub const fn above_zero(most: u64) -> Millionths {
        Millionths { most, least: 0.0, above: true }
    }
}

impl Form<u64> for Millionths {
    fn read_value(&self, field: &Field<'_>) -> Option<u64> {
        field.millionths(self.most)
    }

    fn toml_text(&self, value: &u64) -> Option<String> {
        let digits = format!("{:06}", value % MILLION);
        let fraction = digits.trim_end_matches('0');
        Some(format!("{}.{}", value / MILLION, if fraction.is_empty() { "0" } else { fraction }))
    }

    fn value_shape(&self) -> Shape {
        Shape::Number { least: self.least, most: self.most as f64, above: self.above, decimals: Some(6) }
    }
}

/// A span.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    above_zero: bool,
    /// Unit to suggest if there is none.
    unit: &'static str,
}

pub const SPAN: Length = Length { above_zero: false, unit: "s" };
pub const POSITIVE_SPAN: Length = Length { above_zero: true, unit: "s" };
pub const LATENCY: Length = Length { above_zero: false, unit: "ms" };

impl Form<Span> for Length {
    fn read_value(&self, field: &Field<'_>) -> Option<Span> {
        if self.above_zero { field.positive_span() } else { field.span(self.unit) }
    }

    fn toml_text(&self, value: &Span) -> Option<String> {
        Some(quote_text(&value.to_string()))
    }

    fn value_shape(&self) -> Shape {
        Shape::Span { above_zero: self.above_zero }
    }
}

/// A time since the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Moment;

impl Form<Time> for Moment {
    fn read_value(&self, field: &Field<'_>) -> Option<Time> {
        Some(Time::ZERO + field.span("s")?)
    }

    fn toml_text(&self, value: &Time) -> Option<String> {
        Some(quote_text(&value.since(Time::ZERO).to_string()))
    }

    fn value_shape(&self) -> Shape {
        Shape::Span { above_zero: false }
    }
}

/// A capacity in bits per second.
#[derive(Clone, Copy, Debug)]
pub struct Rate;

impl Form<u64> for Rate {
    fn read_value(&self, field: &Field<'_>) -> Option<u64> {
        field.capacity()
    }

    fn toml_text(&self, value: &u64) -> Option<String> {
        Some(quote_text(&units::capacity_text(*value)))
    }

    fn value_shape(&self) -> Shape {
        Shape::Rate
    }
}

/// Form of core time, such as "2.5 core h": cores times time, of work or as a price.
#[derive(Clone, Copy, Debug)]
pub struct CoreTime;

impl Form<Area> for CoreTime {
    fn read_value(&self, field: &Field<'_>) -> Option<Area> {
        field.core_time().map(Area::from_micros)
    }

    fn toml_text(&self, value: &Area) -> Option<String> {
        Some(quote_text(&units::core_time_text(value.micros())))
    }

    fn value_shape(&self) -> Shape {
        let pattern = r"^\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)\s*core\s+(us|ms|s|min|h|d)\s*$";
        Shape::Text { what: "core time", pattern: Some(pattern), example: "2.5 core h" }
    }
}

/// A volume in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Volume {
    pub most: u64,
}

impl Form<u64> for Volume {
    fn read_value(&self, field: &Field<'_>) -> Option<u64> {
        field.volume(self.most)
    }

    fn toml_text(&self, value: &u64) -> Option<String> {
        Some(if *value == 0 { quote_text("0 B") } else { quote_text(&units::bytes_text(*value)) })
    }

    fn value_shape(&self) -> Shape {
        Shape::Volume { most: self.most }
    }
}
