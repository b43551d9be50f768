//! What a strategy can do about its job: ask, claim, send tasks, give back; and the books that a user keeps of all of
//! it.

use std::collections::BTreeMap;

use super::application::Application;
use super::debts::{Asked, Debt, Debts, Owed};
use super::rules::Provisioning;
use super::run::{Goes, Leaves, Padded, Run};
use super::sent::{Arrival, Sent};
use super::world::{Provider, World};
use crate::few;
use crate::grid::{Approach, Area, BookingId, EdgeId, HoldId, JobId, Part, Quote, QuoteId, TaskId};
use crate::protocol::{
    Bargain, Claim, Coordinate, Enter, HoldStep, Inquire, Lot, Message, Pledge, Query, Reason, Recall, Record, Return,
};
use crate::random::SplitMix64;
use crate::roles::Out;
use crate::time::{Span, Time};

/// Who has asked what, and what it waits for.
#[derive(Default)]
pub(super) struct Books {
    pub next: u64,
    /// What sites have to answer.
    pub debts: Debts,
    /// How long answers have taken at most, by provider.
    pub lags: few::Map<usize, Span>,
    /// Whom each load is for.
    pub loads: BTreeMap<u64, TaskId>,
    /// What sites may not have counted yet when they say how full they are.
    pub sent: Sent,
    pub alarms: BTreeMap<Time, Vec<Alarm>>,
    pub given_up: Vec<JobId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Alarm {
    /// Its process goes down.
    Crash,
    /// It is back, with nothing but its log.
    Back,
    /// The next jobs come.
    Calendar,
    /// A job comes that follows another one.
    Follows(JobId),
    /// Data is there for a task, or its time has come.
    Arrived(TaskId),
    Strategy(JobId, u64),
}

/// A job, as its strategy sees it, and what can be done about it.
pub struct Deal<'a> {
    pub now: Time,
    pub run: &'a mut Run,
    pub world: &'a World,
    pub rules: &'a Provisioning,
    pub approach: &'a Approach,
    pub(super) pinned: Option<usize>,
    pub(super) seed: u64,
    pub(super) books: &'a mut Books,
    pub(super) out: &'a mut Out,
}

impl Books {
    pub fn wake_at(&mut self, time: Time, alarm: Alarm, out: &mut Out) {
        let alarms = self.alarms.entry(time).or_default();
        if alarms.is_empty() {
            out.wake_at(time, 0);
        }
        alarms.push(alarm);
    }

    /// Whose question it was; how long an answer took says how old news from there is.
    pub fn paid(&mut self, now: Time, owed: Owed) -> Option<Debt> {
        let (since, debt) = self.debts.pay(owed)?;
        if let Owed::Answer(provider, _) = owed {
            let lag = self.lags.or_default(provider);
            *lag = now.since(since).max(*lag);
        }
        Some(debt)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// A provider has to answer; as it does so at once, this is there when a message can have gone there and back.
    fn owes(&mut self, now: Time, owed: Owed, (provider, job, asked): (&Provider, JobId, Asked), out: &mut Out) {
        self.debts.add(now, now + provider.latency + provider.latency, owed, (job, asked), out);
    }

    pub fn give_back(
        &mut self,
        now: Time,
        (number, provider): (usize, &Provider),
        job: JobId,
        booking: BookingId,
        out: &mut Out,
    ) {
        self.owes(now, Owed::Return(number, booking), (provider, job, Asked::Deed), out);
        out.send(provider.site, Message::Return(Return { booking }));
    }
}

impl Deal<'_> {
    /// Tasks that nothing is before, in the order of HEFT.
    pub fn ready(&mut self) -> Vec<u32> {
        let mut ready = self.run.ready();
        self.run.by_rank(&mut ready, self.world);
        ready
    }

    /// The providers that a task may go to.
    pub fn fitting(&self, task: u32) -> Vec<usize> {
        self.world.fitting(&self.run.job.tasks[task as usize], self.pinned).collect()
    }

    /// How long a provider took to answer, at most: so old is news, and so long it takes to act on it.
    pub fn slack(&self) -> Span {
        self.books.lags.values().copied().max().unwrap_or_default()
    }

    /// The earliest time at which a task can run in something that is claimed now: the claim is answered, then the task
    /// is entered.
    pub fn soonest(&self) -> Time {
        self.now + self.slack() + self.slack()
    }

    /// The earliest time at which a task can run in something that is asked for now: the answer comes, and then it is
    /// claimed. A site with nothing to do changes at no time but now, so it names no later start by itself.
    pub fn soonest_asked(&self) -> Time {
        let round = self.round();
        self.now + round + round + round
    }

    /// How long a message to a provider and its answer take, at most.
    pub fn round(&self) -> Span {
        let latency = self.world.providers.iter().map(|provider| provider.latency).max().unwrap_or_default();
        latency + latency
    }

    /// Its tasks with time to spare for messages: who plans may not have asked anybody yet.
    pub fn application(&self) -> Application {
        self.world.application(&self.run.job, self.slack().max(self.round()))
    }

    /// For whoever draws lots about this job.
    pub fn seed(&self) -> u64 {
        SplitMix64::new(self.seed).after(u64::from(self.run.job.id.0)).next_u64()
    }

    /// What came of bargaining, and why if nothing did, once for each job that is bargained for.
    pub fn bargained(&mut self, end: Bargain, why: Option<Reason>) {
        self.out.log(Record::Bargained { job: self.run.job.id, end, why });
    }

    /// Gives the job up.
    pub fn give_up(&mut self) {
        self.out.log(Record::Removed { job: self.run.job.id });
        self.books.given_up.push(self.run.job.id);
    }

    /// Asks a provider something; the answer comes under the number.
    pub fn ask(&mut self, provider: usize, query: Query) -> u64 {
        let number = self.books.number();
        self.owes(Owed::Answer(provider, number), provider, Asked::Query(query));
        self.out.send(self.world.providers[provider].site, Message::Inquire(Inquire { number, query }));
        number
    }

    /// In which order something that is sent to a provider now is there.
    pub fn arrival(&self, provider: usize) -> Arrival {
        self.books.sent.arrival(self.now, self.world.providers[provider].latency)
    }

    /// How many tasks of its user, of whatever job, a provider had not got yet when this came.
    pub fn sent_since(&self, provider: usize, asked: Arrival) -> u64 {
        self.books.sent.since(provider, asked)
    }

    /// Claims parts of the slots that a provider has advertised, which have no fee; the answer comes under the number.
    pub fn take(&mut self, provider: usize, version: u64, parts: Vec<(u32, Part)>) -> u64 {
        let wanted = parts.iter().map(|(_, part)| (*part, Area::ZERO)).collect();
        self.claim(provider, Lot::Slots { version, parts }, wanted)
    }

    /// Claims a start that a provider has quoted, at its fee.
    pub fn buy(&mut self, provider: usize, quotes: &[(usize, Quote)], (quote, start): (QuoteId, Time)) -> u64 {
        let its = quotes.iter().filter(|(at, other)| (*at, other.id) == (provider, quote));
        let offers = its.flat_map(|(_, quote)| quote.offers.iter().map(move |offer| (quote, offer)));
        let wanted = offers.filter(|(_, offer)| offer.start == start).take(1);
        let wanted = wanted.map(|(quote, offer)| (Part { procs: quote.procs, start, span: quote.span }, offer.fee));
        let wanted = wanted.collect();
        self.claim(provider, Lot::Quote { quote, start }, wanted)
    }

    fn claim(&mut self, provider: usize, lot: Lot, wanted: Vec<(Part, Area)>) -> u64 {
        let number = self.books.number();
        self.owes(Owed::Answer(provider, number), provider, Asked::Claim(wanted));
        self.out.send(self.world.providers[provider].site, Message::Claim(Claim { number, job: self.run.job.id, lot }));
        number
    }

    fn owes(&mut self, owed: Owed, provider: usize, asked: Asked) {
        self.books.owes(self.now, owed, (&self.world.providers[provider], self.run.job.id, asked), self.out);
    }

    /// Tells a provider what is to become of a hold.
    pub fn pledge(&mut self, provider: usize, hold: HoldId, pledge: Pledge) {
        // Nothing more is said about what is not wanted.
        if let Some(step) = HoldStep::wanted(&pledge) {
            self.owes(Owed::Pledge(provider, hold, step), provider, Asked::Deed);
        }
        self.out.send(self.world.providers[provider].site, Message::Coordinate(Coordinate { hold, pledge }));
    }

    pub fn give_back(&mut self, provider: usize, booking: BookingId) {
        let at = (provider, &self.world.providers[provider]);
        self.books.give_back(self.now, at, self.run.job.id, booking, self.out);
    }

    /// Says where a task goes; it is entered there when nothing is in the way any more.
    pub fn send(&mut self, task: u32, goes: Goes) {
        self.send_for(Time::ZERO, task, goes);
    }

    /// The same, but so that it is not there before it is to start: until then, what it shares a booking with has its
    /// place.
    pub fn send_for(&mut self, start: Time, task: u32, goes: Goes) {
        let way = self.world.providers[goes.provider].latency;
        let leaves = self.run.send(task, goes);
        self.ship(leaves);
        let at = Time::from_micros(start.micros().saturating_sub(way.micros()));
        if at > self.now {
            self.run.hold_back(task);
            self.books.wake_at(at, Alarm::Arrived(self.run.id(task)), self.out);
        }
        self.enter(task);
    }

    pub fn recall(&mut self, task: u32) {
        let Some(provider) = self.run.goes(task).map(|goes| goes.provider) else { return };
        let site = self.world.providers[provider].site;
        self.owes(Owed::Recall(provider, self.run.id(task)), provider, Asked::Deed);
        self.out.send(site, Message::Recall(Recall { task: self.run.id(task) }));
    }

    /// At that time, or at once if it has passed: answers may come late.
    pub fn wake_at(&mut self, time: Time, token: u64) {
        self.books.wake_at(time.max(self.now), Alarm::Strategy(self.run.job.id, token), self.out);
    }

    pub(super) fn ship(&mut self, leaves: Vec<Leaves>) {
        let job = self.run.job.id;
        for Leaves { from_task, to_task, bytes, from, to } in leaves {
            let edge = EdgeId { job, from: from_task, to: to_task };
            let (load, task) = (self.books.number(), self.run.id(to_task));
            match self.world.ship(self.now, (from, to), (edge, bytes), load, self.out) {
                Some(there) => self.books.wake_at(there, Alarm::Arrived(task), self.out),
                None => {
                    self.books.loads.insert(load, task);
                }
            }
        }
    }

    /// Enters a task if it can go.
    pub(super) fn enter(&mut self, task: u32) {
        let Some(goes) = self.run.enter(task) else { return };
        let tells = goes.tells();
        let Goes { provider, within, padded, .. } = goes;
        let oldest = Time::from_micros(self.now.micros().saturating_sub(self.round().micros()));
        self.books.sent.add(provider, self.arrival(provider), oldest);
        let provider = &self.world.providers[provider];
        let what = self.run.job.tasks[task as usize];
        let id = self.run.id(task);
        self.out.log(Record::Assigned { task: id, site: provider.site });
        let usual = Padded { work_from: Time::ZERO, walltime: provider.time(what.walltime) };
        let Padded { work_from, walltime } = padded.unwrap_or(usual);
        self.out.send(
            provider.site,
            Message::Enter(Enter {
                task: id,
                procs: what.cores,
                walltime,
                runtime: provider.time(what.runtime),
                not_before: work_from,
                within,
                tells,
                losses: self.run.losses(task),
            }),
        );
    }
}
