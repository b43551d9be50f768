//! Bytes that are almost right.

use hansa_sim::random::SplitMix64;

/// Numbers and marks that are awkward for readers.
const AWKWARD: &[&[u8]] = &[
    b"",
    b"0",
    b"-1",
    b"1e308",
    b"-1e308",
    b"1e-320",
    b"NaN",
    b"inf",
    b"4294967295",
    b"4294967296",
    b"9007199254740993",
    b"18446744073709551615",
    b"18446744073709551616",
    b"0.0000001",
    b"\"",
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"<",
    b">",
    b"/",
    b":",
    b",",
    b";",
    b"=",
    b"->",
    b"&#0;",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
    b"\n",
    b"\r\n",
    b"\\u0000",
    b"null",
];

/// Makes one to four changes; pieces of `others`, texts of one kind, may be inserted.
pub fn mutate(bytes: &mut Vec<u8>, others: &[Vec<u8>], random: &mut SplitMix64) {
    for _ in 0..random.int(1, 4) {
        let (begin, end) = piece(bytes, random);
        match random.int(0, 7) {
            0 if begin < bytes.len() => bytes[begin] ^= 1 << random.int(0, 7),
            1 if begin < bytes.len() => bytes[begin] = random.int(0, 255) as u8,
            2 => drop(bytes.drain(begin..end)),
            3 => {
                let twice = bytes[begin..end].to_vec();
                bytes.splice(begin..begin, twice);
            }
            4 => bytes.truncate(begin),
            5 if !others.is_empty() => {
                let other = &others[random.int(0, others.len() as u64 - 1) as usize];
                let (from, to) = piece(other, random);
                bytes.splice(begin..end, other[from..to].iter().copied());
            }
            6 => {
                let awkward = AWKWARD[random.int(0, AWKWARD.len() as u64 - 1) as usize];
                bytes.splice(begin..begin, awkward.iter().copied());
            }
            _ => replace_word(bytes, begin, random),
        }
    }
}

/// A random range in it; short ones are likelier.
fn piece(bytes: &[u8], random: &mut SplitMix64) -> (usize, usize) {
    let begin = random.int(0, bytes.len() as u64) as usize;
    let length = random.log_uniform(1.0, bytes.len().max(2) as f64) as usize;
    (begin, (begin + length).min(bytes.len()))
}

/// Replaces the word or number that begins here or later by something awkward.
fn replace_word(bytes: &mut Vec<u8>, after: usize, random: &mut SplitMix64) {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let begin = after + bytes[after..].iter().take_while(|byte| is_word(byte)).count();
    let begin = begin + bytes[begin..].iter().take_while(|byte| !is_word(byte)).count();
    let end = begin + bytes[begin..].iter().take_while(|byte| is_word(byte)).count();
    let awkward = AWKWARD[random.int(0, AWKWARD.len() as u64 - 1) as usize];
    bytes.splice(begin..end, awkward.iter().copied());
}
