//! What somebody at the hub has booked at a site, and how far its tasks have got: the half of the
//! conversation (`Book`, `Provided`, `Hold`, `Recall`, `Release`) that is the same whoever plans there.
//!
//! Where no node fails a booked task is given to the site at once, to start at its time. Where nodes fail it starts as
//! soon after that as all of its nodes are up and there is room for it, in what is left of its time; and one that is
//! lost keeps its nodes until whoever booked them has heard of it: he says when it starts again, or gives them back.

use std::collections::{BTreeMap, BTreeSet};

use super::manager::{Loss, On, Start, rank};
use super::tasks::Tasks;
use crate::grid::{NodeSet, Reserved, TaskId};
use crate::kernel::ActorId;
use crate::protocol::{Book, Hold};
use crate::time::{Span, Time};

/// What is booked for tasks that have not ended.
#[derive(Default)]
pub struct Bookings {
    all: BTreeMap<TaskId, Booking>,
    /// Those that start as soon as they can, where nodes fail, by their times.
    ready: BTreeSet<(Time, TaskId)>,
    /// Whether the time of any of them has come.
    is_late: bool,
    /// When the next one may start, as far as is known.
    next: Option<Time>,
}

pub struct Booking {
    pub giver: ActorId,
    pub held: Reserved,
    /// When its task is to start.
    start: Time,
    stage: Stage,
}

/// How far a booked task has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing runs on its nodes before its input is there. Then it runs for so long, as it does where it is ready.
    AwaitsInput(Span),
    Ready(Span),
    /// The site has it.
    Begun,
    Lost,
}

impl Stage {
    /// Where nodes fail nothing is settled before it starts.
    pub fn once_ready(runtime: Span, fails: bool) -> Stage {
        if fails { Stage::Ready(runtime) } else { Stage::Begun }
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

    /// Whether some of these nodes are booked for some of that time.
    pub fn meets(&self, wanted: &Reserved) -> bool {
        self.all.values().any(|booking| booking.held.meets(wanted))
    }

    /// All that is booked for some of that time.
    pub fn over(&self, from: Time, until: Time) -> NodeSet {
        Reserved::over(self.all.values().map(|booking| &booking.held), from, until)
    }

    pub fn of(&self, giver: ActorId, task: TaskId) -> Option<&Booking> {
        self.all.get(&task).filter(|booking| booking.giver == giver)
    }

    /// What a booking would hold, if it makes sense at this site and its task is not here yet; whether there is room is
    /// another question.
    pub fn wanted(&self, now: Time, book: &Book, site: &Tasks) -> Option<Reserved> {
        let Book { task, start, ref nodes, walltime, runtime, .. } = *book;
        let held = Reserved { from: start, until: start + walltime, nodes: nodes.clone() };
        let is_here = nodes.runs().last().is_some_and(|last| last.1 < site.total());
        let makes_sense = start >= now && start < held.until && held.until < Time::NEVER && !runtime.is_zero();
        let known = self.has(task) || site.of(task).is_some();
        (is_here && makes_sense && !known).then_some(held)
    }

    pub fn add(&mut self, task: TaskId, giver: ActorId, held: Reserved, stage: Stage) -> &Booking {
        let start = held.from;
        if let Stage::Ready(_) = stage {
            self.ready.insert((start, task));
        }
        self.all.entry(task).insert_entry(Booking { giver, held, start, stage }).into_mut()
    }

    pub fn remove(&mut self, task: TaskId) -> Option<Booking> {
        let booking = self.all.remove(&task)?;
        self.ready.remove(&(booking.start, task));
        Some(booking)
    }

    /// The input of a task is there, which has got to that stage now: the booking, and how long it runs, if it has
    /// waited for it.
    pub fn provide(&mut self, giver: ActorId, task: TaskId, fails: bool) -> Option<(&Booking, Span)> {
        let booking = self.all.get_mut(&task).filter(|booking| booking.giver == giver)?;
        let Stage::AwaitsInput(runtime) = booking.stage else { return None };
        booking.stage = Stage::once_ready(runtime, fails);
        if let Stage::Ready(_) = booking.stage {
            self.ready.insert((booking.start, task));
        }
        Some((booking, runtime))
    }

    /// Whether a task was booked that has been lost now.
    pub fn lose(&mut self, task: TaskId) -> bool {
        let lost = self.all.get_mut(&task);
        lost.map(|booking| booking.stage = Stage::Lost).is_some()
    }

    /// A task that was lost starts again then, in what is left of its time.
    pub fn hold(&mut self, now: Time, giver: ActorId, hold: &Hold) {
        let Hold { task, start, nodes, runtime, walltime, .. } = hold;
        let Some(booking) = self.all.get_mut(task).filter(|booking| booking.giver == giver) else { return };
        let held = &booking.held;
        let is_its = *start >= now.max(held.from) && *start + *walltime == held.until && *nodes == held.nodes;
        if booking.is_lost() && is_its && !walltime.is_zero() && !runtime.is_zero() {
            (booking.start, booking.stage) = (*start, Stage::Ready(*runtime));
            self.ready.insert((*start, *task));
        }
    }

    /// Those whose time has come, and for which there is room now.
    pub fn can_start(&self, now: Time, has_room: impl Fn(TaskId, &Reserved) -> bool) -> Vec<TaskId> {
        let can_start = |task: &TaskId| {
            let held = &self.all[task].held;
            now < held.until && has_room(*task, held)
        };
        self.due(now).filter(can_start).collect()
    }

    /// One of them starts; this says what is done if a task on so many nodes is lost.
    pub fn start(&mut self, now: Time, task: TaskId, loss: impl Fn(u32) -> Loss) -> Start {
        let booking = self.all.get_mut(&task).expect("who starts has booked");
        self.ready.remove(&(booking.start, task));
        let Stage::Ready(runtime) = booking.stage else { unreachable!("who starts was ready to") };
        booking.stage = Stage::Begun;
        let loss = loss(booking.held.nodes.len());
        booking.begin(task, now, loss.stretched(runtime), loss)
    }

    /// All that can start now has; there is room for others from these times on. Whose time is over is left to his
    /// giver, who asks for him.
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

    /// Whether somebody's time has come who has not started.
    pub fn is_anybody_late(&self) -> bool {
        self.is_late
    }

    pub fn next(&self) -> Option<Time> {
        self.next
    }

    /// When the first of those ends at the soonest who have not started.
    pub fn soonest_end(&self, at: Time) -> Time {
        let mut soonest = Time::NEVER;
        for (start, task) in &self.ready {
            if *start >= soonest {
                break;
            }
            let booking = &self.all[task];
            if let (Stage::Ready(runtime), true) = (booking.stage, at < booking.held.until) {
                soonest = soonest.min((at.max(*start) + runtime).min(booking.held.until));
            }
        }
        soonest
    }
}

impl Booking {
    pub fn stage(&self) -> Stage {
        self.stage
    }

    pub fn is_lost(&self) -> bool {
        self.stage == Stage::Lost
    }

    /// Only its giver can take the task back, so its end is told at once.
    pub fn begin(&self, task: TaskId, at: Time, runtime: Span, loss: Loss) -> Start {
        let on = On::These(self.held.nodes.clone().into());
        let start = Start::whole(self.giver, task, at, on, runtime);
        Start { walltime: self.held.until.since(at), loss, rank: rank(task), ..start }
    }
}
