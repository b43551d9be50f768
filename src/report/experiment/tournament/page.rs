//! Page of a tournament: a table of means with their intervals, differences from one entrant, and a picture of each
//! metric.

use super::super::answer::Answers;
use super::super::claims::Findings;
use super::super::dots::{self, Dot};
use super::super::figures::{axis_name, better_words, figure_html, footer_html, mean_html};
use super::super::range::{NONE, Range, Scale, shown};
use super::text::settings_text;
use super::{Cell, Column, Entrant, Panel, Standings};
use crate::html::{Digits, document_html, format_counted, section_links, table_html};
use crate::markup::{Html, cells, html};

/// The page; `findings` are the verdicts of the claims, if there are any, and `facts` name the file and the grid.
pub fn standings_page(
    standings: &Standings,
    answers: Option<&Answers>,
    findings: Option<&Findings>,
    facts: &[String],
) -> String {
    let name = &standings.name;
    let mut body = html!("<header><p class=\"kicker\">A tournament of Hansa</p><h1>{name}</h1>\n", name);
    let about = standings.about.as_ref().map_or(String::new(), |about| format!("{} ", about.trim()));
    body += html!(
        "<p class=\"lead\">{about}{} on the same grid with the same jobs, {} each.</p>\n",
        format_counted(standings.entrants.len() as u64, "entrant"),
        format_counted(standings.repetitions as u64, "run"),
        about
    );
    let sections = [
        ("answer", "Answer", answers.is_some()),
        ("reading", "How to read it", true),
        ("standings", "Standings", true),
        ("legend", "Metrics and entrants", true),
        ("verdicts", "Verdicts", findings.is_some()),
    ];
    let sections = sections.into_iter().filter(|(.., is_there)| *is_there);
    body += section_links(sections.map(|(id, title, _)| (id, title))) + html!("</header>\n");
    body += answers.map_or_else(Html::default, |answers| html!("<div id=\"answer\">{}</div>\n", answers.html()));
    let against = &standings.entrants[standings.against].name;
    body += html!(
        "<section><h2 id=\"reading\">How to read it</h2><p>Numbers are means over the repetitions (seeds, windows of a log), with ± their \
         95 % confidence intervals. Below a number is the mean difference from {against}, repetition by repetition, if \
         it differs significantly from zero. Bold: best, or not significantly different from the best (paired t, 95 %). A dash: the system \
         has no such number.</p></section>\n",
        against
    );
    if let Some(note) = &standings.note {
        body += html!("<p><strong>{note}</strong></p>\n", note);
    }
    let scales: Vec<Scale> = (0..standings.metrics.len()).map(|metric| picture_scale(standings, metric)).collect();
    body += html!("<div id=\"standings\">\n");
    for panel in &standings.panels {
        let title = if panel.settings.is_empty() { "Standings".to_owned() } else { settings_text(panel) };
        body += html!("<section><h2>{title}</h2>\n{}", numbers_section(standings, panel), title);
        for (metric, column) in standings.metrics.iter().enumerate() {
            body += draw_picture(standings, panel, metric, column, scales[metric]);
        }
        body += html!("</section>\n");
    }
    body += html!("</div>\n");
    if !standings.others.is_empty() {
        let others = standings.others.iter().map(|name| html!("<code>{name}</code>", name));
        let others = Html::join_pieces(others, ", ");
        body += html!(
            "<p>One metric of each family is shown, as the file chooses none (<code>metrics</code>). standings.csv also \
             has {others}.</p>\n",
            others
        );
    }
    body += legend_section(standings);
    body += findings.map_or_else(Html::default, Findings::html);
    body += footer_html(facts);
    document_html(&format!("{name}: a tournament of Hansa"), body)
}

/// Most columns of a table; further ones are in the next table.
const COLUMNS: usize = 6;

fn numbers_section(standings: &Standings, panel: &Panel) -> Html {
    let mut html = Html::default();
    let (metrics, absent): (Vec<usize>, Vec<usize>) =
        (0..standings.metrics.len()).partition(|&metric| panel.has_metric(metric));
    // Tables of about equal width read best.
    let tables = metrics.len().div_ceil(COLUMNS).max(1);
    for block in metrics.chunks(metrics.len().div_ceil(tables).max(1)) {
        let heads = block.iter().map(|metric| format!("#{}", standings.metrics[*metric].name));
        let columns: Vec<String> = ["Entrant".to_owned()].into_iter().chain(heads).collect();
        let row = |(entrant, row): (&Entrant, &Vec<Cell>)| {
            let name = html!("<span class=\"whole\">{}</span>", &entrant.name);
            let cells = block.iter().map(|metric| cell_html(&row[*metric], panel.mean_digits(*metric)));
            [name].into_iter().chain(cells).collect::<Vec<_>>()
        };
        html += table_html(&columns, standings.entrants.iter().zip(&panel.rows).map(row));
    }
    if !absent.is_empty() {
        let absent = absent.into_iter().map(|metric| html!("<code>{}</code>", standings.metrics[metric].name));
        html += html!("<p>No run has a number for {}.</p>\n", Html::join_pieces(absent, ", "));
    }
    html
}

fn cell_html(cell: &Cell, digits: Digits) -> Html {
    let Some(estimate) = &cell.estimate else { return NONE.into() };
    let mean = mean_html(estimate, digits, cell.is_best);
    let apart = cell.difference.filter(|apart| apart.is_significant()).map(|apart| {
        let sign = if apart.mean > 0.0 { "+" } else { "−" };
        html!("<br><span class=\"soft\">{sign}{}</span>", digits.show_interval(apart.mean.abs()), sign)
    });
    html!("{mean}{apart}", mean, apart)
}

fn legend_section(standings: &Standings) -> Html {
    let mut html = html!("<section><h2 id=\"legend\">Metrics and entrants</h2>\n<p>Times are in seconds.</p>\n");
    let metrics = standings.metrics.iter().map(|metric| {
        cells![html!("<code>{}</code>", metric.name), format!("{}{}", metric.about, better_words(metric.better))]
    });
    html += table_html(&["Metric", "Description"], metrics);
    let entrants = standings.entrants.iter().map(|entrant| cells![&entrant.name, entrant.about.as_ref()]);
    html += table_html(&["Entrant", "Description"], entrants);
    html += html!("</section>\n");
    html
}

/// Scale of the pictures of a metric, common to all panels.
fn picture_scale(standings: &Standings, metric: usize) -> Scale {
    let means = |panel| known_entrants(panel, metric).filter_map(|(_, cell)| Some(cell.estimate?.mean)).collect();
    Scale::of(&standings.panels.iter().map(means).collect::<Vec<Vec<f64>>>())
}

/// Entrants with a number for this metric.
fn known_entrants(panel: &Panel, metric: usize) -> impl Iterator<Item = (usize, &Cell)> {
    let cells = panel.rows.iter().enumerate().map(move |(entrant, row)| (entrant, &row[metric]));
    cells.filter(|(_, cell)| cell.estimate.is_some())
}

/// A dot with its interval per entrant.
fn draw_picture(standings: &Standings, panel: &Panel, metric: usize, column: &Column, scale: Scale) -> Html {
    let known: Vec<(usize, &Cell)> = known_entrants(panel, metric).collect();
    // One dot compares nothing.
    if known.len() < 2 {
        return Html::default();
    }
    let rows: Vec<dots::DotRow> = known
        .iter()
        .filter_map(|(entrant, cell)| {
            let name = &standings.entrants[*entrant].name;
            let estimate = cell.estimate?;
            let text = format!("{name}: {}", shown(estimate.mean));
            let dot = Dot { estimate, colour: 0, is_filled: cell.is_best, text };
            Some(dots::DotRow { name: name.clone(), is_bold: cell.is_best, dots: vec![dot] })
        })
        .collect();
    let range = Range::of(rows.iter().flat_map(|row| &row.dots).map(|dot| dot.estimate), column.unit, scale);
    let svg = dots::draw_dots(column.about, &axis_name(column.name, column.unit), &range, &rows);
    figure_html(column.name, column.name, column.about, Html::default(), svg, &range)
}
