//! The handling of node failures at a site. A task lost on a failed node starts again, in the rest of its bookings if
//! it can end there, or else from the queue. A booking without room is postponed or revoked.
//!
//! All of that follows the news of failures, before anything else of the instant: later claims and tasks of the instant
//! meet the site as it is.

use super::guests::SenderKind;
use super::{Booked, NegotiatingManager, Runs, Submission};
use crate::grid::{Area, BookingId, Expected, Killed, NodeSet, Part, Recovery, Reserved, Tariff, TaskId};
use crate::protocol::{Enter, HoldFate, Message, Postponed, Record, Revoked};
use crate::roles::site::{Attempts, Loss, Running, SiteOrder, left_of};
use crate::systems::Fails;
use crate::systems::provisioning::desk::{Joins, Yields};
use crate::time::{Span, Time};

/// Failure handling of one site.
pub(super) struct FailureHandling {
    /// Attempts of users, and of the tasks of services.
    attempts: Attempts,
    of_guests: Attempts,
    recovery: Recovery,
    /// The nodes that are down.
    down: Vec<Expected>,
    /// The nodes that are down, if that is news of this instant.
    news: Option<Vec<Expected>>,
    /// Tasks that were lost in this instant and start again.
    lost: Vec<Submission>,
    /// Bookings of lost legs, which do not start again, as the other legs are useless without them.
    broken: Vec<BookingId>,
}

impl FailureHandling {
    /// Failure handling at a site with this many processors. Users have no dispatcher to return to, so `back` becomes
    /// the head of the queue.
    pub fn new(mut fails: Fails, procs: u32) -> FailureHandling {
        let of_guests = fails.attempts(procs);
        if fails.recovery.killed == Killed::Back {
            fails.recovery.killed = Killed::Head;
        }
        let attempts = fails.attempts(procs);
        let recovery = fails.recovery;
        let down = Vec::new();
        FailureHandling { attempts, of_guests, recovery, down, news: None, lost: Vec::new(), broken: Vec::new() }
    }

    pub fn are_up(&self, nodes: &NodeSet) -> bool {
        !self.down.iter().any(|down| down.nodes.meets(nodes))
    }

    /// True if all failed nodes among `wanted` are expected back before its start.
    pub fn will_be_up(&self, wanted: &Reserved) -> bool {
        !self.down_at(wanted.from).meets(&wanted.nodes)
    }

    /// The nodes that are down and not expected back by then.
    pub fn down_at(&self, time: Time) -> NodeSet {
        let mut nodes = NodeSet::default();
        self.down.iter().filter(|down| time < down.back).for_each(|down| nodes.unite(&down.nodes));
        nodes
    }

    /// The loss rule of a guest that starts on this many nodes: a loss is reported to the sender.
    pub fn starts_booked(&self, nodes: u32) -> Loss {
        self.of_guests.starts_for_giver(nodes)
    }
}

/// True if a task saves checkpoints. A task that holds its processors until its work is due saves none, nor does a leg,
/// which does not start again.
fn saves_checkpoints(enter: &Enter) -> bool {
    enter.not_before == Time::ZERO && !enter.is_leg()
}

impl Booked {
    /// True if the task is a leg that has ended.
    fn has_served(&self) -> bool {
        self.is_leg && self.used == 0 && !self.worked.is_zero()
    }
}

impl NegotiatingManager {
    /// Run time and requested time of a task, with its checkpoints if it makes any.
    pub(super) fn times_with_checkpoints(&self, enter: &Enter) -> (Span, Span) {
        let stretched = |span| match &self.remedy {
            Some(remedy) if saves_checkpoints(enter) => remedy.attempts.with_checkpoints(span, enter.procs),
            _ => span,
        };
        (stretched(enter.runtime), stretched(enter.walltime))
    }

    /// Time for which a task works on its processors, without idle time before its wanted start. It is killed at its
    /// requested end.
    pub(super) fn held_time(&self, enter: &Enter) -> Span {
        let (runtime, walltime) = self.times_with_checkpoints(enter);
        runtime.min(walltime)
    }

    /// The loss rule of a task that starts.
    pub(super) fn risks(&self, origin: SenderKind, enter: &Enter) -> Loss {
        let Some(remedy) = &self.remedy else { return Loss::default() };
        let attempts = if origin == SenderKind::User { &remedy.attempts } else { &remedy.of_guests };
        let loss = attempts.starts(enter.losses, enter.procs);
        let is_reported = (loss.is_reported || origin == SenderKind::Planner) && !enter.is_leg();
        Loss { saves: loss.saves.filter(|_| saves_checkpoints(enter)), is_reported }
    }

    pub(super) fn record_loss(&mut self, now: Time, running: &Running, saved: Span) {
        let task = running.task;
        let Some(Runs { is_leg, again, .. }) = self.take_off_processors(now, task) else { return };
        let Some((remedy, Submission { sender, origin, enter })) = self.remedy.as_mut().zip(again) else { return };
        if is_leg {
            remedy.broken.extend(enter.within.iter().map(|(booking, _)| *booking));
        } else if !running.loss.is_reported {
            // Its user has been told of the first start.
            let walltime = left_of(enter.walltime, saved);
            let runtime = left_of(enter.runtime, saved);
            let losses = enter.losses.saturating_add(1);
            let enter = Enter { walltime, runtime, losses, reports_start: false, ..enter };
            remedy.lost.push(Submission { sender, origin, enter });
        }
    }

    /// Takes a running task off its processors before its end.
    pub(super) fn take_off_processors(&mut self, now: Time, task: TaskId) -> Option<Runs> {
        let runs = self.running.remove(&task)?;
        if runs.is_at_desk {
            self.desk.end_job(now, task);
        }
        for (booking, procs) in &runs.within {
            if let Some(booked) = self.booked.get_mut(booking) {
                booked.used -= procs;
                let part = Part { procs: *procs, start: now, span: runs.until.since(now) };
                booked.worked = booked.worked.saturating_sub(part.area());
                booked.worth = booked.worth.saturating_sub(self.desk.terms().tariff.weight(&part));
                self.freed.push(*booking);
            }
        }
        Some(runs)
    }

    pub(super) fn receive_down_nodes(&mut self, down: &[Expected]) {
        if let Some(remedy) = &mut self.remedy {
            remedy.down = down.to_vec();
            remedy.news = Some(down.to_vec());
        }
    }

    /// Handles the changes caused by nodes that have failed or returned.
    pub(super) fn handle_outages(&mut self, now: Time, orders: &mut Vec<SiteOrder>) {
        let Some(remedy) = &mut self.remedy else { return };
        let Some(down) = remedy.news.take() else { return };
        let mut lost = std::mem::take(&mut remedy.lost);
        let is_first = remedy.attempts.are_first();
        let broken = std::mem::take(&mut remedy.broken);
        self.desk.are_down(now, &down);
        let mut waiting = Vec::new();
        for booking in broken {
            if self.booked.contains_key(&booking) {
                waiting.extend(self.revoke(now, booking, orders));
            }
        }
        while let Some(next) = self.desk.yields(|booking| match self.guests.in_use(booking) {
            Some(procs) => procs,
            None => self.booked.get(&booking).map_or(0, |booked| booked.used),
        }) {
            match next {
                Yields::Booking(booking) if self.guests.in_use(booking).is_some() => {
                    self.guests.forget(booking);
                    self.desk.give_up(now, booking);
                }
                Yields::Hold(hold) => {
                    self.desk.drop_hold(hold);
                    self.log_fate(hold, HoldFate::Broken, orders);
                }
                Yields::Booking(booking) => waiting.extend(self.handle_no_room(now, booking, orders)),
            }
        }
        // No task can be planned before all parts fit.
        waiting.into_iter().for_each(|task| self.start_within(now, task, orders));
        if is_first {
            // The last one to join is then the first of the queue.
            lost.reverse();
        }
        let joins = if is_first { Joins::First } else { Joins::Last };
        for submission in lost {
            self.start_again(now, submission, joins, orders);
        }
    }

    /// Handles a booking without room at its time. Returns the tasks that wait for it.
    fn handle_no_room(&mut self, now: Time, booking: BookingId, orders: &mut Vec<SiteOrder>) -> Vec<TaskId> {
        if self.booked.get(&booking).is_some_and(Booked::has_served) {
            return self.end_served_leg(booking, orders);
        }
        let recovery = &self.remedy.as_ref().expect(REMEDY).recovery;
        let Some(receipt) = self.desk.postpone(booking, recovery.bookings) else {
            return self.revoke(now, booking, orders);
        };
        let booked = self.booked.get_mut(&booking).expect("a booking that gives way is known");
        booked.part = receipt.part;
        let user = booked.user;
        let job = booked.job;
        let waiting = booked.tasks.clone();
        orders.push(SiteOrder::Log(Record::Postponed { receipt }));
        orders.push(SiteOrder::Send(user, Message::Postponed(Postponed { job, receipt })));
        waiting
    }

    /// Ends a leg whose task has ended. Its promise is kept.
    fn end_served_leg(&mut self, booking: BookingId, orders: &mut Vec<SiteOrder>) -> Vec<TaskId> {
        self.desk.end_booking(booking);
        let booked = self.booked.remove(&booking).expect("a booking that ends early is known");
        orders.push(SiteOrder::Log(Record::Elapsed { booking, used: booked.worked }));
        booked.tasks
    }

    /// Revokes a booking and returns the tasks that wait for it. Tasks that run in it continue where they are.
    fn revoke(&mut self, now: Time, booking: BookingId, orders: &mut Vec<SiteOrder>) -> Vec<TaskId> {
        let Booked { user, job, part, worked, worth, tasks, .. } =
            self.booked.remove(&booking).expect("a booking that is revoked is known");
        let mut unused = Area::ZERO;
        let mut worth = worth;
        for (task, runs) in &mut self.running {
            let Some(place) = runs.within.iter().position(|(its, _)| *its == booking) else { continue };
            let (_, procs) = runs.within.remove(place);
            let rest = Part { procs, start: now, span: runs.until.since(now) };
            unused += rest.area();
            worth = worth.saturating_sub(self.desk.terms().tariff.weight(&rest));
            runs.is_at_desk = true;
            self.desk.adopt(*task, procs, part.end());
        }
        let used = worked.saturating_sub(unused);
        let paid = Tariff::cost_of_weight(worth);
        let receipt = self.desk.revoke(booking, paid);
        let recovery = &self.remedy.as_ref().expect(REMEDY).recovery;
        let compensation = recovery.compensation(receipt.total().saturating_sub(paid));
        orders.push(SiteOrder::Log(Record::Revoked { booking, used, paid, compensation }));
        orders.push(SiteOrder::Send(user, Message::Revoked(Revoked { job, booking })));
        tasks
    }

    /// Starts a lost task again: in its bookings, if its rest fits there, or through the queue.
    fn start_again(&mut self, now: Time, submission: Submission, joins: Joins, orders: &mut Vec<SiteOrder>) {
        let Submission { sender, enter, .. } = &submission;
        let task = enter.task;
        if enter.within.is_empty() || !self.fits(now, *sender, enter) {
            return self.queue(now, submission, joins);
        }
        self.wait_within(submission);
        self.start_within(now, task, orders);
    }
}

const REMEDY: &str = "where nodes fail there is a remedy";
