//! A place runs part of a run's actors: all of them inline, the router's at the hub, a site's or a user's at a leaf.
//!
//! The order of all events is `(stamp, receiver, sender, sender's number)`: nothing in it depends on where an actor
//! lives or when a frame arrives. Effects are strictly later than their causes, so the batches of two actors at one
//! stamp are independent, and a place may run its part of a stamp without knowing the others'.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::actor::Action;
use super::agenda::{Agenda, Pending};
use super::{Activity, Actor, ActorId, Breach, Cause, Contract, Entry, Event, Message, Outbox};
use crate::time::{Span, Stamp, Time};

pub type BoxedActor<M, R> = Box<dyn Actor<M, R> + Send>;

/// Steps of one instant at most. A longer exchange without latency never ends.
pub const STEPS_MAX: u32 = 1_000_000;

/// Position of the rank in the number of a message.
const RANK_SHIFT: u32 = 48;

/// A message in transit, with everything that determines its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope<M> {
    pub arrival: Stamp,
    pub from: ActorId,
    pub to: ActorId,
    /// Rank of the message in the upper 16 bits, and below it the number of the action of its sender.
    pub number: u64,
    pub message: M,
}

/// Latency of each actor to the hub, by actor. Between two actors both latencies add up; a message to itself takes
/// none.
pub type Latencies = Arc<[Span]>;

/// Some actors of a run with their pending events and the log that they write.
///
/// Inline, one place has all actors; else the [`Hub`](super::Hub) has one and each [`Leaf`](super::Leaf) another. It
/// runs batches up to a bound that its owner determines, puts messages for actors elsewhere aside for the owner to
/// send, and computes how early its actors can still send anything. The order of events does not depend on the division
/// of the actors among places.
pub struct Place<M, R> {
    residents: Vec<Option<Resident<M, R>>>,
    latencies: Latencies,
    /// State of each agenda, indexed by [`Track`].
    tracks: [TrackState<M, R>; 2],
    contract: Contract,
    floors: Floors,
    /// Messages for actors that live elsewhere, in the order of sending.
    pub(super) leaving: Vec<Envelope<M>>,
    outbox: Outbox<M, R>,
    batch: Vec<Event<M>>,
    /// Answers that the batch foretells, in its order.
    answers: VecDeque<Envelope<M>>,
    events: u64,
    activity: Arc<Activity>,
    /// Stamp before which no message from elsewhere arrives. Zero at a hub, where events have no order of their own.
    bound: Stamp,
}

/// The agenda that a pending event is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Track {
    Main,
    /// Messages of sources, if the contract names any: a hub handles them as soon as it has them.
    Ahead,
}

/// Pending events that are handled in order of their stamps, and the records of handling them.
struct TrackState<M, R> {
    agenda: Agenda<M>,
    /// Records in log order.
    log: Vec<Entry<R>>,
    /// Stamp of the last batch.
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
            tracks: [TrackState::new(), TrackState::new()],
            contract: Contract::default(),
            floors: Floors { kept, heap: BinaryHeap::new() },
            leaving: Vec::new(),
            outbox: Outbox::new(),
            batch: Vec::new(),
            answers: VecDeque::new(),
            events: 0,
            activity: Arc::default(),
            bound: Stamp::ZERO,
        };
        for (id, actor) in actors {
            place.residents[id.index()] = Some(Resident { actor, next_number: 1 });
            let stamp = Stamp::ZERO;
            place.push(Pending { stamp, to: id, from: id, number: 0, floor: stamp, cause: Cause::Start });
        }
        place
    }

    /// Checks this contract and, at a hub, handles messages of its sources ahead.
    pub(super) fn set_contract(&mut self, contract: Contract) {
        self.contract = contract;
    }

    /// Stamp of the next event here.
    pub fn next(&self) -> Option<Stamp> {
        self.next_in(Track::Main)
    }

    /// Stamp of the last batch that ran.
    pub fn now(&self) -> Stamp {
        self.now_in(Track::Main).max(self.now_in(Track::Ahead))
    }

    /// The batch that runs here, for threads that watch it.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Events handled here.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Takes the records since the last call, in log order.
    pub fn take_log(&mut self) -> Vec<Entry<R>> {
        self.take_log_of(Track::Main)
    }

    /// Records since the last [`Place::clear_log`], in log order.
    pub fn log(&self) -> &[Entry<R>] {
        &self.tracks[Track::Main as usize].log
    }

    /// Drops the records and keeps the allocation.
    pub fn clear_log(&mut self) {
        self.tracks[Track::Main as usize].log.clear();
    }

    /// Runs up to `batches` batches, all strictly before `bound`. True if there were that many, or if it pauses
    /// ([`Activity::pause_after_each_batch`]).
    pub fn run_before(&mut self, bound: Stamp, batches: usize) -> Result<bool, Breach> {
        self.bound = bound;
        for _ in 0..batches {
            match self.next() {
                Some(next) if next < bound => self.step(Track::Main)?,
                _ => return Ok(false),
            }
            if self.activity.pauses() {
                break;
            }
        }
        Ok(true)
    }

    pub(super) fn next_in(&self, track: Track) -> Option<Stamp> {
        self.tracks[track as usize].agenda.next().map(|(stamp, _)| stamp)
    }

    pub(super) fn now_in(&self, track: Track) -> Stamp {
        self.tracks[track as usize].now
    }

    pub(super) fn take_log_of(&mut self, track: Track) -> Vec<Entry<R>> {
        std::mem::take(&mut self.tracks[track as usize].log)
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

    /// Earliest stamp at which the receiver of a message could send anything in reaction, and the answer that the
    /// contract foretells (its number is zero). A foretold answer is the whole reaction, so then the stamp is never.
    pub(super) fn reaction_to(
        &self,
        arrival: Stamp,
        from: ActorId,
        to: ActorId,
        message: &M,
    ) -> (Stamp, Option<Envelope<M>>) {
        if self.contract.is_settled(from, to)
            && let Some((sent, message)) = message.foretold(arrival)
        {
            let arrival = sent.after(self.latency(to, from));
            if arrival.time <= Time::LATEST {
                return (Stamp::NEVER, Some(Envelope { arrival, from: to, to: from, number: 0, message }));
            }
        }
        (message.reaction().earliest(arrival), None)
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

    /// Runs the next batch of a track: all events of one actor at one stamp.
    pub(super) fn step(&mut self, track: Track) -> Result<(), Breach> {
        let Some(first) = self.tracks[track as usize].agenda.pop() else { return Ok(()) };
        let now = first.stamp;
        let to = first.to;
        if now.step > STEPS_MAX {
            return Err(Breach::Livelock { actor: to, stamp: now, cause: first.name() });
        }

        let cause = first.name();
        let mut earliest = self.add_to_batch(first);
        while self.tracks[track as usize].agenda.next() == Some((now, to))
            && let Some(next) = self.tracks[track as usize].agenda.pop()
        {
            earliest = earliest.min(self.add_to_batch(next));
        }
        if track == Track::Main && !self.contract.sources.is_empty() {
            // Only sources make actors at the hub send.
            earliest = Stamp::NEVER;
        }

        self.events += self.batch.len() as u64;
        let resident = self.residents[to.index()].as_mut().expect("only actors that live here have anything pending");
        let next = self.tracks[track as usize].agenda.next().map_or(Stamp::NEVER, |(stamp, _)| stamp);
        self.outbox.begin(now, next.min(self.bound).time);
        self.activity.begin(to, now);
        resident.actor.handle_batch(now, &mut self.batch, &mut self.outbox);
        self.activity.end();
        self.batch.clear();
        let track = &mut self.tracks[track as usize];
        track.now = now;
        if !self.outbox.records.is_empty() {
            track.log.extend(self.outbox.records.drain(..).map(|record| Entry { stamp: now, actor: to, record }));
        }
        if self.outbox.actions.is_empty() && self.answers.is_empty() {
            return Ok(());
        }
        self.carry_out(to, earliest, cause)
    }

    /// Appends an event to the batch, and its foretold answer to the answers. Returns the earliest stamp at which it
    /// could make its actor send anything else.
    fn add_to_batch(&mut self, event: Pending<M>) -> Stamp {
        let (floor, answer) = self.floor_of(&event);
        self.answers.extend(answer);
        self.batch.push(Event { from: event.from, cause: event.cause });
        floor
    }

    /// Earliest stamp at which an event could make its actor send anything, beside the answer that it foretells.
    fn floor_of(&self, event: &Pending<M>) -> (Stamp, Option<Envelope<M>>) {
        match &event.cause {
            Cause::Message(message) => self.reaction_to(event.stamp, event.from, event.to, message),
            Cause::Timer(_) | Cause::Start => (event.floor, None),
        }
    }

    /// Numbers and delivers the actions of `actor`, none of which may take effect before `earliest`, unless it is an
    /// answer that was foretold.
    fn carry_out(&mut self, actor: ActorId, earliest: Stamp, cause: &'static str) -> Result<(), Breach> {
        let mut actions = std::mem::take(&mut self.outbox.actions);
        let first = self.take_numbers(actor, actions.len());
        for (number, action) in (first..).zip(actions.drain(..)) {
            match action {
                Action::Send { to, sent, rank, message } => {
                    let arrival = sent.after(self.latency(actor, to));
                    if arrival.time > Time::LATEST {
                        return Err(Breach::Late { actor, what: message.name(), due: arrival });
                    }
                    let number = number | u64::from(rank) << RANK_SHIFT;
                    let envelope = Envelope { arrival, from: actor, to, number, message };
                    let was_foretold = self.answers.pop_front_if(|answer| answer.is_like(&envelope)).is_some();
                    if !was_foretold && sent < earliest {
                        let did = envelope.message.name();
                        return Err(Breach::Promise { actor, cause, promised: earliest, did, at: sent });
                    }
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
        match self.answers.front() {
            Some(foretold) => {
                Err(Breach::Answer { leaf: None, actor, foretold: Some(foretold.describe()), sent: None })
            }
            None => Ok(()),
        }
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
            let (floor, _) = self.floor_of(&pending);
            if !floor.is_never() {
                self.floors.heap.push(Reverse((floor, pending.stamp)));
            }
        }
        let track = if self.contract.is_source(pending.from) { Track::Ahead } else { Track::Main };
        self.tracks[track as usize].agenda.push(pending);
    }
}

impl<M, R> TrackState<M, R> {
    fn new() -> TrackState<M, R> {
        TrackState { agenda: Agenda::new(), log: Vec::new(), now: Stamp::ZERO }
    }
}

impl<M> Envelope<M> {
    /// Number of the action by which the message was sent; its sender's messages have ascending ones.
    pub(super) fn action_number(&self) -> u64 {
        self.number & ((1 << RANK_SHIFT) - 1)
    }
}

impl<M: Message> Envelope<M> {
    /// True if both carry the same message from and to the same actors at the same stamp.
    pub(super) fn is_like(&self, other: &Envelope<M>) -> bool {
        (self.arrival, self.from, self.to) == (other.arrival, other.from, other.to) && self.message == other.message
    }

    pub(super) fn describe(&self) -> String {
        format!("{:?} to arrive at [{}]", self.message, self.arrival)
    }
}
