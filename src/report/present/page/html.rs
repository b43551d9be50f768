//! Text and numbers as they stand in the page.

use crate::markup::{Html, html};
use hansa_sim::numerals::{self, no_break_spaces};
pub use hansa_sim::numerals::{Digits, format_count, format_counted};
use hansa_sim::time::Time;

/// Plain text as a paragraph: what is between backticks becomes code, and line breaks of its source become spaces.
pub fn prose_html(text: &str) -> Html {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pieces: Vec<&str> = text.split('`').collect();
    let is_balanced = pieces.len() % 2 == 1;
    let piece = |(place, piece): (usize, &&str)| match place % 2 == 1 {
        true => html!("<code>{}</code>", *piece),
        false => Html::from(*piece),
    };
    if is_balanced { pieces.iter().enumerate().map(piece).collect() } else { Html::from(&text) }
}

/// A number, in which no line breaks.
pub fn unbroken_number(number: f64) -> String {
    no_break_spaces(&numerals::format_number(number))
}

/// A share of one in percent, in which no line breaks.
pub fn unbroken_percent(share: f64) -> String {
    no_break_spaces(&numerals::format_percent(share))
}

/// Seconds in the two units that say most, in which no line breaks.
pub fn unbroken_span(seconds: f64) -> String {
    no_break_spaces(&numerals::format_span(seconds))
}

/// Bytes in the unit that fits, in which no line breaks.
pub fn unbroken_volume(bytes: f64) -> String {
    no_break_spaces(&numerals::format_volume(bytes))
}

/// Adds to a page all that reacts: a page without it says the same.
pub const SCRIPT: &str = include_str!("explore.js");

/// A whole page, which loads nothing.
pub fn document_html(title: &str, body: Html) -> String {
    let style = super::style_sheet();
    let script = Html::from_constant(SCRIPT);
    let page = html!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\n\
         <style>\n{style}</style></head>\n<body><main>\n{body}</main>\n<script>\n{script}</script></body></html>\n",
        [title, style, body, script]
    );
    page.into()
}

/// Shortens a text to at most this many letters.
pub fn shorten_text(text: &str, letters: usize) -> String {
    match text.chars().count() > letters {
        true => text.chars().take(letters - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Microseconds in the two units that say most.
pub fn unbroken_micros(micros: u64) -> String {
    unbroken_span(micros as f64 / 1e6)
}

/// A moment to the second, as a reader needs no more of it.
pub fn moment_text(time: Time) -> String {
    Time::from_micros(time.micros() / 1_000_000 * 1_000_000).to_string()
}

/// A coordinate: one decimal is finer than the eye.
pub fn format_coord(number: f64) -> String {
    let tenths = (number * 10.0).round() / 10.0;
    if tenths == 0.0 { "0".to_owned() } else { tenths.to_string() }
}

/// The head of a column; `#` ahead of a text makes it one of numbers, which is set to the right.
#[derive(Clone)]
pub struct Column {
    name: Html,
    class: Option<Html>,
}

impl From<&str> for Column {
    fn from(text: &str) -> Column {
        match text.strip_prefix('#') {
            Some(name) => Column { name: name.into(), class: Some(html!(" class=\"n\"")) },
            None => Html::from(text).into(),
        }
    }
}

impl From<String> for Column {
    fn from(text: String) -> Column {
        text.as_str().into()
    }
}

impl From<Html> for Column {
    fn from(name: Html) -> Column {
        Column { name, class: None }
    }
}

/// A table. A column whose name is empty is left out.
pub fn table_html<C: Clone + Into<Column>>(columns: &[C], rows: impl IntoIterator<Item = Vec<Html>>) -> Html {
    let columns: Vec<Column> = columns.iter().cloned().map(Into::into).collect();
    filled_table(&columns, &mut rows.into_iter())
}

fn filled_table(columns: &[Column], rows: &mut dyn Iterator<Item = Vec<Html>>) -> Html {
    let mut html = html!("<div class=\"scroll\"><table><thead><tr>");
    for Column { name, class } in columns.iter().filter(|column| !column.name.is_empty()) {
        html += html!("<th scope=\"col\"{class}>{name}</th>", class, name);
    }
    html += html!("</tr></thead><tbody>\n");
    for row in rows {
        html += html!("<tr>");
        for (cell, Column { class, .. }) in row.iter().zip(columns).filter(|(_, column)| !column.name.is_empty()) {
            html += html!("<td{class}>{cell}</td>", class, cell);
        }
        html += html!("</tr>\n");
    }
    html + html!("</tbody></table></div>\n")
}

/// Links to sections, each by its name in links and its title.
pub fn section_links<'t>(sections: impl Iterator<Item = (&'t str, &'t str)>) -> Html {
    let links = sections.map(|(id, title)| html!("<a href=\"#{id}\">{title}</a>", id, title));
    html!("<nav aria-label=\"Sections\">{}</nav>\n", links.collect::<Html>())
}

/// Links to sections, at the end of a header, and these sections, each with its name in links and its title.
pub fn linked_sections(sections: &[(&str, &str, Html)]) -> Html {
    let mut html = section_links(sections.iter().map(|(id, title, _)| (*id, *title))) + html!("</header>\n");
    for (id, title, body) in sections {
        html += html!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n", id, title, body);
    }
    html
}

/// A share as a bar with its number, for a cell of a table.
pub fn share_bar(share: f64, words: &str) -> Html {
    judged_bar(share, words, "")
}

/// A share as a bar in the colour of a judgement: `better`, `worse` or none.
pub fn judged_bar(share: f64, words: &str, judgement: &str) -> Html {
    let width = format_coord(share.clamp(0.0, 1.0) * 100.0);
    let class = Html::join_pieces(["bar", judgement].into_iter().filter(|name| !name.is_empty()).map(Html::from), " ");
    html!(
        "<span class=\"{class}\"><i style=\"width:{width}%\"></i></span><span class=\"of\">{words}</span>",
        [class, width, words]
    )
}

/// An HTML list of names and their meanings.
pub fn definition_list(facts: &[(&str, Html)]) -> Html {
    let facts: Html =
        facts.iter().map(|(what, words)| html!("<dt>{what}</dt><dd>{words}</dd>\n", what, words)).collect();
    html!("<dl class=\"facts\">{facts}</dl>\n", facts)
}

#[cfg(test)]
mod tests {
    #[test]
    fn prose_has_code_and_no_line_breaks() {
        let shown = |text: &str| String::from(super::prose_html(text));
        assert_eq!(shown("EASY's scan\n    is `easy <x>`, so"), "EASY&#39;s scan is <code>easy &lt;x&gt;</code>, so");
        assert_eq!(shown("one ` alone"), "one ` alone");
    }

    #[test]
    fn the_script_stays_small() {
        assert!(super::SCRIPT.len() < 36_000, "{} bytes", super::SCRIPT.len());
    }
}
