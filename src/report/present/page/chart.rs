//! Charts as inline SVG: axes, stacked areas over time, stacked columns.

use std::fmt::Write;

use super::html::{format_coord, unbroken_number};
use crate::axes::{Axis, PlotArea, Tick, fitted_svg, hides_curves, round_step};
use crate::markup::{Html, html};
use crate::present::calendar::{Calendar, tick_label};
use hansa_sim::time::Time;

/// Width of charts on a wide screen; the style sheet has those of others.
pub const WIDTH: f64 = 1280.0;
pub const LEFT: f64 = 78.0;
pub const RIGHT: f64 = 14.0;
pub const TOP: f64 = 14.0;
pub const BOTTOM: f64 = 46.0;

/// Plot area of a chart that ends at `bottom`.
pub const fn plot_area(bottom: f64) -> PlotArea {
    PlotArea { left: LEFT, right: WIDTH - RIGHT, top: TOP, bottom }
}

/// Position of a share of the width.
pub fn x_across(share: f64) -> f64 {
    plot_area(0.0).x(share)
}

/// A chart with its surroundings.
pub struct Figure<'a> {
    pub id: &'a str,
    pub title: &'a str,
    /// Description for readers that cannot see the chart.
    pub desc: String,
    /// Explanation for reading the chart.
    pub note: String,
    /// Class and name of each entry.
    pub legend: Vec<(String, String)>,
    pub height: f64,
    pub body: Html,
}

impl Figure<'_> {
    pub fn html(&self) -> Html {
        self.html_with(Html::default())
    }

    /// The figure with controls below its title.
    pub fn html_with(&self, controls: Html) -> Html {
        let Figure { id, title, desc, note, height, body, .. } = self;
        let mut html = html!("<figure id=\"{id}\"><h3>{title}</h3>\n{controls}", id, title, controls);
        if !self.legend.is_empty() {
            html += html!("<ul class=\"legend\">");
            for (class, name) in &self.legend {
                let bare = name.is_empty().then(|| html!(" class=\"bare\""));
                html += html!("<li{bare}><i class=\"{class}\"></i>{name}</li>", bare, class, name);
            }
            html += html!("</ul>\n");
        }
        let attributes = html!("role=\"img\" aria-labelledby=\"{id}-t {id}-d\"", id);
        let words = html!("<title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{desc}</desc>\n", [id, title, desc]);
        let svg = fitted_svg((WIDTH, *height), &plot_area(*height - BOTTOM), attributes, words, body.clone());
        html += html!("<div class=\"chart\">{svg}</div>\n", svg);
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
    /// Dates of the log whose jobs ran, if they are known.
    pub calendar: Option<Calendar>,
}

impl Window {
    pub fn new(from: Time, to: Time) -> Window {
        Window { from, to, calendar: None }
    }

    pub fn length_micros(&self) -> u64 {
        self.to.since(self.from).micros().max(1)
    }

    pub fn x(&self, time: Time) -> f64 {
        let share = time.since(self.from).micros() as f64 / self.length_micros() as f64;
        x_across(share.clamp(0.0, 1.0))
    }
}

/// Mean levels over equal parts of a window.
#[derive(Clone, Debug)]
pub struct Levels {
    window: Window,
    /// Sum over the intervals that do not fill their part: level times microseconds.
    partial: Vec<f64>,
    /// Change of the level at the begin of each part, for intervals that fill whole parts.
    whole: Vec<f64>,
}

impl Levels {
    pub fn new(window: Window, parts: usize) -> Levels {
        Levels { window, partial: vec![0.0; parts], whole: vec![0.0; parts + 1] }
    }

    pub fn add(&mut self, from: Time, to: Time, amount: f64) {
        let from = from.max(self.window.from);
        let to = to.min(self.window.to);
        if from >= to {
            return;
        }
        let parts = self.partial.len();
        let width = self.window.length_micros() as f64 / parts as f64;
        let place = |time: Time| time.since(self.window.from).micros() as f64 / width;
        let start = place(from);
        let end = place(to);
        let first = (start as usize).min(parts - 1);
        let last = (end as usize).min(parts - 1);
        if first == last {
            self.partial[first] += amount * (end - start);
        } else {
            self.partial[first] += amount * ((first + 1) as f64 - start);
            self.partial[last] += amount * (end - last as f64);
            self.whole[first + 1] += amount;
            self.whole[last] -= amount;
        }
    }

    pub fn part_means(&self) -> Vec<f64> {
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
    pub area: PlotArea,
    pub values: Axis,
}

impl Scale {
    pub fn new(max: f64, height: f64) -> Scale {
        let top = if max > 0.0 { max } else { 1.0 };
        Scale { area: plot_area(height - BOTTOM), values: Axis::linear(0.0, top, 6.0) }
    }

    /// A scale for curves with these maxima: logarithmic if the largest would hide most of the others.
    pub fn for_curves(largest: &[f64], height: f64) -> Scale {
        let top = largest.iter().copied().fold(0.0, f64::max);
        let scale = Scale::new(top, height);
        if !hides_curves(largest) {
            return scale;
        }
        let least = largest.iter().copied().filter(|number| *number > 0.0).fold(top, f64::min);
        Scale { values: Axis::logarithmic(least / 10.0, top), ..scale }
    }

    pub fn y(&self, value: f64) -> f64 {
        self.area.y(self.values.share(value))
    }

    pub fn axis(&self, label: &str) -> Html {
        self.area.vertical_axis(&self.values.tick_labels(unbroken_number), label)
    }
}

/// The axis of virtual time, to the right.
pub fn time_axis(window: Window, bottom: f64) -> Html {
    const UNITS: [(u64, &str, &[u64]); 5] = [
        (1, "microseconds", &[1, 5, 20, 100, 200]),
        (1_000, "milliseconds", &[1, 5, 20, 100, 200]),
        (1_000_000, "seconds", &[1, 5, 10, 20]),
        (60_000_000, "minutes", &[1, 2, 5, 10, 20]),
        (3_600_000_000, "hours", &[1, 2, 4, 6, 12]),
    ];
    const MICROS_PER_DAY: u64 = 86_400_000_000;
    let mut steps =
        UNITS.iter().flat_map(|(unit, name, steps)| steps.iter().map(move |step| (*unit, *name, step * unit)));
    let days = round_step(window.length_micros() as f64 / (11 * MICROS_PER_DAY) as f64).max(1.0) as u64;
    let (unit, name, step) = steps
        .find(|(_, _, step)| window.length_micros() / step <= 10)
        .unwrap_or_else(|| (MICROS_PER_DAY, "days", days.saturating_mul(MICROS_PER_DAY)));
    let from = window.from.micros();
    let to = window.from.micros() + window.length_micros();
    let dated = window.calendar.filter(|_| step >= 1_000_000);
    // Dated ticks are at round local times, on every so many days from the first one.
    let start = dated.map_or(0, |calendar| calendar.start_micros);
    let origin = if step > MICROS_PER_DAY { (start + from) / MICROS_PER_DAY * MICROS_PER_DAY } else { 0 };
    let tick = |count: u64| {
        let local = origin + count * step;
        let share = (local - start - from) as f64 / window.length_micros() as f64;
        (share, if dated.is_some() { tick_label(local) } else { (local / unit).to_string() })
    };
    let counts = (start + from - origin).div_ceil(step)..=(start + window.to.micros() - origin) / step;
    let ticks: Vec<Tick> = counts.map(tick).collect();
    let name = match dated {
        None => format!("virtual time, {name}"),
        Some(calendar) => match [window.from, window.to].map(|time| calendar.date(time)) {
            [first, last] if first == last => format!("time of the log, {first}"),
            [first, last] => format!("time of the log, {first} to {last}"),
        },
    };
    let start = window.calendar.map(|calendar| html!(" data-start=\"{}\"", calendar.start_micros));
    let area = plot_area(bottom);
    html!(
        "<g class=\"axis\" data-time=\"{from} {to}\" data-x=\"{LEFT} {}\"{start}>{}{}{}</g>\n",
        WIDTH - RIGHT,
        area.draw_ticks(&ticks),
        area.draw_base(),
        area.name_below(&name),
        [from, to, LEFT, start]
    )
}

/// Areas on top of each other, each with its class.
pub fn stacked_areas(window: Window, scale: Scale, series: &[(String, Vec<f64>)]) -> Html {
    let parts = series.first().map_or(0, |(_, levels)| levels.len());
    let x = |part: usize| x_across(part as f64 / parts as f64);
    let mut below = vec![0.0; parts];
    let mut svg = Html::default();
    for (class, levels) in series {
        let above: Vec<f64> = below.iter().zip(levels).map(|(below, level)| below + level).collect();
        let mut path = String::new();
        put_edge(&mut path, 'M', (0..parts).map(|part| (x(part), x(part + 1), scale.y(above[part]))));
        put_edge(&mut path, 'L', (0..parts).rev().map(|part| (x(part + 1), x(part), scale.y(below[part]))));
        svg += html!("<path class=\"{class}\"{} d=\"{path}z\"/>\n", values_attribute(levels), class, path);
        below = above;
    }
    svg + time_axis(window, scale.area.bottom)
}

/// A line of steps over the whole width, without its element: the value of `d` of a path.
pub fn step_path(levels: &[f64], y: impl Fn(f64) -> f64) -> String {
    let x = |part: usize| x_across(part as f64 / levels.len() as f64);
    let mut path = String::new();
    put_edge(&mut path, 'M', levels.iter().enumerate().map(|(part, level)| (x(part), x(part + 1), y(*level))));
    path
}

/// The attribute with the level of each step, for crosshairs.
pub fn values_attribute(levels: &[f64]) -> Html {
    let values: Vec<String> = levels.iter().map(|level| unbroken_number(*level)).collect();
    html!(" data-v=\"{}\"", values.join(";"))
}

/// The maximum of stacked areas.
pub fn stack_top(series: &[(String, Vec<f64>)]) -> f64 {
    let parts = series.first().map_or(0, |(_, levels)| levels.len());
    let sum = |part: usize| series.iter().map(|(_, levels)| levels[part]).sum::<f64>();
    (0..parts).map(sum).fold(0.0, f64::max)
}

/// The area below steps over the whole width, down to a line.
pub fn area_path(levels: &[f64], bottom: f64, y: impl Fn(f64) -> f64) -> String {
    step_path(levels, y) + &format!("V{}H{LEFT}z", format_coord(bottom))
}

/// A line of steps; adjacent steps of the same height are joined.
fn put_edge(path: &mut String, begin: char, steps: impl Iterator<Item = (f64, f64, f64)>) {
    let mut drawn: Option<(String, String)> = None;
    for (from, to, height) in steps {
        let to = format_coord(to);
        let height = format_coord(height);
        match &mut drawn {
            Some((end, level)) if *level == height => *end = to,
            Some((end, level)) => {
                let _ = write!(path, "H{end}V{height}");
                (*end, *level) = (to, height);
            }
            None => {
                let _ = write!(path, "{begin}{} {height}", format_coord(from));
                drawn = Some((to, height));
            }
        }
    }
    if let Some((end, _)) = drawn {
        let _ = write!(path, "H{end}");
    }
}

/// Columns of stacked parts; each part has a class, a value, and words for its tooltip.
pub fn stacked_columns(scale: Scale, label: &str, columns: &[Vec<(&str, f64, String)>]) -> Html {
    let mut svg = Html::default();
    for (column, parts) in columns.iter().enumerate() {
        let (left, width) = column_at(column, columns.len());
        let mut below = 0.0;
        for (class, value, words) in parts.iter().filter(|(_, value, _)| *value > 0.0) {
            let bottom = scale.y(below);
            let top = scale.y(below + value);
            svg += html!(
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{words}</title></rect>\n",
                format_coord(left),
                format_coord(top),
                format_coord(width),
                format_coord((bottom - top).max(0.5)),
                [class, words]
            );
            below += value;
        }
    }
    svg + column_axis(columns.len(), scale.area, label)
}

/// Left edge and width of a column.
pub fn column_at(column: usize, columns: usize) -> (f64, f64) {
    let room = (WIDTH - LEFT - RIGHT) / columns.max(1) as f64;
    let width = (room * 0.7).min(90.0);
    (LEFT + room * column as f64 + (room - width) / 2.0, width)
}

fn column_axis(columns: usize, area: PlotArea, label: &str) -> Html {
    let tick = |column: usize| {
        let words = match column + 1 {
            1 if columns > 1 => "1 (least)".to_owned(),
            last if last == columns && columns > 1 => format!("{last} (most)"),
            number => number.to_string(),
        };
        ((column as f64 + 0.5) / columns as f64, words)
    };
    let labels = area.labels(&(0..columns).map(tick).collect::<Vec<Tick>>());
    html!("<g class=\"axis\">{}{labels}{}</g>\n", area.draw_base(), area.name_below(label), labels)
}

/// A line across with a word at its right end.
pub fn mark_line(scale: Scale, value: f64, words: &str) -> Html {
    let y = scale.y(value);
    html!(
        "<path class=\"mark\" d=\"M{LEFT} {0}H{1}\"/><text class=\"marked\" x=\"{2}\" y=\"{3}\">{words}</text>\n",
        format_coord(y),
        WIDTH - RIGHT,
        WIDTH - RIGHT - 4.0,
        format_coord(y - 5.0),
        [LEFT, words]
    )
}
