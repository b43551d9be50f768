//! The accounts of a run: the results of the core and of each subject.

use std::collections::BTreeMap;
use std::io;
use std::iter;
use std::sync::mpsc::sync_channel;
use std::thread;

use crate::referee::tally::JobRow;
use crate::results::account::Account;
use crate::results::core::Core;
use crate::results::jobs::{JobSheet, TaskSheet};
use crate::results::summary::{Counts, Utilisation};
use crate::tables::columns::OpenTable;
use crate::{RecordError, Status, Summary, Tally};
use hansa_sim::time::Time;

/// Takes rows of a table, with the name of its file.
type Put<'a, E> = dyn FnMut(&'static str, &[u8]) -> Result<(), E> + 'a;

/// Takes a job, with the earliest start of each of its tasks.
type Show<'a, E> = dyn FnMut(&JobRow, &[Option<Time>]) -> Result<(), E> + 'a;

/// Number of bytes of rows written at once.
const PIECE: usize = 1 << 18;

/// Number of pieces of tables that may wait to be handed over.
const WAITING: usize = 4;

impl Tally {
    /// Shows every job to the accounts. Hands over the tables in pieces of some kilobytes, each with the name of its
    /// file, and returns the summary.
    pub fn close<E: From<RecordError>>(
        &self,
        seed: u64,
        status: Status,
        digest: String,
        mut put: impl FnMut(&'static str, &[u8]) -> Result<(), E>,
    ) -> Result<Summary, E> {
        let begun = Summary::begin(self, seed, status, digest);
        // One table is made here, mostly the longest; the others take about as long together, and are made on a second
        // thread.
        let has_tasks = !self.has_only_single_tasks();
        let mut sheet: Box<dyn Account + '_> =
            if has_tasks { Box::new(TaskSheet::new(self)) } else { Box::new(JobSheet::new(self)) };
        let others = || {
            let jobs = has_tasks.then(|| Box::new(JobSheet::new(self)) as Box<dyn Account + '_>);
            jobs.into_iter().chain(self.open_accounts(true)).collect()
        };
        thread::scope(|scope| {
            let (pieces, made) = sync_channel::<(&'static str, Vec<u8>)>(WAITING);
            let summary = begun.clone();
            let counted = thread::Builder::new().name("accounts".to_owned()).spawn_scoped(scope, move || {
                // The receiver is gone if other pieces could not be written, and that error is reported there.
                self.count(
                    others(),
                    summary,
                    Some(&mut |name, rows| {
                        pieces
                            .send((name, rows.to_vec()))
                            .map_err(|_| RecordError::from(io::Error::from(io::ErrorKind::BrokenPipe)))
                    }),
                )
            });

            self.show_jobs::<E>(&mut |row, ready| {
                self.show_job(&mut *sheet, row, ready);
                pass_on_tables(sheet.open_tables(), PIECE, &mut put)?;
                made.try_iter().try_for_each(|(name, rows)| put(name, &rows))
            })?;
            pass_on_tables(sheet.open_tables(), 0, &mut put)?;
            made.iter().try_for_each(|(name, rows)| put(name, &rows))?;
            match counted {
                Ok(counted) => Ok(counted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?),
                // There may be no more threads.
                Err(_) => self.count(others(), begun, Some(&mut put)),
            }
        })
    }

    /// The summary of a tally that is all in memory.
    pub fn summary(&self, seed: u64, status: Status, digest: String) -> Summary {
        let begun = Summary::begin(self, seed, status, digest);
        let summary = self.count::<RecordError>(self.open_accounts(false).collect(), begun, None);
        summary.expect("what is in memory can be read")
    }

    /// The accounts of a summary, with or without their tables.
    fn open_accounts(&self, tables: bool) -> impl Iterator<Item = Box<dyn Account + '_>> {
        let core = Box::new(Core::new(self)) as Box<dyn Account + '_>;
        iter::once(core).chain(self.subjects.iter().map(move |present| present.report.open_account(self, tables)))
    }

    /// Shows all jobs to some accounts, and hands over their tables if there is a receiver.
    fn count<'a, E: From<RecordError>>(
        &'a self,
        mut accounts: Vec<Box<dyn Account + 'a>>,
        mut summary: Summary,
        mut put: Option<&mut Put<'_, E>>,
    ) -> Result<Summary, E> {
        self.show_jobs::<E>(&mut |row, ready| {
            for account in &mut accounts {
                self.show_job(&mut **account, row, ready);
                if let Some(put) = &mut put {
                    pass_on_tables(account.open_tables(), PIECE, put)?;
                }
            }
            Ok(())
        })?;
        for account in &mut accounts {
            account.close(&mut summary);
            if let Some(put) = &mut put {
                while account.goes_on() {
                    pass_on_tables(account.open_tables(), PIECE, put)?;
                }
                pass_on_tables(account.open_tables(), 0, put)?;
            }
        }
        Ok(summary)
    }

    fn show_job(&self, account: &mut (dyn Account + '_), row: &JobRow, ready: &[Option<Time>]) {
        match self.counted.is_counted(row) {
            true => account.job(row, ready),
            false => account.add_uncounted(row, ready),
        }
    }

    /// Shows every job, by number.
    fn show_jobs<E: From<RecordError>>(&self, show: &mut Show<'_, E>) -> Result<(), E> {
        let mut ready = Vec::new();
        let mut rows = self.rows().map_err(RecordError::from)?;
        while let Some(row) = rows.next().map_err(RecordError::from)? {
            row.ready_into(&mut ready);
            show(row, &ready)?;
        }
        Ok(())
    }
}

/// Hands over the tables that are longer than this.
fn pass_on_tables<E>(tables: Vec<OpenTable<'_>>, longer: usize, put: &mut Put<'_, E>) -> Result<(), E> {
    for (name, text) in tables {
        if text.len() > longer {
            put(name, text)?;
            text.clear();
        }
    }
    Ok(())
}

impl Summary {
    /// A summary before its first job.
    pub(crate) fn begin(tally: &Tally, seed: u64, status: Status, digest: String) -> Summary {
        let arrivals = tally.totals.arrivals;
        let end = tally.end_of_work();
        let whole = arrivals.zip(end).map(|((first, _), end)| end.since(first));
        Summary {
            topology: tally.topology.clone(),
            seed,
            status,
            digest,
            entries: tally.entries,
            jobs: Counts::default(),
            tasks: Counts::default(),
            counted: None,
            turnaround: None,
            starved: None,
            in_time: None,
            value: None,
            job_wait: None,
            task_wait: None,
            stretch: None,
            slr: None,
            slr_by_size: Vec::new(),
            slr_by_runtime: Vec::new(),
            slr_by_critical_path: Vec::new(),
            first_arrival: arrivals.map(|(first, _)| to_seconds(first)),
            last_arrival: arrivals.map(|(_, last)| to_seconds(last)),
            end: end.map(to_seconds),
            makespan: whole.map(|whole| whole.micros() as f64 / 1e6),
            utilisation: Utilisation::default(),
            useful: None,
            view: None,
            parts: BTreeMap::new(),
            transfers: tally.transfers.carried_summary(),
            mixed: tally.is_mixed(),
            idle_users: Vec::new(),
        }
    }
}

fn to_seconds(time: Time) -> f64 {
    time.micros() as f64 / 1e6
}
