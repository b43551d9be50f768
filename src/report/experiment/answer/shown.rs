//! Estimates in the form that people read.

use super::table::TableCell;
use crate::Unit;
use crate::experiment::metrics::Metric;
use crate::experiment::statistics::Estimate;
use hansa_sim::numerals::with_interval;

/// Relative half width of an interval below which it is due to rounding.
pub(super) const ROUNDING: f64 = 1e-9;

/// Factor from numbers of a unit to those that are shown, and the shown unit.
fn shown_unit(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Share => (100.0, "%"),
        other => (1.0, other.name()),
    }
}

/// Unit of the shown numbers of a metric, empty if there is none.
pub(super) fn unit_of(metric: &Metric) -> &'static str {
    shown_unit(metric.unit).1
}

/// Name of a metric with the unit of its shown numbers.
pub(super) fn head_of(metric: &Metric) -> String {
    match unit_of(metric) {
        "" => metric.name.to_owned(),
        unit => format!("{}, {unit}", metric.name),
    }
}

/// An estimate scaled to the shown unit.
pub(super) fn scale_estimate(metric: &Metric, estimate: &Estimate) -> Estimate {
    let (factor, _) = shown_unit(metric.unit);
    Estimate { mean: estimate.mean * factor, within: estimate.within.map(|within| within * factor), ..*estimate }
}

/// An estimate as `1,550 ± 740`, or only its mean, with the digits that its interval allows.
pub(super) fn show_estimate(estimate: &Estimate, with_within: bool) -> TableCell {
    // Equal numbers whose sum was rounded are not apart.
    let without_rounding = |within: f64| if within <= ROUNDING * estimate.mean.abs() { 0.0 } else { within };
    let (mean, within) = with_interval(estimate.mean, estimate.within.map(without_rounding));
    let within = within.filter(|_| with_within).map_or(String::new(), |within| format!(" ± {within}"));
    TableCell {
        text: format!("{mean}{within}"),
        number: Some(estimate.mean),
        within: estimate.within,
        ..TableCell::default()
    }
}

/// A difference with its sign and interval.
pub(super) fn show_difference(estimate: &Estimate) -> TableCell {
    let cell = show_estimate(estimate, true);
    let is_zero = !cell.text.split('±').next().is_some_and(|mean| mean.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
    let sign = if estimate.mean > 0.0 && !is_zero { "+" } else { "" };
    TableCell { text: format!("{sign}{}", cell.text), is_difference: true, ..cell }
}

/// An estimate with its unit, for a sentence: `1,550 ± 740 s`.
pub(super) fn in_words(metric: &Metric, estimate: &Estimate) -> String {
    let text = show_estimate(&scale_estimate(metric, estimate), true).text;
    format!("{text} {}", unit_of(metric)).trim_end().to_owned()
}
