//! Page of a tournament: a table of means with their intervals, differences from one entrant, and a picture of each
//! metric.

use std::fmt::Write;

use super::super::claims::Findings;
use super::super::dots::{self, Dot};
use super::super::figures::{axis_name, figure, mean, words};
use super::super::range::{NONE, Range, Scale, shown};
use super::text::settings;
use super::{Cell, Column, Entrant, Panel, Standings};
use crate::report::html::{Digits, counted, document, escape, table};

/// The page; `findings` are the verdicts of the claims, if there are any, and `facts` name the file and the grid.
pub fn page(standings: &Standings, findings: Option<&Findings>, facts: &[String]) -> String {
    let name = escape(&standings.name);
    let mut body = format!("<header><p class=\"kicker\">A tournament of Hansa</p><h1>{name}</h1>\n");
    let about = standings.about.as_ref().map_or(String::new(), |about| format!("{} ", escape(about.trim())));
    let _ = writeln!(
        body,
        "<p class=\"lead\">{about}{} on the same grid with the same jobs, {} each.</p></header>",
        counted(standings.entrants.len() as u64, "entrant"),
        counted(standings.repetitions as u64, "run"),
    );
    let against = escape(&standings.entrants[standings.against].name);
    let _ = writeln!(
        body,
        "<section><h2>How to read it</h2><p>Numbers are means over the seeds, with ± their 95 % confidence \
         intervals. Below a number is the mean difference from {against}, seed by seed, if it differs significantly \
         from zero. Bold: best, or not significantly different from the best (paired t, 95 %). A dash: the system \
         has no such number.</p></section>",
    );
    if let Some(note) = &standings.note {
        let _ = writeln!(body, "<p><strong>{}</strong></p>", escape(note));
    }
    let scales: Vec<Scale> = (0..standings.metrics.len()).map(|metric| scale(standings, metric)).collect();
    for panel in &standings.panels {
        let title = if panel.settings.is_empty() { "Standings".to_owned() } else { escape(&settings(panel)) };
        let _ = write!(body, "<section><h2>{title}</h2>\n{}", numbers(standings, panel));
        for (metric, column) in standings.metrics.iter().enumerate() {
            body.push_str(&picture(standings, panel, metric, column, scales[metric]));
        }
        body.push_str("</section>\n");
    }
    body.push_str(&legend(standings));
    body.push_str(&findings.map_or(String::new(), Findings::html));
    let _ =
        writeln!(body, "<footer>{}</footer>", facts.iter().map(|fact| escape(fact)).collect::<Vec<_>>().join("<br>"));
    document(&format!("{name}: a tournament of Hansa"), &body)
}

/// Most columns of a table; further ones are in the next table.
const COLUMNS: usize = 6;

fn numbers(standings: &Standings, panel: &Panel) -> String {
    let mut html = String::new();
    let (metrics, absent): (Vec<usize>, Vec<usize>) =
        (0..standings.metrics.len()).partition(|&metric| panel.has(metric));
    // Tables of about equal width read best.
    let tables = metrics.len().div_ceil(COLUMNS).max(1);
    for block in metrics.chunks(metrics.len().div_ceil(tables).max(1)) {
        let heads = block.iter().map(|metric| format!("#{}", escape(standings.metrics[*metric].name)));
        let columns: Vec<String> = ["Entrant".to_owned()].into_iter().chain(heads).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let row = |(entrant, row): (&Entrant, &Vec<Cell>)| {
            let name = format!("<span class=\"whole\">{}</span>", escape(&entrant.name));
            let cells = block.iter().map(|metric| cell(&row[*metric], panel.digits(*metric)));
            [name].into_iter().chain(cells).collect::<Vec<String>>()
        };
        html.push_str(&table(&columns, standings.entrants.iter().zip(&panel.rows).map(row)));
    }
    if !absent.is_empty() {
        let absent: Vec<String> =
            absent.into_iter().map(|metric| format!("<code>{}</code>", standings.metrics[metric].name)).collect();
        let _ = writeln!(html, "<p>No run has a number for {}.</p>", absent.join(", "));
    }
    html
}

fn cell(cell: &Cell, digits: Digits) -> String {
    let Some(estimate) = &cell.estimate else { return NONE.to_owned() };
    let mean = mean(estimate, digits, cell.is_best);
    let apart = cell.difference.filter(|apart| apart.tells()).map_or(String::new(), |apart| {
        let sign = if apart.mean > 0.0 { "+" } else { "−" };
        format!("<br><span class=\"soft\">{sign}{}</span>", digits.show_interval(apart.mean.abs()))
    });
    format!("{mean}{apart}")
}

fn legend(standings: &Standings) -> String {
    let mut html = String::from("<section><h2>Metrics and entrants</h2>\n<p>Times are in seconds.</p>\n");
    let metrics = standings.metrics.iter().map(|metric| {
        vec![format!("<code>{}</code>", metric.name), format!("{}{}", escape(metric.about), words(metric.better))]
    });
    html.push_str(&table(&["Metric", "Description"], metrics));
    let entrants = standings
        .entrants
        .iter()
        .map(|entrant| vec![escape(&entrant.name), escape(entrant.about.as_deref().unwrap_or_default())]);
    html.push_str(&table(&["Entrant", "Description"], entrants));
    html.push_str("</section>\n");
    html
}

/// Scale of the pictures of a metric, common to all panels.
fn scale(standings: &Standings, metric: usize) -> Scale {
    let means = |panel| known(panel, metric).filter_map(|(_, cell)| Some(cell.estimate?.mean)).collect();
    Scale::of(&standings.panels.iter().map(means).collect::<Vec<Vec<f64>>>())
}

/// Entrants with a number for this metric.
fn known(panel: &Panel, metric: usize) -> impl Iterator<Item = (usize, &Cell)> {
    let cells = panel.rows.iter().enumerate().map(move |(entrant, row)| (entrant, &row[metric]));
    cells.filter(|(_, cell)| cell.estimate.is_some())
}

/// A dot with its interval per entrant.
fn picture(standings: &Standings, panel: &Panel, metric: usize, column: &Column, scale: Scale) -> String {
    let known: Vec<(usize, &Cell)> = known(panel, metric).collect();
    // One dot compares nothing.
    if known.len() < 2 {
        return String::new();
    }
    let rows: Vec<dots::DotRow> = known
        .iter()
        .filter_map(|(entrant, cell)| {
            let (name, estimate) = (&standings.entrants[*entrant].name, cell.estimate?);
            let told = format!("{name}: {}", shown(estimate.mean));
            let dot = Dot { estimate, colour: 0, is_filled: cell.is_best, told };
            Some(dots::DotRow { name: name.clone(), is_bold: cell.is_best, dots: vec![dot] })
        })
        .collect();
    let range = Range::of(rows.iter().flat_map(|row| &row.dots).map(|dot| dot.estimate), column.unit, scale);
    let svg = dots::picture(column.about, &axis_name(column.name, column.unit), &range, &rows);
    figure(column.name, column.name, column.about, "", &svg, &range)
}
