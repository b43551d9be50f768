//! One reservation for a job of one task: the best of all quoted starts by the weights of cost and time. Starts before
//! the wanted one, those after which the job may miss its deadline, and those over its budget are left out.

use super::{Bargained, JustInTime, Strategy, StrategyRow, TRIES, failure_reason};
use crate::grid::{BookingId, Denial, Part, Quote, Receipt};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::application::choose_quoted;
use crate::systems::provisioning::deal::Deal;
use crate::systems::provisioning::run::Assignment;

pub const ROW: StrategyRow = StrategyRow {
    name: "reserve",
    about: "a reservation at the best start by alpha that sites quote; otherwise best effort",
    has_alpha: true,
    has_ahead: true,
    has_deadline: true,
    has_budget: true,
    is_rigid: true,
    build: |_| Box::new(ReserveStrategy::default()),
    ..super::BARGAINING
};

#[derive(Default)]
struct ReserveStrategy {
    /// Number of providers that have been asked and have not answered.
    silent: usize,
    quotes: Vec<(usize, Quote)>,
    tries: u32,
    bargained: Bargained,
    queue: JustInTime,
}

impl ReserveStrategy {
    fn ask(&mut self, deal: &mut Deal<'_>) {
        let task = deal.run.job.tasks[0];
        let providers = deal.fitting(0);
        let start = deal.wanted().max(deal.soonest_requested());
        self.silent = providers.len();
        let procs = task.cores;
        let round = providers.into_iter().map(|provider| {
            let span = deal.world.providers[provider].lasts(&task) + deal.slack();
            (provider, Query::PricesFrom(Part { procs, start, span }))
        });
        let round = round.collect();
        deal.ask_all(round);
    }

    fn book(&mut self, deal: &mut Deal<'_>) {
        let mut quotes = std::mem::take(&mut self.quotes);
        let named = nothing_in(&quotes);
        keep_in_time(&mut quotes, deal);
        let nothing = deal.limits().keep_starts(&mut quotes).map_or(named, failure_reason);
        match choose_quoted(deal.approach.alpha, &quotes) {
            Some((provider, quote, start)) => {
                deal.buy(provider, &quotes, (quote, start));
            }
            None => self.give_in(Bargain::Refused, nothing, deal),
        }
    }

    fn give_in(&mut self, end: Bargain, why: Reason, deal: &mut Deal<'_>) {
        self.bargained.tell(end, Some(why), deal);
        self.queue.begin_job(deal);
    }
}

/// Reason why the quotes have no start to choose.
pub fn nothing_in(quotes: &[(usize, Quote)]) -> Reason {
    if has_none(quotes) { Reason::NoStart } else { Reason::TooSoon }
}

fn has_none(quotes: &[(usize, Quote)]) -> bool {
    quotes.iter().all(|(_, quote)| quote.offers.is_empty())
}

/// Keeps the starts that are still possible when a claim arrives.
pub fn keep_in_time(quotes: &mut [(usize, Quote)], deal: &Deal<'_>) {
    quotes.iter_mut().for_each(|(_, quote)| quote.offers.retain(|offer| offer.start >= deal.soonest()));
}

impl Strategy for ReserveStrategy {
    fn begin_job(&mut self, deal: &mut Deal<'_>) {
        self.ask(deal);
    }

    fn task_ready(&mut self, task: u32, deal: &mut Deal<'_>) {
        self.queue.task_ready(task, deal);
    }

    fn receive_reply(&mut self, number: u64, provider: usize, reply: Reply, deal: &mut Deal<'_>) {
        if self.silent == 0 {
            return self.queue.receive_reply(number, provider, reply, deal);
        }
        if let Reply::Prices(quote) = reply {
            self.quotes.push((provider, quote));
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.quotes.sort_by_key(|(provider, _)| *provider);
            self.book(deal);
        }
    }

    fn receive_claim_result(
        &mut self,
        _: u64,
        provider: usize,
        result: Result<Vec<Receipt>, Denial>,
        deal: &mut Deal<'_>,
    ) {
        self.tries += 1;
        match result {
            Ok(receipts) => {
                self.bargained.tell(Bargain::Booked, None, deal);
                let within = receipts.iter().map(|receipt| (receipt.booking, receipt.part.procs)).collect();
                deal.send(0, Assignment { provider, within, ..Assignment::default() });
            }
            Err(denial) if denial.is_stale() && self.tries < TRIES => self.ask(deal),
            Err(denial) if denial.is_stale() => self.give_in(Bargain::Stale, denial.into(), deal),
            Err(denial) => self.give_in(Bargain::Refused, denial.into(), deal),
        }
    }

    /// Its task waits in the queue by now. If it can still be recalled, it is booked for anew.
    fn booking_revoked(&mut self, booking: BookingId, deal: &mut Deal<'_>) {
        if deal.run.assignment(0).is_some_and(|assignment| assignment.within.iter().any(|(its, _)| *its == booking)) {
            deal.recall(0);
        }
    }

    fn task_recalled(&mut self, _: u32, in_time: bool, deal: &mut Deal<'_>) {
        if in_time {
            self.tries = 0;
            self.ask(deal);
        }
    }
}
