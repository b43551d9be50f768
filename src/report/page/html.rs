//! Text and numbers as they stand in the page.

use std::fmt::Write;

pub use super::chart::step;
use crate::numerals::{self, unbroken};
pub use crate::numerals::{Digits, count, counted};
use crate::settings::steers;
use crate::time::Time;

/// A number, in which no line breaks.
pub fn number(number: f64) -> String {
    unbroken(&numerals::number(number))
}

/// A share of one in percent, in which no line breaks.
pub fn percent(share: f64) -> String {
    unbroken(&numerals::percent(share))
}

/// Seconds in the two units that say most, in which no line breaks.
pub fn span(seconds: f64) -> String {
    unbroken(&numerals::span(seconds))
}

/// Bytes in the unit that fits, in which no line breaks.
pub fn volume(bytes: f64) -> String {
    unbroken(&numerals::volume(bytes))
}

/// Text without markup, for content and for quoted attributes. Characters that a page cannot show are marked.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(letter),
            letter if steers(letter) => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// Adds to a page all that reacts: a page without it says the same.
pub const SCRIPT: &str = include_str!("explore.js");

/// A whole page, which loads nothing: its title and what is in it, both safe already.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\n\
         <style>\n{}</style></head>\n<body><main>\n{body}</main>\n<script>\n{SCRIPT}</script></body></html>\n",
        super::style()
    )
}

/// Escaped, and no longer than this many letters.
pub fn short(text: &str, letters: usize) -> String {
    match text.chars().count() > letters {
        true => escape(&text.chars().take(letters - 1).chain(['…']).collect::<String>()),
        false => escape(text),
    }
}

/// Microseconds in the two units that say most.
pub fn micros(micros: u64) -> String {
    span(micros as f64 / 1e6)
}

/// A moment to the second, as a reader needs no more of it.
pub fn moment(time: Time) -> String {
    Time::from_micros(time.micros() / 1_000_000 * 1_000_000).to_string()
}

/// A coordinate: one decimal is finer than the eye.
pub fn at(number: f64) -> String {
    let tenths = (number * 10.0).round() / 10.0;
    if tenths == 0.0 { "0".to_owned() } else { tenths.to_string() }
}

/// A table, its columns named and the numeric ones (`#` ahead of the name) set to the right. A column whose name is
/// empty is left out.
pub fn table(columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    filled(columns, &mut rows.into_iter())
}

fn filled(columns: &[&str], rows: &mut dyn Iterator<Item = Vec<String>>) -> String {
    let mut html = String::from("<div class=\"scroll\"><table><thead><tr>");
    let class = |column: &str| if column.starts_with('#') { " class=\"n\"" } else { "" };
    for column in columns.iter().filter(|column| !column.is_empty()) {
        let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(column), column.strip_prefix('#').unwrap_or(column));
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in rows {
        html.push_str("<tr>");
        for (cell, column) in row.iter().zip(columns).filter(|(_, column)| !column.is_empty()) {
            let _ = write!(html, "<td{}>{cell}</td>", class(column));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
    html
}

/// A share as a bar with its number, for a cell of a table.
pub fn bar(share: f64, words: &str) -> String {
    let width = at(share.clamp(0.0, 1.0) * 100.0);
    format!("<span class=\"bar\"><i style=\"width:{width}%\"></i></span><span class=\"of\">{words}</span>")
}

/// Names and what they stand for.
pub fn definitions(facts: &[(&str, String)]) -> String {
    let facts: Vec<String> = facts.iter().map(|(what, words)| format!("<dt>{what}</dt><dd>{words}</dd>\n")).collect();
    format!("<dl class=\"facts\">{}</dl>\n", facts.concat())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_script_stays_small() {
        assert!(super::SCRIPT.len() < 30_000, "{} bytes", super::SCRIPT.len());
    }
}
