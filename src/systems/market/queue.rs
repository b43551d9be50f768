//! The queue of one kind, in the order of its bids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bid::Winner;
use crate::grid::JobId;
use crate::time::Time;

/// Where a task is found: its job's place among those that the auctioneer has taken in, and its number in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub job: u32,
    pub task: u32,
}

/// The total order of bidders: the better bid, then the earlier job, then the lower numbers. The best is smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    bid: i64,
    arrive: Time,
    job: JobId,
    task: u32,
    /// Says nothing about the order, as all before it is unique.
    slot: u32,
}

impl Rank {
    pub fn new(bid: f64, winner: Winner, arrive: Time, job: JobId, place: Place) -> Rank {
        let bid = match winner {
            Winner::Smallest => ordered(bid),
            Winner::Largest => !ordered(bid),
        };
        Rank { bid, arrive, job, task: place.task, slot: place.job }
    }

    pub fn place(&self) -> Place {
        Place { job: self.slot, task: self.task }
    }
}

/// A number that compares as the float does, both zeros alike.
fn ordered(number: f64) -> i64 {
    let bits = (number + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The queued tasks of one kind.
///
/// Bids that never change keep `order` for good, and what leaves the queue is skipped when it comes up. Other bids are
/// asked for again at every instant from all `members`.
#[derive(Debug, Default)]
pub(super) struct Lane {
    members: Vec<Place>,
    order: BinaryHeap<Reverse<Rank>>,
}

impl Lane {
    /// Adds a task whose bid never changes.
    pub fn add_ranked(&mut self, rank: Rank) {
        self.order.push(Reverse(rank));
    }

    /// Adds a task whose bid is asked for at every instant, and says where it is among the members.
    pub fn add_member(&mut self, place: Place) -> usize {
        self.members.push(place);
        self.members.len() - 1
    }

    /// Takes out a member, and says which other one has its position now.
    pub fn remove_member(&mut self, position: usize) -> Option<Place> {
        self.members.swap_remove(position);
        self.members.get(position).copied()
    }

    /// Puts the members in order by their bids of now.
    pub fn rank_members(&mut self, rank: impl Fn(Place) -> Rank) {
        let mut ranks = std::mem::take(&mut self.order).into_vec();
        ranks.clear();
        ranks.extend(self.members.iter().map(|&place| Reverse(rank(place))));
        self.order = ranks.into();
    }

    /// The best bidder that is still queued.
    pub fn best(&mut self, queued: impl Fn(Place) -> bool) -> Option<Rank> {
        while let Some(&Reverse(rank)) = self.order.peek() {
            if queued(rank.place()) {
                return Some(rank);
            }
            self.order.pop();
        }
        None
    }

    pub fn pop_best(&mut self) {
        self.order.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order() {
        let numbers = [f64::NEG_INFINITY, -1.5, -1e-300, 0.0, 1e-300, 0.5, 1.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert_eq!(ordered(-0.0), ordered(0.0));
    }
}
