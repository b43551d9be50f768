//! The desk of a site: its queue, reservations, slots, holds and quotes on one calendar of counted processors.
//!
//! A desk handles one instant after another, and within an instant in this order: ends, cancellations, submissions,
//! questions and bookings; then one pass starts jobs. Events that fall due by themselves (leases and quotes that
//! expire, reservations that end and begin) have their place in that order. A running job or a reservation is never
//! moved; the queue gives way.
//!
//! No cost grows with the number of past jobs: the desk forgets them, except the last state of each hold.

mod bookings;
mod holds;
mod outages;
mod plan;
mod prices;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::bookings::DeskBooking;
pub use self::bookings::SiteAccount;
use self::holds::DeskHold;
pub use self::holds::HoldState;
pub use self::outages::Yields;
use self::plan::DeskPlan;
pub use self::prices::WantedStarts;
use super::forecast::Forecast;
use super::planner::Planner;
use crate::grid::{Area, BookingId, Denial, EdgeSlots, HoldId, InnerSlots, Part, Quote, QuoteId, Rate, Tariff, TaskId};
use crate::roles::queue::NodeRequest;
use crate::time::{Span, Time};

/// The business terms of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct DeskTerms {
    pub procs: u32,
    pub mode: PlanningMode,
    pub tariff: Tariff,
    /// Fixed part of the fee of a booking.
    pub charge: Area,
    /// Part of its fee that cancelling a booking costs, in thousandths.
    pub cancelling: u32,
    /// Part of its rent that the rest of a booking costs when it is handed back, in thousandths; None if that is not
    /// possible.
    pub handing_back: Option<u32>,
    pub inner_slots: InnerSlots,
    pub edge_slots: EdgeSlots,
    pub quotes_last: Span,
    pub lease: Span,
    /// Duration after a commit in which a cancellation is free.
    pub grace: Span,
    /// The longest run time that a job may ask for.
    pub longest: Option<Span>,
}

/// The time at which waiting jobs are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanningMode {
    /// Each job gets its place when it is submitted, and keeps it; for known run times.
    Exact,
    /// The whole queue is planned anew whenever something changes.
    Rebuild,
}

/// Events at a desk for its site to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeskAction {
    /// A job of the queue starts now.
    Start(TaskId),
    /// A reservation begins.
    Begin(BookingId),
    /// A reservation is over.
    Over(BookingId),
    /// The lease of a hold has ended.
    Lapse(HoldId),
}

/// The place at which a job joins the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// In front of all other jobs.
    First,
    /// Behind all other jobs.
    Last,
    /// Behind all other jobs, which keep their places. The sender was promised that no job starts because of this one.
    Quietly,
}

/// More than a thousand years, and less than the time left when the last messages arrive.
const WALLTIME_MAX: Span = Span::from_micros(1 << 55);

/// The longest run time that a job may ask for at a site with these terms.
pub fn longest_walltime(terms: Option<Span>) -> Span {
    terms.map_or(WALLTIME_MAX, |longest| longest.min(WALLTIME_MAX))
}

/// The calendar of a site that sells processor time: its queue, running jobs, bookings, holds and quotes.
///
/// The site's `NegotiatingManager` owns it, passes on the requests of users, and carries out the [`DeskAction`]s that
/// each pass returns. Plans without a run and experiments drive one of their own, as a `SiteTrial`. It promises that
/// processors are never sold twice, and that a booking begins at its time and lasts as long as was paid for, unless
/// nodes fail. It counts processors; nodes are up to the site.
#[derive(Clone)]
pub struct Desk {
    terms: DeskTerms,
    planner: Box<dyn Planner>,
    forecast: Box<dyn Forecast>,
    now: Time,
    /// Number of the next job or booking.
    next: u64,
    queue: Vec<Queued>,
    jobs: BTreeMap<TaskId, ProcessorUse>,
    /// Occupied processors, by number: running jobs until their requested ends, and reservations that have begun.
    active: BTreeMap<u64, Active>,
    /// Failed processors with the expected ends of their outages.
    down: Vec<Active>,
    /// Reservations and holds that have not begun.
    future: BTreeMap<(Time, u64), Part>,
    bookings: BTreeMap<BookingId, DeskBooking>,
    /// Ends of the reservations that have begun.
    ends: BTreeSet<(Time, BookingId)>,
    /// Ends of the leases.
    leases: BTreeMap<(Time, BookingId), HoldId>,
    holds: BTreeMap<HoldId, DeskHold>,
    /// Horizon of edge slots that are sold whole, with the version of the plan that it belongs to.
    whole_until: Option<(u64, Time)>,
    /// The quotes. All last equally long, so the oldest expires first.
    quotes: BTreeMap<QuoteId, Quote>,
    next_quote: u64,
    plan: DeskPlan,
    actions: Vec<DeskAction>,
    account: SiteAccount,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    request: NodeRequest,
    number: u64,
    submitted: Time,
}

/// The use of processors by a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProcessorUse {
    Queue,
    /// The job runs, under this number.
    Runs(u64),
}

#[derive(Clone, Copy, Debug)]
struct Active {
    until: Time,
    procs: u32,
}

impl DeskTerms {
    /// The terms of the thesis, at a site of `procs` processors.
    pub fn new(procs: u32, mode: PlanningMode) -> DeskTerms {
        DeskTerms {
            procs,
            mode,
            tariff: Tariff::flat(Rate::ONE),
            charge: Area::ZERO,
            cancelling: 100,
            handing_back: None,
            inner_slots: InnerSlots::default(),
            edge_slots: EdgeSlots::default(),
            quotes_last: Span::from_secs(60),
            lease: Span::from_secs(60),
            grace: Span::from_secs(240),
            longest: None,
        }
    }
}

impl Desk {
    /// A new desk. In mode `Exact` the planner only says how a priced booking would affect the queue.
    pub fn new(terms: DeskTerms, planner: Box<dyn Planner>, forecast: Box<dyn Forecast>) -> Desk {
        let plan = DeskPlan::new(terms.procs);
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
            whole_until: None,
            quotes: BTreeMap::new(),
            next_quote: 0,
            plan,
            actions: Vec::new(),
            account: SiteAccount::default(),
        }
    }

    pub fn terms(&self) -> &DeskTerms {
        &self.terms
    }

    pub fn account(&self) -> &SiteAccount {
        &self.account
    }

    /// Numbers of waiting and of running jobs.
    pub fn jobs(&self) -> (usize, usize) {
        (self.queue.len(), self.jobs.len() - self.queue.len())
    }

    /// A running job has left its processors, at its requested end or before.
    pub fn end_job(&mut self, now: Time, job: TaskId) {
        let Some(ProcessorUse::Runs(number)) = self.jobs.remove(&job) else {
            panic!("job {job} ends but does not run");
        };
        // Events that fall due by themselves come after ends.
        let active = self.active.remove(&number).expect("what runs is active");
        self.free_early(now, active.until);
    }

    /// Checks that the desk accepts a job; one that is accepted now would be accepted later, too.
    pub fn check_submission(&self, now: Time, request: &NodeRequest) -> Result<(), Denial> {
        if request.nodes > self.terms.procs {
            return Err(Denial::TooLarge(self.terms.procs));
        }
        Part { procs: request.nodes, start: now, span: request.walltime }.check()?;
        let longest = longest_walltime(self.terms.longest);
        if request.walltime > longest {
            return Err(Denial::TooLong(longest));
        }
        if self.jobs.contains_key(&request.job) {
            return Err(Denial::Duplicate);
        }
        Ok(())
    }

    pub fn submit(&mut self, now: Time, request: NodeRequest) -> Result<(), Denial> {
        self.check_submission(now, &request)?;
        self.join(now, request, Joins::Last)
    }

    /// Puts an accepted job into the queue. With its checkpoints it may be longer than a submission may be. It is only
    /// refused if it would pass the end of time.
    pub fn join(&mut self, now: Time, request: NodeRequest, joins: Joins) -> Result<(), Denial> {
        self.advance_to(now);
        self.begin_reservations();
        Part { procs: request.nodes, start: now, span: request.walltime }.check()?;
        self.jobs.insert(request.job, ProcessorUse::Queue);
        let number = self.number();
        let queued = Queued { request, number, submitted: now };
        match joins {
            Joins::First => {
                self.queue.insert(0, queued);
                self.plan.displace();
            }
            Joins::Quietly if self.terms.mode == PlanningMode::Rebuild => {
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
        self.advance_to(now);
        if self.jobs.get(&job) != Some(&ProcessorUse::Queue) {
            return false;
        }
        self.jobs.remove(&job);
        let place =
            self.queue.iter().position(|queued| queued.request.job == job).expect("a waiting job is in the queue");
        self.queue.remove(place);
        self.plan.remove_start(place, self.terms.mode);
        true
    }

    /// Probability that a job submitted now starts within a time.
    pub fn forecast(&mut self, now: Time, procs: u32, walltime: Span, within: Span) -> f64 {
        self.advance_to(now);
        self.forecast.start_chance(procs, walltime, within)
    }

    /// Ends an instant: adds the events since the last pass, and the jobs that start.
    pub fn run_pass(&mut self, now: Time, actions: &mut Vec<DeskAction>) {
        self.advance_to(now);
        self.begin_reservations();
        self.refresh_plan();
        let mut place = 0;
        while place < self.queue.len() {
            if self.plan.starts[place] > now {
                place += 1;
                continue;
            }
            let Queued { request, number, submitted } = self.queue.remove(place);
            self.plan.starts.remove(place);
            self.jobs.insert(request.job, ProcessorUse::Runs(number));
            self.active.insert(number, Active { until: now + request.walltime, procs: request.nodes });
            self.forecast.record_start(request.nodes, request.walltime, now.since(submitted));
            self.actions.push(DeskAction::Start(request.job));
        }
        actions.append(&mut self.actions);
    }

    /// Time of the next event that needs no message; valid after a pass.
    pub fn wake(&self) -> Option<Time> {
        let starts = self.plan.starts.iter().copied().filter(|start| *start < Time::NEVER);
        let begins = self.future.keys().next().map(|(start, _)| *start);
        let ends = self.ends.first().map(|(end, _)| *end);
        let lapses = self.leases.keys().next().map(|(expiry, _)| *expiry);
        starts.chain(begins).chain(ends).chain(lapses).min()
    }

    /// Handles all events due by now except the begin of reservations, as cancellations come before it.
    fn advance_to(&mut self, now: Time) {
        assert!(now >= self.now, "a desk is told of one instant after another");
        self.now = now;
        self.expire_leases();
        while let Some(oldest) = self.quotes.first_entry().filter(|oldest| oldest.get().expiry <= now) {
            oldest.remove();
        }
        while let Some((_, id)) = self.ends.first().copied().filter(|(end, _)| *end <= now) {
            self.end_booking(id);
            self.actions.push(DeskAction::Over(id));
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}
