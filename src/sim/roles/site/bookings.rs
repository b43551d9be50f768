//! Bookings of an actor at the hub at a site, and the stages of their tasks: the half of the protocol (`Book`,
//! `Provided`, `Hold`, `Recall`, `Release`) that does not depend on the planner.
//!
//! Without failures a booked task is passed to the site at once, to start at its time. With failures it starts as soon
//! after that as all of its nodes are up and free, within the rest of its time; a lost one keeps its nodes until its
//! owner has learned of the loss and sends a new start, or releases the nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::manager::{Loss, On, Start, task_rank};
use super::tasks::Tasks;
use crate::grid::{NodeSet, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Book, Hold};
use crate::time::{Span, Time};

/// Bookings of tasks that have not ended.
#[derive(Default)]
pub struct Bookings {
    all: BTreeMap<TaskId, Booking>,
    /// Tasks that start as soon as possible, where nodes fail, by their times.
    ready: BTreeSet<(Time, TaskId)>,
    /// True if a task is past its start.
    is_late: bool,
    /// Next time at which a task may start, as far as known.
    next: Option<Time>,
}

pub struct Booking {
    pub sender: ActorId,
    pub held: Reserved,
    /// Start of its task.
    start: Time,
    stage: BookingStage,
}

/// Stage of a booked task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookingStage {
    /// The nodes stay empty until the input arrives. The span is the run time, as in `Ready`.
    AwaitsInput(Span),
    Ready(Span),
    /// The task has been passed to the site.
    Begun,
    Lost,
}

impl BookingStage {
    /// Stage of a task whose input has arrived. With failures nothing is settled before the start.
    pub fn once_ready(runtime: Span, fails: bool) -> BookingStage {
        if fails { BookingStage::Ready(runtime) } else { BookingStage::Begun }
    }
}

impl Bookings {
    pub fn has(&self, task: TaskId) -> bool {
        self.all.contains_key(&task)
    }

    pub fn all(&self) -> impl Iterator<Item = (TaskId, &Booking)> {
        self.all.iter().map(|(task, booking)| (*task, booking))
    }

    pub fn get(&self, task: TaskId) -> Option<&Booking> {
        self.all.get(&task)
    }

    /// True if some of these nodes are booked during some of that time.
    pub fn meets(&self, wanted: &Reserved) -> bool {
        self.all.values().any(|booking| booking.held.meets(wanted))
    }

    /// Nodes booked during some of that time.
    pub fn nodes_booked(&self, from: Time, until: Time) -> NodeSet {
        Reserved::nodes_within(self.all.values().map(|booking| &booking.held), from, until)
    }

    pub fn of(&self, sender: ActorId, task: TaskId) -> Option<&Booking> {
        self.all.get(&task).filter(|booking| booking.sender == sender)
    }

    /// Reservation that a booking asks for; None if it is invalid at this site or its task is already here. Does not
    /// check for room.
    pub fn wanted_reservation(&self, now: Time, book: &Book, site: &Tasks) -> Option<Reserved> {
        let Book { task, start, ref nodes, walltime, runtime, .. } = *book;
        let held = Reserved { from: start, until: start + walltime, nodes: nodes.clone() };
        let is_here = nodes.runs().last().is_some_and(|last| last.1 < site.total());
        let makes_sense = start >= now && start < held.until && held.until < Time::NEVER && !runtime.is_zero();
        let known = self.has(task) || site.of(task).is_some();
        (is_here && makes_sense && !known).then_some(held)
    }

    pub fn add(&mut self, task: TaskId, sender: ActorId, held: Reserved, stage: BookingStage) -> &Booking {
        let start = held.from;
        if let BookingStage::Ready(_) = stage {
            self.ready.insert((start, task));
        }
        self.all.entry(task).insert_entry(Booking { sender, held, start, stage }).into_mut()
    }

    pub fn remove(&mut self, task: TaskId) -> Option<Booking> {
        let booking = self.all.remove(&task)?;
        self.ready.remove(&(booking.start, task));
        Some(booking)
    }

    /// Notes the arrival of a task's input: returns the booking and the run time if the task waited for it.
    pub fn provide(&mut self, sender: ActorId, task: TaskId, fails: bool) -> Option<(&Booking, Span)> {
        let booking = self.all.get_mut(&task).filter(|booking| booking.sender == sender)?;
        let BookingStage::AwaitsInput(runtime) = booking.stage else { return None };
        booking.stage = BookingStage::once_ready(runtime, fails);
        if let BookingStage::Ready(_) = booking.stage {
            self.ready.insert((booking.start, task));
        }
        Some((booking, runtime))
    }

    /// Marks a booked task as lost; false if it is not booked.
    pub fn mark_lost(&mut self, task: TaskId) -> bool {
        let lost = self.all.get_mut(&task);
        lost.map(|booking| booking.stage = BookingStage::Lost).is_some()
    }

    /// Sets the new start of a lost task, within the rest of its time.
    pub fn hold(&mut self, now: Time, sender: ActorId, hold: &Hold) {
        let Hold { task, start, nodes, runtime, walltime, .. } = hold;
        let Some(booking) = self.all.get_mut(task).filter(|booking| booking.sender == sender) else { return };
        let held = &booking.held;
        let is_its = *start >= now.max(held.from) && *start + *walltime == held.until && *nodes == held.nodes;
        if booking.is_lost() && is_its && !walltime.is_zero() && !runtime.is_zero() {
            (booking.start, booking.stage) = (*start, BookingStage::Ready(*runtime));
            self.ready.insert((*start, *task));
        }
    }

    /// Tasks past their starts for which there is room now.
    pub fn can_start(&self, now: Time, has_room: impl Fn(TaskId, &Reserved) -> bool) -> Vec<TaskId> {
        self.due(now)
            .filter(|task| {
                let held = &self.all[task].held;
                now < held.until && has_room(*task, held)
            })
            .collect()
    }

    /// Starts one of them; `loss` is the treatment of a loss by number of nodes.
    pub fn start(&mut self, now: Time, task: TaskId, loss: impl Fn(u32) -> Loss) -> Start {
        let booking = self.all.get_mut(&task).expect("a task that starts is booked");
        self.ready.remove(&(booking.start, task));
        let BookingStage::Ready(runtime) = booking.stage else { unreachable!("a task that starts is ready") };
        booking.stage = BookingStage::Begun;
        let loss = loss(booking.held.nodes.len());
        booking.begin(task, now, loss.with_checkpoints(runtime), loss)
    }

    /// Computes the next start, after all possible starts of this instant; `has_room_from` is the time from which a
    /// late task has room. Bookings that are over are left to their owners, which ask for them.
    pub fn look_ahead(&mut self, now: Time, has_room_from: impl Fn(TaskId) -> Time) {
        let over: Vec<TaskId> = self.due(now).filter(|task| self.all[task].held.until <= now).collect();
        for task in over {
            self.ready.remove(&(self.all[&task].start, task));
        }
        let late: Vec<TaskId> = self.due(now).collect();
        let room = late.iter().map(|task| has_room_from(*task)).filter(|from| now < *from && *from < Time::NEVER);
        let coming = self.ready.iter().map(|(start, _)| *start).find(|start| *start > now);
        self.next = room.chain(coming).min();
        self.is_late = !late.is_empty();
    }

    fn due(&self, now: Time) -> impl Iterator<Item = TaskId> {
        self.ready.iter().take_while(move |(start, _)| *start <= now).map(|(_, task)| *task)
    }

    /// True if a task is past its start.
    pub fn is_anybody_late(&self) -> bool {
        self.is_late
    }

    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// Earliest possible end of the tasks that have not started.
    pub fn soonest_end(&self, at: Time) -> Time {
        let mut soonest = Time::NEVER;
        for (start, task) in &self.ready {
            if *start >= soonest {
                break;
            }
            let booking = &self.all[task];
            if let (BookingStage::Ready(runtime), true) = (booking.stage, at < booking.held.until) {
                soonest = soonest.min((at.max(*start) + runtime).min(booking.held.until));
            }
        }
        soonest
    }
}

impl Booking {
    pub fn stage(&self) -> BookingStage {
        self.stage
    }

    pub fn is_lost(&self) -> bool {
        self.stage == BookingStage::Lost
    }

    /// Only its owner can recall the task, so its end is reported at once.
    pub fn begin(&self, task: TaskId, at: Time, runtime: Span, loss: Loss) -> Start {
        let on = On::These(self.held.nodes.clone().into());
        let start = Start::on_whole_nodes(self.sender, task, at, on, runtime);
        Start { walltime: self.held.until.since(at), loss, rank: task_rank(task), ..start }
    }
}
