//! Numbers in pictures and tables: range, scale and digits.

use super::statistics::Estimate;
use crate::math;
use crate::numerals::exponent;
pub(super) use crate::numerals::number as shown;
use crate::report::Unit;
use crate::report::html::step;

/// Content of a cell without a number.
pub(super) const NONE: &str = "–";

fn decade(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

/// Ratio from which a logarithmic axis is easier to read.
const LOGARITHMIC: f64 = 30.0;

/// An axis that starts at zero hides differences of numbers that are this many times closer to each other than to zero.
const FAR_FROM_ZERO: f64 = 3.0;

/// Relative differences below this are invisible on any axis.
const ROUNDING: f64 = 1e-6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
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
        match are_positive && pictures.iter().any(|numbers| ratio(numbers) > LOGARITHMIC) {
            true => Scale::Logarithmic,
            false => Scale::Linear,
        }
    }
}

/// Range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    from: f64,
    to: f64,
    scale: Scale,
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
    fn interval(self, estimate: &Estimate) -> (f64, f64) {
        let Estimate { mean, within, .. } = *estimate;
        let within = within.unwrap_or(0.0);
        ((mean - within).max(self.lowest), (mean + within).min(self.highest.max(mean)))
    }
}

fn highest(unit: Unit) -> f64 {
    if unit == Unit::Share { 1.0 } else { f64::INFINITY }
}

impl Range {
    /// A range that holds all means and their intervals, as far as the unit has such numbers.
    pub fn of(estimates: impl Iterator<Item = Estimate> + Clone, unit: Unit, scale: Scale) -> Range {
        let least = estimates.clone().map(|it| it.mean).fold(f64::INFINITY, f64::min);
        let limits = Limits { lowest: if least < 0.0 { f64::NEG_INFINITY } else { 0.0 }, highest: highest(unit) };
        let is_cut = estimates.clone().any(|it| {
            let within = it.within.unwrap_or(0.0);
            it.mean - within < limits.lowest || it.mean + within > limits.highest
        });
        let intervals = estimates.map(|it| limits.interval(&it));
        let most = intervals.clone().map(|(_, to)| to).fold(f64::NEG_INFINITY, f64::max);
        let lowest = intervals.clone().map(|(from, _)| from).fold(f64::INFINITY, f64::min);
        if scale == Scale::Logarithmic {
            let positive = intervals.map(|(from, _)| from).filter(|from| *from > 0.0).fold(least, f64::min);
            let (from, to) = (exponent(positive), -exponent(1.0 / most));
            return Range { from: decade(from), to: decade(to.max(from + 1)), scale, limits, is_open: lowest <= 0.0 };
        }
        let spread = most - lowest;
        let from = match lowest {
            _ if least < 0.0 => lowest,
            lowest if spread > ROUNDING * most && lowest > FAR_FROM_ZERO * spread => {
                let step = step(spread / 6.0);
                (lowest / step).floor() * step
            }
            _ => 0.0,
        };
        let to = if most > from { most } else { from + 1.0 };
        Range { from, to, scale, limits, is_open: is_cut }
    }

    /// Ends of the interval of an estimate that lie within the unit's limits; None if there is no interval.
    pub fn interval(&self, estimate: &Estimate) -> Option<(f64, f64)> {
        estimate.within.filter(|within| *within > 0.0).map(|_| self.limits.interval(estimate))
    }

    /// Range from the least number to the largest.
    pub fn over(numbers: &[f64]) -> Range {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let to = if most > least { most } else { least + 1.0 };
        let limits = Limits { lowest: f64::NEG_INFINITY, highest: f64::INFINITY };
        Range { from: least, to, scale: Scale::of(&[numbers.to_vec()]), limits, is_open: false }
    }

    /// Position of a number on the axis, from 0 to 1; numbers outside are clamped.
    pub fn share(&self, number: f64) -> f64 {
        let share = match self.scale {
            Scale::Logarithmic => math::ln(number.max(self.from) / self.from) / math::ln(self.to / self.from),
            Scale::Linear => (number - self.from) / (self.to - self.from),
        };
        share.clamp(0.0, 1.0)
    }

    /// Numbers with a grid line.
    pub fn lines(&self) -> Vec<f64> {
        if self.scale == Scale::Logarithmic {
            return (exponent(self.from)..=exponent(self.to * 1.0001)).map(decade).collect();
        }
        let step = step((self.to - self.from) / 6.0);
        let first = (self.from / step).ceil() as i64;
        let end = self.to + 1e-3 * step;
        (first..).map(|count| count as f64 * step).take_while(|value| *value <= end).collect()
    }

    pub fn is_logarithmic(&self) -> bool {
        self.scale == Scale::Logarithmic
    }

    /// Note about an unusual axis.
    pub fn told(&self) -> &'static str {
        match self.scale {
            Scale::Logarithmic if self.is_open => " On a logarithmic scale; bars down to its edge go on to 0 or below.",
            Scale::Logarithmic => " On a logarithmic scale.",
            Scale::Linear if self.is_open && self.from > 0.0 => {
                " The axis does not start at 0. Intervals are cut where no such number is possible."
            }
            Scale::Linear if self.is_open => " Intervals are cut where no such number is possible.",
            Scale::Linear if self.from > 0.0 => " The axis does not start at 0.",
            Scale::Linear if self.to < 0.0 => " The axis does not reach 0.",
            Scale::Linear => "",
        }
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
            assert!((1..20).contains(&range.lines().len()), "{one} and {other}: {:?}", range.lines());
            assert!(range.from <= one.min(other) && other.max(one) <= range.to);
        }
    }

    #[test]
    fn intervals_stay_within_the_frame_and_what_is_possible() {
        let estimate = |mean, within| Estimate { mean, within: Some(within), count: 3 };
        let all = [estimate(0.9, 0.3), estimate(0.2, 0.4), estimate(0.5, 0.1)];
        let share = Range::of(all.into_iter(), Unit::Share, Scale::Linear);
        assert_eq!(share.interval(&all[0]), Some((0.6000000000000001, 1.0)));
        assert_eq!(share.interval(&all[1]), Some((0.0, 0.6000000000000001)));
        assert_eq!((share.from, share.to), (0.0, 1.0));
        let ratio = Range::of(all.into_iter(), Unit::Ratio, Scale::Linear);
        assert_eq!((ratio.interval(&all[0]).unwrap().1, ratio.to), (1.2, 1.2));
        // On a logarithmic scale, too, unless an interval reaches 0.
        let far = [estimate(20.0, 15.0), estimate(3_000.0, 900.0)];
        let range = Range::of(far.into_iter(), Unit::Seconds, Scale::Logarithmic);
        assert!(range.from <= 5.0 && range.to >= 3_900.0 && !range.told().contains("go on to 0"));
        let far = [estimate(20.0, 25.0), estimate(3_000.0, 900.0)];
        assert!(Range::of(far.into_iter(), Unit::Seconds, Scale::Logarithmic).told().contains("go on to 0"));
    }

    #[test]
    fn settings_lie_between_the_first_and_the_last() {
        let range = Range::over(&[1.0, 2.0, 4.0]);
        assert_eq!([1.0, 2.0, 4.0].map(|number| range.share(number)), [0.0, 1.0 / 3.0, 1.0]);
        let range = Range::over(&[32.0, 1.0, 8.0, 64.0]);
        assert_eq!([1.0, 8.0, 64.0].map(|number| (range.share(number) * 6.0).round()), [0.0, 3.0, 6.0]);
        assert_eq!(Range::over(&[5.0]).share(5.0), 0.0);
    }
}
