//! Processing of a run's log while the run goes on, on a thread of its own: lines, digest and tally.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Failure;
use super::background::Consumer;
use super::files::{EVENTS, FileError, Shelf};
use hansa_report::{EntryError, Inconsistent, RecordError, Recorder};
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::Record;
use hansa_sim::time::Time;
use hansa_sim::topology::{self, Topology};

pub const TRANSFERS: &str = "transfers.csv";

/// Size of a batch of items, in bytes.
const PIECE: usize = 1 << 16;

pub struct Recording {
    pub recorder: Recorder,
    /// Files of the result that grow during the run.
    pub shelf: Shelf,
    moves_data: bool,
    /// The first entry that contradicts earlier ones, and the contradiction. Later entries are not recorded.
    contradicted: Option<(Entry<Record>, Inconsistent)>,
    /// Set when an entry contradicts earlier ones.
    alarm: Arc<AtomicBool>,
}

impl Recording {
    pub fn new(recorder: Recorder, shelf: Shelf, moves_data: bool, alarm: Arc<AtomicBool>) -> Recording {
        Recording { recorder, shelf, moves_data, contradicted: None, alarm }
    }

    /// Time and author of the first contradiction in the log. None if there is none.
    pub fn first_contradiction(&self, topology: &Topology) -> Option<(Time, String)> {
        let (entry, wrong) = self.contradicted.as_ref()?;
        let owners = topology::job_owners(topology).unwrap_or_default();
        let blame = self.recorder.tally.blame_members(entry, wrong, &owners);
        let at = entry.stamp.time;
        Some((at, format!("{blame} at virtual time {at}: {wrong}")))
    }

    /// Writes the lines collected so far.
    fn write_lines(&mut self) -> Result<(), FileError> {
        self.shelf.append_to(EVENTS, self.recorder.pending_lines())?;
        self.recorder.pending_lines().clear();
        Ok(())
    }
}

impl Recording {
    /// Writes the rows of tables that are complete while the run goes on, of at least this many bytes.
    fn write_tables(&mut self, least: usize) -> Result<(), FileError> {
        for (file, rows) in self.recorder.tally.tables_so_far().filter(|(_, rows)| rows.len() >= least) {
            self.shelf.append_to(file, rows)?;
            rows.clear();
        }
        Ok(())
    }
}

impl Consumer<Entry<Record>> for Recording {
    type Error = Failure;

    fn take_items(&mut self, log: &[Entry<Record>]) -> Result<(), Failure> {
        for entry in log {
            if self.contradicted.is_some() {
                break;
            }
            match self.recorder.record(entry) {
                // Our own actors write no such log, so a peer has invented something.
                Err(EntryError::RecordError(RecordError::Inconsistent(wrong))) => {
                    self.contradicted = Some((entry.clone(), wrong));
                    self.alarm.store(true, Ordering::Relaxed);
                }
                recorded => recorded?,
            }
            if self.recorder.pending_lines().len() >= PIECE {
                self.write_lines()?;
            }
        }
        let transfers = self.recorder.tally.transfers_so_far();
        if self.moves_data && transfers.len() >= PIECE {
            self.shelf.append_to(TRANSFERS, transfers)?;
            transfers.clear();
        }
        Ok(self.write_tables(PIECE)?)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.write_tables(0)?;
        Ok(self.write_lines()?)
    }

    fn copy_error(error: &Failure) -> Failure {
        error.clone()
    }
}
