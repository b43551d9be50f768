//! Pending events of a place, in order. Heaps hold small keys; the payloads stay in their slots.
//!
//! Many events are due at the time at which they are created, one step later: timers for now, and all messages of a
//! grid without latency. They have a heap of their own, which stays as small as one instant, however many events are
//! due later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{ActorId, Cause, Message};
use crate::time::{Stamp, Time};

pub(super) struct Agenda<M> {
    later: BinaryHeap<Reverse<Key>>,
    /// Events that were due at the current time when they were added.
    soon: BinaryHeap<Reverse<Key>>,
    reached: Time,
    /// Payloads of the keys; the content of a vacant slot is arbitrary.
    slots: Vec<Slot<M>>,
    vacant: Vec<u32>,
}

/// A future event of an actor.
pub(super) struct Pending<M> {
    pub stamp: Stamp,
    pub to: ActorId,
    pub from: ActorId,
    pub number: u64,
    /// Timer only: nothing leaves its actor because of it before this.
    pub floor: Stamp,
    pub cause: Cause<M>,
}

/// Order of all events: stamp, receiver, sender, sender's number. Unique.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    /// Time, step and receiver in one number, as it is compared far more often than read.
    when: u128,
    from: ActorId,
    number: u64,
    slot: u32,
}

struct Slot<M> {
    floor: Stamp,
    cause: Cause<M>,
}

impl<M> Agenda<M> {
    pub fn new() -> Agenda<M> {
        Agenda {
            later: BinaryHeap::new(),
            soon: BinaryHeap::new(),
            reached: Time::ZERO,
            slots: Vec::new(),
            vacant: Vec::new(),
        }
    }

    pub fn push(&mut self, pending: Pending<M>) {
        let Pending { stamp, to, from, number, floor, cause } = pending;
        let filled = Slot { floor, cause };
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.slots[slot as usize] = filled;
                slot
            }
            None => {
                self.slots.push(filled);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 pending events")
            }
        };
        let when = u128::from(stamp.time.micros()) << 64 | u128::from(stamp.step) << 32 | u128::from(to.0);
        let heap = if stamp.time == self.reached { &mut self.soon } else { &mut self.later };
        heap.push(Reverse(Key { when, from, number, slot }));
    }

    /// Stamp and receiver of the next event.
    pub fn next(&self) -> Option<(Stamp, ActorId)> {
        self.heads().into_iter().flatten().min().map(Key::when)
    }

    pub fn pop(&mut self) -> Option<Pending<M>> {
        let [soon, later] = self.heads();
        let is_soon = soon.is_some_and(|soon| later.is_none_or(|later| soon < later));
        let Reverse(key) = if is_soon { self.soon.pop() } else { self.later.pop() }?;
        let (stamp, to) = key.when();
        self.reached = stamp.time;
        let vacated = Slot { floor: Stamp::NEVER, cause: Cause::Start };
        let Slot { floor, cause } = std::mem::replace(&mut self.slots[key.slot as usize], vacated);
        self.vacant.push(key.slot);
        Some(Pending { stamp, to, from: key.from, number: key.number, floor, cause })
    }

    fn heads(&self) -> [Option<&Key>; 2] {
        [&self.soon, &self.later].map(|heap| heap.peek().map(|Reverse(key)| key))
    }
}

impl Key {
    fn when(&self) -> (Stamp, ActorId) {
        let time = Time::from_micros((self.when >> 64) as u64);
        (Stamp { time, step: (self.when >> 32) as u32 }, ActorId(self.when as u32))
    }
}

impl<M: Message> Pending<M> {
    pub fn name(&self) -> &'static str {
        match &self.cause {
            Cause::Message(message) => message.name(),
            Cause::Timer(_) if self.floor.is_never() => "a quiet timer",
            Cause::Timer(_) => "a timer",
            Cause::Start => "the start",
        }
    }
}
