//! Charts as inline SVG: a frame with axes, stacked areas over time, stacked columns.

use std::fmt::Write;

use super::html::{at, number};
use crate::report::markup::{Html, html};
use crate::time::Time;

pub const WIDTH: f64 = 960.0;
pub const LEFT: f64 = 78.0;
pub const RIGHT: f64 = 14.0;
pub const TOP: f64 = 14.0;
pub const BOTTOM: f64 = 46.0;

/// A chart with its surroundings.
pub struct Figure<'a> {
    pub id: &'a str,
    pub title: &'a str,
    /// Description for readers that cannot see the chart.
    pub desc: String,
    /// Explanation for reading the chart.
    pub note: String,
    /// (class, name)
    pub legend: Vec<(String, String)>,
    pub height: f64,
    pub body: Html,
}

impl Figure<'_> {
    pub fn html(&self) -> Html {
        let Figure { id, title, desc, note, height, body, .. } = self;
        let mut html = html!("<figure id=\"{id}\"><h3>{title}</h3>\n", id, title);
        if !self.legend.is_empty() {
            html += html!("<ul class=\"legend\">");
            for (class, name) in &self.legend {
                let bare = name.is_empty().then(|| html!(" class=\"bare\""));
                html += html!("<li{bare}><i class=\"{class}\"></i>{name}</li>", bare, class, name);
            }
            html += html!("</ul>\n");
        }
        html += html!(
            "<div class=\"scroll\"><svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{desc}</desc>\n{body}</svg></div>\n",
            at(*height),
            [WIDTH, id, title, desc, body]
        );
        if !note.is_empty() {
            html += html!("<figcaption>{note}</figcaption>\n", note);
        }
        html += html!("</figure>\n");
        html
    }
}

/// The interval of charts over time.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    pub from: Time,
    pub to: Time,
}

impl Window {
    pub fn micros(&self) -> u64 {
        self.to.since(self.from).micros().max(1)
    }

    pub fn x(&self, time: Time) -> f64 {
        let share = time.since(self.from).micros() as f64 / self.micros() as f64;
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    }
}

/// Mean levels over equal parts of a window.
#[derive(Clone, Debug)]
pub struct Levels {
    window: Window,
    /// Level times microseconds of intervals that do not fill their part.
    partial: Vec<f64>,
    /// Changes of the level that fills whole parts.
    whole: Vec<f64>,
}

impl Levels {
    pub fn new(window: Window, parts: usize) -> Levels {
        Levels { window, partial: vec![0.0; parts], whole: vec![0.0; parts + 1] }
    }

    pub fn add(&mut self, from: Time, to: Time, amount: f64) {
        let (from, to) = (from.max(self.window.from), to.min(self.window.to));
        if from >= to {
            return;
        }
        let parts = self.partial.len();
        let width = self.window.micros() as f64 / parts as f64;
        let place = |time: Time| time.since(self.window.from).micros() as f64 / width;
        let (start, end) = (place(from), place(to));
        let (first, last) = ((start as usize).min(parts - 1), (end as usize).min(parts - 1));
        if first == last {
            self.partial[first] += amount * (end - start);
        } else {
            self.partial[first] += amount * ((first + 1) as f64 - start);
            self.partial[last] += amount * (end - last as f64);
            self.whole[first + 1] += amount;
            self.whole[last] -= amount;
        }
    }

    pub fn means(&self) -> Vec<f64> {
        let mut level = 0.0;
        let parts = self.partial.iter().zip(&self.whole);
        parts
            .map(|(partial, change)| {
                level += change;
                // Rounding may leave a small rest of cancelled levels.
                (level + partial).max(0.0)
            })
            .collect()
    }
}

/// A scale upwards from 0, with lines across and a named axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub top: f64,
    pub height: f64,
}

impl Scale {
    pub fn new(max: f64, height: f64) -> Scale {
        Scale { top: if max > 0.0 { max } else { 1.0 }, height }
    }

    pub fn y(&self, value: f64) -> f64 {
        let room = self.height - TOP - BOTTOM;
        self.height - BOTTOM - (value / self.top).clamp(0.0, 1.0) * room
    }

    pub fn axis(&self, label: &str) -> Html {
        let mut svg = html!("<g class=\"axis\">");
        let step = step(self.top / 6.0);
        let mut value = 0.0;
        while value <= self.top * 1.0001 {
            let y = at(self.y(value));
            svg += html!(
                "<path d=\"M{LEFT} {y}H{}\"/><text x=\"{}\" y=\"{y}\" dy=\".32em\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 7.0,
                number(value),
                [LEFT, y]
            );
            value += step;
        }
        let middle = at((TOP + self.height - BOTTOM) / 2.0);
        svg += html!(
            "<text class=\"name\" transform=\"translate(14 {middle}) rotate(-90)\">{label}</text></g>\n",
            [middle, label]
        );
        svg
    }
}

/// A round number, at least this large: 1, 2 or 5 with zeros.
pub fn step(least: f64) -> f64 {
    let mut unit = 1.0;
    while unit > least && unit > 1e-9 {
        unit /= 10.0;
    }
    while unit * 10.0 <= least {
        unit *= 10.0;
    }
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * unit).find(|step| *step >= least).unwrap_or(least)
}

/// The axis of virtual time, to the right.
pub fn time_axis(window: Window, bottom: f64) -> Html {
    const UNITS: [(u64, &str, &[u64]); 6] = [
        (1, "microseconds", &[1, 5, 20, 100, 200]),
        (1_000, "milliseconds", &[1, 5, 20, 100, 200]),
        (1_000_000, "seconds", &[1, 5, 10, 20]),
        (60_000_000, "minutes", &[1, 2, 5, 10, 20]),
        (3_600_000_000, "hours", &[1, 2, 4, 6, 12]),
        (
            86_400_000_000,
            "days",
            &[
                1,
                2,
                5,
                10,
                20,
                50,
                100,
                200,
                500,
                1000,
                2000,
                5000,
                10_000,
                50_000,
                200_000,
                1_000_000,
                10_000_000,
                100_000_000,
            ],
        ),
    ];
    let steps = UNITS.iter().flat_map(|(unit, name, steps)| steps.iter().map(move |step| (*unit, *name, step * unit)));
    let (unit, name, step) =
        steps.clone().find(|(_, _, step)| window.micros() / step <= 10).or(steps.last()).expect("there are units");
    let (from, to) = (window.from.micros(), window.from.micros() + window.micros());
    let mut svg =
        html!("<g class=\"axis\" data-time=\"{from} {to}\" data-x=\"{LEFT} {}\">", WIDTH - RIGHT, from, to, LEFT);
    let mut tick = window.from.micros().div_ceil(step) * step;
    while tick <= window.to.micros() {
        let x = at(window.x(Time::from_micros(tick)));
        svg += html!(
            "<path d=\"M{x} {0}v5\"/><text x=\"{x}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>",
            at(bottom),
            at(bottom + 18.0),
            tick / unit,
            x
        );
        tick += step;
    }
    let middle = at((LEFT + WIDTH - RIGHT) / 2.0);
    svg += html!(
        "<path class=\"base\" d=\"M{LEFT} {0}H{1}\"/>\
         <text class=\"name\" x=\"{middle}\" y=\"{2}\">virtual time, {name}</text></g>\n",
        at(bottom),
        WIDTH - RIGHT,
        at(bottom + 38.0),
        [LEFT, middle, name]
    );
    svg
}

/// Areas on top of each other, each with its class.
pub fn areas(window: Window, scale: Scale, series: &[(String, Vec<f64>)]) -> Html {
    let parts = series.first().map_or(0, |(_, levels)| levels.len());
    let x = |part: usize| LEFT + part as f64 / parts as f64 * (WIDTH - LEFT - RIGHT);
    let mut below = vec![0.0; parts];
    let mut svg = Html::default();
    for (class, levels) in series {
        let above: Vec<f64> = below.iter().zip(levels).map(|(below, level)| below + level).collect();
        let mut path = String::new();
        edge(&mut path, 'M', (0..parts).map(|part| (x(part), x(part + 1), scale.y(above[part]))));
        edge(&mut path, 'L', (0..parts).rev().map(|part| (x(part + 1), x(part), scale.y(below[part]))));
        svg += html!("<path class=\"{class}\"{} d=\"{path}z\"/>\n", values(levels), class, path);
        below = above;
    }
    svg + time_axis(window, scale.height - BOTTOM)
}

/// A line of steps over the whole width, without its element: the value of `d` of a path.
pub fn steps(levels: &[f64], y: impl Fn(f64) -> f64) -> String {
    let x = |part: usize| LEFT + part as f64 / levels.len() as f64 * (WIDTH - LEFT - RIGHT);
    let mut path = String::new();
    edge(&mut path, 'M', levels.iter().enumerate().map(|(part, level)| (x(part), x(part + 1), y(*level))));
    path
}

/// The attribute with the level of each step, for crosshairs.
pub fn values(levels: &[f64]) -> Html {
    let values: Vec<String> = levels.iter().map(|level| number(*level)).collect();
    html!(" data-v=\"{}\"", values.join(";"))
}

/// The maximum of stacked areas.
pub fn top(series: &[(String, Vec<f64>)]) -> f64 {
    let parts = series.first().map_or(0, |(_, levels)| levels.len());
    let sum = |part: usize| series.iter().map(|(_, levels)| levels[part]).sum::<f64>();
    (0..parts).map(sum).fold(0.0, f64::max)
}

/// The area below steps over the whole width, down to a line.
pub fn area(levels: &[f64], bottom: f64, y: impl Fn(f64) -> f64) -> String {
    steps(levels, y) + &format!("V{}H{LEFT}z", at(bottom))
}

/// A line of steps; adjacent steps of the same height are joined.
fn edge(path: &mut String, begin: char, steps: impl Iterator<Item = (f64, f64, f64)>) {
    let mut drawn: Option<(String, String)> = None;
    for (from, to, height) in steps {
        let (to, height) = (at(to), at(height));
        match &mut drawn {
            Some((end, level)) if *level == height => *end = to,
            Some((end, level)) => {
                let _ = write!(path, "H{end}V{height}");
                (*end, *level) = (to, height);
            }
            None => {
                let _ = write!(path, "{begin}{} {height}", at(from));
                drawn = Some((to, height));
            }
        }
    }
    if let Some((end, _)) = drawn {
        let _ = write!(path, "H{end}");
    }
}

/// Columns of stacked parts; each part has a class, a value, and words for its tooltip.
pub fn columns(scale: Scale, label: &str, columns: &[Vec<(&str, f64, String)>]) -> Html {
    let mut svg = Html::default();
    for (column, parts) in columns.iter().enumerate() {
        let (left, width) = column_at(column, columns.len());
        let mut below = 0.0;
        for (class, value, words) in parts.iter().filter(|(_, value, _)| *value > 0.0) {
            let (bottom, top) = (scale.y(below), scale.y(below + value));
            svg += html!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{words}</title></rect>\n",
                at(left),
                at(top),
                at(width),
                at((bottom - top).max(0.5)),
                [class, words]
            );
            below += value;
        }
    }
    svg + column_axis(columns.len(), scale.height - BOTTOM, label)
}

/// Left edge and width of a column.
pub fn column_at(column: usize, columns: usize) -> (f64, f64) {
    let room = (WIDTH - LEFT - RIGHT) / columns.max(1) as f64;
    let width = (room * 0.7).min(90.0);
    (LEFT + room * column as f64 + (room - width) / 2.0, width)
}

fn column_axis(columns: usize, bottom: f64, label: &str) -> Html {
    let mut svg =
        html!("<g class=\"axis\"><path class=\"base\" d=\"M{LEFT} {}H{}\"/>", at(bottom), WIDTH - RIGHT, LEFT);
    for column in 0..columns {
        let (left, width) = column_at(column, columns);
        let words = match column + 1 {
            1 if columns > 1 => "1 (least)".to_owned(),
            last if last == columns && columns > 1 => format!("{last} (most)"),
            number => number.to_string(),
        };
        svg += html!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{words}</text>",
            at(left + width / 2.0),
            at(bottom + 18.0),
            words
        );
    }
    let middle = at((LEFT + WIDTH - RIGHT) / 2.0);
    svg += html!("<text class=\"name\" x=\"{middle}\" y=\"{}\">{label}</text></g>\n", at(bottom + 38.0), middle, label);
    svg
}

/// A line across with a word at its right end.
pub fn mark(scale: Scale, value: f64, words: &str) -> Html {
    let y = scale.y(value);
    html!(
        "<path class=\"mark\" d=\"M{LEFT} {0}H{1}\"/><text class=\"marked\" x=\"{2}\" y=\"{3}\">{words}</text>\n",
        at(y),
        WIDTH - RIGHT,
        WIDTH - RIGHT - 4.0,
        at(y - 5.0),
        [LEFT, words]
    )
}
