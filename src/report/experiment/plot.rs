//! Line charts as SVG: panels in rows, a legend to the right of the first row.

use crate::axes::{Axis, PlotArea};
use crate::html::format_coord;
use crate::markup::{Html, html};
use crate::palette::{DASHES, GROUND, INK, MARKS, OF_PAPERS as COLOURS, SOFT};

/// Name and content of a figure's file.
pub struct Figure {
    pub file: &'static str,
    pub title: String,
    pub svg: Html,
}

impl Figure {
    /// A figure of panels, with a line below its title.
    pub fn of_panels(file: &'static str, title: &str, below: &str, panels: &[Panel]) -> Figure {
        Figure { file, title: title.to_owned(), svg: draw_panels(title, below, panels) }
    }
}

pub struct Panel {
    pub title: &'static str,
    pub x: PlotAxis,
    pub y: PlotAxis,
    pub lines: Vec<PlotLine>,
    /// Lower limit of the y axis; lines are cut there.
    pub lowest: Option<f64>,
}

impl Panel {
    pub fn new(title: &'static str, x: PlotAxis, y: PlotAxis, lines: Vec<PlotLine>) -> Panel {
        Panel { title, x, y, lines, lowest: None }
    }

    /// Cuts its lines below this number.
    pub fn above(self, lowest: f64) -> Panel {
        Panel { lowest: Some(lowest), ..self }
    }
}

#[derive(Clone, Copy)]
pub struct PlotAxis {
    pub label: &'static str,
    /// Factor from numbers to labels.
    pub scale: f64,
    /// True if equal distances are equal ratios; such an axis begins and ends with a power of ten.
    pub is_log: bool,
}

impl PlotAxis {
    pub fn linear(label: &'static str, scale: f64) -> PlotAxis {
        PlotAxis { label, scale, is_log: false }
    }

    /// Logarithmic axis of positive numbers; others are left out.
    pub fn log(label: &'static str) -> PlotAxis {
        PlotAxis { label, scale: 1.0, is_log: true }
    }

    /// True if the axis can show this number.
    fn can_show(&self, number: f64) -> bool {
        !self.is_log || number > 0.0
    }

    /// The axis around these numbers, in the unit of labels; None without numbers.
    fn axis_around(&self, numbers: impl Iterator<Item = f64>, lowest: Option<f64>) -> Option<Axis> {
        let numbers = numbers.filter(|number| number.is_finite() && self.can_show(*number));
        let (low, high) = numbers.fold((f64::MAX, f64::MIN), |(low, high), number| (low.min(number), high.max(number)));
        let low = lowest.map_or(low, |lowest| low.max(lowest));
        match self.is_log {
            _ if low > high => None,
            true => Some(Axis::logarithmic(low, high)),
            false => Some(Axis::covering(low * self.scale, high * self.scale, TICKS)),
        }
    }
}

#[derive(Default)]
pub struct PlotLine {
    /// Index of colour, dashes and mark.
    pub style: usize,
    pub label: &'static str,
    pub points: Vec<Point>,
    /// Half width of the interval of each point; as many as points, or none.
    pub within: Vec<f64>,
    /// True if its points are not joined.
    pub is_scatter: bool,
}

impl PlotLine {
    /// A line through these points, without intervals.
    pub fn new(style: usize, label: &'static str, points: impl IntoIterator<Item = Point>) -> PlotLine {
        PlotLine { style, label, points: points.into_iter().collect(), ..PlotLine::default() }
    }

    /// Leaves its points unjoined.
    pub fn as_scatter(self) -> PlotLine {
        PlotLine { is_scatter: true, ..self }
    }

    /// Intervals of the points: position, lower end, upper end.
    fn point_intervals(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        self.points.iter().zip(&self.within).map(|(&(x, y), within)| (x, y - within, y + within))
    }
}

/// Size of a panel alone, and of one of several: two of them and the legend are about as wide as a page.
const PANEL: (f64, f64) = (560.0, 440.0);
const SMALL_PANEL: (f64, f64) = (440.0, 370.0);
/// Panels of a row: more make the text too small at the width of a column.
const COLUMNS: usize = 2;
const HEAD: f64 = 62.0;
const EDGE: f64 = 16.0;
/// Mean width of the letters of the title, and of the line below.
const HEAD_LETTERS: (f64, f64) = (9.5, 6.7);
/// Space around the axes of a panel, for their labels.
const LEFT: f64 = 68.0;
const RIGHT: f64 = 24.0;
const BOTTOM: f64 = 56.0;
/// Space above the panels, without and with a title.
const TOP: (f64, f64) = (8.0, 24.0);
/// Space around labels, and for the shortest ones.
const LEGEND: (f64, f64) = (54.0, 120.0);
/// Width of a wide letter of a label, as fonts differ between machines.
const LETTER: f64 = 8.0;
/// Largest number of steps between ticks.
const TICKS: f64 = 10.0;
/// Most points with marks; more are drawn as dots.
const MARKED: usize = 100;

type Point = (f64, f64);

pub fn draw_panels(title: &str, below: &str, panels: &[Panel]) -> Html {
    let size = panel_size(panels);
    let wide = column_count(panels);
    let texts = f64::max(text_width(title, HEAD_LETTERS.0), text_width(below, HEAD_LETTERS.1));
    let width = f64::max(size.0 * wide as f64 + legend_width(panels), texts);
    let height = HEAD + size.1 * panels.len().div_ceil(COLUMNS) as f64;
    // The title is for screen readers and tooltips.
    let mut svg = html!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" fill=\"{INK}\">\n\
         <title>{title}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"{GROUND}\"/>\n",
        [width, height, INK, GROUND, title]
    );
    put_text(&mut svg, title, (EDGE, 26.0), 16, INK);
    put_text(&mut svg, below, (EDGE, 49.0), 11, SOFT);
    for (number, panel) in panels.iter().enumerate() {
        let x = format_coord(EDGE / 2.0 + size.0 * (number % wide) as f64);
        let y = format_coord(HEAD + size.1 * (number / wide) as f64);
        svg += html!("<g transform=\"translate({x} {y})\" font-size=\"12\">\n", x, y);
        draw_panel(&mut svg, size, panel);
        svg += html!("</g>\n");
    }
    // Details have some of the lines only.
    if let Some(fullest) =
        panels.iter().max_by_key(|panel| panel.lines.iter().filter(|line| !line.points.is_empty()).count())
    {
        draw_legend(&mut svg, size.0 * wide as f64, fullest);
    }
    svg += html!("</svg>\n");
    svg
}

fn text_width(text: &str, letter: f64) -> f64 {
    (text.chars().count() as f64 * letter).ceil() + 2.0 * EDGE
}

fn panel_size(panels: &[Panel]) -> (f64, f64) {
    if panels.len() > 1 { SMALL_PANEL } else { PANEL }
}

/// Number of panels in the first row.
fn column_count(panels: &[Panel]) -> usize {
    panels.len().min(COLUMNS)
}

/// Width of the legend: enough for the longest label.
fn legend_width(panels: &[Panel]) -> f64 {
    let labels = panels.iter().flat_map(|panel| &panel.lines).map(|line| line.label.chars().count() as f64);
    labels.map(|letters| LEGEND.0 + letters * LETTER).fold(LEGEND.1, f64::max)
}

fn draw_panel(svg: &mut Html, size: (f64, f64), panel: &Panel) {
    let lines = &panel.lines;
    let all = || lines.iter().flat_map(|line| &line.points);
    let ends = lines.iter().flat_map(PlotLine::point_intervals).flat_map(|(_, low, high)| [low, high]);
    let xs = panel.x.axis_around(all().map(|point| point.0), None);
    let ys = panel.y.axis_around(all().map(|point| point.1).chain(ends), panel.lowest);
    let Some((xs, ys)) = xs.zip(ys) else {
        return put_text(svg, "There is no data to show.", (72.0, 90.0), 12, SOFT);
    };
    if !panel.title.is_empty() {
        put_text(svg, panel.title, (62.0, 10.0), 11, INK);
    }
    let top = if panel.title.is_empty() { TOP.0 } else { TOP.1 };
    let area = PlotArea { left: LEFT, right: size.0 - RIGHT, top, bottom: size.1 - BOTTOM };
    let across = xs.tick_labels(format_short);
    let up = ys.tick_labels(format_short);
    let mut axes = format!("M{LEFT} {top}V{}H{}", area.bottom, area.right);
    axes.extend(across.iter().map(|(share, _)| format!("M{} {}v5", format_coord(area.x(*share)), area.bottom)));
    axes.extend(up.iter().map(|(share, _)| format!("M{LEFT} {}h-4", format_coord(area.y(*share)))));
    *svg += html!(
        "<g font-size=\"11\">{}{}</g>\n<path fill=\"none\" stroke=\"{SOFT}\" d=\"{axes}\"/>\n{}{}\n",
        area.lines_down(&across),
        area.lines_across(&up),
        area.name_below(panel.x.label),
        area.name_beside(panel.y.label),
        [SOFT, axes]
    );

    // A multiple of the step may be slightly above the number that it stands for.
    let lowest = (ys.from - 1e-6 * ys.step.unwrap_or(0.0)) / panel.y.scale;
    for line in lines {
        let colour = COLOURS[line.style % COLOURS.len()];
        for (x, low, high) in line.point_intervals().filter(|(_, low, _)| *low >= lowest) {
            let ends =
                [place_of_point(&(x, low), area, panel, xs, ys), place_of_point(&(x, high), area, panel, xs, ys)];
            put_stroke(svg, &ends, colour, 1, None);
            ends.into_iter().for_each(|(x, y)| put_stroke(svg, &[(x - 3.0, y), (x + 3.0, y)], colour, 1, None));
        }
        let joined: Vec<Point> = line.points.iter().copied().filter(|point| panel.y.can_show(point.1)).collect();
        for piece in parts_above(&joined, lowest).into_iter().filter(|_| !line.is_scatter) {
            let path: Vec<Point> = piece.iter().map(|point| place_of_point(point, area, panel, xs, ys)).collect();
            put_stroke(svg, &path, colour, 2, DASHES[line.style % DASHES.len()]);
        }
        for point in line.points.iter().filter(|point| point.1 >= lowest) {
            match line.points.len() > MARKED {
                true => put_circle(svg, place_of_point(point, area, panel, xs, ys), 2, colour, "none"),
                false => put_mark(svg, line.style, place_of_point(point, area, panel, xs, ys)),
            }
        }
    }
}

fn place_of_point(point: &Point, area: PlotArea, panel: &Panel, xs: Axis, ys: Axis) -> (f64, f64) {
    (area.x(xs.share(point.0 * panel.x.scale)), area.y(ys.share(point.1 * panel.y.scale)))
}

/// Draws the legend, from top to bottom as the lines end on the right.
fn draw_legend(svg: &mut Html, left: f64, panel: &Panel) {
    let mut lines: Vec<&PlotLine> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    lines.sort_by(|a, b| end_of_line(b).total_cmp(&end_of_line(a)));
    for (row, line) in lines.into_iter().enumerate() {
        let x = left + 4.0;
        let y = HEAD + 28.0 + row as f64 * 24.0;
        if !line.is_scatter {
            let dash = DASHES[line.style % DASHES.len()];
            put_stroke(svg, &[(x, y), (x + 34.0, y)], COLOURS[line.style % COLOURS.len()], 2, dash);
        }
        put_mark(svg, line.style, (x + 17.0, y));
        put_text(svg, line.label, (x + 42.0, y + 4.0), 12, INK);
    }
}

fn end_of_line(line: &PlotLine) -> f64 {
    line.points.last().map_or(0.0, |point| point.1)
}

fn put_text(svg: &mut Html, text: &str, (x, y): Point, size: u32, colour: &str) {
    let x = format_coord(x);
    let y = format_coord(y);
    *svg += html!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\">{text}</text>\n",
        [x, y, size, colour, text]
    );
}

fn put_stroke(svg: &mut Html, path: &[Point], colour: &str, width: u32, dash: Option<&str>) {
    let points: Vec<String> = path.iter().map(|(x, y)| format!("{},{}", format_coord(*x), format_coord(*y))).collect();
    let dash = dash.map(|dash| html!(" stroke-dasharray=\"{dash}\"", dash));
    let points = points.join(" ");
    *svg += html!(
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>\n",
        [points, colour, width, dash]
    );
}

fn put_circle(svg: &mut Html, (x, y): Point, radius: u32, fill: &str, colour: &str) {
    let x = format_coord(x);
    let y = format_coord(y);
    *svg += html!(
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
        [x, y, radius, fill, colour]
    );
}

/// Draws a mark; the first five are filled, the others hollow.
fn put_mark(svg: &mut Html, style: usize, (x, y): Point) {
    let colour = COLOURS[style % COLOURS.len()];
    let fill = if style < MARKS.len() { colour } else { GROUND };
    let corners = MARKS[style % MARKS.len()];
    if corners.is_empty() {
        return put_circle(svg, (x, y), 4, fill, colour);
    }
    let corners: Vec<String> =
        corners.iter().map(|(dx, dy)| format!("{},{}", format_coord(x + dx), format_coord(y + dy))).collect();
    let corners = corners.join(" ");
    *svg += html!(
        "<polygon points=\"{corners}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
        [corners, fill, colour]
    );
}

/// The parts of a line that are not below `lowest`, cut where it crosses.
fn parts_above(points: &[Point], lowest: f64) -> Vec<Vec<Point>> {
    let mut pieces = vec![Vec::new()];
    for (index, &(x, y)) in points.iter().enumerate() {
        if let Some(&(x0, y0)) = index.checked_sub(1).and_then(|before| points.get(before))
            && (y0 < lowest) != (y < lowest)
        {
            let crossing = (x0 + (lowest - y0) / (y - y0) * (x - x0), lowest);
            pieces.last_mut().expect("there is always a piece").push(crossing);
            if y < lowest {
                pieces.push(Vec::new());
            }
        }
        if y >= lowest {
            pieces.last_mut().expect("there is always a piece").push((x, y));
        }
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

fn format_short(number: f64) -> String {
    ((number * 1000.0).round() / 1000.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(label: &'static str, is_scatter: bool, points: usize) -> Panel {
        let points = (0..points).map(|x| (x as f64, 1.0));
        let axis = PlotAxis::linear("", 1.0);
        let line = PlotLine { is_scatter, ..PlotLine::new(1, label, points) };
        Panel::new("", axis, axis, vec![line])
    }

    #[test]
    fn the_legend_has_room_for_its_longest_label() {
        let width = |label| legend_width(&[panel(label, false, 2)]);
        assert_eq!(width("EASY"), LEGEND.1);
        assert_eq!(width("EASY, unscaled"), 54.0 + 14.0 * LETTER);
        assert!(
            draw_panels("", "", &[panel("EASY, unscaled", false, 2)])
                .as_str()
                .contains(&format!("width=\"{}\"", 560 + 166))
        );
    }

    #[test]
    fn a_long_line_below_the_title_widens_the_figure() {
        let svg: String = draw_panels("", &"x".repeat(150), &[panel("a", false, 2)]).into();
        assert!(svg.contains(&format!("width=\"{}\"", 150.0 * 6.7 + 32.0)), "{}", &svg[..200]);
    }

    #[test]
    fn many_panels_stand_in_rows() {
        let panels: Vec<Panel> = (0..5).map(|_| panel("a", false, 2)).collect();
        let svg: String = draw_panels("", "", &panels).into();
        let size = format!("width=\"{}\" height=\"{}\"", 2.0 * 440.0 + LEGEND.1, HEAD + 3.0 * 370.0);
        assert!(svg.contains(&size), "{}", &svg[..200]);
    }

    #[test]
    fn points_of_a_scatter_are_not_joined() {
        let joined = draw_panels("", "", &[panel("a", false, 3)]);
        let apart = draw_panels("", "", &[panel("a", true, 3)]);
        let strokes =
            |svg: &str| svg.lines().filter(|line| line.contains("<polyline") && line.contains(COLOURS[1])).count();
        // Without the line itself and its sample in the legend.
        assert_eq!(strokes(joined.as_str()), strokes(apart.as_str()) + 2);
    }

    #[test]
    fn a_logarithmic_axis_leaves_out_what_is_not_positive() {
        let points = vec![(0.0, 10.0), (1.0, 0.0), (2.0, 100.0)];
        let lines = vec![PlotLine::new(0, "", points)];
        let x = PlotAxis::linear("", 1.0);
        let y = PlotAxis::log("");
        let svg: String = draw_panels("", "", &[Panel::new("", x, y, lines)]).into();
        let dash = DASHES[0].expect("lines of the first style are dashed");
        // One stroke from the first point to the last, and the sample in the legend.
        assert_eq!(svg.matches(&format!("stroke-dasharray=\"{dash}\"")).count(), 2, "{svg}");
    }

    #[test]
    fn the_lowest_point_is_drawn() {
        let axis = PlotAxis::linear("", 1.0);
        // Three steps of 0.1 are more than 0.3.
        let points = vec![(0.0, 0.3), (1.0, 1.2)];
        let lines = vec![PlotLine::new(0, "", points)];
        let svg = draw_panels("", "", &[Panel::new("", axis, axis, lines)]);
        // With the mark in the legend.
        assert_eq!(svg.as_str().matches("<circle").count(), 3);
    }
}
