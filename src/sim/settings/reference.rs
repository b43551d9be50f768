//! The reference of keys, as a page for people.

use super::forms::{Shape, Word};
use super::list::{Listed, What};
use super::walk::Layout;

/// A table with its heading.
pub struct Chapter {
    /// Heading, such as `[market]`.
    pub heading: String,
    /// Introduction; may be empty.
    pub about: String,
    pub keys: Vec<Listed>,
}

/// The chapters in Markdown. Tables within tables get chapters of their own.
pub fn reference_page(chapters: &[Chapter]) -> String {
    let mut page = Reference { page: String::new(), listed: Vec::new() };
    for Chapter { heading, about, keys } in chapters {
        page.chapter(heading, about, keys);
    }
    page.page
}

struct Reference {
    page: String,
    /// Words that have been listed, each with its heading: the words of one key are equal in many tables.
    listed: Vec<(Vec<Word>, String)>,
}

impl Reference {
    fn chapter(&mut self, heading: &str, about: &str, keys: &[Listed]) {
        let page = &mut self.page;
        page.push_str(&format!("\n## {heading}\n\n"));
        if !about.is_empty() {
            page.push_str(&format!("{about}\n\n"));
        }
        let plain: Vec<&Listed> = keys.iter().filter(|listed| !matches!(listed.what, What::Variant { .. })).collect();
        if !plain.is_empty() {
            page.push_str("| key | value | default | meaning |\n| --- | --- | --- | --- |\n");
            plain.iter().for_each(|listed| page.push_str(&key_row(listed)));
        }
        for listed in &plain {
            if let What::Value(shape) = &listed.what {
                self.words(listed.key.name, shape, heading);
            }
        }
        for listed in keys {
            let about = make_sentence(listed.key.line());
            match &listed.what {
                What::Value(_) => {}
                What::Table(layout, keys) => {
                    self.chapter(&table_heading(*layout, heading, listed.key.name), &about, keys)
                }
                What::Variant { word, keys } => {
                    let heading = format!("{heading} with `{} = \"{word}\"`", listed.key.name);
                    self.chapter(&heading, "", keys);
                }
            }
        }
    }

    fn words(&mut self, key: &str, shape: &Shape, heading: &str) {
        let (words, one) = match shape {
            Shape::Words(words) | Shape::Grammar { words, .. } => (words, "is one of"),
            Shape::List { of, .. } => match of.as_ref() {
                Shape::Words(words) => (words, "is a list of some of"),
                _ => return,
            },
            _ => return,
        };
        if let Some((_, there)) = self.listed.iter().find(|(listed, _)| listed == words) {
            return self.page.push_str(&format!("\n`{key}`: the values are those listed in {there}.\n"));
        }
        self.page.push_str(&format!("\n`{key}` {one}\n\n"));
        for series in words.chunk_by(is_next_of_series) {
            let [Word { name, about }, ..] = series else { continue };
            let to = series.last().filter(|last| last.name != *name);
            let to = to.map_or(String::new(), |last| format!(" to `{}`", last.name));
            self.page.push_str(&format!("- `{name}`{to}: {}\n", escape_bars(about)));
        }
        if let Shape::Grammar { rest, .. } = shape {
            rest.iter().for_each(|line| self.page.push_str(&format!("\n{}\n", escape_bars(line.trim_start()))));
        }
        self.listed.push((words.clone(), heading.to_owned()));
    }
}

/// True of `slr_3` after `slr_2`, if all else is said of both.
fn is_next_of_series(word: &Word, next: &Word) -> bool {
    let is_next = match (split_series_number(word), split_series_number(next)) {
        (Some((stem, number)), Some((next_stem, next))) => stem == next_stem && next == number + 1,
        _ => false,
    };
    is_next && word.about == next.about
}

fn split_series_number(word: &Word) -> Option<(&str, u32)> {
    let (stem, number) = word.name.rsplit_once('_')?;
    Some((stem, number.parse::<u32>().ok()?))
}

fn table_heading(layout: Layout, above: &str, key: &str) -> String {
    match layout {
        Layout::Section(path) => format!("`[{path}]`"),
        Layout::Sections(path) => format!("`[[{path}]]`"),
        Layout::Inline => format!("{above}: `{key} = {{ ... }}`"),
        Layout::Lines => format!("{above}: `{key} = [{{ ... }}]`"),
    }
}

fn key_row(listed: &Listed) -> String {
    let form = match &listed.what {
        What::Value(shape) => shape_text(shape),
        What::Table(Layout::Section(_) | Layout::Inline, _) => "a table, see below".to_owned(),
        What::Table(..) | What::Variant { .. } => "a list of tables, see below".to_owned(),
    };
    let usual = match (&listed.usual, &listed.key.need) {
        (Some(usual), _) => usual.clone(),
        (None, Some(_)) => "required".to_owned(),
        (None, None) => "none".to_owned(),
    };
    let line = escape_bars(listed.key.line());
    format!("| `{}` | {} | {} | {line} |\n", listed.key.name, escape_bars(&form), escape_bars(&usual))
}

fn shape_text(shape: &Shape) -> String {
    match shape {
        Shape::Text { what, pattern: None, .. } => (*what).to_owned(),
        Shape::Text { what, example, .. } => format!("{what}, such as `\"{example}\"`"),
        Shape::Free { what, example, .. } => format!("{what}, such as `{example}`"),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Whole { least, most: u64::MAX } => format!("a whole number from {least}"),
        Shape::Whole { least, most } => format!("a whole number from {least} to {most}"),
        Shape::Number { least, most, above, decimals } => {
            let fine = decimals.map_or(String::new(), |decimals| format!(", with at most {decimals} decimals"));
            match (*above, *most) {
                (true, most) => format!("a number above {least}, up to {most}{fine}"),
                (false, f64::MAX) if *least == f64::MIN => format!("a number{fine}"),
                (false, f64::MAX) => format!("a number from {least}{fine}"),
                (false, most) => format!("a number from {least} to {most}{fine}"),
            }
        }
        Shape::Span { above_zero: true } => "a time above zero, such as `\"90 s\"`".to_owned(),
        Shape::Span { above_zero: false } => "a time, such as `\"5 ms\"`".to_owned(),
        Shape::Rate => "bits or bytes per second, such as `\"1 Gbps\"` or `\"125 MB/s\"`".to_owned(),
        Shape::Volume { .. } => "a number of bytes, or a text such as `\"2 GB\"`".to_owned(),
        Shape::Words(_) | Shape::Grammar { .. } => "a word, see below".to_owned(),
        Shape::NameOf(what) => format!("the name of {what}"),
        Shape::List { of, least: 2, most: 2 } => format!("a list of two: each {}", shape_text(of)),
        Shape::List { of, .. } => format!("a list: each {}", shape_text(of)),
    }
}

fn make_sentence(line: &str) -> String {
    let mut letters = line.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

fn escape_bars(text: &str) -> String {
    text.replace('|', "\\|")
}
