//! A workflow bought task by task: for each task, in HEFT order, all sites quote, and the best start by alpha is booked
//! before the next task is asked for. A task goes to its site as soon as it has its booking, which begins no sooner
//! than it can arrive.

use super::reserve::{keep_in_time, nothing_in};
use super::{JustInTime, Strategy, StrategyRow, TRIES, failure_reason};
use crate::grid::{Denial, Quote, Receipt};
use crate::protocol::{Bargain, Query, Reason, Reply};
use crate::systems::provisioning::application::{Application, GreedyPlan as Buying};
use crate::systems::provisioning::deal::Deal;
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
    fn buying<'a>(&self, application: &'a Application, deal: &Deal<'_>) -> Buying<'a> {
        let sites = deal.world.providers.iter().map(|provider| provider.cores).collect();
        let buying = Buying::new(application, deal.approach.alpha, self.begun, sites);
        let mut buying = buying.within(deal.limits(), |provider, area| deal.world.providers[provider].least(area));
        self.bought.iter().for_each(|(provider, receipt)| buying.bought(*provider, *receipt));
        buying
    }

    /// Asks for the next task, or finishes.
    fn go_on(&mut self, deal: &mut Deal<'_>) {
        let application = self.application.take().unwrap_or_else(|| deal.application());
        let at = self.bought.len();
        if at == application.tasks() {
            return self.finish(deal);
        }
        let providers = deal.fitting(application.order()[at]);
        let wishes = self.buying(&application, deal).wishes(deal.soonest_requested());
        let wishes: Vec<_> = wishes.into_iter().filter(|wish| providers.contains(&wish.site)).collect();
        self.application = Some(application);
        self.silent = wishes.len();
        deal.ask_all(wishes.into_iter().map(|wish| (wish.site, Query::PricesFrom(wish.part))).collect());
    }

    fn buy(&mut self, deal: &mut Deal<'_>) {
        let mut quotes = std::mem::take(&mut self.quotes);
        quotes.sort_by_key(|(provider, _)| *provider);
        let nothing = nothing_in(&quotes);
        keep_in_time(&mut quotes, deal);
        let application = self.application.take().expect("prices are asked for an application");
        let buying = self.buying(&application, deal);
        let nothing = buying.keep_limits(&mut quotes).map_or(nothing, failure_reason);
        let choice = buying.choose(&quotes);
        self.application = Some(application);
        match choice {
            Some((provider, quote, start)) => {
                deal.buy(provider, &quotes, (quote, start));
            }
            None => self.give_in(Bargain::Refused, nothing, deal),
        }
    }

    /// Sends the next task into its booking.
    fn send(&mut self, provider: usize, receipt: Receipt, deal: &mut Deal<'_>) {
        let application = self.application.as_ref().expect("something is bought for an application");
        let task = application.order()[self.bought.len()];
        self.bought.push((provider, receipt));
        let within = vec![(receipt.booking, receipt.part.procs)];
        deal.send(task, Assignment { provider, within, ..Assignment::default() });
    }

    fn finish(&mut self, deal: &mut Deal<'_>) {
        self.settled = true;
        deal.bargained(Bargain::Booked, None);
        // Tasks that were lost meanwhile.
        self.queue.begin_job(deal);
    }

    /// Leaves tasks without a booking to queues. Those with one depend on none of them: they came first in HEFT order.
    fn give_in(&mut self, end: Bargain, why: Reason, deal: &mut Deal<'_>) {
        self.settled = true;
        deal.bargained(end, Some(why));
        self.queue.begin_job(deal);
    }
}

impl Strategy for Greedy {
    fn begin_job(&mut self, deal: &mut Deal<'_>) {
        self.begun = deal.now;
        self.go_on(deal);
    }

    fn task_ready(&mut self, task: u32, deal: &mut Deal<'_>) {
        // Until all is bought, its turn is still to come.
        if self.settled {
            self.queue.task_ready(task, deal);
        }
    }

    fn abandon_job(&mut self, deal: &mut Deal<'_>) {
        if !self.settled {
            deal.bargained(Bargain::GivenUp, Some(Reason::Lost));
        }
    }

    fn receive_reply(&mut self, number: u64, provider: usize, reply: Reply, deal: &mut Deal<'_>) {
        if self.settled {
            return self.queue.receive_reply(number, provider, reply, deal);
        }
        if let Reply::Prices(quote) = reply {
            self.quotes.push((provider, quote));
        }
        self.silent -= 1;
        if self.silent == 0 {
            self.buy(deal);
        }
    }

    fn receive_claim_result(
        &mut self,
        _: u64,
        provider: usize,
        result: Result<Vec<Receipt>, Denial>,
        deal: &mut Deal<'_>,
    ) {
        match result {
            Ok(receipts) => {
                self.tries = 0;
                receipts.into_iter().for_each(|receipt| self.send(provider, receipt, deal));
                self.go_on(deal);
            }
            Err(denial) => {
                self.tries += 1;
                match denial.is_stale() {
                    true if self.tries < TRIES => self.go_on(deal),
                    true => self.give_in(Bargain::Stale, denial.into(), deal),
                    false => self.give_in(Bargain::Refused, denial.into(), deal),
                }
            }
        }
    }
}
