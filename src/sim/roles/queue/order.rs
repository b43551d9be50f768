//! Order of a queue: an axis of its own, beside the rule of which jobs may pass.

use std::cmp::Ordering;
use std::cmp::Ordering::Greater;

use super::Ask;
use crate::grid::QueueOrder;
use crate::time::Time;

/// A waiting job with what its rank depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub ask: Ask,
    /// Time at which it joined the queue.
    since: Time,
    /// Number in order of arrival; negative for a job that came back to the head, the latest first.
    number: i64,
}

/// Ranks the jobs of one queue.
#[derive(Clone, Debug)]
pub(super) struct Ranking {
    order: QueueOrder,
    arrived: i64,
    returned: i64,
}

impl Ranking {
    pub fn new(order: QueueOrder) -> Ranking {
        Ranking { order, arrived: 0, returned: 0 }
    }

    pub fn arrival(&mut self, now: Time, ask: Ask) -> Waiting {
        self.arrived += 1;
        Waiting { ask, since: now, number: self.arrived }
    }

    /// A job that precedes all others, in every order.
    pub fn first(&mut self, now: Time, ask: Ask) -> Waiting {
        self.returned -= 1;
        Waiting { ask, since: now, number: self.returned }
    }

    /// True if ranks change while jobs wait, so that a queue has to be sorted again before it is used.
    pub fn drifts(&self) -> bool {
        self.order == QueueOrder::MostStretched
    }

    /// Index at which `new` belongs in a sorted queue of `count` jobs; the end, if ranks drift. O(log count)
    /// comparisons, and one if it belongs at the end.
    pub fn place<'a>(&self, now: Time, new: &Waiting, count: usize, at: impl Fn(usize) -> &'a Waiting) -> usize {
        let precedes = |index: usize| self.compare(now, at(index), new) != Greater;
        if count == 0 || self.drifts() || precedes(count - 1) {
            return count;
        }
        let mut low = 0;
        let mut high = count - 1;
        while low < high {
            let middle = low.midpoint(high);
            if precedes(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    pub fn compare(&self, now: Time, a: &Waiting, b: &Waiting) -> Ordering {
        let by_rank = match self.order {
            _ if a.number < 0 || b.number < 0 => Ordering::Equal,
            QueueOrder::Arrival => Ordering::Equal,
            QueueOrder::Shortest => a.ask.walltime.cmp(&b.ask.walltime),
            QueueOrder::Largest => b.ask.nodes.cmp(&a.ask.nodes),
            QueueOrder::MostStretched => compare_stretch(now, b, a),
        };
        by_rank.then(a.number.cmp(&b.number))
    }
}

/// Compares (wait + walltime) / walltime exactly: stretches are ordered as wait / walltime is, so as cross products.
fn compare_stretch(now: Time, a: &Waiting, b: &Waiting) -> Ordering {
    (wait_micros(a, now) * walltime_micros(b)).cmp(&(wait_micros(b, now) * walltime_micros(a)))
}

fn wait_micros(job: &Waiting, now: Time) -> u128 {
    u128::from((now - job.since).micros())
}

fn walltime_micros(job: &Waiting) -> u128 {
    u128::from(job.ask.walltime.micros())
}
