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
    /// The last frame: run what the grant allows, and send the rest of the log.
    pub finish: bool,
    pub mail: Vec<Envelope<M>>,
}

/// From a leaf to the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Up<M, R> {
    /// How many frames of the hub are taken into account in this one.
    pub heard: u64,
    /// The earliest stamp at which this leaf could still send anything, unless it is handed something new.
    pub floor: Stamp,
    /// Everything before this has run, and its records are in this frame or an earlier one.
    pub done: Stamp,
    /// The last frame: everything has run and the log is whole.
    pub finished: bool,
    pub mail: Vec<Envelope<M>>,
    pub log: Vec<Entry<R>>,
}

/// What a leaf has promised in a frame, whatever else was in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    pub heard: u64,
    pub floor: Stamp,
    pub done: Stamp,
}

impl<M, R> Up<M, R> {
    pub fn promise(&self) -> Promise {
        Promise { heard: self.heard, floor: self.floor, done: self.done }
    }

    /// Cuts a frame in two that say the same as one. The first promises only what the frame before it did.
    pub fn split(mut self, before: Promise) -> (Up<M, R>, Up<M, R>) {
        let later =
            Up { mail: self.mail.split_off(self.mail.len() / 2), log: self.log.split_off(self.log.len() / 2), ..self };
        let Promise { heard, floor, done } = before;
        (Up { heard, floor, done, finished: false, mail: self.mail, log: self.log }, later)
    }
}

pub struct Leaf<M, R> {
    place: Place<M, R>,
    granted: Stamp,
    finish: bool,
    finished: bool,
    heard: u64,
    /// What the hub takes for this leaf's floor: what it was told last, lowered by what it has sent since.
    believed: Stamp,
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
            finished: false,
            heard: 0,
            believed: Stamp::ZERO,
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

    /// Takes in a frame of the hub. Call [`Leaf::turn`] until it has nothing more to say.
    pub fn receive(&mut self, down: Down<M>) -> Result<(), Breach> {
        if down.grant < self.granted {
            return Err(Breach::Protocol { leaf: 0, what: "the hub took a grant back" });
        }
        for envelope in down.mail {
            if !self.place.lives_here(envelope.to) {
                return Err(Breach::Protocol {
                    leaf: 0,
                    what: "the hub sent a message for an actor that is elsewhere",
                });
            }
            if envelope.arrival < self.granted {
                return Err(Breach::Protocol {
                    leaf: 0,
                    what: "the hub sent a message that is earlier than its grant",
                });
            }
            self.believed = self.believed.min(envelope.message.reaction().earliest(envelope.arrival));
            self.place.accept(envelope);
        }
        self.granted = down.grant;
        self.finish |= down.finish;
        self.heard += 1;
        Ok(())
    }

    /// Runs a while; gives the frame that the hub should have, if it would learn anything from it.
    pub fn turn(&mut self) -> Result<Option<Up<M, R>>, Breach> {
        if self.finished {
            return Ok(None);
        }
        let more = self.place.run_before(self.granted, BATCHES_PER_TURN)?;
        let done =
            if more { self.place.next().map_or(self.granted, |next| next.min(self.granted)) } else { self.granted };
        let floor = self.place.floor(done);
        self.finished = self.finish && !more;

        let worth_saying = more
            || self.finished
            || floor != self.believed
            || !self.place.leaving.is_empty()
            || self.place.log.len() >= LOG_KEPT;
        if !worth_saying {
            return Ok(None);
        }
        self.believed = floor;
        Ok(Some(Up {
            heard: self.heard,
            floor,
            done,
            finished: self.finished,
            mail: std::mem::take(&mut self.place.leaving),
            log: self.place.take_log(),
        }))
    }
}
