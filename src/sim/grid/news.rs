//! Information about a site's nodes at the other end of its link.

use super::{Expected, Outages};
use crate::time::{Span, Time};

/// Delayed view of a site's nodes: late by the link's latency, and sent at the times of the site's reports.
#[derive(Clone, Debug)]
pub struct News {
    outages: Outages,
    latency: Span,
    report_every: Span,
}

impl News {
    pub fn new(outages: Outages, latency: Span, report_every: Span) -> News {
        News { outages, latency, report_every }
    }

    /// Number of nodes known to be down; times of successive calls must not decrease.
    pub fn down(&mut self, now: Time) -> u32 {
        self.advance(now);
        self.outages.count()
    }

    /// Nodes known to be down, with their expected return; times of successive calls must not decrease.
    pub fn expected(&mut self, now: Time) -> Vec<Expected> {
        let sent = self.advance(now);
        self.outages.expected(sent)
    }

    /// Send time of the information that arrives now.
    fn advance(&mut self, now: Time) -> Time {
        let sent = now.since(Time::ZERO + self.latency).micros();
        let period = self.report_every.micros().max(1);
        let sent = Time::from_micros(sent / period * period);
        self.outages.skip_to(sent);
        sent
    }

    /// Arrival of the next change.
    pub fn next(&self) -> Option<Time> {
        self.outages.next().map(|change| self.reported_at(change))
    }

    /// Arrival of information about an event at the site at this time.
    pub fn reported_at(&self, at: Time) -> Time {
        at.round_up(self.report_every) + self.latency
    }

    /// Time without a change after the arrival of a message that is sent now.
    pub fn safe_span(&mut self, now: Time) -> Span {
        self.down(now);
        self.outages.next().map_or(Span::MAX, |change| change.since(now + self.latency))
    }
}
