//! The auctioneer's knowledge of failed nodes, and of the tasks that were on them.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::auctioneer::Out;
use super::clusters::Clusters;
use crate::grid::{JobId, News, Recovery, TaskId};
use crate::roles::site::left_of;
use crate::time::{Span, Time};

pub(super) struct AuctionLosses {
    /// News of the clusters whose nodes fail.
    news: BTreeMap<usize, News>,
    /// Time of the next news of each, if more is to come.
    due: BTreeSet<(Time, usize)>,
    recovery: Recovery,
    /// Tasks of live jobs that have been lost.
    lost: BTreeMap<TaskId, TaskLosses>,
    /// Time of the timer for the next news.
    awake_until: Option<Time>,
}

#[derive(Default)]
struct TaskLosses {
    times: u32,
    /// Saved part of the task's work.
    saved: Span,
    /// The clusters where it ran: all of its data has been sent there, and survives the failure of a node.
    ran_on: SmallVec<[usize; 2]>,
}

impl AuctionLosses {
    pub fn new(news: Vec<(usize, News)>, recovery: Recovery) -> AuctionLosses {
        let due = news.iter().filter_map(|(cluster, news)| Some((news.next()?, *cluster))).collect();
        AuctionLosses { news: news.into_iter().collect(), due, recovery, lost: BTreeMap::new(), awake_until: None }
    }

    /// Applies the news up to now. O(log clusters) for each cluster with news.
    pub fn take_news(&mut self, now: Time, clusters: &mut Clusters) {
        while let Some((_, cluster)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.pop_first();
            let news = self.news.get_mut(&cluster).expect("what is due is news of a cluster");
            clusters.fail(cluster, news.down(now));
            self.due.extend(news.next().map(|next| (next, cluster)));
        }
        self.awake_until = self.awake_until.filter(|until| *until > now);
    }

    /// Sets a timer for the next news; called while a task waits for it.
    pub fn wake(&mut self, out: &mut Out) {
        let next = self.due.first().map(|(at, _)| *at);
        if let Some(next) = next.filter(|next| self.awake_until.is_none_or(|until| *next < until)) {
            self.awake_until = Some(next);
            out.wake_at(next, 0);
        }
    }

    /// Records a loss on a cluster; true if the task is tried again.
    pub fn record_loss(&mut self, task: TaskId, saved: Span, cluster: usize) -> bool {
        let losses = self.lost.entry(task).or_default();
        losses.times += 1;
        losses.saved = losses.saved + saved;
        if !losses.ran_on.contains(&cluster) {
            losses.ran_on.push(cluster);
        }
        self.recovery.tries_again(losses.times)
    }

    /// Drops the losses of a job that is over.
    pub fn forget(&mut self, job: JobId) {
        let tasks = TaskId { job, index: 0 }..=TaskId { job, index: u32::MAX };
        self.lost.extract_if(tasks, |_, _| true).for_each(drop);
    }

    /// True if a task has run on a cluster, so that its data is there.
    pub fn has_run(&self, task: TaskId, cluster: usize) -> bool {
        self.lost.get(&task).is_some_and(|losses| losses.ran_on.contains(&cluster))
    }

    /// Remaining work of a task with this run time.
    pub fn remaining_work(&self, task: TaskId, runtime: Span) -> Span {
        let saved = self.lost.get(&task).map_or(Span::ZERO, |losses| losses.saved);
        left_of(runtime, saved)
    }

    /// Duration for which a task that starts now is safe at a cluster.
    pub fn safe_span(&mut self, cluster: usize, now: Time) -> Option<Span> {
        self.news.get_mut(&cluster).map(|news| news.safe_span(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_of_a_job_is_forgotten_with_it() {
        let mut failing = AuctionLosses::new(Vec::new(), Recovery::default());
        let task = |job, index| TaskId { job: JobId(job), index };
        for task in [task(1, 9), task(2, 0), task(2, u32::MAX), task(3, 0)] {
            failing.record_loss(task, Span::ZERO, 0);
        }
        failing.forget(JobId(2));
        let left: Vec<TaskId> = failing.lost.into_keys().collect();
        assert_eq!(left, [task(1, 9), task(3, 0)]);
    }
}
