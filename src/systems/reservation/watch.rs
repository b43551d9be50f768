//! What the meta-scheduler hears of a site whose nodes fail: late, by its link and its reports.

use crate::grid::{Expected, News, NodeSet, Recovery};
use crate::roles::site::Attempts;
use crate::systems::Fails;
use crate::time::{Span, Time};

pub struct Watch {
    news: News,
    attempts: Attempts,
    pub(super) recovery: Recovery,
    /// What is down, as was heard last.
    down: Vec<Expected>,
    /// When there is something to hear next.
    next: Time,
}

impl Watch {
    /// Of a site with so many nodes, over a link of that latency.
    pub fn new(fails: Fails, nodes: u32, latency: Span, report_every: Span) -> Watch {
        let attempts = fails.attempts(nodes);
        let news = News::new(fails.outages, latency, report_every);
        Watch { news, attempts, recovery: fails.recovery, down: Vec::new(), next: Time::ZERO }
    }

    /// Takes in what is heard by now: what is down, if that may have changed.
    pub fn hear(&mut self, now: Time) -> Option<&[Expected]> {
        if now < self.next {
            return None;
        }
        self.down = self.news.expected(now);
        let expects = self.down.iter().map(|one| self.news.heard(one.back));
        self.next = expects.chain(self.news.next()).min().unwrap_or(Time::NEVER);
        Some(&self.down)
    }

    pub fn next(&self) -> Time {
        self.next
    }

    /// When the last of these nodes is expected back, if any is down.
    pub fn back(&self, nodes: &NodeSet) -> Option<Time> {
        self.down.iter().filter(|one| one.nodes.meets(nodes)).map(|one| one.back).max()
    }

    /// When the end of a task that ends then has been heard of for sure.
    pub fn overdue(&self, end: Time) -> Time {
        self.news.heard(end) + Span::from_micros(1)
    }

    /// For how long after it comes to the site a task is safe.
    pub fn safe(&mut self, now: Time) -> Span {
        self.news.safe(now)
    }

    /// How long so much work takes on so many nodes, with its checkpoints.
    pub fn stretched(&self, work: Span, nodes: u32) -> Span {
        self.attempts.stretched(work, nodes)
    }
}
