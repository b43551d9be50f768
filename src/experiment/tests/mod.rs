mod claims;
mod file;
mod rows;
