//! The reverse way: the run's tally, and the digest of the text read, from the lines of `events.jsonl`.

use std::io::{self, BufRead};

use crate::referee::events::next_line;
use crate::{EntryError, EventReader, Names, Recorder, Tally, Unreadable};
use hansa_sim::topology::Topology;

/// Reason why a log cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Unreplayable {
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    #[error("line {line}, {wrong}")]
    Unreadable { line: u64, wrong: Unreadable },
    #[error("line {line}: {wrong}")]
    RecordError { line: u64, wrong: EntryError },
}

/// Reads a log to its end, one line at a time: what stays in memory is the tally, which now owns the jobs. For the
/// 45,000 tasks of `market-paper` that is some 15 megabytes.
pub fn replay_log(
    topology: &Topology,
    names: &Names,
    mut events: impl BufRead,
) -> Result<(Tally, String), Unreplayable> {
    let reader = EventReader::new(names);
    let mut recorder = Recorder::new(Tally::new(topology, names));
    let mut text = Vec::new();
    let mut line = 0;
    loop {
        if !next_line(&mut events, &mut text)? {
            let digest = recorder.digest();
            return Ok((recorder.tally, digest));
        }
        line += 1;
        let entry = reader.read_line(&text).map_err(|wrong| Unreplayable::Unreadable { line, wrong })?;
        recorder.record(&entry).map_err(|wrong| Unreplayable::RecordError { line, wrong })?;
    }
}
