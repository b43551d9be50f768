//! Offers of sites to a service: checks them, and measures their age when tasks are given away.

use std::collections::VecDeque;

use crate::referee::tally::{CountResult, Inconsistent, JobBook, Reporter, SiteFacts, SubjectTally};
use hansa_sim::grid::NodeSet;
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::{Record, SiteOffer};
use hansa_sim::time::{Span, Time};

/// The sites that send offers, by number; `None` for all others.
#[derive(Clone, Debug, Default)]
pub struct OfferTally {
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

impl SubjectTally for OfferTally {
    fn take(&mut self, book: &mut JobBook, by: Reporter, record: &Record) -> Option<CountResult> {
        self.take_record(book, by, record)
    }

    fn watches(&self) -> bool {
        self.sites.iter().any(Option::is_some)
    }

    fn watch(&mut self, book: &JobBook, by: Reporter, record: &Record) {
        match record {
            Record::Assigned { site, .. } => {
                site_of_actor(*site, book).into_iter().for_each(|site| self.assigned(site, by.now))
            }
            Record::Started { cores, .. } => {
                site_of_actor(by.actor, book).into_iter().for_each(|site| self.started(site, cores))
            }
            Record::Finished { task } | Record::Killed { task } | Record::Lost { task, .. } => {
                if let Some((site, row)) = site_of_actor(by.actor, book).zip(book.task_row(*task)) {
                    self.free_cores(site, &row.cores);
                }
            }
            _ => {}
        }
    }
}

fn site_of_actor(actor: ActorId, book: &JobBook) -> Option<u32> {
    book.site_of.get(&actor).copied()
}

impl OfferTally {
    pub fn new(sites: &[SiteFacts]) -> OfferTally {
        OfferTally {
            sites: sites
                .iter()
                .map(|site| site.offers_every.map(|_| OfferBook { latency: site.latency, ..OfferBook::default() }))
                .collect(),
            sums: OfferSums::default(),
        }
    }

    fn site(&mut self, site: u32) -> Option<&mut OfferBook> {
        self.sites[site as usize].as_mut()
    }

    /// Records that a service gave a task to a site.
    fn assigned(&mut self, site: u32, now: Time) {
        let Some(offers) = self.site(site) else { return };
        while let Some(sent) = offers.on_way.pop_front_if(|sent| *sent + offers.latency <= now) {
            offers.known = Some(sent);
        }
        let age = offers.known.map_or(0, |sent| now.since(sent).micros());
        self.sums.given += 1;
        self.sums.ages += u128::from(age);
        self.sums.age_max = self.sums.age_max.max(age);
    }

    fn started(&mut self, site: u32, cores: &NodeSet) {
        if let Some(offers) = self.site(site) {
            offers.busy += cores.len();
            offers.starts += 1;
        }
    }

    /// Counts the cores of a task that has ended or was lost as free.
    fn free_cores(&mut self, site: u32, cores: &NodeSet) {
        if let Some(offers) = self.site(site) {
            offers.busy = offers.busy.saturating_sub(cores.len());
        }
    }
}

impl OfferTally {
    /// Checks an offer: its cores are idle, each start that it counts has happened unless the task waits, and the
    /// service has received the offer, sent at that time.
    pub fn offered(
        &mut self,
        book: &mut JobBook,
        by: Reporter,
        idle: &u32,
        waiting: &u32,
        received: &u64,
    ) -> CountResult {
        let site = book.site(by.actor)?;
        let facts = &book.sites[site as usize];
        let down = book.down[site as usize].len();
        let offer = SiteOffer { idle: *idle, waiting: *waiting, received: *received };
        let is_seen = book.witness.as_ref().is_none_or(|witness| witness.has_offered(by.actor, offer, by.now));
        let Some(offers) = self
            .site(site)
            .filter(|offers| {
                let cores = u64::from(*idle) + u64::from(offers.busy) + u64::from(down);
                let counts = if *waiting == 0 { *received == offers.starts } else { *received > offers.starts };
                cores == u64::from(facts.cores) && counts
            })
            .filter(|_| is_seen)
        else {
            return Err(Inconsistent::FalseOffer(facts.name.clone()));
        };
        offers.on_way.push_back(by.now);
        self.sums.offers += 1;
        Ok(None)
    }
}
