//! The manager of a site under provisioning: it handles messages of users, asks the desk, and starts what the desk
//! says.
//!
//! The desk counts processors. The nodes of a task are chosen when it starts: the lowest that are free, unless services
//! have booked some. All messages of an instant are gathered before any is answered, so that returned processors can be
//! booked again at once: returns come first, then submissions, then questions and claims. But a user that submits a
//! task and takes it back in one instant means both, in that order: a co-allocation can fail in the instant in which it
//! succeeds.
//!
//! The desk does not plan a task that runs in a booking of its user: its processors are taken already. It starts as
//! soon as all of its bookings have begun, if they last long enough; otherwise it joins the queue.
//!
//! Other systems may use the site too: their jobs are planned on the same calendar (`guests.rs`).

mod bookings;
mod guests;
mod remedy;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::guests::{SenderKind, ServiceBookings};
use self::remedy::FailureHandling;
use super::desk::{Desk, DeskAction, Joins, WantedStarts};
use crate::grid::{Advert, Area, BookingId, Denial, Expected, HoldId, JobId, Part, Quote, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{
    Barred, Begun, Coordinate, Enter, HoldFate, Informed, Inquire, Message, Query, Queue, Recall, Recalled, Record,
    Reply, Return, Run,
};
use crate::roles::queue::NodeRequest;
use crate::roles::site::{Ending, Manager, On, Running, SiteOrder, Start, Tasks, task_rank};
use crate::systems::Fails;
use crate::time::{Span, Stamp, Time};

pub struct NegotiatingManager {
    desk: Desk,
    /// Messages of this instant, and the tasks entered in it by user.
    inbox: Vec<(Turn, ActorId, Message)>,
    entering: BTreeSet<(ActorId, TaskId)>,
    /// Tasks that have not started.
    waiting: BTreeMap<TaskId, Submission>,
    /// Least durations of the waiting tasks, with the number of tasks of each.
    lengths: BTreeMap<Span, u32>,
    /// Number of waiting tasks whose users want to be told of the start.
    reporting: usize,
    /// Running tasks with their processors.
    running: BTreeMap<TaskId, Runs>,
    booked: BTreeMap<BookingId, Booked>,
    /// Holds that are neither committed nor over, by the desk's identity.
    held: BTreeSet<HoldId>,
    actions: Vec<DeskAction>,
    /// Bookings in which processors have become free at this instant.
    freed: Vec<BookingId>,
    /// Tasks whose booking is gone or never was, until their users take them back.
    stranded: BTreeMap<TaskId, ActorId>,
    /// The handling of failures, where nodes fail.
    remedy: Option<FailureHandling>,
    /// Services of the other systems that use the site.
    services: Vec<ActorId>,
    /// Bookings of those services.
    guests: ServiceBookings,
}

/// A task that has been submitted.
#[derive(Clone)]
struct Submission {
    sender: ActorId,
    origin: SenderKind,
    enter: Enter,
}

struct Runs {
    sender: ActorId,
    within: Vec<(BookingId, u32)>,
    /// True if it has processors of its own at the desk.
    is_at_desk: bool,
    /// The task is idle until then, and can be taken back.
    idle_until: Time,
    /// True if it is useful only together with others elsewhere. Its user may take it back as long as it runs.
    is_leg: bool,
    /// End of the task if nothing interrupts it.
    until: Time,
    losses: u32,
    /// Its next submission if it is lost, where nodes fail.
    again: Option<Submission>,
}

/// A booking at this site.
struct Booked {
    user: ActorId,
    job: JobId,
    part: Part,
    /// Number of its processors on which tasks run.
    used: u32,
    /// Area used by tasks, and its exact cost.
    worked: Area,
    worth: u128,
    begun: bool,
    /// True if others elsewhere were booked together with it.
    is_leg: bool,
    /// Tasks that wait for it to begin.
    tasks: Vec<TaskId>,
}

/// The order in which messages of one instant are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    TakenBack,
    Submitted,
    RequestKind,
}

impl NegotiatingManager {
    pub fn new(desk: Desk) -> NegotiatingManager {
        NegotiatingManager {
            desk,
            inbox: Vec::new(),
            entering: BTreeSet::new(),
            waiting: BTreeMap::new(),
            lengths: BTreeMap::new(),
            reporting: 0,
            running: BTreeMap::new(),
            booked: BTreeMap::new(),
            held: BTreeSet::new(),
            actions: Vec::new(),
            freed: Vec::new(),
            stranded: BTreeMap::new(),
            remedy: None,
            services: Vec::new(),
            guests: ServiceBookings::default(),
        }
    }

    /// Like this manager, at a site that these services use too.
    pub fn serving(self, services: &[ActorId]) -> NegotiatingManager {
        NegotiatingManager { services: services.to_vec(), ..self }
    }

    /// Like this manager, at a site whose nodes fail.
    pub fn with_outages(self, fails: Fails) -> NegotiatingManager {
        let procs = self.desk.terms().procs;
        NegotiatingManager { remedy: Some(FailureHandling::new(fails, procs)), ..self }
    }

    fn carry_out_request(
        &mut self,
        now: Time,
        user: ActorId,
        message: Message,
        site: &Tasks,
        orders: &mut Vec<SiteOrder>,
    ) {
        match message {
            Message::Return(Return { booking }) => self.give_back(now, user, booking, orders),
            Message::Recall(Recall { task }) => self.recall(now, user, task, orders),
            Message::Enter(enter) => self.enter(now, user, enter, orders),
            Message::Inquire(Inquire { number, query, quiet_for }) => {
                let reply = self.reply(now, query);
                orders.extend(reply.record(user).map(SiteOrder::Log));
                orders.push(SiteOrder::Send(user, Message::Informed(Informed { number, reply, quiet_for })));
            }
            Message::Claim(claim) => self.claim(now, user, claim, orders),
            Message::Coordinate(Coordinate { hold, pledge }) => self.coordinate(now, user, hold, pledge, orders),
            message if self.services.contains(&user) => self.handle_service_message(now, user, message, site, orders),
            _ => {}
        }
    }

    /// True if the task is known here.
    fn knows(&self, task: TaskId) -> bool {
        self.waiting.contains_key(&task) || self.running.contains_key(&task) || self.stranded.contains_key(&task)
    }

    fn reply(&mut self, now: Time, query: Query) -> Reply {
        let desk = &mut self.desk;
        match query {
            Query::Load => Reply::Load((self.waiting.len() + self.running.len() + self.guests.running(now)) as u32),
            Query::Slots => Reply::Slots(desk.advertise(now)),
            Query::Price(Part { procs, start, span }) => priced_reply(desk, procs, span, WantedStarts::At(start), now),
            Query::Prices { procs, span } => priced_reply(desk, procs, span, WantedStarts::Any, now),
            Query::PricesFrom(Part { procs, start, span }) => {
                priced_reply(desk, procs, span, WantedStarts::From(start), now)
            }
            Query::Chances { work, step } => Reply::Chances(start_chances(desk, now, work, step)),
        }
    }

    /// Accepts a task: into its user's bookings, if it fits there, or into the queue.
    fn enter(&mut self, now: Time, sender: ActorId, enter: Enter, orders: &mut Vec<SiteOrder>) {
        let task = enter.task;
        // A task for a booking may end up in the queue too, and cannot be refused then.
        let is_here = self.knows(task) || self.guests.booked.has(task);
        let taken = match () {
            () if is_here => Err(Denial::Duplicate),
            () if self.remedy.is_some() && !enter.may_be_lost => Err(Denial::NotSafe),
            () => self.desk.check_submission(now, &request_of(&enter)),
        };
        if let Err(why) = taken {
            return orders.extend(order_refusal(now, sender, &enter, why));
        }
        orders.push(SiteOrder::Log(Record::Entered { user: sender, task }));
        let fits = !enter.within.is_empty() && self.fits(now, sender, &enter);
        let submission = Submission { sender, origin: SenderKind::User, enter };
        if !fits {
            return self.queue_or_strand(now, submission);
        }
        self.wait_within(submission);
        self.start_within(now, task, orders);
    }

    /// Lets a task wait for its bookings, which it fits.
    fn wait_within(&mut self, submission: Submission) {
        let Submission { enter, .. } = &submission;
        for (booking, _) in &enter.within {
            self.booked.get_mut(booking).expect("it fits what has been booked").tasks.push(enter.task);
        }
        self.wait(submission);
    }

    /// Handles a task that cannot run in its bookings: it joins the queue, if it may.
    fn queue_or_strand(&mut self, now: Time, submission: Submission) {
        if submission.enter.is_leg() {
            self.stranded.insert(submission.enter.task, submission.sender);
        } else {
            self.queue(now, submission, Joins::Last);
        }
    }

    fn queue(&mut self, now: Time, mut submission: Submission, joins: Joins) {
        submission.enter.within.clear();
        let (_, walltime) = self.times_with_checkpoints(&submission.enter);
        // It has been accepted, so only the end of time can prevent it; then no answer is sent any more.
        if self.desk.join(now, NodeRequest { walltime, ..request_of(&submission.enter) }, joins).is_ok() {
            self.wait(submission);
        }
    }

    /// True if a task can run in the bookings it names, from when all of them have begun.
    fn fits(&self, now: Time, sender: ActorId, enter: &Enter) -> bool {
        let Enter { within, procs, not_before, .. } = enter;
        let lasts = self.held_time(enter);
        let bookings: Option<Vec<&Booked>> = within.iter().map(|(booking, _)| self.booked.get(booking)).collect();
        let Some(bookings) = bookings else { return false };
        // Each booking may be named once.
        if within.iter().enumerate().any(|(at, (booking, _))| within[..at].iter().any(|(other, _)| other == booking)) {
            return false;
        }
        let start = bookings.iter().map(|booked| booked.part.start).max().unwrap_or(now).max(now);
        let end = bookings.iter().map(|booked| booked.part.end()).min().unwrap_or(now);
        bookings.iter().all(|booked| booked.user == sender)
            && within.iter().map(|(_, procs)| u64::from(*procs)).sum::<u64>() == u64::from(*procs)
            && within.iter().zip(&bookings).all(|((_, procs), booked)| *procs <= booked.part.procs)
            && start.max(*not_before) + lasts <= end
    }

    /// Starts a task in its bookings, if all have begun and have room. If it cannot end in time any more, it joins the
    /// queue.
    fn start_within(&mut self, now: Time, task: TaskId, orders: &mut Vec<SiteOrder>) {
        // By now it may wait in the queue.
        let Some(Submission { sender, enter, .. }) =
            self.waiting.get(&task).filter(|waiting| !waiting.enter.within.is_empty())
        else {
            return;
        };
        let sender = *sender;
        let lasts = enter.not_before.since(now) + self.held_time(enter);
        let tariff = &self.desk.terms().tariff;
        let has_room = enter.within.iter().all(|(booking, procs)| {
            self.booked.get(booking).is_some_and(|booked| booked.begun && booked.used + procs <= booked.part.procs)
        });
        if has_room && self.fits(now, sender, enter) {
            for (booking, procs) in enter.within.clone() {
                let booked = self.booked.get_mut(&booking).expect("it has room");
                booked.used += procs;
                booked.worked += Area::of(procs, lasts);
                booked.worth += tariff.weight(&Part { procs, start: now, span: lasts });
                booked.tasks.retain(|other| *other != task);
            }
            self.start(now, task, orders);
        } else if !self.fits(now, sender, enter) {
            let submission = self.leave(task);
            self.forget_within(&submission.enter);
            self.queue_or_strand(now, submission);
        }
    }

    fn forget_within(&mut self, enter: &Enter) {
        for (booking, _) in &enter.within {
            if let Some(booked) = self.booked.get_mut(booking) {
                booked.tasks.retain(|other| *other != enter.task);
            }
        }
    }

    fn recall(&mut self, now: Time, user: ActorId, task: TaskId, orders: &mut Vec<SiteOrder>) {
        if self.guests.booked.has(task) {
            let in_time = self.recall_booked(now, user, task, orders);
            return orders.push(SiteOrder::Send(user, Message::Recalled(Recalled { task, in_time, losses: 0 })));
        }
        let waits = self.waiting.get(&task).is_some_and(|waiting| waiting.sender == user);
        let is_stranded = self.stranded.get(&task) == Some(&user);
        let is_leg = self.running.get(&task).is_some_and(|runs| runs.sender == user && runs.is_leg);
        let in_time = waits
            || is_stranded
            || is_leg
            || self
                .running
                .get(&task)
                .is_some_and(|runs| runs.sender == user && runs.within.is_empty() && now < runs.idle_until);
        let mut losses = 0;
        if is_stranded {
            self.stranded.remove(&task);
        } else if is_leg {
            self.take_off_processors(now, task);
            orders.push(SiteOrder::Lose(task));
        } else if in_time && !waits {
            losses = self.running.remove(&task).map_or(0, |runs| runs.losses);
            self.desk.end_job(now, task);
            orders.push(SiteOrder::Abandon(task));
        } else if in_time {
            let Submission { enter, .. } = self.leave(task);
            losses = enter.losses;
            if enter.within.is_empty() {
                self.desk.withdraw(now, task);
            } else {
                self.forget_within(&enter);
            }
        }
        orders.push(SiteOrder::Send(user, Message::Recalled(Recalled { task, in_time, losses })));
    }

    fn wait(&mut self, submission: Submission) {
        *self.lengths.entry(submission.enter.lasts_at_least()).or_default() += 1;
        self.reporting += usize::from(submission.enter.reports_start);
        self.waiting.insert(submission.enter.task, submission);
    }

    fn leave(&mut self, task: TaskId) -> Submission {
        let waiting = self.waiting.remove(&task).expect("a task that leaves has waited");
        let lasts = waiting.enter.lasts_at_least();
        let count = self.lengths.get_mut(&lasts).expect("a waiting task is counted");
        *count -= 1;
        if *count == 0 {
            self.lengths.remove(&lasts);
        }
        self.reporting -= usize::from(waiting.enter.reports_start);
        waiting
    }

    fn start(&mut self, now: Time, task: TaskId, orders: &mut Vec<SiteOrder>) {
        let submission = self.leave(task);
        let again = self.remedy.is_some().then(|| submission.clone());
        let Submission { sender, origin, enter } = submission;
        let (runtime, walltime) = self.times_with_checkpoints(&enter);
        // It holds its processors until its work is due.
        let runtime = enter.not_before.since(now) + runtime;
        let loss = self.risks(origin, &enter);
        if enter.reports_start {
            orders.push(SiteOrder::Send(sender, Message::Begun(Begun { task })));
        }
        // A task that may be taken back cannot announce its end ahead; and a task that may be moved may escape from a
        // node that fails.
        let start = Start::on_whole_nodes(sender, task, now, On::Lowest(enter.procs), runtime);
        let ending = match (enter.reports_start, self.remedy.is_some()) {
            (true, false) => Ending::Fixed,
            (true, true) => Ending::Timed,
            (false, fails) if fails && !self.services.is_empty() => Ending::Timed,
            (false, _) => Ending::Settled,
        };
        let ends_quietly = enter.ends_quietly;
        orders.push(SiteOrder::Start(Start { walltime, ending, loss, rank: task_rank(task), ends_quietly, ..start }));
        let idle_until = if enter.reports_start { enter.not_before } else { now };
        let is_leg = enter.is_leg();
        let losses = enter.losses;
        let is_at_desk = enter.within.is_empty();
        let until = now + runtime.min(walltime);
        let within = enter.within;
        self.running.insert(task, Runs { sender, within, is_at_desk, idle_until, is_leg, until, losses, again });
    }

    fn carry_out(&mut self, now: Time, action: DeskAction, orders: &mut Vec<SiteOrder>) {
        match action {
            DeskAction::Start(task) => self.start(now, task, orders),
            DeskAction::Begin(booking) => {
                let Some(booked) = self.booked.get(&booking) else { return };
                for task in booked.tasks.clone() {
                    self.start_within(now, task, orders);
                }
            }
            DeskAction::Over(booking) => match self.booked.get(&booking).map(|booked| booked.worked) {
                Some(used) => {
                    orders.push(SiteOrder::Log(Record::Elapsed { booking, used }));
                    self.close_booking(now, booking, orders);
                }
                // A guest's task has ended by then, or has not started and never will.
                None => self.guests.forget(booking),
            },
            DeskAction::Lapse(hold) => self.log_fate(hold, HoldFate::Expired, orders),
        }
    }
}

fn priced_reply(desk: &mut Desk, procs: u32, span: Span, wanted: WantedStarts, now: Time) -> Reply {
    match desk.price(now, procs, span, wanted) {
        Ok(quote) => Reply::Prices(quote),
        Err(denial) => Reply::Denied(denial),
    }
}

impl Manager for NegotiatingManager {
    fn make_way(&mut self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.clear_way(now, site, orders);
    }

    fn receive_message(&mut self, _: Time, from: ActorId, message: Message, _: &Tasks, _: &mut Vec<SiteOrder>) {
        let turn = match &message {
            Message::Enter(Enter { task, .. }) if !self.services.contains(&from) => {
                self.entering.insert((from, *task));
                Turn::Submitted
            }
            Message::Queue(Queue { job, .. }) if self.services.contains(&from) => {
                self.entering.insert((from, TaskId { job: *job, index: 0 }));
                Turn::Submitted
            }
            Message::Run(Run { task, .. }) if self.services.contains(&from) => {
                self.entering.insert((from, *task));
                Turn::Submitted
            }
            Message::Recall(Recall { task }) if self.entering.contains(&(from, *task)) => Turn::Submitted,
            Message::Return(_) | Message::Recall(_) | Message::Release(_) => Turn::TakenBack,
            _ => Turn::RequestKind,
        };
        self.inbox.push((turn, from, message));
    }

    fn task_ended(&mut self, now: Time, ended: &Running) {
        if self.end_guest(now, ended.task) {
            return;
        }
        let Some(Runs { within, is_at_desk, .. }) = self.running.remove(&ended.task) else { return };
        if is_at_desk {
            self.desk.end_job(now, ended.task);
        }
        for (booking, procs) in within {
            if let Some(booked) = self.booked.get_mut(&booking) {
                booked.used -= procs;
                self.freed.push(booking);
            }
        }
    }

    fn task_lost(&mut self, now: Time, task: &Running, saved: Span) {
        if !self.guests.booked.mark_lost(task.task) {
            self.record_loss(now, task, saved);
        }
    }

    fn are_down(&mut self, _: Time, down: &[Expected]) {
        self.receive_down_nodes(down);
    }

    fn has_waiting(&self) -> bool {
        let is_late = self.guests.booked.is_anybody_late();
        !self.waiting.is_empty() || !self.booked.is_empty() || !self.held.is_empty() || is_late
    }

    fn decide_orders(&mut self, now: Time, site: &Tasks, orders: &mut Vec<SiteOrder>) {
        self.handle_outages(now, orders);
        let mut inbox = std::mem::take(&mut self.inbox);
        inbox.sort_by_key(|(turn, ..)| *turn);
        self.entering.clear();
        for (_, user, message) in inbox.drain(..) {
            self.carry_out_request(now, user, message, site, orders);
        }
        self.inbox = inbox;
        // Tasks may wait for processors that have become free in a booking.
        for booking in std::mem::take(&mut self.freed) {
            let waiting = self.booked.get(&booking).map_or_else(Vec::new, |booked| booked.tasks.clone());
            waiting.into_iter().for_each(|task| self.start_within(now, task, orders));
        }
        self.make_room(now);
        self.start_booked(now, orders);
        let mut actions = std::mem::take(&mut self.actions);
        self.desk.run_pass(now, &mut actions);
        // A task may run in several bookings that begin now: none of its starts before all have.
        for action in &actions {
            if let DeskAction::Begin(booking) = action
                && let Some(booked) = self.booked.get_mut(booking)
            {
                booked.begun = true;
            }
        }
        for action in actions.drain(..) {
            self.carry_out(now, action, orders);
        }
        self.actions = actions;
        self.assign(now, site, orders);
    }

    fn next_wake(&self) -> Option<Time> {
        self.desk.wake().into_iter().chain(self.guests.booked.next()).min()
    }

    fn send_floor(&self, at: Time) -> Time {
        match self.lengths.first_key_value() {
            _ if self.reporting > 0 => at,
            // Bookings may be revoked as soon as nodes fail.
            _ if self.remedy.is_some() && !self.booked.is_empty() => at,
            shortest => {
                let queued = shortest.map_or(Time::NEVER, |(shortest, _)| at + *shortest);
                queued.min(self.guests.booked.soonest_end(at))
            }
        }
    }
}

impl Enter {
    /// True if it runs in its bookings or not at all. Its user is told of its start, so its end is not told ahead, and
    /// it may be taken back until then.
    fn is_leg(&self) -> bool {
        self.reports_start && !self.within.is_empty()
    }
}

impl Reply {
    /// The record of a reply; None if it is not logged.
    fn record(&self, user: ActorId) -> Option<Record> {
        match self {
            Reply::Slots(Advert { version, slots, .. }) => {
                Some(Record::Advertised { user, version: *version, slots: slots.clone() })
            }
            Reply::Prices(Quote { procs, span, offers, .. }) => {
                Some(Record::Quoted { user, procs: *procs, span: *span, offers: offers.clone() })
            }
            Reply::Load(_) | Reply::Chances(_) | Reply::Denied(_) => None,
        }
    }
}

/// The refusal of a task, sent as soon as the submission allows. None if the end of time comes first.
fn order_refusal(now: Time, sender: ActorId, enter: &Enter, why: Denial) -> Option<SiteOrder> {
    let at = enter.reaction().earliest(Stamp::at(now)).time;
    let barred = Message::Barred(Barred { task: enter.task, why });
    (at <= Time::LATEST).then_some(SiteOrder::SendAt(at, sender, barred))
}

fn request_of(enter: &Enter) -> NodeRequest {
    NodeRequest { job: enter.task, nodes: enter.procs, walltime: enter.walltime }
}

/// Probability that work starts in time, for each submission time, from the site's present knowledge.
fn start_chances(desk: &mut Desk, now: Time, work: Part, step: Span) -> Vec<f64> {
    let mut chances = Vec::new();
    let mut ahead = Span::ZERO;
    let left = work.start.since(now);
    if step.is_zero() || left.micros() / step.micros() > CHANCES_MAX {
        return chances;
    }
    let longest = desk.terms().longest;
    while ahead < left {
        let within = Span::from_micros(left.micros() - ahead.micros());
        let asks_for = work.span + within;
        // A job that asks for too much has no chance; a later one asks for less.
        let is_taken = longest.is_none_or(|longest| asks_for <= longest);
        chances.push(if is_taken { desk.forecast(now, work.procs, asks_for, within) } else { 0.0 });
        ahead = ahead + step;
    }
    chances
}

/// Largest number of steps in one answer.
const CHANCES_MAX: u64 = 100_000;
