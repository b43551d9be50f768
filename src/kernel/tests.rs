//! The kernel under hostile conditions: random actors, random latencies (none too), frames delayed at will.
//! Whatever happens, hub and leaves must give the log of one place that holds everybody.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::random::mix;
use crate::time::{Span, Stamp, Time};

type Cast = Vec<(ActorId, BoxedActor<Word, u64>)>;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Word {
    /// How many more messages it may give rise to, in a chain.
    life: u8,
    /// 0: answer at once; 1: never; otherwise: after so many microseconds.
    patience: u8,
    content: u64,
}

impl Message for Word {
    fn reaction(&self) -> Reaction {
        match self.patience {
            0 => Reaction::Now,
            1 => Reaction::Never,
            span => Reaction::After(Span::from_micros(span.into())),
        }
    }

    fn name(&self) -> &'static str {
        "Word"
    }
}

/// Does something random, but always within its promises; logs everything that it sees.
struct Gossip {
    id: ActorId,
    everybody: u32,
    life: u8,
    state: u64,
}

const QUIET: u64 = 1 << 32;

impl Gossip {
    fn draw(&mut self, below: u64) -> u64 {
        self.state = mix(self.state);
        self.state % below
    }

    /// Sends one or two words, early or after a timer, but none before `earliest`.
    fn talk(&mut self, earliest: Time, life: u8, out: &mut Outbox<Word, u64>) {
        if life == 0 {
            return;
        }
        for _ in 0..=self.draw(2) {
            let later = earliest + Span::from_micros(self.draw(4) * self.draw(9));
            if self.draw(3) == 0 {
                out.wake_at(later, u64::from(life));
                continue;
            }
            let to = ActorId(self.draw(self.everybody.into()) as u32);
            let word = Word { life: life - 1, patience: self.draw(7) as u8, content: self.state };
            out.send_at(later, to, word);
        }
        if self.draw(3) == 0 {
            out.wake_quietly_at(earliest + Span::from_micros(self.draw(30)), QUIET);
        }
    }
}

impl Actor<Word, u64> for Gossip {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for event in batch.drain(..) {
            self.state = mix(self.state ^ mix(now.time.micros()) ^ u64::from(now.step) << 32 ^ u64::from(event.from.0));
            match event.cause {
                Cause::Start => self.talk(now.time, self.life, out),
                Cause::Timer(QUIET) => {}
                Cause::Timer(life) => self.talk(now.time, life as u8, out),
                Cause::Message(word) => {
                    self.state ^= mix(word.content);
                    match word.reaction() {
                        Reaction::Now => self.talk(now.time, word.life, out),
                        Reaction::After(span) => self.talk(now.time + span, word.life, out),
                        Reaction::Never => out.wake_quietly_at(now.time + Span::from_micros(self.draw(9)), QUIET),
                    }
                }
            }
            out.log(self.state ^ u64::from(self.id.0));
        }
    }
}

fn gossips(seed: u64, everybody: u32, life: u8) -> Cast {
    let gossip = |id| -> BoxedActor<Word, u64> {
        Box::new(Gossip { id: ActorId(id), everybody, life, state: mix(seed ^ mix(id.into())) })
    };
    (0..everybody).map(|id| (ActorId(id), gossip(id))).collect()
}

fn inline(actors: Cast, latencies: Latencies) -> Vec<Entry<u64>> {
    let mut place = Place::new(actors, latencies);
    assert!(!place.run_before(Stamp::NEVER, 200_000).expect("gossips keep their promises"), "the gossip never ends");
    place.take_log()
}

/// A hub and its leaves with a wire between them that delivers frames in order, but whenever chance likes.
struct Wires {
    hub: Hub<Word, u64>,
    leaves: Vec<Leaf<Word, u64>>,
    down: Vec<VecDeque<Down<Word>>>,
    up: Vec<VecDeque<Up<Word, u64>>>,
    chance: u64,
    idle: u32,
    confluence: Confluence<u64>,
    log: Vec<Entry<u64>>,
}

impl Wires {
    fn new(homes: &[usize], count: usize, actors: Cast, latencies: Latencies) -> Wires {
        let mut at: Vec<Vec<_>> = (0..=count).map(|_| Vec::new()).collect();
        actors.into_iter().for_each(|actor| at[homes[actor.0.index()]].push(actor));
        let mut at = at.into_iter();
        let here = at.next().unwrap();
        let there: Vec<Vec<_>> = at.filter(|actors| !actors.is_empty()).collect();
        let ids: Vec<Vec<ActorId>> = there.iter().map(|actors| actors.iter().map(|(id, _)| *id).collect()).collect();
        Wires {
            hub: Hub::new(here, &ids, latencies.clone()),
            down: there.iter().map(|_| VecDeque::new()).collect(),
            up: there.iter().map(|_| VecDeque::new()).collect(),
            leaves: there.into_iter().map(|actors| Leaf::new(actors, latencies.clone())).collect(),
            chance: 1,
            idle: 0,
            confluence: Confluence::new(ids.len() + 1),
            log: Vec::new(),
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.chance = mix(self.chance);
        (self.chance % below as u64) as usize
    }

    /// Something somewhere goes on for a bit.
    fn tick(&mut self) -> Result<(), Breach> {
        let leaves = self.leaves.len();
        match self.draw(4) {
            0 => self.hub_turn()?,
            1 if leaves > 0 => {
                let leaf = self.draw(leaves);
                if let Some(up) = self.up[leaf].pop_front() {
                    self.hub.receive(leaf, up)?;
                    self.idle = 0;
                }
            }
            _ if leaves > 0 => {
                let leaf = self.draw(leaves);
                if let Some(down) = self.down[leaf].pop_front() {
                    self.leaves[leaf].receive(down)?;
                    self.idle = 0;
                }
                if self.draw(2) == 0
                    && let Some(up) = self.leaves[leaf].turn()?
                {
                    let before = self.leaves[leaf].before();
                    let pieces = pieces(up, &mut self.chance, &|up| up.cut(before));
                    self.up[leaf].extend(pieces);
                    self.idle = 0;
                }
            }
            _ => {}
        }
        self.idle += 1;
        assert!(self.idle < 10_000, "everybody waits for everybody: {:#?}", self.hub.standings());
        Ok(())
    }

    fn hub_turn(&mut self) -> Result<(), Breach> {
        let batches = 1 + self.draw(20);
        let before = self.hub.events();
        self.hub.advance(batches)?;
        let mut moved = self.hub.events() > before;
        if self.draw(2) == 0 {
            let contact = if self.draw(2) == 0 { Contact::All } else { Contact::Blockers };
            let (down, chance) = (&mut self.down, &mut self.chance);
            self.hub.flush(contact, &mut |leaf, frame| {
                down[leaf].extend(pieces(frame, chance, &Down::cut));
                moved = true;
            });
        }
        if self.draw(8) == 0 {
            self.settle(self.hub.settled());
            let down = &mut self.down;
            self.hub.ask(&mut |leaf, frame| {
                down[leaf].push_back(frame);
                moved = true;
            });
        }
        if moved {
            self.idle = 0;
        }
        Ok(())
    }

    fn settle(&mut self, before: Stamp) {
        let logs = self.hub.take_leaf_logs().into_iter().chain([self.hub.take_log()]);
        logs.enumerate().for_each(|(place, log)| self.confluence.add(place, log));
        self.log.extend(self.confluence.settle(before));
    }

    fn run(mut self, chance: u64) -> Result<Vec<Entry<u64>>, Breach> {
        self.chance = chance;
        while !self.hub.finished() {
            self.tick()?;
        }
        assert_eq!(self.hub.asked(), [0; 0], "whoever has said goodbye has told all");
        self.settle(Stamp::NEVER);
        Ok(self.log)
    }
}

/// Cuts a frame as often as chance likes, as if it were too long.
fn pieces<F: Clone>(frame: F, chance: &mut u64, cut: &dyn Fn(F) -> Option<(F, F)>) -> Vec<F> {
    *chance = mix(*chance);
    match chance.is_multiple_of(3).then(|| cut(frame.clone())).flatten() {
        None => vec![frame],
        Some((first, rest)) => {
            let mut all = pieces(first, chance, cut);
            all.extend(pieces(rest, chance, cut));
            all
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn hub_and_leaves_give_the_log_of_one_place(
        seed: u64,
        chance: u64,
        life in 1u8..7,
        count in 1usize..5,
        mut nodes in prop::collection::vec((0u64..4, 0usize..5), 1..8),
    ) {
        // The first place is the hub: whoever lives there has no latency.
        nodes.iter_mut().for_each(|(latency, home)| {
            *home %= count + 1;
            if *home == 0 { *latency = 0 }
        });
        let latencies: Latencies = nodes.iter().map(|(latency, _)| Span::from_micros(*latency)).collect();
        let homes: Vec<usize> = nodes.iter().map(|(_, home)| *home).collect();
        let everybody = nodes.len() as u32;

        let judged = judge::run(gossips(seed, everybody, life).into_iter().map(|(_, actor)| actor).collect(), &latencies);
        let expected = inline(gossips(seed, everybody, life), latencies.clone());
        prop_assert_eq!(&expected, &judged);
        let wires = Wires::new(&homes, count, gossips(seed, everybody, life), latencies);
        let found = wires.run(chance).expect("gossips keep their promises");
        prop_assert_eq!(found, expected);
    }
}

/// Answers a word sooner than the word's contract allows, or sends out of a quiet timer.
struct Hasty {
    quiet: bool,
}

impl Actor<Word, u64> for Hasty {
    fn handle(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for event in batch.drain(..) {
            match event.cause {
                Cause::Start => {}
                Cause::Message(_) if self.quiet => out.wake_quietly_at(now.time + Span::from_micros(3), 0),
                _ => out.send(ActorId(0), Word { life: 0, patience: 0, content: 0 }),
            }
        }
    }
}

/// Sends one word at the start and nothing afterwards.
struct Opener(u8);

impl Actor<Word, u64> for Opener {
    fn handle(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        if batch[0].cause == Cause::Start {
            out.send(ActorId(1), Word { life: 0, patience: self.0, content: 0 });
        }
    }
}

fn opener_and_hasty(patience: u8, quiet: bool) -> (Cast, Latencies) {
    let actors: Cast = vec![(ActorId(0), Box::new(Opener(patience))), (ActorId(1), Box::new(Hasty { quiet }))];
    (actors, Arc::from([Span::ZERO, Span::from_micros(10)]))
}

fn stamp(micros: u64) -> Stamp {
    Stamp::at(Time::from_micros(micros))
}

#[test]
fn an_actor_that_answers_too_soon_stops_the_run_in_every_layout() {
    let breach = |promised, at, cause| Breach::Promise { actor: ActorId(1), cause, promised, did: "Word", at };
    let (actors, latencies) = opener_and_hasty(5, false);
    let expected = breach(stamp(15), stamp(10), "Word");
    assert_eq!(Place::new(actors, latencies).run_before(Stamp::NEVER, 9), Err(expected.clone()));

    let (actors, latencies) = opener_and_hasty(5, false);
    assert_eq!(Wires::new(&[0, 1], 1, actors, latencies).run(7), Err(expected));

    let (actors, latencies) = opener_and_hasty(1, true);
    let expected = breach(Stamp::NEVER, stamp(13), "a quiet timer");
    assert_eq!(Place::new(actors, latencies).run_before(Stamp::NEVER, 9), Err(expected));
}

/// A leaf is only believed as far as it keeps its word: whatever it says too soon or falsely stops the run.
#[test]
fn a_lying_leaf_is_found_out() {
    let honest = || {
        let (mut actors, latencies) = opener_and_hasty(5, false);
        actors.pop();
        let mut hub = Hub::<Word, u64>::new(actors, &[vec![ActorId(1)]], latencies);
        hub.flush(Contact::All, &mut |_, _| {});
        let floor = Up { heard: 1, floor: Stamp::NEVER, done: Stamp::ZERO, finished: false, mail: vec![], log: vec![] };
        hub.receive(0, floor).unwrap();
        hub.advance(10).unwrap();
        hub.flush(Contact::All, &mut |_, _| {});
        hub
    };
    let word = Word { life: 0, patience: 0, content: 0 };
    let mail =
        |arrival, from, to, number| Envelope { arrival, from: ActorId(from), to: ActorId(to), number, message: word };
    let up = |heard, floor, mail| Up { heard, floor, done: Stamp::ZERO, finished: false, mail, log: vec![] };
    let record = |micros, actor| Entry { stamp: stamp(micros), actor: ActorId(actor), record: 0 };
    let protocol = |what| Breach::Protocol { leaf: 0, what };

    assert_eq!(honest().receive(0, up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 0, 1)])), Ok(()));
    assert_eq!(
        honest().receive(0, up(2, Stamp::NEVER, vec![mail(stamp(24), 1, 0, 1)])),
        Err(Breach::Early { leaf: 0, from: ActorId(1), message: "Word", promised: stamp(15), arrival: stamp(24) })
    );
    // Without having heard of the word it has promised never to speak again.
    assert!(matches!(
        honest().receive(0, up(1, Stamp::NEVER, vec![mail(stamp(25), 1, 0, 1)])),
        Err(Breach::Early { .. })
    ));
    assert_eq!(
        honest().receive(0, up(2, stamp(14), vec![])),
        Err(Breach::Floor { leaf: 0, promised: stamp(15), floor: stamp(14) })
    );
    let lies = [
        (up(3, Stamp::NEVER, vec![]), "it answers a frame that was never sent"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 0, 1, 1)]), "a message from an actor that lives elsewhere"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 9, 1)]), "a message names an actor that does not exist"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 1, 1)]), "a message that should have stayed at the leaf"),
        (up(2, Stamp::NEVER, vec![mail(stamp(25), 1, 0, 0)]), "the messages of an actor are out of order"),
        (up(2, Stamp::NEVER, vec![mail(Stamp::NEVER, 1, 0, 1)]), "a message that arrives at the end of time"),
        (
            up(2, Stamp::NEVER, vec![mail(stamp(u64::MAX - (1 << 55)), 1, 0, 1)]),
            "a message that arrives at the end of time",
        ),
        (Up { log: vec![record(1, 0)], ..up(2, Stamp::NEVER, vec![]) }, "a record of an actor that lives elsewhere"),
        (Up { log: vec![record(2, 1), record(1, 1)], ..up(2, Stamp::NEVER, vec![]) }, "its records are out of order"),
    ];
    for (lie, what) in lies {
        assert_eq!(honest().receive(0, lie), Err(protocol(what)));
    }
}

/// What a report of a stall is made of.
#[test]
fn the_hub_tells_who_holds_it_up() {
    let (mut actors, latencies) = opener_and_hasty(5, false);
    actors.pop();
    let mut hub = Hub::<Word, u64>::new(actors, &[vec![ActorId(1)]], latencies);
    let up = |heard, floor, finished| Up { heard, floor, done: Stamp::ZERO, finished, mail: vec![], log: vec![] };
    let tell = |hub: &Hub<Word, u64>, floor, blocks, finishing| {
        let Standing { floor: found, blocks: found_blocks, .. } = hub.standings()[0].clone();
        assert_eq!((found, found_blocks, hub.finishing()), (floor, blocks, finishing));
        assert_eq!(hub.blockers().is_empty(), !blocks && !finishing);
    };
    tell(&hub, Stamp::ZERO, true, false);
    hub.flush(Contact::All, &mut |_, _| {});
    hub.receive(0, up(1, Stamp::NEVER, false)).unwrap();
    tell(&hub, Stamp::NEVER, false, false);
    // The word that has gone out may be answered from 15 on.
    hub.advance(10).unwrap();
    tell(&hub, stamp(15), true, false);
    hub.flush(Contact::All, &mut |_, _| {});
    tell(&hub, stamp(15), true, false);
    hub.receive(0, up(2, Stamp::NEVER, false)).unwrap();
    hub.flush(Contact::All, &mut |_, _| {});
    tell(&hub, Stamp::NEVER, false, true);
    assert!(!hub.finished());
    hub.receive(0, up(3, Stamp::NEVER, true)).unwrap();
    assert!(hub.finished() && hub.blockers().is_empty() && hub.standings()[0].finished);
}

/// Wakes up so late that whatever it sent would arrive after the end of time.
struct Late(u64);

impl Actor<Word, u64> for Late {
    fn handle(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        if batch[0].cause == Cause::Start {
            out.wake_at(Time::from_micros(u64::MAX - self.0), 0);
        }
        out.log(1);
    }
}

#[test]
fn who_may_run_for_ever_is_still_told_when_the_run_is_over() {
    // The first leaf is so far away that nothing can reach it any more, while the hub still waits for the second.
    let latencies: Latencies = [0, 10, 0].map(Span::from_micros).into();
    for chance in 0..20 {
        let lates = (0..).map(ActorId).zip([2, 5, 4]);
        let actors: Cast = lates.map(|(id, late)| -> (_, BoxedActor<_, _>) { (id, Box::new(Late(late))) }).collect();
        assert_eq!(Wires::new(&[0, 1, 2], 2, actors, latencies.clone()).run(chance).unwrap().len(), 6);
    }
}

#[test]
fn a_frame_is_cut_as_long_as_there_is_something_to_cut() {
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
            Up { heard: 3, floor: stamp(9), done: stamp(8), finished: true, mail: mail(letters), log: log(records) };
        let (mut whole, mut found) = (vec![up.clone()], Vec::new());
        while let Some(up) = whole.pop() {
            match up.clone().cut(before) {
                Some((first, rest)) => whole.extend([rest, first]),
                None => found.push(up),
            }
        }
        assert_eq!(found.len(), (letters as usize + records).max(1));
        assert!(found.iter().all(|piece| piece.mail.len() + piece.log.len() <= 1 && piece.heard == 3));
        let (last, first) = found.split_last().unwrap();
        assert!(first.iter().all(|piece| !piece.finished && (piece.floor, piece.done) == (stamp(1), stamp(0))));
        assert_eq!((last.floor, last.done, last.finished), (stamp(9), stamp(8), true));
        assert_eq!(found.iter().flat_map(|piece| piece.mail.clone()).collect::<Vec<_>>(), up.mail);
        assert_eq!(found.iter().flat_map(|piece| piece.log.clone()).collect::<Vec<_>>(), up.log);
    }
}

/// Two that answer each other at once, for ever.
struct Echo;

impl Actor<Word, u64> for Echo {
    fn handle(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for _ in batch.drain(..) {
            out.send(ActorId(0), Word { life: 0, patience: 0, content: 0 });
        }
    }
}

#[test]
fn an_exchange_that_never_lets_time_go_on_is_an_error() {
    let actors: Cast = vec![(ActorId(0), Box::new(Echo))];
    let mut place = Place::new(actors, Arc::from([Span::ZERO]));
    let end = place.run_before(Stamp::NEVER, usize::MAX);
    assert!(matches!(end, Err(Breach::Livelock { actor: ActorId(0), cause: "Word", .. })));
}
