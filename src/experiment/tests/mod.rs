mod claims;
mod file;
pub(super) mod grid;
mod rows;
