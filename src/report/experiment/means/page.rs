//! Page of a sweep: for each metric a chart of its means, and their numbers.

use super::super::answer::Answers;
use super::super::claims::Findings;
use super::super::dots::{self, Dot};
use super::super::figures::{axis_name, better_words, figure_html, footer_html, mean_html, mean_text};
use super::super::file::ENTRANT;
use super::super::metrics::Metric;
use super::super::range::{NONE, Range, Scale, shown};
use super::super::statistics::Estimate;
use super::curves::{Across, Curve, draw_curves};
use super::quantity::distinct_numbers;
use super::{Means, Varying};
use crate::html::{Column, Digits, document_html, format_counted, section_links, table_html};
use crate::markup::{Html, cells, html};
use crate::palette::COLOURS;
use hansa_sim::numerals::capitalize_first;

/// Most lines that can be told apart: one of each colour, and one with dashes.
const LINES_MAX: usize = 2 * COLOURS;
/// Most dots of a row, one of each colour.
const DOTS_MAX: usize = COLOURS;
/// Most rows of dots: readers do not search longer charts by name.
const ROWS_MAX: usize = 200;
/// Most pictures, and most dots: more are not looked at, and make browsers slow.
const PICTURES_MAX: usize = 300;
const MARKS_MAX: usize = 100_000;

/// The page; `findings` are the verdicts of the claims, if there are any, and `facts` name the file and the grid.
pub fn means_page(means: &Means, answers: Option<&Answers>, findings: Option<&Findings>, facts: &[String]) -> String {
    let name = &means.name;
    let mut body = html!("<header><p class=\"kicker\">A sweep of Hansa</p><h1>{name}</h1>\n", name);
    if let Some(about) = &means.about {
        body += html!("<p class=\"lead\">{}</p>\n", about.trim());
    }
    body += html!("<p class=\"lead\">{}</p>\n", combinations_html(means));
    let sorted = SortedMetrics::of(means);
    body += section_links(sections_of(means, &sorted.shown, answers.is_some(), findings.is_some()));
    body += html!("</header>\n");
    body += answers.map_or_else(Html::default, |answers| html!("<div id=\"answer\">{}</div>\n", answers.html()));
    body += match (means.runs.iter().any(|runs| *runs > 1), means.axes.is_empty()) {
        (false, _) => html!("<p>Each number is of a single run. Times are in seconds.</p>\n"),
        (true, true) => {
            html!("<p>± is the 95 % confidence interval of the mean over the repetitions. Times are in seconds.</p>\n")
        }
        (true, false) => html!(
            "<p>Numbers are means over the repetitions; ± and the bars in charts are 95 % confidence intervals. Runs of \
             one repetition are paired, so overlapping bars do not rule out a difference: the answer compares pair by \
             pair. Times are in seconds.</p>\n"
        ),
    };
    if let Some(note) = means.repeats_note() {
        body += html!("<p><strong>{}</strong></p>\n", &note);
    }

    body += findings.map_or_else(Html::default, Findings::html);

    match means.axes.is_empty() {
        true => body += seeds_only_section(means, &sorted.shown),
        false => {
            body += overview_section(means, &sorted.shown);
            let layout = Layout::of(means, sorted.shown.len());
            sorted.shown.iter().for_each(|metric| body += layout.metric_section(*metric));
        }
    }
    body += rest_section(sorted.absent, sorted.constant);
    body += footer_html(facts);
    document_html(&format!("{name}: a sweep of Hansa"), body)
}

/// The metrics by what a page shows of them.
struct SortedMetrics {
    /// Metrics that differ between combinations, which have sections.
    shown: Vec<usize>,
    /// Metrics without a number, in words.
    absent: Vec<Html>,
    /// Metrics with one number in all runs, in words.
    constant: Vec<Html>,
}

impl SortedMetrics {
    fn of(means: &Means) -> SortedMetrics {
        let mut sorted = SortedMetrics { shown: Vec::new(), absent: Vec::new(), constant: Vec::new() };
        for (metric, what) in means.metrics.iter().enumerate() {
            let known: Vec<Estimate> = means.combinations().filter_map(|(_, cells)| cells[metric]).collect();
            match known.first() {
                None => sorted.absent.push(html!("<code>{}</code>", what.name)),
                Some(first) if means.are_all(metric, first.mean) && !means.axes.is_empty() => {
                    sorted.constant.push(html!("<code>{}</code> = {}", what.name, shown(first.mean)));
                }
                Some(_) => sorted.shown.push(metric),
            }
        }
        sorted
    }
}

/// Names in links and titles of the sections of a page.
fn sections_of<'m>(
    means: &'m Means,
    metrics: &'m [usize],
    has_answer: bool,
    has_findings: bool,
) -> impl Iterator<Item = (&'m str, &'m str)> {
    let first = [("answer", "Answer", has_answer), ("verdicts", "Verdicts", has_findings)];
    let first = first.into_iter().filter(|(.., is_there)| *is_there).map(|(id, title, _)| (id, title));
    let has_axes = !means.axes.is_empty();
    let of_metrics = metrics.iter().filter(move |_| has_axes).map(move |metric| {
        let what = &means.metrics[*metric];
        (what.name, what.name)
    });
    first.chain(has_axes.then_some(("means", "All means"))).chain(of_metrics)
}

/// Most rows and metrics of the table of all means.
const OVERVIEW: (usize, usize) = (40, 7);

/// A row per combination, a column per metric.
fn overview_section(means: &Means, metrics: &[usize]) -> Html {
    let metrics = &metrics[..metrics.len().min(OVERVIEW.1)];
    let digits =
        |metric: usize| Digits::for_numbers(means.combinations().filter_map(|(_, cells)| Some(cells[metric]?.mean)));
    let digits: Vec<Digits> = metrics.iter().map(|metric| digits(*metric)).collect();
    let keys = means.axes.iter().map(|axis| Column::from(html!("<code class=\"whole\">{}</code>", &axis.key)));
    let heads = metrics.iter().map(|metric| {
        let what = &means.metrics[*metric];
        Column::from(format!("#{}", axis_name(what.name, what.unit)))
    });
    let columns: Vec<Column> = keys.chain(heads).collect();
    let row = |picks: &[usize], cells: &[Option<Estimate>]| {
        let values = means.axes.iter().zip(picks).map(|(axis, pick)| Html::from(&axis.values[*pick]));
        let numbers = metrics.iter().zip(&digits).map(|(metric, digits)| {
            cells[*metric].map_or(NONE.into(), |estimate| mean_html(&estimate, *digits, false))
        });
        values.chain(numbers).collect::<Vec<Html>>()
    };
    let all = means.combinations().count();
    let rows = means.combinations().take(OVERVIEW.0).map(|(picks, cells)| row(&picks, cells));
    let table = table_html(&columns, rows);
    let rest = match all > OVERVIEW.0 {
        true => html!(
            "<p class=\"soft\">These are the first {} of {all} combinations; means.csv has all.</p>\n",
            OVERVIEW.0,
            all
        ),
        false => Html::default(),
    };
    html!("<section><h2 id=\"means\">All means</h2>\n{table}{rest}</section>\n", table, rest)
}

/// Title of a metric's section: its description, up to a first break.
fn metric_title(what: &Metric) -> String {
    let about = what.about.split([';', ':', '(']).next().unwrap_or(what.about).trim();
    capitalize_first(about)
}

/// All numbers, if only seeds vary.
fn seeds_only_section(means: &Means, metrics: &[usize]) -> Html {
    table_html(
        &["Metric", "#Mean", "Description"],
        metrics.iter().map(|metric| {
            let what = &means.metrics[*metric];
            let number = means.cell_mean(&[], *metric).map_or(NONE.to_owned(), |estimate| mean_text(&estimate));
            let about = format!("{}{}", what.about, better_words(what.better));
            cells![html!("<code>{}</code>", what.name), number, about]
        }),
    )
}

/// Description of the combinations.
fn combinations_html(means: &Means) -> Html {
    let axes: Vec<Html> = means
        .axes
        .iter()
        .map(|axis| match axis.key.as_str() {
            ENTRANT => format_counted(axis.values.len() as u64, ENTRANT).into(),
            key => html!("{} of <code>{key}</code>", format_counted(axis.values.len() as u64, "value"), key),
        })
        .collect();
    let runs = format_counted(means.repetitions as u64, "run");
    match &axes[..] {
        [] => html!("{runs} that differ in nothing but seeds.", runs),
        [one] => html!("{one}, {runs} each.", one, runs),
        [most @ .., last] => {
            html!(
                "Every combination of {} and {last}, {runs} each.",
                Html::join_pieces(most.to_vec(), ", "),
                last,
                runs
            )
        }
    }
}

fn rest_section(absent: Vec<Html>, constant: Vec<Html>) -> Html {
    let mut html = Html::default();
    if !constant.is_empty() {
        html += html!("<p>The same in all runs: {}.</p>\n", Html::join_pieces(constant, ", "));
    }
    if !absent.is_empty() {
        html += html!("<p>No run has a number for {}.</p>\n", Html::join_pieces(absent, ", "));
    }
    if html.is_empty() { html } else { html!("<section><h2>Not shown</h2>\n{html}</section>\n", html) }
}

/// Use of the axes: one across, one as lines or dots of several colours, and a panel for each combination of the
/// others.
struct Layout<'m> {
    means: &'m Means,
    across: usize,
    /// Values of the horizontal axis, if they are numbers.
    numbers: Option<Vec<f64>>,
    lines: Option<usize>,
    /// Indices of the values on all axes, for each panel; the index is 0 on the axes across and of lines.
    panels: Vec<Vec<usize>>,
    /// Number of panels drawn for each metric.
    room: usize,
    /// True if there would be too many dots and numbers, so that only lines are drawn.
    is_dense: bool,
}

impl<'m> Layout<'m> {
    /// Layout of means with axes. Across is the numeric axis with most values, or else the axis with most values; lines
    /// are of the axis with most values among the others, unless they are too many to be told apart.
    fn of(means: &'m Means, metrics: usize) -> Layout<'m> {
        let sizes = || means.axes.iter().map(|axis| axis.values.len()).enumerate().rev();
        let across = sizes()
            .filter(|(place, size)| *size > 1 && axis_numbers(*place, means).is_some())
            .max_by_key(|(_, size)| *size)
            .or_else(|| sizes().max_by_key(|(_, size)| *size))
            .map_or(0, |(place, _)| place);
        let numbers = Some(across)
            .filter(|place| means.axes[*place].values.len() > 1)
            .and_then(|place| axis_numbers(place, means));
        let most = if numbers.is_some() { LINES_MAX } else { DOTS_MAX };
        let lines = sizes()
            .filter(|(place, size)| *place != across && (2..=most).contains(size))
            .max_by_key(|(_, size)| *size)
            .map(|(place, _)| place);
        let panels: Vec<Vec<usize>> = means
            .combinations()
            .map(|(picks, _)| picks)
            .filter(|picks| picks[across] == 0 && lines.is_none_or(|lines| picks[lines] == 0))
            .collect();
        let metrics = metrics.max(1);
        let marks = means.cells.len() / panels.len() * metrics;
        let room = panels.len().min(PICTURES_MAX / metrics).min(MARKS_MAX / marks).max(1);
        let is_dense = marks * room > MARKS_MAX;
        Layout { means, across, numbers, lines, panels, room, is_dense }
    }

    fn across_axis(&self) -> &'m Varying {
        &self.means.axes[self.across]
    }

    fn lines_axis(&self) -> Option<&'m Varying> {
        Some(&self.means.axes[self.lines?])
    }

    fn panel_number(&self, panel: &[usize], across: usize, line: usize, metric: usize) -> Option<Estimate> {
        let mut picks = panel.to_vec();
        picks[self.across] = across;
        if let Some(lines) = self.lines {
            picks[lines] = line;
        }
        self.means.cell_mean(&picks, metric)
    }

    /// Numbers of a panel, line by line.
    fn cells(&self, panel: &[usize], metric: usize) -> Vec<Vec<Option<Estimate>>> {
        let across = 0..self.across_axis().values.len();
        (0..self.lines_axis().map_or(1, |lines| lines.values.len()))
            .map(|line| across.clone().map(|across| self.panel_number(panel, across, line, metric)).collect())
            .collect()
    }

    /// Section of a metric.
    fn metric_section(&self, metric: usize) -> Html {
        let what = &self.means.metrics[metric];
        let name = what.name;
        let title = metric_title(what);
        let about = capitalize_first(what.about);
        let better = better_words(what.better);
        let words = match title == about {
            true => capitalize_first(better.trim_start_matches("; ")),
            false => format!("{about}{better}"),
        };
        let words = (!words.is_empty()).then(|| html!("<p>{words}.</p>\n", words));
        let mut html =
            html!("<section><h2 id=\"{name}\">{title} <code>{name}</code></h2>\n{words}", [name, title, words]);
        // All charts have one scale, so that they can be compared.
        let cells: Vec<Vec<Vec<Option<Estimate>>>> =
            self.panels.iter().take(self.room).map(|panel| self.cells(panel, metric)).collect();
        let estimates: Vec<Vec<Estimate>> = cells
            .iter()
            .map(|panel: &Vec<Vec<Option<Estimate>>>| -> Vec<Estimate> {
                panel.iter().flatten().copied().flatten().collect()
            })
            .collect();
        let of_panels: Vec<Vec<f64>> =
            estimates.iter().map(|panel| panel.iter().map(|estimate| estimate.mean).collect()).collect();
        let range = Range::of(estimates.iter().flatten().copied(), what.unit, Scale::of(&of_panels));
        let are_too_many = self.numbers.is_none() && self.across_axis().values.len() > ROWS_MAX;
        for (panel, cells) in self.panels.iter().zip(&cells).filter(|_| !are_too_many) {
            let svg = self.panel_picture(what, &range, cells);
            html += figure_html(name, &self.settings(panel), "", self.legend(), svg, &range);
            if !self.is_dense {
                html += self.table(cells);
            }
        }
        let all = self.panels.len();
        let left_out = match self.room < all {
            _ if are_too_many => "These are too many for a chart".to_owned(),
            true => format!("These are the first {} of {}", self.room, format_counted(all as u64, "chart")),
            false if self.is_dense => "These are too many to show each number".to_owned(),
            false => return html + html!("</section>\n"),
        };
        html += html!("<p class=\"soft\">{left_out}; means.csv has all.</p></section>\n", left_out);
        html
    }

    fn panel_picture(&self, what: &Metric, range: &Range, cells: &[Vec<Option<Estimate>>]) -> Html {
        let across = self.across_axis();
        let lines = self.lines_axis();
        let about = what.about;
        let axis = axis_name(what.name, what.unit);
        if let Some(numbers) = &self.numbers {
            let across = Across { key: &across.key, values: &across.values, numbers, has_dots: !self.is_dense };
            return draw_curves(
                about,
                &axis,
                &across,
                range,
                &cells
                    .iter()
                    .enumerate()
                    .map(|(line, points)| Curve { style: line, name: line_prefix(line, lines), points: points.clone() })
                    .collect::<Vec<_>>(),
            );
        }
        let dot = |value: usize, line: usize| {
            let estimate = cells[line][value]?;
            let text = format!("{}{}: {}", line_prefix(line, lines), across.values[value], mean_text(&estimate));
            Some(Dot { estimate, colour: line, is_filled: true, text })
        };
        let rows: Vec<dots::DotRow> = across
            .values
            .iter()
            .enumerate()
            .map(|(value, name)| {
                let dots = (0..cells.len()).filter_map(|line| dot(value, line)).collect();
                dots::DotRow { name: name.clone(), is_bold: false, dots }
            })
            .collect();
        dots::draw_dots(about, &axis, range, &rows)
    }

    /// Settings of a panel, and the key of rows of dots.
    fn settings(&self, panel: &[usize]) -> String {
        let others = self.means.axes.iter().zip(panel).enumerate();
        let others = others.filter(|(place, _)| *place != self.across && Some(*place) != self.lines);
        let mut settings: Vec<String> =
            others.map(|(_, (axis, pick))| format!("{} = {}", axis.key, axis.values[*pick])).collect();
        if self.numbers.is_none() {
            settings.push(format!("by {}", self.across_axis().key));
        }
        settings.join(", ")
    }

    fn legend(&self) -> Html {
        let Some(lines) = self.lines_axis() else { return Html::default() };
        let mut html = html!("<ul class=\"legend\"><li><code>{}</code></li>", &lines.key);
        for (line, value) in lines.values.iter().enumerate() {
            let colour = line % COLOURS;
            let dashed = line >= COLOURS;
            let style =
                dashed.then(|| html!(" style=\"background:none;border:1.5px dashed var(--c{colour})\"", colour));
            let class = if dashed { " dashed" } else { "" };
            html += html!("<li><i class=\"f{colour}{class}\"{style}></i>{value}</li>", colour, class, style, value);
        }
        html += html!("</ul>\n");
        html
    }

    /// Table of a panel: a row per value across, a column per line.
    fn table(&self, cells: &[Vec<Option<Estimate>>]) -> Html {
        let across = self.across_axis();
        let heads = match self.lines_axis() {
            Some(lines) => lines.values.iter().map(|value| format!("#{value}")).collect(),
            None => vec!["#Mean".to_owned()],
        };
        let columns: Vec<String> = [across.key.clone()].into_iter().chain(heads).collect();
        let digits = Digits::for_numbers(cells.iter().flatten().flatten().map(|estimate| estimate.mean));
        let numbers = table_html(
            &columns,
            across.values.iter().enumerate().map(|(value, name)| {
                [name.into()].into_iter().chain(cells.iter().map(|line| number_cell(&line[value], digits))).collect()
            }),
        );
        html!("<details><summary>Numbers</summary>\n{numbers}</details>\n", numbers)
    }
}

fn axis_numbers(place: usize, means: &Means) -> Option<Vec<f64>> {
    distinct_numbers(&means.axes[place].values)
}

fn line_prefix(line: usize, lines: Option<&Varying>) -> String {
    lines.map_or(String::new(), |axis| format!("{}, ", axis.values[line]))
}

fn number_cell(cell: &Option<Estimate>, digits: Digits) -> Html {
    cell.map_or(NONE.into(), |estimate| mean_html(&estimate, digits, false))
}
