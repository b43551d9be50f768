mod file;
mod rows;
