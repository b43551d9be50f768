//! Numeric axes of charts, and the plot area between them.
//!
//! Lines have their colours as attributes, for pictures that stand alone; the style sheet of pages overrides these.

use crate::markup::{Html, html};
use crate::palette::{GRID, SOFT};
use crate::present::page::html::format_coord;
use hansa_sim::math;
use hansa_sim::numerals::decimal_exponent;

/// Least step between ticks around numbers: labels have three decimals.
const STEP_MIN: f64 = 0.001;

/// Position of a tick as a share of the axis, and its label.
pub type Tick = (f64, String);

/// The numbers at the ends of an axis, and its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    pub from: f64,
    pub to: f64,
    /// Distance of ticks; None on a logarithmic scale, which has one at each power of ten.
    pub step: Option<f64>,
}

impl Axis {
    /// Linear axis with at most `parts` steps between its ticks.
    pub fn linear(from: f64, to: f64, parts: f64) -> Axis {
        Axis { from, to, step: Some(round_step((to - from) / parts)) }
    }

    /// Linear axis that begins and ends with a tick.
    pub fn covering(least: f64, most: f64, parts: f64) -> Axis {
        let step = round_step((most - least) / parts).max(STEP_MIN);
        let first = (least / step + 1e-6).floor();
        let last = (most / step - 1e-6).ceil();
        Axis { from: first * step, to: last.max(first + 1.0) * step, step: Some(step) }
    }

    /// Logarithmic axis between the powers of ten around two positive numbers.
    pub fn logarithmic(least: f64, most: f64) -> Axis {
        let first = decimal_exponent(least);
        let last = -decimal_exponent(1.0 / most);
        Axis { from: power_of_ten(first), to: power_of_ten(last.max(first + 1)), step: None }
    }

    pub fn is_logarithmic(&self) -> bool {
        self.step.is_none()
    }

    /// Position of a number on the axis, from 0 to 1; numbers outside are clamped.
    pub fn share(&self, number: f64) -> f64 {
        let share = match self.step {
            None => math::ln(number.max(self.from) / self.from) / math::ln(self.to / self.from),
            Some(_) => (number - self.from) / (self.to - self.from),
        };
        if self.from < self.to { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Numbers with a tick, in ascending order.
    pub fn tick_numbers(&self) -> Vec<f64> {
        match self.step {
            None => (decimal_exponent(self.from)..=decimal_exponent(self.to)).map(power_of_ten).collect(),
            Some(step) => {
                let first = (self.from / step - 1e-3).ceil() as i64;
                let last = (self.to / step + 1e-3).floor() as i64;
                (first..=last).map(|count| count as f64 * step).collect()
            }
        }
    }

    pub fn tick_labels(&self, label: impl Fn(f64) -> String) -> Vec<Tick> {
        self.tick_numbers().into_iter().map(|number| (self.share(number), label(number))).collect()
    }
}

/// Ratio of numbers from which the smaller one cannot be seen on a linear axis.
const INVISIBLE: f64 = 30.0;

/// True if a linear axis from 0 would hide at least half of some curves, given the largest number of each.
pub fn hides_curves(largest: &[f64]) -> bool {
    let top = largest.iter().copied().fold(0.0, f64::max);
    let hidden = largest.iter().filter(|number| **number > 0.0 && **number * INVISIBLE < top).count();
    hidden > 0 && 2 * hidden >= largest.len()
}

/// A round number, at least this large: 1, 2 or 5 with zeros.
pub fn round_step(least: f64) -> f64 {
    if !least.is_finite() {
        return least;
    }
    let mut unit = 1.0;
    while unit > least && unit > 1e-9 {
        unit /= 10.0;
    }
    while unit * 10.0 <= least {
        unit *= 10.0;
    }
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * unit).find(|step| *step >= least).unwrap_or(least)
}

fn power_of_ten(exponent: i32) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(1.0)
}

/// A chart of a page, whose plot area the style sheet makes narrower on small screens, while letters keep their width.
///
/// Nothing left of the plot area but labels and names may be in it. `attributes` are those of the element, and `words`
/// its title and description.
pub fn fitted_svg(size: (f64, f64), area: &PlotArea, attributes: Html, words: Html, body: Html) -> Html {
    let width = format_coord(size.0);
    let height = format_coord(size.1);
    let left = format_coord(area.left);
    let right = format_coord(size.0 - area.right);
    html!(
        "<svg class=\"fits\" viewBox=\"0 0 {width} {height}\" style=\"--wide:{width};--left:{left};--right:{right}\" \
         {attributes}>{words}<g class=\"fit\">{body}</g></svg>",
        [width, height, left, right, attributes, words, body]
    )
}

/// The rectangle between the axes of a chart.
#[derive(Clone, Copy, Debug)]
pub struct PlotArea {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl PlotArea {
    pub fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    pub fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    /// The vertical axis with lines across and its name.
    pub fn vertical_axis(&self, ticks: &[Tick], name: &str) -> Html {
        html!("<g class=\"axis\">{}{}</g>\n", self.lines_across(ticks), self.name_beside(name))
    }

    /// Grid lines across, with labels on the left.
    pub fn lines_across(&self, ticks: &[Tick]) -> Html {
        let left = format_coord(self.left);
        let right = format_coord(self.right);
        draw_grid(ticks.iter().map(|(share, _)| format!("M{left} {}H{right}", format_coord(self.y(*share)))))
            + ticks
                .iter()
                .map(|(share, label)| {
                    let x = format_coord(self.left - 7.0);
                    let y = format_coord(self.y(*share));
                    html!("<text x=\"{x}\" y=\"{y}\" dy=\".32em\" text-anchor=\"end\">{label}</text>", x, y, label)
                })
                .collect()
    }

    /// Grid lines down, with labels below.
    pub fn lines_down(&self, ticks: &[Tick]) -> Html {
        let top = format_coord(self.top);
        let bottom = format_coord(self.bottom);
        draw_grid(ticks.iter().map(|(share, _)| format!("M{} {top}V{bottom}", format_coord(self.x(*share)))))
            + self.labels(ticks)
    }

    /// Ticks below the plot area, with labels.
    pub fn draw_ticks(&self, ticks: &[Tick]) -> Html {
        let bottom = format_coord(self.bottom);
        draw_grid(ticks.iter().map(|(share, _)| format!("M{} {bottom}v5", format_coord(self.x(*share)))))
            + self.labels(ticks)
    }

    /// Labels below the plot area, except empty ones.
    pub fn labels(&self, ticks: &[Tick]) -> Html {
        let label = |(share, label): &Tick| {
            let x = format_coord(self.x(*share));
            let y = format_coord(self.bottom + 18.0);
            html!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>", x, y, label)
        };
        ticks.iter().filter(|(_, label)| !label.is_empty()).map(label).collect()
    }

    /// The line at the bottom.
    pub fn draw_base(&self) -> Html {
        let left = format_coord(self.left);
        let right = format_coord(self.right);
        let y = format_coord(self.bottom);
        html!("<path class=\"base\" stroke=\"{SOFT}\" d=\"M{left} {y}H{right}\"/>", [SOFT, left, right, y])
    }

    /// Name of the horizontal axis.
    pub fn name_below(&self, name: &str) -> Html {
        let x = format_coord((self.left + self.right) / 2.0);
        let y = format_coord(self.bottom + 38.0);
        html!("<text class=\"name\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>", x, y, name)
    }

    /// Name of the vertical axis, at the left edge of the picture.
    pub fn name_beside(&self, name: &str) -> Html {
        let y = format_coord((self.top + self.bottom) / 2.0);
        html!(
            "<text class=\"name\" transform=\"translate(14 {y}) rotate(-90)\" text-anchor=\"middle\">{name}</text>",
            y,
            name
        )
    }
}

fn draw_grid(lines: impl Iterator<Item = String>) -> Html {
    html!("<path stroke=\"{GRID}\" d=\"{}\"/>", lines.collect::<String>(), GRID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_axis() {
        assert_eq!([0.0012, 0.3, 1.0, 1.1, 4.0, 70.0].map(round_step), [0.002, 0.5, 1.0, 2.0, 5.0, 100.0]);
        assert_eq!(Axis::linear(-7.0, 13.0, 4.0).tick_numbers(), [-5.0, 0.0, 5.0, 10.0]);
        assert_eq!(
            Axis::linear(0.0, 1.0, 6.0).tick_labels(|number| format!("{number:.1}"))[5],
            (1.0, "1.0".to_owned())
        );
    }

    #[test]
    fn an_axis_around_numbers_begins_and_ends_with_a_tick() {
        let axis = Axis::covering(0.9, 10.1, 10.0);
        assert_eq!((axis.from, axis.to, axis.tick_numbers().len()), (0.0, 11.0, 12));
        assert_eq!(Axis::covering(3.0, 3.0, 10.0).tick_numbers(), [3.0, 3.001]);
    }

    #[test]
    fn curves_far_below_the_largest_are_hidden() {
        assert!(hides_curves(&[1.0, 2.0, 100.0]) && hides_curves(&[1.0, 100.0]));
        assert!(!hides_curves(&[1.0, 90.0, 100.0]) && !hides_curves(&[0.0, 0.0, 100.0]) && !hides_curves(&[]));
    }

    #[test]
    fn logarithmic_axes_have_powers_of_ten() {
        assert_eq!(Axis::logarithmic(0.02, 100.0).tick_numbers(), [0.01, 0.1, 1.0, 10.0, 100.0]);
        assert_eq!(Axis::logarithmic(5.0, 5.0).tick_numbers(), [1.0, 10.0]);
        let axis = Axis::logarithmic(1.0, 100.0);
        assert_eq!([0.0, 1.0, 10.0, 1e3].map(|number| axis.share(number)), [0.0, 0.0, 0.5, 1.0]);
    }
}
