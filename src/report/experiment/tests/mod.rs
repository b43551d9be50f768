mod claims;
mod file;
pub(crate) mod grid;
mod rows;
