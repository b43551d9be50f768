//! Descriptions of tables and their columns: names, kinds of values, units, meanings. Each table is described once,
//! beside its rows; its header, its Parquet file and docs/columns.md come from that (`reference.rs`).

use crate::parquet::Kind;

/// A table or another file in progress: its name, and the rows that have not been written yet.
pub(crate) type OpenTable<'a> = (&'static str, &'a mut Vec<u8>);

/// A table of a result.
pub struct TableForm {
    pub file: &'static str,
    pub about: &'static str,
    pub columns: &'static [ColumnForm],
}

/// A column. Cells without a value are empty.
pub struct ColumnForm {
    pub name: &'static str,
    pub kind: Kind,
    /// Empty if its values have none.
    pub unit: &'static str,
    pub about: &'static str,
}

impl TableForm {
    /// The first line, without columns that this run does not have.
    pub(crate) fn header_line(&self, without: &[&str]) -> Vec<u8> {
        let names = self.columns.iter().map(|column| column.name).filter(|name| !without.contains(name));
        let mut header = names.collect::<Vec<_>>().join(",");
        header.push('\n');
        header.into_bytes()
    }
}

pub(crate) const fn whole_number(name: &'static str, about: &'static str) -> ColumnForm {
    ColumnForm { name, kind: Kind::Int, unit: "", about }
}

pub(crate) const fn number(name: &'static str, unit: &'static str, about: &'static str) -> ColumnForm {
    ColumnForm { name, kind: Kind::Float, unit, about }
}

pub(crate) const fn seconds(name: &'static str, about: &'static str) -> ColumnForm {
    number(name, "seconds", about)
}

pub(crate) const fn text(name: &'static str, about: &'static str) -> ColumnForm {
    ColumnForm { name, kind: Kind::Text, unit: "", about }
}
