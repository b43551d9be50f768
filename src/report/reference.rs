//! All tables of a result, and the reference of their columns.

use crate::parquet::Kind;
use crate::referee::transfers;
use crate::results::{jobs, live};
use crate::subjects;
use crate::tables::columns::{ColumnForm, TableForm};

/// All tables.
const ALL: &[&TableForm] = &[
    &jobs::JOBS,
    &jobs::TASKS,
    &subjects::auctions::BIDS,
    &subjects::requests::RESERVATIONS,
    &subjects::sharing::SHARING,
    &transfers::TRANSFERS,
    &live::LIVE,
];

/// The kind of a column of a table. None if there is none such.
pub fn kind_of_column(file: &str, column: &str) -> Option<Kind> {
    let table = ALL.iter().find(|table| table.file == file)?;
    table.columns.iter().find(|form| form.name == column).map(|form| form.kind)
}

/// The reference of all columns, in Markdown.
pub fn columns_reference() -> String {
    let mut page = REFERENCE.to_owned();
    for TableForm { file, about, columns } in ALL {
        page.push_str(&format!("\n## {file}\n\n{about}\n\n| column | values | meaning |\n| --- | --- | --- |\n"));
        for ColumnForm { name, kind, unit, about } in *columns {
            let values = match (kind, *unit) {
                (Kind::Text, _) => "text",
                (Kind::Int, "") => "whole number",
                (_, "") => "number",
                (_, unit) => unit,
            };
            page.push_str(&format!("| `{name}` | {values} | {about} |\n"));
        }
    }
    page
}

const REFERENCE: &str = "\
# Columns of a result's tables

This page is the output of `hansa show --columns`. Times count from the start of the run. A cell is empty where nothing
is known, or where the column has no meaning for the row. With `--format parquet` each table is also a Parquet file, in
which whole numbers are integers, other numbers floating numbers, and empty cells null.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::metrics;
    use crate::{Better, Family};

    /// The table of metrics in docs/results.md: by family, in the order in which answers take them.
    fn metric_table() -> String {
        let mut table = "| family | metric | unit | better | meaning |\n| --- | --- | --- | --- | --- |\n".to_owned();
        for (word, family, _) in Family::ALL {
            let of_family: Vec<_> = metrics().filter(|metric| metric.family == *family).collect();
            let mut rest = &of_family[..];
            while let [first, ..] = rest {
                // The metrics of the ten tenths have one row.
                let (row, after) = rest.split_at(if first.is_of_a_tenth() { 10 } else { 1 });
                let name = match row {
                    [first, .., last] => format!("`{}` to `{}`", first.name, last.name),
                    _ => format!("`{}`", first.name),
                };
                let better = match first.better {
                    Better::More => "more",
                    Better::Less => "less",
                    Better::Neither => "",
                };
                let cells = [word, &*name, first.unit.name(), better, first.about];
                table.push_str(&format!("| {} |\n", cells.join(" | ")));
                rest = after;
            }
        }
        table
    }

    /// `HANSA_GOLDEN=write` renews the page.
    #[test]
    fn the_metrics_of_the_docs_are_those_of_the_figures() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md");
        let page = std::fs::read_to_string(path).unwrap();
        let begin = page.find("| family | ").expect("a table of metrics by family");
        let end = begin + page[begin..].find("\n\n").expect("a text after the table") + 1;
        let table = metric_table();
        if std::env::var("HANSA_GOLDEN").is_ok_and(|word| word == "write") {
            std::fs::write(path, [&page[..begin], &*table, &page[end..]].concat()).unwrap();
        } else {
            assert_eq!(page[begin..end], table, "docs/results.md; `HANSA_GOLDEN=write` renews it");
        }
    }

    /// A cell that is not of its column's kind would not get into a Parquet file.
    #[test]
    fn cells_are_of_the_kind_that_their_column_says() {
        let tables = [("jobs.csv", include_str!("golden/jobs.csv")), ("tasks.csv", include_str!("golden/tasks.csv"))];
        for (file, table) in tables {
            let mut lines = table.lines();
            let names: Vec<&str> = lines.next().unwrap().split(',').collect();
            // Names with commas are quoted; rows without them are enough.
            let rows = lines.map(|line| line.split(',').collect::<Vec<_>>()).filter(|row| row.len() == names.len());
            for (name, cell) in rows.flat_map(|row| names.iter().zip(row)) {
                let fits = match kind_of_column(file, name).unwrap_or_else(|| panic!("{file} has a column {name}")) {
                    Kind::Text => true,
                    Kind::Int => cell.is_empty() || cell.parse::<i64>().is_ok(),
                    Kind::Float => cell.is_empty() || cell.parse::<f64>().is_ok(),
                };
                assert!(fits, "{file}: {name} is {cell}");
            }
        }
    }

    #[test]
    fn no_table_has_two_columns_of_one_name() {
        for table in ALL {
            let mut names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}", table.file);
        }
    }
}
