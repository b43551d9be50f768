//! What a site answers with: its queue, reservations, slots, holds and quotes on one calendar of counted processors.
//!
//! A desk is told of one instant after another, and within one in this order: what has ended, what is cancelled, what
//! is submitted, what is asked and booked; then it makes one pass and says who starts. What falls due by itself (leases
//! and quotes that expire, reservations that end and begin) it does in its place of that order. Nothing that runs or is
//! reserved is ever moved; the queue gives way.
//!
//! No cost grows with the jobs that have been: what is over is forgotten, but for the last word on each hold.

mod bookings;
mod holds;
mod outages;
mod plan;
mod prices;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use self::bookings::Account;
use self::bookings::Booking;
pub use self::holds::Fate;
use self::holds::Hold;
pub use self::outages::Yields;
use self::plan::Plan;
pub use self::prices::Wanted;
use super::forecast::Forecast;
use super::planner::Planner;
use crate::grid::{BookingId, Denial, HoldId, Part, Quote, QuoteId, Rate, TaskId};
use crate::roles::queue::Ask;
use crate::time::{Span, Time};

/// How a site does business.
#[derive(Clone, Debug, PartialEq)]
pub struct DeskTerms {
    pub procs: u32,
    pub mode: Mode,
    pub rate: Rate,
    /// Which part of its fee cancelling a booking costs, in thousandths.
    pub cancelling: u32,
    pub quotes_last: Span,
    pub lease: Span,
    /// How long after a commit it can be taken back for free.
    pub grace: Span,
    /// No job may ask for longer.
    pub longest: Option<Span>,
}

/// When a site plans its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each job gets its place when it is submitted, and keeps it: for run times that are known.
    Exact,
    /// All of the queue is planned anew whenever something changes.
    Rebuild,
}

/// What has happened at a desk by itself, or is to happen at its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A job of the queue starts now.
    Start(TaskId),
    /// The time of a reservation begins.
    Begin(BookingId),
    /// It is over.
    Over(BookingId),
    /// The lease of a hold has ended.
    Lapse(HoldId),
}

/// How a job joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// Before all others.
    First,
    /// Behind all others.
    Last,
    /// Behind all others, who keep their places: whoever has sent it was promised that nobody starts because of it.
    Quietly,
}

/// More than a thousand years, and less than what is left of time when the last messages come.
const WALLTIME_MAX: Span = Span::from_micros(1 << 55);

/// What a site lets a job ask for that lets nobody ask for longer than this.
pub fn longest(terms: Option<Span>) -> Span {
    terms.map_or(WALLTIME_MAX, |longest| longest.min(WALLTIME_MAX))
}

#[derive(Clone)]
pub struct Desk {
    terms: DeskTerms,
    planner: Box<dyn Planner>,
    forecast: Box<dyn Forecast>,
    now: Time,
    /// The number of the next job or booking.
    next: u64,
    queue: Vec<Queued>,
    jobs: BTreeMap<TaskId, Whereabouts>,
    /// What is on the processors, by number: running jobs to their requested ends, and reservations whose time it is.
    active: BTreeMap<u64, Active>,
    /// What is down, and until when it is taken to be.
    down: Vec<Active>,
    /// Reservations and holds that are to begin.
    future: BTreeMap<(Time, u64), Part>,
    bookings: BTreeMap<BookingId, Booking>,
    /// When reservations that have begun are over.
    ends: BTreeSet<(Time, BookingId)>,
    /// When leases end.
    leases: BTreeMap<(Time, BookingId), HoldId>,
    holds: BTreeMap<HoldId, Hold>,
    /// They all last for the same time, so the oldest expire first.
    quotes: BTreeMap<QuoteId, Quote>,
    next_quote: u64,
    plan: Plan,
    deeds: Vec<Deed>,
    account: Account,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    ask: Ask,
    number: u64,
    submitted: Time,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    Queue,
    /// On the processors, under this number.
    Runs(u64),
}

#[derive(Clone, Copy, Debug)]
struct Active {
    until: Time,
    procs: u32,
}

impl DeskTerms {
    /// As the thesis has it, at a site of so many processors.
    pub fn new(procs: u32, mode: Mode) -> DeskTerms {
        DeskTerms {
            procs,
            mode,
            rate: Rate::ONE,
            cancelling: 100,
            quotes_last: Span::from_secs(60),
            lease: Span::from_secs(60),
            grace: Span::from_secs(240),
            longest: None,
        }
    }
}

impl Desk {
    /// In mode `Exact` the planner only says what a booking at a price does to the queue.
    pub fn new(terms: DeskTerms, planner: Box<dyn Planner>, forecast: Box<dyn Forecast>) -> Desk {
        let plan = Plan::new(terms.procs);
        Desk {
            terms,
            planner,
            forecast,
            now: Time::ZERO,
            next: 0,
            queue: Vec::new(),
            jobs: BTreeMap::new(),
            active: BTreeMap::new(),
            down: Vec::new(),
            future: BTreeMap::new(),
            bookings: BTreeMap::new(),
            ends: BTreeSet::new(),
            leases: BTreeMap::new(),
            holds: BTreeMap::new(),
            quotes: BTreeMap::new(),
            next_quote: 0,
            plan,
            deeds: Vec::new(),
            account: Account::default(),
        }
    }

    pub fn terms(&self) -> &DeskTerms {
        &self.terms
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    /// How many jobs wait, and how many run.
    pub fn jobs(&self) -> (usize, usize) {
        (self.queue.len(), self.jobs.len() - self.queue.len())
    }

    /// A job that ran has left its processors, before its requested end or then.
    pub fn ended(&mut self, now: Time, job: TaskId) {
        let Some(Whereabouts::Runs(number)) = self.jobs.remove(&job) else {
            panic!("job {job} ends but does not run");
        };
        // What falls due by itself comes after what has ended.
        let active = self.active.remove(&number).expect("what runs is active");
        self.freed(now, active.until);
    }

    /// Whether a job could be submitted now: if so, it could be later too.
    pub fn takes(&self, now: Time, ask: &Ask) -> Result<(), Denial> {
        if ask.nodes > self.terms.procs {
            return Err(Denial::TooLarge(self.terms.procs));
        }
        Part { procs: ask.nodes, start: now, span: ask.walltime }.check()?;
        let longest = longest(self.terms.longest);
        if ask.walltime > longest {
            return Err(Denial::TooLong(longest));
        }
        if self.jobs.contains_key(&ask.job) {
            return Err(Denial::Duplicate);
        }
        Ok(())
    }

    pub fn submit(&mut self, now: Time, ask: Ask) -> Result<(), Denial> {
        self.takes(now, &ask)?;
        self.join(now, ask, Joins::Last)
    }

    /// Puts a job that has been taken into the queue: with its checkpoints it may be longer than what is taken. Only
    /// where time ends it is not.
    pub fn join(&mut self, now: Time, ask: Ask, joins: Joins) -> Result<(), Denial> {
        self.reach(now);
        self.begin_reservations();
        Part { procs: ask.nodes, start: now, span: ask.walltime }.check()?;
        self.jobs.insert(ask.job, Whereabouts::Queue);
        let number = self.number();
        let queued = Queued { ask, number, submitted: now };
        match joins {
            Joins::First => {
                self.queue.insert(0, queued);
                self.plan.displace();
            }
            Joins::Quietly if self.terms.mode == Mode::Rebuild => {
                self.queue.push(queued);
                self.plan.grow();
            }
            Joins::Last | Joins::Quietly => {
                self.queue.push(queued);
                self.place_newcomer();
            }
        }
        Ok(())
    }

    /// Takes a job out of the queue; false if it does not wait there (any more).
    pub fn withdraw(&mut self, now: Time, job: TaskId) -> bool {
        self.reach(now);
        if self.jobs.get(&job) != Some(&Whereabouts::Queue) {
            return false;
        }
        self.jobs.remove(&job);
        let place = self.queue.iter().position(|queued| queued.ask.job == job).expect("who waits is in the queue");
        self.queue.remove(place);
        self.plan.left(place, self.terms.mode);
        true
    }

    /// How likely a job that is submitted now is to start within a time.
    pub fn forecast(&mut self, now: Time, procs: u32, walltime: Span, within: Span) -> f64 {
        self.reach(now);
        self.forecast.chance(procs, walltime, within)
    }

    /// All of this instant has been told: adds what has happened since the last pass, and who starts.
    pub fn pass(&mut self, now: Time, deeds: &mut Vec<Deed>) {
        self.reach(now);
        self.begin_reservations();
        self.freshen();
        let mut place = 0;
        while place < self.queue.len() {
            if self.plan.starts[place] > now {
                place += 1;
                continue;
            }
            let Queued { ask, number, submitted } = self.queue.remove(place);
            self.plan.starts.remove(place);
            self.jobs.insert(ask.job, Whereabouts::Runs(number));
            self.active.insert(number, Active { until: now + ask.walltime, procs: ask.nodes });
            self.forecast.record(ask.nodes, ask.walltime, now.since(submitted));
            self.deeds.push(Deed::Start(ask.job));
        }
        deeds.append(&mut self.deeds);
    }

    /// When there is something to do though nothing ends or comes; after a pass.
    pub fn wake(&self) -> Option<Time> {
        let starts = self.plan.starts.iter().copied().filter(|start| *start < Time::NEVER);
        let begins = self.future.keys().next().map(|(start, _)| *start);
        let ends = self.ends.first().map(|(end, _)| *end);
        let lapses = self.leases.keys().next().map(|(expiry, _)| *expiry);
        starts.chain(begins).chain(ends).chain(lapses).min()
    }

    /// What falls due by itself up to now, but for reservations that begin: what is cancelled comes before these.
    fn reach(&mut self, now: Time) {
        assert!(now >= self.now, "a desk is told of one instant after another");
        self.now = now;
        self.expire_leases();
        while let Some(oldest) = self.quotes.first_entry().filter(|oldest| oldest.get().expiry <= now) {
            oldest.remove();
        }
        while let Some((_, id)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.end_booking(id);
            self.deeds.push(Deed::Over(id));
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}
