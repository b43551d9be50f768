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
    CoallocationOutcome, CoallocationRequest, Coordinator, CoordinatorStep, HoldOrder, Leg, LegAnswer, LogEntry,
    Patience, Pool,
};
use crate::systems::provisioning::job_context::JobContext;
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

/// State that is lost in a crash.
struct VolatileState {
    coordinator: Coordinator,
    /// The leg that each request is about, by the number of the request.
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
fn leg_tasks(context: &JobContext<'_>) -> Vec<(u32, usize)> {
    let providers = context.approach.legs.iter().filter_map(|site| provider_of_site(site, context));
    let mut tasks: Vec<(u32, usize)> = (0u32..).zip(providers).collect();
    tasks.sort_by_key(|(_, provider)| *provider);
    tasks
}

fn provider_of_site(site: &usize, context: &JobContext<'_>) -> Option<usize> {
    context.world.providers.iter().position(|provider| provider.number == *site)
}

fn request_patience(context: &JobContext<'_>) -> Patience {
    let ways = leg_tasks(context).into_iter().map(|(_, provider)| context.world.providers[provider].latency);
    Patience::new(context.rules.delta).with_reach(ways.max().unwrap_or_default(), context.slack())
}

fn coallocation_request(context: &JobContext<'_>) -> CoallocationRequest {
    CoallocationRequest {
        number: context.run.job.id.0.into(),
        legs: leg_tasks(context)
            .into_iter()
            .map(|(task, provider)| {
                let task = context.run.job.tasks[task as usize];
                let span = context.world.providers[provider].time(task.walltime) + context.slack();
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
    fn request_starts(&mut self, from: Option<Time>, context: &mut JobContext<'_>) {
        self.pool = None;
        self.quotes.fill(None);
        self.quoted.clear();
        let legs = self.coordinator.request().legs.iter();
        let round = legs.map(|&Leg { site, procs, span }| match from {
            None => (site as usize, Query::Prices { procs, span }),
            Some(start) => (site as usize, Query::PricesFrom(Part { procs, start, span })),
        });
        let numbers = context.send_queries(round.collect());
        self.asked.extend(numbers.into_iter().zip(0..));
        self.from = from;
    }

    /// Asks for all starts, or for those from the wanted one on.
    fn request_wanted_starts(&mut self, context: &mut JobContext<'_>) {
        let from = context.approach.ahead.map(|_| context.wanted().max(self.soonest_requested(context)));
        self.request_starts(from, context);
    }

    /// Time at which all legs have a hold if the first is requested now: they are requested one after the other.
    fn all_held_at(&self, context: &JobContext<'_>) -> Time {
        self.ways(context).fold(context.now, |at, way| at + way + way)
    }

    /// Earliest start by which all legs can be committed: no lease outlasts the start.
    fn soonest_start(&self, context: &JobContext<'_>) -> Time {
        let delta = context.rules.delta;
        (self.all_held_at(context) + delta + delta).max(self.within_reach(context))
    }

    /// Earliest start by which all legs can be committed if possible starts are requested now. All sites are asked
    /// twice, as some may not name the starts of others.
    fn soonest_requested(&self, context: &JobContext<'_>) -> Time {
        let round = context.round();
        self.soonest_start(context) + round + round
    }

    /// The earliest start by which tasks can arrive.
    fn within_reach(&self, context: &JobContext<'_>) -> Time {
        self.all_held_at(context) + request_patience(context).reach
    }

    /// Latency to each leg.
    fn ways(&self, context: &JobContext<'_>) -> impl Iterator<Item = Span> {
        let legs = self.coordinator.request().legs.iter();
        legs.map(|leg| context.world.providers[leg.site as usize].latency)
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
    fn take_reply(&mut self, number: u64, reply: Reply, context: &mut JobContext<'_>) -> Option<Vec<Time>> {
        let leg = self.asked.remove(&number)?;
        if let Reply::Prices(quote) = reply {
            self.quoted.extend(quote.offers.iter().map(|offer| ((leg, offer.start), quote.id)));
            match &mut self.pool {
                Some(pool) => pool.record_prices(leg, &quote),
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
            let round = questions.iter().map(|asked| (legs[asked.leg].site as usize, Query::Price(asked.part)));
            let numbers = context.send_queries(round.collect());
            self.asked.extend(numbers.into_iter().zip(questions.iter().map(|asked| asked.leg)));
            self.pool = Some(pool);
            if !self.asked.is_empty() {
                return None;
            }
        }
        let Some(pool) = self.pool.as_ref() else { return Some(Vec::new()) };
        let mut starts = pool.ranked(context.approach.alpha);
        starts.retain(|start| *start > context.soonest_claimed() && *start >= self.within_reach(context));
        let longest = self.coordinator.request().legs.iter().map(|leg| leg.span).max().unwrap_or_default();
        self.broken = context
            .limits()
            .retain_within(&mut starts, |start| (pool.cost(*start).unwrap_or(Area::MAX), *start + longest))
            .or(self.broken);
        if starts.is_empty() && self.from.is_none() {
            // Where nothing changes, sites name no start but now, which is too late for a hold.
            self.request_starts(Some(self.soonest_requested(context)), context);
            return None;
        }
        self.found |= !starts.is_empty();
        Some(starts)
    }
}

impl Coallocate {
    /// Lets the coordinator act, and performs its actions.
    fn run_coordinator(
        &mut self,
        context: &mut JobContext<'_>,
        act: impl FnOnce(&mut Coordinator, &mut Vec<CoordinatorStep>),
    ) {
        let Some(bargaining) = &mut self.bargaining else { return };
        let mut steps = Vec::new();
        act(&mut bargaining.coordinator, &mut steps);
        self.carry_out(steps, context);
    }

    fn carry_out(&mut self, steps: Vec<CoordinatorStep>, context: &mut JobContext<'_>) {
        for step in steps {
            let Some(bargaining) = &mut self.bargaining else { return };
            match step {
                CoordinatorStep::LogEntry(entry) => self.log.push(entry),
                CoordinatorStep::RequestStarts => bargaining.request_wanted_starts(context),
                CoordinatorStep::OrderLeg { leg, hold, order } => {
                    let provider = bargaining.coordinator.request().legs[leg].site as usize;
                    context.pledge(provider, hold, bargaining.pledge(leg, order));
                }
                CoordinatorStep::Over(outcome) => self.conclude(outcome, context),
            }
        }
        if let Some(wake) = self.bargaining.as_ref().and_then(|bargaining| bargaining.coordinator.wake()) {
            context.wake_at(wake.max(context.now), 0);
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

    fn conclude(&mut self, outcome: CoallocationOutcome, context: &mut JobContext<'_>) {
        let Some(bargaining) = self.bargaining.take() else { return };
        if outcome == CoallocationOutcome::Nothing {
            // A success has been reported already.
            if !self.was_whole() {
                let end = if bargaining.found { Bargain::GivenUp } else { Bargain::Refused };
                context.bargained(end, Some(self.cause(&bargaining)));
            }
            return context.give_up();
        }
        context.bargained(Bargain::Booked, None);
        let tasks = leg_tasks(context);
        // After a crash it may be too late for some legs. All or none: then the payment is lost.
        let is_late = tasks.iter().enumerate().any(|(leg, (task, provider))| {
            let provider = &context.world.providers[*provider];
            let lasts = provider.time(context.run.job.tasks[*task as usize].walltime);
            bargaining.booked.get(&leg).is_none_or(|(_, part)| context.now + provider.latency + lasts > part.end())
        });
        if is_late {
            return context.give_up();
        }
        // Where one leg may be lost, the others must be taken back then.
        let is_leg = tasks.iter().any(|(_, provider)| context.world.providers[*provider].fails());
        for (leg, (task, provider)) in tasks.into_iter().enumerate() {
            let procs = context.run.job.tasks[task as usize].cores;
            let within = bargaining.booked.get(&leg).map(|(booking, _)| (*booking, procs)).into_iter().collect();
            context.send(task, Assignment { provider, within, is_leg, ..Assignment::default() });
        }
    }
}

impl Strategy for Coallocate {
    fn begin_job(&mut self, context: &mut JobContext<'_>) {
        let coordinator = Coordinator::new(coallocation_request(context), request_patience(context));
        let mut bargaining = VolatileState::new(coordinator);
        bargaining.request_wanted_starts(context);
        self.bargaining = Some(bargaining);
    }

    fn task_ready(&mut self, _: u32, _: &mut JobContext<'_>) {}

    fn receive_reply(&mut self, number: u64, _: usize, reply: Reply, context: &mut JobContext<'_>) {
        let starts = self.bargaining.as_mut().and_then(|bargaining| bargaining.take_reply(number, reply, context));
        if let Some(starts) = starts {
            let now = context.now;
            self.run_coordinator(context, |coordinator, steps| coordinator.offer(now, &starts, steps));
        }
    }

    fn receive_pledge_answer(&mut self, hold: HoldId, answer: PledgeAnswer, context: &mut JobContext<'_>) {
        if let (PledgeAnswer::Committed { booking, part }, Some(bargaining)) = (answer, &mut self.bargaining) {
            bargaining.booked.insert(hold.leg as usize, (booking, part));
        }
        let now = context.now;
        self.run_coordinator(context, |coordinator, steps| coordinator.take_answer(now, hold, answer.into(), steps));
    }

    /// Handles a revoked booking: all other legs are returned, too.
    fn booking_revoked(&mut self, _: BookingId, context: &mut JobContext<'_>) {
        let now = context.now;
        let mut steps = Vec::new();
        if self.bargaining.is_none() {
            let patience = request_patience(context);
            let coordinator =
                Coordinator::from_log(now, coallocation_request(context), patience, &self.log, &mut steps);
            self.bargaining = Some(VolatileState::new(coordinator));
            take_back(context);
        }
        self.carry_out(steps, context);
        self.run_coordinator(context, |coordinator, steps| coordinator.broken(now, steps));
    }

    fn timer_due(&mut self, _: u64, context: &mut JobContext<'_>) {
        let now = context.now;
        self.run_coordinator(context, |coordinator, steps| coordinator.woken(now, steps));
    }

    fn crash_process(&mut self) {
        self.bargaining = None;
    }

    fn recover_process(&mut self, context: &mut JobContext<'_>) {
        if let Some(LogEntry::Over(_)) = self.log.last() {
            return;
        }
        if self.was_whole() {
            take_back(context);
        }
        let mut steps = Vec::new();
        let patience = request_patience(context);
        let coordinator =
            Coordinator::from_log(context.now, coallocation_request(context), patience, &self.log, &mut steps);
        self.bargaining = Some(VolatileState::new(coordinator));
        self.carry_out(steps, context);
    }
}

/// Recalls all tasks that wait or run at sites.
fn take_back(context: &mut JobContext<'_>) {
    context.run.at_sites().into_iter().for_each(|task| context.recall(task));
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
