//! Order of a queue: an axis of its own, beside the rule of which jobs may pass.

use std::cmp::Ordering;
use std::cmp::Ordering::Greater;
use std::sync::Arc;

use super::NodeRequest;
use super::multifactor::{MultifactorRules, Priorities, Standing};
use crate::grid::{QueueOrder, TaskId};
use crate::time::Time;

/// A waiting job with what its rank depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub request: NodeRequest,
    /// Time at which it joined the queue.
    since: Time,
    /// Number in order of arrival; negative for a job that came back to the head, the latest first.
    number: i64,
    /// Part of the rank that stays while the job waits; read by the order `multifactor` only.
    standing: Standing,
}

/// Ranks the jobs of one queue.
///
/// Each policy holds one, and reports arrivals, starts and ends to it, as ranks may depend on what has run. Orders with
/// ranks that change while jobs wait (`drifts`) leave the sorting to the policy, which asks `take_drift` if it is due.
#[derive(Clone, Debug)]
pub struct Ranking {
    order: QueueOrder,
    arrived: i64,
    returned: i64,
    /// None unless the order is `multifactor` and has rules.
    priorities: Option<Box<Priorities>>,
}

impl Ranking {
    /// Ranks without rules of a site: under `multifactor` all jobs have one rank.
    pub fn new(order: QueueOrder) -> Ranking {
        Ranking { order, arrived: 0, returned: 0, priorities: None }
    }

    /// Creates the order `multifactor` by the rules of a site.
    pub fn multifactor(rules: Arc<MultifactorRules>) -> Ranking {
        let priorities = Some(Box::new(Priorities::new(rules)));
        Ranking { priorities, ..Ranking::new(QueueOrder::Multifactor) }
    }

    pub(super) fn arrival(&mut self, now: Time, request: NodeRequest) -> Waiting {
        self.arrived += 1;
        self.waiting(now, request, self.arrived)
    }

    /// Makes a job precede all others, in every order.
    pub(super) fn first(&mut self, now: Time, request: NodeRequest) -> Waiting {
        self.returned -= 1;
        self.waiting(now, request, self.returned)
    }

    fn waiting(&mut self, now: Time, request: NodeRequest, number: i64) -> Waiting {
        let priorities = self.priorities.as_mut();
        let standing = priorities.map_or_else(Standing::default, |priorities| {
            priorities.advance(now);
            priorities.standing(&request)
        });
        Waiting { request, since: now, number, standing }
    }

    /// Records the start of a job, as ranks may depend on usage.
    pub(super) fn start_job(&mut self, now: Time, job: &Waiting) {
        if let Some(priorities) = &mut self.priorities {
            priorities.start_job(now, &job.request, job.standing);
        }
    }

    /// Records a job that runs already.
    pub(super) fn adopt_job(&mut self, now: Time, request: &NodeRequest) {
        if let Some(priorities) = &mut self.priorities {
            let standing = priorities.standing(request);
            priorities.start_job(now, request, standing);
        }
    }

    /// Records the end of a job, as ranks may depend on usage.
    pub(super) fn end_job(&mut self, now: Time, job: TaskId) {
        if let Some(priorities) = &mut self.priorities {
            priorities.end_job(now, job);
        }
    }

    /// True if ranks change while jobs wait, so that a queue has to be sorted again before it is used.
    pub fn drifts(&self) -> bool {
        matches!(self.order, QueueOrder::MostStretched | QueueOrder::Multifactor)
    }

    /// True if ranks may have changed since the last call, so that a queue has to be sorted before it is used.
    pub(super) fn take_drift(&mut self, now: Time) -> bool {
        match &mut self.priorities {
            Some(priorities) => {
                priorities.advance(now);
                priorities.take_drift()
            }
            None => self.order == QueueOrder::MostStretched,
        }
    }

    /// True if a queue is out of order since a moment that is not its last change.
    pub(super) fn has_stepped(&mut self, now: Time) -> bool {
        self.priorities.as_mut().is_some_and(|priorities| {
            priorities.advance(now);
            priorities.has_drifted()
        })
    }

    /// True if the index of a new job in a queue cannot be searched for, as the queue is not sorted.
    pub(super) fn is_unsorted(&self) -> bool {
        match &self.priorities {
            Some(priorities) => priorities.has_drifted(),
            None => self.order == QueueOrder::MostStretched,
        }
    }

    /// Index at which `new` belongs in a sorted queue of `count` jobs; the end, if ranks have drifted. O(log count)
    /// comparisons, and one if it belongs at the end.
    pub(super) fn place<'a>(&self, now: Time, new: &Waiting, count: usize, at: impl Fn(usize) -> &'a Waiting) -> usize {
        let precedes = |index: usize| self.compare(now, at(index), new) != Greater;
        if count == 0 || self.is_unsorted() || precedes(count - 1) {
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

    pub(super) fn compare(&self, now: Time, a: &Waiting, b: &Waiting) -> Ordering {
        let by_rank = match self.order {
            _ if a.number < 0 || b.number < 0 => Ordering::Equal,
            QueueOrder::Arrival => Ordering::Equal,
            QueueOrder::Shortest => a.request.walltime.cmp(&b.request.walltime),
            QueueOrder::Largest => b.request.nodes.cmp(&a.request.nodes),
            QueueOrder::MostStretched => compare_stretch(now, b, a),
            QueueOrder::Multifactor => self.compare_priorities(a, b),
        };
        by_rank.then(a.number.cmp(&b.number))
    }

    fn compare_priorities(&self, a: &Waiting, b: &Waiting) -> Ordering {
        let Some(priorities) = &self.priorities else { return Ordering::Equal };
        priorities.rank(a.since, &a.standing).cmp(&priorities.rank(b.since, &b.standing))
    }
}

impl From<QueueOrder> for Ranking {
    fn from(order: QueueOrder) -> Ranking {
        Ranking::new(order)
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
    u128::from(job.request.walltime.micros())
}
