//! The form of tables: columns with their meanings, rows of text, and Parquet.

pub(crate) mod columns;
pub(crate) mod csv;
pub mod parquet;
