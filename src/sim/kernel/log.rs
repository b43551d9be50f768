//! The run's log, in one total order, and its digest.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::ActorId;
use crate::time::Stamp;

/// One record of the log. The log is ordered by (stamp, actor); records of one actor and stamp keep their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<R> {
    pub stamp: Stamp,
    pub actor: ActorId,
    pub record: R,
}

/// Merges the logs of places while they grow: entries that are final in all of them are returned in the order of the
/// run's log.
///
/// Every actor lives at one place. A place mostly adds many entries in a row to the run's log, so each entry costs one
/// comparison with the next place, and O(log places) only where another place follows.
pub struct LogMerger<R> {
    logs: Vec<VecDeque<Entry<R>>>,
    waiting: usize,
}

impl<R> LogMerger<R> {
    pub fn new(places: usize) -> LogMerger<R> {
        LogMerger { logs: (0..places).map(|_| VecDeque::new()).collect(), waiting: 0 }
    }

    /// Appends to the log of a place.
    pub fn add(&mut self, place: usize, log: Vec<Entry<R>>) {
        self.waiting += log.len();
        match self.logs[place].is_empty() {
            true => self.logs[place] = log.into(),
            false => self.logs[place].extend(log),
        }
    }

    /// Number of entries not returned yet.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the entries before this stamp; all logs must be complete up to there.
    pub fn take_before(&mut self, before: Stamp) -> Vec<Entry<R>> {
        let counts: Vec<usize> =
            self.logs.iter().map(|log| log.partition_point(|entry| entry.stamp < before)).collect();
        let mut settled = Vec::with_capacity(counts.iter().sum());
        let logs = self.logs.iter_mut().zip(counts);
        let mut logs: Vec<_> = logs.map(|(log, count)| log.drain(..count).peekable()).collect();
        let heads = logs.iter_mut().enumerate();
        let mut heads: BinaryHeap<_> =
            heads.filter_map(|(log, entries)| Some(Reverse((log_place(entries.peek()?), log)))).collect();
        while let Some(Reverse((_, log))) = heads.pop() {
            // The hub has two logs of its actors, the first of which comes first.
            let next = heads.peek().map(|Reverse(next)| *next);
            while let Some(entry) = logs[log].next_if(|entry| next.is_none_or(|next| (log_place(entry), log) < next)) {
                settled.push(entry);
            }
            heads.extend(logs[log].peek().map(|entry| Reverse((log_place(entry), log))));
        }
        drop(logs);
        self.waiting -= settled.len();
        settled
    }
}

fn log_place<R>(entry: &Entry<R>) -> (Stamp, ActorId) {
    (entry.stamp, entry.actor)
}

/// Fingerprint of an ordered log: 128 bits of XXH3 over its encoded entries.
///
/// Distinguishes runs that differ by accident. It does not withstand deliberate collisions.
#[derive(Clone, Default)]
pub struct Digest {
    hasher: Xxh3,
}

impl Digest {
    pub fn new() -> Digest {
        Digest::default()
    }

    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Digest of the bytes so far, as 32 hexadecimal digits.
    pub fn finish(&self) -> String {
        format!("{:032x}", self.hasher.digest128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_pieces_is_the_published_one_of_the_whole() {
        assert_eq!(Digest::new().finish(), "99aa06d3014798d86001c324468d497f");
        let [mut whole, mut parts] = [Digest::new(), Digest::new()];
        whole.update(b"a log");
        b"a log".chunks(2).for_each(|part| parts.update(part));
        assert_eq!(whole.finish(), parts.finish());
        assert_ne!(whole.finish(), Digest::new().finish());
    }
}
