//! Takes a run's log entry by entry, for all that is made of it: the lines of `events.jsonl`, the digest, the tally.

use crate::{EventWriter, Names, RecordError, Tally};
use hansa_sim::kernel::{Digest, Entry};
use hansa_sim::protocol::Record;
use hansa_sim::protocol::codec::{self, CodecError};

/// Bytes that are taken into the digest at once.
const PIECE: usize = 1 << 14;

pub struct Recorder {
    digest: Digest,
    /// Encoded entries that are not in the digest yet.
    encoded: Vec<u8>,
    pub tally: Tally,
    lines: Option<EventWriter>,
    text: Vec<u8>,
}

/// Reason why an entry is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    #[error(transparent)]
    RecordError(#[from] RecordError),
    #[error("a record cannot be encoded: {0}")]
    Codec(#[from] CodecError),
}

impl Recorder {
    pub fn new(tally: Tally) -> Recorder {
        Recorder { digest: Digest::new(), encoded: Vec::new(), tally, lines: None, text: Vec::new() }
    }

    /// Also produces the lines of events.jsonl.
    pub fn with_event_lines(self, names: &Names) -> Recorder {
        Recorder { lines: Some(EventWriter::new(names)), ..self }
    }

    /// Takes the next entry. One that contradicts those before it leaves no trace.
    pub fn record(&mut self, entry: &Entry<Record>) -> Result<(), EntryError> {
        let before = self.encoded.len();
        codec::pack_value(entry, &mut self.encoded)?;
        if let Err(untaken) = self.tally.add(entry) {
            self.encoded.truncate(before);
            return Err(untaken.into());
        }
        if self.encoded.len() >= PIECE {
            self.digest.update(&self.encoded);
            self.encoded.clear();
        }
        if let Some(lines) = &self.lines {
            lines.write(entry, &mut self.text);
        }
        Ok(())
    }

    /// The lines that have come up since they were last cleared.
    pub fn pending_lines(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// The digest of all that has been recorded.
    pub fn digest(&self) -> String {
        let mut digest = self.digest.clone();
        digest.update(&self.encoded);
        digest.finish()
    }
}
