//! Numbers in pictures and tables: range, scale and digits.

use super::statistics::Estimate;
use crate::math;
use crate::report::html::step;
use crate::report::number;

/// Content of a cell without a number.
pub(super) const NONE: &str = "–";

/// A number with three significant digits; the exact one is in the file.
pub(super) fn shown(value: f64) -> String {
    let size = value.abs();
    if size >= 1e4 || value == 0.0 {
        return number(value);
    }
    // Three digits, for 0.001 as for 123.
    let decimals = (2 - exponent(size)).clamp(0, 6) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Decimal exponent of a number above zero.
fn exponent(number: f64) -> i32 {
    format!("{number:e}").split('e').nth(1).and_then(|exponent| exponent.parse().ok()).unwrap_or(0)
}

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
}

impl Range {
    /// Range of all means with their intervals; on a logarithmic scale without the lower halves.
    pub fn of(estimates: impl Iterator<Item = Estimate> + Clone, scale: Scale) -> Range {
        let numbers = estimates.map(|it| (it.mean, it.within.unwrap_or(0.0)));
        let least = numbers.clone().map(|(mean, _)| mean).fold(f64::INFINITY, f64::min);
        let most = numbers.clone().map(|(mean, within)| mean + within).fold(f64::NEG_INFINITY, f64::max);
        if scale == Scale::Logarithmic {
            let (from, to) = (exponent(least), -exponent(1.0 / most));
            return Range { from: decade(from), to: decade(to.max(from + 1)), scale };
        }
        let lowest = numbers.map(|(mean, within)| mean - within).fold(f64::INFINITY, f64::min);
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
        Range { from, to, scale }
    }

    /// Range from the least number to the largest.
    pub fn over(numbers: &[f64]) -> Range {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let to = if most > least { most } else { least + 1.0 };
        Range { from: least, to, scale: Scale::of(&[numbers.to_vec()]) }
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
            Scale::Logarithmic => " On a logarithmic scale.",
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
            let range = Range::of(estimates.into_iter(), Scale::Linear);
            assert!((1..20).contains(&range.lines().len()), "{one} and {other}: {:?}", range.lines());
            assert!(range.from <= one.min(other) && other.max(one) <= range.to);
        }
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
