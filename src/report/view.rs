//! How old the router's view of its sites was: between the end of a task and the moment the router hears of it, the
//! cores stand idle and what comes next waits.

use serde::{Deserialize, Serialize};

use super::Tally;
use super::tally::SiteFacts;
use crate::time::Time;

/// What an old view amounts to over a run. Times in seconds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// From the end of a task until the router heard of it, by links and reporting periods; mean over what ended.
    pub lag_mean: f64,
    pub lag_max: f64,
    /// Core seconds that were free in this time, as far as the router knew in use.
    pub unseen: f64,
}

impl View {
    /// Whether it is about more than the blink that a network takes.
    pub fn is_old(&self) -> bool {
        self.lag_max >= 1.0
    }
}

/// What has been seen of tasks that ended.
#[derive(Default)]
pub(super) struct Views {
    count: u64,
    sum: u128,
    max: u64,
    unseen: u128,
}

impl Views {
    pub fn add(&mut self, site: &SiteFacts, end: Time, cores: u32) {
        let lag = site.told(end).since(end).micros();
        self.count += 1;
        self.sum += u128::from(lag);
        self.max = self.max.max(lag);
        self.unseen += u128::from(lag) * u128::from(cores);
    }

    /// `None` where the router sees everything at once.
    pub fn of(&self, tally: &Tally) -> Option<View> {
        if tally.sites.iter().all(|site| site.latency.is_zero() && site.report_every.is_zero()) {
            return None;
        }
        let lag_mean = if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 / 1e6 };
        Some(View { lag_mean, lag_max: self.max as f64 / 1e6, unseen: self.unseen as f64 / 1e6 })
    }
}

impl SiteFacts {
    /// When the router hears of what ends at a time.
    fn told(&self, end: Time) -> Time {
        end.round_up(self.report_every) + self.latency
    }
}
