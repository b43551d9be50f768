//! Actors, the events that they receive and the actions that they may take.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::{Span, Stamp, Time};

/// A state machine that takes part in a run. It never waits, reads a clock or does I/O.
pub trait Actor<M, R> {
    /// Handles all events of one stamp for this actor, ordered by (sender, sender's sequence number). The first batch
    /// of every actor holds [`Cause::Start`], at stamp zero.
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<M>>, out: &mut Outbox<M, R>);
}

/// Index of an actor in the topology's order; identical in every layout.
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

/// One event for an actor.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<M> {
    /// Sender; the actor itself for a timer and for the start.
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

/// Promise of a message: how soon its receiver may react to it.
///
/// The hub relies on it to run ahead without waiting for an answer, so a receiver that reacts sooner than promised
/// stops the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The receiver may send in the instant of the message.
    Now,
    /// Nothing that the receiver sends in reaction leaves it earlier than this long after the arrival.
    After(Span),
    /// Nothing that the receiver sends in reaction leaves it before this time.
    Until(Time),
    /// The receiver never sends anything in reaction.
    Never,
}

impl Reaction {
    /// Earliest stamp at which the receiver could send in reaction to a message that arrives at `arrival`.
    pub fn earliest(self, arrival: Stamp) -> Stamp {
        match self {
            Reaction::Now => arrival,
            Reaction::After(span) if span.is_zero() => arrival,
            Reaction::After(span) => arrival.after(span),
            Reaction::Until(Time::NEVER) | Reaction::Never => Stamp::NEVER,
            Reaction::Until(time) => arrival.max(Stamp::at(time)),
        }
    }
}

pub trait Message: Clone + PartialEq + fmt::Debug {
    fn reaction(&self) -> Reaction;

    /// A short name for reports of stalls and breaches.
    fn name(&self) -> &'static str;

    /// True if the sender expects its receiver to send something back. A source never sends such a message.
    fn wants_answer(&self) -> bool {
        false
    }

    /// The only thing that a receiver with settled answers ([`Contract::settled`]) sends in reaction to this message
    /// when it arrives at `arrival`: the stamp at which that leaves it, and the answer to the sender. None if the
    /// answer does not follow from the message.
    fn foretold(&self, _arrival: Stamp) -> Option<(Stamp, Self)> {
        None
    }
}

/// Facts about the actors of a run that are known beforehand, beside the reactions of messages. If they hold, they
/// change how long the hub waits, and nothing else.
///
/// The hub checks each message against them. It cannot check that messages of other actors leave the contents of what
/// the hub sends unchanged: a system states that of its service, and random grids test it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// The actors on whose messages all decisions at the hub depend, by actor: no other message makes an actor at the
    /// hub send anything, or changes what it sends. Empty if there is no such set.
    pub sources: Vec<bool>,
    /// The sender at the hub, by actor, whose messages the actor answers as these foretell, and to which it sends
    /// nothing else. Empty if there are no such actors.
    pub settled: Vec<Option<ActorId>>,
}

impl Contract {
    pub(super) fn is_source(&self, id: ActorId) -> bool {
        self.sources.get(id.index()).copied().unwrap_or_default()
    }

    /// True if messages of `from` to `to` foretell the answer.
    pub(super) fn is_settled(&self, from: ActorId, to: ActorId) -> bool {
        self.settled.get(to.index()).copied().flatten() == Some(from)
    }
}

/// Actions and records of an actor in reaction to one batch.
#[derive(Debug)]
pub struct Outbox<M, R> {
    now: Stamp,
    /// Time before which no event that is known elsewhere can reach the actor.
    horizon: Time,
    /// Rank of the next messages.
    rank: u16,
    pub(super) actions: Vec<Action<M>>,
    pub(super) records: Vec<R>,
}

/// An action of an actor; the kernel numbers and delivers it.
#[derive(Debug)]
pub(super) enum Action<M> {
    Send {
        to: ActorId,
        sent: Stamp,
        rank: u16,
        message: M,
    },
    /// Timer; nothing leaves the actor because of it before `floor`.
    Wake {
        at: Stamp,
        token: u64,
        floor: Stamp,
    },
}

impl<M, R> Outbox<M, R> {
    pub(super) fn new() -> Outbox<M, R> {
        Outbox { now: Stamp::ZERO, horizon: Time::ZERO, rank: 0, actions: Vec::new(), records: Vec::new() }
    }

    pub(super) fn begin(&mut self, now: Stamp, horizon: Time) {
        self.now = now;
        self.horizon = horizon;
        self.rank = 0;
    }

    /// Time before which nothing reaches this actor, but for timers that it sets in this batch: what it does until then
    /// it may do at once. The present time if it has acted in this batch, since others may react.
    ///
    /// It depends on the layout of the run, so it must not change what an actor does, only how soon that is computed.
    pub fn horizon(&self) -> Time {
        if self.actions.is_empty() { self.horizon } else { self.now.time }
    }

    /// Sends a message now; it arrives after the latency between the two actors.
    pub fn send(&mut self, to: ActorId, message: M) {
        self.actions.push(Action::Send { to, sent: self.now, rank: self.rank, message });
    }

    /// Sends a message as if at the later time `time`, once nothing can change it any more. The receiver cannot tell
    /// the difference; the hub can proceed without waiting for it.
    pub fn send_at(&mut self, time: Time, to: ActorId, message: M) {
        assert!(time >= self.now.time, "a message sent at {time} lies in the past of {}", self.now);
        let sent = if time == self.now.time { self.now } else { Stamp::at(time) };
        self.actions.push(Action::Send { to, sent, rank: self.rank, message });
    }

    /// Sets the rank of all further messages of this batch, and returns the previous one; each batch begins with rank
    /// 0. Of all messages that one actor sends another as of one stamp, those of a lower rank come first, and those of
    /// one rank in the order of sending.
    ///
    /// So a message that is sent ahead can arrive in the place that it would have if it were sent at its time: behind
    /// messages of a lower rank that are sent then.
    pub fn set_rank(&mut self, rank: u16) -> u16 {
        std::mem::replace(&mut self.rank, rank)
    }

    /// Sets a timer: [`Cause::Timer`] at `time` (in the next step, if that is now).
    pub fn wake_at(&mut self, time: Time, token: u64) {
        self.wake(time, token, None);
    }

    /// Like [`Outbox::wake_at`], with the promise that the actor sends nothing in reaction and sets only quiet timers,
    /// so that the hub need not wait for it.
    pub fn wake_quietly_at(&mut self, time: Time, token: u64) {
        self.wake(time, token, Some(Stamp::NEVER));
    }

    /// Like [`Outbox::wake_at`], with the promise that nothing leaves this actor because of the timer before `floor`.
    pub fn wake_promising(&mut self, time: Time, floor: Time, token: u64) {
        let floor = if floor == Time::NEVER { Stamp::NEVER } else { Stamp::at(floor) };
        self.wake(time, token, Some(floor));
    }

    /// Appends one record to the run's log.
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
