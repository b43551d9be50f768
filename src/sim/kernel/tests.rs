//! The kernel under hostile conditions: random actors, random latencies (zero too), frames delayed at random. In all
//! cases hub and leaves must give the log of one place that holds all actors.

mod contract;

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::random::mix_bits;
use crate::time::{Span, Stamp, Time};

type Cast = Vec<(ActorId, BoxedActor<Word, u64>)>;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Word {
    /// Length of the chain of further messages that it may cause.
    life: u8,
    /// 0: answer at once; 1: never; [`UNTIL`]: not before a time; otherwise: after two microseconds less. From
    /// [`ORDER`] on the answer is foretold.
    patience: u8,
    content: u64,
}

impl Message for Word {
    fn reaction(&self) -> Reaction {
        match self.patience {
            0 => Reaction::Now,
            1 => Reaction::Never,
            UNTIL => Reaction::Until(Time::from_micros(self.content % 64)),
            span => Reaction::After(Span::from_micros(u64::from(span) - 2)),
        }
    }

    fn name(&self) -> &'static str {
        "Word"
    }

    fn foretold(&self, arrival: Stamp) -> Option<(Stamp, Word)> {
        let Reaction::After(least) = self.reaction() else { return None };
        let Word { life, patience, content } = *self;
        let answer = Word { life: life.saturating_sub(1), patience: (content % 8) as u8, content: mix_bits(content) };
        let sent = Stamp::at(arrival.time + least + Span::from_micros(content % 3));
        (patience >= ORDER).then_some((sent, answer))
    }
}

const UNTIL: u8 = 6;
const ORDER: u8 = 8;

/// Acts at random within its promises; logs every event.
struct Gossip {
    id: ActorId,
    everybody: u32,
    life: u8,
    state: u64,
    /// Nothing is to reach it before.
    undisturbed_until: Time,
}

const QUIET: u64 = 1 << 32;

impl Gossip {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = mix_bits(self.state);
        self.state % below
    }

    /// Sends one or two words, directly or after a timer, but none before `earliest`.
    fn exchange(&mut self, earliest: Time, life: u8, out: &mut Outbox<Word, u64>) {
        if life == 0 {
            return;
        }
        for _ in 0..=self.draw(2) {
            let later = earliest + Span::from_micros(self.draw(4) * self.draw(9));
            match self.draw(6) {
                0 => out.wake_at(later, u64::from(life)),
                1 => {
                    let wait = self.draw(20);
                    out.wake_promising(later, later + Span::from_micros(wait), u64::from(life) | wait << 8);
                }
                _ => self.send(later, life, out),
            }
        }
        if self.draw(3) == 0 {
            out.wake_quietly_at(earliest + Span::from_micros(self.draw(30)), QUIET);
        }
    }

    fn send(&mut self, later: Time, life: u8, out: &mut Outbox<Word, u64>) {
        let to = ActorId(self.draw(self.everybody.into()) as u32);
        let word = Word { life: life - 1, patience: self.draw(u64::from(ORDER)) as u8, content: self.state };
        out.set_rank(self.draw(3) as u16);
        out.send_at(later, to, word);
    }
}

impl Actor<Word, u64> for Gossip {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        assert!(now.time >= self.undisturbed_until, "{batch:?} come at {now}, before {}", self.undisturbed_until);
        for event in batch.drain(..) {
            self.state = mix_bits(
                self.state ^ mix_bits(now.time.micros()) ^ u64::from(now.step) << 32 ^ u64::from(event.from.0),
            );
            match event.cause {
                Cause::Start => self.exchange(now.time, self.life, out),
                Cause::Timer(QUIET) => {}
                Cause::Timer(token) => self.exchange(now.time + Span::from_micros(token >> 8), token as u8, out),
                Cause::Message(word) => {
                    self.state ^= mix_bits(word.content);
                    match word.reaction() {
                        Reaction::Now => self.exchange(now.time, word.life, out),
                        Reaction::After(span) => self.exchange(now.time + span, word.life, out),
                        Reaction::Until(time) => self.exchange(now.time.max(time), word.life, out),
                        Reaction::Never => out.wake_quietly_at(now.time + Span::from_micros(self.draw(9)), QUIET),
                    }
                }
            }
            out.log(self.state ^ u64::from(self.id.0));
        }
        self.undisturbed_until = out.horizon();
    }
}

fn gossips(seed: u64, everybody: u32, life: u8) -> Cast {
    let gossip = |id| -> BoxedActor<Word, u64> {
        Box::new(Gossip {
            id: ActorId(id),
            everybody,
            life,
            state: mix_bits(seed ^ mix_bits(id.into())),
            undisturbed_until: Time::ZERO,
        })
    };
    (0..everybody).map(|id| (ActorId(id), gossip(id))).collect()
}

fn inline(actors: Cast, latencies: Latencies) -> Vec<Entry<u64>> {
    let mut place = Place::new(actors, latencies);
    assert!(!place.run_before(Stamp::NEVER, 200_000).expect("gossips keep their promises"), "the gossip never ends");
    let log = place.log().to_vec();
    assert_eq!(place.events(), log.len() as u64, "gossips write down each event");
    place.clear_log();
    assert_eq!(place.take_log(), []);
    log
}

/// A hub and its leaves with wires between them that deliver frames in order, after random delays.
struct Wires {
    hub: Hub<Word, u64>,
    leaves: Vec<Leaf<Word, u64>>,
    down: Vec<VecDeque<Down<Word>>>,
    up: Vec<VecDeque<Up<Word, u64>>>,
    /// True if the hub handles some messages ahead of others.
    is_ahead: bool,
    chance: u64,
    idle: u32,
    merger: LogMerger<u64>,
    log: Vec<Entry<u64>>,
    /// Messages sent to each leaf and received from it, and records received from all.
    letters: Vec<(u64, u64)>,
    records: usize,
}

impl Wires {
    fn new(homes: &[usize], count: usize, actors: Cast, latencies: Latencies) -> Wires {
        Wires::with_contract(homes, count, actors, latencies, Contract::default())
    }

    fn with_contract(homes: &[usize], count: usize, actors: Cast, latencies: Latencies, contract: Contract) -> Wires {
        let mut at: Vec<Vec<_>> = (0..=count).map(|_| Vec::new()).collect();
        actors.into_iter().for_each(|actor| at[homes[actor.0.index()]].push(actor));
        let mut at = at.into_iter();
        let here = at.next().unwrap();
        let there: Vec<Vec<_>> = at.filter(|actors| !actors.is_empty()).collect();
        let ids: Vec<Vec<ActorId>> = there.iter().map(|actors| actors.iter().map(|(id, _)| *id).collect()).collect();
        Wires {
            hub: Hub::new(here, &ids, latencies.clone()).with_contract(contract.clone()),
            down: there.iter().map(|_| VecDeque::new()).collect(),
            up: there.iter().map(|_| VecDeque::new()).collect(),
            leaves: there
                .into_iter()
                .map(|actors| Leaf::new(actors, latencies.clone()).with_contract(contract.clone()))
                .collect(),
            is_ahead: !contract.sources.is_empty(),
            chance: 1,
            idle: 0,
            merger: LogMerger::new(ids.len() + 2),
            log: Vec::new(),
            letters: vec![(0, 0); ids.len()],
            records: 0,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.chance = mix_bits(self.chance);
        (self.chance % below as u64) as usize
    }

    /// One random step of the hub, a leaf or a wire.
    fn tick(&mut self) -> Result<(), Breach> {
        if self.draw(4) == 0 { self.hub_turn() } else { self.deliver() }
    }

    /// Delivers a frame, or runs a leaf.
    fn deliver(&mut self) -> Result<(), Breach> {
        let leaves = self.leaves.len();
        match self.draw(3) {
            0 if leaves > 0 => {
                let leaf = self.draw(leaves);
                if let Some(up) = self.up[leaf].pop_front() {
                    self.letters[leaf].1 += up.mail.len() as u64;
                    self.records += up.log.len();
                    self.hub.receive(leaf, up)?;
                    self.idle = 0;
                }
            }
            _ if leaves > 0 => {
                let leaf = self.draw(leaves);
                if let Some(down) = self.down[leaf].pop_front() {
                    self.letters[leaf].0 += down.mail.len() as u64;
                    self.leaves[leaf].receive(down)?;
                    self.idle = 0;
                }
                if self.draw(2) == 0
                    && let Some(up) = self.leaves[leaf].turn()?
                {
                    let before = self.leaves[leaf].piece_promise();
                    let pieces = pieces(up, &mut self.chance, &|up| up.cut(before));
                    self.up[leaf].extend(pieces);
                    self.idle = 0;
                }
            }
            _ => {}
        }
        self.idle += 1;
        assert!(self.idle < 10_000, "deadlock: {:#?}", self.hub.leaf_statuses());
        Ok(())
    }

    fn hub_turn(&mut self) -> Result<(), Breach> {
        let due = self.hub.next_due();
        let mut moved = self.hub.advance(1)?;
        assert_eq!(due.is_some(), moved);
        if !self.is_ahead {
            assert_eq!(due, moved.then(|| self.hub.now()), "what is due runs next");
        }
        let batches = self.draw(20);
        self.hub.advance(batches)?;
        if self.draw(2) == 0 {
            let contact = if self.draw(2) == 0 { Contact::All } else { Contact::Blockers };
            let down = &mut self.down;
            let chance = &mut self.chance;
            self.hub.flush(contact, &mut |leaf, frame| {
                down[leaf].extend(pieces(frame, chance, &Down::cut));
                moved = true;
            });
        }
        if self.draw(8) == 0 {
            self.settle(self.hub.settled());
            let down = &mut self.down;
            self.hub.request_progress(&mut |leaf, frame| {
                down[leaf].push_back(frame);
                moved = true;
            });
        }
        self.idle = if moved { 0 } else { self.idle + 1 };
        Ok(())
    }

    /// Runs the hub as far as it can, writes its frames, delivers them, and lets all leaves run. Then each leaf that is
    /// said to answer has answered.
    fn take_turns(&mut self) -> Result<(), Breach> {
        while self.hub.advance(1_000)? {}
        let down = &mut self.down;
        self.hub.flush(Contact::Blockers, &mut |leaf, frame| down[leaf].push_back(frame));
        let answering = self.hub.answering();
        assert!(self.hub.blockers().iter().all(|leaf| answering.contains(leaf)));
        for leaf in 0..self.leaves.len() {
            while let Some(down) = self.down[leaf].pop_front() {
                self.letters[leaf].0 += down.mail.len() as u64;
                self.leaves[leaf].receive(down)?;
            }
            while let Some(up) = self.leaves[leaf].turn()? {
                self.up[leaf].push_back(up);
            }
            assert!(!self.up[leaf].is_empty() || !answering.contains(&leaf), "leaf {leaf} does not answer");
        }
        for leaf in answering {
            while let Some(up) = self.up[leaf].pop_front() {
                self.letters[leaf].1 += up.mail.len() as u64;
                self.records += up.log.len();
                self.hub.receive(leaf, up)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, before: Stamp) {
        let logs = self.hub.take_leaf_logs().into_iter().chain(self.hub.take_logs());
        logs.enumerate().for_each(|(place, log)| self.merger.add(place, log));
        let waited = self.merger.waiting();
        let settled = self.merger.take_before(before);
        assert_eq!(waited, settled.len() + self.merger.waiting());
        self.log.extend(settled);
    }

    fn run(&mut self, chance: u64) -> Result<Vec<Entry<u64>>, Breach> {
        self.chance = chance;
        while !self.hub.finished() {
            self.tick()?;
        }
        assert_eq!(self.hub.asked(), [0; 0], "finished leaves have sent all records");
        self.settle(Stamp::NEVER);
        assert_eq!(self.merger.waiting(), 0);
        self.check_the_counts();
        Ok(std::mem::take(&mut self.log))
    }

    /// After the end, the hub's counters match the traffic on the wires.
    fn check_the_counts(&self) {
        let counted = |status: LeafStatus| (status.messages_down, status.messages_up);
        assert_eq!(self.hub.leaf_statuses().into_iter().map(counted).collect::<Vec<_>>(), self.letters);
        let received = self.letters.iter().map(|letters| letters.1).sum::<u64>() + self.records as u64;
        let events = self.hub.events();
        let leaves_finished = self.hub.leaves();
        assert_eq!(self.hub.progress(), Progress { safe: Stamp::NEVER, events, received, leaves_finished });
        assert!(self.leaves.iter().all(|leaf| leaf.finished() && !leaf.stopped()));
        assert_eq!(leaves_finished, self.leaves.len());
    }

    /// Ends the run early, and receives all last frames.
    fn stop(&mut self) -> Result<(), Breach> {
        let down = &mut self.down;
        self.hub.stop(&mut |leaf, frame| down[leaf].push_back(frame));
        while !self.hub.blockers().is_empty() || self.down.iter().any(|frames| !frames.is_empty()) {
            self.deliver()?;
        }
        Ok(())
    }
}

/// Splits a frame at random, as if it were too long.
fn pieces<F: Clone>(frame: F, chance: &mut u64, cut: &dyn Fn(F) -> Option<(F, F)>) -> Vec<F> {
    *chance = mix_bits(*chance);
    match chance.is_multiple_of(3).then(|| cut(frame.clone())).flatten() {
        None => vec![frame],
        Some((first, rest)) => {
            let mut all = pieces(first, chance, cut);
            all.extend(pieces(rest, chance, cut));
            all
        }
    }
}

/// Latency and home of each actor.
fn nodes() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec((0u64..4, 0usize..5), 1..8)
}

/// The first of `count + 1` places is the hub: its actors have no latency.
fn lay_out(mut nodes: Vec<(u64, usize)>, count: usize) -> (Vec<usize>, Latencies) {
    nodes.iter_mut().for_each(|(latency, home)| {
        *home %= count + 1;
        if *home == 0 {
            *latency = 0
        }
    });
    (nodes.iter().map(|node| node.1).collect(), nodes.iter().map(|node| Span::from_micros(node.0)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hub_and_leaves_give_the_log_of_one_place(
        seed: u64,
        chance: u64,
        life in 1u8..7,
        count in 1usize..5,
        nodes in nodes(),
    ) {
        let (homes, latencies) = lay_out(nodes, count);
        let everybody = homes.len() as u32;

        let judged = judge::run_actors(gossips(seed, everybody, life).into_iter().map(|(_, actor)| actor).collect(), &latencies);
        let expected = inline(gossips(seed, everybody, life), latencies.clone());
        prop_assert_eq!(&expected, &judged);
        let mut wires = Wires::new(&homes, count, gossips(seed, everybody, life), latencies);
        let found = wires.run(chance).expect("gossips keep their promises");
        prop_assert_eq!(&found, &expected);

        // Gossips log each event.
        let mut here: Vec<_> = found.iter().filter(|entry| homes[entry.actor.index()] == 0).collect();
        prop_assert_eq!(wires.hub.events(), here.len() as u64);
        here.dedup_by_key(|entry| (entry.stamp, entry.actor));
        prop_assert_eq!(wires.hub.batches(), here.len() as u64);
    }

    /// A hub that waits for all leaves that are said to answer waits for no other, and gives the same log.
    #[test]
    fn awaited_leaves_answer(seed: u64, life in 1u8..7, count in 1usize..5, nodes in nodes()) {
        let (homes, latencies) = lay_out(nodes, count);
        let everybody = homes.len() as u32;
        let expected = inline(gossips(seed, everybody, life), latencies.clone());
        let mut wires = Wires::new(&homes, count, gossips(seed, everybody, life), latencies);
        while !wires.hub.finished() {
            wires.take_turns().expect("gossips keep their promises");
        }
        wires.settle(Stamp::NEVER);
        prop_assert_eq!(std::mem::take(&mut wires.log), expected);
        wires.check_the_counts();
    }

    #[test]
    fn a_stopped_run_leaves_a_prefix_of_its_log(
        seed: u64,
        chance: u64,
        ticks in 0usize..400,
        count in 1usize..5,
        nodes in nodes(),
    ) {
        let (homes, latencies) = lay_out(nodes, count);
        let everybody = homes.len() as u32;
        let mut expected = inline(gossips(seed, everybody, 6), latencies.clone());
        let mut wires = Wires::new(&homes, count, gossips(seed, everybody, 6), latencies);
        wires.chance = chance;
        for _ in 0..ticks {
            wires.tick().expect("gossips keep their promises");
        }
        let reached = wires.hub.next_due().unwrap_or(wires.hub.safe_before()).max(wires.hub.now());
        wires.stop().expect("gossips keep their promises");
        let whole = wires.hub.settled();
        prop_assert!(whole >= reached, "{whole}, though the hub had come to {reached}");
        wires.settle(whole);
        expected.retain(|entry| entry.stamp < whole);
        prop_assert_eq!(wires.log, expected);
        prop_assert!(wires.leaves.iter().all(|leaf| leaf.finished() && leaf.stopped()));
    }
}

/// Answers a word sooner than its contract allows, or sends from a timer before the timer's floor.
struct Hasty {
    floor: Option<Time>,
}

impl Actor<Word, u64> for Hasty {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for event in batch.drain(..) {
            match (event.cause, self.floor) {
                (Cause::Start, _) => {}
                (Cause::Message(_), Some(floor)) => out.wake_promising(now.time + Span::from_micros(3), floor, 0),
                _ => out.send(ActorId(0), Word { life: 0, patience: 0, content: 0 }),
            }
        }
    }
}

/// Sends one word at the start and nothing afterwards.
struct Opener(u8);

impl Actor<Word, u64> for Opener {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        if batch[0].cause == Cause::Start {
            out.send(ActorId(1), Word { life: 0, patience: self.0, content: 0 });
        }
    }
}

fn opener_and_hasty(patience: u8, floor: Option<Time>) -> (Cast, Latencies) {
    let actors: Cast = vec![(ActorId(0), Box::new(Opener(patience))), (ActorId(1), Box::new(Hasty { floor }))];
    (actors, Arc::from([Span::ZERO, Span::from_micros(10)]))
}

fn stamp(micros: u64) -> Stamp {
    Stamp::at(Time::from_micros(micros))
}

#[test]
fn an_actor_that_answers_too_soon_stops_the_run_in_every_layout() {
    let breach = |promised, at, cause| Breach::Promise { actor: ActorId(1), cause, promised, did: "Word", at };
    let (actors, latencies) = opener_and_hasty(7, None);
    let expected = breach(stamp(15), stamp(10), "Word");
    assert_eq!(Place::new(actors, latencies).run_before(Stamp::NEVER, 9), Err(expected.clone()));

    let (actors, latencies) = opener_and_hasty(7, None);
    assert_eq!(Wires::new(&[0, 1], 1, actors, latencies).run(7), Err(expected));

    for (patience, floor, cause) in [(1, Stamp::NEVER, "a quiet timer"), (0, stamp(14), "a timer")] {
        let (actors, latencies) = opener_and_hasty(patience, Some(floor.time));
        let expected = breach(floor, stamp(13), cause);
        assert_eq!(Place::new(actors, latencies).run_before(Stamp::NEVER, 9), Err(expected));
    }
}

/// Every frame of a leaf that breaks its promises stops the run.
#[test]
fn a_lying_leaf_stops_the_run() {
    let honest = || {
        let (mut actors, latencies) = opener_and_hasty(7, None);
        actors.pop();
        let record_check = |_, record: &u64| if *record < 7 { Ok(()) } else { Err("a record that nobody writes") };
        let hub = Hub::<Word, u64>::new(actors, &[vec![ActorId(1)]], latencies);
        let mut hub = hub.with_record_check(Box::new(record_check));
        hub.flush(Contact::All, &mut |_, _| {});
        let floor = Up { acked: 1, floor: Stamp::NEVER, done: stamp(3), finished: false, mail: vec![], log: vec![] };
        hub.receive(0, floor).unwrap();
        hub.advance(10).unwrap();
        hub.flush(Contact::All, &mut |_, _| {});
        hub
    };
    let word = Word { life: 0, patience: 0, content: 0 };
    let mail =
        |arrival, from, to, number| Envelope { arrival, from: ActorId(from), to: ActorId(to), number, message: word };
    let up = |acked, floor, mail| Up { acked, floor, done: stamp(3), finished: false, mail, log: vec![] };
    let record = |micros, actor| Entry { stamp: stamp(micros), actor: ActorId(actor), record: 0 };
    let protocol = |what| Breach::Protocol { leaf: 0, what };

    let latest = Stamp::at(Time::from_micros(u64::MAX - (1 << 56)));
    let later = Stamp::at(latest.time + Span::from_micros(1));
    assert_eq!(honest().receive(0, up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 0, 1)])), Ok(()));
    assert_eq!(honest().receive(0, up(2, Stamp::NEVER, vec![mail(latest, 1, 0, 1)])), Ok(()));
    assert_eq!(
        honest().receive(0, up(2, Stamp::NEVER, vec![mail(stamp(24), 1, 0, 1)])),
        Err(Breach::Early { leaf: 0, from: ActorId(1), message: "Word", promised: stamp(15), arrival: stamp(24) })
    );
    // The leaf has promised to send nothing, and has not acknowledged the word that could change this.
    assert!(matches!(
        honest().receive(0, up(1, Stamp::NEVER, vec![mail(stamp(25), 1, 0, 1)])),
        Err(Breach::Early { .. })
    ));
    assert_eq!(
        honest().receive(0, up(2, stamp(14), vec![])),
        Err(Breach::Floor { leaf: 0, promised: stamp(15), floor: stamp(14) })
    );
    const PROGRESS: &str = "it reports progress beyond what it was granted, or less than it has reported before";
    let lies = [
        (up(3, Stamp::NEVER, vec![]), "it answers a frame that was never sent"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 0, 1, 1)]), "a message from an actor that lives elsewhere"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 2, 1)]), "a message names an actor that does not exist"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 1, 1)]), "a message that should have stayed at the leaf"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 0, 0)]), "the messages of an actor are out of order"),
        (up(2, Stamp::NEVER, vec![mail(Stamp::NEVER, 1, 0, 1)]), "a message that arrives at the end of time"),
        (up(2, Stamp::NEVER, vec![mail(later, 1, 0, 1)]), "a message that arrives at the end of time"),
        (Up { done: stamp(2), ..up(2, Stamp::NEVER, vec![]) }, PROGRESS),
        (Up { done: stamp(36), ..up(2, Stamp::NEVER, vec![]) }, PROGRESS),
        (
            Up { log: vec![record(2, 1)], ..up(2, Stamp::NEVER, vec![]) },
            "a record of a time for which it had reported everything",
        ),
        (
            Up { log: vec![Entry { record: 7, ..record(4, 1) }], ..up(2, Stamp::NEVER, vec![]) },
            "a record that nobody writes",
        ),
        (Up { log: vec![record(4, 0)], ..up(2, Stamp::NEVER, vec![]) }, "a record of an actor that lives elsewhere"),
        (Up { log: vec![record(5, 1), record(4, 1)], ..up(2, Stamp::NEVER, vec![]) }, "its records are out of order"),
    ];
    for (lie, what) in lies {
        assert_eq!(honest().receive(0, lie), Err(protocol(what)));
    }
}

/// Data of a stall report.
#[test]
fn the_hub_names_the_leaf_that_blocks_it() {
    let (mut actors, latencies) = opener_and_hasty(7, None);
    actors.pop();
    let mut hub = Hub::<Word, u64>::new(actors, &[vec![ActorId(1)]], latencies);
    let up = |acked, floor, finished| Up { acked, floor, done: Stamp::ZERO, finished, mail: vec![], log: vec![] };
    let check_status = |hub: &Hub<Word, u64>, floor, blocks, finishing| {
        let LeafStatus { floor: found, blocks: found_blocks, .. } = hub.leaf_statuses()[0].clone();
        assert_eq!((found, found_blocks, hub.finishing()), (floor, blocks, finishing));
        assert_eq!(hub.blockers().is_empty(), !blocks && !finishing);
    };
    check_status(&hub, Stamp::ZERO, true, false);
    hub.flush(Contact::All, &mut |_, _| {});
    hub.receive(0, up(1, Stamp::NEVER, false)).unwrap();
    check_status(&hub, Stamp::NEVER, false, false);
    // The word that has been sent may be answered from 15 on.
    hub.advance(10).unwrap();
    check_status(&hub, stamp(15), true, false);
    hub.flush(Contact::All, &mut |_, _| {});
    check_status(&hub, stamp(15), true, false);
    hub.receive(0, up(2, Stamp::NEVER, false)).unwrap();
    hub.flush(Contact::All, &mut |_, _| {});
    check_status(&hub, Stamp::NEVER, false, true);
    assert!(!hub.finished());
    hub.receive(0, up(3, Stamp::NEVER, true)).unwrap();
    assert!(hub.finished() && hub.blockers().is_empty() && hub.leaf_statuses()[0].finished);
}

/// Sets a timer so close to the last time that news from the hub could no longer arrive.
struct Late(u64);

impl Actor<Word, u64> for Late {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        if batch[0].cause == Cause::Start {
            out.wake_at(Time::from_micros(Time::LATEST.micros() - self.0), 0);
        }
        out.log(1);
    }
}

#[test]
fn a_leaf_with_an_unlimited_grant_still_receives_the_end() {
    // The first leaf is so far away that nothing can reach it any more, while the hub still waits for the second.
    let latencies: Latencies = [0, 1 << 57, 0].map(Span::from_micros).into();
    for chance in 0..20 {
        let lates = (0..).map(ActorId).zip([2, 5, 4]);
        let actors: Cast = lates.map(|(id, late)| -> (_, BoxedActor<_, _>) { (id, Box::new(Late(late))) }).collect();
        assert_eq!(Wires::new(&[0, 1, 2], 2, actors, latencies.clone()).run(chance).unwrap().len(), 6);
    }
}

/// Requests an event at a time, by a timer or by a message.
struct Planning(Time, bool);

impl Actor<Word, u64> for Planning {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        out.log(1);
        match (&batch[0].cause, self.1) {
            (Cause::Start, false) => out.wake_at(self.0, 0),
            (Cause::Start, true) => out.send_at(self.0, ActorId(0), Word { life: 0, patience: 0, content: 0 }),
            _ => {}
        }
    }
}

#[test]
fn nothing_happens_after_the_last_time() {
    let after = Time::LATEST + Span::from_micros(1);
    for (time, by_message) in [Time::LATEST, after, Time::NEVER].into_iter().flat_map(|at| [(at, false), (at, true)]) {
        let actors: Cast = vec![(ActorId(0), Box::new(Planning(time, by_message)))];
        let mut place = Place::new(actors, [Span::ZERO].into());
        let ran = place.run_before(Stamp::NEVER, 10);
        if time == Time::LATEST {
            assert_eq!((ran, place.now().time), (Ok(false), time));
            continue;
        }
        let Err(breach @ Breach::Late { actor: ActorId(0), what, due }) = ran else { panic!("{ran:?}") };
        assert_eq!((what, due.time), (if by_message { "Word" } else { "a timer" }, time));
        let message = breach.describe(&|_| "york".to_owned(), &|_| String::new());
        assert!(message.starts_with(&format!("virtual time ends before {what} of york, due at [")), "{message}");
    }
}

/// Sends its first message ahead, and others at the time of that one, by their ranks.
struct Ranking;

impl Actor<Word, u64> for Ranking {
    fn handle_batch(&mut self, now: Stamp, _: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        let word = |content| Word { life: 0, patience: 1, content };
        let later = Time::from_micros(5);
        if now == Stamp::ZERO {
            out.wake_at(later, 0);
            out.set_rank(2);
            return out.send_at(later, ActorId(1), word(0));
        }
        out.send(ActorId(1), word(1));
        for rank in [3, 2, 1] {
            out.set_rank(rank);
            out.send(ActorId(1), word(rank.into()));
        }
    }
}

/// Logs the contents of messages.
struct Logging;

impl Actor<Word, u64> for Logging {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for event in batch.drain(..) {
            if let Cause::Message(word) = event.cause {
                out.log(word.content);
            }
        }
    }
}

#[test]
fn a_message_sent_ahead_arrives_by_its_rank() {
    let actors: Cast = vec![(ActorId(0), Box::new(Ranking)), (ActorId(1), Box::new(Logging))];
    let mut place = Place::new(actors, [Span::ZERO; 2].into());
    while place.run_before(Stamp::NEVER, 9).unwrap() {}
    let log = place.take_log();
    assert_eq!(log.iter().map(|entry| entry.record).collect::<Vec<_>>(), [1, 1, 0, 2, 3]);
}

/// Notes its horizon at each batch.
struct Watching(Arc<std::sync::Mutex<Vec<Time>>>);

impl Actor<Word, u64> for Watching {
    fn handle_batch(&mut self, _: Stamp, _: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        self.0.lock().unwrap().push(out.horizon());
    }
}

#[test]
fn an_actor_foresees_the_next_event_of_its_place_and_the_bound_of_the_run() {
    let seen = Arc::default();
    let actors: Cast = vec![
        (ActorId(0), Box::new(Planning(Time::from_micros(70), true))),
        (ActorId(1), Box::new(Watching(Arc::clone(&seen)))),
        (ActorId(2), Box::new(Planning(Time::from_micros(30), false))),
    ];
    let mut place = Place::new(actors, [Span::ZERO; 3].into());
    place.run_before(stamp(50), 9).unwrap();
    // Another actor begins at time zero, too.
    assert_eq!(*seen.lock().unwrap(), [Time::ZERO]);
    let actors: Cast = vec![(ActorId(0), Box::new(Watching(Arc::clone(&seen))))];
    let mut place = Place::new(actors, [Span::ZERO].into());
    place.run_before(stamp(50), 9).unwrap();
    assert_eq!(seen.lock().unwrap()[1..], [Time::from_micros(50)]);
}

#[test]
fn a_frame_can_be_split_down_to_single_entries() {
    let word = Word { life: 0, patience: 0, content: 0 };
    let mail = |count| -> Vec<_> {
        (0..count)
            .map(|number| Envelope { arrival: stamp(1), from: ActorId(1), to: ActorId(0), number, message: word })
            .collect()
    };
    let log = |count| vec![Entry { stamp: stamp(0), actor: ActorId(1), record: 0u64 }; count];
    for (letters, records) in [(0, 0), (1, 0), (0, 1), (1, 1), (1, 2), (2, 1), (7, 0), (0, 7), (5, 9)] {
        let before = Promise { floor: stamp(1), done: stamp(0) };
        let up =
            Up { acked: 3, floor: stamp(9), done: stamp(8), finished: true, mail: mail(letters), log: log(records) };
        let mut whole = vec![up.clone()];
        let mut found = Vec::new();
        while let Some(up) = whole.pop() {
            match up.clone().cut(before) {
                Some((first, rest)) => whole.extend([rest, first]),
                None => found.push(up),
            }
        }
        assert_eq!(found.len(), (letters as usize + records).max(1));
        assert!(found.iter().all(|piece| piece.mail.len() + piece.log.len() <= 1 && piece.acked == 3));
        let (last, first) = found.split_last().unwrap();
        assert!(first.iter().all(|piece| !piece.finished && (piece.floor, piece.done) == (stamp(1), stamp(0))));
        assert_eq!((last.floor, last.done, last.finished), (stamp(9), stamp(8), true));
        assert_eq!(found.iter().flat_map(|piece| piece.mail.clone()).collect::<Vec<_>>(), up.mail);
        assert_eq!(found.iter().flat_map(|piece| piece.log.clone()).collect::<Vec<_>>(), up.log);

        let down = Down { grant: stamp(9), then: Instruction::Report, mail: mail(letters) };
        let mut whole = vec![down.clone()];
        let mut found = Vec::new();
        while let Some(down) = whole.pop() {
            match down.clone().cut() {
                Some((first, rest)) => whole.extend([rest, first]),
                None => found.push(down),
            }
        }
        assert_eq!(found.len(), (letters as usize).max(1));
        assert!(found.iter().all(|piece| piece.mail.len() <= 1 && piece.grant == stamp(9)));
        let (last, first) = found.split_last().unwrap();
        assert!(first.iter().all(|piece| piece.then == Instruction::Wait) && last.then == Instruction::Report);
        assert_eq!(found.iter().flat_map(|piece| piece.mail.clone()).collect::<Vec<_>>(), down.mail);
    }
}

/// Answers itself at once, for ever.
struct Echo;

impl Actor<Word, u64> for Echo {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for _ in batch.drain(..) {
            out.send(ActorId(0), Word { life: 0, patience: 0, content: 0 });
        }
    }
}

#[test]
fn an_endless_exchange_without_latency_is_an_error() {
    let actors: Cast = vec![(ActorId(0), Box::new(Echo))];
    let mut place = Place::new(actors, Arc::from([Span::ZERO]));
    let end = place.run_before(Stamp::NEVER, usize::MAX);
    let stamp = Stamp { time: Time::ZERO, step: STEPS_MAX + 1 };
    assert_eq!(end, Err(Breach::Livelock { actor: ActorId(0), stamp, cause: "Word" }));
}

/// Runs a function for each event.
struct Does<F>(F);

impl<F: FnMut(Cause<Word>, &mut Outbox<Word, u64>)> Actor<Word, u64> for Does<F> {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        batch.drain(..).for_each(|event| (self.0)(event.cause, out));
    }
}

fn acked(acked: u64, floor: Stamp, done: Stamp) -> Up<Word, u64> {
    Up { acked, floor, done, finished: false, mail: vec![], log: vec![] }
}

/// Frames written by a hub: leaf, grant, instruction.
fn written(write: impl FnOnce(&mut dyn FnMut(usize, Down<Word>))) -> Vec<(usize, Stamp, Instruction)> {
    let mut frames = Vec::new();
    write(&mut |leaf, down| frames.push((leaf, down.grant, down.then)));
    frames
}

/// One leaf blocks the hub, the second has mail, and the third could not use a frame.
#[test]
fn the_hub_writes_to_leaves_that_need_a_frame() {
    let word = Word { life: 0, patience: 1, content: 0 };
    for (letters, is_much) in [(1, false), (512, false), (513, true)] {
        let crier = move |cause, out: &mut Outbox<Word, u64>| {
            if cause == Cause::Start {
                (0..letters).for_each(|_| out.send(ActorId(2), word));
            }
        };
        let leaves = [1, 2, 3].map(|id| vec![ActorId(id)]);
        let latencies: Latencies = [0, 10, 10, 10].map(Span::from_micros).into();
        let mut hub = Hub::new(vec![(ActorId(0), Box::new(Does(crier)) as BoxedActor<_, _>)], &leaves, latencies);
        let all = |hub: &mut Hub<_, _>| written(|send| hub.flush(Contact::All, send));
        let blockers = |hub: &mut Hub<_, _>| written(|send| hub.flush(Contact::Blockers, send));

        assert_eq!(all(&mut hub), [0, 1, 2].map(|leaf| (leaf, stamp(10), Instruction::Run)));
        for (leaf, floor) in [stamp(30), Stamp::NEVER, stamp(50)].into_iter().enumerate() {
            hub.receive(leaf, acked(1, floor, stamp(10))).unwrap();
        }
        // Nothing from the first arrives before 40, so nothing new reaches any leaf before 50.
        assert_eq!((hub.safe_before(), hub.advance(9)), (stamp(40), Ok(false)));
        let [first, second] = [0, 1].map(|leaf| (leaf, stamp(50), Instruction::Run));
        match is_much {
            true => assert_eq!(blockers(&mut hub), [first, second]),
            false => {
                assert_eq!(blockers(&mut hub), [first]);
                assert_eq!(blockers(&mut hub), []);
                assert_eq!(all(&mut hub), [second]);
            }
        }
        assert_eq!(all(&mut hub), []);

        for (leaf, frames) in [(0, 2), (1, 2), (2, 1)] {
            hub.receive(leaf, acked(frames, Stamp::NEVER, stamp(10))).unwrap();
        }
        assert_eq!(blockers(&mut hub), [0, 1, 2].map(|leaf| (leaf, Stamp::NEVER, Instruction::Finish)));
        assert_eq!(all(&mut hub), []);
    }
}

#[test]
fn leaves_that_keep_the_log_incomplete_are_asked_once() {
    let clock = |_, out: &mut Outbox<Word, u64>| out.log(0);
    let timers = move |cause, out: &mut Outbox<Word, u64>| match cause {
        Cause::Start => [10, 20, 30, 40].map(Time::from_micros).into_iter().for_each(|at| out.wake_quietly_at(at, 0)),
        cause => clock(cause, out),
    };
    let latencies: Latencies = [0, 10].map(Span::from_micros).into();
    let mut hub =
        Hub::new(vec![(ActorId(0), Box::new(Does(timers)) as BoxedActor<_, _>)], &[vec![ActorId(1)]], latencies);
    let ask = |hub: &mut Hub<_, _>| written(|send| hub.request_progress(send));
    hub.flush(Contact::All, &mut |_, _| {});
    hub.receive(0, acked(1, Stamp::NEVER, stamp(10))).unwrap();

    // The start, 10 and 20 have run, so nothing reaches the leaf before 40.
    assert_eq!((hub.advance(3), hub.settled(), hub.asked()), (Ok(true), stamp(10), vec![]));
    assert_eq!(ask(&mut hub), [(0, stamp(40), Instruction::Report)]);
    for (done, left) in [(10, Some((stamp(10), stamp(40)))), (25, Some((stamp(25), stamp(40)))), (40, None)] {
        hub.receive(0, acked(2, Stamp::NEVER, stamp(done))).unwrap();
        assert_eq!(ask(&mut hub), []);
        assert_eq!(hub.settled(), stamp(done).min(stamp(30)));
        assert_eq!(hub.asked(), if left.is_some() { vec![0] } else { vec![] });
        let status = &hub.leaf_statuses()[0];
        assert_eq!((status.asked, status.blocks), (left, left.is_some()));
    }
    // It has sent all records up to the hub's own progress, and then one more batch runs.
    hub.advance(1).unwrap();
    assert_eq!((hub.settled(), ask(&mut hub)), (stamp(40), vec![]));
    hub.advance(1).unwrap();
    assert_eq!((hub.settled(), ask(&mut hub)), (stamp(40), vec![(0, Stamp::NEVER, Instruction::Report)]));
    // A leaf that knows that the run is over sends everything anyway.
    hub.receive(0, acked(3, Stamp::NEVER, stamp(50))).unwrap();
    hub.flush(Contact::All, &mut |_, _| {});
    assert_eq!((hub.finishing(), ask(&mut hub)), (true, vec![]));
}

#[test]
fn a_leaf_sends_only_news() {
    const SENDS: u64 = 2_000;
    const FORGOES: u64 = 2_001;
    let word = Word { life: 0, patience: 1, content: 0 };
    let ninety = Time::from_micros(90);
    let actor = move |cause, out: &mut Outbox<Word, u64>| match cause {
        Cause::Start => {
            for (at, records) in [(20, 5), (30, 1_018), (35, 1)] {
                out.wake_quietly_at(Time::from_micros(at), records);
            }
            for (at, token) in [(40, SENDS), (50, FORGOES)] {
                out.wake_promising(Time::from_micros(at), ninety, token);
            }
        }
        Cause::Timer(SENDS) => out.send_at(ninety, ActorId(0), word),
        Cause::Timer(FORGOES) | Cause::Message(_) => {}
        Cause::Timer(records) => (0..records).for_each(|_| out.log(0)),
    };
    let actors = vec![(ActorId(1), Box::new(Does(actor)) as BoxedActor<_, _>)];
    let mut leaf = Leaf::new(actors, [0, 10].map(Span::from_micros).into());
    // Content of its frame: acknowledged frames, floor, progress, messages, records, last.
    let receive = |leaf: &mut Leaf<_, _>, grant, then| {
        leaf.receive(Down { grant, then, mail: vec![] }).unwrap();
        let sent = leaf.turn().unwrap();
        assert_eq!(leaf.turn(), Ok(None), "all has been said");
        sent.map(|up| (up.acked, up.floor, up.done, up.mail.len(), up.log.len(), up.finished))
    };
    let floor = stamp(90);
    let rows = [
        (10, Instruction::Run, Some((1, floor, stamp(10), 0, 0, false))),
        // Records may wait until they are requested or numerous.
        (25, Instruction::Run, None),
        (26, Instruction::Report, Some((3, floor, stamp(26), 0, 5, false))),
        (31, Instruction::Run, None),
        (35, Instruction::Run, None),
        (40, Instruction::Run, None),
        // The floor is unchanged, as something else could still be sent then.
        (45, Instruction::Run, Some((7, floor, stamp(45), 1, 1_019, false))),
        (51, Instruction::Run, Some((8, Stamp::NEVER, stamp(51), 0, 0, false))),
        (60, Instruction::Run, None),
        (60, Instruction::Wait, None),
        (60, Instruction::Report, Some((10, Stamp::NEVER, stamp(60), 0, 0, false))),
        (70, Instruction::Finish, Some((11, Stamp::NEVER, stamp(70), 0, 0, true))),
    ];
    for (grant, then, sent) in rows {
        assert!(!leaf.finished());
        assert_eq!(receive(&mut leaf, stamp(grant), then), sent, "up to {grant}");
    }
    assert_eq!((leaf.now(), leaf.finished(), leaf.stopped()), (stamp(50), true, false));
}

#[test]
fn a_leaf_does_not_hoard_records() {
    for (records, waits) in [(1_023, true), (1_024, false)] {
        let actor = move |cause, out: &mut Outbox<Word, u64>| match cause {
            Cause::Start => out.wake_quietly_at(Time::from_micros(20), 0),
            _ => (0..records).for_each(|_| out.log(0)),
        };
        let actors = vec![(ActorId(1), Box::new(Does(actor)) as BoxedActor<_, _>)];
        let mut leaf = Leaf::new(actors, [0, 10].map(Span::from_micros).into());
        leaf.receive(Down { grant: stamp(10), then: Instruction::Run, mail: vec![] }).unwrap();
        assert!(leaf.turn().unwrap().is_some(), "the hub does not know yet that it will send nothing");
        leaf.receive(Down { grant: stamp(21), then: Instruction::Run, mail: vec![] }).unwrap();
        assert_eq!(leaf.turn().unwrap().is_none(), waits, "{records} records");
    }
}
