//! Takes a run's log entry by entry, for all that is made of it: the lines of `events.jsonl`, the digest, the tally.

use super::{EventWriter, Names, Tally, Untaken};
use crate::kernel::{Digest, Entry};
use crate::protocol::Record;
use crate::protocol::codec::{self, CodecError};

pub struct Recorder {
    digest: Digest,
    encoded: Vec<u8>,
    pub tally: Tally,
    lines: Option<EventWriter>,
    text: Vec<u8>,
}

/// Why an entry is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum Unrecorded {
    #[error(transparent)]
    Untaken(#[from] Untaken),
    #[error("a record cannot be encoded: {0}")]
    Codec(#[from] CodecError),
}

impl Recorder {
    pub fn new(tally: Tally) -> Recorder {
        Recorder { digest: Digest::new(), encoded: Vec::new(), tally, lines: None, text: Vec::new() }
    }

    /// Writes lines, too.
    pub fn with_lines(self, names: &Names) -> Recorder {
        Recorder { lines: Some(EventWriter::new(names)), ..self }
    }

    /// Takes the next entry. One that contradicts those before it leaves no trace.
    pub fn record(&mut self, entry: &Entry<Record>) -> Result<(), Unrecorded> {
        self.encoded.clear();
        codec::encode(entry, &mut self.encoded)?;
        self.tally.add(entry)?;
        self.digest.update(&self.encoded);
        if let Some(lines) = &self.lines {
            lines.write(entry, &mut self.text);
        }
        Ok(())
    }

    /// The lines that have come up since they were last cleared.
    pub fn lines(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// The digest of all that has been recorded.
    pub fn digest(&self) -> String {
        self.digest.finish()
    }
}
