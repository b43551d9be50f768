//! What is heard of a site's nodes by whoever is at the other end of its link.

use super::Outages;
use crate::time::{Span, Time};

/// A site as its news tells it: late by its link, and at the times of its reports.
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

    /// How many nodes are down, as one hears now; never asked of an earlier time than before.
    pub fn down(&mut self, now: Time) -> u32 {
        let sent = now.since(Time::ZERO + self.latency).micros();
        let period = self.report_every.micros().max(1);
        self.outages.advance(Time::from_micros(sent / period * period));
        self.outages.count()
    }

    /// When the next change is heard of.
    pub fn next(&self) -> Option<Time> {
        self.outages.next().map(|change| change.round_up(self.report_every) + self.latency)
    }

    /// For how long after something has arrived that is sent now nothing changes.
    pub fn safe(&mut self, now: Time) -> Span {
        self.down(now);
        self.outages.next().map_or(Span::MAX, |change| change.since(now + self.latency))
    }
}
