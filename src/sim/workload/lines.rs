//! Lines of a stream, with bounded memory.

use std::io::{self, BufRead};

/// Longest line that is read, in bytes. A longer one is skipped and reported.
pub const LINE_MAX: usize = 1 << 14;

pub struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
    /// The byte that ends a line; None until the first line is read.
    end: Option<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLine<'a> {
    /// A line without its ending.
    Text(&'a [u8]),
    TooLong,
}

impl<R: BufRead> LineReader<R> {
    pub fn new(input: R) -> LineReader<R> {
        LineReader { input, buffer: Vec::new(), number: 0, end: None }
    }

    /// Next line with its number, from 1; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<(u64, LogLine<'_>)>> {
        let end = match self.end {
            Some(end) => end,
            None => *self.end.insert(line_end(self.input.fill_buf()?)),
        };
        self.buffer.clear();
        let mut limited = io::Read::take(&mut self.input, LINE_MAX as u64 + 1);
        if limited.read_until(end, &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = match self.buffer.strip_suffix(&[end]) {
            None if self.buffer.len() > LINE_MAX => {
                skip_line(&mut self.input, end)?;
                LogLine::TooLong
            }
            text => {
                let text = text.unwrap_or(&self.buffer);
                LogLine::Text(text.strip_suffix(b"\r").unwrap_or(text))
            }
        };
        Ok(Some((self.number, line)))
    }
}

/// The byte that ends the lines of a file with this beginning: a carriage return if there is no line feed, as old
/// Macintosh programs write.
fn line_end(beginning: &[u8]) -> u8 {
    // A carriage return at the end of the buffer may belong to a line feed that is yet to be read.
    let returns = beginning.iter().rev().skip(1).any(|&byte| byte == b'\r');
    if returns && !beginning.contains(&b'\n') { b'\r' } else { b'\n' }
}

fn skip_line(input: &mut impl BufRead, end: u8) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        let (used, over) = match bytes.iter().position(|&byte| byte == end) {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        input.consume(used);
        if over {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    #[test]
    fn a_line_that_never_ends_takes_no_memory() {
        let endless = io::repeat(b'7').take(50 << 20).chain(&b"\nshort\r\nlast"[..]);
        let mut lines = LineReader::new(BufReader::new(endless));
        assert_eq!(lines.next().unwrap(), Some((1, LogLine::TooLong)));
        assert_eq!(lines.next().unwrap(), Some((2, LogLine::Text(b"short"))));
        assert_eq!(lines.next().unwrap(), Some((3, LogLine::Text(b"last"))));
        assert_eq!(lines.next().unwrap(), None);
        assert!(lines.buffer.capacity() < 4 * LINE_MAX);
    }

    #[test]
    fn carriage_returns_alone_end_lines() {
        let mut lines = LineReader::new(&b"; comment\r1 2\r\r3"[..]);
        assert_eq!(lines.next().unwrap(), Some((1, LogLine::Text(b"; comment"))));
        assert_eq!(lines.next().unwrap(), Some((2, LogLine::Text(b"1 2"))));
        assert_eq!(lines.next().unwrap(), Some((3, LogLine::Text(b""))));
        assert_eq!(lines.next().unwrap(), Some((4, LogLine::Text(b"3"))));
        assert_eq!(lines.next().unwrap(), None);
    }

    #[test]
    fn the_longest_line_is_still_read() {
        let text = [vec![b'1'; LINE_MAX], b"\n".to_vec(), vec![b'2'; LINE_MAX + 1], b"\n3".to_vec()].concat();
        let mut lines = LineReader::new(&text[..]);
        assert_eq!(lines.next().unwrap(), Some((1, LogLine::Text(&text[..LINE_MAX]))));
        assert_eq!(lines.next().unwrap(), Some((2, LogLine::TooLong)));
        assert_eq!(lines.next().unwrap(), Some((3, LogLine::Text(b"3"))));
    }
}
