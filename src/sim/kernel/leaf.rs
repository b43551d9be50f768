//! The leaf's side of the synchronisation: runs what the hub has granted, and reports its floor.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::place::{BoxedActor, Latencies, Place};
use super::{Activity, ActorId, Breach, Contract, Entry, Envelope, Message};
use crate::time::Stamp;

/// Frame from the hub to a leaf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Down<M> {
    /// Everything strictly before this may be run: nothing earlier will be sent any more.
    pub grant: Stamp,
    pub then: Instruction,
    pub mail: Vec<Envelope<M>>,
}

/// Instruction of a frame to a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instruction {
    /// Run as far as the grant allows.
    Run,
    /// The run is over: run as far as the grant allows, and send the rest of the log.
    Finish,
    /// The run has failed: run as far as the grant allows, and send the rest of the log.
    Stop,
    /// Wait for further pieces of this frame. All pieces are acknowledged as one.
    Wait,
    /// Run as far as the grant allows, and report even without news: the log up to there is wanted.
    Report,
}

/// Frame from a leaf to the hub.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Up<M, R> {
    /// Frames of the hub acknowledged by this one.
    pub acked: u64,
    /// Earliest stamp at which this leaf could still send anything, unless it receives something new.
    pub floor: Stamp,
    /// Everything before this has run, and its records are in this frame or an earlier one.
    pub done: Stamp,
    /// The last frame: everything has run and the log is complete.
    pub finished: bool,
    pub mail: Vec<Envelope<M>>,
    pub log: Vec<Entry<R>>,
}

/// Promise that holds for the pieces of a frame before its last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    pub floor: Stamp,
    pub done: Stamp,
}

impl<M> Down<M> {
    /// Splits a frame into two with the same meaning; `None` if it cannot be split.
    pub fn cut(mut self) -> Option<(Down<M>, Down<M>)> {
        let half = self.mail.len() / 2;
        let rest = self.mail.split_off(half);
        let first = Down { grant: self.grant, then: Instruction::Wait, mail: self.mail };
        (half > 0).then_some((first, Down { mail: rest, ..self }))
    }
}

impl<M, R> Up<M, R> {
    /// Splits a frame into two with the same meaning; `None` if it cannot be split. The first promises only what the
    /// hub knew `before`.
    pub fn cut(mut self, before: Promise) -> Option<(Up<M, R>, Up<M, R>)> {
        let half = (self.mail.len() + self.log.len()) / 2;
        let mail = self.mail.split_off(half.min(self.mail.len()));
        let log = self.log.split_off(half - self.mail.len());
        let Promise { floor, done } = before;
        let first = Up { acked: self.acked, floor, done, finished: false, mail: self.mail, log: self.log };
        (half > 0).then_some((first, Up { mail, log, ..self }))
    }
}

/// The part of a run in one process of sites or users: its actors, and the bounds that it has from the hub.
///
/// The process passes it each frame of the hub and sends the frames that it returns; it does no I/O itself. It runs its
/// actors up to the grant, and promises a floor: nothing that it sends later leaves it before that stamp. The
/// [`Hub`](super::Hub) relies on the floor. A leaf that is started again and gets the same frames sends the same ones.
pub struct Leaf<M, R> {
    place: Place<M, R>,
    granted: Stamp,
    finish: bool,
    stopped: bool,
    finished: bool,
    /// True if only some pieces of a frame have arrived.
    waits: bool,
    /// True if the hub has requested progress.
    asked: bool,
    acked: u64,
    /// This leaf's floor as the hub knows it: the last one reported, lowered by the mail received since.
    believed: Stamp,
    /// Promise known to the hub before the last frame, and progress reported since.
    before: Promise,
    done: Stamp,
}

/// Batches after which a busy leaf sends what it has.
const BATCHES_PER_TURN: usize = 256;
/// Records that a leaf keeps back while it has nothing else to send.
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

    /// Makes the leaf rely on this contract, as its hub does.
    pub fn with_contract(mut self, contract: Contract) -> Leaf<M, R> {
        // A leaf handles everything in order.
        self.place.set_contract(Contract { sources: Vec::new(), ..contract });
        self
    }

    /// Stamp of the last batch run here.
    pub fn now(&self) -> Stamp {
        self.place.now()
    }

    /// True if the last frame has been returned.
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// True if the hub has reported that the run failed.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// Promise for the pieces of the last frame, except its last piece.
    pub fn piece_promise(&self) -> Promise {
        self.before
    }

    /// Processes a frame of the hub. Call [`Leaf::turn`] until it returns `None`.
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
            let Envelope { arrival, from, to, .. } = envelope;
            let (earliest, _) = self.place.reaction_to(arrival, from, to, &envelope.message);
            self.believed = self.believed.min(earliest);
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

    /// The batch that runs here, for threads that watch it.
    pub fn activity(&self) -> &Arc<Activity> {
        self.place.activity()
    }

    /// Runs some batches. Returns a frame for the hub if it contains news.
    pub fn turn(&mut self) -> Result<Option<Up<M, R>>, Breach> {
        if self.finished || self.waits {
            return Ok(None);
        }
        let more = self.place.run_before(self.granted, BATCHES_PER_TURN)?;
        let done =
            if more { self.place.next().map_or(self.granted, |next| next.min(self.granted)) } else { self.granted };
        let floor = self.place.floor(done);
        self.finished = self.finish && !more;

        let has_news = more
            || self.finished
            || self.asked
            || floor != self.believed
            || !self.place.leaving.is_empty()
            || self.place.log().len() >= LOG_KEPT;
        if !has_news {
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
