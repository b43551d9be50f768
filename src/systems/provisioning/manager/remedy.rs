//! What a site does about nodes that fail. Who was on them starts again, in what is left of his bookings if he can end
//! there, or else from the queue; and what has been booked and has no room any more is postponed, or taken from its
//! user.
//!
//! All of that happens once it has been heard what is down, and before anything else of the instant: whoever claims
//! something then, or enters a task, meets the site as it is.

use super::guests::Origin;
use super::{Booked, FrontDesk, Runs, Submission};
use crate::grid::{Area, BookingId, Expected, Killed, NodeSet, Recovery, Reserved, TaskId};
use crate::protocol::{Enter, HoldFate, Message, Postponed, Record, Revoked};
use crate::roles::site::{Attempts, Loss, Order, Running, left_of};
use crate::systems::Fails;
use crate::systems::provisioning::desk::{Joins, Yields};
use crate::time::{Span, Time};

/// The remedies of one site.
pub(super) struct Remedy {
    /// For users, and for what services have given.
    attempts: Attempts,
    of_guests: Attempts,
    recovery: Recovery,
    /// What is down.
    down: Vec<Expected>,
    /// The same, if that has been heard in this instant.
    news: Option<Vec<Expected>>,
    /// Who has been lost in this instant and comes again.
    lost: Vec<Submission>,
    /// The bookings of those that do not, as others elsewhere are of no use without them.
    broken: Vec<BookingId>,
}

impl Remedy {
    /// At a site with so many processors. Users have nobody to go back to, so `back` is to the head of the queue.
    pub fn new(mut fails: Fails, procs: u32) -> Remedy {
        let of_guests = fails.attempts(procs);
        if fails.recovery.killed == Killed::Back {
            fails.recovery.killed = Killed::Head;
        }
        let attempts = fails.attempts(procs);
        let (recovery, down) = (fails.recovery, Vec::new());
        Remedy { attempts, of_guests, recovery, down, news: None, lost: Vec::new(), broken: Vec::new() }
    }

    pub fn are_up(&self, nodes: &NodeSet) -> bool {
        !self.down.iter().any(|down| down.nodes.meets(nodes))
    }

    /// Whether all that is down of some nodes is expected back before they are wanted.
    pub fn will_be_up(&self, wanted: &Reserved) -> bool {
        !self.down_at(wanted.from).meets(&wanted.nodes)
    }

    /// What is down and not expected back by then.
    pub fn down_at(&self, time: Time) -> NodeSet {
        let mut nodes = NodeSet::default();
        self.down.iter().filter(|down| time < down.back).for_each(|down| nodes.unite(&down.nodes));
        nodes
    }

    /// What was booked for a guest starts on so many nodes: his giver hears of his loss.
    pub fn starts_booked(&self, nodes: u32) -> Loss {
        self.of_guests.starts_for_giver(nodes)
    }
}

/// Whoever waits on his processors until he is to work saves nothing, nor does a leg, which does not come again.
fn saves(enter: &Enter) -> bool {
    enter.not_before == Time::ZERO && !enter.is_leg()
}

impl Booked {
    /// Whether it is a leg, and its task has ended.
    fn has_served(&self) -> bool {
        self.is_leg && self.used == 0 && !self.worked.is_zero()
    }
}

impl FrontDesk {
    /// How long a task takes, and how long it asks for, with its checkpoints if it makes any.
    pub(super) fn stretched(&self, enter: &Enter) -> (Span, Span) {
        let stretched = |span| match &self.remedy {
            Some(remedy) if saves(enter) => remedy.attempts.stretched(span, enter.procs),
            _ => span,
        };
        (stretched(enter.runtime), stretched(enter.walltime))
    }

    /// How long a task has its processors, beside what it waits on them: at its requested end it is killed.
    pub(super) fn lasts(&self, enter: &Enter) -> Span {
        let (runtime, walltime) = self.stretched(enter);
        runtime.min(walltime)
    }

    /// A task starts; what there is to know of it in case it is lost.
    pub(super) fn risks(&self, origin: Origin, enter: &Enter) -> Loss {
        let Some(remedy) = &self.remedy else { return Loss::default() };
        let attempts = if origin == Origin::User { &remedy.attempts } else { &remedy.of_guests };
        let loss = attempts.starts(enter.losses, enter.procs);
        let is_told = (loss.is_told || origin == Origin::Planner) && !enter.is_leg();
        Loss { saves: loss.saves.filter(|_| saves(enter)), is_told }
    }

    pub(super) fn lose(&mut self, now: Time, running: &Running, saved: Span) {
        let task = running.task;
        let Some(Runs { is_leg, again, .. }) = self.take_off(now, task) else { return };
        let Some((remedy, Submission { giver, origin, enter })) = self.remedy.as_mut().zip(again) else { return };
        if is_leg {
            remedy.broken.extend(enter.within.iter().map(|(booking, _)| *booking));
        } else if !running.loss.is_told {
            // Its user has been told once that it started.
            let (walltime, runtime) = (left_of(enter.walltime, saved), left_of(enter.runtime, saved));
            let losses = enter.losses.saturating_add(1);
            let enter = Enter { walltime, runtime, losses, tells: false, ..enter };
            remedy.lost.push(Submission { giver, origin, enter });
        }
    }

    /// Takes a running task off its processors before its end.
    pub(super) fn take_off(&mut self, now: Time, task: TaskId) -> Option<Runs> {
        let runs = self.running.remove(&task)?;
        if runs.is_at_desk {
            self.desk.ended(now, task);
        }
        for (booking, procs) in &runs.within {
            if let Some(booked) = self.booked.get_mut(booking) {
                booked.used -= procs;
                booked.worked = booked.worked.saturating_sub(Area::of(*procs, runs.until.since(now)));
                self.freed.push(*booking);
            }
        }
        Some(runs)
    }

    pub(super) fn hear_of_nodes(&mut self, down: &[Expected]) {
        if let Some(remedy) = &mut self.remedy {
            remedy.down = down.to_vec();
            remedy.news = Some(down.to_vec());
        }
    }

    /// Sees to what nodes that have failed, or have come back, change.
    pub(super) fn mend(&mut self, now: Time, orders: &mut Vec<Order>) {
        let Some(remedy) = &mut self.remedy else { return };
        let Some(down) = remedy.news.take() else { return };
        let (mut lost, is_first) = (std::mem::take(&mut remedy.lost), remedy.attempts.are_first());
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
                    self.settle(hold, HoldFate::Broken, orders);
                }
                Yields::Booking(booking) => waiting.extend(self.give_way(now, booking, orders)),
            }
        }
        // Nobody can be planned for before everything fits.
        waiting.into_iter().for_each(|task| self.start_within(now, task, orders));
        if is_first {
            // The last of them is then the first of all.
            lost.reverse();
        }
        let joins = if is_first { Joins::First } else { Joins::Last };
        for submission in lost {
            self.come_again(now, submission, joins, orders);
        }
    }

    /// A booking has no room at its time; says who waits for it.
    fn give_way(&mut self, now: Time, booking: BookingId, orders: &mut Vec<Order>) -> Vec<TaskId> {
        if self.booked.get(&booking).is_some_and(Booked::has_served) {
            return self.end_early(booking, orders);
        }
        let recovery = &self.remedy.as_ref().expect(REMEDY).recovery;
        let Some(receipt) = self.desk.postpone(booking, recovery.bookings) else {
            return self.revoke(now, booking, orders);
        };
        let booked = self.booked.get_mut(&booking).expect("who has booked is known");
        booked.part = receipt.part;
        let (user, job, waiting) = (booked.user, booked.job, booked.tasks.clone());
        orders.push(Order::Note(Record::Postponed { receipt }));
        orders.push(Order::Say(user, Message::Postponed(Postponed { job, receipt })));
        waiting
    }

    /// A leg whose task has ended keeps its promise.
    fn end_early(&mut self, booking: BookingId, orders: &mut Vec<Order>) -> Vec<TaskId> {
        self.desk.end_booking(booking);
        let booked = self.booked.remove(&booking).expect("who has booked is known");
        orders.push(Order::Note(Record::Elapsed { booking, used: booked.worked }));
        booked.tasks
    }

    /// Takes a booking from its user; says who waits for it. What runs in it goes on where it is.
    fn revoke(&mut self, now: Time, booking: BookingId, orders: &mut Vec<Order>) -> Vec<TaskId> {
        let Booked { user, job, part, worked, tasks, .. } =
            self.booked.remove(&booking).expect("who has booked is known");
        let mut unused = Area::ZERO;
        for (task, runs) in &mut self.running {
            let Some(place) = runs.within.iter().position(|(its, _)| *its == booking) else { continue };
            let (_, procs) = runs.within.remove(place);
            unused += Area::of(procs, runs.until.since(now));
            runs.is_at_desk = true;
            self.desk.adopt(*task, procs, part.end());
        }
        let used = worked.saturating_sub(unused);
        let (receipt, paid) = self.desk.revoke(booking, used);
        let recovery = &self.remedy.as_ref().expect(REMEDY).recovery;
        let compensation = recovery.compensation(receipt.total().saturating_sub(paid));
        orders.push(Order::Note(Record::Revoked { booking, used, paid, compensation }));
        orders.push(Order::Say(user, Message::Revoked(Revoked { job, booking })));
        tasks
    }

    /// A task that was lost: into its bookings, if what is left of it fits there, or into the queue.
    fn come_again(&mut self, now: Time, submission: Submission, joins: Joins, orders: &mut Vec<Order>) {
        let Submission { giver, enter, .. } = &submission;
        let task = enter.task;
        if enter.within.is_empty() || !self.fits(now, *giver, enter) {
            return self.queue(now, submission, joins);
        }
        self.wait_within(submission);
        self.start_within(now, task, orders);
    }
}

const REMEDY: &str = "where nodes fail there is a remedy";
