//! The queue, one lane per kind, in the order of its bids, without asking every task at every instant.
//!
//! The cost depends on how bids change ([`Trend`]) and on which bid wins. With `n` tasks in a lane:
//!
//! | bids | lane | an instant costs |
//! | --- | --- | --- |
//! | stay | [`fixed`]: a heap | O(log n) for every task that joins or leaves |
//! | only get worse | [`worsening`]: a heap of old bids, which flatter | as above, and for every task that old bids flatter past the best |
//! | only get better | [`improving`]: a heap of bids to come, each good until a time of its own | as above, and for every task whose time is up |
//! | are drawn anew | [`redrawn`]: all of them, but quickly | O(n), if there is a core for the smallest of them |
//!
//! A winning task was asked for its bid of that instant, and so was each task whose bound is not behind it. So the
//! order equals the one from asking all tasks, floats and ties included; `plain`, the reference in the tests, asks them
//! all.
//!
//! A task that started or was removed stays in a heap until it comes up. A task joins the queue once, so one that comes
//! up and is not queued is obsolete.

mod demand;
mod fixed;
mod improving;
#[cfg(test)]
pub(super) mod plain;
mod redrawn;
mod worsening;

use super::auctioned::AuctionedJob;
use super::bid::{BidPolicy, Instant, Trend, Winner};
use crate::grid::JobId;
use crate::time::Time;

pub(super) use demand::TaskDemand;

/// Every job that was ever accepted, in order of acceptance; `None` once it is over.
pub(super) type AuctionedJobs = Vec<Option<Box<AuctionedJob>>>;

/// The queued tasks of one kind.
///
/// An instant that looks at a lane opens it, asks for the best as often as a task was placed, and closes it.
pub(super) trait Lane: Send {
    /// Adds a task to the queue.
    fn add_task(&mut self, handle: TaskHandle, jobs: &mut AuctionedJobs);

    /// Removes a task from the queue.
    fn remove_task(&mut self, _handle: TaskHandle, _jobs: &mut AuctionedJobs) {}

    fn open_auction(&mut self, bids: &mut Bids<'_>);

    /// The best bidder that is still queued.
    fn best_bidder(&mut self, bids: &mut Bids<'_>) -> Option<BidRank>;

    fn close_auction(&mut self, _bids: &mut Bids<'_>) {}
}

/// The lane for the bids of a policy.
pub(super) fn build_lane(policy: &dyn BidPolicy) -> Box<dyn Lane> {
    match (policy.bid_trend(), policy.winner_rule()) {
        (Trend::Fixed, _) => Box::new(fixed::FixedLane::default()),
        (Trend::Falling, Winner::Largest) | (Trend::Rising, Winner::Smallest) => {
            Box::new(worsening::Worsening::default())
        }
        (trend @ (Trend::Falling | Trend::Rising), _) => Box::new(improving::Improving::new(trend)),
        (Trend::Redrawn, _) => Box::new(redrawn::Redrawn::default()),
    }
}

/// The inputs of an instant's bids.
pub(super) struct Bids<'a> {
    pub jobs: &'a mut AuctionedJobs,
    pub policy: &'a dyn BidPolicy,
    pub at: Instant,
}

impl Bids<'_> {
    pub fn is_queued(&self, handle: TaskHandle) -> bool {
        self.jobs[handle.job as usize].as_ref().is_some_and(|live| live.is_queued(handle.task as usize))
    }

    pub fn rank(&self, handle: TaskHandle) -> BidRank {
        self.rank_at(handle, self.at.now)
    }

    /// Announces the tasks that are about to be asked, if the policy needs that.
    fn announce_bidders(&self, handles: &[TaskHandle]) {
        if self.policy.needs_announcement() {
            let bidders: Vec<_> =
                handles.iter().map(|handle| self.live(*handle).bidder(handle.task as usize)).collect();
            self.policy.announce_bidders(&bidders, &self.at);
        }
    }

    /// The rank that a task will have at a later time, if nothing but the time changes.
    pub fn rank_at(&self, handle: TaskHandle, now: Time) -> BidRank {
        let live = self.live(handle);
        let bid = self.policy.compute_bid(&live.bidder(handle.task as usize), &Instant { now, ..self.at });
        BidRank::new(bid, self.policy.winner_rule(), live.job.arrive, live.job.id, handle)
    }

    /// The task's number in the run.
    fn number(&self, handle: TaskHandle) -> u64 {
        u64::from(self.live(handle).job.first_task) + u64::from(handle.task)
    }

    fn mark(&self, handle: TaskHandle) -> u64 {
        self.live(handle).tasks[handle.task as usize].mark
    }

    fn set_mark(&mut self, handle: TaskHandle, mark: u64) {
        set_mark(self.jobs, handle, mark);
    }

    fn live(&self, handle: TaskHandle) -> &AuctionedJob {
        self.jobs[handle.job as usize].as_ref().expect("a queued task belongs to a live job")
    }
}

fn set_mark(jobs: &mut AuctionedJobs, handle: TaskHandle, mark: u64) {
    let live = jobs[handle.job as usize].as_mut().expect("a queued task belongs to a live job");
    live.tasks[handle.task as usize].mark = mark;
}

/// Identity of a task: its job's index among the accepted jobs, and its number in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TaskHandle {
    pub job: u32,
    pub task: u32,
}

/// The total order of bidders: the better bid, then the earlier job, then the lower numbers. The best is smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BidRank {
    bid: i64,
    arrive: Time,
    job: JobId,
    task: u32,
    /// Irrelevant for the order, as the fields before it are unique.
    slot: u32,
}

impl BidRank {
    pub fn new(bid: f64, winner: Winner, arrive: Time, job: JobId, handle: TaskHandle) -> BidRank {
        BidRank { bid: better_first(bid, winner), arrive, job, task: handle.task, slot: handle.job }
    }

    pub fn handle(&self) -> TaskHandle {
        TaskHandle { job: self.slot, task: self.task }
    }

    /// The bid itself, of a policy under which `winner` wins; a zero has no sign.
    pub fn bid(&self, winner: Winner) -> f64 {
        match winner {
            Winner::Smallest => as_float(self.bid),
            Winner::Largest => as_float(!self.bid),
        }
    }

    /// The bid half-way between this one and a better one.
    fn half_way_to(&self, best: &BidRank) -> i64 {
        order_float(as_float(self.bid) / 2.0 + as_float(best.bid) / 2.0)
    }
}

fn better_first(bid: f64, winner: Winner) -> i64 {
    match winner {
        Winner::Smallest => order_float(bid),
        Winner::Largest => !order_float(bid),
    }
}

/// A number that compares as the float does; both zeros are equal.
fn order_float(number: f64) -> i64 {
    let bits = (number + 0.0).to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

fn as_float(ordered: i64) -> f64 {
    f64::from_bits((ordered ^ ((ordered >> 63) as u64 >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order() {
        let numbers = [f64::NEG_INFINITY, -1.5, -1e-300, 0.0, 1e-300, 0.5, 1.0, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| order_float(pair[0]) < order_float(pair[1])));
        assert_eq!(order_float(-0.0), order_float(0.0));
        assert_eq!(numbers.map(|number| as_float(order_float(number))), numbers);
        assert_eq!(numbers.map(|number| as_float(!order_float(number))), numbers.map(|number| -number));
    }
}
