//! The interface of accounts, which see each job of a run once, by number.

use crate::Summary;
use crate::referee::tally::JobRow;
use crate::tables::columns::OpenTable;
use hansa_sim::time::Time;

pub(crate) trait Account: Send {
    /// Takes the next job, with the earliest start of each of its tasks.
    fn job(&mut self, row: &JobRow, ready: &[Option<Time>]);

    /// Takes the next job if it is in the warm-up or the cool-down of its workload: it counts in no mean, but tables
    /// and sums of work and costs include it.
    fn add_uncounted(&mut self, row: &JobRow, ready: &[Option<Time>]);

    fn open_tables(&mut self) -> Vec<OpenTable<'_>> {
        Vec::new()
    }

    /// Called after the last job: adds the rows and files that had to wait for it, and its part of the summary, if any.
    fn close(&mut self, _summary: &mut Summary) {}

    /// Called after that: adds more rows; false if there are none left.
    fn goes_on(&mut self) -> bool {
        false
    }
}
