//! Tables of an answer, as values: terminal, page and JSON write the same ones.

use serde_json::{Value, json};

use crate::experiment::figures::wrap_lines;
use crate::markup::{Html, html};

/// Width of a terminal in columns.
const WIDTH: usize = 100;
const GAP: &str = "  ";

/// A table with a name for programs.
pub(super) struct NamedTable {
    pub name: &'static str,
    pub title: &'static str,
    pub heads: Vec<TableHead>,
    pub rows: Vec<Vec<TableCell>>,
    /// Sentences below it.
    pub notes: Vec<String>,
}

/// Head of a column.
pub(super) struct TableHead {
    pub text: String,
    /// True if it is repeated beside columns that do not fit and continue below, and is set to the left.
    pub is_label: bool,
}

/// Text of a cell, and the number that it shows.
#[derive(Clone, Debug, Default)]
pub(super) struct TableCell {
    pub text: String,
    pub number: Option<f64>,
    pub within: Option<f64>,
    pub mark: Mark,
    /// True if it is a difference, whose sign says which side it is on.
    pub is_difference: bool,
}

/// Emphasis of a cell. Significance is at 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    #[default]
    Plain,
    /// Best of its column, or not significantly different from the best.
    Best,
    /// Significantly better than the reference.
    Better,
    /// Significantly worse than the reference.
    Worse,
}

impl TableHead {
    pub fn label(text: &str) -> TableHead {
        TableHead { text: text.to_owned(), is_label: true }
    }

    pub fn number(text: impl Into<String>) -> TableHead {
        TableHead { text: text.into(), is_label: false }
    }
}

impl TableCell {
    pub fn text(text: impl Into<String>) -> TableCell {
        TableCell { text: text.into(), ..TableCell::default() }
    }

    pub fn count(number: u64) -> TableCell {
        TableCell {
            text: hansa_sim::numerals::format_count(number),
            number: Some(number as f64),
            ..TableCell::default()
        }
    }

    /// A cell without a number.
    pub fn none() -> TableCell {
        TableCell::text(crate::experiment::range::NONE)
    }

    pub fn with_mark(self, mark: Mark) -> TableCell {
        TableCell { mark, ..self }
    }

    /// Text of a terminal, where a sign says what the page shows by weight and colour.
    fn signed_text(&self) -> String {
        let sign = match self.mark {
            Mark::Plain => " ",
            Mark::Best => "*",
            Mark::Better | Mark::Worse if self.is_difference => "*",
            Mark::Better => "+",
            Mark::Worse => "-",
        };
        format!("{}{sign}", self.text)
    }

    fn html(&self) -> Html {
        let text = hansa_sim::numerals::no_break_spaces(&self.text).replacen(
            '-',
            "\u{2212}",
            usize::from(self.number.is_some()),
        );
        match self.mark {
            Mark::Plain => text.into(),
            Mark::Best => html!("<strong>{text}</strong>", text),
            Mark::Better => html!("<strong class=\"good\">{text}</strong>", text),
            Mark::Worse => html!("<strong class=\"bad\">{text}</strong>", text),
        }
    }

    fn json(&self) -> Value {
        let mark = match self.mark {
            Mark::Plain => None,
            Mark::Best => Some("best"),
            Mark::Better => Some("better"),
            Mark::Worse => Some("worse"),
        };
        json!({ "text": self.text, "number": self.number, "within": self.within, "mark": mark })
    }
}

impl NamedTable {
    fn has_mark(&self, mark: Mark) -> bool {
        self.rows.iter().flatten().any(|cell| cell.mark == mark)
    }

    fn has_signed_mark(&self, mark: Mark) -> bool {
        self.rows.iter().flatten().any(|cell| cell.mark == mark && !cell.is_difference)
    }

    fn has_marked_difference(&self) -> bool {
        self.rows.iter().flatten().any(|cell| cell.mark != Mark::Plain && cell.is_difference)
    }

    /// Meaning of the signs that it uses on a terminal.
    fn explain_signs(&self) -> Option<String> {
        let signs = [
            (Mark::Best, "* best, or not significantly different from the best"),
            (Mark::Better, "+ significantly better"),
            (Mark::Worse, "- significantly worse"),
        ];
        let used: Vec<&str> =
            signs.into_iter().filter(|(mark, _)| self.has_signed_mark(*mark)).map(|(_, words)| words).collect();
        let of_differences = self.has_marked_difference().then_some("* significant");
        let used: Vec<&str> = used.into_iter().chain(of_differences).collect();
        (!used.is_empty()).then(|| used.join("; "))
    }

    /// The table for a terminal of 100 columns; columns that do not fit continue below.
    pub fn text(&self) -> String {
        let mut labels: Vec<Vec<String>> = Vec::new();
        let mut columns: Vec<Vec<String>> = Vec::new();
        for (place, head) in self.heads.iter().enumerate() {
            let cells = self.rows.iter().map(|row| row[place].signed_text());
            match head.is_label {
                true => labels.push(std::iter::once(head.text.clone()).chain(cells).collect()),
                false => columns.push(std::iter::once(format!("{} ", head.text)).chain(cells).collect()),
            }
        }
        let mut text = fold_columns(&labels, columns, WIDTH - GAP.len()).join("\n");
        let notes = self.explain_signs().map(|signs| format!("{signs}.")).into_iter().chain(self.notes.iter().cloned());
        notes.for_each(|note| text.push_str(&format!("{}\n", wrap_lines(&note))));
        text
    }

    pub fn html(&self) -> Html {
        let heads: Vec<String> = self.heads.iter().map(head_text).collect();
        let rows = self.rows.iter().map(|row| {
            self.heads
                .iter()
                .zip(row)
                .map(|(head, cell)| match head.is_label {
                    true => html!("<span class=\"whole\">{}</span>", cell.html()),
                    false => cell.html(),
                })
                .collect::<Vec<Html>>()
        });
        let mut html = crate::html::table_html(&heads, rows);
        let legend = [
            (Mark::Best, "Bold: best, or not significantly different from the best."),
            (Mark::Better, "Bold and blue: significantly better."),
            (Mark::Worse, "Bold and orange: significantly worse."),
        ];
        let legend = legend.into_iter().filter(|(mark, _)| self.has_mark(*mark)).map(|(_, words)| words.to_owned());
        let notes: Vec<String> = legend.chain(self.notes.iter().cloned()).collect();
        if !notes.is_empty() {
            html += html!("<p class=\"soft\">{}</p>\n", notes.join(" "));
        }
        html
    }

    pub fn json(&self) -> Value {
        let rows = self.rows.iter().map(|row| row.iter().map(TableCell::json).collect::<Vec<_>>());
        json!({
            "name": self.name,
            "title": self.title,
            "columns": self.heads.iter().map(|head| &head.text).collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

/// Columns of cells beside these labels, in blocks of lines that are not wider than this, unless one column is. Labels
/// are set to the left, cells to the right.
pub fn fold_columns(labels: &[Vec<String>], mut columns: Vec<Vec<String>>, width: usize) -> Vec<String> {
    let label_width = labels.iter().map(|column| column_width(column)).sum::<usize>();
    let room = width.saturating_sub(label_width + GAP.len() * labels.len().saturating_sub(1));
    let mut blocks = Vec::new();
    loop {
        let mut used = 0;
        let fitting = columns.iter().take_while(|column| {
            used += GAP.len() + column_width(column);
            used <= room
        });
        let count = fitting.count().max(1).min(columns.len());
        let block: Vec<Vec<String>> = columns.drain(..count).collect();
        let lines = labels.first().or(block.first()).map_or(0, Vec::len);
        blocks.push((0..lines).map(|line| line_of_block(labels, &block, line)).collect());
        if columns.is_empty() {
            return blocks;
        }
    }
}

fn line_of_block(labels: &[Vec<String>], block: &[Vec<String>], line: usize) -> String {
    let labels = labels.iter().map(|column| format!("{:<width$}", column[line], width = column_width(column)));
    let cells = block.iter().map(|column| format!("{:>width$}", column[line], width = column_width(column)));
    format!("{}\n", labels.chain(cells).collect::<Vec<_>>().join(GAP).trim_end())
}

fn column_width(column: &[String]) -> usize {
    column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)
}

fn head_text(head: &TableHead) -> String {
    if head.is_label { head.text.clone() } else { format!("#{}", head.text) }
}
