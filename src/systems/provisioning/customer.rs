//! A user who bargains with sites itself: it plans, asks, books and submits, each job by a strategy, and nobody at the hub knows of it.
//!
//! What all strategies have in common is here: the calendar of jobs, who asked what, and the course of each job (`run.rs`). As
//! there is no service that would, the user tells the log what becomes of its jobs.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::application::Application;
use super::debts::{Asked, Debt, Debts, Owed, Step};
use super::rules::Provisioning;
use super::run::{Goes, Leaves, Padded, Run};
use super::strategy::{self, Strategy};
use super::world::World;
use crate::grid::{
    Approach, Area, BookingId, Crash, EdgeId, HoldId, Invalid, Job, JobId, Part, Quote, QuoteId, TaskId,
};
use crate::kernel::ActorId;
use crate::protocol::{
    Bargain, Begun, Claim, Coordinate, Coordinated, Ended, Enter, Fault, Inquire, Landed, Lot, Message, Pledge, Query,
    Recall, Recalled, Record, Return, Returned,
};
use crate::random::SplitMix64;
use crate::roles::{Out, Planner};
use crate::systems::Errand;
use crate::time::{Span, Time};

pub struct Customer {
    id: ActorId,
    /// Of the run.
    seed: u64,
    world: World,
    rules: Provisioning,
    approach: Approach,
    entry: &'static strategy::Entry,
    /// Jobs to come, by their times.
    errands: VecDeque<Errand>,
    /// Jobs that come after another one.
    followers: BTreeMap<JobId, Vec<(Span, Errand)>>,
    live: BTreeMap<JobId, Live>,
    books: Books,
    /// Whether its process is down, and what waits for it meanwhile: sites keep results until they are fetched.
    is_down: bool,
    spool: Vec<(ActorId, Message)>,
    late: Vec<Alarm>,
    /// Tasks that nothing is before any more, until all of the moment has been told.
    ready: Vec<(JobId, u32)>,
    /// It has said that a site breaks its contract: nothing that comes after that counts.
    has_accused: bool,
}

struct Live {
    run: Run,
    pinned: Option<usize>,
    strategy: Box<dyn Strategy>,
}

/// Who has asked what, and what it waits for.
#[derive(Default)]
struct Books {
    next: u64,
    /// What sites have to answer.
    debts: Debts,
    /// How long answers have taken at most, by place.
    lags: BTreeMap<usize, Span>,
    /// Whom each load is for.
    loads: BTreeMap<u64, TaskId>,
    alarms: BTreeMap<Time, Vec<Alarm>>,
    given_up: Vec<JobId>,
}

#[derive(Clone, Copy, Debug)]
enum Alarm {
    /// Its process goes down.
    Crash,
    /// It is back, with nothing but its log.
    Back,
    /// The next jobs come.
    Calendar,
    /// A job comes that follows another one.
    Follows(JobId),
    /// Data is there for a task.
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
    pinned: Option<usize>,
    seed: u64,
    books: &'a mut Books,
    out: &'a mut Out,
}

impl Customer {
    pub fn new(
        (id, seed): (ActorId, u64),
        world: World,
        rules: Provisioning,
        approach: Approach,
        entry: &'static strategy::Entry,
        mut errands: Vec<Errand>,
    ) -> Customer {
        let mut followers: BTreeMap<JobId, Vec<(Span, Errand)>> = BTreeMap::new();
        let is_after = |errand: &mut Errand| errand.after.is_some();
        for errand in errands.extract_if(.., is_after) {
            let (before, think) = errand.after.expect("it comes after another one");
            followers.entry(before).or_default().push((think, errand));
        }
        errands.sort_by_key(|errand| (errand.job.arrive, errand.job.id));
        Customer {
            id,
            seed,
            world,
            rules,
            approach,
            entry,
            errands: errands.into(),
            followers,
            live: BTreeMap::new(),
            books: Books::default(),
            is_down: false,
            spool: Vec::new(),
            late: Vec::new(),
            ready: Vec::new(),
            has_accused: false,
        }
    }

    /// Takes up all jobs whose time has come.
    fn keep_calendar(&mut self, now: Time, out: &mut Out) {
        while let Some(errand) = self.errands.pop_front_if(|errand| errand.job.arrive <= now) {
            self.take_up(now, errand, out);
        }
        if let Some(next) = self.errands.front() {
            self.books.wake_at(next.job.arrive, Alarm::Calendar, out);
        }
    }

    fn take_up(&mut self, now: Time, errand: Errand, out: &mut Out) {
        let Errand { job, site, .. } = errand;
        let pinned = site.and_then(|site| self.world.place_of(site));
        let fits_nowhere = job.tasks.iter().any(|task| self.world.fitting(task, pinned).next().is_none());
        let (id, user) = (job.id, self.id);
        if fits_nowhere {
            out.log(Record::Rejected { job: job.clone(), user, why: Invalid::TooManyNodes });
            return self.follow(now, id, out);
        }
        out.log(Record::Arrived { job: job.clone(), user });
        let strategy = (self.entry.build)(&self.approach);
        self.live.insert(id, Live { run: Run::new(job), pinned, strategy });
        self.with(now, id, out, |strategy, deal| strategy.begin(deal));
    }

    /// What comes after a job that is over.
    fn follow(&mut self, now: Time, over: JobId, out: &mut Out) {
        let Some(followers) = self.followers.get(&over) else { return };
        for (think, _) in followers {
            self.books.wake_at(now + *think, Alarm::Follows(over), out);
        }
    }

    fn follows(&mut self, now: Time, over: JobId, out: &mut Out) {
        // Each alarm is for one of them; the soonest come first.
        let Some(followers) = self.followers.get_mut(&over) else { return };
        let soonest = (0..followers.len()).min_by_key(|at| (followers[*at].0, *at)).expect("there is one left");
        let (_, errand) = followers.remove(soonest);
        if followers.is_empty() {
            self.followers.remove(&over);
        }
        let job = Arc::new(Job { arrive: now, ..(*errand.job).clone() });
        self.take_up(now, Errand { job, ..errand }, out);
    }

    /// Lets the strategy of a job act, if the job is not over.
    fn with(&mut self, now: Time, job: JobId, out: &mut Out, act: impl FnOnce(&mut dyn Strategy, &mut Deal<'_>)) {
        let Customer { world, rules, approach, books, live, seed, .. } = self;
        let Some(Live { run, pinned, strategy }) = live.get_mut(&job) else { return };
        let mut deal = Deal { now, run, world, rules, approach, pinned: *pinned, seed: *seed, books, out };
        act(strategy.as_mut(), &mut deal);
        while let Some(job) = self.books.given_up.pop() {
            self.live.remove(&job);
            self.follow(now, job, out);
        }
    }

    /// All that was not written down is lost: what was asked, what was to be waited for, how long answers take.
    fn crash(&mut self, now: Time, out: &mut Out) {
        self.is_down = true;
        self.books.debts.forget();
        self.books.lags.clear();
        for alarms in self.books.alarms.values_mut() {
            alarms.retain(|alarm| !matches!(alarm, Alarm::Strategy(..)));
        }
        self.live.values_mut().for_each(|live| live.strategy.crash());
        let lasts = self.approach.crash.map_or(Span::ZERO, |crash| crash.lasts);
        self.books.wake_at(now + lasts, Alarm::Back, out);
    }

    fn come_back(&mut self, now: Time, out: &mut Out) {
        self.is_down = false;
        let jobs: Vec<JobId> = self.live.keys().copied().collect();
        for job in jobs {
            self.with(now, job, out, |strategy, deal| strategy.recover(deal));
        }
        for (from, message) in std::mem::take(&mut self.spool) {
            self.hear(now, from, message, out);
        }
        // Jobs that came meanwhile, and data that has arrived.
        let late = self.books.alarms.entry(now).or_default();
        late.append(&mut self.late);
    }

    fn ended(&mut self, now: Time, task: TaskId, out: &mut Out) {
        let mut freed = Vec::new();
        self.with(now, task.job, out, |_, deal| {
            let Some((leaves, next)) = deal.run.ended(task.index) else { return };
            deal.ship(leaves);
            freed = next;
        });
        for next in freed {
            self.with(now, task.job, out, |_, deal| deal.enter(next));
            self.ready.push((task.job, next));
        }
        if self.live.get(&task.job).is_some_and(|live| live.run.is_over()) {
            out.log(Record::Completed { job: task.job, value: None });
            self.live.remove(&task.job);
            self.follow(now, task.job, out);
        }
    }

    /// What a site tells; what no honest one would is its fault.
    fn told(&mut self, now: Time, place: usize, message: Message, out: &mut Out) -> Result<(), Fault> {
        match message {
            Message::Informed(informed) => {
                let debt = self.books.paid(now, Owed::Answer(place, informed.number));
                let Some((job, asked)) = self.known(debt)? else { return Ok(()) };
                asked.is_answered_by(&informed.reply, &self.world.places[place])?;
                self.with(now, job, out, |strategy, deal| {
                    strategy.informed(informed.number, place, informed.reply, deal);
                });
            }
            Message::Claimed(claimed) => {
                let debt = self.books.paid(now, Owed::Answer(place, claimed.number));
                let Some((job, asked)) = self.known(debt)? else { return Ok(()) };
                asked.is_granted_by(&claimed.result, &self.world.places[place])?;
                self.with(now, job, out, |strategy, deal| {
                    strategy.claimed(claimed.number, place, claimed.result, deal);
                });
            }
            Message::Coordinated(Coordinated { hold, answer }) => {
                let debt = self.books.paid(now, Owed::Pledge(place, hold, Step::of(&answer)));
                let Some((job, _)) = self.known(debt)? else { return Ok(()) };
                self.with(now, job, out, |strategy, deal| strategy.pledged(hold, answer, deal));
            }
            Message::Returned(Returned { booking, result }) => {
                let debt = self.books.paid(now, Owed::Return(place, booking));
                let Some((job, _)) = self.known(debt)? else { return Ok(()) };
                self.with(now, job, out, |strategy, deal| strategy.returned(booking, place, result, deal));
            }
            Message::Recalled(Recalled { task, in_time }) => {
                let debt = self.books.paid(now, Owed::Recall(place, task));
                let Some((job, _)) = self.known(debt)? else { return Ok(()) };
                self.with(now, job, out, |strategy, deal| {
                    if in_time {
                        deal.run.left(task.index);
                        deal.out.log(Record::Withdrawn { task });
                    }
                    strategy.recalled(task.index, in_time, deal);
                });
            }
            Message::Begun(Begun { task }) => {
                let Some(live) = self.live.get_mut(&task.job) else { return Ok(()) };
                if !live.run.begun(task.index, place) {
                    return Err(Fault::Unasked);
                }
                self.with(now, task.job, out, |strategy, deal| strategy.begun(task.index, deal));
            }
            Message::Ended(Ended { task, .. }) => {
                let Some(live) = self.live.get(&task.job) else { return Ok(()) };
                if !live.run.is_at(task.index, place) {
                    return Err(Fault::Unasked);
                }
                self.ended(now, task, out);
            }
            // It has said how long a run it takes, and how many processors it has.
            Message::Barred(_) => return Err(Fault::Unwilling),
            _ => {}
        }
        Ok(())
    }

    /// Whose question it was. One whose process goes down cannot tell what it has asked before.
    fn known(&self, debt: Option<Debt>) -> Result<Option<Debt>, Fault> {
        if debt.is_none() && self.approach.crash.is_none() { Err(Fault::Unasked) } else { Ok(debt) }
    }

    fn accuse(&mut self, place: usize, fault: Fault, out: &mut Out) {
        self.has_accused = true;
        out.log(Record::Accused { site: self.world.places[place].site, fault });
    }

    /// Tasks that are ready at the same time: job by job, and of each in the order of HEFT.
    fn in_turn(&mut self, ready: Vec<(JobId, u32)>) -> Vec<(JobId, u32)> {
        let mut jobs: BTreeMap<JobId, Vec<u32>> = BTreeMap::new();
        ready.into_iter().for_each(|(job, task)| jobs.entry(job).or_default().push(task));
        let Customer { world, live, .. } = self;
        let mut order = Vec::new();
        for (job, mut tasks) in jobs {
            if let Some(Live { run, .. }) = live.get_mut(&job) {
                run.by_rank(&mut tasks, world);
                order.extend(tasks.into_iter().map(|task| (job, task)));
            }
        }
        order
    }

    fn arrived(&mut self, now: Time, task: TaskId, out: &mut Out) {
        self.with(now, task.job, out, |_, deal| {
            deal.run.arrived(task.index);
            deal.enter(task.index);
        });
    }
}

impl Planner for Customer {
    fn wake(&mut self, now: Time, out: &mut Out) {
        if let Some(place) = self.books.debts.overdue(now, out) {
            self.accuse(place, Fault::Silent, out);
        }
        if self.has_accused {
            return;
        }
        if now == Time::ZERO {
            self.keep_calendar(now, out);
            if let Some(Crash { at, .. }) = self.approach.crash {
                self.books.wake_at(Time::ZERO + at, Alarm::Crash, out);
            }
        }
        while let Some(due) = self.books.alarms.first_entry().filter(|due| *due.key() <= now) {
            for alarm in due.remove() {
                match alarm {
                    Alarm::Crash => self.crash(now, out),
                    Alarm::Back => self.come_back(now, out),
                    _ if self.is_down => self.late.push(alarm),
                    Alarm::Calendar => self.keep_calendar(now, out),
                    Alarm::Follows(over) => self.follows(now, over, out),
                    Alarm::Arrived(task) => self.arrived(now, task, out),
                    Alarm::Strategy(job, token) => {
                        self.with(now, job, out, |strategy, deal| strategy.wake(token, deal));
                    }
                }
            }
        }
    }

    fn hear(&mut self, now: Time, from: ActorId, message: Message, out: &mut Out) {
        if self.has_accused {
            return;
        }
        if self.is_down {
            if matches!(message, Message::Ended(_) | Message::Landed(_) | Message::Barred(_)) {
                self.spool.push((from, message));
            }
            return;
        }
        if let Message::Landed(Landed { load }) = message {
            let task = if self.world.is_exchange(from) { self.books.loads.remove(&load) } else { None };
            return task.into_iter().for_each(|task| self.arrived(now, task, out));
        }
        let Some(place) = self.world.place_of(from) else { return };
        if let Err(fault) = self.told(now, place, message, out) {
            self.accuse(place, fault, out);
        }
    }

    fn decide(&mut self, now: Time, out: &mut Out) {
        let ready = std::mem::take(&mut self.ready);
        if self.has_accused {
            return;
        }
        for (job, task) in self.in_turn(ready) {
            self.with(now, job, out, |strategy, deal| {
                if deal.run.goes(task).is_none() {
                    strategy.ready(task, deal);
                }
            });
        }
    }
}

impl Books {
    fn wake_at(&mut self, time: Time, alarm: Alarm, out: &mut Out) {
        let alarms = self.alarms.entry(time).or_default();
        if alarms.is_empty() {
            out.wake_at(time, 0);
        }
        alarms.push(alarm);
    }

    /// Whose question it was; how long an answer took says how old news from there is.
    fn paid(&mut self, now: Time, owed: Owed) -> Option<Debt> {
        let (since, debt) = self.debts.pay(owed)?;
        if let Owed::Answer(place, _) = owed {
            let lag = self.lags.entry(place).or_default();
            *lag = now.since(since).max(*lag);
        }
        Some(debt)
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

impl Deal<'_> {
    /// Tasks that nothing is before, in the order of HEFT.
    pub fn ready(&mut self) -> Vec<u32> {
        let mut ready = self.run.ready();
        self.run.by_rank(&mut ready, self.world);
        ready
    }

    /// The places that a task may go to.
    pub fn fitting(&self, task: u32) -> Vec<usize> {
        self.world.fitting(&self.run.job.tasks[task as usize], self.pinned).collect()
    }

    /// How long a place took to answer, at most: so old is news, and so long it takes to act on it.
    pub fn slack(&self) -> Span {
        self.books.lags.values().copied().max().unwrap_or_default()
    }

    /// The earliest time at which a task can run in something that is claimed now: the claim is answered, then the task is
    /// entered.
    pub fn soonest(&self) -> Time {
        self.now + self.slack() + self.slack()
    }

    pub fn application(&self) -> Application {
        self.world.application(&self.run.job, self.slack())
    }

    /// For whoever draws lots about this job.
    pub fn seed(&self) -> u64 {
        SplitMix64::new(self.seed).after(u64::from(self.run.job.id.0)).next_u64()
    }

    /// What came of bargaining, once for each job that is bargained for.
    pub fn bargained(&mut self, end: Bargain) {
        self.out.log(Record::Bargained { job: self.run.job.id, end });
    }

    /// Gives the job up.
    pub fn give_up(&mut self) {
        self.out.log(Record::Removed { job: self.run.job.id });
        self.books.given_up.push(self.run.job.id);
    }

    /// Asks a place something; the answer comes under the number.
    pub fn ask(&mut self, place: usize, query: Query) -> u64 {
        let number = self.books.number();
        self.owes(Owed::Answer(place, number), place, Asked::Query(query));
        self.out.send(self.world.places[place].site, Message::Inquire(Inquire { number, query }));
        number
    }

    /// Claims parts of the slots that a place has advertised, which have no fee; the answer comes under the number.
    pub fn take(&mut self, place: usize, version: u64, parts: Vec<(u32, Part)>) -> u64 {
        let wanted = parts.iter().map(|(_, part)| (*part, Area::ZERO)).collect();
        self.claim(place, Lot::Slots { version, parts }, wanted)
    }

    /// Claims a start that a place has quoted, at its fee.
    pub fn buy(&mut self, place: usize, quotes: &[(usize, Quote)], (quote, start): (QuoteId, Time)) -> u64 {
        let its = quotes.iter().filter(|(at, other)| (*at, other.id) == (place, quote));
        let offers = its.flat_map(|(_, quote)| quote.offers.iter().map(move |offer| (quote, offer)));
        let wanted = offers.filter(|(_, offer)| offer.start == start).take(1);
        let wanted = wanted.map(|(quote, offer)| (Part { procs: quote.procs, start, span: quote.span }, offer.fee));
        let wanted = wanted.collect();
        self.claim(place, Lot::Quote { quote, start }, wanted)
    }

    fn claim(&mut self, place: usize, lot: Lot, wanted: Vec<(Part, Area)>) -> u64 {
        let number = self.books.number();
        self.owes(Owed::Answer(place, number), place, Asked::Claim(wanted));
        self.out.send(self.world.places[place].site, Message::Claim(Claim { number, job: self.run.job.id, lot }));
        number
    }

    /// A place has to answer; as it does so at once, this is there when a message can have gone there and back.
    fn owes(&mut self, owed: Owed, place: usize, asked: Asked) {
        let by = self.now + self.world.places[place].latency + self.world.places[place].latency;
        self.books.debts.add(self.now, by, owed, (self.run.job.id, asked), self.out);
    }

    /// Tells a place what is to become of a hold.
    pub fn pledge(&mut self, place: usize, hold: HoldId, pledge: Pledge) {
        // Nothing more is said about what is not wanted.
        if let Some(step) = Step::wanted(&pledge) {
            self.owes(Owed::Pledge(place, hold, step), place, Asked::Deed);
        }
        self.out.send(self.world.places[place].site, Message::Coordinate(Coordinate { hold, pledge }));
    }

    pub fn give_back(&mut self, place: usize, booking: BookingId) {
        self.owes(Owed::Return(place, booking), place, Asked::Deed);
        self.out.send(self.world.places[place].site, Message::Return(Return { booking }));
    }

    /// Says where a task goes; it is entered there when nothing is in the way any more.
    pub fn send(&mut self, task: u32, goes: Goes) {
        let leaves = self.run.send(task, goes);
        self.ship(leaves);
        self.enter(task);
    }

    pub fn recall(&mut self, task: u32) {
        let Some(place) = self.run.goes(task).map(|goes| goes.place) else { return };
        let site = self.world.places[place].site;
        self.owes(Owed::Recall(place, self.run.id(task)), place, Asked::Deed);
        self.out.send(site, Message::Recall(Recall { task: self.run.id(task) }));
    }

    /// At that time, or at once if it has passed: answers may come late.
    pub fn wake_at(&mut self, time: Time, token: u64) {
        self.books.wake_at(time.max(self.now), Alarm::Strategy(self.run.job.id, token), self.out);
    }

    fn ship(&mut self, leaves: Vec<Leaves>) {
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
    fn enter(&mut self, task: u32) {
        let Some(Goes { place, within, padded }) = self.run.enter(task) else { return };
        let place = &self.world.places[place];
        let what = self.run.job.tasks[task as usize];
        let id = self.run.id(task);
        self.out.log(Record::Assigned { task: id, site: place.site });
        let usual = Padded { work_from: Time::ZERO, walltime: place.time(what.walltime) };
        let Padded { work_from, walltime } = padded.unwrap_or(usual);
        self.out.send(
            place.site,
            Message::Enter(Enter {
                task: id,
                procs: what.cores,
                walltime,
                runtime: place.time(what.runtime),
                not_before: work_from,
                within,
                tells: padded.is_some(),
            }),
        );
    }
}
