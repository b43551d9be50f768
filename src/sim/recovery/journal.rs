//! Format of a journal: records of bytes, each with its length and a check that covers all records before it. So any
//! remainder of a crash (half a record, a block of zeros, an older piece of the file) is distinguished from a record.
//!
//! ```text
//! record = length of body (4 bytes, little endian), check (8 bytes), body
//! body   = kind (1 byte), numbers of variable length, bytes
//! ```
//!
//! Costs: a hash and a copy of each frame to write it, and again to read it.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::kernel::Contact;
use crate::protocol::codec::FRAME_MAX;

/// An action of the hub that may send frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Writes to leaves that need a frame.
    Flush(Contact),
    /// Requests progress of leaves.
    Ask,
}

/// An entry of a journal, in the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A piece of the description of the run. All pieces come first.
    Head(&'a [u8]),
    /// The hub has run `after` batches since the last `Turn` or `Up`, and then takes a turn in which it sends
    /// something.
    Turn { after: u64, turn: Turn },
    /// A frame to this leaf, sent in the hub's turn.
    Down { leaf: usize, frame: &'a [u8] },
    /// The hub has run `after` batches since, and receives a frame of this leaf.
    Up { after: u64, leaf: usize, frame: &'a [u8] },
}

/// Upper bound of a body in bytes.
const BODY_MAX: usize = FRAME_MAX + 64;
const HEADER: usize = 12;
/// Longest piece of a head in bytes.
pub const PIECE_MAX: usize = 1 << 20;

const HEAD: u8 = 0;
const DOWN: u8 = 1;
const UP: u8 = 2;
const FLUSH_ALL: u8 = 3;
const FLUSH_BLOCKERS: u8 = 4;
const ASK: u8 = 5;

/// Appends records to a journal.
#[derive(Clone, Debug, Default)]
pub struct JournalWriter {
    chain: u64,
}

impl JournalWriter {
    /// Appends this item to `out`.
    pub fn write(&mut self, item: Item<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER]);
        match item {
            Item::Head(piece) => {
                out.push(HEAD);
                out.extend_from_slice(piece);
            }
            Item::Turn { after, turn } => {
                out.push(match turn {
                    Turn::Flush(Contact::All) => FLUSH_ALL,
                    Turn::Flush(Contact::Blockers) => FLUSH_BLOCKERS,
                    Turn::Ask => ASK,
                });
                write_number(after, out);
            }
            Item::Down { leaf, frame } => {
                out.push(DOWN);
                write_number(leaf as u64, out);
                out.extend_from_slice(frame);
            }
            Item::Up { after, leaf, frame } => {
                out.push(UP);
                write_number(after, out);
                write_number(leaf as u64, out);
                out.extend_from_slice(frame);
            }
        }
        let body = &out[start + HEADER..];
        self.chain = xxh3_64_with_seed(body, self.chain);
        let length = (body.len() as u32).to_le_bytes();
        out[start..start + 4].copy_from_slice(&length);
        out[start + 4..start + HEADER].copy_from_slice(&self.chain.to_le_bytes());
    }
}

/// Reads the output of a [`JournalWriter`].
#[derive(Clone, Debug, Default)]
pub struct JournalReader {
    chain: u64,
}

/// Result of looking at the first bytes of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A record of this length.
    Record(usize),
    /// The start of a possible record of this length; more bytes are needed.
    More(usize),
    /// No record of this journal: the journal ends before it.
    Torn,
}

impl JournalReader {
    /// Examines the next record, and advances behind it if it is complete. `bytes` begin at the end of the last record.
    pub fn next(&mut self, bytes: &[u8]) -> Next {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Next::More(HEADER) };
        let (length, check) = header.split_first_chunk::<4>().expect("a header is longer");
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length > BODY_MAX {
            return Next::Torn;
        }
        let Some(body) = rest.get(..length) else { return Next::More(HEADER + length) };
        let chain = xxh3_64_with_seed(body, self.chain);
        if chain.to_le_bytes() != *check || parse_item(body).is_none() {
            return Next::Torn;
        }
        self.chain = chain;
        Next::Record(HEADER + length)
    }

    /// Writer that continues after the last record read.
    pub fn into_writer(self) -> JournalWriter {
        JournalWriter { chain: self.chain }
    }
}

/// Parses a record that a [`JournalReader`] has found.
pub fn parse_record(record: &[u8]) -> Item<'_> {
    parse_item(&record[HEADER..]).expect("a reader finds only what tells something")
}

fn parse_item(body: &[u8]) -> Option<Item<'_>> {
    let (what, mut rest) = body.split_first()?;
    let mut take = || {
        let (number, left) = take_number(rest)?;
        rest = left;
        Some(number)
    };
    Some(match *what {
        HEAD => Item::Head(rest),
        DOWN => {
            let leaf = usize::try_from(take()?).ok()?;
            Item::Down { leaf, frame: rest }
        }
        UP => {
            let after = take()?;
            let leaf = usize::try_from(take()?).ok()?;
            Item::Up { after, leaf, frame: rest }
        }
        turn => {
            let turn = match turn {
                FLUSH_ALL => Turn::Flush(Contact::All),
                FLUSH_BLOCKERS => Turn::Flush(Contact::Blockers),
                ASK => Turn::Ask,
                _ => return None,
            };
            let after = take()?;
            rest.is_empty().then_some(Item::Turn { after, turn })?
        }
    })
}

/// Appends a number, seven bits a byte, the lowest first.
fn write_number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        value |= bits.checked_shl(7 * at as u32).filter(|shifted| shifted >> (7 * at) == bits)?;
        if byte & 0x80 == 0 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}
