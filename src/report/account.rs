//! The accounts of a run: what the core and each subject make of its jobs, which all are shown once, by number.

use super::core::Core;
use super::tally::JobRow;
use super::{Status, Summary, Tally, Untaken};
use crate::time::Time;

/// A table, or another file, in the making: the name of its file, and the rows that have not been written yet.
pub(super) type Table<'a> = (&'static str, &'a mut Vec<u8>);

/// Takes rows of a table, with the name of its file.
type Put<'a, E> = dyn FnMut(&'static str, &[u8]) -> Result<(), E> + 'a;

pub(super) trait Account {
    /// The next job, and from when on each of its tasks could have started.
    fn job(&mut self, row: &JobRow, ready: &[Option<Time>]);

    fn tables(&mut self) -> Vec<Table<'_>> {
        Vec::new()
    }

    /// After the last job: the rows and files that had to wait for it, and its part of the summary.
    fn close(&mut self, summary: &mut Summary);

    /// After that: makes more rows; says whether there were any left.
    fn goes_on(&mut self) -> bool {
        false
    }
}

/// Bytes of rows that are written at once.
const PIECE: usize = 1 << 18;

impl Tally {
    /// Looks at every job once. Hands over the tables in pieces of some kilobytes, each with the name of its file, and
    /// gives the summary.
    pub fn close<E: From<Untaken>>(
        &self,
        seed: u64,
        status: Status,
        digest: String,
        mut put: impl FnMut(&'static str, &[u8]) -> Result<(), E>,
    ) -> Result<Summary, E> {
        self.look(seed, status, digest, true, &mut put)
    }

    /// The summary of a tally that is all in memory.
    pub fn summary(&self, seed: u64, status: Status, digest: String) -> Summary {
        let summary = self.look(seed, status, digest, false, &mut |_, _| Ok::<(), Untaken>(()));
        summary.expect("what is in memory can be read")
    }

    fn look<E: From<Untaken>>(
        &self,
        seed: u64,
        status: Status,
        digest: String,
        tables: bool,
        put: &mut Put<'_, E>,
    ) -> Result<Summary, E> {
        let mut accounts: Vec<Box<dyn Account + '_>> = vec![Box::new(Core::new(self, tables))];
        accounts.extend(self.subjects.iter().map(|present| present.topic.account(self, tables)));

        let mut ready = Vec::new();
        let mut rows = self.rows().map_err(Untaken::from)?;
        while let Some(row) = rows.next().map_err(Untaken::from)? {
            row.ready_into(&mut ready);
            for account in &mut accounts {
                account.job(row, &ready);
                if tables {
                    hand_over(account.tables(), PIECE, put)?;
                }
            }
        }
        let mut summary = Summary::begin(self, seed, status, digest);
        for account in &mut accounts {
            account.close(&mut summary);
            if tables {
                while account.goes_on() {
                    hand_over(account.tables(), PIECE, put)?;
                }
                hand_over(account.tables(), 0, put)?;
            }
        }
        Ok(summary)
    }
}

/// Hands over what is longer than this.
fn hand_over<E>(tables: Vec<Table<'_>>, longer: usize, put: &mut Put<'_, E>) -> Result<(), E> {
    for (name, text) in tables {
        if text.len() > longer {
            put(name, text)?;
            text.clear();
        }
    }
    Ok(())
}
