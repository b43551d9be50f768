//! Actors, what happens to them, and what they may do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::{Span, Stamp, Time};

/// A state machine that takes part in a run. It never waits, never reads a clock, never touches the world.
pub trait Actor<M, R> {
    /// Takes everything that falls due for this actor at one stamp, ordered by (sender, sender's sequence number).
    /// The first batch of every actor holds [`Cause::Start`] and comes at stamp zero.
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<M>>, out: &mut Outbox<M, R>);
}

/// An actor's place in the topology's order; the same in every layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ActorId(pub u32);

impl ActorId {
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "actor {}", self.0)
    }
}

/// One thing that happened to an actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<M> {
    /// Who caused it; the actor itself for a timer and for the start.
    pub from: ActorId,
    pub cause: Cause<M>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cause<M> {
    /// The run begins.
    Start,
    Message(M),
    /// A timer that the actor set, with the token it gave.
    Timer(u64),
}

/// The promise that comes with each kind of message: what its receiver may do about it, and how soon.
///
/// The hub uses it to run ahead without waiting for an answer, so a receiver that reacts sooner than promised
/// has broken the contract and stops the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The receiver may send something at once.
    Now,
    /// Nothing that the receiver sends because of this message leaves it before this long after the arrival.
    After(Span),
    /// The receiver never sends anything because of this message.
    Never,
}

impl Reaction {
    /// The earliest stamp at which the receiver could send something because of a message that arrives at `arrival`.
    pub fn earliest(self, arrival: Stamp) -> Stamp {
        match self {
            Reaction::Now => arrival,
            Reaction::After(span) if span.is_zero() => arrival,
            Reaction::After(span) => arrival.after(span),
            Reaction::Never => Stamp::NEVER,
        }
    }
}

pub trait Message {
    fn reaction(&self) -> Reaction;

    /// A short name for reports of stalls and breaches.
    fn name(&self) -> &'static str;
}

/// Where an actor writes what it does in answer to a batch.
#[derive(Debug)]
pub struct Outbox<M, R> {
    now: Stamp,
    pub(super) actions: Vec<Action<M>>,
    pub(super) records: Vec<R>,
}

/// Something an actor asked for; the kernel numbers and delivers it.
#[derive(Debug)]
pub(super) enum Action<M> {
    Send {
        to: ActorId,
        sent: Stamp,
        message: M,
    },
    /// Nothing leaves because of it before the floor.
    Wake {
        at: Stamp,
        token: u64,
        floor: Stamp,
    },
}

impl<M, R> Outbox<M, R> {
    pub(super) fn new() -> Outbox<M, R> {
        Outbox { now: Stamp::ZERO, actions: Vec::new(), records: Vec::new() }
    }

    pub(super) fn begin(&mut self, now: Stamp) {
        self.now = now;
    }

    /// Sends a message now; it arrives after the latency between the two actors.
    pub fn send(&mut self, to: ActorId, message: M) {
        self.actions.push(Action::Send { to, sent: self.now, message });
    }

    /// Sends now what would otherwise be sent at a later time, once nothing can change it any more. The receiver
    /// cannot tell the difference; the hub can go on without waiting for it.
    pub fn send_at(&mut self, time: Time, to: ActorId, message: M) {
        assert!(time >= self.now.time, "a message sent at {time} lies in the past of {}", self.now);
        let sent = if time == self.now.time { self.now } else { Stamp::at(time) };
        self.actions.push(Action::Send { to, sent, message });
    }

    /// Hands this actor [`Cause::Timer`] at that time (at the next step, if it is now).
    pub fn wake_at(&mut self, time: Time, token: u64) {
        self.wake(time, token, None);
    }

    /// Like [`Outbox::wake_at`], with the promise that the actor will send nothing and set none but quiet timers in
    /// answer, so that nobody has to wait for it.
    pub fn wake_quietly_at(&mut self, time: Time, token: u64) {
        self.wake(time, token, Some(Stamp::NEVER));
    }

    /// Like [`Outbox::wake_at`], with the promise that nothing leaves this actor because of the timer before `floor`.
    pub fn wake_promising(&mut self, time: Time, floor: Time, token: u64) {
        let floor = if floor == Time::NEVER { Stamp::NEVER } else { Stamp::at(floor) };
        self.wake(time, token, Some(floor));
    }

    /// Writes one record to the run's log.
    pub fn log(&mut self, record: R) {
        self.records.push(record);
    }

    fn wake(&mut self, time: Time, token: u64, floor: Option<Stamp>) {
        assert!(time >= self.now.time, "a timer for {time} lies in the past of {}", self.now);
        let at = if time == self.now.time { self.now.after(Span::ZERO) } else { Stamp::at(time) };
        let floor = floor.map_or(at, |floor| floor.max(at));
        self.actions.push(Action::Wake { at, token, floor });
    }
}
