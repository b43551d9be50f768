//! The leaf's side of the synchronisation: run what the hub has granted, and say how soon anything else may come.

use serde::{Deserialize, Serialize};

use super::place::{BoxedActor, Latencies, Place};
use super::{ActorId, Breach, Entry, Envelope, Message};
use crate::time::Stamp;

/// From the hub to a leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Down<M> {
    /// Everything strictly before this may be run: nothing sooner will be sent any more.
    pub grant: Stamp,
    pub then: Instruction,
    pub mail: Vec<Envelope<M>>,
}

/// What a leaf is to do once it has a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instruction {
    /// Run what the grant allows.
    Run,
    /// The run is over: run what the grant allows, and send the rest of the log.
    Finish,
    /// The same, but the run has failed.
    Stop,
    /// Wait: a later piece of the same frame says the rest. All pieces count as one.
    Wait,
    /// Run what the grant allows, and say so even if there is nothing else to say: the log is wanted up to there.
    Report,
}

/// From a leaf to the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Up<M, R> {
    /// How many frames of the hub are taken into account in this one.
    pub acked: u64,
    /// The earliest stamp at which this leaf could still send anything, unless it is handed something new.
    pub floor: Stamp,
    /// Everything before this has run, and its records are in this frame or an earlier one.
    pub done: Stamp,
    /// The last frame: everything has run and the log is whole.
    pub finished: bool,
    pub mail: Vec<Envelope<M>>,
    pub log: Vec<Entry<R>>,
}

/// What the hub can count on anyway while only some of a frame's pieces are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    pub floor: Stamp,
    pub done: Stamp,
}

impl<M> Down<M> {
    /// Cuts a frame in two that say the same as one; `None` where there is nothing to cut.
    pub fn cut(mut self) -> Option<(Down<M>, Down<M>)> {
        let half = self.mail.len() / 2;
        let rest = self.mail.split_off(half);
        let first = Down { grant: self.grant, then: Instruction::Wait, mail: self.mail };
        (half > 0).then_some((first, Down { mail: rest, ..self }))
    }
}

impl<M, R> Up<M, R> {
    /// Cuts a frame in two that say the same as one; `None` where there is nothing to cut. The first promises only what
    /// the hub knew `before`.
    pub fn cut(mut self, before: Promise) -> Option<(Up<M, R>, Up<M, R>)> {
        let half = (self.mail.len() + self.log.len()) / 2;
        let mail = self.mail.split_off(half.min(self.mail.len()));
        let log = self.log.split_off(half - self.mail.len());
        let Promise { floor, done } = before;
        let first = Up { acked: self.acked, floor, done, finished: false, mail: self.mail, log: self.log };
        (half > 0).then_some((first, Up { mail, log, ..self }))
    }
}

pub struct Leaf<M, R> {
    place: Place<M, R>,
    granted: Stamp,
    finish: bool,
    stopped: bool,
    finished: bool,
    /// Pieces of a frame are here, and its end is not.
    waits: bool,
    /// The hub wants to hear how far it is.
    asked: bool,
    acked: u64,
    /// What the hub takes for this leaf's floor: what it was told last, lowered by what it has sent since.
    believed: Stamp,
    /// What the hub could count on before the last frame, and what it has been told since.
    before: Promise,
    done: Stamp,
}

/// Batches after which a leaf that has much to do sends what it has so far.
const BATCHES_PER_TURN: usize = 256;
/// Records that a leaf keeps back until it has something else to say.
const LOG_KEPT: usize = 1024;

impl<M: Message, R> Leaf<M, R> {
    pub fn new(actors: Vec<(ActorId, BoxedActor<M, R>)>, latencies: Latencies) -> Leaf<M, R> {
        Leaf {
            place: Place::with_floors(actors, latencies, true),
            granted: Stamp::ZERO,
            finish: false,
            stopped: false,
            finished: false,
            waits: false,
            asked: false,
            acked: 0,
            believed: Stamp::ZERO,
            before: Promise::default(),
            done: Stamp::ZERO,
        }
    }

    /// The last stamp that ran here.
    pub fn now(&self) -> Stamp {
        self.place.now()
    }

    /// Whether the last frame has been handed out.
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// Whether the hub has said that the run has failed.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// What the pieces of the last frame may promise, but for the last of them.
    pub fn before(&self) -> Promise {
        self.before
    }

    /// Takes in a frame of the hub. Call [`Leaf::turn`] until it has nothing more to say.
    pub fn receive(&mut self, down: Down<M>) -> Result<(), Breach> {
        if down.grant < self.granted {
            return Err(Breach::Hub { what: "it withdraws a grant" });
        }
        for envelope in down.mail {
            if !self.place.lives_here(envelope.to) {
                return Err(Breach::Hub { what: "a message for an actor that is elsewhere" });
            }
            if envelope.arrival < self.granted {
                return Err(Breach::Hub { what: "a message that is earlier than its grant" });
            }
            self.believed = self.believed.min(envelope.message.reaction().earliest(envelope.arrival));
            self.place.accept(envelope);
        }
        self.waits = down.then == Instruction::Wait;
        if !self.waits {
            self.granted = down.grant;
            self.acked += 1;
        }
        self.asked |= down.then == Instruction::Report;
        self.stopped |= down.then == Instruction::Stop;
        self.finish |= matches!(down.then, Instruction::Finish | Instruction::Stop);
        Ok(())
    }

    /// Runs a while; gives the frame that the hub should have, if it would learn anything from it.
    pub fn turn(&mut self) -> Result<Option<Up<M, R>>, Breach> {
        if self.finished || self.waits {
            return Ok(None);
        }
        let more = self.place.run_before(self.granted, BATCHES_PER_TURN)?;
        let done =
            if more { self.place.next().map_or(self.granted, |next| next.min(self.granted)) } else { self.granted };
        let floor = self.place.floor(done);
        self.finished = self.finish && !more;

        let worth_saying = more
            || self.finished
            || self.asked
            || floor != self.believed
            || !self.place.leaving.is_empty()
            || self.place.log.len() >= LOG_KEPT;
        if !worth_saying {
            return Ok(None);
        }
        self.asked &= more;
        let floor_before = std::mem::replace(&mut self.believed, floor);
        self.before = Promise { floor: floor_before, done: std::mem::replace(&mut self.done, done) };
        Ok(Some(Up {
            acked: self.acked,
            floor,
            done,
            finished: self.finished,
            mail: std::mem::take(&mut self.place.leaving),
            log: self.place.take_log(),
        }))
    }
}
