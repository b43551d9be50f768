//! Collects the data of the tables while a log passes.

mod book;
mod counting;
mod failing;
mod flows;
mod inconsistent;
mod row;
mod site;
mod state;
mod stints;
#[cfg(test)]
pub(crate) mod tests;

use std::any::Any;
use std::ops::Deref;

pub use self::book::JobBook;
pub(crate) use self::counting::{CountResult, Reporter};
pub(crate) use self::flows::FinishedFlow;
pub use self::inconsistent::{Inconsistent, RecordError};
pub(crate) use self::row::{AnsweredRow, Fate, JobRow, ShapesRow, Standing, TaskRow};
pub(crate) use self::site::{SiteFacts, Used};
pub(crate) use self::state::SubjectTally;
pub(crate) use self::stints::{Stint, StintEnd, Stints};
use super::ledger::Store;
use super::witness::Witness;
use crate::Names;
use crate::subjects::{self, ActiveSubject, USUAL, Words};
use crate::tables::columns::OpenTable;
use hansa_sim::grid::JobId;
use hansa_sim::kernel::Entry;
use hansa_sim::protocol::Record;
use hansa_sim::topology::Topology;

/// The account of a run so far: it takes the log entry by entry, into the book of its jobs and the states of all
/// subjects.
///
/// The recorder of a run owns one, and so does a replay of a log. It checks each record against those before it, and
/// refuses one that contradicts them. Accounts and pages read it after the last entry.
///
/// A tally that keeps all, as pages need it, shares the jobs with their makers and adds some 90 bytes per task and 120
/// per job. A tally that sets finished jobs aside keeps only the others in memory, and one bit per job.
#[derive(Debug)]
pub struct Tally {
    book: JobBook,
    states: Vec<Box<dyn SubjectTally>>,
    /// Indices of the states that watch the records of others.
    watchers: Vec<usize>,
    /// The subjects of its topology.
    pub(crate) subjects: Vec<ActiveSubject>,
    pub(crate) entries: u64,
}

/// All that reports read of a log is in its book, but for the states of subjects.
impl Deref for Tally {
    type Target = JobBook;

    fn deref(&self) -> &JobBook {
        &self.book
    }
}

impl Tally {
    /// A tally that keeps all.
    pub fn new(topology: &Topology, names: &Names) -> Tally {
        let subjects = subjects::of(topology);
        let waiting = subjects.iter().filter(|present| present.subject.one_task);
        let book = JobBook::new(topology, names, waiting.flat_map(|present| present.systems.clone()).collect());
        let states: Vec<Box<dyn SubjectTally>> =
            subjects::ALL.iter().filter_map(|subject| subject.tally).map(|state| state(topology, &book)).collect();
        let watchers = (0..states.len()).filter(|state| states[*state].watches()).collect();
        Tally { book, states, watchers, subjects, entries: 0 }
    }

    /// A tally that sets finished jobs aside: into the store, once there are many.
    pub fn putting_aside(topology: &Topology, names: &Names, store: Box<dyn Store>) -> Tally {
        let mut tally = Tally::new(topology, names);
        tally.book.put_aside_into(store);
        tally.states.iter_mut().for_each(|state| state.drop_page_data());
        tally
    }

    /// Makes the tables that are written while the log passes.
    pub fn with_tables(mut self, topology: &Topology) -> Tally {
        self.states.iter_mut().for_each(|state| state.begin_table(topology));
        self
    }

    /// Names and rows of these tables, as far as they are known and have not been taken.
    pub fn tables_so_far(&mut self) -> impl Iterator<Item = OpenTable<'_>> {
        self.states.iter_mut().filter_map(|state| state.table())
    }

    /// Consults this witness before members are blamed.
    pub fn witnessed_by(&mut self, witness: Witness) {
        self.book.witness = Some(witness);
    }

    /// Takes the next entry of the log. One that contradicts those before it changes nothing.
    pub fn add(&mut self, entry: &Entry<Record>) -> Result<(), RecordError> {
        let by = Reporter { actor: entry.actor, now: entry.stamp.time };
        let touched = self.take(by, &entry.record)?;
        for watcher in &self.watchers {
            self.states[*watcher].watch(&self.book, by, &entry.record);
        }
        self.entries += 1;
        self.book.last = self.book.last.max(entry.stamp.time);
        touched.map_or(Ok(()), |job| self.put_aside(job))
    }

    /// Takes a record by the table that has it. Returns the job that may be finished by it, if there is one.
    fn take(&mut self, by: Reporter, record: &Record) -> CountResult {
        let Tally { book, states, .. } = self;
        let taken = book.take_record(by, record);
        let taken = taken.or_else(|| states.iter_mut().find_map(|state| state.take(book, by, record)));
        taken.expect("each kind of record is in a table")
    }

    /// Sets a job aside if nothing more can happen to it.
    fn put_aside(&mut self, job: JobId) -> Result<(), RecordError> {
        let Some(row) = self.book.remove_finished(job) else { return Ok(()) };
        self.states.iter_mut().for_each(|state| state.put_aside(&row));
        self.book.put_aside(row)
    }

    /// The state of a subject.
    pub(crate) fn state<S: SubjectTally>(&self) -> &S {
        let states = self.states.iter().map(|state| &**state as &dyn Any);
        states.filter_map(<dyn Any>::downcast_ref).next().expect("a tally has the state of each subject")
    }

    /// True if the author of a refused entry is alone with its word.
    pub(super) fn is_alone_with(&self, entry: &Entry<Record>, wrong: &Inconsistent) -> bool {
        self.states.iter().any(|state| state.is_alone_with(entry, wrong))
    }

    /// Words of reports for its jobs.
    pub(crate) fn report_words(&self) -> Words {
        self.subjects.iter().find_map(|present| present.subject.words).unwrap_or(USUAL)
    }

    /// Rows of the table of transfers that have not been taken.
    pub fn transfers_so_far(&mut self) -> &mut Vec<u8> {
        self.book.transfers_so_far()
    }

    /// Sets the numbers and names of jobs in their logs.
    pub fn set_numbers(&mut self, jobs: Vec<(JobId, u64, Option<String>)>) {
        self.book.log_numbers.take_numbers(jobs.into_iter());
    }

    /// Number of jobs of which it keeps more than their existence and the sums.
    #[cfg(test)]
    pub fn remembered_jobs(&self) -> usize {
        self.jobs.len() + self.states.iter().map(|state| state.memory()).sum::<usize>()
    }
}
