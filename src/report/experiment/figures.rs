//! Captions and cells of the pages of experiments.

use super::range::{Range, shown};
use super::statistics::Estimate;
use crate::markup::{Html, html};
use crate::{Better, Unit};
use hansa_sim::numerals::{Digits, capitalize_first};

/// HTML figure with title and caption; empty ones are left out. `metric` names the file under which a reader saves it.
pub fn figure_html(metric: &str, title: &str, about: &str, legend: Html, svg: Html, range: &Range) -> Html {
    let title = (!title.is_empty()).then(|| html!("<h3>{title}</h3>\n", title));
    let about = if about.is_empty() { String::new() } else { format!("{}.", capitalize_first(about)) };
    let below = match [&about, range.axis_note()].concat().trim() {
        "" => Html::default(),
        text => html!("<figcaption>{text}</figcaption>", text),
    };
    html!(
        "<figure data-name=\"{metric}\">{title}{legend}<div class=\"chart\">{svg}</div>{below}</figure>\n",
        [metric, title, legend, svg, below]
    )
}

/// The end of a page: the origin of its numbers.
pub fn footer_html(facts: &[String]) -> Html {
    html!("<footer>{}</footer>\n", Html::join_pieces(facts.iter().map(Html::from), html!("<br>")))
}

/// Name of an axis: that of its metric, with the unit.
pub fn axis_name(name: &str, unit: Unit) -> String {
    match unit.name() {
        "" => name.to_owned(),
        unit => format!("{name}, {unit}"),
    }
}

/// A mean with its interval, for a cell of a table whose means have these digits.
pub fn mean_html(estimate: &Estimate, digits: Digits, is_bold: bool) -> Html {
    let within = estimate.within.map(|within| html!("<span class=\"soft\"> ± {}</span>", digits.show_interval(within)));
    let mean = digits.show_number(estimate.mean);
    if is_bold { html!("<strong>{mean}</strong>{within}", mean, within) } else { html!("{mean}{within}", mean, within) }
}

/// A mean with its interval, without markup.
pub fn mean_text(estimate: &Estimate) -> String {
    let within = estimate.within.map_or(String::new(), |within| format!(" ± {}", shown(within)));
    format!("{}{within}", shown(estimate.mean))
}

/// The better direction of a metric.
pub fn better_words(better: Better) -> &'static str {
    match better {
        Better::More => "; more is better",
        Better::Less => "; less is better",
        Better::Neither => "",
    }
}

/// Rows of numbers below their heads, as text, with a word above the labels. Columns are as wide as their widest cell,
/// and at least `least`.
pub fn text_table(corner: &str, heads: &[String], rows: &[(&str, Vec<String>)], least: usize) -> String {
    let label = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).max(7);
    let cells = rows.iter().flat_map(|(_, cells)| cells).chain(heads);
    let width = cells.map(|cell| cell.chars().count() + 2).fold(least, usize::max);
    let line = |label_text: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
        format!("{label_text:<label$}{cells}\n")
    };
    let rows: String = rows.iter().map(|(label, cells)| line(label, cells)).collect();
    line(corner, heads) + &rows
}

/// Words in lines of at most 100 columns.
pub(super) fn wrap_lines(words: &str) -> String {
    let mut lines = vec![String::new()];
    for word in words.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        match line.chars().count() + 1 + word.chars().count() {
            _ if line.is_empty() => line.push_str(word),
            0..=100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_text_never_touch() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = [("fifo", row(["23.00 ±90.21", "0.50"])), ("a-long-name", row(["135.80 ±106.73", "-"]))];
        let expected = "load                    0.5             1.0\n\
                        fifo           23.00 ±90.21            0.50\n\
                        a-long-name  135.80 ±106.73               -\n";
        assert_eq!(text_table("load", &row(["0.5", "1.0"]), &rows, 5), expected);
        assert_eq!(
            text_table("", &row(["1", "2"]), &[("x", row(["3", "4"]))], 6),
            "            1     2\nx           3     4\n"
        );
    }
}
