//! The hub's side of the synchronisation: runs ahead as far as the leaves' promises allow, and grants them the same.
//!
//! For each leaf the hub keeps a *view* of its floor: the floor that the leaf reported last, lowered by the earliest
//! reaction to each message that the leaf has not yet acknowledged. Everything that a leaf sends leaves it at its view
//! or later, so the hub may run everything strictly before `min over leaves (view + latency)`, its *safe* bound. In
//! turn nothing new can reach a leaf before `safe + latency`, which is what the hub grants.
//!
//! (Between two leaves without latency a message takes one step and not two, so there the grant is `safe` itself.)
//!
//! Latencies are those of a star, so a detour over another leaf is never shorter than the direct path, and the bound
//! above covers chains of reactions too.
//!
//! # What is known beforehand
//!
//! A [`Contract`] may say more than the messages do.
//!
//! - *Sources.* If only messages of certain actors make the hub send anything, it handles these ahead: as soon as no
//!   leaf with a source can precede them, however far the others are. All else it handles in its time, as soon as no
//!   leaf at all can precede it. At most [`LEAD_MAX`] batches are handled ahead, which bounds what has to be kept.
//! - *Settled answers.* If the answer to a message follows from it, the hub enters it in its agenda when it posts the
//!   message, and does not wait for it. The leaf sends it all the same, and the hub compares the two.
//!
//! Costs: O(log leaves) per event and message; O(leaves) per wait, to choose the leaves to contact; O(unacknowledged
//! frames of the leaf) per answer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::place::{BoxedActor, Latencies, Place, STEPS_MAX, Track};
use super::{Activity, ActorId, Breach, Contract, Down, Entry, Envelope, Instruction, Message, Up};
use crate::min_tree::MinTree;
use crate::time::{Span, Stamp, Time};

/// The router's part of a run: the actors that live there, and the state of each leaf as its frames report it.
///
/// The router's driver passes it each frame of a leaf and takes the frames that answer it; it does no I/O itself. It
/// promises that no actor gets a message before its cause or out of order: a batch runs once no leaf can precede it.
/// A leaf that breaks its promises is a [`Breach`], which ends the run. Its partner in a process of sites or users is
/// the [`Leaf`](super::Leaf); its actors, their agenda and their log are in a [`Place`].
pub struct Hub<M, R> {
    place: Place<M, R>,
    /// Leaf on which an actor lives, by actor; `None` if it lives here.
    homes: Vec<Option<usize>>,
    leaves: Vec<LeafState<M>>,
    /// Earliest stamp at which anything from a leaf could still arrive here, by leaf.
    reach: MinTree<Stamp>,
    /// True if all decisions here depend on sources alone.
    has_sources: bool,
    /// Earliest stamp at which anything from a leaf with sources could still arrive here, by leaf.
    source_reach: MinTree<Stamp>,
    /// Stamps of the batches that were handled ahead of the rest, ascending.
    lead: VecDeque<Stamp>,
    /// Largest number of batches in `lead`: [`LEAD_MAX`] except in tests.
    lead_max: usize,
    /// True if the rest has to catch up before more is handled ahead.
    catching_up: bool,
    /// Answers that are foretold and have not arrived yet, by sender.
    foretold: Vec<VecDeque<Envelope<M>>>,
    /// Number of the last answer foretold, by sender.
    foretold_numbers: Vec<u64>,
    /// Number of the last message from a leaf, by actor.
    last_numbers: Vec<u64>,
    logs: Vec<Vec<Entry<R>>>,
    /// Messages and records received from leaves.
    received: u64,
    batches: u64,
    record_check: RecordCheck<R>,
    observer: Observer<M>,
    finishing: bool,
    /// True if the run was ended early.
    stopped: bool,
}

/// Checks a record: an error if such an actor never writes it.
pub type RecordCheck<R> = Box<dyn Fn(ActorId, &R) -> Result<(), &'static str> + Send>;

/// Sees every message that a leaf sends, in the order of its arrival here.
pub type Observer<M> = Box<dyn FnMut(&Envelope<M>) + Send>;

struct LeafState<M> {
    /// Smallest latency of the leaf's actors.
    latency: Span,
    has_source: bool,
    reported: Stamp,
    /// All records of the leaf before this have been received.
    done: Stamp,
    /// All records before this have been requested.
    asked: Stamp,
    /// Order key of the last record received.
    last_entry: Option<(Stamp, ActorId)>,
    /// Earliest reaction to each unacknowledged frame, by frame number, and the minimum of them: a leaf with nothing to
    /// send may leave many unacknowledged.
    unacked: VecDeque<(u64, Stamp)>,
    unacked_min: Stamp,
    /// Earliest reaction to the mail that is not sent yet.
    unsent: Stamp,
    mail: Vec<Envelope<M>>,
    granted: Stamp,
    sent: u64,
    acked: u64,
    /// True if the leaf has been told that the run is over.
    dismissed: bool,
    finished: bool,
    last_down: Option<(&'static str, Stamp)>,
    last_up: Option<(&'static str, Stamp)>,
    messages_down: u64,
    messages_up: u64,
}

/// The leaves that the hub writes to before it blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contact {
    /// All leaves that have mail or could proceed, so that one round trip serves all. Best for long latencies.
    All,
    /// Only the leaves that block the hub, and those that may send something within their grants and so block it
    /// within twice their latency; mail for others is kept until they block it, or until it exceeds `MAIL_KEPT`. Best
    /// where all share a processor, since a frame costs the same for every leaf.
    Blockers,
}

/// Largest number of messages that are kept back for one leaf.
const MAIL_KEPT: usize = 512;

/// Batches that are handled ahead of the rest at most. Beyond that the rest catches up to half of them.
const LEAD_MAX: usize = 1 << 14;

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Stamp before which the hub may run everything.
    pub safe: Stamp,
    /// Events run at the hub.
    pub events: u64,
    /// Messages and records received from leaves.
    pub received: u64,
    /// Leaves that have sent their last frame.
    pub leaves_finished: usize,
}

/// State of one leaf as the hub knows it, for stall reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafStatus {
    /// Earliest stamp of anything that can still leave the leaf.
    pub floor: Stamp,
    pub granted: Stamp,
    /// Frames sent to it that are not acknowledged though an answer is due.
    pub unanswered: usize,
    /// Name and arrival of the last message to it.
    pub last_down: Option<(&'static str, Stamp)>,
    /// Name and arrival of the last message from it.
    pub last_up: Option<(&'static str, Stamp)>,
    /// True if the hub cannot proceed because of it.
    pub blocks: bool,
    /// Records outstanding: sent up to the first stamp, requested up to the second.
    pub asked: Option<(Stamp, Stamp)>,
    pub finished: bool,
    pub messages_down: u64,
    pub messages_up: u64,
}

impl<M: Message, R> Hub<M, R> {
    /// A hub that holds `actors`; the run's other actors live on `leaves`.
    pub fn new(actors: Vec<(ActorId, BoxedActor<M, R>)>, leaves: &[Vec<ActorId>], latencies: Latencies) -> Hub<M, R> {
        let mut homes = vec![None; latencies.len()];
        let mut peers = Vec::new();
        let mut reach = MinTree::new(leaves.len(), Stamp::NEVER);
        for (leaf, ids) in leaves.iter().enumerate() {
            let latency = ids.iter().map(|id| latencies[id.index()]).min().expect("a leaf has at least one actor");
            ids.iter().for_each(|id| homes[id.index()] = Some(leaf));
            reach.set(leaf, Stamp::ZERO.after(latency));
            peers.push(LeafState::new(latency));
        }
        Hub {
            last_numbers: vec![0; latencies.len()],
            foretold: latencies.iter().map(|_| VecDeque::new()).collect(),
            foretold_numbers: vec![0; latencies.len()],
            place: Place::new(actors, latencies),
            homes,
            logs: peers.iter().map(|_| Vec::new()).collect(),
            source_reach: MinTree::new(peers.len(), Stamp::NEVER),
            leaves: peers,
            reach,
            has_sources: false,
            lead: VecDeque::new(),
            lead_max: LEAD_MAX,
            catching_up: false,
            received: 0,
            batches: 0,
            record_check: Box::new(|_, _| Ok(())),
            observer: Box::new(|_| {}),
            finishing: false,
            stopped: false,
        }
    }

    /// Rejects records of leaves that fail this check.
    pub fn with_record_check(self, record_check: RecordCheck<R>) -> Hub<M, R> {
        Hub { record_check, ..self }
    }

    /// Shows messages of leaves to an observer, once they have passed all checks.
    pub fn with_observer(self, observer: Observer<M>) -> Hub<M, R> {
        Hub { observer, ..self }
    }

    /// Relies on this contract, which each leaf must be given too.
    pub fn with_contract(mut self, contract: Contract) -> Hub<M, R> {
        self.has_sources = contract.sources.contains(&true);
        for (index, home) in self.homes.iter().enumerate() {
            if let Some(leaf) = home
                && contract.is_source(ActorId(index as u32))
            {
                self.leaves[*leaf].has_source = true;
            }
        }
        self.place.set_contract(contract);
        (0..self.leaves.len()).for_each(|leaf| self.update(leaf));
        self
    }

    #[cfg(test)]
    pub(super) fn limit_lead_to(&mut self, batches: usize) {
        self.lead_max = batches;
    }

    /// Stamp of the last batch run at the hub.
    pub fn now(&self) -> Stamp {
        self.place.now()
    }

    /// The batch that runs here, for threads that watch it.
    pub fn activity(&self) -> &Arc<Activity> {
        self.place.activity()
    }

    pub fn events(&self) -> u64 {
        self.place.events()
    }

    /// Batches run here. Together with the frames received, and the batches between which they came, this identifies
    /// the hub's state.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    pub fn progress(&self) -> Progress {
        Progress {
            safe: self.safe_before(),
            events: self.events(),
            received: self.received,
            leaves_finished: self.leaves.iter().filter(|peer| peer.finished).count(),
        }
    }

    /// Stamp before which everything may be run here.
    pub fn safe_before(&self) -> Stamp {
        self.reach.min()
    }

    /// Stamp of the next batch here, if no leaf can precede it.
    pub fn next_due(&self) -> Option<Stamp> {
        self.next_track().and_then(|track| self.place.next_in(track))
    }

    /// Runs up to `batches` batches that no leaf can precede. True if there were that many.
    pub fn advance(&mut self, batches: usize) -> Result<bool, Breach> {
        for _ in 0..batches {
            let Some(track) = self.next_track() else { return Ok(false) };
            self.place.step(track)?;
            self.batches += 1;
            for envelope in std::mem::take(&mut self.place.leaving) {
                self.post(envelope);
            }
            if track == Track::Ahead {
                self.lead.push_back(self.place.now_in(Track::Ahead));
            }
            self.limit_lead();
            if self.place.activity().pauses() {
                break;
            }
        }
        Ok(true)
    }

    /// The track whose next batch may run: that of sources first, as what follows from it is always later.
    fn next_track(&self) -> Option<Track> {
        let [ahead, main] = [Track::Ahead, Track::Main].map(|track| self.place.next_in(track));
        let can_lead = self.has_sources && !self.catching_up && ahead.is_some_and(|next| next < self.sources_safe());
        if can_lead {
            return Some(Track::Ahead);
        }
        // Nothing overtakes a message of a source, as it may cause something earlier.
        main.filter(|next| *next < self.safe_before() && ahead.is_none_or(|ahead| *next <= ahead)).map(|_| Track::Main)
    }

    /// Messages of sources strictly before this may be handled here.
    fn sources_safe(&self) -> Stamp {
        self.source_reach.min()
    }

    /// Decides whether the rest has to catch up before more is handled ahead.
    fn limit_lead(&mut self) {
        if self.lead.is_empty() {
            return;
        }
        let rest = self.place.next().unwrap_or(Stamp::NEVER).min(self.safe_before());
        while self.lead.pop_front_if(|stamp| *stamp < rest).is_some() {}
        let most = if self.catching_up { self.lead_max / 2 } else { self.lead_max };
        self.catching_up = self.lead.len() > most;
    }

    /// True if the hub waits for sources only.
    fn waits_for_sources(&self) -> bool {
        self.has_sources
            && !self.catching_up
            && (!self.sources_safe().is_never() || self.place.next_in(Track::Ahead).is_some())
    }

    /// Processes a frame of a leaf.
    pub fn receive(&mut self, leaf: usize, up: Up<M, R>) -> Result<(), Breach> {
        let promised = self.leaves[leaf].acknowledge(leaf, up.acked)?;
        if up.floor < promised {
            return Err(Breach::Floor { leaf, promised, floor: up.floor });
        }
        let peer = &self.leaves[leaf];
        if up.finished && !self.finishing {
            return Err(Breach::Protocol { leaf, what: "it sends its last frame before the run is over" });
        }
        if up.done < peer.done || up.done > peer.granted {
            return Err(Breach::Protocol {
                leaf,
                what: "it reports progress beyond what it was granted, or less than it has reported before",
            });
        }
        self.received += (up.mail.len() + up.log.len()) as u64;
        for envelope in up.mail {
            self.check(leaf, &envelope)?;
            let answers = &mut self.foretold[envelope.from.index()];
            let was_foretold = answers.pop_front_if(|answer| answer.is_like(&envelope)).is_some();
            if !was_foretold {
                self.check_stamp(leaf, &envelope, promised)?;
            }
            (self.observer)(&envelope);
            self.last_numbers[envelope.from.index()] = envelope.action_number();
            let peer = &mut self.leaves[leaf];
            peer.last_up = Some((envelope.message.name(), envelope.arrival));
            peer.messages_up += 1;
            match was_foretold {
                true => {}
                false if self.place.lives_here(envelope.to) => self.place.accept(envelope),
                false => self.post(envelope),
            }
        }
        if up.finished {
            self.check_answers(leaf)?;
        }
        self.check_log(leaf, &up.log)?;
        self.leaves[leaf].last_entry =
            up.log.last().map(|entry| (entry.stamp, entry.actor)).or(self.leaves[leaf].last_entry);
        self.logs[leaf].extend(up.log);
        self.leaves[leaf].reported = up.floor;
        self.leaves[leaf].done = up.done;
        self.leaves[leaf].finished |= up.finished;
        self.update(leaf);
        self.limit_lead();
        Ok(())
    }

    /// Sends the frames that are due before blocking: to leaves that have mail, or that could proceed with a later
    /// grant.
    pub fn flush(&mut self, contact: Contact, send: &mut dyn FnMut(usize, Down<M>)) {
        if self.safe_before().is_never() && self.next_here().is_none() {
            self.finishing = true;
        }
        for leaf in 0..self.leaves.len() {
            let grant = self.grant(leaf);
            let holds_up = self.holds_up(leaf);
            let peer = &mut self.leaves[leaf];
            let ending = self.finishing && !peer.dismissed;
            let view = peer.view();
            let useful = !peer.mail.is_empty() || (peer.granted <= view && view < grant);
            let blocks_soon = !self.has_sources && view < grant;
            let pressing = contact == Contact::All || peer.mail.len() > MAIL_KEPT || holds_up || blocks_soon;
            if ending || (useful && pressing) {
                send(leaf, peer.frame(grant, if self.finishing { Instruction::Finish } else { Instruction::Run }));
            }
        }
    }

    /// Ends the run early: sends each leaf a last frame, so that it runs what it may and sends its last frame.
    pub fn stop(&mut self, send: &mut dyn FnMut(usize, Down<M>)) {
        for leaf in 0..self.leaves.len() {
            let grant = self.grant(leaf);
            let peer = &mut self.leaves[leaf];
            // Finished leaves are told too, as the whole run has failed.
            send(leaf, peer.frame(grant, Instruction::Stop));
        }
        self.finishing = true;
        self.stopped = true;
    }

    /// The log is complete before this stamp, though it may have later entries: the part that may be shown of a run
    /// that has not ended, or ended early.
    pub fn settled(&self) -> Stamp {
        self.leaves.iter().map(|peer| peer.done).fold(self.done(), Stamp::min)
    }

    /// Stamp before which everything has run here.
    pub fn done(&self) -> Stamp {
        let done =
            |track, safe| self.place.next_in(track).unwrap_or(Stamp::NEVER).min(safe).max(self.place.now_in(track));
        let main = done(Track::Main, self.safe_before());
        if self.has_sources { main.min(done(Track::Ahead, self.sources_safe())) } else { main }
    }

    /// Stamp of the next event here.
    fn next_here(&self) -> Option<Stamp> {
        [Track::Main, Track::Ahead].into_iter().filter_map(|track| self.place.next_in(track)).min()
    }

    /// Requests progress from the leaves whose missing records keep the run's log from being complete as far as it
    /// could be.
    pub fn request_progress(&mut self, send: &mut dyn FnMut(usize, Down<M>)) {
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

    /// Leaves with outstanding requests for records.
    pub fn asked(&self) -> Vec<usize> {
        (0..self.leaves.len()).filter(|leaf| self.awaits_records(*leaf)).collect()
    }

    /// The leaf with outstanding requests that has reported least.
    pub fn least_reported(&self) -> Option<usize> {
        (0..self.leaves.len()).filter(|leaf| self.awaits_records(*leaf)).min_by_key(|leaf| self.leaves[*leaf].done)
    }

    /// Messages and records received from leaves.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Name of the message that a leaf has to answer before the hub can proceed: the last one sent to it, if its
    /// earliest reaction bounds what the hub may run. None if an event of the leaf's own does.
    pub fn wait_cause(&self, leaf: usize) -> Option<&'static str> {
        let peer = &self.leaves[leaf];
        peer.last_down.map(|(name, _)| name).filter(|_| peer.unacked_min < peer.reported)
    }

    pub fn awaits_records(&self, leaf: usize) -> bool {
        self.leaves[leaf].awaits_records()
    }

    /// Stamp before which no unsent message can reach the leaf.
    fn grant(&self, leaf: usize) -> Stamp {
        let peer = &self.leaves[leaf];
        // Where only sources make the hub send, nothing else can lead to anything new.
        let (safe, next) = match self.has_sources {
            true => (self.sources_safe(), self.place.next_in(Track::Ahead)),
            false => (self.safe_before(), self.place.next()),
        };
        let from_leaves = if peer.latency.is_zero() { safe } else { safe.after(peer.latency) };
        let from_here = next.unwrap_or(Stamp::NEVER).after(peer.latency);
        from_leaves.min(from_here).max(peer.granted)
    }

    /// True if nothing is left to run and every leaf has sent its last frame.
    pub fn finished(&self) -> bool {
        self.finishing && self.leaves.iter().all(|peer| peer.finished)
    }

    /// Takes the hub's records since the last call: those of all else, and those of messages handled ahead. Each is in
    /// order; of one stamp and actor, the first come before the second.
    pub fn take_logs(&mut self) -> [Vec<Entry<R>>; 2] {
        [Track::Main, Track::Ahead].map(|track| self.place.take_log_of(track))
    }

    /// Takes the records received from leaves so far, by leaf.
    pub fn take_leaf_logs(&mut self) -> Vec<Vec<Entry<R>>> {
        self.logs.iter_mut().map(std::mem::take).collect()
    }

    pub fn leaf_statuses(&self) -> Vec<LeafStatus> {
        self.leaves
            .iter()
            .enumerate()
            .map(|(leaf, peer)| LeafStatus {
                floor: peer.view(),
                granted: peer.granted,
                unanswered: peer.unacked.len(),
                last_down: peer.last_down,
                last_up: peer.last_up,
                blocks: peer.awaits_records() || self.holds_up(leaf),
                asked: peer.awaits_records().then_some((peer.done, peer.asked)),
                finished: peer.finished,
                messages_down: peer.messages_down,
                messages_up: peer.messages_up,
            })
            .collect()
    }

    /// True if only the leaves' last frames are missing.
    pub fn finishing(&self) -> bool {
        self.finishing
    }

    /// Leaves that must answer before the hub can proceed; [`Hub::flush`] has sent each what it needs.
    pub fn blockers(&self) -> Vec<usize> {
        (0..self.leaves.len()).filter(|leaf| self.is_blocker(*leaf)).collect()
    }

    /// The leaves that block the hub, and those that are certain to answer, as they have been granted a time at which
    /// they may send something. Where all share a processor, one wait for all of them costs less than one for each.
    pub fn answering(&self) -> Vec<usize> {
        (0..self.leaves.len()).filter(|leaf| self.is_blocker(*leaf) || self.leaves[*leaf].owes_answer()).collect()
    }

    pub fn is_blocker(&self, leaf: usize) -> bool {
        match self.finishing {
            true => !self.leaves[leaf].finished,
            false => self.holds_up(leaf),
        }
    }

    /// True if this leaf keeps the hub from proceeding.
    fn holds_up(&self, leaf: usize) -> bool {
        let peer = &self.leaves[leaf];
        let (counts, safe) = match self.waits_for_sources() {
            true => (peer.has_source, self.sources_safe()),
            false => (true, self.safe_before()),
        };
        counts && !safe.is_never() && peer.reach() == safe
    }

    /// True if this leaf has sent its last frame.
    pub fn has_finished(&self, leaf: usize) -> bool {
        self.leaves[leaf].finished
    }

    /// Appends a message to the mail of its receiver's leaf.
    fn post(&mut self, envelope: Envelope<M>) {
        let Envelope { arrival, from, to, .. } = envelope;
        let (reaction, answer) = self.place.reaction_to(arrival, from, to, &envelope.message);
        if let Some(answer) = answer {
            self.foretell(answer);
        }
        let leaf = self.homes[envelope.to.index()].expect("an actor that does not live here lives on a leaf");
        let peer = &mut self.leaves[leaf];
        peer.unsent = peer.unsent.min(reaction);
        peer.last_down = Some((envelope.message.name(), envelope.arrival));
        peer.messages_down += 1;
        peer.mail.push(envelope);
        if !reaction.is_never() {
            self.update(leaf);
        }
    }

    /// Enters an answer into the agenda as if it had arrived, and notes it for comparison.
    fn foretell(&mut self, answer: Envelope<M>) {
        let sender = answer.from.index();
        self.foretold_numbers[sender] += 1;
        self.place.accept(Envelope { number: self.foretold_numbers[sender], ..answer.clone() });
        self.foretold[sender].push_back(answer);
    }

    /// After the last frame of a leaf: it must have sent all answers that were foretold, unless the run has failed.
    fn check_answers(&self, leaf: usize) -> Result<(), Breach> {
        if self.stopped {
            return Ok(());
        }
        let missing = self.homes.iter().zip(&self.foretold).filter(|(home, _)| **home == Some(leaf));
        match missing.filter_map(|(_, answers)| answers.front()).next() {
            Some(answer) => Err(Breach::Answer {
                leaf: Some(leaf),
                actor: answer.from,
                foretold: Some(answer.describe()),
                sent: None,
            }),
            None => Ok(()),
        }
    }

    fn update(&mut self, leaf: usize) {
        let peer = &self.leaves[leaf];
        self.reach.set(leaf, peer.reach());
        if peer.has_source {
            self.source_reach.set(leaf, peer.reach());
        }
    }

    /// Rejects messages that no honest leaf sends, before they can do harm.
    fn check(&self, leaf: usize, envelope: &Envelope<M>) -> Result<(), Breach> {
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
        if self.has_sources && !self.place.lives_here(envelope.to) {
            return wrong("a message to another member, where all decisions are the router's");
        }
        if self.has_sources && envelope.message.wants_answer() {
            return wrong("a message that asks for an answer, where no member needs any");
        }
        if envelope.action_number() <= self.last_numbers[envelope.from.index()] {
            return wrong("the messages of an actor are out of order");
        }
        Ok(())
    }

    /// Rejects a message with a stamp that its leaf may not give it.
    fn check_stamp(&self, leaf: usize, envelope: &Envelope<M>, promised: Stamp) -> Result<(), Breach> {
        let wrong = |what| Err(Breach::Protocol { leaf, what });
        if let Some(answer) = self.foretold[envelope.from.index()].front()
            && answer.to == envelope.to
        {
            let foretold = Some(answer.describe());
            let sent = Some(envelope.describe());
            return Err(Breach::Answer { leaf: Some(leaf), actor: envelope.from, foretold, sent });
        }
        let earliest = promised.after(self.place.latency(envelope.from, envelope.to));
        if envelope.arrival < earliest {
            let from = envelope.from;
            let message = envelope.message.name();
            let arrival = envelope.arrival;
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
            has_source: false,
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

    /// True if requested records are missing. Its last frame carries all of them.
    fn awaits_records(&self) -> bool {
        self.done < self.asked && !self.finished
    }

    /// True if a frame from the leaf is certain: once it has run all that it is granted, its floor is later than the
    /// one that the hub knows.
    fn owes_answer(&self) -> bool {
        !self.finished && self.reported.min(self.unacked_min) < self.granted
    }

    /// Earliest stamp at which anything could still leave this leaf, as far as the hub knows.
    fn view(&self) -> Stamp {
        self.reported.min(self.unsent).min(self.unacked_min)
    }

    /// Earliest stamp at which anything from this leaf could still arrive at the hub.
    fn reach(&self) -> Stamp {
        self.view().after(self.latency)
    }

    /// Acknowledges frames up to `acked`. Returns the leaf's promise, given those frames.
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
        /// Nothing leaves a leaf before the earliest reaction to its unacknowledged frames.
        #[test]
        fn unacknowledged_frames_lower_the_view_of_a_leaf(
            frames in prop::collection::vec((0u64..50, 0u64..4), 0..40),
        ) {
            let mut peer = LeafState::<()>::new(Span::ZERO);
            peer.reported = Stamp::NEVER;
            let mut sent = Vec::new();
            for (time, receives) in frames {
                peer.unsent = Stamp::at(Time::from_micros(time));
                sent.push(peer.unsent);
                peer.frame(Stamp::ZERO, Instruction::Run);
                let before = peer.acked as usize;
                let acked = (before + receives as usize).min(sent.len());
                let earliest = sent[before..acked].iter().min().copied().unwrap_or(Stamp::NEVER);
                prop_assert_eq!(peer.acknowledge(0, acked as u64).unwrap(), earliest);
                prop_assert_eq!(peer.view(), sent[acked..].iter().min().copied().unwrap_or(Stamp::NEVER));
            }
        }
    }
}
