//! The meta-scheduler's information about a site whose nodes fail: delayed by its link and its reports.

use crate::grid::{Expected, News, NodeSet, Recovery};
use crate::roles::site::Attempts;
use crate::systems::Fails;
use crate::time::{Span, Time};

pub struct OutageView {
    news: News,
    attempts: Attempts,
    pub(super) recovery: Recovery,
    /// Outages, as last reported.
    down: Vec<Expected>,
    /// Time of the next report.
    next: Time,
}

impl OutageView {
    /// Information about a site with this many nodes, over a link with this latency.
    pub fn new(fails: Fails, nodes: u32, latency: Span, report_every: Span) -> OutageView {
        let attempts = fails.attempts(nodes);
        let news = News::new(fails.outages, latency, report_every);
        OutageView { news, attempts, recovery: fails.recovery, down: Vec::new(), next: Time::ZERO }
    }

    /// Updates the information; returns the outages if they may have changed.
    pub fn take_news(&mut self, now: Time) -> Option<&[Expected]> {
        if now < self.next {
            return None;
        }
        self.down = self.news.expected(now);
        let expects = self.down.iter().map(|one| self.news.reported_at(one.back));
        self.next = expects.chain(self.news.next()).min().unwrap_or(Time::NEVER);
        Some(&self.down)
    }

    pub fn next(&self) -> Time {
        self.next
    }

    /// Latest expected return of these nodes; None if none is down.
    pub fn expected_return(&self, nodes: &NodeSet) -> Option<Time> {
        self.down.iter().filter(|one| one.nodes.meets(nodes)).map(|one| one.back).max()
    }

    /// Time by which the end of a task at `end` has certainly been reported.
    pub fn certainly_reported_at(&self, end: Time) -> Time {
        self.news.reported_at(end) + Span::from_micros(1)
    }

    /// Duration for which a task is safe after its arrival at the site.
    pub fn safe_span(&mut self, now: Time) -> Span {
        self.news.safe_span(now)
    }

    /// Duration of this much work on this many nodes, with its checkpoints.
    pub fn with_checkpoints(&self, work: Span, nodes: u32) -> Span {
        self.attempts.with_checkpoints(work, nodes)
    }
}
