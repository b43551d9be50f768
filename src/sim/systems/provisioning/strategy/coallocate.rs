//! All tasks of a job at several sites at the same time, or none: a two-phase commit with leases, coordinated by the
//! user.
//!
//! First it asks for the starts that all sites could admit (`coallocation::Pool`), no earlier than its user wants, and
//! drops those after which a task would end too late, or which cost too much. The protocol is that of
//! `coallocation::Coordinator`, which logs each decision before it announces it. Only the log survives a crash.

use std::collections::BTreeMap;

use super::{Strategy, StrategyRow, failure_reason};
use crate::grid::{Area, BookingId, HoldId, Part, Quote, QuoteId};
use crate::protocol::{Bargain, Pledge, PledgeAnswer, Query, Reason, Reply};
use crate::systems::provisioning::application::Broken;
use crate::systems::provisioning::coallocation::{
    CoallocationOutcome, CoallocationRequest, Coordinator, Deed, HoldOrder, Leg, LegAnswer, LogEntry, Patience, Pool,
};
use crate::systems::provisioning::deal::Deal;
use crate::systems::provisioning::run::Assignment;
use crate::time::{Span, Time};

pub const ROW: StrategyRow = StrategyRow {
    name: "coallocate",
    about: "gets all tasks of a job at the same time, each at the site of its leg, or none of them",
    has_alpha: true,
    has_ahead: true,
    has_deadline: true,
    has_budget: true,
    has_legs: true,
    build: |_| Box::new(Coallocate::default()),
    ..super::BARGAINING
};

#[derive(Default)]
struct Coallocate {
    /// State that survives a crash.
    log: Vec<LogEntry>,
    bargaining: Option<VolatileState>,
}

/// State that does not.
struct VolatileState {
    coordinator: Coordinator,
    /// Leg of each question.
    asked: BTreeMap<u64, usize>,
    quotes: Vec<Option<Quote>>,
    pool: Option<Pool>,
    /// Quote of each leg and start.
    quoted: BTreeMap<(usize, Time), QuoteId>,
    /// Booking of each leg.
    booked: BTreeMap<usize, (BookingId, Part)>,
    /// The time from which starts have been requested, if not all.
    from: Option<Time>,
    /// True if a start was ever found that all sites would admit.
    found: bool,
    /// The limit that left none of such starts, if there were any.
    broken: Option<Broken>,
}

/// The task of each leg; legs are in the order of sites, tasks in that of the user's list.
fn leg_tasks(deal: &Deal<'_>) -> Vec<(u32, usize)> {
    let providers = deal.approach.legs.iter().filter_map(|site| provider_of_site(site, deal));
    let mut tasks: Vec<(u32, usize)> = (0u32..).zip(providers).collect();
    tasks.sort_by_key(|(_, provider)| *provider);
    tasks
}

fn provider_of_site(site: &usize, deal: &Deal<'_>) -> Option<usize> {
    deal.world.providers.iter().position(|provider| provider.number == *site)
}

fn request_patience(deal: &Deal<'_>) -> Patience {
    let ways = leg_tasks(deal).into_iter().map(|(_, provider)| deal.world.providers[provider].latency);
    Patience::new(deal.rules.delta).over(ways.max().unwrap_or_default(), deal.slack())
}

fn coallocation_request(deal: &Deal<'_>) -> CoallocationRequest {
    CoallocationRequest {
        number: deal.run.job.id.0.into(),
        legs: leg_tasks(deal)
            .into_iter()
            .map(|(task, provider)| {
                let task = deal.run.job.tasks[task as usize];
                let span = deal.world.providers[provider].time(task.walltime) + deal.slack();
                Leg { site: provider as u32, procs: task.cores, span }
            })
            .collect(),
    }
}

impl VolatileState {
    fn new(coordinator: Coordinator) -> VolatileState {
        let legs = coordinator.request().legs.len();
        let asked = BTreeMap::new();
        let quoted = BTreeMap::new();
        let booked = BTreeMap::new();
        VolatileState {
            coordinator,
            asked,
            quotes: vec![None; legs],
            pool: None,
            quoted,
            booked,
            from: None,
            found: false,
            broken: None,
        }
    }

    /// Asks for all starts, or for those from a time on.
    fn request_starts(&mut self, from: Option<Time>, deal: &mut Deal<'_>) {
        self.pool = None;
        self.quotes.fill(None);
        self.quoted.clear();
        let legs = self.coordinator.request().legs.iter();
        let round = legs.map(|&Leg { site, procs, span }| match from {
            None => (site as usize, Query::Prices { procs, span }),
            Some(start) => (site as usize, Query::PricesFrom(Part { procs, start, span })),
        });
        let numbers = deal.ask_all(round.collect());
        self.asked.extend(numbers.into_iter().zip(0..));
        self.from = from;
    }

    /// Asks for all starts, or for those from the wanted one on.
    fn request_wanted_starts(&mut self, deal: &mut Deal<'_>) {
        let from = deal.approach.ahead.map(|_| deal.wanted().max(self.soonest_requested(deal)));
        self.request_starts(from, deal);
    }

    /// The time at which all could hold if the first is asked now: the legs are asked one after the other.
    fn held(&self, deal: &Deal<'_>) -> Time {
        self.ways(deal).fold(deal.now, |at, way| at + way + way)
    }

    /// The earliest start by which all can have committed: no lease outlasts the start.
    fn soonest(&self, deal: &Deal<'_>) -> Time {
        let delta = deal.rules.delta;
        (self.held(deal) + delta + delta).max(self.within_reach(deal))
    }

    /// The earliest start by which all can have committed if starts are only asked for now: all are asked twice, as
    /// some sites may not name the starts of others.
    fn soonest_requested(&self, deal: &Deal<'_>) -> Time {
        let round = deal.round();
        self.soonest(deal) + round + round
    }

    /// The earliest start by which tasks can arrive.
    fn within_reach(&self, deal: &Deal<'_>) -> Time {
        self.held(deal) + request_patience(deal).reach
    }

    /// Latency to each leg.
    fn ways(&self, deal: &Deal<'_>) -> impl Iterator<Item = Span> {
        let legs = self.coordinator.request().legs.iter();
        legs.map(|leg| deal.world.providers[leg.site as usize].latency)
    }

    fn pledge(&self, leg: usize, order: HoldOrder) -> Pledge {
        match order {
            HoldOrder::Hold(part) => Pledge::Hold { part, quote: self.quoted.get(&(leg, part.start)).copied() },
            HoldOrder::Commit => Pledge::Commit,
            HoldOrder::Abort => Pledge::Abort,
            HoldOrder::Cancel => Pledge::Cancel,
        }
    }

    /// Handles an answer. Returns the starts to try, if it was the last one.
    fn informed(&mut self, number: u64, reply: Reply, deal: &mut Deal<'_>) -> Option<Vec<Time>> {
        let leg = self.asked.remove(&number)?;
        if let Reply::Prices(quote) = reply {
            self.quoted.extend(quote.offers.iter().map(|offer| ((leg, offer.start), quote.id)));
            match &mut self.pool {
                Some(pool) => pool.answered(leg, &quote),
                None => self.quotes[leg] = Some(quote),
            }
        }
        if !self.asked.is_empty() {
            return None;
        }
        if self.pool.is_none() {
            let quotes: Option<Vec<Quote>> = self.quotes.iter().cloned().collect();
            let Some(quotes) = quotes else { return Some(Vec::new()) };
            let pool = Pool::new(self.coordinator.request().legs.clone(), &quotes);
            let questions = pool.questions();
            let legs = &self.coordinator.request().legs;
            let round =
                questions.iter().map(|question| (legs[question.leg].site as usize, Query::Price(question.part)));
            let numbers = deal.ask_all(round.collect());
            self.asked.extend(numbers.into_iter().zip(questions.iter().map(|question| question.leg)));
            self.pool = Some(pool);
            if !self.asked.is_empty() {
                return None;
            }
        }
        let Some(pool) = self.pool.as_ref() else { return Some(Vec::new()) };
        let mut starts = pool.ranked(deal.approach.alpha);
        starts.retain(|start| *start > deal.soonest() && *start >= self.within_reach(deal));
        let longest = self.coordinator.request().legs.iter().map(|leg| leg.span).max().unwrap_or_default();
        self.broken = deal
            .limits()
            .keep_those(&mut starts, |start| (pool.cost(*start).unwrap_or(Area::MAX), *start + longest))
            .or(self.broken);
        if starts.is_empty() && self.from.is_none() {
            // Where nothing changes, sites name no start but now, which is too late for a hold.
            self.request_starts(Some(self.soonest_requested(deal)), deal);
            return None;
        }
        self.found |= !starts.is_empty();
        Some(starts)
    }
}

impl Coallocate {
    /// Lets the coordinator act, and performs its actions.
    fn act(&mut self, deal: &mut Deal<'_>, act: impl FnOnce(&mut Coordinator, &mut Vec<Deed>)) {
        let Some(bargaining) = &mut self.bargaining else { return };
        let mut deeds = Vec::new();
        act(&mut bargaining.coordinator, &mut deeds);
        self.carry_out(deeds, deal);
    }

    fn carry_out(&mut self, deeds: Vec<Deed>, deal: &mut Deal<'_>) {
        for deed in deeds {
            let Some(bargaining) = &mut self.bargaining else { return };
            match deed {
                Deed::LogEntry(entry) => self.log.push(entry),
                Deed::Ask => bargaining.request_wanted_starts(deal),
                Deed::Tell { leg, hold, order } => {
                    let provider = bargaining.coordinator.request().legs[leg].site as usize;
                    deal.pledge(provider, hold, bargaining.pledge(leg, order));
                }
                Deed::Over(outcome) => self.over(outcome, deal),
            }
        }
        if let Some(wake) = self.bargaining.as_ref().and_then(|bargaining| bargaining.coordinator.wake()) {
            deal.wake_at(wake.max(deal.now), 0);
        }
    }

    /// True if all legs were booked at some time.
    fn was_whole(&self) -> bool {
        self.log.contains(&LogEntry::Over(CoallocationOutcome::Whole))
    }

    /// Reason of a failure.
    fn cause(&self, bargaining: &VolatileState) -> Reason {
        match bargaining.found {
            _ if self.log.contains(&LogEntry::Compensate) => Reason::NotCommitted,
            true => Reason::NotHeld,
            false => bargaining.broken.map_or(Reason::NoCommonStart, failure_reason),
        }
    }

    fn over(&mut self, outcome: CoallocationOutcome, deal: &mut Deal<'_>) {
        let Some(bargaining) = self.bargaining.take() else { return };
        if outcome == CoallocationOutcome::Nothing {
            // A success has been reported already.
            if !self.was_whole() {
                let end = if bargaining.found { Bargain::GivenUp } else { Bargain::Refused };
                deal.bargained(end, Some(self.cause(&bargaining)));
            }
            return deal.give_up();
        }
        deal.bargained(Bargain::Booked, None);
        let tasks = leg_tasks(deal);
        // After a crash it may be too late for some legs. All or none: then the payment is lost.
        let is_late = tasks.iter().enumerate().any(|(leg, (task, provider))| {
            let provider = &deal.world.providers[*provider];
            let lasts = provider.time(deal.run.job.tasks[*task as usize].walltime);
            bargaining.booked.get(&leg).is_none_or(|(_, part)| deal.now + provider.latency + lasts > part.end())
        });
        if is_late {
            return deal.give_up();
        }
        // Where one leg may be lost, the others must be taken back then.
        let is_leg = tasks.iter().any(|(_, provider)| deal.world.providers[*provider].fails());
        for (leg, (task, provider)) in tasks.into_iter().enumerate() {
            let procs = deal.run.job.tasks[task as usize].cores;
            let within = bargaining.booked.get(&leg).map(|(booking, _)| (*booking, procs)).into_iter().collect();
            deal.send(task, Assignment { provider, within, is_leg, ..Assignment::default() });
        }
    }
}

impl Strategy for Coallocate {
    fn begin_job(&mut self, deal: &mut Deal<'_>) {
        let coordinator = Coordinator::new(coallocation_request(deal), request_patience(deal));
        let mut bargaining = VolatileState::new(coordinator);
        bargaining.request_wanted_starts(deal);
        self.bargaining = Some(bargaining);
    }

    fn task_ready(&mut self, _: u32, _: &mut Deal<'_>) {}

    fn receive_reply(&mut self, number: u64, _: usize, reply: Reply, deal: &mut Deal<'_>) {
        let starts = self.bargaining.as_mut().and_then(|bargaining| bargaining.informed(number, reply, deal));
        if let Some(starts) = starts {
            let now = deal.now;
            self.act(deal, |coordinator, deeds| coordinator.offer(now, &starts, deeds));
        }
    }

    fn receive_pledge_answer(&mut self, hold: HoldId, answer: PledgeAnswer, deal: &mut Deal<'_>) {
        if let (PledgeAnswer::Committed { booking, part }, Some(bargaining)) = (answer, &mut self.bargaining) {
            bargaining.booked.insert(hold.leg as usize, (booking, part));
        }
        let now = deal.now;
        self.act(deal, |coordinator, deeds| coordinator.hear(now, hold, answer.into(), deeds));
    }

    /// Handles a revoked booking: all other legs are returned, too.
    fn booking_revoked(&mut self, _: BookingId, deal: &mut Deal<'_>) {
        let now = deal.now;
        let mut deeds = Vec::new();
        if self.bargaining.is_none() {
            let patience = request_patience(deal);
            let coordinator = Coordinator::from_log(now, coallocation_request(deal), patience, &self.log, &mut deeds);
            self.bargaining = Some(VolatileState::new(coordinator));
            take_back(deal);
        }
        self.carry_out(deeds, deal);
        self.act(deal, |coordinator, deeds| coordinator.broken(now, deeds));
    }

    fn timer_due(&mut self, _: u64, deal: &mut Deal<'_>) {
        let now = deal.now;
        self.act(deal, |coordinator, deeds| coordinator.woken(now, deeds));
    }

    fn crash_process(&mut self) {
        self.bargaining = None;
    }

    fn recover_process(&mut self, deal: &mut Deal<'_>) {
        if let Some(LogEntry::Over(_)) = self.log.last() {
            return;
        }
        if self.was_whole() {
            take_back(deal);
        }
        let mut deeds = Vec::new();
        let patience = request_patience(deal);
        let coordinator = Coordinator::from_log(deal.now, coallocation_request(deal), patience, &self.log, &mut deeds);
        self.bargaining = Some(VolatileState::new(coordinator));
        self.carry_out(deeds, deal);
    }
}

/// Recalls all tasks that wait or run at sites.
fn take_back(deal: &mut Deal<'_>) {
    deal.run.at_sites().into_iter().for_each(|task| deal.recall(task));
}

impl From<PledgeAnswer> for LegAnswer {
    fn from(answer: PledgeAnswer) -> LegAnswer {
        match answer {
            PledgeAnswer::Granted { expiry, fee } => LegAnswer::Granted { expiry, fee },
            PledgeAnswer::Refused(_) => LegAnswer::Refused,
            PledgeAnswer::Committed { .. } => LegAnswer::Committed,
            PledgeAnswer::Expired => LegAnswer::Expired,
            PledgeAnswer::Cancelled => LegAnswer::Cancelled,
        }
    }
}
