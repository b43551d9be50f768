//! Jobs that are over, packed and put aside until the end of the run, when they are wanted in the order of their numbers.
//!
//! Jobs end in any order, and tables list them by number. So what is over is packed into a buffer; a full buffer is sorted
//! and goes to a [`Store`] as one run of it; at the end all runs are read side by side. In memory stay the buffer, a window
//! on each run, and a bit a job. Without a store the buffer holds all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;
use std::io;

use super::tally::JobRow;
use crate::grid::JobId;
use crate::protocol::codec;

/// Where bytes can be put aside and read again: a file, as a rule.
pub trait Store: Send {
    /// Appends all of these bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Fills the buffer with what was appended from this place on.
    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()>;
}

/// Bytes that are packed before a run of them goes to the store.
const RUN: usize = 32 << 20;
/// How much of a run is read at once.
const WINDOW: usize = 256 << 10;
/// Before each job in a run: its number, and how many bytes it takes.
const HEAD: usize = 8;

pub(super) struct Ledger {
    store: Option<Box<dyn Store>>,
    run: usize,
    packed: Vec<u8>,
    /// What is in `packed`: number, from, to.
    places: Vec<(JobId, usize, usize)>,
    /// Where each run begins and ends in the store.
    runs: Vec<(u64, u64)>,
    stored: u64,
    seen: Seen,
}

impl Ledger {
    pub fn new(store: Option<Box<dyn Store>>) -> Ledger {
        Ledger {
            store,
            run: RUN,
            packed: Vec::new(),
            places: Vec::new(),
            runs: Vec::new(),
            stored: 0,
            seen: Seen::default(),
        }
    }

    #[cfg(test)]
    pub fn with_runs_of(self, run: usize) -> Ledger {
        Ledger { run, ..self }
    }

    pub fn holds(&self, job: JobId) -> bool {
        self.seen.has(job)
    }

    /// Puts a job aside, which must not be here already.
    pub fn put(&mut self, row: &JobRow) -> io::Result<()> {
        let (job, from) = (row.job.id, self.packed.len());
        codec::pack(row, &mut self.packed).map_err(io::Error::other)?;
        self.places.push((job, from, self.packed.len()));
        self.seen.add(job);
        if self.packed.len() >= self.run { self.store() } else { Ok(()) }
    }

    fn store(&mut self) -> io::Result<()> {
        let Some(store) = &mut self.store else { return Ok(()) };
        self.places.sort_unstable();
        let begin = self.stored;
        let mut written = Vec::with_capacity(WINDOW);
        for &(job, from, to) in &self.places {
            let length = u32::try_from(to - from).map_err(io::Error::other)?;
            written.extend_from_slice(&job.0.to_le_bytes());
            written.extend_from_slice(&length.to_le_bytes());
            written.extend_from_slice(&self.packed[from..to]);
            if written.len() >= WINDOW {
                store.append(&written)?;
                self.stored += written.len() as u64;
                written.clear();
            }
        }
        store.append(&written)?;
        self.stored += written.len() as u64;
        self.runs.push((begin, self.stored));
        self.packed.clear();
        self.places.clear();
        Ok(())
    }

    /// All that is here, by number.
    pub fn read(&self) -> io::Result<Merged<'_>> {
        let mut places = self.places.clone();
        places.sort_unstable_by(|left, right| right.cmp(left));
        let mut merged = Merged { ledger: self, runs: Vec::new(), places, heads: BinaryHeap::new() };
        for (index, &(begin, end)) in self.runs.iter().enumerate() {
            let mut run = Run { next: begin, end, window: Vec::new(), at: 0 };
            if let Some(job) = run.head(self)? {
                merged.heads.push(Reverse((job, index)));
            }
            merged.runs.push(run);
        }
        Ok(merged)
    }

    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        let store = self.store.as_ref().expect("only a store has runs");
        store.read_at(place, buffer)
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledger({} packed, {} runs)", self.places.len(), self.runs.len())
    }
}

/// A ledger read in the order of jobs' numbers.
pub(super) struct Merged<'a> {
    ledger: &'a Ledger,
    runs: Vec<Run>,
    /// What was never stored, backwards.
    places: Vec<(JobId, usize, usize)>,
    /// The next job of each run.
    heads: BinaryHeap<Reverse<(JobId, usize)>>,
}

impl Merged<'_> {
    /// The number of the next job.
    pub fn peek(&self) -> Option<JobId> {
        let stored = self.heads.peek().map(|Reverse((job, _))| *job);
        let packed = self.places.last().map(|(job, ..)| *job);
        stored.into_iter().chain(packed).min()
    }

    pub fn next(&mut self) -> io::Result<Option<JobRow>> {
        let Some(job) = self.peek() else { return Ok(None) };
        let unpack = |bytes: &[u8]| codec::unpack(bytes).map(Some).map_err(io::Error::other);
        if let Some(&(_, from, to)) = self.places.last().filter(|place| place.0 == job) {
            self.places.pop();
            return unpack(&self.ledger.packed[from..to]);
        }
        let Some(Reverse((_, index))) = self.heads.pop() else { return Ok(None) };
        let run = &mut self.runs[index];
        let row = unpack(run.take(self.ledger)?)?;
        if let Some(next) = run.head(self.ledger)? {
            self.heads.push(Reverse((next, index)));
        }
        Ok(row)
    }
}

/// A run of the store, and what of it is in memory.
struct Run {
    /// From where on it has not been read.
    next: u64,
    end: u64,
    window: Vec<u8>,
    at: usize,
}

impl Run {
    /// The number of the next job.
    fn head(&mut self, ledger: &Ledger) -> io::Result<Option<JobId>> {
        if self.at == self.window.len() && self.next == self.end {
            return Ok(None);
        }
        self.need(HEAD, ledger)?;
        Ok(Some(JobId(self.word(self.at))))
    }

    /// The bytes of the next job, whose head has been seen.
    fn take(&mut self, ledger: &Ledger) -> io::Result<&[u8]> {
        let length = self.word(self.at + 4) as usize;
        self.need(HEAD + length, ledger)?;
        let from = self.at + HEAD;
        self.at = from + length;
        Ok(&self.window[from..self.at])
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.window[at..at + 4].try_into().expect("four bytes"))
    }

    fn need(&mut self, bytes: usize, ledger: &Ledger) -> io::Result<()> {
        if self.window.len() - self.at >= bytes {
            return Ok(());
        }
        self.window.drain(..self.at);
        self.at = 0;
        let left = usize::try_from(self.end - self.next).unwrap_or(usize::MAX);
        let (kept, more) = (self.window.len(), WINDOW.max(bytes).min(left));
        self.window.resize(kept + more, 0);
        ledger.read_at(self.next, &mut self.window[kept..])?;
        self.next += more as u64;
        match self.window.len() >= bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Which jobs there were: a bit a job, where numbers are close together.
#[derive(Default)]
struct Seen {
    pages: BTreeMap<u32, Box<[u64; Seen::WORDS]>>,
}

impl Seen {
    const WORDS: usize = 64;

    fn place(job: JobId) -> (u32, usize, u64) {
        let page = Seen::WORDS as u32 * 64;
        (job.0 / page, (job.0 % page / 64) as usize, 1 << (job.0 % 64))
    }

    fn add(&mut self, job: JobId) {
        let (page, word, bit) = Seen::place(job);
        self.pages.entry(page).or_insert_with(|| Box::new([0; Seen::WORDS]))[word] |= bit;
    }

    fn has(&self, job: JobId) -> bool {
        let (page, word, bit) = Seen::place(job);
        self.pages.get(&page).is_some_and(|words| words[word] & bit > 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use proptest::prelude::*;

    use super::*;
    use crate::report::tally::tests::row;

    /// A file that tests can look into.
    #[derive(Clone, Default)]
    struct Shelf(Arc<Mutex<Vec<u8>>>);

    impl Store for Shelf {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(())
        }

        fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
            let place = place as usize;
            let shelf = self.0.lock().unwrap();
            let there = shelf.get(place..place + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(there);
            Ok(())
        }
    }

    fn ledger(jobs: &[u32], shelf: &Shelf, run: usize) -> Ledger {
        let mut ledger = Ledger::new(Some(Box::new(shelf.clone()))).with_runs_of(run);
        jobs.iter().for_each(|job| ledger.put(&row(*job, 1 + job % 7)).unwrap());
        ledger
    }

    proptest! {
        #[test]
        fn what_is_put_aside_comes_back_by_number(
            jobs in prop::collection::btree_set(any::<u32>(), 0..60).prop_map(|jobs| Vec::from_iter(jobs)).prop_shuffle(),
            run in 1usize..4000,
        ) {
            let shelf = Shelf::default();
            let ledger = ledger(&jobs, &shelf, run);
            let mut merged = ledger.read().unwrap();
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
    fn a_full_buffer_leaves_memory_and_a_file_that_lost_its_end_is_told() {
        let shelf = Shelf::default();
        let jobs: Vec<u32> = (0..10_000).rev().collect();
        let ledger = ledger(&jobs, &shelf, 100_000);
        assert!(ledger.packed.len() < 100_000 && ledger.runs.len() > 3, "{ledger:?}");
        shelf.0.lock().unwrap().truncate(150_000);
        let read = ledger.read().and_then(|mut merged| {
            while merged.next()?.is_some() {}
            Ok(())
        });
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
