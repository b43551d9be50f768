//! A place runs part of a run's actors: all of them inline, the router's at the hub, a site's or a user's at a leaf.
//!
//! The order of all events is `(stamp, receiver, sender, sender's number)`: nothing in it depends on where an actor
//! lives or when a frame arrives. Effects are strictly later than their causes, so the batches of two actors at one
//! stamp are independent, and a place may run its part of a stamp without knowing the others'.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::actor::Action;
use super::agenda::{Agenda, Pending};
use super::{Actor, ActorId, Breach, Cause, Entry, Event, Message, Outbox};
use crate::time::{Span, Stamp, Time};

pub type BoxedActor<M, R> = Box<dyn Actor<M, R> + Send>;

/// Steps of one instant at most. A longer exchange without latency never ends.
pub const STEPS_MAX: u32 = 1_000_000;

/// A message in transit, with everything that determines its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope<M> {
    pub arrival: Stamp,
    pub from: ActorId,
    pub to: ActorId,
    pub number: u64,
    pub message: M,
}

/// Latency of each actor to the hub, by actor. Between two actors both latencies add up; a message to itself takes
/// none.
pub type Latencies = Arc<[Span]>;

pub struct Place<M, R> {
    residents: Vec<Option<Resident<M, R>>>,
    latencies: Latencies,
    agenda: Agenda<M>,
    floors: Floors,
    /// Messages for actors that live elsewhere, in the order of sending.
    pub(super) leaving: Vec<Envelope<M>>,
    /// Records in log order.
    pub(super) log: Vec<Entry<R>>,
    outbox: Outbox<M, R>,
    batch: Vec<Event<M>>,
    events: u64,
    now: Stamp,
}

struct Resident<M, R> {
    actor: BoxedActor<M, R>,
    next_number: u64,
}

/// Earliest stamps at which pending events could make an actor send. Maintained only on leaves.
#[derive(Default)]
struct Floors {
    kept: bool,
    /// (floor, stamp of the pending event); an entry is stale once its event has run.
    heap: BinaryHeap<Reverse<(Stamp, Stamp)>>,
}

impl<M: Message, R> Place<M, R> {
    /// A place with these actors, out of as many as there are latencies. Each begins with [`Cause::Start`].
    pub fn new(actors: Vec<(ActorId, BoxedActor<M, R>)>, latencies: Latencies) -> Place<M, R> {
        Place::with_floors(actors, latencies, false)
    }

    pub(super) fn with_floors(
        actors: Vec<(ActorId, BoxedActor<M, R>)>,
        latencies: Latencies,
        kept: bool,
    ) -> Place<M, R> {
        let mut place = Place {
            residents: latencies.iter().map(|_| None).collect(),
            latencies,
            agenda: Agenda::new(),
            floors: Floors { kept, heap: BinaryHeap::new() },
            leaving: Vec::new(),
            log: Vec::new(),
            outbox: Outbox::new(),
            batch: Vec::new(),
            events: 0,
            now: Stamp::ZERO,
        };
        for (id, actor) in actors {
            place.residents[id.index()] = Some(Resident { actor, next_number: 1 });
            let stamp = Stamp::ZERO;
            place.push(Pending { stamp, to: id, from: id, number: 0, floor: stamp, cause: Cause::Start });
        }
        place
    }

    /// Stamp of the next event here.
    pub fn next(&self) -> Option<Stamp> {
        self.agenda.next().map(|(stamp, _)| stamp)
    }

    /// Stamp of the last batch that ran.
    pub fn now(&self) -> Stamp {
        self.now
    }

    /// Events handled here.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Takes the records since the last call, in log order.
    pub fn take_log(&mut self) -> Vec<Entry<R>> {
        std::mem::take(&mut self.log)
    }

    /// Records since the last [`Place::clear_log`], in log order.
    pub fn log(&self) -> &[Entry<R>] {
        &self.log
    }

    /// Drops the records and keeps the allocation.
    pub fn clear_log(&mut self) {
        self.log.clear();
    }

    /// Runs up to `batches` batches, all strictly before `bound`. True if there were that many.
    pub fn run_before(&mut self, bound: Stamp, batches: usize) -> Result<bool, Breach> {
        for _ in 0..batches {
            match self.next() {
                Some(next) if next < bound => self.step()?,
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    pub(super) fn lives_here(&self, id: ActorId) -> bool {
        self.residents.get(id.index()).is_some_and(Option::is_some)
    }

    pub(super) fn latency(&self, from: ActorId, to: ActorId) -> Span {
        if from == to { Span::ZERO } else { self.latencies[from.index()] + self.latencies[to.index()] }
    }

    /// Accepts a message from elsewhere for an actor that lives here.
    pub(super) fn accept(&mut self, envelope: Envelope<M>) {
        let Envelope { arrival, from, to, number, message } = envelope;
        self.push(Pending { stamp: arrival, to, from, number, floor: arrival, cause: Cause::Message(message) });
    }

    /// Earliest stamp at which any actor here could send because of pending events, given that everything before `done`
    /// has run.
    pub(super) fn floor(&mut self, done: Stamp) -> Stamp {
        while let Some(Reverse((floor, runs))) = self.floors.heap.peek() {
            if *runs >= done {
                return *floor;
            }
            self.floors.heap.pop();
        }
        Stamp::NEVER
    }

    /// Runs the next batch: all events of one actor at one stamp.
    pub(super) fn step(&mut self) -> Result<(), Breach> {
        let Some(first) = self.agenda.pop() else { return Ok(()) };
        let (now, to) = (first.stamp, first.to);
        if now.step > STEPS_MAX {
            return Err(Breach::Livelock { actor: to, stamp: now, cause: first.name() });
        }

        let mut earliest = first.floor();
        let cause = first.name();
        self.batch.push(Event { from: first.from, cause: first.cause });
        while self.agenda.next() == Some((now, to))
            && let Some(next) = self.agenda.pop()
        {
            earliest = earliest.min(next.floor());
            self.batch.push(Event { from: next.from, cause: next.cause });
        }

        self.now = now;
        self.events += self.batch.len() as u64;
        let resident = self.residents[to.index()].as_mut().expect("only actors that live here have anything pending");
        self.outbox.begin(now);
        resident.actor.handle(now, &mut self.batch, &mut self.outbox);
        self.batch.clear();
        if !self.outbox.records.is_empty() {
            self.log.extend(self.outbox.records.drain(..).map(|record| Entry { stamp: now, actor: to, record }));
        }
        if self.outbox.actions.is_empty() {
            return Ok(());
        }
        self.carry_out(to, earliest, cause)
    }

    /// Numbers and delivers the actions of `actor`, none of which may take effect before `earliest`.
    fn carry_out(&mut self, actor: ActorId, earliest: Stamp, cause: &'static str) -> Result<(), Breach> {
        let mut actions = std::mem::take(&mut self.outbox.actions);
        let first = self.take_numbers(actor, actions.len());
        for (number, action) in (first..).zip(actions.drain(..)) {
            match action {
                Action::Send { to, sent, message } => {
                    let arrival = sent.after(self.latency(actor, to));
                    if arrival.time > Time::LATEST {
                        return Err(Breach::Late { actor, what: message.name(), due: arrival });
                    }
                    if sent < earliest {
                        let did = message.name();
                        return Err(Breach::Promise { actor, cause, promised: earliest, did, at: sent });
                    }
                    let envelope = Envelope { arrival, from: actor, to, number, message };
                    if self.lives_here(to) { self.accept(envelope) } else { self.leaving.push(envelope) }
                }
                Action::Wake { at, token, floor } => {
                    if at.time > Time::LATEST {
                        return Err(Breach::Late { actor, what: "a timer", due: at });
                    }
                    if floor < earliest {
                        return Err(Breach::Promise { actor, cause, promised: earliest, did: "a timer", at: floor });
                    }
                    self.push(Pending { stamp: at, to: actor, from: actor, number, floor, cause: Cause::Timer(token) });
                }
            }
        }
        self.outbox.actions = actions;
        Ok(())
    }

    /// Reserves `count` consecutive numbers of the actor and returns the first.
    fn take_numbers(&mut self, actor: ActorId, count: usize) -> u64 {
        let resident = self.residents[actor.index()].as_mut().expect("an actor that acts lives here");
        let first = resident.next_number;
        resident.next_number += count as u64;
        first
    }

    fn push(&mut self, pending: Pending<M>) {
        if self.floors.kept {
            let floor = pending.floor();
            if !floor.is_never() {
                self.floors.heap.push(Reverse((floor, pending.stamp)));
            }
        }
        self.agenda.push(pending);
    }
}
