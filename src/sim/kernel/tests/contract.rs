//! Runs with a contract: open loops, whose decisions depend on sources alone, and actors whose answers are foretold.
//! The log is that of one place, which knows no contract; an actor that breaks one is named.

use super::*;
use crate::kernel::actor::Action;

/// Sends words of its own at random times, in chunks that it sends ahead.
struct Source {
    state: u64,
    desks: u32,
    chunks: u64,
}

impl Actor<Word, u64> for Source {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        let is_due = batch.iter().any(|event| !matches!(event.cause, Cause::Message(_)));
        batch.clear();
        if !is_due || self.chunks == 0 {
            return;
        }
        self.chunks -= 1;
        let mut draw = |below: u64| {
            self.state = mix_bits(self.state);
            self.state % below
        };
        let mut at = now.time;
        for _ in 0..draw(5) {
            at = at + Span::from_micros(draw(20));
            let to = ActorId(draw(self.desks.into()) as u32);
            let word = Word { life: draw(4) as u8, patience: 0, content: draw(1 << 40) };
            out.send_at(at, to, word);
        }
        out.wake_at(now.time + Span::from_micros(1 + draw(30)), 0);
    }
}

/// Hands words of sources to workers, and logs everything.
struct Desk {
    id: ActorId,
    /// First source, by number; the actors between the desks and it are workers.
    sources: u32,
    desks: u32,
    state: u64,
    /// True if it breaks the contract: the words of workers change what it sends.
    is_swayed: bool,
    /// True if it breaks the contract: it answers workers.
    answers: bool,
}

impl Actor<Word, u64> for Desk {
    fn handle_batch(&mut self, _: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        // Words of workers first, as the contract makes them independent of the others.
        batch.sort_by_key(|event| event.from.0 >= self.sources);
        for event in batch.drain(..) {
            let Cause::Message(word) = event.cause else { continue };
            if event.from.0 < self.sources {
                out.log(mix_bits(word.content) ^ u64::from(self.id.0));
                if self.is_swayed {
                    self.state ^= word.content;
                }
                if self.answers {
                    out.send(event.from, Word { life: 0, patience: 1, content: 0 });
                }
                continue;
            }
            self.state = mix_bits(self.state ^ word.content);
            out.log(self.state);
            let workers = self.sources - self.desks;
            for _ in 0..self.state % 3 {
                self.state = mix_bits(self.state);
                let to = ActorId(self.desks + (self.state % u64::from(workers)) as u32);
                out.send(to, Word { life: word.life, patience: (self.state >> 8) as u8 % 8, content: self.state });
            }
        }
    }
}

/// Tells a desk of what it does, as soon or as late as the contract of each word allows.
struct Worker {
    state: u64,
}

impl Actor<Word, u64> for Worker {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        for event in batch.drain(..) {
            let Cause::Message(word) = event.cause else { continue };
            self.state = mix_bits(self.state ^ word.content);
            out.log(self.state);
            let earliest = word.reaction().earliest(now);
            if !earliest.is_never() {
                let later = earliest.time + Span::from_micros(self.state % 40);
                out.send_at(later, event.from, Word { life: 0, patience: 1, content: self.state });
            }
        }
    }
}

/// Desks, workers and sources, in this order.
#[derive(Debug)]
struct Loop {
    desks: u32,
    workers: u32,
    sources: u32,
    seed: u64,
}

impl Loop {
    fn actors(&self, is_swayed: bool, answers: bool) -> Cast {
        let Loop { desks, workers, sources, seed } = *self;
        let first = desks + workers;
        let actor = |number: u32| -> BoxedActor<Word, u64> {
            let id = ActorId(number);
            let state = mix_bits(seed ^ mix_bits(number.into()));
            match number {
                _ if number < desks => Box::new(Desk { id, sources: first, desks, state, is_swayed, answers }),
                _ if number < first => Box::new(Worker { state }),
                _ => Box::new(Source { state, desks, chunks: 1 + state % 8 }),
            }
        };
        (0..first + sources).map(|number| (ActorId(number), actor(number))).collect()
    }

    fn contract(&self) -> Contract {
        let first = self.desks + self.workers;
        let is_source = (0..first + self.sources).map(|number| number >= first);
        Contract { sources: is_source.collect(), settled: Vec::new() }
    }

    /// Desks at the hub, all others on leaves.
    fn lay_out(&self, spread: u64, latencies: &[u64]) -> (Vec<usize>, Latencies) {
        let count = self.desks + self.workers + self.sources;
        let home = |number: u32| match number < self.desks {
            true => 0,
            false => 1 + (mix_bits(spread ^ u64::from(number)) % 3) as usize,
        };
        let latency = |number: u32| match number < self.desks {
            true => 0,
            false => latencies[number as usize % latencies.len()],
        };
        ((0..count).map(home).collect(), (0..count).map(|number| Span::from_micros(latency(number))).collect())
    }
}

fn loops() -> impl Strategy<Value = Loop> {
    (1u32..3, 1u32..4, 1u32..4, any::<u64>()).prop_map(|(desks, workers, sources, seed)| Loop {
        desks,
        workers,
        sources,
        seed,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_open_loop_gives_the_log_of_one_place(
        run in loops(),
        chance: u64,
        spread: u64,
        lead_max in 1usize..20,
        latencies in prop::collection::vec(0u64..30, 1..5),
    ) {
        let (homes, latencies) = run.lay_out(spread, &latencies);
        let expected = inline_log(run.actors(false, false), &latencies);
        let mut wires = Wires::with_contract(&homes, 3, run.actors(false, false), latencies, run.contract());
        wires.hub.limit_lead_to(lead_max);
        let found = wires.run(chance).expect("all keep their promises");
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn a_stopped_open_loop_leaves_a_prefix_of_its_log(
        run in loops(),
        chance: u64,
        spread: u64,
        ticks in 0usize..300,
        latencies in prop::collection::vec(0u64..30, 1..5),
    ) {
        let (homes, latencies) = run.lay_out(spread, &latencies);
        let mut expected = inline_log(run.actors(false, false), &latencies);
        let mut wires = Wires::with_contract(&homes, 3, run.actors(false, false), latencies, run.contract());
        wires.chance = chance;
        for _ in 0..ticks {
            wires.tick().expect("all keep their promises");
        }
        wires.stop().expect("all keep their promises");
        let whole = wires.hub.settled();
        wires.settle(whole);
        expected.retain(|entry| entry.stamp < whole);
        prop_assert_eq!(wires.log, expected);
    }

    /// Some actors have a master at the hub, whose orders they answer as foretold; all gossip beside that.
    #[test]
    fn foretold_answers_give_the_log_of_one_place(
        seed: u64,
        chance: u64,
        life in 1u8..6,
        count in 1usize..5,
        nodes in nodes(),
        servants in prop::collection::vec(any::<bool>(), 8),
    ) {
        let (mut homes, latencies) = lay_out(nodes, count);
        homes[0] = 0;
        let latencies: Latencies = latencies.iter().enumerate().map(|(id, link)| if id == 0 { Span::ZERO } else { *link }).collect();
        let settled: Vec<_> =
            homes.iter().zip(servants).map(|(home, serves)| (*home > 0 && serves).then_some(ActorId(0))).collect();
        let contract = Contract { sources: Vec::new(), settled };
        let actors = || servants_of(gossips(seed, homes.len() as u32, life), &contract, seed);
        let judged = judge::run_actors(actors().into_iter().map(|(_, actor)| actor).collect(), &latencies);
        let mut wires = Wires::with_contract(&homes, count, actors(), latencies.clone(), contract.clone());
        prop_assert_eq!(&wires.run(chance).expect("all keep their promises"), &judged);
    }
}

/// Answers the orders of its master as foretold and sends nothing else to it; gossips with all others.
struct Servant {
    master: ActorId,
    gossip: BoxedActor<Word, u64>,
}

impl Actor<Word, u64> for Servant {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        batch.retain(|event| {
            let Cause::Message(word) = event.cause else { return true };
            if event.from == self.master {
                out.log(word.content);
                if let Some((sent, answer)) = word.foretold(now) {
                    out.send_at(sent.time, self.master, answer);
                }
            }
            event.from != self.master
        });
        if !batch.is_empty() {
            let mut own = Outbox::new();
            own.begin(now, Time::ZERO);
            self.gossip.handle_batch(now, batch, &mut own);
            let is_to_master = |action: &Action<Word>| matches!(action, Action::Send { to, .. } if *to == self.master);
            out.actions.extend(own.actions.into_iter().filter(|action| !is_to_master(action)));
            own.records.into_iter().for_each(|record| out.log(record));
        }
    }
}

fn servants_of(actors: Cast, contract: &Contract, seed: u64) -> Cast {
    let made = actors.into_iter().map(|(id, gossip)| -> (ActorId, BoxedActor<Word, u64>) {
        match contract.settled[id.index()] {
            Some(master) => (id, Box::new(Servant { master, gossip })),
            None if id == ActorId(0) => (id, Box::new(Master { gossip, servants: servants(contract), state: seed })),
            None => (id, gossip),
        }
    });
    made.collect()
}

fn servants(contract: &Contract) -> Vec<ActorId> {
    (0..).map(ActorId).zip(&contract.settled).filter(|(_, master)| master.is_some()).map(|(id, _)| id).collect()
}

/// Gives an order to a servant whenever it gossips, though orders cause none.
struct Master {
    gossip: BoxedActor<Word, u64>,
    servants: Vec<ActorId>,
    state: u64,
}

impl Actor<Word, u64> for Master {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Word>>, out: &mut Outbox<Word, u64>) {
        let may_send_now = |event: &Event<Word>| match event.cause {
            Cause::Message(word) => word.reaction() == Reaction::Now && word.life > 0,
            Cause::Start => true,
            Cause::Timer(_) => false,
        };
        let count = batch.iter().filter(|event| may_send_now(event)).count();
        for _ in 0..count.min(self.servants.len() * 3) {
            self.state = mix_bits(self.state);
            let to = self.servants[(self.state % self.servants.len() as u64) as usize];
            let patience = ORDER + (self.state >> 20) as u8 % 5;
            out.send(to, Word { life: (self.state >> 40) as u8 % 4, patience, content: self.state });
        }
        self.gossip.handle_batch(now, batch, out);
    }
}

#[test]
fn a_desk_that_answers_workers_is_named() {
    let run = Loop { desks: 1, workers: 1, sources: 1, seed: 11 };
    let (homes, latencies) = run.lay_out(1, &[3]);
    let ended = Wires::with_contract(&homes, 3, run.actors(false, true), latencies, run.contract()).run(5);
    let Err(Breach::Promise { actor: ActorId(0), cause: "Word", promised, .. }) = ended else { panic!("{ended:?}") };
    assert!(promised.is_never());
}

/// The kernel cannot see that words of workers change decisions: the log is another one. So a system that says that it
/// decides by users alone is tested with random grids.
#[test]
fn a_desk_that_workers_sway_gives_another_log() {
    let differs = |seed| {
        let run = Loop { desks: 1, workers: 2, sources: 2, seed };
        let (homes, latencies) = run.lay_out(1, &[3, 0, 9]);
        let expected = inline_log(run.actors(true, false), &latencies);
        let mut wires = Wires::with_contract(&homes, 3, run.actors(true, false), latencies, run.contract());
        wires.run(seed) != Ok(expected)
    };
    assert!((0..20).any(differs));
}

fn inline_log(actors: Cast, latencies: &Latencies) -> Vec<Entry<u64>> {
    let mut place = Place::new(actors, latencies.clone());
    assert_eq!(place.run_before(Stamp::NEVER, 100_000), Ok(false));
    place.take_log()
}

/// A servant that answers with something else, late, twice or not at all.
#[test]
fn a_servant_that_answers_otherwise_is_named() {
    let order = Word { life: 1, patience: ORDER + 4, content: 1 };
    let master = move |cause, out: &mut Outbox<Word, u64>| {
        if cause == Cause::Start {
            out.send(ActorId(1), order);
        }
    };
    let (sent, answer) = order.foretold(stamp(10)).unwrap();
    let other = Word { content: 0, ..answer };
    let contract = Contract { sources: Vec::new(), settled: vec![None, Some(ActorId(0))] };
    let latencies: Latencies = [0, 10].map(Span::from_micros).into();
    let letter = |number, message, at: Stamp| Envelope {
        arrival: at.after(Span::from_micros(10)),
        from: ActorId(1),
        to: ActorId(0),
        number,
        message,
    };
    let hub = || {
        let mut hub = Hub::new(
            vec![(ActorId(0), Box::new(Does(master)) as BoxedActor<_, _>)],
            &[vec![ActorId(1)]],
            latencies.clone(),
        )
        .with_contract(contract.clone());
        hub.flush(Contact::All, &mut |_, _| {});
        hub.receive(0, acked(1, Stamp::NEVER, stamp(10))).unwrap();
        // The order and its answer: nothing is waited for.
        assert_eq!((hub.advance(9), hub.events(), hub.safe_before()), (Ok(false), 2, Stamp::NEVER));
        hub.flush(Contact::All, &mut |_, _| {});
        assert!(hub.finishing());
        hub
    };
    let up = |mail, finished| Up { acked: 2, floor: Stamp::NEVER, done: stamp(10), finished, mail, log: vec![] };
    let right = letter(1, answer, sent);
    assert_eq!(hub().receive(0, up(vec![right.clone()], true)), Ok(()));

    let named = |ended: Result<(), Breach>| match ended {
        Err(Breach::Answer { leaf: Some(0), actor: ActorId(1), foretold, sent }) => {
            (foretold.is_some(), sent.is_some())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(named(hub().receive(0, up(vec![], true))), (true, false));
    assert_eq!(named(hub().receive(0, up(vec![letter(1, other, sent)], true))), (true, true));
    assert_eq!(named(hub().receive(0, up(vec![letter(1, answer, stamp(99))], true))), (true, true));
    let twice = hub().receive(0, up(vec![right, letter(2, answer, sent)], true));
    assert!(matches!(twice, Err(Breach::Early { leaf: 0, .. })), "{twice:?}");

    // An honest kernel finds it where the actor acts.
    for messages in [Some(other), None] {
        let servant = move |cause, out: &mut Outbox<Word, u64>| {
            if let (Cause::Message(_), Some(word)) = (cause, messages) {
                out.send_at(sent.time, ActorId(0), word);
            }
        };
        let actors = vec![(ActorId(1), Box::new(Does(servant)) as BoxedActor<_, _>)];
        let mut leaf = Leaf::new(actors, latencies.clone()).with_contract(contract.clone());
        let mail = vec![Envelope { arrival: stamp(10), from: ActorId(0), to: ActorId(1), number: 1, message: order }];
        leaf.receive(Down { grant: Stamp::NEVER, then: Instruction::Finish, mail }).unwrap();
        let ended = leaf.turn();
        match messages {
            Some(_) => assert!(matches!(ended, Err(Breach::Promise { actor: ActorId(1), .. })), "{ended:?}"),
            None => assert!(matches!(ended, Err(Breach::Answer { leaf: None, actor: ActorId(1), .. })), "{ended:?}"),
        }
    }
}

#[test]
fn a_member_of_an_open_loop_sends_to_the_hub_alone() {
    let run = Loop { desks: 1, workers: 2, sources: 1, seed: 3 };
    let latencies: Latencies = [0, 1, 1, 1].map(Span::from_micros).into();
    let mut actors = run.actors(false, false);
    actors.truncate(1);
    let mut hub =
        Hub::new(actors, &[vec![ActorId(1)], vec![ActorId(2), ActorId(3)]], latencies).with_contract(run.contract());
    hub.flush(Contact::All, &mut |_, _| {});
    let message = Word { life: 0, patience: 1, content: 0 };
    let mail = vec![Envelope { arrival: stamp(2), from: ActorId(1), to: ActorId(2), number: 1, message }];
    let up = Up { acked: 1, floor: Stamp::NEVER, done: Stamp::ZERO, finished: false, mail, log: vec![] };
    assert!(matches!(hub.receive(0, up), Err(Breach::Protocol { leaf: 0, .. })));
}
