//! The interface of the states that subjects keep while a log passes.

use std::any::Any;
use std::fmt;

use super::book::JobBook;
use super::counting::{CountResult, Reporter};
use super::inconsistent::Inconsistent;
use super::row::JobRow;
use crate::tables::columns::OpenTable;
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::Record;
use hansa_sim::topology::Topology;

/// The part of a tally that belongs to one subject.
///
/// A tally has the state of each subject, whether its systems take part or not. It takes the records of its subject,
/// checks them against the book of jobs, and keeps what the subject's account and section need. Its memory must not
/// grow with the jobs that are set aside, unless pages need it.
pub trait SubjectTally: fmt::Debug + Send + Sync + Any {
    /// Takes a record of the subject. Returns the job that may be finished by it, if there is one; None if the record
    /// belongs to another table. A record that contradicts those before it changes nothing.
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult>;

    /// True if `watch` is to be called after every record, also after those of other subjects.
    fn watches(&self) -> bool {
        false
    }

    /// Called after any record has been taken, if it watches.
    fn watch(&mut self, _book: &JobBook, _by: Reporter, _record: &Record) {}

    /// Takes a finished job that the book is about to set aside.
    fn put_aside(&mut self, _row: &JobRow) {}

    /// Keeps no data for pages, called before the first record.
    fn drop_page_data(&mut self) {}

    /// Begins a table that is written while the log passes, if the topology wants it.
    fn begin_table(&mut self, _topology: &Topology) {}

    /// The rows of that table that have not been taken; None if there is no table.
    fn table(&mut self) -> Option<OpenTable<'_>> {
        None
    }

    /// True if no word of another member is behind a refused entry, so that its author alone is at fault.
    fn is_alone_with(&self, _entry: &Entry<Record>, _wrong: &Inconsistent) -> bool {
        false
    }

    /// Number of kept entries, without sums.
    #[cfg(test)]
    fn memory(&self) -> usize {
        0
    }
}
