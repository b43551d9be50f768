//! Forms made of others: optional values, lists and conditions.

use std::fmt::Display;
use std::marker::PhantomData;

use super::form::{Form, Shape};
use super::words::Text;
use crate::settings::fields::Field;

/// An optional value.
#[derive(Clone, Copy, Debug)]
pub struct Maybe<F>(pub F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    fn read_value(&self, field: &Field<'_>) -> Option<Option<T>> {
        self.0.read_value(field).map(Some)
    }

    fn toml_text(&self, value: &Option<T>) -> Option<String> {
        self.0.toml_text(value.as_ref()?)
    }

    fn value_remark(&self, value: &Option<T>) -> Option<String> {
        self.0.value_remark(value.as_ref()?)
    }

    fn value_shape(&self) -> Shape {
        self.0.value_shape()
    }
}

/// A form with a default `1`, which is not written.
#[derive(Clone, Copy, Debug)]
pub struct Unless<F, T>(pub F, pub T);

impl<T: PartialEq, F: Form<T>> Form<T> for Unless<F, T> {
    fn read_value(&self, field: &Field<'_>) -> Option<T> {
        self.0.read_value(field)
    }

    fn toml_text(&self, value: &T) -> Option<String> {
        if *value == self.1 { None } else { self.0.toml_text(value) }
    }

    fn value_shape(&self) -> Shape {
        self.0.value_shape()
    }
}

/// A list; `1` is the expectation for errors.
#[derive(Clone, Copy, Debug)]
pub struct List<F>(pub F, pub &'static str);

impl<T, F: Form<T>> Form<Vec<T>> for List<F> {
    fn read_value(&self, field: &Field<'_>) -> Option<Vec<T>> {
        Some(field.list(self.1)?.iter().filter_map(|field| self.0.read_value(field)).collect())
    }

    fn toml_text(&self, value: &Vec<T>) -> Option<String> {
        Some(bracket_list(value.iter().filter_map(|item| self.0.toml_text(item))))
    }

    fn value_shape(&self) -> Shape {
        Shape::List { of: Box::new(self.0.value_shape()), least: 0, most: usize::MAX }
    }
}

/// Form of a program with its arguments; `expected` has an example.
pub fn command_form(expected: &'static str) -> impl Form<Vec<String>> {
    List(Text("a text"), expected)
        .with_condition(expected, |command| command.first().is_some_and(|program| !program.is_empty()))
}

/// A list of exactly two; `1` is the expectation for errors.
#[derive(Clone, Copy, Debug)]
pub struct Pair<F>(pub F, pub &'static str);

impl<T, F: Form<T>> Form<[T; 2]> for Pair<F> {
    fn read_value(&self, field: &Field<'_>) -> Option<[T; 2]> {
        // Both are read before the test, so that the errors of both are reported.
        let [Some(first), Some(second)] = field.pair(self.1)?.each_ref().map(|field| self.0.read_value(field)) else {
            return None;
        };
        Some([first, second])
    }

    fn toml_text(&self, value: &[T; 2]) -> Option<String> {
        Some(bracket_list(value.iter().filter_map(|item| self.0.toml_text(item))))
    }

    fn value_shape(&self) -> Shape {
        Shape::List { of: Box::new(self.0.value_shape()), least: 2, most: 2 }
    }
}

impl<T: Copy, F: Form<T>> Form<(T, T)> for Pair<F> {
    fn read_value(&self, field: &Field<'_>) -> Option<(T, T)> {
        let read: Option<[T; 2]> = self.read_value(field);
        read.map(|[first, second]| (first, second))
    }

    fn toml_text(&self, &(first, second): &(T, T)) -> Option<String> {
        self.toml_text(&[first, second])
    }

    fn value_shape(&self) -> Shape {
        <Pair<F> as Form<[T; 2]>>::value_shape(self)
    }
}

/// A form with an additional condition.
#[derive(Clone, Copy, Debug)]
pub struct Checked<F, E, C> {
    form: F,
    expected: E,
    fits: C,
}

impl<T, F: Form<T>, E: Display, C: Fn(&T) -> bool> Form<T> for Checked<F, E, C> {
    fn read_value(&self, field: &Field<'_>) -> Option<T> {
        let value = self.form.read_value(field)?;
        if (self.fits)(&value) { Some(value) } else { field.report_wrong(&self.expected) }
    }

    fn toml_text(&self, value: &T) -> Option<String> {
        self.form.toml_text(value)
    }

    fn value_shape(&self) -> Shape {
        self.form.value_shape()
    }
}

/// A form whose values are converted to and from values of another type.
pub struct Mapped<T, F, To, Back> {
    form: F,
    to: To,
    back: Back,
    of: PhantomData<T>,
}

impl<T, V, F: Form<T>, To: Fn(T) -> V, Back: Fn(&V) -> T> Form<V> for Mapped<T, F, To, Back> {
    fn read_value(&self, field: &Field<'_>) -> Option<V> {
        self.form.read_value(field).map(&self.to)
    }

    fn toml_text(&self, value: &V) -> Option<String> {
        self.form.toml_text(&(self.back)(value))
    }

    fn value_shape(&self) -> Shape {
        self.form.value_shape()
    }
}

/// Forms made of others.
pub trait FormExt<T>: Form<T> + Sized {
    /// Adds a condition; `expected` describes it in errors.
    fn with_condition<E: Display, C: Fn(&T) -> bool>(self, expected: E, fits: C) -> Checked<Self, E, C> {
        Checked { form: self, expected, fits }
    }

    /// Converts values with `to`, and back with `back`.
    fn map_values<V, To: Fn(T) -> V, Back: Fn(&V) -> T>(self, to: To, back: Back) -> Mapped<T, Self, To, Back> {
        Mapped { form: self, to, back, of: PhantomData }
    }
}

impl<T, F: Form<T>> FormExt<T> for F {}

fn bracket_list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(", "))
}
