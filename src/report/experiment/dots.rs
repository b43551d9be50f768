//! Dots with their intervals, in rows with names.

use super::range::{Range, shown};
use super::statistics::Estimate;
use crate::axes::{PlotArea, fitted_svg};
use crate::html::{Digits, format_coord};
use crate::markup::{Html, html};

pub(super) struct DotRow {
    pub name: String,
    pub is_bold: bool,
    pub dots: Vec<Dot>,
}

pub(super) struct Dot {
    pub estimate: Estimate,
    /// Index of a colour of the style sheet.
    pub colour: usize,
    pub is_filled: bool,
    /// Text of the tooltip.
    pub text: String,
}

/// Least width of a picture.
const WIDTH: f64 = 1280.0;
/// Least width for names.
const LEFT: f64 = 190.0;
const RIGHT: f64 = 90.0;
/// Widths of a letter of a name, and of the gap between names and dots.
const LETTER: f64 = 7.2;
const GAP: f64 = 12.0;
/// Least width of the dots: longer names widen the picture.
const DOTS_MIN: f64 = 400.0;
const ROW: f64 = 22.0;
/// Distance between the dots of a row.
const DOT: f64 = 11.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 46.0;

/// Draws rows from top to bottom over a named axis; rows of one dot also show its number.
pub(super) fn draw_dots(about: &str, name: &str, range: &Range, rows: &[DotRow]) -> Html {
    let most = rows.iter().map(|row| row.dots.len()).max().unwrap_or(0);
    let tall = ROW + DOT * most.saturating_sub(1) as f64;
    let height = TOP + BOTTOM + tall * rows.len() as f64;
    let letters = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = f64::max(LEFT, letters as f64 * LETTER + GAP);
    let width = f64::max(WIDTH, left + DOTS_MIN + RIGHT);
    let digits = Digits::for_numbers(rows.iter().flat_map(|row| &row.dots).map(|dot| dot.estimate.mean));
    let area = PlotArea { left, right: width - RIGHT, top: TOP, bottom: height - BOTTOM };
    let x = |number: f64| area.x(range.axis.share(number));
    let mut svg =
        html!("<g class=\"axis\">{}{}</g>", area.lines_down(&range.axis.tick_labels(shown)), area.name_below(name));
    for (place, row) in rows.iter().enumerate() {
        let middle = TOP + tall * (place as f64 + 0.5);
        let name = &row.name;
        let weight = row.is_bold.then(|| html!(" font-weight=\"650\""));
        svg += html!(
            "<g class=\"axis named\"><text x=\"{}\" y=\"{}\" dy=\".32em\" text-anchor=\"end\"{weight}>{name}</text></g>",
            format_coord(left - GAP),
            format_coord(middle),
            [weight, name]
        );
        for (number, dot) in row.dots.iter().enumerate() {
            let below = number as f64 - (row.dots.len() - 1) as f64 / 2.0;
            svg += draw_dot(dot, range, &x, middle + DOT * below);
        }
        if let ([dot], 1) = (&row.dots[..], most) {
            let x = format_coord(width - RIGHT + 14.0);
            let y = format_coord(middle);
            let mean = digits.show_number(dot.estimate.mean);
            svg += html!("<text class=\"caption\" x=\"{x}\" y=\"{y}\" dy=\".32em\">{mean}</text>", x, y, mean);
        }
    }
    let attributes = html!("role=\"img\" aria-label=\"{about}\"", about);
    fitted_svg((width, height), &area, attributes, Html::default(), svg)
}

fn draw_dot(dot: &Dot, range: &Range, x: &dyn Fn(f64) -> f64, y: f64) -> Html {
    let Dot { estimate, colour, is_filled, text } = dot;
    let y = format_coord(y);
    let mut svg = Html::default();
    if let Some((from, to)) = range.interval_of(estimate) {
        let from = format_coord(x(from));
        let to = format_coord(x(to));
        svg += html!(
            "<path d=\"M{from} {y}H{to}\" stroke=\"var(--c{colour})\" stroke-width=\"2.5\"/>",
            [from, y, to, colour]
        );
    }
    let fill = if *is_filled { format!("var(--c{colour})") } else { "var(--card)".to_owned() };
    svg += html!(
        "<circle cx=\"{}\" cy=\"{y}\" r=\"4.5\" fill=\"{fill}\" stroke=\"var(--c{colour})\" \
         stroke-width=\"1.8\"><title>{text}</title></circle>",
        format_coord(x(estimate.mean)),
        [y, fill, colour, text]
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::super::range::Scale;
    use super::*;
    use crate::Unit;

    #[test]
    fn names_are_never_cut() {
        let estimate = Estimate { mean: 1.0, within: None, count: 1 };
        let range = Range::of([estimate].into_iter(), Unit::Ratio, Scale::Linear);
        let svg = |letters: usize| {
            let dot = Dot { estimate, colour: 0, is_filled: true, text: String::new() };
            let name = "n".repeat(letters);
            let svg = draw_dots("", "value", &range, &[DotRow { name: name.clone(), is_bold: false, dots: vec![dot] }]);
            assert!(svg.as_str().contains(&format!(">{name}</text>")), "{svg:?}");
            String::from(svg)
        };
        assert!(svg(10).contains("<text x=\"178\"") && svg(10).contains("viewBox=\"0 0 1280 "));
        assert!(svg(50).contains("<text x=\"360\"") && svg(50).contains("viewBox=\"0 0 1280 "));
        assert!(svg(100).contains("<text x=\"720\"") && svg(100).contains("viewBox=\"0 0 1280 "));
    }
}
