//! Where jobs come from, one reader or generator a file.

pub mod market;
pub mod table;

use serde::Serialize;

/// A workload as a topology describes it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Source {
    Market(market::Generator),
    Table(table::Table),
}
