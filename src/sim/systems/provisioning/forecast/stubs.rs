//! Forecasts without a history, for tests.

use std::collections::BTreeMap;

use super::Forecast;
use crate::time::Span;

/// Recorded probabilities by time limit: the entry with the largest limit up to the one asked for.
#[derive(Clone, Debug)]
pub struct Recorded(pub BTreeMap<Span, f64>);

impl Forecast for Recorded {
    fn record_start(&mut self, _: u32, _: Span, _: Span) {}

    fn start_chance(&mut self, _: u32, _: Span, within: Span) -> f64 {
        self.0.range(..=within).next_back().map_or(0.0, |(_, chance)| *chance)
    }

    fn boxed_copy(&self) -> Box<dyn Forecast> {
        Box::new(self.clone())
    }
}

/// A constant probability.
#[derive(Clone, Copy, Debug)]
pub struct Constant(pub f64);

impl Forecast for Constant {
    fn record_start(&mut self, _: u32, _: Span, _: Span) {}

    fn start_chance(&mut self, _: u32, _: Span, _: Span) -> f64 {
        self.0
    }

    fn boxed_copy(&self) -> Box<dyn Forecast> {
        Box::new(*self)
    }
}
