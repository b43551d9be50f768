//! The journal of a run as a file: a head, and then all frames from leaves and to them in the order in which the hub
//! took and sent them ([`hansa_sim::recovery`]).
//!
//! It is written in large pieces, and at least every [`WRITTEN_WITHIN`], but the run does not wait for the disk: a
//! process that is killed loses the part that it has not written yet, and a machine that loses its power the part that
//! the system has not put on the disk. The rest is an earlier journal of the same run, from which the run can continue
//! just as well. Size: the frames of the run, and about 15 bytes for each.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::Failure;
use super::disk::{open_regular, operation_failure};
use hansa_report::Input;
use hansa_sim::kernel::Up;
use hansa_sim::protocol::handshake::Party;
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::recovery::journal::{Item, JournalReader, JournalWriter, Next, PIECE_MAX, Turn, parse_record};

/// Name of the file, in the folder of a run that is not over.
pub const JOURNAL: &str = "journal";

/// Size of a write, in bytes.
const BUFFER: usize = 1 << 18;
/// Longest time for which data waits in the buffer.
const WRITTEN_WITHIN: Duration = Duration::from_millis(100);

/// The first item of a journal: the run that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of Hansa: two releases may run differently.
    pub release: String,
    pub topology_hash: String,
    /// Members that each process plays, in the order of the hub's leaves.
    pub groups: Vec<Vec<Party>>,
    /// The topology as text, as other processes get it.
    pub topology: String,
    /// The input files of the topology, as typed.
    pub inputs: Vec<Input>,
    /// Date and time of the start of the run, as a text.
    pub started: String,
}

impl Head {
    /// Reads the head of the journal in this file.
    pub fn read_head(path: &Path) -> Result<Head, Failure> {
        Pages::open(path)?.head()?.ok_or_else(|| no_head(path))
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    writer: JournalWriter,
    buffer: Vec<u8>,
    written: Instant,
    /// Length of the file.
    length: u64,
    /// Number of batches that the hub had run at the last item.
    batches: u64,
}

impl Journal {
    /// Begins a journal in this folder.
    pub fn create(folder: &Path, head: &Head) -> Result<Journal, Failure> {
        let path = folder.join(JOURNAL);
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(|error| operation_failure("create the journal", &path, &error))?;
        let writer = JournalWriter::default();
        let buffer = Vec::with_capacity(BUFFER);
        let written = Instant::now();
        let mut journal = Journal { path, file, writer, buffer, written, length: 0, batches: 0 };
        let head = serde_json::to_vec(head).map_err(|error| Failure::Internal(error.to_string()))?;
        head.chunks(PIECE_MAX).for_each(|piece| journal.put_item(Item::Head(piece)));
        journal.flush()?;
        Ok(journal)
    }

    /// Opens the journal in this folder to append to it, after its last complete item.
    pub fn open(folder: &Path) -> Result<(Head, Journal), Failure> {
        let path = folder.join(JOURNAL);
        let mut pages = Pages::open(&path)?;
        let head = pages.head()?.ok_or_else(|| no_head(&path))?;
        while pages.next()?.is_some() {}
        let Pages { reader, at, batches, .. } = pages;
        let file = OpenOptions::new().append(true).open(&path).and_then(|file| file.set_len(at).map(|()| file));
        let file = file.map_err(|error| operation_failure("write the journal", &path, &error))?;
        let writer = reader.into_writer();
        let buffer = Vec::with_capacity(BUFFER);
        let written = Instant::now();
        Ok((head, Journal { path, file, writer, buffer, written, length: at, batches }))
    }

    /// Appends a frame of a leaf, which the hub takes when it has run `batches` batches in total.
    pub fn append_up(&mut self, batches: u64, leaf: usize, frame: &[u8]) -> Result<(), Failure> {
        let after = self.batches_since(batches);
        self.put_item(Item::Up { after, leaf, frame });
        self.flush_if_due()
    }

    /// Appends a turn of the hub: a flush or a question to its leaves.
    pub fn append_turn(&mut self, batches: u64, turn: Turn) {
        let after = self.batches_since(batches);
        self.put_item(Item::Turn { after, turn });
    }

    /// Appends a frame to a leaf.
    pub fn append_down(&mut self, leaf: usize, frame: &[u8]) {
        self.put_item(Item::Down { leaf, frame });
    }

    /// Writes the buffer if it is full or has waited for long.
    pub fn flush_if_due(&mut self) -> Result<(), Failure> {
        if self.buffer.len() >= BUFFER || (!self.buffer.is_empty() && self.written.elapsed() >= WRITTEN_WITHIN) {
            self.flush()?;
        }
        Ok(())
    }

    pub fn flush(&mut self) -> Result<(), Failure> {
        if let Err(error) = self.file.write_all(&self.buffer) {
            // A later attempt writes all of the buffer; behind a part of it, nothing would be read.
            let _ = self.file.set_len(self.length);
            return Err(operation_failure("write the journal", &self.path, &error));
        }
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        self.written = Instant::now();
        Ok(())
    }

    /// Writes the buffer and waits for the disk.
    pub fn save(&mut self) -> Result<(), Failure> {
        self.flush()?;
        self.file.sync_data().map_err(|error| operation_failure("write the journal", &self.path, &error))
    }

    /// Reads the items written so far, after the head.
    pub fn read_pages(&mut self) -> Result<Pages, Failure> {
        self.flush()?;
        let mut pages = Pages::open(&self.path)?;
        pages.head()?;
        Ok(pages)
    }

    fn batches_since(&mut self, batches: u64) -> u64 {
        batches - std::mem::replace(&mut self.batches, batches)
    }

    fn put_item(&mut self, item: Item<'_>) {
        self.writer.write(item, &mut self.buffer);
    }
}

/// True if the journal in this folder has the last frame of all `leaves` leaves. Then it holds the whole run.
pub fn is_whole(folder: &Path, leaves: usize) -> Result<bool, Failure> {
    let mut pages = Pages::open(&folder.join(JOURNAL))?;
    let mut last = vec![Vec::new(); leaves];
    while let Some(item) = pages.next()? {
        if let Item::Up { leaf, frame, .. } = item
            && let Some(last) = last.get_mut(leaf)
        {
            last.clear();
            last.extend_from_slice(frame);
        }
    }
    Ok(last.iter().all(|frame| codec::decode_frame::<Up<Message, Record>>(frame).is_ok_and(|up| up.finished)))
}

/// A journal that is being read.
#[derive(Debug)]
pub struct Pages {
    path: PathBuf,
    file: File,
    reader: JournalReader,
    /// Bytes `start..end` are read but not yet parsed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of the next item in the file.
    at: u64,
    /// Number of batches that the hub had run by then.
    batches: u64,
}

impl Pages {
    pub fn open(path: &Path) -> Result<Pages, Failure> {
        let file =
            open_regular(path, OFlags::empty()).map_err(|error| operation_failure("read the journal", path, &error))?;
        let buffer = vec![0; BUFFER];
        let path = path.to_owned();
        Ok(Pages { path, file, reader: JournalReader::default(), buffer, start: 0, end: 0, at: 0, batches: 0 })
    }

    /// Reads the head. Call it before anything else is read.
    pub fn head(&mut self) -> Result<Option<Head>, Failure> {
        let mut text = Vec::new();
        loop {
            let reader = self.reader.clone();
            let at = self.at;
            match self.next()? {
                Some(Item::Head(piece)) => text.extend_from_slice(piece),
                Some(_) => {
                    // The item that follows the head is read again by the next call.
                    self.start -= (self.at - at) as usize;
                    (self.reader, self.at, self.batches) = (reader, at, 0);
                    break;
                }
                None => break,
            }
        }
        Ok(serde_json::from_slice(&text).ok())
    }

    /// Reads the next item. None if the journal ends or is cut off there.
    pub fn next(&mut self) -> Result<Option<Item<'_>>, Failure> {
        let length = loop {
            match self.reader.next(&self.buffer[self.start..self.end]) {
                Next::Record(length) => break length,
                Next::Torn => return Ok(None),
                Next::More(wanted) => {
                    if !self.fill(wanted)? {
                        return Ok(None);
                    }
                }
            }
        };
        let begin = self.start;
        self.start += length;
        self.at += length as u64;
        let item = parse_record(&self.buffer[begin..self.start]);
        if let Item::Up { after, .. } | Item::Turn { after, .. } = item {
            self.batches += after;
        }
        Ok(Some(item))
    }

    /// Reads on until `wanted` bytes are in the buffer. Returns true if there are that many.
    fn fill(&mut self, wanted: usize) -> Result<bool, Failure> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted {
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(operation_failure("read the journal", &self.path, &error)),
            }
        }
        Ok(true)
    }
}

fn no_head(path: &Path) -> Failure {
    Failure::Input(format!(
        "{}: this is not the journal of a run, or it was cut off within its header: start the run again from the \
         beginning",
        path.display()
    ))
}
