//! What the auctioneer knows of nodes that fail, and of the tasks that were on them.

use std::collections::BTreeMap;

use super::auctioneer::Out;
use super::clusters::Clusters;
use crate::grid::{News, Recovery, TaskId};
use crate::systems::left_of;
use crate::time::{Span, Time};

pub(super) struct Failing {
    /// Of the clusters whose nodes fail.
    news: BTreeMap<usize, News>,
    recovery: Recovery,
    /// Tasks that have been lost: how often, and how much of their work is saved.
    lost: BTreeMap<TaskId, (u32, Span)>,
    /// Until when a timer is set for the next news.
    awake_until: Option<Time>,
}

impl Failing {
    pub fn new(news: Vec<(usize, News)>, recovery: Recovery) -> Failing {
        Failing { news: news.into_iter().collect(), recovery, lost: BTreeMap::new(), awake_until: None }
    }

    /// Takes in what has been heard by now.
    pub fn hear(&mut self, now: Time, clusters: &mut Clusters) {
        for (cluster, news) in &mut self.news {
            clusters.fail(*cluster, news.down(now));
        }
        self.awake_until = self.awake_until.filter(|until| *until > now);
    }

    /// Comes back when there is news, as long as somebody waits for it.
    pub fn wake(&mut self, out: &mut Out) {
        let next = self.news.values().filter_map(News::next).min();
        if let Some(next) = next.filter(|next| self.awake_until.is_none_or(|until| *next < until)) {
            self.awake_until = Some(next);
            out.wake_at(next, 0);
        }
    }

    /// A task is lost; says whether it is tried again.
    pub fn lose(&mut self, task: TaskId, saved: Span) -> bool {
        let (losses, so_far) = self.lost.entry(task).or_default();
        *losses += 1;
        *so_far = *so_far + saved;
        self.recovery.tries_again(*losses)
    }

    /// How much work is left of a task that takes so long in all.
    pub fn left(&self, task: TaskId, runtime: Span) -> Span {
        let saved = self.lost.get(&task).map_or(Span::ZERO, |lost| lost.1);
        left_of(runtime, saved)
    }

    /// For how long after it comes to a cluster a task is safe.
    pub fn safe(&mut self, cluster: usize, now: Time) -> Option<Span> {
        self.news.get_mut(&cluster).map(|news| news.safe(now))
    }
}
