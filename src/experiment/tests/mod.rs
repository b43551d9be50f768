mod claims;
mod file;
mod market;
mod rows;
