//! A workflow bought task by task: for each task, in HEFT order, all sites quote, and the best start by alpha is booked
//! before the next task is asked for. A task goes to its site as soon as it has its booking, which begins no sooner
//! than it can arrive.

use super::reserve::{keep_in_time, nothing_in};
use super::{JustInTime, Strategy, StrategyRow, TRIES, failure_reason};
use crate::grid::{Denial, Quote, Receipt};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::application::{Application, GreedyPlan as Buying};
use crate::systems::provisioning::job_context::JobContext;
use crate::systems::provisioning::run::Assignment;
use crate::time::Time;

pub const ROW: StrategyRow = StrategyRow {
    name: "greedy",
    about: "buys starts task by task, each the best by alpha of what sites quote",
    has_alpha: true,
    has_deadline: true,
    has_budget: true,
    build: |_| Box::new(Greedy::default()),
    ..super::BARGAINING
};

#[derive(Default)]
struct Greedy {
    application: Option<Application>,
    begun: Time,
    bought: Vec<(usize, Receipt)>,
    silent: usize,
    quotes: Vec<(usize, Quote)>,
    tries: u32,
    queue: JustInTime,
    settled: bool,
}

impl Greedy {
    /// The purchase so far. It is rebuilt from the bookings, so that no plan has to outlive a message.
    fn buying<'a>(&self, application: &'a Application, context: &JobContext<'_>) -> Buying<'a> {
        let sites = context.world.providers.iter().map(|provider| provider.cores).collect();
        let buying = Buying::new(application, context.approach.alpha, self.begun, sites);
        let mut buying =
            buying.with_limits(context.limits(), |provider, area| context.world.providers[provider].least(area));
        self.bought.iter().for_each(|(provider, receipt)| buying.bought(*provider, *receipt));
        buying
    }

    /// Requests offers for the next task; finishes after the last one.
    fn request_next(&mut self, context: &mut JobContext<'_>) {
        let application = self.application.take().unwrap_or_else(|| context.application());
        let at = self.bought.len();
        if at == application.tasks() {
            return self.finish(context);
        }
        let providers = context.fitting_providers(application.order()[at]);
        let price_queries = self.buying(&application, context).price_queries(context.soonest_requested());
        let price_queries: Vec<_> = price_queries.into_iter().filter(|query| providers.contains(&query.site)).collect();
        self.application = Some(application);
        self.silent = price_queries.len();
        let round = price_queries.into_iter().map(|query| (query.site, Query::PricesFrom(query.part)));
        context.send_queries(round.collect());
    }

    fn buy(&mut self, context: &mut JobContext<'_>) {
        let mut quotes = std::mem::take(&mut self.quotes);
        quotes.sort_by_key(|(provider, _)| *provider);
        let nothing = nothing_in(&quotes);
        keep_in_time(&mut quotes, context);
        let application = self.application.take().expect("prices are asked for an application");
        let buying = self.buying(&application, context);
        let nothing = buying.retain_within_limits(&mut quotes).map_or(nothing, failure_reason);
        let choice = buying.choose(&quotes);
        self.application = Some(application);
        match choice {
            Some((provider, quote, start)) => {
                context.buy(provider, &quotes, (quote, start));
            }
            None => self.leave_rest_to_queues(Bargain::Refused, nothing, context),
        }
    }

    /// Sends the next task into its booking.
    fn send(&mut self, provider: usize, receipt: Receipt, context: &mut JobContext<'_>) {
        let application = self.application.as_ref().expect("something is bought for an application");
        let task = application.order()[self.bought.len()];
        self.bought.push((provider, receipt));
        let within = vec![(receipt.booking, receipt.part.procs)];
        context.send(task, Assignment { provider, within, ..Assignment::default() });
    }

    fn finish(&mut self, context: &mut JobContext<'_>) {
        self.settled = true;
        context.bargained(Bargain::Booked, None);
        // Tasks that were lost meanwhile.
        self.queue.begin_job(context);
    }

    /// Leaves tasks without a booking to queues. Those with one depend on none of them: they came first in HEFT order.
    fn leave_rest_to_queues(&mut self, end: Bargain, why: Reason, context: &mut JobContext<'_>) {
        self.settled = true;
        context.bargained(end, Some(why));
        self.queue.begin_job(context);
    }
}

impl Strategy for Greedy {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        self.begun = context.now;
        self.request_next(context);
    }

    fn task_ready(&mut self, task: u32, context: &mut JobContext<'_>) {
        // Until all is bought, its turn is still to come.
        if self.settled {
            self.queue.task_ready(task, context);
        }
    }

    fn abandon_job(&mut self, context: &mut JobContext<'_>) {
        if !self.settled {
            context.bargained(Bargain::GivenUp, Some(Reason::Lost));
        }
    }

    fn receive_reply(&mut self, number: u64, provider: usize, reply: Reply, context: &mut JobContext<'_>) {
        if self.settled {
            return self.queue.receive_reply(number, provider, reply, context);
        }
        if let Reply::Prices(quote) = reply {
            self.quotes.push((provider, quote));
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.buy(context);
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
                self.tries = 0;
                receipts.into_iter().for_each(|receipt| self.send(provider, receipt, context));
                self.request_next(context);
            }
            Err(denial) => {
                self.tries += 1;
                match denial.is_stale() {
                    true if self.tries < TRIES => self.request_next(context),
                    true => self.leave_rest_to_queues(Bargain::Stale, denial.into(), context),
                    false => self.leave_rest_to_queues(Bargain::Refused, denial.into(), context),
                }
            }
        }
    }
}
