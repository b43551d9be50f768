//! One reservation for a job of one task: the best of all quoted starts by the weights of cost and time. Starts before
//! the wanted one, those after which the job may miss its deadline, and those over its budget are left out.

use super::{Bargained, JustInTime, Strategy, StrategyRow, TRIES, failure_reason};
use crate::grid::{BookingId, Denial, Part, Quote, Receipt};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::application::choose_quoted;
use crate::systems::provisioning::job_context::JobContext;
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
    fn request_quotes(&mut self, context: &mut JobContext<'_>) {
        let task = context.run.job.tasks[0];
        let providers = context.fitting_providers(0);
        let start = context.wanted().max(context.soonest_requested());
        self.silent = providers.len();
        let procs = task.cores;
        let round = providers.into_iter().map(|provider| {
            let span = context.world.providers[provider].held_time(&task) + context.slack();
            (provider, Query::PricesFrom(Part { procs, start, span }))
        });
        let round = round.collect();
        context.send_queries(round);
    }

    fn book(&mut self, context: &mut JobContext<'_>) {
        let mut quotes = std::mem::take(&mut self.quotes);
        let named = nothing_in(&quotes);
        keep_in_time(&mut quotes, context);
        let nothing = context.limits().retain_starts(&mut quotes).map_or(named, failure_reason);
        match choose_quoted(context.approach.alpha, &quotes) {
            Some((provider, quote, start)) => {
                context.buy(provider, &quotes, (quote, start));
            }
            None => self.fall_back_to_queue(Bargain::Refused, nothing, context),
        }
    }

    fn fall_back_to_queue(&mut self, end: Bargain, why: Reason, context: &mut JobContext<'_>) {
        self.bargained.log_end(end, Some(why), context);
        self.queue.begin_job(context);
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
pub fn keep_in_time(quotes: &mut [(usize, Quote)], context: &JobContext<'_>) {
    quotes.iter_mut().for_each(|(_, quote)| quote.offers.retain(|offer| offer.start >= context.soonest_claimed()));
}

impl Strategy for ReserveStrategy {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        self.request_quotes(context);
    }

    fn task_ready(&mut self, task: u32, context: &mut JobContext<'_>) {
        self.queue.task_ready(task, context);
    }

    fn receive_reply(&mut self, number: u64, provider: usize, reply: Reply, context: &mut JobContext<'_>) {
        if self.silent == 0 {
            return self.queue.receive_reply(number, provider, reply, context);
        }
        if let Reply::Prices(quote) = reply {
            self.quotes.push((provider, quote));
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.quotes.sort_by_key(|(provider, _)| *provider);
            self.book(context);
        }
    }

    fn receive_claim_result(
        &mut self,
        _: u64,
        provider: usize,
        result: Result<Vec<Receipt>, Denial>,
        context: &mut JobContext<'_>,
    ) {
        self.tries += 1;
        match result {
            Ok(receipts) => {
                self.bargained.log_end(Bargain::Booked, None, context);
                let within = receipts.iter().map(|receipt| (receipt.booking, receipt.part.procs)).collect();
                context.send(0, Assignment { provider, within, ..Assignment::default() });
            }
            Err(denial) if denial.is_stale() && self.tries < TRIES => self.request_quotes(context),
            Err(denial) if denial.is_stale() => self.fall_back_to_queue(Bargain::Stale, denial.into(), context),
            Err(denial) => self.fall_back_to_queue(Bargain::Refused, denial.into(), context),
        }
    }

    /// Handles a revoked booking. The site has put the task into its queue; if it can still be recalled, another start
    /// is booked.
    fn booking_revoked(&mut self, booking: BookingId, context: &mut JobContext<'_>) {
        if context.run.assignment(0).is_some_and(|assignment| assignment.within.iter().any(|(its, _)| *its == booking))
        {
            context.recall(0);
        }
    }

    fn task_recalled(&mut self, _: u32, in_time: bool, context: &mut JobContext<'_>) {
        if in_time {
            self.tries = 0;
            self.request_quotes(context);
        }
    }
}
