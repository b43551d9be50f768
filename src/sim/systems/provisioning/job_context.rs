//! The actions that a strategy can take for its job (ask, claim, send tasks, return bookings), and the open actions
//! that a user keeps of them.

use std::collections::BTreeMap;

use super::application::{Application, Limits};
use super::pending::{PendingKey, PendingReplies, PendingReply, RequestKind};
use super::rules::Provisioning;
use super::run::{AlarmPosition, Assignment, Padded, Run, Transfer};
use super::sent::{ArrivalOrder, SentTasks};
use super::world::{Provider, World};
use crate::grid::{Approach, Area, BookingId, EdgeId, HoldId, JobId, Part, Quote, QuoteId, TaskId, fees_of};
use crate::protocol::{
    Bargain, Claim, Coordinate, Enter, HoldStep, Inquire, Lot, Message, Pledge, Query, Reason, Recall, Record, Return,
};
use crate::random::SplitMix64;
use crate::roles::Out;
use crate::time::{Span, Time};

/// Rank of messages that the first alarm of a time causes, after those that messages cause. Later alarms have higher
/// ranks.
pub(super) const ALARM_RANK: u16 = 1;

/// Rank of messages that a user sends after it has handled the alarms of a time.
pub(super) const LAST_RANK: u16 = u16::MAX;

/// The open questions, alarms and transfers of a user.
#[derive(Default)]
pub(super) struct OpenActions {
    pub next: u64,
    /// Answers that sites owe.
    pub pending: PendingReplies,
    /// The longest response time of each provider.
    pub lags: BTreeMap<usize, Span>,
    /// Receiving task of each load.
    pub loads: BTreeMap<u64, TaskId>,
    /// Tasks that sites may not have counted yet when they report their load.
    pub sent: SentTasks,
    pub alarms: BTreeMap<Time, Alarms>,
    /// Numbers of the questions about jobs to come that have been sent ahead, in the order of their providers.
    pub ahead: BTreeMap<JobId, Vec<u64>>,
    pub given_up: Vec<JobId>,
}

/// The alarms of one time, in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub(super) struct Alarms {
    pub all: Vec<Alarm>,
    /// True if there is a timer for them after which the user may send something. Otherwise it is quiet.
    is_loud: bool,
    /// True if the messages of some of them have been sent ahead. Then others need the ranks of their alarms.
    pub has_ahead: bool,
}

/// Reason for which a user is woken.
#[derive(Clone, Copy, Debug)]
pub(super) enum Alarm {
    /// The process goes down.
    Crash,
    /// The process is up again, with nothing but its log.
    Back,
    /// The next jobs with a given submission time are due.
    Calendar,
    /// The think time after a job is over, so the job that follows it is due.
    Follows(JobId),
    /// The data of a task has arrived, or its time to be entered has come.
    Arrived(TaskId),
    /// A time that the strategy of a job has set, with the strategy's own number for it.
    Strategy(JobId, u64),
}

/// A job as its strategy sees it, with the actions on it.
pub struct JobContext<'a> {
    pub now: Time,
    pub run: &'a mut Run,
    pub world: &'a World,
    pub rules: &'a Provisioning,
    pub approach: &'a Approach,
    pub(super) pinned: Option<usize>,
    pub(super) seed: u64,
    /// True if other jobs are submitted after this one.
    pub(super) is_followed: bool,
    pub(super) open_actions: &'a mut OpenActions,
    pub(super) out: &'a mut Out,
}

impl OpenActions {
    pub fn wake_at(&mut self, time: Time, alarm: Alarm, out: &mut Out) {
        let alarms = self.alarms.entry(time).or_default();
        if !std::mem::replace(&mut alarms.is_loud, true) {
            out.wake_at(time, 0);
        }
        alarms.all.push(alarm);
    }

    /// Like `wake_at`, for an alarm after which nothing is sent. Returns its position.
    fn wake_quietly_at(&mut self, time: Time, alarm: Alarm, out: &mut Out) -> AlarmPosition {
        let alarms = self.alarms.entry(time).or_default();
        if alarms.all.is_empty() {
            out.wake_quietly_at(time, 0);
        }
        alarms.all.push(alarm);
        (time, alarms.all.len() - 1)
    }

    /// Settles an answer and returns its question. The response time of the provider is a bound on the age of its news.
    pub fn settle_reply(&mut self, now: Time, key: PendingKey) -> Option<PendingReply> {
        let (since, pending) = self.pending.take(key)?;
        if let PendingKey::Answer(provider, _) = key {
            let lag = self.lags.entry(provider).or_default();
            *lag = now.since(since).max(*lag);
        }
        Some(pending)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Records that a provider has to answer. It answers at once, so the answer arrives after one round trip.
    fn expect_reply(
        &mut self,
        now: Time,
        key: PendingKey,
        (provider, job, request): (&Provider, JobId, RequestKind),
        out: &mut Out,
    ) {
        self.pending.add(now, now + provider.latency + provider.latency, key, (job, request), out);
    }

    /// Asks providers in one round about a job, at a time that may be to come. Returns the numbers that the answers
    /// carry, in order.
    pub fn send_queries(
        &mut self,
        at: Time,
        job: JobId,
        round: &[(usize, Query)],
        world: &World,
        out: &mut Out,
    ) -> Vec<u64> {
        let latencies = round.iter().map(|(provider, _)| world.providers[*provider].latency);
        let longest = latencies.max().unwrap_or_default();
        let mut numbers = Vec::with_capacity(round.len());
        for &(index, query) in round {
            let provider = &world.providers[index];
            let number = self.number();
            let quiet_for = Span::from_micros(2 * (longest.micros() - provider.latency.micros()));
            let request = RequestKind::Query(query, quiet_for);
            self.expect_reply(at, PendingKey::Answer(index, number), (provider, job, request), out);
            out.send_at(at, provider.site, Message::Inquire(Inquire { number, query, quiet_for }));
            numbers.push(number);
        }
        numbers
    }

    pub fn give_back(
        &mut self,
        now: Time,
        (number, provider): (usize, &Provider),
        job: JobId,
        booking: BookingId,
        out: &mut Out,
    ) {
        self.expect_reply(now, PendingKey::Return(number, booking), (provider, job, RequestKind::Action), out);
        out.send(provider.site, Message::Return(Return { booking }));
    }
}

impl JobContext<'_> {
    /// The tasks without predecessors, in HEFT order.
    pub fn ready(&mut self) -> Vec<u32> {
        let mut ready = self.run.ready();
        self.run.by_rank(&mut ready, self.world);
        ready
    }

    /// The providers that a task may go to.
    pub fn fitting_providers(&self, task: u32) -> Vec<usize> {
        self.world.fitting_providers(&self.run.job.tasks[task as usize], self.pinned).collect()
    }

    /// The longest response time of all providers: a bound on the age of news, and on the delay of an action on it.
    pub fn slack(&self) -> Span {
        self.open_actions.lags.values().copied().max().unwrap_or_default()
    }

    /// The earliest time at which a task can run in a part that is claimed now: the claim is answered, then the task is
    /// entered.
    pub fn soonest_claimed(&self) -> Time {
        self.now + self.slack() + self.slack()
    }

    /// The earliest time at which a task can run in a part that is asked for now: the answer arrives, then the part is
    /// claimed. An idle site changes at no time but now, so it names no later start by itself.
    pub fn soonest_requested(&self) -> Time {
        let round = self.round();
        self.now + round + round + round
    }

    /// The wanted start of the job; its arrival if its user wants none.
    pub fn wanted(&self) -> Time {
        self.run.job.arrive + self.approach.ahead.unwrap_or_default()
    }

    /// The time by which the job must have ended.
    pub fn deadline(&self) -> Time {
        self.approach.deadline.map_or(Time::NEVER, |deadline| self.run.job.arrive + deadline)
    }

    /// Limits on cost and end: the budget and the deadline of the job.
    pub fn limits(&self) -> Limits {
        Limits { budget: self.approach.budget.unwrap_or(Area::MAX), deadline: self.deadline() }
    }

    /// The longest round trip of a message to a provider and its answer.
    pub fn round(&self) -> Span {
        let latency = self.world.providers.iter().map(|provider| provider.latency).max().unwrap_or_default();
        latency + latency
    }

    /// The application of the job, with time for messages: a planning strategy may not have asked any provider yet.
    pub fn application(&self) -> Application {
        self.world.application(&self.run.job, self.slack().max(self.round()))
    }

    /// Seed for random choices about this job.
    pub fn seed(&self) -> u64 {
        SplitMix64::new(self.seed).after(u64::from(self.run.job.id.0)).next_u64()
    }

    /// Logs the end of the negotiation, once per job that is negotiated for, with the reason if it failed.
    pub fn bargained(&mut self, end: Bargain, why: Option<Reason>) {
        self.out.log(Record::Bargained { job: self.run.job.id, end, why });
    }

    /// Gives the job up.
    pub fn give_up(&mut self) {
        self.out.log(Record::Removed { job: self.run.job.id });
        self.open_actions.given_up.push(self.run.job.id);
    }

    /// Asks providers in one round. The strategy must not act on an answer before it has all of them. Returns the
    /// numbers that the answers carry, in order.
    pub fn send_queries(&mut self, round: Vec<(usize, Query)>) -> Vec<u64> {
        let job = self.run.job.id;
        match self.open_actions.ahead.remove(&job) {
            Some(numbers) => numbers,
            None => self.open_actions.send_queries(self.now, job, &round, self.world, self.out),
        }
    }

    /// Position in the order of arrivals of a message sent to a provider now.
    pub fn arrival(&self, provider: usize) -> ArrivalOrder {
        self.open_actions.sent.arrival(self.now, self.world.providers[provider].latency)
    }

    /// Number of tasks of its user, of all its jobs, that a provider had not received when this message arrived.
    pub fn sent_since(&self, provider: usize, asked: ArrivalOrder) -> u64 {
        self.open_actions.sent.since(provider, asked)
    }

    /// Claims parts of advertised slots, whose fee is the charge of the site. The answer carries the returned number.
    pub fn take(&mut self, provider: usize, version: u64, parts: Vec<(u32, Part)>) -> u64 {
        let fees = fees_of(&parts, self.world.providers[provider].charge);
        let wanted = parts.iter().map(|(_, part)| *part).zip(fees).collect();
        self.claim(provider, Lot::Slots { version, parts }, wanted)
    }

    /// Claims a start of a quote, at its fee.
    pub fn buy(&mut self, provider: usize, quotes: &[(usize, Quote)], (quote, start): (QuoteId, Time)) -> u64 {
        let its = quotes.iter().filter(|(at, other)| (*at, other.id) == (provider, quote));
        let offers = its.flat_map(|(_, quote)| quote.offers.iter().map(move |offer| (quote, offer)));
        let wanted = offers.filter(|(_, offer)| offer.start == start).take(1);
        let wanted = wanted.map(|(quote, offer)| (Part { procs: quote.procs, start, span: quote.span }, offer.fee));
        let wanted = wanted.collect();
        self.claim(provider, Lot::Quote { quote, start }, wanted)
    }

    fn claim(&mut self, provider: usize, lot: Lot, wanted: Vec<(Part, Area)>) -> u64 {
        let number = self.open_actions.number();
        self.expect_reply(PendingKey::Answer(provider, number), provider, RequestKind::Claim(wanted));
        self.out.send(self.world.providers[provider].site, Message::Claim(Claim { number, job: self.run.job.id, lot }));
        number
    }

    fn expect_reply(&mut self, key: PendingKey, provider: usize, request: RequestKind) {
        self.open_actions.expect_reply(
            self.now,
            key,
            (&self.world.providers[provider], self.run.job.id, request),
            self.out,
        );
    }

    /// Sends a provider the next message about a hold.
    pub fn pledge(&mut self, provider: usize, hold: HoldId, pledge: Pledge) {
        // No answer follows a release.
        if let Some(step) = HoldStep::of_pledge(&pledge) {
            self.expect_reply(PendingKey::Pledge(provider, hold, step), provider, RequestKind::Action);
        }
        self.out.send(self.world.providers[provider].site, Message::Coordinate(Coordinate { hold, pledge }));
    }

    pub fn give_back(&mut self, provider: usize, booking: BookingId) {
        let at = (provider, &self.world.providers[provider]);
        self.open_actions.give_back(self.now, at, self.run.job.id, booking, self.out);
    }

    /// Assigns a task to a place. It is entered there as soon as no dependency is open.
    pub fn send(&mut self, task: u32, assignment: Assignment) {
        self.send_for(Time::ZERO, task, assignment);
    }

    /// Like `send`, but the task does not arrive before its start. Until then, the task that shares its booking has its
    /// place.
    pub fn send_for(&mut self, start: Time, task: u32, assignment: Assignment) {
        let way = self.world.providers[assignment.provider].latency;
        let transfers = self.run.send(task, assignment);
        self.ship(transfers);
        let at = Time::from_micros(start.micros().saturating_sub(way.micros()));
        if at > self.now {
            self.run.add_delay(task);
            self.expect_arrival(task, at);
        }
        self.enter(task);
    }

    pub fn recall(&mut self, task: u32) {
        let Some(provider) = self.run.assignment(task).map(|assignment| assignment.provider) else { return };
        let site = self.world.providers[provider].site;
        self.expect_reply(PendingKey::Recall(provider, self.run.id(task)), provider, RequestKind::Action);
        self.out.send(site, Message::Recall(Recall { task: self.run.id(task) }));
    }

    /// Wakes the strategy at that time, or at once if it has passed: answers may be late.
    pub fn wake_at(&mut self, time: Time, token: u64) {
        self.open_actions.wake_at(time.max(self.now), Alarm::Strategy(self.run.job.id, token), self.out);
    }

    pub(super) fn ship(&mut self, transfers: Vec<Transfer>) {
        let job = self.run.job.id;
        for Transfer { from_task, to_task, bytes, from, to } in transfers {
            let edge = EdgeId { job, from: from_task, to: to_task };
            let load = self.open_actions.number();
            match self.world.ship(self.now, (from, to), (edge, bytes), load, self.out) {
                Some(there) => self.expect_arrival(to_task, there),
                None => {
                    self.open_actions.loads.insert(load, self.run.id(to_task));
                }
            }
        }
    }

    /// Sets an alarm for the arrival of data of a task, or for its own time.
    ///
    /// If arrivals are known and nothing is lost, the alarm is quiet: as soon as all that the task waits for is under
    /// way, it is submitted ahead ([`Self::enter`]).
    fn expect_arrival(&mut self, task: u32, at: Time) {
        let alarm = Alarm::Arrived(self.run.id(task));
        let is_certain = self.approach.crash.is_none() && self.world.foresees_arrivals;
        if is_certain && at > self.now {
            let position = self.open_actions.wake_quietly_at(at, alarm, self.out);
            self.run.expect_arrival(task, position);
        } else {
            self.open_actions.wake_at(at, alarm, self.out);
        }
    }

    /// Enters a task into its site's queue or booking, if its time has come. If its time is known and nothing can
    /// change it, the submission is sent now, in the place of that time.
    pub(super) fn enter(&mut self, task: u32) {
        if let Some(((at, index), assignment)) = self.run.foresee_entry(task, self.now) {
            self.open_actions.alarms.entry(at).or_default().has_ahead = true;
            let rank = self.out.set_rank(alarm_rank(index));
            self.submit(at, task, assignment);
            self.out.set_rank(rank);
            return;
        }
        let Some(assignment) = self.run.enter_if_ready(task) else { return };
        let provider = assignment.provider;
        let oldest = Time::from_micros(self.now.micros().saturating_sub(self.round().micros()));
        self.open_actions.sent.add(provider, self.arrival(provider), oldest);
        self.out.log(Record::Assigned { task: self.run.id(task), site: self.world.providers[provider].site });
        if !self.run.is_foreseen(task) {
            self.submit(self.now, task, assignment);
        }
    }

    /// Sends the submission of a task to its place, as of a time that may be to come.
    fn submit(&mut self, at: Time, task: u32, assignment: Assignment) {
        let reports_start = assignment.reports_start();
        let ends_quietly = self.ends_quietly(task, &assignment);
        self.run.set_quiet_end(task, ends_quietly);
        let Assignment { provider, within, padded, .. } = assignment;
        let provider = &self.world.providers[provider];
        let what = self.run.job.tasks[task as usize];
        let id = self.run.id(task);
        let usual = Padded { work_from: Time::ZERO, walltime: provider.time(what.walltime) };
        let Padded { work_from, walltime } = padded.unwrap_or(usual);
        self.out.send_at(
            at,
            provider.site,
            Message::Enter(Enter {
                task: id,
                procs: what.cores,
                walltime,
                runtime: provider.time(what.runtime),
                not_before: work_from,
                within,
                reports_start,
                losses: self.run.losses(task),
                may_be_lost: provider.fails(),
                ends_quietly,
            }),
        );
    }

    /// True if nothing follows from the end of a task: no other task and no job waits for it, no rest of a booking is
    /// handed back then, and its job cannot be lost elsewhere.
    fn ends_quietly(&self, task: u32, assignment: &Assignment) -> bool {
        let has_rest = !assignment.within.is_empty() && self.world.providers[assignment.provider].takes_back;
        let is_awaited = self.is_followed || has_rest || assignment.reports_start() || !self.run.is_last(task);
        !is_awaited && !self.world.fails()
    }
}

/// Rank of messages that an alarm causes, by its place among the alarms of its time.
pub(super) fn alarm_rank(index: usize) -> u16 {
    let index = u16::try_from(index).unwrap_or(LAST_RANK);
    index.saturating_add(ALARM_RANK).min(LAST_RANK - 1)
}
