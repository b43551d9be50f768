//! Finished jobs, set aside until the end of the run, when they are read in the order of their numbers.
//!
//! Jobs end in any order, and tables list them by number. So finished jobs are gathered; once there are many, they are
//! sorted, packed, and written to a [`Store`] as one run; at the end all runs are merged. Memory holds the gathered
//! jobs, a window on each run, and one bit per job. A simulation of some hundred thousand tasks is never packed, unless
//! these were often paused.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::io;

use crate::referee::tally::JobRow;
use hansa_sim::grid::JobId;
use hansa_sim::protocol::codec;

/// A place where bytes can be set aside and read again: usually a file.
pub trait Store: Send + Sync {
    /// Appends all of these bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills the buffer with appended bytes, from this offset on.
    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Size of a run in tasks and stints of tasks: some thirty megabytes.
const RUN: usize = 200_000;
/// Size of a job beside its tasks, in tasks.
const JOB: usize = 3;
/// Number of bytes of a run read at once.
const WINDOW: usize = 256 << 10;
/// Size of the head of each job in a run: its number, and its length in bytes.
const HEAD: usize = 8;

/// The finished jobs of a tally, and a record of which jobs have ended.
///
/// A `JobBook` adds each job when nothing can change it any more. At the end of the run the accounts read all of them
/// once, in the order of their numbers, merged from the store and from memory. Memory is
/// bounded: at most one run of jobs, a window on each run in the store, and one bit per job.
pub(crate) struct Ledger {
    store: Box<dyn Store>,
    run: usize,
    gathered: Vec<JobRow>,
    /// Size of the gathered jobs, in tasks.
    tasks: usize,
    /// Begin and end of each run in the store.
    runs: Vec<(u64, u64)>,
    stored: u64,
    seen: JobBits,
}

impl Store for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(place).ok().and_then(|place| self.get(place..)?.get(..buffer.len()));
        buffer.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl Ledger {
    pub fn new(store: Box<dyn Store>) -> Ledger {
        let gathered = Vec::new();
        let runs = Vec::new();
        Ledger { store, run: RUN, gathered, tasks: 0, runs, stored: 0, seen: JobBits::default() }
    }

    #[cfg(test)]
    pub fn with_runs_of(self, run: usize) -> Ledger {
        Ledger { run, ..self }
    }

    pub fn holds(&self, job: JobId) -> bool {
        self.seen.has(job)
    }

    /// Sets a job aside, which must not be here already.
    pub fn put_row(&mut self, row: JobRow) -> io::Result<()> {
        self.seen.add(row.job.id);
        self.tasks += JOB + row.tasks_and_stints();
        self.gathered.push(row);
        if self.tasks >= self.run { self.store_run() } else { Ok(()) }
    }

    fn store_run(&mut self) -> io::Result<()> {
        self.gathered.sort_unstable_by_key(|row| row.job.id);
        let begin = self.stored;
        let mut written = Vec::with_capacity(WINDOW);
        for row in self.gathered.drain(..) {
            let head = written.len();
            written.extend_from_slice(&row.job.id.0.to_le_bytes());
            written.extend_from_slice(&[0; 4]);
            codec::pack_value(&row, &mut written).map_err(io::Error::other)?;
            let length = u32::try_from(written.len() - head - HEAD).map_err(io::Error::other)?;
            written[head + 4..head + HEAD].copy_from_slice(&length.to_le_bytes());
            if written.len() >= WINDOW {
                self.store.append(&written)?;
                self.stored += written.len() as u64;
                written.clear();
            }
        }
        self.store.append(&written)?;
        self.stored += written.len() as u64;
        self.runs.push((begin, self.stored));
        self.tasks = 0;
        Ok(())
    }

    /// The row of one job, at the cost of reading all.
    pub fn find(&self, job: JobId) -> io::Result<Option<JobRow>> {
        let mut rows = self.read_rows()?;
        while let Some(row) = rows.next()? {
            if row.job.id == job {
                return Ok(Some(row.into_owned()));
            }
        }
        Ok(None)
    }

    /// All jobs here, by number.
    pub fn read_rows(&self) -> io::Result<Merged<'_>> {
        let mut here: Vec<&JobRow> = self.gathered.iter().collect();
        here.sort_unstable_by_key(|row| Reverse(row.job.id));
        let mut merged = Merged { ledger: self, runs: Vec::new(), here, heads: BinaryHeap::new() };
        for (index, &(begin, end)) in self.runs.iter().enumerate() {
            let mut run = SortedRun { next: begin, end, window: Vec::new(), at: 0 };
            if let Some(job) = run.head(self)? {
                merged.heads.push(Reverse((job, index)));
            }
            merged.runs.push(run);
        }
        Ok(merged)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledger({} gathered, {} runs)", self.gathered.len(), self.runs.len())
    }
}

/// A ledger read in the order of jobs' numbers.
pub(crate) struct Merged<'a> {
    ledger: &'a Ledger,
    runs: Vec<SortedRun>,
    /// The jobs that were never stored, in reverse order.
    here: Vec<&'a JobRow>,
    /// The next job of each run.
    heads: BinaryHeap<Reverse<(JobId, usize)>>,
}

impl<'a> Merged<'a> {
    /// The number of the next job.
    pub fn peek(&self) -> Option<JobId> {
        let stored = self.heads.peek().map(|Reverse((job, _))| *job);
        let here = self.here.last().map(|row| row.job.id);
        stored.into_iter().chain(here).min()
    }

    pub fn next(&mut self) -> io::Result<Option<Cow<'a, JobRow>>> {
        let Some(job) = self.peek() else { return Ok(None) };
        if let Some(row) = self.here.pop_if(|row| row.job.id == job) {
            return Ok(Some(Cow::Borrowed(row)));
        }
        let Some(Reverse((_, index))) = self.heads.pop() else { return Ok(None) };
        let run = &mut self.runs[index];
        let row = codec::unpack_value(run.take_row(self.ledger)?).map_err(io::Error::other)?;
        if let Some(next) = run.head(self.ledger)? {
            self.heads.push(Reverse((next, index)));
        }
        Ok(Some(Cow::Owned(row)))
    }
}

/// A run of the store, with its part in memory.
struct SortedRun {
    /// Offset of the part that has not been read.
    next: u64,
    end: u64,
    window: Vec<u8>,
    at: usize,
}

impl SortedRun {
    /// The number of the next job.
    fn head(&mut self, ledger: &Ledger) -> io::Result<Option<JobId>> {
        if self.at == self.window.len() && self.next == self.end {
            return Ok(None);
        }
        self.fill_window(HEAD, ledger)?;
        Ok(Some(JobId(self.read_word(self.at))))
    }

    /// The bytes of the next job, whose head has been read.
    fn take_row(&mut self, ledger: &Ledger) -> io::Result<&[u8]> {
        let length = self.read_word(self.at + 4) as usize;
        self.fill_window(HEAD + length, ledger)?;
        let from = self.at + HEAD;
        self.at = from + length;
        Ok(&self.window[from..self.at])
    }

    fn read_word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.window[at..at + 4].try_into().expect("four bytes"))
    }

    fn fill_window(&mut self, bytes: usize, ledger: &Ledger) -> io::Result<()> {
        if self.window.len() - self.at >= bytes {
            return Ok(());
        }
        self.window.drain(..self.at);
        self.at = 0;
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let kept = self.window.len();
        let more = WINDOW.max(bytes).min(left);
        self.window.resize(kept + more, 0);
        ledger.store.read_at(self.next, &mut self.window[kept..])?;
        self.next += more as u64;
        match self.window.len() >= bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// The set of jobs: one bit per job, where numbers are close together.
#[derive(Default)]
struct JobBits {
    pages: BTreeMap<u32, Box<[u64; JobBits::WORDS]>>,
}

impl JobBits {
    const WORDS: usize = 64;

    fn place(job: JobId) -> (u32, usize, u64) {
        let page = JobBits::WORDS as u32 * 64;
        (job.0 / page, (job.0 % page / 64) as usize, 1 << (job.0 % 64))
    }

    fn add(&mut self, job: JobId) {
        let (page, word, bit) = JobBits::place(job);
        self.pages.entry(page).or_insert_with(|| Box::new([0; JobBits::WORDS]))[word] |= bit;
    }

    fn has(&self, job: JobId) -> bool {
        let (page, word, bit) = JobBits::place(job);
        self.pages.get(&page).is_some_and(|words| words[word] & bit > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;
    use crate::referee::tally::tests::row;
    use hansa_sim::grid::NodeSet;
    use hansa_sim::time::{Span, Time};

    /// A file that tests can look into.
    #[derive(Clone, Default)]
    struct Shelf(Arc<Mutex<Vec<u8>>>);

    impl Store for Shelf {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(())
        }

        fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
            self.0.lock().unwrap().read_at(place, buffer)
        }
    }

    fn ledger(jobs: &[u32], shelf: &Shelf, run: usize) -> Ledger {
        let mut ledger = Ledger::new(Box::new(shelf.clone())).with_runs_of(run);
        jobs.iter().for_each(|job| ledger.put_row(row(*job, 1 + job % 7)).unwrap());
        ledger
    }

    proptest! {
        #[test]
        fn what_is_put_aside_comes_back_by_number(
            jobs in prop::collection::btree_set(any::<u32>(), 0..60).prop_map(Vec::from_iter).prop_shuffle(),
            run in 1usize..200,
        ) {
            let shelf = Shelf::default();
            let ledger = ledger(&jobs, &shelf, run);
            let mut merged = ledger.read_rows().unwrap();
            let mut found = Vec::new();
            while let Some(back) = merged.next().unwrap() {
                let job = back.job.id.0;
                prop_assert_eq!(format!("{back:?}"), format!("{:?}", row(job, 1 + job % 7)));
                found.push(job);
            }
            let mut sorted = jobs.clone();
            sorted.sort_unstable();
            prop_assert_eq!(found, sorted);
            prop_assert!(jobs.iter().all(|job| ledger.holds(JobId(*job))));
            prop_assert!(!ledger.holds(JobId(jobs.iter().max().map_or(0, |most| most.wrapping_add(1)))));
        }
    }

    #[test]
    fn what_is_much_leaves_memory_and_a_file_that_lost_its_end_is_told() {
        let shelf = Shelf::default();
        let jobs: Vec<u32> = (0..10_000).rev().collect();
        let ledger = ledger(&jobs, &shelf, 9_000);
        assert!(ledger.tasks < 9_000 && ledger.runs.len() > 3, "{ledger:?}");
        shelf.0.lock().unwrap().truncate(150_000);
        let read = ledger.read_rows().and_then(|mut merged| {
            while merged.next()?.is_some() {}
            Ok(())
        });
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn stints_weigh_as_much_as_tasks() {
        let mut ledger = ledger(&[], &Shelf::default(), 1_000);
        let mut often = row(0, 1);
        let stints = often.tasks[0].stints.as_mut().expect("it was suspended once");
        for second in 1..=1_000 {
            let share = if second % 2 == 0 { 0.5 } else { 1.0 };
            stints.set_share(Time::ZERO + Span::from_secs(second), &NodeSet::all(1), share);
        }
        ledger.put_row(often).unwrap();
        assert_eq!((ledger.tasks, ledger.runs.len()), (0, 1));
    }
}
