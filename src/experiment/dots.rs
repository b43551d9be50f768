//! Dots with their intervals, in rows that have names.

use std::fmt::Write;

use super::range::{Range, shown};
use super::statistics::Estimate;
use crate::report::html::{at, escape};

pub(super) struct Row {
    pub name: String,
    pub is_bold: bool,
    pub dots: Vec<Dot>,
}

pub(super) struct Dot {
    pub estimate: Estimate,
    /// A colour of the style sheet, by number.
    pub colour: usize,
    pub is_filled: bool,
    /// For a tip where a mouse rests.
    pub told: String,
}

const WIDTH: f64 = 960.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 90.0;
/// As many letters have room to the left.
const NAME_MAX: usize = 26;
const ROW: f64 = 22.0;
/// From one dot of a row to the next below it.
const DOT: f64 = 11.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 26.0;

/// One row below the other; rows of one dot say its number, too.
pub(super) fn picture(about: &str, range: &Range, rows: &[Row]) -> String {
    let most = rows.iter().map(|row| row.dots.len()).max().unwrap_or(0);
    let tall = ROW + DOT * most.saturating_sub(1) as f64;
    let height = TOP + BOTTOM + tall * rows.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">", at(height), escape(about));
    svg.push_str(&axis(range, height));
    for (place, row) in rows.iter().enumerate() {
        let middle = TOP + tall * (place as f64 + 0.5);
        let name = match row.name.chars().count() > NAME_MAX {
            true => format!("<title>{}</title>{}", escape(&row.name), escape(&shortened(&row.name))),
            false => escape(&row.name),
        };
        let weight = if row.is_bold { " font-weight=\"650\"" } else { "" };
        let _ = write!(
            svg,
            "<g class=\"axis\"><text x=\"{}\" y=\"{}\" dy=\".32em\" text-anchor=\"end\"{weight}>{name}</text></g>",
            LEFT - 12.0,
            at(middle)
        );
        for (number, dot) in row.dots.iter().enumerate() {
            let below = number as f64 - (row.dots.len() - 1) as f64 / 2.0;
            svg.push_str(&drawn(dot, range, middle + DOT * below));
        }
        if let ([dot], 1) = (&row.dots[..], most) {
            let (x, y, mean) = (at(WIDTH - RIGHT + 14.0), at(middle), shown(dot.estimate.mean));
            let _ = write!(svg, "<text class=\"caption\" x=\"{x}\" y=\"{y}\" dy=\".32em\">{mean}</text>");
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Its beginning and its end: names that are long often begin alike.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let end = NAME_MAX / 2;
    let begin = NAME_MAX - end - 1;
    letters[..begin].iter().chain(&['…']).chain(&letters[letters.len() - end..]).collect()
}

fn drawn(dot: &Dot, range: &Range, y: f64) -> String {
    let Dot { estimate: Estimate { mean, within, .. }, colour, is_filled, told } = dot;
    let y = at(y);
    let mut svg = String::new();
    if let Some(within) = within {
        let (from, to) = (at(x(range, mean - within)), at(x(range, mean + within)));
        let _ = write!(svg, "<path d=\"M{from} {y}H{to}\" stroke=\"var(--c{colour})\" stroke-width=\"2.5\"/>");
    }
    let fill = if *is_filled { format!("var(--c{colour})") } else { "var(--card)".to_owned() };
    let _ = write!(
        svg,
        "<circle cx=\"{}\" cy=\"{y}\" r=\"4.5\" fill=\"{fill}\" stroke=\"var(--c{colour})\" \
         stroke-width=\"1.8\"><title>{}</title></circle>",
        at(x(range, *mean)),
        escape(told)
    );
    svg
}

fn x(range: &Range, number: f64) -> f64 {
    LEFT + range.share(number) * (WIDTH - LEFT - RIGHT)
}

fn axis(range: &Range, height: f64) -> String {
    let bottom = height - BOTTOM;
    let mut svg = String::from("<g class=\"axis\">");
    for value in range.lines() {
        let (x, to, y) = (at(x(range, value)), at(bottom), at(bottom + 17.0));
        let _ = write!(svg, "<path d=\"M{x} {TOP}V{to}\"/><text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">");
        let _ = write!(svg, "{}</text>", shown(value));
    }
    svg.push_str("</g>");
    svg
}
