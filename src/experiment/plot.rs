//! Line charts as SVG: panels in rows, a legend to the right of the first row.

use crate::math::{log10, pow};
use crate::report::html::at;
use crate::report::markup::{Html, html};

/// Name and content of a figure's file.
pub struct Figure {
    pub file: &'static str,
    pub title: String,
    pub svg: Html,
}

pub(super) struct Panel {
    pub title: &'static str,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<PlotLine>,
    /// Lower limit of the y axis; lines are cut there.
    pub lowest: Option<f64>,
}

#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub label: &'static str,
    /// Factor from numbers to labels.
    pub scale: f64,
    /// True if equal distances are equal ratios; such an axis begins and ends with a power of ten.
    pub is_log: bool,
}

impl Axis {
    pub(super) fn linear(label: &'static str, scale: f64) -> Axis {
        Axis { label, scale, is_log: false }
    }

    /// Logarithmic axis of positive numbers; others are left out.
    pub(super) fn log(label: &'static str) -> Axis {
        Axis { label, scale: 1.0, is_log: true }
    }
}

#[derive(Default)]
pub(super) struct PlotLine {
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
    /// PlotLine with logarithms in place of its numbers, without intervals.
    fn logarithmic(&self) -> PlotLine {
        let points = self.points.iter().filter(|point| point.1 > 0.0).map(|(x, y)| (*x, log10(*y))).collect();
        PlotLine { style: self.style, label: self.label, points, within: Vec::new(), is_scatter: self.is_scatter }
    }

    /// Intervals of the points: position, lower end, upper end.
    fn intervals(&self) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
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
const LEFT: f64 = 76.0;
const RIGHT: f64 = 16.0;
const BOTTOM: f64 = 56.0;
/// Space above them, without and with a title.
const TOP: (f64, f64) = (8.0, 24.0);
/// Space around labels, and for the shortest ones.
const LEGEND: (f64, f64) = (54.0, 120.0);
/// Width of a wide letter of a label, as fonts differ between machines.
const LETTER: f64 = 8.0;
/// Most points with marks; more are drawn as dots.
const MARKED: usize = 100;
const INK: &str = "#282828";
const PALE: &str = "#6e6e6e";
const GRID: &str = "#e1e1e1";

type Point = (f64, f64);

pub(super) fn draw(title: &str, below: &str, panels: &[Panel]) -> Html {
    let (size, wide) = (panel_size(panels), columns(panels));
    let text_width = |text: &str, letter: f64| (text.chars().count() as f64 * letter).ceil() + 2.0 * EDGE;
    let texts = f64::max(text_width(title, HEAD_LETTERS.0), text_width(below, HEAD_LETTERS.1));
    let width = f64::max(size.0 * wide as f64 + legend_width(panels), texts);
    let height = HEAD + size.1 * panels.len().div_ceil(COLUMNS) as f64;
    // The title is for screen readers and tooltips.
    let mut svg = html!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n<title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        [width, height, title]
    );
    text(&mut svg, title, (EDGE, 26.0), 16, INK, "start");
    text(&mut svg, below, (EDGE, 49.0), 11, PALE, "start");
    for (number, panel) in panels.iter().enumerate() {
        let corner = (size.0 * (number % wide) as f64, HEAD + size.1 * (number / wide) as f64);
        draw_panel(&mut svg, corner, size, panel);
    }
    // Details have some of the lines only.
    let drawn = |panel: &&Panel| panel.lines.iter().filter(|line| !line.points.is_empty()).count();
    if let Some(fullest) = panels.iter().max_by_key(drawn) {
        draw_legend(&mut svg, size.0 * wide as f64, fullest);
    }
    svg += html!("</svg>\n");
    svg
}

fn panel_size(panels: &[Panel]) -> (f64, f64) {
    if panels.len() > 1 { SMALL_PANEL } else { PANEL }
}

/// Number of panels in the first row.
fn columns(panels: &[Panel]) -> usize {
    panels.len().min(COLUMNS)
}

/// Enough for the longest label.
fn legend_width(panels: &[Panel]) -> f64 {
    let labels = panels.iter().flat_map(|panel| &panel.lines).map(|line| line.label.chars().count() as f64);
    labels.map(|letters| LEGEND.0 + letters * LETTER).fold(LEGEND.1, f64::max)
}

fn draw_panel(svg: &mut Html, corner: Point, size: (f64, f64), panel: &Panel) {
    let logarithms: Vec<PlotLine>;
    let lines = match panel.y.is_log {
        true => {
            logarithms = panel.lines.iter().map(PlotLine::logarithmic).collect();
            &logarithms
        }
        false => &panel.lines,
    };
    let all = || lines.iter().flat_map(|line| &line.points);
    let ends = lines.iter().flat_map(PlotLine::intervals).flat_map(|(_, low, high)| [low, high]);
    let xs = ticks(all().map(|point| point.0), panel.x.scale, None);
    let ys = all().map(|point| point.1).chain(ends);
    let ys = if panel.y.is_log { powers(ys) } else { ticks(ys, panel.y.scale, panel.lowest) };
    let Some((xs, ys)) = xs.zip(ys) else {
        return text(svg, "There is no data to show.", (corner.0 + 80.0, corner.1 + 90.0), 12, PALE, "start");
    };
    if !panel.title.is_empty() {
        text(svg, panel.title, (corner.0 + 70.0, corner.1 + 10.0), 11, INK, "start");
    }
    let above_axes = if panel.title.is_empty() { TOP.0 } else { TOP.1 };
    let (left, right) = (corner.0 + LEFT, corner.0 + size.0 - RIGHT);
    let (top, bottom) = (corner.1 + above_axes, corner.1 + size.1 - BOTTOM);
    let place =
        |point: &Point| (left + xs.share(point.0) * (right - left), bottom - ys.share(point.1) * (bottom - top));

    let label = |axis: Axis, tick: f64| if axis.is_log { short(pow(10.0, tick)) } else { short(tick * axis.scale) };
    for tick in &xs.0 {
        let (x, _) = place(&(*tick, 0.0));
        stroke(svg, &[(x, top), (x, bottom)], GRID, 1, None);
        stroke(svg, &[(x, bottom), (x, bottom + 5.0)], PALE, 1, None);
        text(svg, &label(panel.x, *tick), (x, bottom + 18.0), 11, INK, "middle");
    }
    for tick in &ys.0 {
        let (_, y) = place(&(0.0, *tick));
        stroke(svg, &[(left, y), (right, y)], GRID, 1, None);
        stroke(svg, &[(left - 5.0, y), (left, y)], PALE, 1, None);
        text(svg, &label(panel.y, *tick), (left - 9.0, y + 4.0), 11, INK, "end");
    }
    stroke(svg, &[(left, top), (left, bottom), (right, bottom)], PALE, 1, None);
    text(svg, panel.x.label, ((left + right) / 2.0, bottom + 42.0), 12, INK, "middle");
    let (x, y) = (at(corner.0 + 22.0), at((top + bottom) / 2.0));
    *svg += html!("<g transform=\"translate({x} {y}) rotate(-90)\">\n", x, y);
    text(svg, panel.y.label, (0.0, 0.0), 12, INK, "middle");
    *svg += html!("</g>\n");

    let lowest = ys.0[0];
    for line in lines {
        let colour = COLOURS[line.style % COLOURS.len()];
        for (x, low, high) in line.intervals().filter(|(_, low, _)| *low >= lowest) {
            let ends = [place(&(x, low)), place(&(x, high))];
            stroke(svg, &ends, colour, 1, None);
            ends.into_iter().for_each(|(x, y)| stroke(svg, &[(x - 3.0, y), (x + 3.0, y)], colour, 1, None));
        }
        for piece in above(&line.points, lowest).into_iter().filter(|_| !line.is_scatter) {
            let path: Vec<Point> = piece.iter().map(place).collect();
            stroke(svg, &path, colour, 2, DASHES[line.style % DASHES.len()]);
        }
        for point in line.points.iter().filter(|point| point.1 >= lowest) {
            match line.points.len() > MARKED {
                true => circle(svg, place(point), 2, colour, "none"),
                false => mark(svg, line.style, place(point)),
            }
        }
    }
}

/// Draws the legend, from top to bottom as the lines end on the right.
fn draw_legend(svg: &mut Html, left: f64, panel: &Panel) {
    let mut lines: Vec<&PlotLine> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    let end = |line: &PlotLine| line.points.last().map_or(0.0, |point| point.1);
    lines.sort_by(|a, b| end(b).total_cmp(&end(a)));
    for (row, line) in lines.into_iter().enumerate() {
        let (x, y) = (left + 4.0, HEAD + 28.0 + row as f64 * 24.0);
        if !line.is_scatter {
            let dash = DASHES[line.style % DASHES.len()];
            stroke(svg, &[(x, y), (x + 34.0, y)], COLOURS[line.style % COLOURS.len()], 2, dash);
        }
        mark(svg, line.style, (x + 17.0, y));
        text(svg, line.label, (x + 42.0, y + 4.0), 12, INK, "start");
    }
}

/// Writes a text on a line of which this is the start, the middle or the end.
fn text(svg: &mut Html, text: &str, (x, y): Point, size: u32, colour: &str, anchor: &str) {
    let (x, y) = (at(x), at(y));
    *svg += html!(
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\">{text}</text>\n",
        [x, y, size, colour, anchor, text]
    );
}

fn stroke(svg: &mut Html, path: &[Point], colour: &str, width: u32, dash: Option<&str>) {
    let points: Vec<String> = path.iter().map(|(x, y)| format!("{},{}", at(*x), at(*y))).collect();
    let dash = dash.map(|dash| html!(" stroke-dasharray=\"{dash}\"", dash));
    let points = points.join(" ");
    *svg += html!(
        "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>\n",
        [points, colour, width, dash]
    );
}

fn circle(svg: &mut Html, (x, y): Point, radius: u32, fill: &str, colour: &str) {
    let (x, y) = (at(x), at(y));
    *svg += html!(
        "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
        [x, y, radius, fill, colour]
    );
}

/// Colours that remain distinct for all kinds of colour vision, together with dashes and marks.
const COLOURS: [&str; 10] =
    ["#7f7f7f", "#1f77b4", "#009e73", "#8c564b", "#e69f00", "#9467bd", "#d55e00", "#56b4e9", "#005a82", "#cc286e"];

/// Lengths of dashes and of the gaps after them; none for a solid line.
const DASHES: [Option<&str>; 5] = [Some("2 3"), None, Some("7 3"), None, Some("12 4")];

/// Corners of the marks; one without corners is a circle.
const MARKS: [&[Point]; 5] = [
    &[],
    &[(-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)],
    &[(0.0, -5.0), (5.0, 4.0), (-5.0, 4.0)],
    &[(0.0, -6.0), (5.0, 0.0), (0.0, 6.0), (-5.0, 0.0)],
    &[(0.0, 5.0), (5.0, -4.0), (-5.0, -4.0)],
];

/// Draws a mark; the first five are filled, the others hollow.
fn mark(svg: &mut Html, style: usize, (x, y): Point) {
    let colour = COLOURS[style % COLOURS.len()];
    let fill = if style < MARKS.len() { colour } else { "#ffffff" };
    let corners = MARKS[style % MARKS.len()];
    if corners.is_empty() {
        return circle(svg, (x, y), 4, fill, colour);
    }
    let corners: Vec<String> = corners.iter().map(|(dx, dy)| format!("{},{}", at(x + dx), at(y + dy))).collect();
    let corners = corners.join(" ");
    *svg += html!(
        "<polygon points=\"{corners}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>\n",
        [corners, fill, colour]
    );
}

/// The parts of a line that are not below `lowest`, cut where it crosses.
fn above(points: &[Point], lowest: f64) -> Vec<Vec<Point>> {
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

/// An axis between round numbers, which are marked on it.
struct Ticks(Vec<f64>);

impl Ticks {
    /// Position on the axis, from 0 to 1.
    fn share(&self, number: f64) -> f64 {
        let (first, last) = (self.0[0], self.0[self.0.len() - 1]);
        (number - first) / (last - first)
    }
}

/// The round numbers around all; there are at least two.
fn ticks(numbers: impl Iterator<Item = f64>, scale: f64, lowest: Option<f64>) -> Option<Ticks> {
    let (low, high) = numbers.fold((f64::MAX, f64::MIN), |(low, high), number| (low.min(number), high.max(number)));
    if low > high {
        return None;
    }
    let (low, high) = (lowest.map_or(low, |lowest| low.max(lowest)) * scale, high * scale);
    let mut step = 0.001;
    let mut factors = [2.0, 2.5, 2.0].into_iter().cycle();
    while (high - low) / step > 10.0 {
        step *= factors.next().unwrap_or(10.0);
    }
    let (first, last) = ((low / step + 1e-6).floor() as i64, (high / step - 1e-6).ceil() as i64);
    let last = last.max(first + 1);
    Some(Ticks((first..=last).map(|tick| tick as f64 * step / scale).collect()))
}

/// The whole powers of ten around logarithms; there are at least two.
fn powers(logarithms: impl Iterator<Item = f64>) -> Option<Ticks> {
    let (low, high) = logarithms.fold((f64::MAX, f64::MIN), |(low, high), number| (low.min(number), high.max(number)));
    let (first, last) = (low.floor(), high.ceil().max(low.floor() + 1.0));
    (low <= high).then(|| Ticks((first as i32..=last as i32).map(f64::from).collect()))
}

fn short(number: f64) -> String {
    ((number * 1000.0).round() / 1000.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(label: &'static str, is_scatter: bool, points: usize) -> Panel {
        let points = (0..points).map(|x| (x as f64, 1.0)).collect();
        let axis = Axis::linear("", 1.0);
        let lines = vec![PlotLine { style: 1, label, points, is_scatter, ..PlotLine::default() }];
        Panel { title: "", x: axis, y: axis, lines, lowest: None }
    }

    #[test]
    fn the_legend_has_room_for_its_longest_label() {
        let width = |label| legend_width(&[panel(label, false, 2)]);
        assert_eq!(width("EASY"), LEGEND.1);
        assert_eq!(width("EASY, unscaled"), 54.0 + 14.0 * LETTER);
        assert!(
            draw("", "", &[panel("EASY, unscaled", false, 2)]).as_str().contains(&format!("width=\"{}\"", 560 + 166))
        );
    }

    #[test]
    fn a_long_line_below_the_title_widens_the_figure() {
        let svg: String = draw("", &"x".repeat(150), &[panel("a", false, 2)]).into();
        assert!(svg.contains(&format!("width=\"{}\"", 150.0 * 6.7 + 32.0)), "{}", &svg[..200]);
    }

    #[test]
    fn many_panels_stand_in_rows() {
        let panels: Vec<Panel> = (0..5).map(|_| panel("a", false, 2)).collect();
        let svg: String = draw("", "", &panels).into();
        let size = format!("width=\"{}\" height=\"{}\"", 2.0 * 440.0 + LEGEND.1, HEAD + 3.0 * 370.0);
        assert!(svg.contains(&size), "{}", &svg[..200]);
    }

    #[test]
    fn points_of_a_scatter_are_not_joined() {
        let joined = draw("", "", &[panel("a", false, 3)]);
        let apart = draw("", "", &[panel("a", true, 3)]);
        let strokes =
            |svg: &str| svg.lines().filter(|line| line.contains("<polyline") && line.contains(COLOURS[1])).count();
        // Without the line itself and its sample in the legend.
        assert_eq!(strokes(joined.as_str()), strokes(apart.as_str()) + 2);
    }
}
