//! The numbers and the tables of a run: accounts, which see each job once, and the summary that they fill.

pub(crate) mod account;
pub(crate) mod accounting;
pub(crate) mod by_size;
pub(crate) mod core;
pub(crate) mod counted;
pub(crate) mod jobs;
pub(crate) mod live;
pub mod manifest;
pub(crate) mod metric;
pub(crate) mod outcomes;
pub(crate) mod staleness;
pub(crate) mod summary;
