//! Lines through means, over numeric settings.

use std::fmt::Write;

use super::super::figures::mean_text;
use super::super::range::{Range, axis_of_settings, shown};
use super::super::statistics::Estimate;
use crate::axes::{Axis, PlotArea, Tick, fitted_svg};
use crate::html::{format_coord, shorten_text};
use crate::markup::{Html, html};
use crate::palette::COLOURS;

const WIDTH: f64 = 1280.0;
const HEIGHT: f64 = 340.0;
const AREA: PlotArea = PlotArea { left: 84.0, right: WIDTH - 24.0, top: 12.0, bottom: HEIGHT - 52.0 };
/// Margin left and right of all points.
const INSET: f64 = 26.0;
/// Offset between the bars of neighbouring lines, which would hide each other, and most offset over all lines.
const APART: f64 = 4.0;
const APART_IN_ALL: f64 = 40.0;
/// Width of a letter below the axis, and longest label.
const LETTER: f64 = 7.0;
const LABEL_MAX: usize = 14;

/// The horizontal axis of a chart.
pub(super) struct Across<'m> {
    pub key: &'m str,
    pub values: &'m [String],
    pub numbers: &'m [f64],
    /// True if dots and bars are drawn.
    pub has_dots: bool,
}

pub(super) struct Curve {
    /// Index of colour and dashes.
    pub style: usize,
    /// Text of the tooltip.
    pub name: String,
    /// Mean at each value of the horizontal axis.
    pub points: Vec<Option<Estimate>>,
}

pub(super) fn draw_curves(about: &str, name: &str, across: &Across<'_>, range: &Range, curves: &[Curve]) -> Html {
    let settings = axis_of_settings(across.numbers);
    let inner = PlotArea { left: AREA.left + INSET, right: AREA.right - INSET, ..AREA };
    let x = |value: usize| inner.x(settings.share(across.numbers[value]));
    let mut order: Vec<usize> = (0..across.numbers.len()).collect();
    order.sort_by(|one, other| across.numbers[*one].total_cmp(&across.numbers[*other]));
    // For crosshairs.
    let places: Vec<String> = order.iter().map(|value| format_coord(x(*value))).collect();
    let attributes = html!(
        "role=\"img\" aria-label=\"{about}\" data-at=\"{}\" data-bottom=\"{}\"",
        places.join(" "),
        AREA.bottom,
        about
    );
    let scale = if settings.is_logarithmic() { ", on a logarithmic scale" } else { "" };
    let mut svg = AREA.vertical_axis(&range.axis.tick_labels(shown), name);
    let ticks = written_ticks(across, &order, &settings, &x);
    let letters: usize = ticks.iter().map(|(_, label)| label.chars().count() + 1).sum();
    // On a narrow screen only every second or fourth label has room.
    let density = match letters {
        0..=40 => "",
        41..=80 => " half",
        _ => " quarter",
    };
    svg += html!(
        "<g class=\"axis{density}\">{}{}{}</g>",
        inner.draw_ticks(&ticks),
        AREA.draw_base(),
        AREA.name_below(&format!("{}{scale}", shorten_text(across.key, 100))),
        density
    );
    let apart = f64::min(APART, APART_IN_ALL / curves.len().max(1) as f64);
    for (number, curve) in curves.iter().enumerate() {
        let aside = apart * (number as f64 - (curves.len() - 1) as f64 / 2.0);
        svg += draw_curve(curve, across, &order, range, &|value| x(value) + aside, &|number: f64| {
            AREA.y(range.axis.share(number))
        });
    }
    fitted_svg((WIDTH, HEIGHT), &AREA, attributes, Html::default(), svg)
}

/// Values as they were written, as far as there is room.
fn written_ticks(across: &Across<'_>, order: &[usize], settings: &Axis, x: &dyn Fn(usize) -> f64) -> Vec<Tick> {
    let mut free = f64::NEG_INFINITY;
    order
        .iter()
        .map(|&value| {
            let label = shorten_text(&across.values[value], LABEL_MAX);
            let half = label.chars().count() as f64 * LETTER / 2.0;
            let fits = x(value) - half >= free;
            free = if fits { x(value) + half + LETTER } else { free };
            (settings.share(across.numbers[value]), if fits { label } else { String::new() })
        })
        .collect()
}

fn draw_curve(
    curve: &Curve,
    across: &Across<'_>,
    order: &[usize],
    range: &Range,
    x: &dyn Fn(usize) -> f64,
    y: &dyn Fn(f64) -> f64,
) -> Html {
    let colour = curve.style % COLOURS;
    let is_second = curve.style >= COLOURS;
    let second = if is_second { " dashed" } else { "" };
    let mut path = String::new();
    let mut bars = String::new();
    let mut dots = Html::default();
    let mut is_drawing = false;
    for &value in order {
        let Some(estimate) = curve.points[value] else {
            is_drawing = false;
            continue;
        };
        let middle = format_coord(x(value));
        let height = format_coord(y(estimate.mean));
        let _ = write!(path, "{}{middle} {height}", if is_drawing { 'L' } else { 'M' });
        is_drawing = true;
        if !across.has_dots {
            continue;
        }
        if let Some((from, to)) = range.interval_of(&estimate) {
            let _ = write!(bars, "M{middle} {}V{}", format_coord(y(from)), format_coord(y(to)));
        }
        let fill = if is_second { "card".to_owned() } else { format!("c{colour}") };
        let text = format!("{}{} = {}: {}", curve.name, across.key, across.values[value], mean_text(&estimate));
        dots += html!(
            "<circle class=\"l{colour}{second}\" cx=\"{middle}\" cy=\"{height}\" r=\"3.6\" fill=\"var(--{fill})\" \
             stroke-width=\"1.6\"><title>{text}</title></circle>",
            [text, colour, second, middle, height, fill]
        );
    }
    let values = order.iter().map(|value| curve.points[*value].map_or(String::new(), |one| mean_text(&one)));
    let values = values.collect::<Vec<_>>().join(";");
    html!(
        "<path class=\"l{colour}{second}\" d=\"{bars}\" stroke-width=\"1.3\" stroke-opacity=\".5\"/>\
         <path class=\"line l{colour}{second}\" data-v=\"{values}\" d=\"{path}\"/>{dots}\n",
        [colour, second, bars, values, path, dots]
    )
}
