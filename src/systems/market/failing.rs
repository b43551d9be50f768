//! What the auctioneer knows of nodes that fail, and of the tasks that were on them.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;

use super::auctioneer::Out;
use super::clusters::Clusters;
use crate::few;
use crate::grid::{JobId, News, Recovery, TaskId};
use crate::roles::site::left_of;
use crate::time::{Span, Time};

pub(super) struct Failing {
    /// Of the clusters whose nodes fail.
    news: few::Map<usize, News>,
    /// When the next is heard of each, as far as there is more to come.
    due: BTreeSet<(Time, usize)>,
    recovery: Recovery,
    /// Tasks of live jobs that have been lost.
    lost: BTreeMap<TaskId, Losses>,
    /// Until when a timer is set for the next news.
    awake_until: Option<Time>,
}

#[derive(Default)]
struct Losses {
    times: u32,
    /// How much of its work is saved.
    saved: Span,
    /// The clusters where it ran: all of its data has been brought there, and a node that fails takes none of it away.
    ran_on: SmallVec<[usize; 2]>,
}

impl Failing {
    pub fn new(news: Vec<(usize, News)>, recovery: Recovery) -> Failing {
        let due = news.iter().filter_map(|(cluster, news)| Some((news.next()?, *cluster))).collect();
        Failing { news: news.into_iter().collect(), due, recovery, lost: BTreeMap::new(), awake_until: None }
    }

    /// Takes in what has been heard by now. O(log clusters) for each of which something is heard.
    pub fn hear(&mut self, now: Time, clusters: &mut Clusters) {
        while let Some((_, cluster)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.pop_first();
            let news = self.news.get_mut(&cluster).expect("what is due is news of a cluster");
            clusters.fail(cluster, news.down(now));
            self.due.extend(news.next().map(|next| (next, cluster)));
        }
        self.awake_until = self.awake_until.filter(|until| *until > now);
    }

    /// Comes back when there is news, as long as somebody waits for it.
    pub fn wake(&mut self, out: &mut Out) {
        let next = self.due.first().map(|(at, _)| *at);
        if let Some(next) = next.filter(|next| self.awake_until.is_none_or(|until| *next < until)) {
            self.awake_until = Some(next);
            out.wake_at(next, 0);
        }
    }

    /// A task is lost on a cluster; says whether it is tried again.
    pub fn lose(&mut self, task: TaskId, saved: Span, cluster: usize) -> bool {
        let losses = self.lost.entry(task).or_default();
        losses.times += 1;
        losses.saved = losses.saved + saved;
        if !losses.ran_on.contains(&cluster) {
            losses.ran_on.push(cluster);
        }
        self.recovery.tries_again(losses.times)
    }

    /// Nothing more will be asked about a job.
    pub fn forget(&mut self, job: JobId) {
        let tasks = TaskId { job, index: 0 }..=TaskId { job, index: u32::MAX };
        self.lost.extract_if(tasks, |_, _| true).for_each(drop);
    }

    /// Whether a task has run on a cluster, so that its data is there.
    pub fn has_run(&self, task: TaskId, cluster: usize) -> bool {
        self.lost.get(&task).is_some_and(|losses| losses.ran_on.contains(&cluster))
    }

    /// How much work is left of a task that takes so long in all.
    pub fn left(&self, task: TaskId, runtime: Span) -> Span {
        let saved = self.lost.get(&task).map_or(Span::ZERO, |losses| losses.saved);
        left_of(runtime, saved)
    }

    /// For how long after it comes to a cluster a task is safe.
    pub fn safe(&mut self, cluster: usize, now: Time) -> Option<Span> {
        self.news.get_mut(&cluster).map(|news| news.safe(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_of_a_job_is_forgotten_with_it() {
        let mut failing = Failing::new(Vec::new(), Recovery::default());
        let task = |job, index| TaskId { job: JobId(job), index };
        for task in [task(1, 9), task(2, 0), task(2, u32::MAX), task(3, 0)] {
            failing.lose(task, Span::ZERO, 0);
        }
        failing.forget(JobId(2));
        let left: Vec<TaskId> = failing.lost.into_keys().collect();
        assert_eq!(left, [task(1, 9), task(3, 0)]);
    }
}
