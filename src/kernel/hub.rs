//! The hub's side of the synchronisation: run ahead as far as the leaves' promises allow, and grant them the same.
//!
//! For each leaf the hub keeps a *view* of its floor: what the leaf reported last, lowered by the earliest reaction
//! to each message that the leaf has not yet taken into account. Whatever a leaf sends leaves it at its view or later,
//! so the hub may run everything strictly before `min over leaves (view + latency)`, its *safe* bound. In turn nothing
//! new can reach a leaf before `safe + latency`, which is what the hub grants.
//!
//! (Between two leaves without latency a message takes one step and not two, so there the grant is `safe` itself.)
//!
//! Latencies are those of a star, so a detour over another leaf is never quicker than the direct way, and the bound
//! above covers chains of reactions too.
//!
//! Cost: O(log leaves) an event and a message; O(leaves) a wait, to see whom to contact; O(frames to a leaf that it has
//! not answered) an answer.

use std::collections::VecDeque;

use super::place::{BoxedActor, Latencies, Place, STEPS_MAX};
use super::{ActorId, Breach, Down, Entry, Envelope, Instruction, Message, Up};
use crate::min_tree::MinTree;
use crate::time::{Span, Stamp, Time};

pub struct Hub<M, R> {
    place: Place<M, R>,
    /// For each actor the leaf where it lives; `None` if it lives here.
    homes: Vec<Option<usize>>,
    leaves: Vec<LeafState<M>>,
    /// For each leaf the earliest stamp at which something from it could still arrive here.
    reach: MinTree<Stamp>,
    /// The number of the last message of each actor that came from a leaf.
    last_numbers: Vec<u64>,
    logs: Vec<Vec<Entry<R>>>,
    /// How many messages and records have come from leaves.
    received: u64,
    batches: u64,
    record_check: RecordCheck<R>,
    finishing: bool,
}

/// What is wrong with a record of this actor, where it is none that such an actor writes.
pub type RecordCheck<R> = Box<dyn Fn(ActorId, &R) -> Result<(), &'static str> + Send>;

struct LeafState<M> {
    /// The smallest latency of the actors that live there.
    latency: Span,
    reported: Stamp,
    /// All of its records before this are here.
    done: Stamp,
    /// It has been asked for all of its records before this.
    asked: Stamp,
    /// Its last record.
    last_entry: Option<(Stamp, ActorId)>,
    /// The earliest reaction to each frame that it has not answered, by the frame's number, and the earliest of them
    /// all: a leaf that has nothing to say may leave many unanswered.
    unacked: VecDeque<(u64, Stamp)>,
    unacked_min: Stamp,
    /// The earliest reaction to the mail that waits to be sent.
    unsent: Stamp,
    mail: Vec<Envelope<M>>,
    granted: Stamp,
    sent: u64,
    acked: u64,
    /// Whether it has been told that the run is over.
    dismissed: bool,
    finished: bool,
    last_down: Option<(&'static str, Stamp)>,
    last_up: Option<(&'static str, Stamp)>,
    messages_down: u64,
    messages_up: u64,
}

/// Whom the hub writes to before it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// All leaves that have mail or could go on, so that one round trip serves all. Best where the way is long.
    All,
    /// Only the leaves that hold the hub up; mail for others is kept until they do, or until there is much of it.
    /// Best where all share a processor, since every frame costs the same whoever gets it.
    Blockers,
}

/// Mail that a leaf may be kept waiting for.
const MAIL_KEPT: usize = 512;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Everything before this may be run at the hub.
    pub safe: Stamp,
    /// How many events have been run there.
    pub events: u64,
    /// How many messages and records have come from leaves.
    pub received: u64,
    /// How many leaves have said goodbye.
    pub leaves_finished: usize,
}

/// What the hub knows of one leaf, for a report of who waits for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafStatus {
    /// Nothing leaves it before this.
    pub floor: Stamp,
    pub granted: Stamp,
    /// Frames sent to it that it has not answered, though an answer is due.
    pub unanswered: usize,
    /// The last message to it and its arrival.
    pub last_down: Option<(&'static str, Stamp)>,
    /// The last message from it and its arrival.
    pub last_up: Option<(&'static str, Stamp)>,
    /// Whether the hub can go no further because of it.
    pub blocks: bool,
    /// It has been asked for all of its records before the second of these, and has told those before the first.
    pub asked: Option<(Stamp, Stamp)>,
    pub finished: bool,
    pub messages_down: u64,
    pub messages_up: u64,
}

impl<M: Message, R> Hub<M, R> {
    /// A hub where `actors` live, with the rest of the run's actors dealt out to `leaves`.
    pub fn new(actors: Vec<(ActorId, BoxedActor<M, R>)>, leaves: &[Vec<ActorId>], latencies: Latencies) -> Hub<M, R> {
        let mut homes = vec![None; latencies.len()];
        let mut peers = Vec::new();
        let mut reach = MinTree::new(leaves.len(), Stamp::NEVER);
        for (leaf, ids) in leaves.iter().enumerate() {
            let latency = ids.iter().map(|id| latencies[id.index()]).min().expect("a leaf plays at least one actor");
            ids.iter().for_each(|id| homes[id.index()] = Some(leaf));
            reach.set(leaf, Stamp::ZERO.after(latency));
            peers.push(LeafState::new(latency));
        }
        Hub {
            last_numbers: vec![0; latencies.len()],
            place: Place::new(actors, latencies),
            homes,
            logs: peers.iter().map(|_| Vec::new()).collect(),
            leaves: peers,
            reach,
            received: 0,
            batches: 0,
            record_check: Box::new(|_, _| Ok(())),
            finishing: false,
        }
    }

    /// Takes in only such records of leaves as pass this.
    pub fn with_record_check(self, record_check: RecordCheck<R>) -> Hub<M, R> {
        Hub { record_check, ..self }
    }

    /// The last stamp that ran at the hub.
    pub fn now(&self) -> Stamp {
        self.place.now()
    }

    pub fn events(&self) -> u64 {
        self.place.events()
    }

    /// How many batches have run here: with what came from leaves, and between which two of them, this says where the
    /// hub is.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// How many leaves there are.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    pub fn progress(&self) -> Progress {
        Progress {
            safe: self.safe(),
            events: self.events(),
            received: self.received,
            leaves_finished: self.leaves.iter().filter(|peer| peer.finished).count(),
        }
    }

    /// Everything strictly before this may be run here.
    pub fn safe(&self) -> Stamp {
        self.reach.min()
    }

    /// When the next thing happens here that no leaf can interfere with any more, if there is one.
    pub fn due(&self) -> Option<Stamp> {
        self.place.next().filter(|next| *next < self.safe())
    }

    /// Runs up to `batches` batches that no leaf can interfere with any more; says whether there were that many.
    pub fn advance(&mut self, batches: usize) -> Result<bool, Breach> {
        for _ in 0..batches {
            match self.place.next() {
                Some(next) if next < self.safe() => self.place.step()?,
                _ => return Ok(false),
            }
            self.batches += 1;
            for envelope in std::mem::take(&mut self.place.leaving) {
                self.post(envelope);
            }
        }
        Ok(true)
    }

    /// Takes in a frame of a leaf.
    pub fn receive(&mut self, leaf: usize, up: Up<M, R>) -> Result<(), Breach> {
        let promised = self.leaves[leaf].acknowledge(leaf, up.acked)?;
        if up.floor < promised {
            return Err(Breach::Floor { leaf, promised, floor: up.floor });
        }
        let peer = &self.leaves[leaf];
        if up.finished && !self.finishing {
            return Err(Breach::Protocol { leaf, what: "it says goodbye before the run is over" });
        }
        if up.done < peer.done || up.done > peer.granted {
            return Err(Breach::Protocol {
                leaf,
                what: "it reports progress beyond what it was granted, or less than it has reported before",
            });
        }
        self.received += (up.mail.len() + up.log.len()) as u64;
        for envelope in up.mail {
            self.check(leaf, &envelope, promised)?;
            self.last_numbers[envelope.from.index()] = envelope.number;
            let peer = &mut self.leaves[leaf];
            peer.last_up = Some((envelope.message.name(), envelope.arrival));
            peer.messages_up += 1;
            if self.place.lives_here(envelope.to) { self.place.accept(envelope) } else { self.post(envelope) }
        }
        self.check_log(leaf, &up.log)?;
        self.leaves[leaf].last_entry =
            up.log.last().map(|entry| (entry.stamp, entry.actor)).or(self.leaves[leaf].last_entry);
        self.logs[leaf].extend(up.log);
        self.leaves[leaf].reported = up.floor;
        self.leaves[leaf].done = up.done;
        self.leaves[leaf].finished |= up.finished;
        self.update(leaf);
        Ok(())
    }

    /// The frames to send before waiting: to leaves that have mail, or that could go on if they were told so.
    pub fn flush(&mut self, contact: Contact, send: &mut dyn FnMut(usize, Down<M>)) {
        let safe = self.safe();
        if safe.is_never() && self.place.next().is_none() {
            self.finishing = true;
        }
        for leaf in 0..self.leaves.len() {
            let grant = self.grant(leaf);
            let peer = &mut self.leaves[leaf];
            let ending = self.finishing && !peer.dismissed;
            let view = peer.view();
            let useful = !peer.mail.is_empty() || (peer.granted <= view && view < grant);
            let pressing = contact == Contact::All || peer.mail.len() > MAIL_KEPT || peer.reach() == safe;
            if ending || (useful && pressing) {
                send(leaf, peer.frame(grant, if self.finishing { Instruction::Finish } else { Instruction::Run }));
            }
        }
    }

    /// Ends the run early: the frames that let every leaf run what it still may, and say its last word.
    pub fn stop(&mut self, send: &mut dyn FnMut(usize, Down<M>)) {
        for leaf in 0..self.leaves.len() {
            let grant = self.grant(leaf);
            let peer = &mut self.leaves[leaf];
            // Whoever has said goodbye has still to know that all was in vain.
            send(leaf, peer.frame(grant, Instruction::Stop));
        }
        self.finishing = true;
    }

    /// The log is whole before this stamp, though it may go on after it: what may be shown of a run that has not ended,
    /// or ended early.
    pub fn settled(&self) -> Stamp {
        self.leaves.iter().map(|peer| peer.done).fold(self.done(), Stamp::min)
    }

    /// Everything before this has run here.
    fn done(&self) -> Stamp {
        self.place.next().unwrap_or(Stamp::NEVER).min(self.safe()).max(self.place.now())
    }

    /// Asks those leaves how far they are whose logs keep the log of the run from being whole up to where it could be.
    pub fn ask(&mut self, send: &mut dyn FnMut(usize, Down<M>)) {
        let done = self.done();
        for leaf in 0..self.leaves.len() {
            let grant = self.grant(leaf);
            let peer = &mut self.leaves[leaf];
            if peer.done < done.min(grant) && peer.asked <= peer.done && !peer.dismissed {
                peer.asked = grant;
                send(leaf, peer.frame(grant, Instruction::Report));
            }
        }
    }

    /// The leaves that have not told yet what they have been asked for.
    pub fn asked(&self) -> Vec<usize> {
        (0..self.leaves.len()).filter(|leaf| self.is_asked(*leaf)).collect()
    }

    pub fn is_asked(&self, leaf: usize) -> bool {
        self.leaves[leaf].is_asked()
    }

    /// Nothing that a leaf has not been sent can reach it before this.
    fn grant(&self, leaf: usize) -> Stamp {
        let peer = &self.leaves[leaf];
        let from_leaves = if peer.latency.is_zero() { self.safe() } else { self.safe().after(peer.latency) };
        let from_here = self.place.next().unwrap_or(Stamp::NEVER).after(peer.latency);
        from_leaves.min(from_here).max(peer.granted)
    }

    /// Whether nothing is left to do anywhere, and every leaf has said its last word.
    pub fn finished(&self) -> bool {
        self.finishing && self.leaves.iter().all(|peer| peer.finished)
    }

    /// Takes the records that have come up at the hub since the last call.
    pub fn take_log(&mut self) -> Vec<Entry<R>> {
        self.place.take_log()
    }

    /// Takes the leaves' records: of each leaf those that it has sent so far.
    pub fn take_leaf_logs(&mut self) -> Vec<Vec<Entry<R>>> {
        self.logs.iter_mut().map(std::mem::take).collect()
    }

    pub fn leaf_statuses(&self) -> Vec<LeafStatus> {
        let safe = self.safe();
        let status = |peer: &LeafState<M>| LeafStatus {
            floor: peer.view(),
            granted: peer.granted,
            unanswered: peer.unacked.len(),
            last_down: peer.last_down,
            last_up: peer.last_up,
            blocks: peer.is_asked() || peer.holds_up(safe),
            asked: peer.is_asked().then_some((peer.done, peer.asked)),
            finished: peer.finished,
            messages_down: peer.messages_down,
            messages_up: peer.messages_up,
        };
        self.leaves.iter().map(status).collect()
    }

    /// Whether all is done but the leaves' last words.
    pub fn finishing(&self) -> bool {
        self.finishing
    }

    /// The leaves that must answer before the hub can go on; each has been sent what it needs by [`Hub::flush`].
    pub fn blockers(&self) -> Vec<usize> {
        (0..self.leaves.len()).filter(|leaf| self.is_blocker(*leaf)).collect()
    }

    pub fn is_blocker(&self, leaf: usize) -> bool {
        let (peer, safe) = (&self.leaves[leaf], self.safe());
        match self.finishing {
            true => !peer.finished,
            false => peer.holds_up(safe),
        }
    }

    /// Whether this leaf has said its last word.
    pub fn has_finished(&self, leaf: usize) -> bool {
        self.leaves[leaf].finished
    }

    /// Puts a message into the mail of the leaf where its receiver lives.
    fn post(&mut self, envelope: Envelope<M>) {
        let leaf = self.homes[envelope.to.index()].expect("whoever does not live here lives at a leaf");
        let peer = &mut self.leaves[leaf];
        let reaction = envelope.message.reaction().earliest(envelope.arrival);
        peer.unsent = peer.unsent.min(reaction);
        peer.last_down = Some((envelope.message.name(), envelope.arrival));
        peer.messages_down += 1;
        peer.mail.push(envelope);
        if !reaction.is_never() {
            self.update(leaf);
        }
    }

    fn update(&mut self, leaf: usize) {
        self.reach.set(leaf, self.leaves[leaf].reach());
    }

    /// Refuses what no honest leaf sends, before it can do harm.
    fn check(&self, leaf: usize, envelope: &Envelope<M>, promised: Stamp) -> Result<(), Breach> {
        let wrong = |what| Err(Breach::Protocol { leaf, what });
        let known = |id: ActorId| id.index() < self.homes.len();
        if !known(envelope.from) || !known(envelope.to) {
            return wrong("a message names an actor that does not exist");
        }
        if self.homes[envelope.from.index()] != Some(leaf) {
            return wrong("a message from an actor that lives elsewhere");
        }
        if self.homes[envelope.to.index()] == Some(leaf) {
            return wrong("a message that should have stayed at the leaf");
        }
        if envelope.number <= self.last_numbers[envelope.from.index()] {
            return wrong("the messages of an actor are out of order");
        }
        let earliest = promised.after(self.place.latency(envelope.from, envelope.to));
        if envelope.arrival < earliest {
            let (from, message, arrival) = (envelope.from, envelope.message.name(), envelope.arrival);
            return Err(Breach::Early { leaf, from, message, promised, arrival });
        }
        if envelope.arrival.time > Time::LATEST {
            return wrong("a message that arrives at the end of time");
        }
        let latency = self.place.latency(envelope.from, envelope.to);
        if envelope.arrival.step > if latency.is_zero() { STEPS_MAX } else { 0 } {
            return wrong("a message that arrives in a step that its link does not have");
        }
        Ok(())
    }

    fn check_log(&self, leaf: usize, log: &[Entry<R>]) -> Result<(), Breach> {
        let LeafState { granted, done, last_entry: mut last, .. } = self.leaves[leaf];
        for entry in log {
            if self.homes.get(entry.actor.index()) != Some(&Some(leaf)) {
                return Err(Breach::Protocol { leaf, what: "a record of an actor that lives elsewhere" });
            }
            if entry.stamp >= granted {
                return Err(Breach::Protocol { leaf, what: "a record of something that it may not have run yet" });
            }
            (self.record_check)(entry.actor, &entry.record).map_err(|what| Breach::Protocol { leaf, what })?;
            if entry.stamp < done {
                return Err(Breach::Protocol { leaf, what: "a record of a time for which it had reported everything" });
            }
            let key = (entry.stamp, entry.actor);
            if last.is_some_and(|last| last > key) {
                return Err(Breach::Protocol { leaf, what: "its records are out of order" });
            }
            last = Some(key);
        }
        Ok(())
    }
}

impl<M> LeafState<M> {
    fn new(latency: Span) -> LeafState<M> {
        LeafState {
            latency,
            reported: Stamp::ZERO,
            done: Stamp::ZERO,
            asked: Stamp::ZERO,
            last_entry: None,
            unacked: VecDeque::new(),
            unacked_min: Stamp::NEVER,
            unsent: Stamp::NEVER,
            mail: Vec::new(),
            granted: Stamp::ZERO,
            sent: 0,
            acked: 0,
            dismissed: false,
            finished: false,
            last_down: None,
            last_up: None,
            messages_down: 0,
            messages_up: 0,
        }
    }

    /// Whether it has yet to tell what it has been asked for. Its goodbye tells everything.
    fn is_asked(&self) -> bool {
        self.done < self.asked && !self.finished
    }

    /// The earliest stamp at which anything could still leave this leaf, as far as the hub knows.
    fn view(&self) -> Stamp {
        self.reported.min(self.unsent).min(self.unacked_min)
    }

    /// The earliest stamp at which anything from this leaf could still arrive at the hub.
    fn reach(&self) -> Stamp {
        self.view().after(self.latency)
    }

    /// Whether the hub, which may run everything before `safe`, can go no further because of this leaf.
    fn holds_up(&self, safe: Stamp) -> bool {
        !safe.is_never() && self.reach() == safe
    }

    /// Notes which frames the leaf has taken into account; gives what it had promised, knowing those.
    fn acknowledge(&mut self, leaf: usize, acked: u64) -> Result<Stamp, Breach> {
        if acked < self.acked || acked > self.sent {
            return Err(Breach::Protocol { leaf, what: "it answers a frame that was never sent" });
        }
        self.acked = acked;
        let mut earliest = Stamp::NEVER;
        while let Some((_, reaction)) = self.unacked.pop_front_if(|(frame, _)| *frame <= acked) {
            earliest = earliest.min(reaction);
        }
        if earliest == self.unacked_min {
            self.unacked_min = self.unacked.iter().map(|(_, reaction)| *reaction).min().unwrap_or(Stamp::NEVER);
        }
        Ok(self.reported.min(earliest))
    }

    fn frame(&mut self, grant: Stamp, then: Instruction) -> Down<M> {
        self.sent += 1;
        self.granted = grant;
        self.dismissed |= matches!(then, Instruction::Finish | Instruction::Stop);
        let reaction = std::mem::replace(&mut self.unsent, Stamp::NEVER);
        if !reaction.is_never() {
            self.unacked.push_back((self.sent, reaction));
            self.unacked_min = self.unacked_min.min(reaction);
        }
        Down { grant, then, mail: std::mem::take(&mut self.mail) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a leaf has been sent and has heard of: nothing leaves it before the earliest reaction to the rest.
        #[test]
        fn the_view_of_a_leaf_is_lowered_by_all_that_it_has_not_heard(
            frames in prop::collection::vec((0u64..50, 0u64..4), 0..40),
        ) {
            let mut peer = LeafState::<()>::new(Span::ZERO);
            peer.reported = Stamp::NEVER;
            let mut sent = Vec::new();
            for (time, hears) in frames {
                peer.unsent = Stamp::at(Time::from_micros(time));
                sent.push(peer.unsent);
                peer.frame(Stamp::ZERO, Instruction::Run);
                let before = peer.acked as usize;
                let acked = (before + hears as usize).min(sent.len());
                let told = sent[before..acked].iter().min().copied().unwrap_or(Stamp::NEVER);
                prop_assert_eq!(peer.acknowledge(0, acked as u64).unwrap(), told);
                prop_assert_eq!(peer.view(), sent[acked..].iter().min().copied().unwrap_or(Stamp::NEVER));
            }
        }
    }
}
