//! Numbers in pictures and tables: range, scale and digits.

use super::statistics::Estimate;
use crate::Unit;
use crate::axes::{Axis, hides_curves, round_step};
pub use hansa_sim::numerals::format_number as shown;

/// Content of a cell without a number.
pub const NONE: &str = "–";

/// Ratio from which a logarithmic axis is easier to read.
const LOGARITHMIC: f64 = 30.0;

/// An axis that starts at zero hides differences of numbers that are this many times closer to each other than to zero.
const FAR_FROM_ZERO: f64 = 3.0;

/// Largest number of steps between grid lines.
const LINES: f64 = 6.0;

/// Relative differences below this are invisible on any axis.
const ROUNDING: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    /// One scale for several pictures, each with its numbers.
    pub fn of(pictures: &[Vec<f64>]) -> Scale {
        let ratio = |numbers: &Vec<f64>| {
            let (least, most) = numbers
                .iter()
                .fold((f64::INFINITY, 0.0), |(least, most), &number| (f64::min(least, number), f64::max(most, number)));
            if least.is_finite() { most / least } else { 1.0 }
        };
        let are_positive = pictures.iter().flatten().all(|number| *number > 0.0);
        let is_wide = are_positive && pictures.iter().any(|numbers| ratio(numbers) > LOGARITHMIC);
        let has_no_negative = pictures.iter().flatten().all(|number| *number >= 0.0);
        // Zeros have no place on a logarithmic axis, so there have to be several numbers that a linear one hides.
        let hides_several = |numbers: &Vec<f64>| numbers.len() > 2 && hides_curves(numbers);
        match is_wide || has_no_negative && pictures.iter().any(hides_several) {
            true => Scale::Logarithmic,
            false => Scale::Linear,
        }
    }
}

/// Range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub axis: Axis,
    limits: Limits,
    /// True if some interval goes beyond the axis: down to 0 on a logarithmic one, else out of the limits.
    is_open: bool,
}

/// Limits of a quantity: no share is above 1, and what has no negative mean has no negative values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limits {
    lowest: f64,
    highest: f64,
}

impl Limits {
    fn interval_of(self, estimate: &Estimate) -> (f64, f64) {
        let Estimate { mean, within, .. } = *estimate;
        let within = within.unwrap_or(0.0);
        ((mean - within).max(self.lowest), (mean + within).min(self.highest.max(mean)))
    }
}

fn highest_value(unit: Unit) -> f64 {
    if unit == Unit::Share { 1.0 } else { f64::INFINITY }
}

impl Range {
    /// A range that holds all means and their intervals, as far as the unit has such numbers.
    pub fn of(estimates: impl Iterator<Item = Estimate> + Clone, unit: Unit, scale: Scale) -> Range {
        let least = estimates.clone().map(|it| it.mean).fold(f64::INFINITY, f64::min);
        let means = estimates.clone().map(|it| it.mean);
        let least_positive = means.filter(|mean| *mean > 0.0).fold(f64::INFINITY, f64::min);
        let limits = Limits { lowest: if least < 0.0 { f64::NEG_INFINITY } else { 0.0 }, highest: highest_value(unit) };
        let is_cut = estimates.clone().any(|it| {
            let within = it.within.unwrap_or(0.0);
            it.mean - within < limits.lowest || it.mean + within > limits.highest
        });
        let intervals = estimates.map(|it| limits.interval_of(&it));
        let most = intervals.clone().map(|(_, to)| to).fold(f64::NEG_INFINITY, f64::max);
        let lowest = intervals.clone().map(|(from, _)| from).fold(f64::INFINITY, f64::min);
        if scale == Scale::Logarithmic {
            let ends = intervals.map(|(from, _)| from).filter(|from| *from > 0.0);
            let positive = ends.fold(least_positive, f64::min);
            return Range { axis: Axis::logarithmic(positive, most), limits, is_open: lowest <= 0.0 };
        }
        let spread = most - lowest;
        let from = match lowest {
            _ if least < 0.0 => lowest,
            lowest if spread > ROUNDING * most && lowest > FAR_FROM_ZERO * spread => {
                let step = round_step(spread / LINES);
                (lowest / step).floor() * step
            }
            _ => 0.0,
        };
        let to = if most > from { most } else { from + 1.0 };
        Range { axis: Axis::linear(from, to, LINES), limits, is_open: is_cut }
    }

    /// Ends of the interval of an estimate that lie within the unit's limits; None if there is no interval.
    pub fn interval_of(&self, estimate: &Estimate) -> Option<(f64, f64)> {
        estimate.within.filter(|within| *within > 0.0).map(|_| self.limits.interval_of(estimate))
    }

    /// Note about an unusual axis.
    pub fn axis_note(&self) -> &'static str {
        let Axis { from, to, .. } = self.axis;
        match (self.axis.is_logarithmic(), self.is_open) {
            (true, true) => {
                " On a logarithmic scale; numbers at its edge are 0, and bars down to it go on to 0 or below."
            }
            (true, false) => " On a logarithmic scale.",
            (false, true) if from > 0.0 => {
                " The axis does not start at 0. Intervals are cut where no such number is possible."
            }
            (false, true) => " Intervals are cut where no such number is possible.",
            (false, false) if from > 0.0 => " The axis does not start at 0.",
            (false, false) if to < 0.0 => " The axis does not reach 0.",
            (false, false) => "",
        }
    }
}

/// Axis from the least number to the largest, for the settings of an experiment.
pub fn axis_of_settings(numbers: &[f64]) -> Axis {
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let axis = Axis::linear(least, if most > least { most } else { least + 1.0 }, LINES);
    match Scale::of(&[numbers.to_vec()]) {
        Scale::Linear => axis,
        Scale::Logarithmic => Axis { step: None, ..axis },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_few_lines_however_near_its_numbers_are() {
        for (one, other) in [(1e6, 1e6 + 1.0), (1e6, 1e6 + 1e-9), (1e6, 1e6), (0.0, 0.0), (3.0, 4.0), (-2.0, 5.0)] {
            let estimates = [one, other].map(|mean| Estimate { mean, within: None, count: 1 });
            let range = Range::of(estimates.into_iter(), Unit::Ratio, Scale::Linear);
            assert!((1..20).contains(&range.axis.tick_numbers().len()), "{one} and {other}: {range:?}");
            assert!(range.axis.from <= one.min(other) && other.max(one) <= range.axis.to);
        }
    }

    #[test]
    fn intervals_stay_within_the_frame_and_what_is_possible() {
        let estimate = |mean, within| Estimate { mean, within: Some(within), count: 3 };
        let all = [estimate(0.9, 0.3), estimate(0.2, 0.4), estimate(0.5, 0.1)];
        let share = Range::of(all.into_iter(), Unit::Share, Scale::Linear);
        assert_eq!(share.interval_of(&all[0]), Some((0.6000000000000001, 1.0)));
        assert_eq!(share.interval_of(&all[1]), Some((0.0, 0.6000000000000001)));
        assert_eq!((share.axis.from, share.axis.to), (0.0, 1.0));
        let ratio = Range::of(all.into_iter(), Unit::Ratio, Scale::Linear);
        assert_eq!((ratio.interval_of(&all[0]).unwrap().1, ratio.axis.to), (1.2, 1.2));
        // On a logarithmic scale, too, unless an interval reaches 0.
        let far = [estimate(20.0, 15.0), estimate(3_000.0, 900.0)];
        let range = Range::of(far.into_iter(), Unit::Seconds, Scale::Logarithmic);
        assert!(range.axis.from <= 5.0 && range.axis.to >= 3_900.0 && !range.axis_note().contains("go on to 0"));
        let far = [estimate(20.0, 25.0), estimate(3_000.0, 900.0)];
        assert!(Range::of(far.into_iter(), Unit::Seconds, Scale::Logarithmic).axis_note().contains("go on to 0"));
    }

    #[test]
    fn zeros_beside_hidden_numbers_are_drawn_at_the_edge_of_a_logarithmic_axis() {
        assert_eq!(Scale::of(&[vec![0.0, 1.0, 2.0, 100.0]]), Scale::Logarithmic);
        assert_eq!(Scale::of(&[vec![0.0, 90.0, 2.0, 100.0]]), Scale::Linear);
        assert_eq!(Scale::of(&[vec![0.0, 100.0]]), Scale::Linear);
        let estimates = [0.0, 1.0, 2.0, 100.0].map(|mean| Estimate { mean, within: None, count: 1 });
        let range = Range::of(estimates.into_iter(), Unit::Seconds, Scale::Logarithmic);
        assert_eq!((range.axis.from, range.axis.to, range.axis.share(0.0)), (1.0, 100.0, 0.0));
        assert!(range.axis_note().contains("numbers at its edge are 0"));
    }

    #[test]
    fn settings_lie_between_the_first_and_the_last() {
        let axis = axis_of_settings(&[1.0, 2.0, 4.0]);
        assert_eq!([1.0, 2.0, 4.0].map(|number| axis.share(number)), [0.0, 1.0 / 3.0, 1.0]);
        let axis = axis_of_settings(&[32.0, 1.0, 8.0, 64.0]);
        assert_eq!([1.0, 8.0, 64.0].map(|number| (axis.share(number) * 6.0).round()), [0.0, 3.0, 6.0]);
        assert_eq!(axis_of_settings(&[5.0]).share(5.0), 0.0);
    }
}
