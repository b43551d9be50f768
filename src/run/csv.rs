//! Reads back the tables that a run has written.

use std::io::{self, BufRead};

use hansa_report::experiment::rows::{split_cells, split_plain_cells};

/// Reads a table row by row. A quoted cell may contain commas, quotes and line ends.
pub struct CsvReader<R> {
    input: R,
    /// The bytes of the last row.
    row: Vec<u8>,
}

impl<R: BufRead> CsvReader<R> {
    pub fn new(input: R) -> CsvReader<R> {
        CsvReader { input, row: Vec::new() }
    }

    /// The cells of the next row; None at the end of the table.
    pub fn next_row(&mut self) -> io::Result<Option<Vec<String>>> {
        let mut cells = Vec::new();
        Ok(self.read_row(&mut cells)?.then_some(cells))
    }

    /// Reads the next row into the memory of an earlier one; false at the end of the table.
    pub fn read_row(&mut self, cells: &mut Vec<String>) -> io::Result<bool> {
        let CsvReader { input, row } = self;
        row.clear();
        let mut quotes = 0;
        loop {
            let read_before = row.len();
            input.read_until(b'\n', row)?;
            let line = &row[read_before..];
            if line.contains(&b'"') {
                quotes += line.iter().filter(|byte| **byte == b'"').count();
            }
            // Within quotes a line end belongs to the cell.
            if line.is_empty() || quotes % 2 == 0 {
                break;
            }
        }
        if row.is_empty() {
            return Ok(false);
        }
        let row = str::from_utf8(row).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        let row = row.strip_suffix('\n').unwrap_or(row);
        let row = row.strip_suffix('\r').unwrap_or(row);
        match quotes {
            0 => split_plain_cells(row, cells),
            _ => *cells = split_cells(row).0,
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_commas_and_quotes_may_be_in_a_cell() {
        let table = "job,name\n1,\"two\nlines\"\r\n2,\"a \"\"b\"\", c\r\n\"\n\n3,\"\"\"\n";
        let mut reader = CsvReader::new(table.as_bytes());
        let mut rows = Vec::new();
        while let Some(row) = reader.next_row().unwrap() {
            rows.push(row);
        }
        // The last quote is never closed, as in a file that was cut short.
        let expected: [&[&str]; 5] =
            [&["job", "name"], &["1", "two\nlines"], &["2", "a \"b\", c\r\n"], &[""], &["3", "\""]];
        assert_eq!(rows, expected.map(|row| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>()));
    }
}
