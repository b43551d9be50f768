//! PlotLine charts as SVG: panels in rows, a legend to the right of the first row.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::few;
use crate::math::{log10, pow};

/// Name and content of a figure's file.
pub struct Figure {
    pub file: &'static str,
    pub title: String,
    pub svg: String,
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
    pub points: Vec<(f64, f64)>,
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
const PANEL: (u32, u32) = (560, 440);
const SMALL_PANEL: (u32, u32) = (440, 370);
/// Panels of a row: more make the text too small at the width of a column.
const COLUMNS: usize = 2;
const HEAD: u32 = 62;
/// Space around labels, and for the shortest ones.
const LEGEND: (u32, u32) = (54, 120);
/// Width of a wide letter of a label, as fonts differ between machines.
const LETTER: u32 = 8;
/// Most points with marks; more are drawn as dots.
const MARKED: usize = 100;
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const PALE: RGBColor = RGBColor(110, 110, 110);
const GRID: RGBColor = RGBColor(225, 225, 225);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

pub(super) fn draw(title: &str, below: &str, panels: &[Panel]) -> String {
    let mut svg = String::new();
    let rows = panels.len().div_ceil(COLUMNS) as u32;
    let panel = panel_size(panels);
    let size = (panel.0 * columns(panels) + legend_width(panels), HEAD + panel.1 * rows);
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        draw_all(&root, title, below, panels).expect("a string takes all that is drawn");
    }
    // For screen readers and tooltips.
    svg.replacen('>', &format!(">\n<title>{title}</title>"), 1)
}

fn panel_size(panels: &[Panel]) -> (u32, u32) {
    if panels.len() > 1 { SMALL_PANEL } else { PANEL }
}

/// Number of panels in the first row.
fn columns(panels: &[Panel]) -> u32 {
    panels.len().min(COLUMNS) as u32
}

/// Enough for the longest label.
fn legend_width(panels: &[Panel]) -> u32 {
    let labels = panels.iter().flat_map(|panel| &panel.lines).map(|line| line.label.chars().count() as u32);
    labels.map(|letters| LEGEND.0 + letters * LETTER).fold(LEGEND.1, u32::max)
}

fn draw_all(
    root: &Area<'_>,
    title: &str,
    below: &str,
    panels: &[Panel],
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    root.fill(&WHITE)?;
    write(root, title, (16, 14), 19.0, &INK)?;
    write(root, below, (16, 40), 13.0, &PALE)?;
    let (wide, size) = (columns(panels), panel_size(panels));
    for (panel, number) in panels.iter().zip(0..) {
        let area = root.clone().shrink((size.0 * (number % wide), HEAD + size.1 * (number / wide)), size);
        draw_panel(root, &area, panel)?;
    }
    // Details have some of the lines only.
    let drawn = |panel: &&Panel| panel.lines.iter().filter(|line| !line.points.is_empty()).count();
    match panels.iter().max_by_key(drawn) {
        Some(fullest) => draw_legend(root, size.0 * wide, fullest),
        None => Ok(()),
    }
}

fn draw_panel(root: &Area<'_>, area: &Area<'_>, panel: &Panel) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
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
    let Some((x, y)) = xs.zip(ys) else {
        return write(area, "There is no data to show.", (80, 80), 14.0, &PALE);
    };
    if !panel.title.is_empty() {
        write(area, panel.title, (70, 0), 13.0, &INK)?;
    }
    let lowest = y.range().start;
    let mut chart = ChartBuilder::on(area)
        .margin_top(if panel.title.is_empty() { 8 } else { 24 })
        .margin_left(12)
        .margin_right(16)
        .margin_bottom(8)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    let shown = |axis: Axis| {
        move |number: &f64| match axis.is_log {
            true => short(pow(10.0, *number)),
            false => short(number * axis.scale),
        }
    };
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(PALE)
        .label_style((FONT, 13).into_font().color(&INK))
        .axis_desc_style((FONT, 14).into_font().color(&INK))
        .x_desc(panel.x.label)
        .y_desc(panel.y.label)
        .x_label_formatter(&shown(panel.x))
        .y_label_formatter(&shown(panel.y))
        .draw()?;

    for line in lines {
        for (x, low, high) in line.intervals().filter(|(_, low, _)| *low >= lowest) {
            bar(root, line.style, chart.backend_coord(&(x, low)), chart.backend_coord(&(x, high)))?;
        }
        for piece in above(&line.points, lowest).into_iter().filter(|_| !line.is_scatter) {
            let path: Vec<(i32, i32)> = piece.iter().map(|point| chart.backend_coord(point)).collect();
            stroke(root, line.style, path)?;
        }
        for point in line.points.iter().filter(|point| point.1 >= lowest) {
            let at = chart.backend_coord(point);
            match line.points.len() > MARKED {
                true => root.draw(&Circle::new(at, 2, COLOURS[line.style % COLOURS.len()].filled()))?,
                false => mark(root, line.style, at)?,
            }
        }
    }
    Ok(())
}

/// Draws the legend, from top to bottom as the lines end on the right.
fn draw_legend(root: &Area<'_>, left: u32, panel: &Panel) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let mut lines: Vec<&PlotLine> = panel.lines.iter().filter(|line| !line.points.is_empty()).collect();
    let end = |line: &PlotLine| line.points.last().map_or(0.0, |point| point.1);
    few::sort_by(&mut lines, |a, b| end(b).total_cmp(&end(a)));
    for (line, row) in lines.into_iter().zip(0..) {
        let (x, y) = (left as i32 + 4, HEAD as i32 + 28 + row * 24);
        if !line.is_scatter {
            stroke(root, line.style, vec![(x, y), (x + 34, y)])?;
        }
        mark(root, line.style, (x + 17, y))?;
        write(root, line.label, (x + 42, y - 7), 14.0, &INK)?;
    }
    Ok(())
}

fn write(
    area: &Area<'_>,
    text: &str,
    at: (i32, i32),
    size: f64,
    colour: &RGBColor,
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    area.draw(&Text::new(text.to_owned(), at, (FONT, size).into_font().color(colour)))
}

/// Colours that remain distinct for all kinds of colour vision, together with dashes and marks.
const COLOURS: [RGBColor; 10] = [
    RGBColor(127, 127, 127),
    RGBColor(31, 119, 180),
    RGBColor(0, 158, 115),
    RGBColor(140, 86, 75),
    RGBColor(230, 159, 0),
    RGBColor(148, 103, 189),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 90, 130),
    RGBColor(204, 40, 110),
];

/// Length of a dash and of the gap after it; None for a solid line.
const DASHES: [Option<(i32, i32)>; 5] = [Some((2, 3)), None, Some((7, 3)), None, Some((12, 4))];

fn stroke(root: &Area<'_>, style: usize, path: Vec<(i32, i32)>) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let line = COLOURS[style % COLOURS.len()].stroke_width(2);
    match DASHES[style % DASHES.len()] {
        Some((dash, gap)) => root.draw(&DashedPathElement::new(path, dash, gap, line)),
        None => root.draw(&PathElement::new(path, line)),
    }
}

/// Draws an interval around a point.
fn bar(
    root: &Area<'_>,
    style: usize,
    low: (i32, i32),
    high: (i32, i32),
) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let thin = COLOURS[style % COLOURS.len()].stroke_width(1);
    root.draw(&PathElement::new(vec![low, high], thin))?;
    for end in [low, high] {
        root.draw(&PathElement::new(vec![(end.0 - 3, end.1), (end.0 + 3, end.1)], thin))?;
    }
    Ok(())
}

/// Corners of the marks; one without corners is a circle.
const MARKS: [&[(i32, i32)]; 5] = [
    &[],
    &[(-4, -4), (4, -4), (4, 4), (-4, 4)],
    &[(0, -5), (5, 4), (-5, 4)],
    &[(0, -6), (5, 0), (0, 6), (-5, 0)],
    &[(0, 5), (5, -4), (-5, -4)],
];

/// Draws a mark; the first five are filled, the others hollow.
fn mark(root: &Area<'_>, style: usize, at: (i32, i32)) -> Result<(), DrawingAreaErrorKind<std::io::Error>> {
    let colour = COLOURS[style % COLOURS.len()];
    let fill = if style < MARKS.len() { colour } else { WHITE };
    let corners = MARKS[style % MARKS.len()];
    if corners.is_empty() {
        root.draw(&Circle::new(at, 4, fill.filled()))?;
        return root.draw(&Circle::new(at, 4, colour.stroke_width(2)));
    }
    let corners: Vec<(i32, i32)> = corners.iter().map(|corner| (at.0 + corner.0, at.1 + corner.1)).collect();
    let outline = corners.iter().chain(&corners[..2]).copied().collect::<Vec<_>>();
    root.draw(&Polygon::new(corners, fill.filled()))?;
    root.draw(&PathElement::new(outline, colour.stroke_width(2)))
}

/// The parts of a line that are not below `lowest`, cut where it crosses.
fn above(points: &[(f64, f64)], lowest: f64) -> Vec<Vec<(f64, f64)>> {
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

impl Ranged for Ticks {
    type ValueType = f64;
    type FormatOption = DefaultFormatting;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let Range { start, end } = self.range();
        limit.0 + ((value - start) / (end - start) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.0.clone()
    }

    fn range(&self) -> Range<f64> {
        self.0[0]..self.0[self.0.len() - 1]
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
        assert_eq!(width("EASY, unscaled"), 54 + 14 * LETTER);
        assert!(draw("", "", &[panel("EASY, unscaled", false, 2)]).contains(&format!("width=\"{}\"", 560 + 166)));
    }

    #[test]
    fn many_panels_stand_in_rows() {
        let panels: Vec<Panel> = (0..5).map(|_| panel("a", false, 2)).collect();
        let svg = draw("", "", &panels);
        let size = format!("width=\"{}\" height=\"{}\"", 2 * 440 + LEGEND.1, HEAD + 3 * 370);
        assert!(svg.contains(&size), "{}", &svg[..200]);
    }

    #[test]
    fn points_of_a_scatter_are_not_joined() {
        let full = COLOURS[1];
        let colour = format!("#{:02X}{:02X}{:02X}", full.0, full.1, full.2);
        let joined = draw("", "", &[panel("a", false, 3)]);
        let apart = draw("", "", &[panel("a", true, 3)]);
        let strokes =
            |svg: &str| svg.lines().filter(|line| line.contains("<polyline") && line.contains(&colour)).count();
        // Without the line itself and its sample in the legend.
        assert_eq!(strokes(&joined), strokes(&apart) + 2);
    }
}
