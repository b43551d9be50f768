//! The accounts of a run: the results of the core and of each subject.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::iter;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
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

/// Shows every job, by number.
type Source<'a, E> = dyn FnMut(&mut Show<'_, E>) -> Result<(), E> + 'a;

/// Number of bytes of rows written at once.
const PIECE: usize = 1 << 18;

/// Number of pieces of tables, and of batches of jobs, that may wait to be handed over.
const WAITING: usize = 4;

/// Number of jobs that are shown to the second thread at once.
const BATCH: usize = 256;

/// Jobs for both threads.
type Batch<'a> = Arc<Vec<Cow<'a, JobRow>>>;

/// A message of the second thread.
enum Report {
    /// It has taken a batch of jobs, so there is room for another one.
    Taken,
    /// Rows of the table with this name.
    Piece(&'static str, Vec<u8>),
}

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
        // thread, from the same jobs: reading them back takes as long as a table.
        let has_tasks = !self.has_only_single_tasks();
        let mut sheet: Box<dyn Account + '_> =
            if has_tasks { Box::new(TaskSheet::new(self)) } else { Box::new(JobSheet::new(self)) };
        let others = || {
            let jobs = has_tasks.then(|| Box::new(JobSheet::new(self)) as Box<dyn Account + '_>);
            jobs.into_iter().chain(self.open_accounts(true)).collect()
        };
        thread::scope(|scope| {
            let (batches, shown) = sync_channel(WAITING);
            let (reports, made) = sync_channel(WAITING);
            let summary = begun.clone();
            let counted = thread::Builder::new()
                .name("accounts".to_owned())
                .spawn_scoped(scope, move || self.count_shown(others(), summary, &shown, &reports));
            let mut rows = self.rows().map_err(RecordError::from)?;
            let mut ready = Vec::new();
            let mut room = WAITING;
            loop {
                let batch: Batch<'_> = Arc::new(rows.next_batch(BATCH).map_err(RecordError::from)?);
                if batch.is_empty() {
                    break;
                }
                // The other thread may wait until a piece of it is taken, so nothing else is waited for.
                while room == 0 {
                    match made.recv() {
                        Ok(Report::Taken) => room += 1,
                        Ok(Report::Piece(name, rows)) => put(name, &rows)?,
                        // It has failed, or there are no more threads.
                        Err(_) => room = usize::MAX,
                    }
                }
                room -= 1;
                let _ = batches.send(batch.clone());
                for row in &*batch {
                    row.ready_into(&mut ready);
                    self.show_job(&mut *sheet, row, &ready);
                    pass_on_tables(sheet.open_tables(), PIECE, &mut put)?;
                }
            }
            drop(batches);
            pass_on_tables(sheet.open_tables(), 0, &mut put)?;
            for report in &made {
                if let Report::Piece(name, rows) = report {
                    put(name, &rows)?;
                }
            }
            match counted {
                Ok(counted) => Ok(counted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?),
                // There may be no more threads.
                Err(_) => self.count(others(), begun, &mut |show| self.show_jobs(show), Some(&mut put)),
            }
        })
    }

    /// Shows jobs to some accounts as they come, and reports their tables.
    fn count_shown<'a>(
        &'a self,
        accounts: Vec<Box<dyn Account + 'a>>,
        summary: Summary,
        shown: &Receiver<Batch<'_>>,
        reports: &SyncSender<Report>,
    ) -> Result<Summary, RecordError> {
        let mut source = |show: &mut Show<'_, RecordError>| {
            let mut ready = Vec::new();
            for batch in shown {
                send_report(Report::Taken, reports)?;
                for row in &*batch {
                    row.ready_into(&mut ready);
                    show(row, &ready)?;
                }
            }
            Ok(())
        };
        let mut put = |name, rows: &[u8]| send_report(Report::Piece(name, rows.to_vec()), reports);
        self.count(accounts, summary, &mut source, Some(&mut put))
    }

    /// The summary of a tally that is all in memory.
    pub fn summary(&self, seed: u64, status: Status, digest: String) -> Summary {
        let begun = Summary::begin(self, seed, status, digest);
        let accounts = self.open_accounts(false).collect();
        let summary = self.count::<RecordError>(accounts, begun, &mut |show| self.show_jobs(show), None);
        summary.expect("what is in memory can be read")
    }

    /// The accounts of a summary, with or without their tables.
    fn open_accounts(&self, tables: bool) -> impl Iterator<Item = Box<dyn Account + '_>> {
        let core = Box::new(Core::new(self)) as Box<dyn Account + '_>;
        iter::once(core).chain(self.subjects.iter().map(move |present| present.report.open_account(self, tables)))
    }

    /// Shows all jobs of a source to some accounts, and hands over their tables if there is a receiver.
    fn count<'a, E: From<RecordError>>(
        &'a self,
        mut accounts: Vec<Box<dyn Account + 'a>>,
        mut summary: Summary,
        source: &mut Source<'_, E>,
        mut put: Option<&mut Put<'_, E>>,
    ) -> Result<Summary, E> {
        source(&mut |row, ready| {
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
            show(&row, &ready)?;
        }
        Ok(())
    }
}

fn send_report(report: Report, reports: &SyncSender<Report>) -> Result<(), RecordError> {
    // The receiver is gone if other pieces could not be written, and that error is reported there.
    reports.send(report).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe).into())
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
