//! A sweep as a page to read: for each metric a chart of its means, and their numbers.

use std::fmt::Write;

use super::super::dots::{self, Dot};
use super::super::figures::{capital, figure, mean, plain, words};
use super::super::range::{NONE, Range, Scale, shown};
use super::super::statistics::Estimate;
use super::curves::{Across, Curve, chart};
use super::quantity::numbers;
use super::{Means, Varying};
use crate::report::html::{counted, document, escape, table};
use crate::report::palette::COLOURS;

/// As many lines can be told apart: one of each colour, and one with dashes.
const LINES_MAX: usize = 2 * COLOURS;
/// Dots of a row, one of each colour.
const DOTS_MAX: usize = COLOURS;
/// Nobody looks at more pictures, and browsers get slow.
const PICTURES_MAX: usize = 300;

/// The page; `facts` say which file and which grid it is of.
pub fn page(means: &Means, facts: &[String]) -> String {
    let name = escape(&means.name);
    let layout = Layout::of(means);
    let about = means.about.as_ref().map_or(String::new(), |about| format!("{} ", escape(about.trim())));
    let mut body = format!("<header><p class=\"kicker\">A sweep of Hansa</p><h1>{name}</h1>\n");
    let _ = writeln!(body, "<p class=\"lead\">{about}{}</p></header>", combined(means));
    if means.repetitions > 1 {
        body.push_str(
            "<p>A number is the mean over the seeds; ± is how far the true mean may be from it, with a confidence of \
             95 %, and charts show that as bars. Settings with the same seeds may differ more surely than their bars \
             say: a tournament compares them seed by seed. Times are in seconds.</p>\n",
        );
    } else {
        body.push_str("<p>Each number is of a single run. Times are in seconds.</p>\n");
    }

    let (mut absent, mut constant) = (Vec::new(), Vec::new());
    let mut pictures = 0;
    let mut left_out = 0;
    for (metric, what) in means.metrics.iter().enumerate() {
        let known: Vec<Estimate> = means.combinations().filter_map(|(_, cells)| cells[metric]).collect();
        let Some(first) = known.first() else {
            absent.push(format!("<code>{}</code>", what.name));
            continue;
        };
        if known.iter().all(|other| other.mean == first.mean && !other.within.is_some_and(|within| within > 0.0)) {
            constant.push(format!("<code>{}</code> = {}", what.name, shown(first.mean)));
            continue;
        }
        let (id, better) = (escape(what.name), words(what.better));
        let _ = write!(body, "<section><h2 id=\"{id}\">{id}</h2>\n<p>{}{better}.</p>\n", escape(&capital(what.about)));
        let room = PICTURES_MAX.saturating_sub(pictures);
        let (html, drawn) = layout.metric(metric, room);
        pictures += drawn;
        left_out += layout.panels.len() - drawn;
        body.push_str(&html);
        body.push_str("</section>\n");
    }
    body.push_str(&rest(&absent, &constant, left_out));
    let facts: Vec<String> = facts.iter().map(|fact| escape(fact)).collect();
    let _ = writeln!(body, "<footer>{}</footer>", facts.join("<br>"));
    document(&format!("{name}: a sweep of Hansa"), &body)
}

/// What was combined with what.
fn combined(means: &Means) -> String {
    let axes: Vec<String> = means
        .axes
        .iter()
        .map(|axis| format!("{} of <code>{}</code>", counted(axis.values.len() as u64, "value"), escape(&axis.key)))
        .collect();
    let runs = counted(means.repetitions as u64, "run");
    match &axes[..] {
        [] => format!("{runs} that differ in nothing but seeds."),
        [one] => format!("{one}, {runs} each."),
        [most @ .., last] => format!("Every combination of {} and {last}, {runs} each.", most.join(", ")),
    }
}

fn rest(absent: &[String], constant: &[String], left_out: usize) -> String {
    let mut html = String::new();
    if !constant.is_empty() {
        let _ = writeln!(html, "<p>The same in all runs: {}.</p>", constant.join(", "));
    }
    if !absent.is_empty() {
        let _ = writeln!(html, "<p>No run has a number for {}.</p>", absent.join(", "));
    }
    if left_out > 0 {
        let _ = writeln!(
            html,
            "<p>This page shows the first {PICTURES_MAX} charts; {left_out} more would be too many for it. means.csv has \
             the numbers of all. Fewer <code>metrics</code> make a page of all charts.</p>",
        );
    }
    if html.is_empty() { html } else { format!("<section><h2>Not shown</h2>\n{html}</section>\n") }
}

/// Which axis is shown how: one across, one as lines or dots of several colours, and a picture for each combination of
/// the others.
struct Layout<'m> {
    means: &'m Means,
    across: Option<usize>,
    /// The values across, if they are numbers.
    numbers: Option<Vec<f64>>,
    lines: Option<usize>,
    /// The values on all axes; those across and of lines are the first ones.
    panels: Vec<Vec<usize>>,
}

impl<'m> Layout<'m> {
    /// Across are the numbers of which there are most, or else the axis with most values; and lines are of that with
    /// most values among the others, if so many lines can be told apart.
    fn of(means: &'m Means) -> Layout<'m> {
        let sizes = || means.axes.iter().map(|axis| axis.values.len()).enumerate().rev();
        let numeric = |place: usize| numbers(&means.axes[place].values);
        let across = sizes()
            .filter(|(place, size)| *size > 1 && numeric(*place).is_some())
            .max_by_key(|(_, size)| *size)
            .or_else(|| sizes().max_by_key(|(_, size)| *size))
            .map(|(place, _)| place);
        let numbers = across.filter(|place| means.axes[*place].values.len() > 1).and_then(numeric);
        let most = if numbers.is_some() { LINES_MAX } else { DOTS_MAX };
        let lines = sizes()
            .filter(|(place, size)| Some(*place) != across && (2..=most).contains(size))
            .max_by_key(|(_, size)| *size)
            .map(|(place, _)| place);
        let is_first = |picks: &Vec<usize>| [across, lines].into_iter().flatten().all(|place| picks[place] == 0);
        let panels = means.combinations().map(|(picks, _)| picks).filter(is_first).collect();
        Layout { means, across, numbers, lines, panels }
    }

    fn axis(&self, place: Option<usize>) -> Option<&'m Varying> {
        Some(&self.means.axes[place?])
    }

    /// How many values an axis has; one, if there is no such axis.
    fn size(&self, place: Option<usize>) -> usize {
        self.axis(place).map_or(1, |axis| axis.values.len())
    }

    fn cell(&self, panel: &[usize], across: usize, line: usize, metric: usize) -> Option<Estimate> {
        let mut picks = panel.to_vec();
        for (place, value) in [(self.across, across), (self.lines, line)] {
            if let Some(place) = place {
                picks[place] = value;
            }
        }
        self.means.cell(&picks, metric)
    }

    /// All of a panel, line by line.
    fn cells(&self, panel: &[usize], metric: usize) -> Vec<Vec<Option<Estimate>>> {
        let line = |line| (0..self.size(self.across)).map(|across| self.cell(panel, across, line, metric)).collect();
        (0..self.size(self.lines)).map(line).collect()
    }

    /// Charts with their numbers, and how many these are. All have the same scale, so that they can be compared.
    fn metric(&self, metric: usize, room: usize) -> (String, usize) {
        let cells: Vec<Vec<Vec<Option<Estimate>>>> =
            self.panels.iter().map(|panel| self.cells(panel, metric)).collect();
        let known = |panel: &Vec<Vec<Option<Estimate>>>| -> Vec<Estimate> {
            panel.iter().flatten().copied().flatten().collect()
        };
        let estimates: Vec<Vec<Estimate>> = cells.iter().map(known).collect();
        let of_panels: Vec<Vec<f64>> =
            estimates.iter().map(|panel| panel.iter().map(|estimate| estimate.mean).collect()).collect();
        let range = Range::of(estimates.iter().flatten().copied(), Scale::of(&of_panels));
        let mut html = String::new();
        let mut drawn = 0;
        for (panel, cells) in self.panels.iter().zip(&cells).take(room) {
            drawn += 1;
            let title = self.settings(panel);
            if self.across.is_some() {
                let about = self.means.metrics[metric].about;
                let legend = self.legend();
                html.push_str(&figure(&title, "", &legend, &self.picture(about, &range, cells), &range));
            }
            html.push_str(&self.table(cells));
        }
        (html, drawn)
    }

    fn picture(&self, about: &str, range: &Range, cells: &[Vec<Option<Estimate>>]) -> String {
        let (Some(across), lines) = (self.axis(self.across), self.axis(self.lines)) else { return String::new() };
        let name = |line: usize| lines.map_or(String::new(), |axis| format!("{}, ", axis.values[line]));
        if let Some(numbers) = &self.numbers {
            let across = Across { key: &across.key, values: &across.values, numbers };
            let curve =
                |(line, points): (usize, &Vec<_>)| Curve { style: line, name: name(line), points: points.clone() };
            return chart(about, &across, range, &cells.iter().enumerate().map(curve).collect::<Vec<_>>());
        }
        let dot = |value: usize, line: usize| {
            let estimate = cells[line][value]?;
            let told = format!("{}{}: {}", name(line), across.values[value], plain(&estimate));
            Some(Dot { estimate, colour: line, is_filled: true, told })
        };
        let rows: Vec<dots::Row> = across
            .values
            .iter()
            .enumerate()
            .map(|(value, name)| {
                let dots = (0..cells.len()).filter_map(|line| dot(value, line)).collect();
                dots::Row { name: name.clone(), is_bold: false, dots }
            })
            .collect();
        dots::picture(about, range, &rows)
    }

    /// What is the same in a panel.
    fn settings(&self, panel: &[usize]) -> String {
        let others = self.means.axes.iter().zip(panel).enumerate();
        let others = others.filter(|(place, _)| ![self.across, self.lines].contains(&Some(*place)));
        others.map(|(_, (axis, pick))| format!("{} = {}", axis.key, axis.values[*pick])).collect::<Vec<_>>().join(", ")
    }

    fn legend(&self) -> String {
        let Some(lines) = self.axis(self.lines) else { return String::new() };
        let mut html = format!("<ul class=\"legend\"><li><code>{}</code></li>", escape(&lines.key));
        for (line, value) in lines.values.iter().enumerate() {
            let (colour, dashed) = (line % COLOURS, line >= COLOURS);
            let style = match dashed {
                true => format!(" style=\"border:1.5px dashed var(--c{colour})\""),
                false => String::new(),
            };
            let class = if dashed { String::new() } else { format!(" class=\"f{colour}\"") };
            let _ = write!(html, "<li><i{class}{style}></i>{}</li>", escape(value));
        }
        html.push_str("</ul>\n");
        html
    }

    /// The numbers of a panel: a row a value across, a column a line.
    fn table(&self, cells: &[Vec<Option<Estimate>>]) -> String {
        let (across, lines) = (self.axis(self.across), self.axis(self.lines));
        let heads = match lines {
            Some(lines) => lines.values.iter().map(|value| format!("#{}", escape(value))).collect(),
            None => vec!["#Mean".to_owned()],
        };
        let key = across.map_or(String::new(), |axis| escape(&axis.key));
        let columns: Vec<String> = [key].into_iter().chain(heads).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let number = |cell: &Option<Estimate>| cell.map_or(NONE.to_owned(), |estimate| mean(&estimate, false));
        let row = |value: usize| {
            let name = across.map_or(String::new(), |axis| escape(&axis.values[value]));
            [name].into_iter().chain(cells.iter().map(|line| number(&line[value]))).collect()
        };
        let numbers = table(&columns, (0..self.size(self.across)).map(row));
        match across {
            Some(_) => format!("<details><summary>Numbers</summary>\n{numbers}</details>\n"),
            None => numbers,
        }
    }
}
