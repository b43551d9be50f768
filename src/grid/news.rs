//! What is heard of a site's nodes by whoever is at the other end of its link.

use super::{Expected, Outages};
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
        self.hear(now);
        self.outages.count()
    }

    /// Which these are, and when they are taken to be back; never asked of an earlier time than before.
    pub fn expected(&mut self, now: Time) -> Vec<Expected> {
        let sent = self.hear(now);
        self.outages.expected(sent)
    }

    /// When what one hears now set out.
    fn hear(&mut self, now: Time) -> Time {
        let sent = now.since(Time::ZERO + self.latency).micros();
        let period = self.report_every.micros().max(1);
        let sent = Time::from_micros(sent / period * period);
        self.outages.advance(sent);
        sent
    }

    /// When the next change is heard of.
    pub fn next(&self) -> Option<Time> {
        self.outages.next().map(|change| self.heard(change))
    }

    /// When one hears of what happens at the site then.
    pub fn heard(&self, at: Time) -> Time {
        at.round_up(self.report_every) + self.latency
    }

    /// For how long after something has arrived that is sent now nothing changes.
    pub fn safe(&mut self, now: Time) -> Span {
        self.down(now);
        self.outages.next().map_or(Span::MAX, |change| change.since(now + self.latency))
    }
}
