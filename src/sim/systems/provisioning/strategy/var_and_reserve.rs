//! A reservation for safety, and beside it a job that imitates one: the cheaper one is used, and the other is returned.
//!
//! The reservation takes processors from its own imitation, as it would at any site.

use super::var::{PaddedJob, WANTED, job_work};
use super::{Bargained, Strategy, StrategyRow};
use crate::grid::{Area, BookingId, Denial, Part, Quote, Receipt};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::job_context::JobContext;
use crate::systems::provisioning::run::Assignment;
use crate::systems::provisioning::virtual_reservation::{
    Opening, choose_opening, is_job_cheaper, padding_cost, reserved_cost,
};
use crate::time::Time;

pub const ROW: StrategyRow = StrategyRow {
    name: "var-and-reserve",
    about: "a reservation and a queued job; whichever is cheaper is used",
    has_ahead: true,
    pads: true,
    is_rigid: true,
    build: |_| Box::new(Both::default()),
    ..super::BARGAINING
};

#[derive(Default)]
struct Both {
    silent: usize,
    /// The cheapest quote so far, with its provider.
    cheapest: Option<(usize, Quote)>,
    /// The reservation, as long as it is undecided whether the work is done in it.
    reserved: Option<(usize, Receipt)>,
    job: PaddedJob,
    /// True if there is a job beside the reservation, or in its place.
    tries_job: bool,
    bargained: Bargained,
}

/// Order of providers: by total cost, then the end, then the fee, then the number. One start was asked for, so there is
/// at most one offer.
fn quote_rank(provider: usize, quote: &Quote) -> Option<(Area, Time, Area, usize)> {
    let offer = quote.offers.first()?;
    Some((quote.cost(offer), offer.start + quote.span, offer.fee, provider))
}

/// Cost of the work in a reservation at a provider, without the time for messages: a job needs none.
fn in_reservation(provider: usize, fee: Area, context: &JobContext<'_>) -> Area {
    reserved_cost(&job_work(provider, context), &context.world.providers[provider].tariff, fee)
}

/// Cost of the work in the queue of a provider.
fn in_queue(provider: usize, context: &JobContext<'_>) -> Area {
    job_work(provider, context).area()
}

impl Both {
    fn take_quote(&mut self, provider: usize, quote: Quote) {
        let Some(asked) = quote_rank(provider, &quote) else { return };
        let least = self.cheapest.as_ref().and_then(|(provider, cheapest)| quote_rank(*provider, cheapest));
        if least.is_none_or(|least| asked < least) {
            self.cheapest = Some((provider, quote));
        }
    }

    /// Chooses a beginning once all prices are known.
    fn open(&mut self, context: &mut JobContext<'_>) {
        let cheapest = self.cheapest.take();
        let offer = cheapest.as_ref().and_then(|(provider, quote)| Some((*provider, quote.offers.first()?)));
        let reserved = offer.map(|(provider, offer)| in_reservation(provider, offer.fee, context));
        let queued = context.fitting_providers(0).into_iter().map(|provider| in_queue(provider, context)).min();
        self.tries_job = choose_opening(reserved, queued.unwrap_or_default()) != Opening::Reserve;
        match cheapest.as_ref().zip(offer) {
            Some(((provider, quote), (_, offer))) => {
                context.buy(*provider, &[(*provider, quote.clone())], (quote.id, offer.start));
            }
            None => self.try_job(context),
        }
    }

    /// Looks for the best time to submit a job. It is recalled if it has not started when its work is wanted.
    fn try_job(&mut self, context: &mut JobContext<'_>) {
        self.job.request_chances(context);
        context.wake_at(context.wanted(), WANTED);
    }

    /// Uses the reservation, if there is one, because there is no job for this reason.
    fn use_reservation(&mut self, no_job: Reason, context: &mut JobContext<'_>) {
        match self.reserved.take() {
            Some((provider, receipt)) => {
                let within = vec![(receipt.booking, receipt.part.procs)];
                context.send(0, Assignment { provider, within, ..Assignment::default() });
            }
            None => {
                self.bargained.log_end(Bargain::GivenUp, Some(no_job), context);
                context.give_up();
            }
        }
    }
}

impl Strategy for Both {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        let providers = context.fitting_providers(0);
        self.silent = providers.len();
        let round = providers.into_iter().map(|provider| {
            // News about the job takes a while.
            let part = job_work(provider, context);
            let lasts = context.world.providers[provider].held_time(&context.run.job.tasks[0]);
            (provider, Query::Price(Part { span: lasts + context.slack() + context.slack(), ..part }))
        });
        let round = round.collect();
        context.send_queries(round);
    }

    fn task_ready(&mut self, _: u32, _: &mut JobContext<'_>) {}

    fn receive_reply(&mut self, _: u64, provider: usize, reply: Reply, context: &mut JobContext<'_>) {
        if self.silent == 0 {
            // Its work has been sent into the reservation meanwhile, or given up.
            if !self.tries_job {
                return;
            }
            // Without any chance the choice is the reservation or nothing.
            if self.job.take_chance(provider, &reply, context) == Some(false) {
                self.tries_job = false;
                self.use_reservation(Reason::NoChance, context);
            }
            return;
        }
        if let Reply::Prices(quote) = reply {
            self.take_quote(provider, quote);
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.open(context);
        }
    }

    fn receive_claim_result(
        &mut self,
        _: u64,
        provider: usize,
        result: Result<Vec<Receipt>, Denial>,
        context: &mut JobContext<'_>,
    ) {
        match result {
            Ok(receipts) => {
                self.bargained.log_end(Bargain::Booked, None, context);
                self.reserved = receipts.first().map(|receipt| (provider, *receipt));
            }
            Err(_) => self.tries_job = true,
        }
        if self.tries_job {
            self.try_job(context);
        } else {
            self.use_reservation(Reason::Unfit, context);
        }
    }

    /// Returns the booking when the job is over. The job may have ended or been lost before the news of its start, or
    /// of its recall, arrived.
    fn spare_booking(&mut self) -> Option<(usize, BookingId)> {
        self.reserved.take().map(|(provider, receipt)| (provider, receipt.booking))
    }

    /// Handles a revoked booking. A task that was to run in it waits in the queue of the site.
    fn booking_revoked(&mut self, booking: BookingId, _: &mut JobContext<'_>) {
        self.reserved = self.reserved.filter(|(_, receipt)| receipt.booking != booking);
    }

    fn booking_postponed(&mut self, receipt: Receipt, _: &mut JobContext<'_>) {
        if let Some((_, reserved)) = self.reserved.as_mut().filter(|(_, its)| its.booking == receipt.booking) {
            *reserved = receipt;
        }
    }

    fn timer_due(&mut self, token: u64, context: &mut JobContext<'_>) {
        self.job.wake(token, context);
        if token != WANTED || !self.tries_job || self.job.begun {
            return;
        }
        if context.run.assignment(0).is_some() {
            return context.recall(0);
        }
        // The answers came so late that it was never submitted.
        self.tries_job = false;
        self.use_reservation(Reason::TooLate, context);
    }

    fn task_begun(&mut self, _: u32, context: &mut JobContext<'_>) {
        self.job.begun = true;
        self.bargained.log_end(Bargain::Booked, None, context);
        let Some((provider, receipt)) = self.reserved else { return };
        let job = context.run.assignment(0).map_or(provider, |assignment| assignment.provider);
        let queued = in_queue(job, context) + padding_cost(&receipt.part, context.now);
        let reserved = in_reservation(provider, receipt.fee, context);
        let penalty = receipt.fee.part(context.world.providers[provider].cancelling);
        if is_job_cheaper(queued, reserved, penalty) {
            self.reserved = None;
            context.give_back(provider, receipt.booking);
        } else {
            context.recall(0);
        }
    }

    fn task_recalled(&mut self, _: u32, in_time: bool, context: &mut JobContext<'_>) {
        match (in_time, self.reserved) {
            (true, _) => self.use_reservation(Reason::NotStarted, context),
            // The job runs after all, so the reservation is useless.
            (false, Some((provider, receipt))) => {
                self.reserved = None;
                context.give_back(provider, receipt.booking);
            }
            (false, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Offer, QuoteId, Rate, Tariff};
    use crate::time::Span;

    /// The site booked, given the price, the fee and the run time at each.
    fn booked(sites: &[(u32, u64, u64)]) -> usize {
        let start = Time::from_micros(5_000_000);
        let mut both = Both::default();
        // The last one answers first.
        for (provider, &(price, fee, lasts)) in sites.iter().enumerate().rev() {
            let offers = vec![Offer { start, fee: Area::of(1, Span::from_secs(fee)) }];
            let span = Span::from_secs(lasts);
            let tariff = Tariff::flat(Rate(price));
            both.take_quote(provider, Quote { id: QuoteId(0), expiry: start, procs: 1, span, tariff, offers });
        }
        both.cheapest.expect("there are quotes").0
    }

    #[test]
    fn the_cheapest_in_all_is_booked() {
        assert_eq!(booked(&[(3_000, 0, 200), (1_000, 0, 100)]), 1);
        assert_eq!(booked(&[(1_000, 40, 100), (1_200, 10, 100)]), 1);
        assert_eq!(booked(&[(1_000, 10, 100), (1_200, 0, 100)]), 0);
        // As much in all: that with the earlier end, then that with the lower fee.
        assert_eq!(booked(&[(1_000, 0, 100), (2_000, 0, 50)]), 1);
        assert_eq!(booked(&[(1_000, 20, 100), (1_200, 0, 100)]), 1);
    }

    #[test]
    fn where_all_sites_cost_the_same_the_fee_decides() {
        for price in [500, 1_000, 3_000] {
            assert_eq!(booked(&[(price, 9, 100), (price, 7, 100), (price, 8, 100)]), 1);
            assert_eq!(booked(&[(price, 9, 100), (price, 7, 100), (price, 7, 100)]), 1);
            assert_eq!(booked(&[(price, 0, 100), (price, 0, 100)]), 0);
        }
    }
}
