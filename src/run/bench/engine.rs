//! Events per second of the engine, beside a bare binary heap that pops and pushes the same ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use hansa_sim::kernel::{Actor, ActorId, BoxedActor, Cause, Event, Latencies, Message, Outbox, Place, Reaction};
use hansa_sim::random::mix_bits;
use hansa_sim::time::{Span, Stamp, Time};

/// Events per second.
pub struct Rates {
    pub pending: usize,
    pub heap: f64,
    pub engine: f64,
}

/// Measures both with this many events pending. Alternates and keeps the best of each, since this machine may be busy
/// with something else.
pub fn measure_engine(pending: usize, events: u64, rounds: u32) -> Rates {
    let mut best = Rates { pending, heap: 0.0, engine: 0.0 };
    for _ in 0..rounds {
        let begun = Instant::now();
        let of_heap = run_heap(pending, events);
        best.heap = best.heap.max(events as f64 / begun.elapsed().as_secs_f64());

        let begun = Instant::now();
        let of_engine = run_engine(pending, events);
        best.engine = best.engine.max(events as f64 / begun.elapsed().as_secs_f64());
        assert_eq!(of_heap, of_engine, "both loops see the same events");
    }
    best
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Token(u64);

impl Message for Token {
    fn reaction(&self) -> Reaction {
        Reaction::Now
    }

    fn name(&self) -> &'static str {
        "Token"
    }
}

/// Passes every token on to another actor after a pseudo-random time.
struct Relay {
    everybody: u32,
    seen: u64,
}

/// Receiver of a token, its delay, and the next token.
fn next(token: u64, everybody: u32) -> (ActorId, Span, u64) {
    let drawn = mix_bits(token);
    (ActorId((drawn % u64::from(everybody)) as u32), Span::from_micros(drawn >> 54), drawn)
}

impl Actor<Token, ()> for Relay {
    fn handle_batch(&mut self, now: Stamp, batch: &mut Vec<Event<Token>>, out: &mut Outbox<Token, ()>) {
        for event in batch.drain(..) {
            let token = match event.cause {
                Cause::Message(Token(token)) => token,
                _ => u64::from(event.from.0),
            };
            self.seen = self.seen.wrapping_add(token);
            let (to, later, token) = next(token, self.everybody);
            out.send_at(now.time + later, to, Token(token));
        }
    }
}

const LATENCY: Span = Span::from_micros(1);

fn run_engine(pending: usize, events: u64) -> u64 {
    let everybody = pending as u32;
    let latencies: Latencies = Arc::from(vec![LATENCY; pending]);
    let mut place = Place::new(
        (0..everybody)
            .map(|id| -> (ActorId, BoxedActor<Token, ()>) { (ActorId(id), Box::new(Relay { everybody, seen: 0 })) })
            .collect(),
        latencies,
    );
    while place.events() < events {
        place.run_before(Stamp::NEVER, 1).expect("relays keep their promises");
    }
    place.now().time.micros()
}

/// Runs the events in a loop that only orders them.
fn run_heap(pending: usize, events: u64) -> u64 {
    struct PendingEvents {
        key: (Stamp, ActorId, ActorId, u64),
        token: u64,
    }
    impl PartialEq for PendingEvents {
        fn eq(&self, other: &PendingEvents) -> bool {
            self.key == other.key
        }
    }
    impl Eq for PendingEvents {}
    impl PartialOrd for PendingEvents {
        fn partial_cmp(&self, other: &PendingEvents) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for PendingEvents {
        fn cmp(&self, other: &PendingEvents) -> std::cmp::Ordering {
            self.key.cmp(&other.key)
        }
    }

    let everybody = pending as u32;
    let mut numbers = vec![0u64; pending];
    let mut seen = 0u64;
    let mut heap: BinaryHeap<Reverse<PendingEvents>> = (0..everybody)
        .map(|id| Reverse(PendingEvents { key: (Stamp::ZERO, ActorId(id), ActorId(id), 0), token: u64::from(id) }))
        .collect();
    let mut now = Time::ZERO;
    for _ in 0..events {
        let Some(Reverse(PendingEvents { key: (stamp, at, _, _), token })) = heap.pop() else { break };
        now = stamp.time;
        seen = seen.wrapping_add(token);
        let (to, later, token) = next(token, everybody);
        let latency = if to == at { Span::ZERO } else { LATENCY + LATENCY };
        let sent = if later.is_zero() { stamp } else { Stamp::at(stamp.time + later) };
        numbers[at.index()] += 1;
        heap.push(Reverse(PendingEvents { key: (sent.after(latency), to, at, numbers[at.index()]), token }));
    }
    std::hint::black_box(seen);
    now.micros()
}
