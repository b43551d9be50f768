//! Offers of sites to a service: checks them, and measures their age when tasks are given away.

use std::collections::VecDeque;

use super::counting::{CountResult, Reporter};
use super::site::SiteFacts;
use super::{Inconsistent, Tally};
use hansa_sim::grid::NodeSet;
use hansa_sim::protocol::SiteOffer;
use hansa_sim::time::{Span, Time};

/// The sites that send offers, by number; `None` for all others.
#[derive(Clone, Debug, Default)]
pub struct OfferLog {
    sites: Vec<Option<OfferBook>>,
    pub sums: OfferSums,
}

/// Offers of a site, and the facts that they have to agree with.
#[derive(Clone, Debug, Default)]
struct OfferBook {
    latency: Span,
    /// Cores of running tasks.
    busy: u32,
    starts: u64,
    /// Times of the offers on their way.
    on_way: VecDeque<Time>,
    /// Time of the last offer that has arrived.
    known: Option<Time>,
}

/// Numbers of a run; ages in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfferSums {
    pub offers: u64,
    /// Tasks that were given to sites which send offers, and the ages of the offers.
    pub given: u64,
    pub ages: u128,
    pub age_max: u64,
}

impl OfferLog {
    pub fn of(sites: &[SiteFacts]) -> OfferLog {
        let offers =
            |site: &SiteFacts| site.offers_every.map(|_| OfferBook { latency: site.latency, ..OfferBook::default() });
        OfferLog { sites: sites.iter().map(offers).collect(), sums: OfferSums::default() }
    }

    fn site(&mut self, site: u32) -> Option<&mut OfferBook> {
        self.sites[site as usize].as_mut()
    }

    /// A service gives a task to a site.
    pub fn assigned(&mut self, site: u32, now: Time) {
        let Some(offers) = self.site(site) else { return };
        while let Some(sent) = offers.on_way.pop_front_if(|sent| *sent + offers.latency <= now) {
            offers.known = Some(sent);
        }
        let age = offers.known.map_or(0, |sent| now.since(sent).micros());
        self.sums.given += 1;
        self.sums.ages += u128::from(age);
        self.sums.age_max = self.sums.age_max.max(age);
    }

    pub fn started(&mut self, site: u32, cores: &NodeSet) {
        if let Some(offers) = self.site(site) {
            offers.busy += cores.len();
            offers.starts += 1;
        }
    }

    /// A task has ended, or was lost.
    pub fn left(&mut self, site: u32, cores: &NodeSet) {
        if let Some(offers) = self.site(site) {
            offers.busy = offers.busy.saturating_sub(cores.len());
        }
    }
}

impl Tally {
    /// Checks an offer: its cores are idle, each start that it counts has happened unless the task waits, and the
    /// service has received the offer, sent at that time.
    pub fn offered(&mut self, by: Reporter, idle: &u32, waiting: &u32, received: &u64) -> CountResult {
        let site = self.site(by.actor)?;
        let facts = &self.sites[site as usize];
        let down = self.down[site as usize].len();
        let offer = SiteOffer { idle: *idle, waiting: *waiting, received: *received };
        let is_seen = self.witness.as_ref().is_none_or(|witness| witness.has_offered(by.actor, offer, by.now));
        let is_true = |offers: &&mut OfferBook| {
            let cores = u64::from(*idle) + u64::from(offers.busy) + u64::from(down);
            let counts = if *waiting == 0 { *received == offers.starts } else { *received > offers.starts };
            cores == u64::from(facts.cores) && counts
        };
        let Some(offers) = self.offers.site(site).filter(is_true).filter(|_| is_seen) else {
            return Err(Inconsistent::FalseOffer(facts.name.clone()));
        };
        offers.on_way.push_back(by.now);
        self.offers.sums.offers += 1;
        Ok(None)
    }
}
