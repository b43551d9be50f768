//! The page of the answer.

use super::super::by_group::SortedGroups;
use super::super::table::NamedTable;
use super::{ChangeFacts, WhatIfAnswer};
use crate::Unit;
use crate::experiment::dots::{Dot, DotRow, draw_dots};
use crate::experiment::figures::{figure_html, footer_html};
use crate::experiment::range::{Range, Scale};
use crate::experiment::statistics::Estimate;
use crate::html::{document_html, format_counted};
use crate::markup::{Html, html};

/// Number of colours of lines and dots in the style sheet.
const COLOURS: usize = 8;

const NO_RECORDED_WAITS: &str = "The jobs come without recorded waits, so nothing shows here how near the baseline is to the system that it stands \
     for. The grid is empty when the first job arrives.";

impl WhatIfAnswer {
    /// The page; `facts` name the files that it is made of.
    pub fn page(&self, facts: &[String]) -> String {
        let name = &self.name;
        let mut body = html!("<header><p class=\"kicker\">What if, by Hansa</p><h1>{name}</h1>\n", name);
        body += html!(
            "<p class=\"lead\">{} of this grid, on the same jobs as the grid as it is.</p></header>\n",
            format_counted(self.changes.len() as u64, "change")
        );
        body += html!("<section><h2>Answer</h2>\n");
        for verdict in &self.verdicts {
            body += html!("<p class=\"lead\"><strong>{verdict}</strong></p>\n", verdict);
        }
        for warning in &self.warnings {
            body += html!("<p class=\"partial\" role=\"note\">{warning}</p>\n", warning);
        }
        body += self.waits.html();
        body += self.method.iter().map(|sentence| html!("<p>{sentence}</p>\n", sentence)).collect();
        body += html!("</section>\n");
        body += table_section(self.by_group.as_ref(), || self.pictures());
        body += table_section(self.work.as_ref(), Html::default);
        body += self.recorded_section();
        if let Some(starts) = &self.starts {
            body += table_section(Some(&starts.table), || starts.pictures_html());
        }
        body += self.changes_section();
        body += footer_html(facts);
        document_html(&format!("{name}: what if"), body)
    }

    /// A picture for each property of jobs: differences with their intervals, a dot per change.
    fn pictures(&self) -> Html {
        let mut html = self.picture_legend();
        for sorted in &self.groups {
            html += self.draw_groups(sorted);
        }
        html
    }

    fn picture_legend(&self) -> Html {
        if self.changes.len() < 2 {
            return Html::default();
        }
        let entry = |(at, change): (usize, &ChangeFacts)| {
            let colour = at % COLOURS;
            html!("<span style=\"color:var(--c{colour})\">\u{25cf}</span> {}", &change.name, [colour])
        };
        html!("<p>{}</p>\n", Html::join_pieces(self.changes.iter().enumerate().map(entry), " \u{2003}"))
    }

    fn draw_groups(&self, sorted: &SortedGroups) -> Html {
        let mut rows = Vec::new();
        let mut estimates: Vec<Estimate> = Vec::new();
        for group in &sorted.groups {
            let mut dots = Vec::new();
            for (at, change) in self.names[1..].iter().enumerate() {
                let Some(estimate) = group.difference(at + 1) else { continue };
                let is_filled = estimate.is_significant();
                let text = format!("{}, {change}: {} s", group.label, super::show_difference(&estimate).text);
                dots.push(Dot { estimate, colour: at % COLOURS, is_filled, text });
                estimates.push(estimate);
            }
            rows.push(DotRow { name: group.label.clone(), is_bold: false, dots });
        }
        if estimates.is_empty() {
            return Html::default();
        }
        let range = Range::of(estimates.iter().copied(), Unit::Seconds, Scale::Linear);
        let about = format!("difference of the mean wait from the baseline, by {}", sorted.name);
        let svg = draw_dots(&about, "difference, s", &range, &rows);
        let title = format!("By {}", sorted.name);
        figure_html(&format!("wait-by-{}", sorted.name.replace(' ', "-")), &title, &about, Html::default(), svg, &range)
    }

    fn recorded_section(&self) -> Html {
        let Some(recorded) = &self.recorded else {
            return html!(
                "<section><h2>How far to believe it</h2>\n<p>{NO_RECORDED_WAITS}</p>\n</section>\n",
                NO_RECORDED_WAITS
            );
        };
        let mut html = html!("<section><h2>How far to believe it</h2>\n");
        html += recorded.sentences.iter().map(|sentence| html!("<p>{sentence}</p>\n", sentence)).collect();
        html += recorded.table.as_ref().map_or_else(Html::default, NamedTable::html);
        html += html!("</section>\n");
        html
    }

    fn changes_section(&self) -> Html {
        let mut html = html!("<section><h2>Changes</h2>\n");
        for change in &self.changes {
            html += html!("<h3>{}</h3>\n<p><code>{}</code>", &change.name, &change.file);
            html += change.about.as_ref().map_or_else(Html::default, |about| html!(": {about}", about));
            html += html!("</p>\n<pre>{}</pre>\n", change.lines.join("\n"));
        }
        html += html!("</section>\n");
        html
    }
}

fn table_section(table: Option<&NamedTable>, after: impl FnOnce() -> Html) -> Html {
    let Some(table) = table else { return Html::default() };
    let mut html = html!("<section><h2>{}</h2>\n{}", table.title, table.html());
    html += after();
    html += html!("</section>\n");
    html
}
