//! Age of the router's view of its sites: between the end of a task and its report, or the offer of its cores, the
//! cores are idle and later tasks wait.

use crate::Tally;
use crate::referee::tally::SiteFacts;
use crate::results::summary::Staleness;
use hansa_sim::time::{Span, Time};

/// Sums over ended tasks.
#[derive(Default)]
pub(crate) struct StalenessSums {
    count: u64,
    sum: u128,
    max: u64,
    unseen: u128,
}

impl StalenessSums {
    pub fn add(&mut self, site: &SiteFacts, end: Time, cores: u32) {
        let lag = site.known_at(end).since(end).micros();
        self.count += 1;
        self.sum += u128::from(lag);
        self.max = self.max.max(lag);
        self.unseen += u128::from(lag) * u128::from(cores);
    }

    /// `None` if the router sees everything at once.
    pub fn of(&self, tally: &Tally) -> Option<Staleness> {
        if tally.sites.iter().all(|site| site.latency.is_zero() && site.report_period().is_zero()) {
            return None;
        }
        let by_offers = tally.sites.iter().any(|site| site.offers_every.is_some());
        let lag_mean = if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 / 1e6 };
        Some(Staleness { lag_mean, lag_max: self.max as f64 / 1e6, unseen: self.unseen as f64 / 1e6, by_offers })
    }
}

impl SiteFacts {
    /// Time at which the router learns that the cores of an ended task are free.
    fn known_at(&self, end: Time) -> Time {
        end.round_up(self.report_period()) + self.latency
    }

    /// Period of the reports, or offers, that say which cores are free.
    fn report_period(&self) -> Span {
        self.offers_every.unwrap_or(self.report_every)
    }
}
