//! The run's log, in one total order, and its digest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

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

/// Merges logs of places, each in log order, into the log of the run. Every actor lives at one place.
fn merge<R>(logs: Vec<Vec<Entry<R>>>) -> impl Iterator<Item = Entry<R>> {
    let mut sources: Vec<_> = logs.into_iter().map(|log| log.into_iter().peekable()).collect();
    let mut heads: BinaryHeap<_> = (0..sources.len())
        .filter_map(|source| sources[source].peek().map(|entry| Reverse((entry.stamp, entry.actor, source))))
        .collect();
    std::iter::from_fn(move || {
        let Reverse((_, _, source)) = heads.pop()?;
        let entry = sources[source].next();
        if let Some(next) = sources[source].peek() {
            heads.push(Reverse((next.stamp, next.actor, source)));
        }
        entry
    })
}

/// Merges the logs of places while they grow: entries that are final in all of them are returned in the order of the
/// run's log.
pub struct LogMerger<R> {
    logs: Vec<Vec<Entry<R>>>,
    waiting: usize,
}

impl<R> LogMerger<R> {
    pub fn new(places: usize) -> LogMerger<R> {
        LogMerger { logs: (0..places).map(|_| Vec::new()).collect(), waiting: 0 }
    }

    /// Appends to the log of a place.
    pub fn add(&mut self, place: usize, log: Vec<Entry<R>>) {
        self.waiting += log.len();
        match self.logs[place].is_empty() {
            true => self.logs[place] = log,
            false => self.logs[place].extend(log),
        }
    }

    /// Number of entries not returned yet.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the entries before this stamp; all logs must be complete up to there.
    pub fn settle(&mut self, before: Stamp) -> Vec<Entry<R>> {
        let settled = self.logs.iter_mut().map(|log| match log.partition_point(|entry| entry.stamp < before) {
            0 => Vec::new(),
            whole => {
                let rest = log.split_off(whole);
                std::mem::replace(log, rest)
            }
        });
        let settled: Vec<_> = merge(settled.collect()).collect();
        self.waiting -= settled.len();
        settled
    }
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
