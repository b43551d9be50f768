//! A reservation to be on the safe side, and beside it a job that imitates one: whichever turns out cheaper is used,
//! and the other one is given back.
//!
//! The reservation takes processors from its own imitation, as it would at any site.

use super::var::{PaddedJob, WANTED, work};
use super::{Bargained, Row, Strategy};
use crate::grid::{BookingId, Denial, Part, Quote, Receipt};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::deal::Deal;
use crate::systems::provisioning::run::Goes;
use crate::systems::provisioning::virtual_reservation::{Opening, is_job_cheaper, open, padding};

pub const ROW: Row = Row {
    name: "var-and-reserve",
    about: "a reservation and a queued job; whichever is cheaper is used",
    has_ahead: true,
    is_rigid: true,
    build: |_| Box::new(Both::default()),
    ..super::BARGAINING
};

#[derive(Default)]
struct Both {
    silent: usize,
    /// The cheapest reservation so far, at which provider.
    cheapest: Option<(usize, Quote)>,
    /// What is booked, as long as it is not decided whether the work is done in it.
    reserved: Option<(usize, Receipt)>,
    job: PaddedJob,
    /// Whether there is a job beside the reservation, or in its place.
    tries_job: bool,
    bargained: Bargained,
}

impl Both {
    /// One start was asked for, so there is one offer at most.
    fn priced(&mut self, provider: usize, quote: Quote) {
        let fee = |quote: &Quote| quote.offers.first().map(|offer| offer.fee);
        let Some(asked) = fee(&quote) else { return };
        if self.cheapest.as_ref().and_then(|(_, cheapest)| fee(cheapest)).is_none_or(|least| asked < least) {
            self.cheapest = Some((provider, quote));
        }
    }

    /// All prices are known.
    fn open(&mut self, deal: &mut Deal<'_>) {
        let cheapest = self.cheapest.take();
        let offer = cheapest.as_ref().and_then(|(_, quote)| quote.offers.first());
        self.tries_job = open(offer.map(|offer| offer.fee)) != Opening::Reserve;
        match cheapest.as_ref().zip(offer) {
            Some(((provider, quote), offer)) => {
                deal.buy(*provider, &[(*provider, quote.clone())], (quote.id, offer.start));
            }
            None => self.try_job(deal),
        }
    }

    /// Looks for the best moment to submit a job, which is taken back if it has not started when its work is wanted.
    fn try_job(&mut self, deal: &mut Deal<'_>) {
        self.job.ask(deal);
        deal.wake_at(deal.run.job.arrive + deal.approach.ahead, WANTED);
    }

    /// The work is done in the reservation, if there is one; there is no job for this reason.
    fn use_reservation(&mut self, no_job: Reason, deal: &mut Deal<'_>) {
        match self.reserved.take() {
            Some((provider, receipt)) => {
                let within = vec![(receipt.booking, receipt.part.procs)];
                deal.send(0, Goes { provider, within, ..Goes::default() });
            }
            None => {
                self.bargained.tell(Bargain::GivenUp, Some(no_job), deal);
                deal.give_up();
            }
        }
    }
}

impl Strategy for Both {
    fn begin(&mut self, deal: &mut Deal<'_>) {
        let providers = deal.fitting(0);
        self.silent = providers.len();
        for provider in providers {
            // News of what has become of the job takes a while.
            let part = work(provider, deal);
            let lasts = deal.world.providers[provider].lasts(&deal.run.job.tasks[0]);
            let part = Part { span: lasts + deal.slack() + deal.slack(), ..part };
            deal.ask(provider, Query::Price(part));
        }
    }

    fn ready(&mut self, _: u32, _: &mut Deal<'_>) {}

    fn informed(&mut self, _: u64, provider: usize, reply: Reply, deal: &mut Deal<'_>) {
        if self.silent == 0 {
            // Its work has been sent into the reservation meanwhile, or given up.
            if !self.tries_job {
                return;
            }
            // Without any chance it is the reservation, or nothing.
            if self.job.informed(provider, &reply, deal) == Some(false) {
                self.tries_job = false;
                self.use_reservation(Reason::NoChance, deal);
            }
            return;
        }
        if let Reply::Prices(quote) = reply {
            self.priced(provider, quote);
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.open(deal);
        }
    }

    fn claimed(&mut self, _: u64, provider: usize, result: Result<Vec<Receipt>, Denial>, deal: &mut Deal<'_>) {
        match result {
            Ok(receipts) => {
                self.bargained.tell(Bargain::Booked, None, deal);
                self.reserved = receipts.first().map(|receipt| (provider, *receipt));
            }
            Err(_) => self.tries_job = true,
        }
        if self.tries_job {
            self.try_job(deal);
        } else {
            self.use_reservation(Reason::Unfit, deal);
        }
    }

    /// Its job may have ended, or been lost, before word of that it started, or could be had back, was there.
    fn spare(&mut self) -> Option<(usize, BookingId)> {
        self.reserved.take().map(|(provider, receipt)| (provider, receipt.booking))
    }

    /// The job has to do without it. If the work was to be done in it, it waits in the queue by now.
    fn revoked(&mut self, booking: BookingId, _: &mut Deal<'_>) {
        self.reserved = self.reserved.filter(|(_, receipt)| receipt.booking != booking);
    }

    fn postponed(&mut self, receipt: Receipt, _: &mut Deal<'_>) {
        if let Some((_, reserved)) = self.reserved.as_mut().filter(|(_, its)| its.booking == receipt.booking) {
            *reserved = receipt;
        }
    }

    fn wake(&mut self, token: u64, deal: &mut Deal<'_>) {
        self.job.wake(token, deal);
        if token != WANTED || !self.tries_job || self.job.begun {
            return;
        }
        if deal.run.goes(0).is_some() {
            return deal.recall(0);
        }
        // Answers took so long that it was never submitted.
        self.tries_job = false;
        self.use_reservation(Reason::TooLate, deal);
    }

    fn begun(&mut self, _: u32, deal: &mut Deal<'_>) {
        self.job.begun = true;
        self.bargained.tell(Bargain::Booked, None, deal);
        let Some((provider, receipt)) = self.reserved else { return };
        let part = Part { span: receipt.part.span, ..receipt.part };
        let penalty = receipt.fee.part(deal.world.providers[provider].cancelling);
        if is_job_cheaper(padding(&part, deal.now), receipt.fee, penalty) {
            self.reserved = None;
            deal.give_back(provider, receipt.booking);
        } else {
            deal.recall(0);
        }
    }

    fn recalled(&mut self, _: u32, in_time: bool, deal: &mut Deal<'_>) {
        match (in_time, self.reserved) {
            (true, _) => self.use_reservation(Reason::NotStarted, deal),
            // It runs after all, so the reservation is of no use.
            (false, Some((provider, receipt))) => {
                self.reserved = None;
                deal.give_back(provider, receipt.booking);
            }
            (false, None) => {}
        }
    }
}
