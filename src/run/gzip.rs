//! Files that may be compressed: readers get their content, bounded in size.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use rustix::fs::OFlags;

use super::disk::open_regular;

/// Limit of a decompressed file, in bytes: more than any log, less than fills a machine. A small file can expand to any
/// size.
pub const INFLATED_MAX: u64 = 1 << 30;

/// Longest line of a file that is read as a whole, in bytes: longer ones are not text.
const LINE_MAX: usize = 256 << 20;

const MAGIC: [u8; 2] = [0x1f, 0x8b];
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Opens a file as a stream, decompressed if it starts like gzip.
pub fn open_unpacked(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = open_regular(path, OFlags::empty())?;
    let mut input = unpack_stream(BufReader::with_capacity(1 << 16, file))?;
    if input.fill_buf()?.starts_with(&MARK) {
        input.consume(MARK.len());
    }
    Ok(input)
}

/// Removes the byte order mark that some programs put before text in UTF-8.
pub fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(&MARK) {
        bytes.drain(..MARK.len());
    }
    bytes
}

/// Decompresses a stream if it starts like gzip.
pub fn unpack_stream<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    if !input.fill_buf()?.starts_with(&MAGIC) {
        return Ok(Box::new(input));
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, Limited::new(input, INFLATED_MAX))))
}

/// True if bytes start like a file of gzip.
pub fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Decompresses bytes in memory if they start like gzip.
pub fn inflate_bytes(bytes: Vec<u8>, max: u64) -> io::Result<Vec<u8>> {
    if !bytes.starts_with(&MAGIC) {
        return Ok(bytes);
    }
    read_lines(Limited::new(&bytes[..], max))
}

/// Reads a text as a whole; fails if it or one of its lines is too long.
pub fn read_lines(mut input: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut lines = 1;
    let mut begun = 0;
    loop {
        let old = bytes.len();
        if (&mut input).take(1 << 20).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
        let new = &bytes[old..];
        lines += new.iter().filter(|&&byte| byte == b'\n').count();
        begun = new.iter().rposition(|&byte| byte == b'\n').map_or(begun, |at| old + at + 1);
        if bytes.len() - begun > LINE_MAX {
            return Err(io::Error::other(format!("line {lines} is longer than {} MiB", LINE_MAX >> 20)));
        }
        if bytes.len() as u64 > INFLATED_MAX {
            return Err(more_than(INFLATED_MAX));
        }
    }
}

/// A decompressor that fails beyond `max` bytes, or if the compressed file is cut off.
struct Limited<R> {
    inner: MultiGzDecoder<R>,
    max: u64,
    left: u64,
}

impl<R: BufRead> Limited<R> {
    fn new(input: R, max: u64) -> Limited<R> {
        Limited { inner: MultiGzDecoder::new(input), max, left: max }
    }
}

impl<R: BufRead> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => invalid_data("the compressed file is truncated".to_owned()),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                invalid_data("the compressed file is damaged".to_owned())
            }
            _ => error,
        })?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| more_than(self.max))?;
        Ok(read)
    }
}

fn invalid_data(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

fn more_than(max: u64) -> io::Error {
    io::Error::other(format!("there is more than {} MiB in it", max >> 20))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        bytes.for_each(|piece| encoder.write_all(&piece).unwrap());
        encoder.finish().unwrap()
    }

    #[test]
    fn compressed_or_not_is_the_same() {
        let text = b"1 2 3\n".repeat(1_000);
        let once = packed([text.clone()].into_iter());
        let twice = [once.clone(), once.clone()].concat();
        assert_eq!(inflate_bytes(text.clone(), INFLATED_MAX).unwrap(), text);
        assert_eq!(inflate_bytes(once, INFLATED_MAX).unwrap(), text);
        assert_eq!(inflate_bytes(twice, INFLATED_MAX).unwrap(), [text.clone(), text].concat());
    }

    #[test]
    fn a_file_that_is_cut_off_or_damaged_says_so() {
        let whole = packed([b"1 2 3\n".repeat(1_000)].into_iter());
        for end in [5, whole.len() / 2, whole.len() - 3] {
            assert_eq!(
                inflate_bytes(whole[..end].to_vec(), INFLATED_MAX).unwrap_err().to_string(),
                "the compressed file is truncated"
            );
        }
        let mut damaged = whole.clone();
        let last = damaged.len() - 6;
        damaged[last] ^= 0xff;
        assert_eq!(inflate_bytes(damaged, INFLATED_MAX).unwrap_err().to_string(), "the compressed file is damaged");
    }

    #[test]
    fn a_line_that_goes_on_for_ever_is_told() {
        let endless = b"first\nsecond\n".chain(io::repeat(b'7'));
        assert_eq!(read_lines(endless).unwrap_err().to_string(), "line 3 is longer than 256 MiB");
    }

    #[test]
    fn a_small_file_cannot_pretend_to_be_huge() {
        let bomb = packed((0..9).map(|_| vec![b'1'; 1 << 20]));
        assert!(bomb.len() < 1 << 17);
        let error = io::copy(&mut Limited::new(&bomb[..], 8 << 20), &mut io::sink()).unwrap_err();
        assert_eq!(error.to_string(), "there is more than 8 MiB in it");
    }
}
