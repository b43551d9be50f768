//! A slow, obvious reference engine, which tests compare the others with.

use std::collections::BTreeMap;

use super::actor::Action;
use super::{Actor, ActorId, Cause, Entry, Event, Message, Outbox};
use crate::time::{Span, Stamp, Time};

/// Runs all actors to the end. Each has its own link to the hub; a message between two of them takes the latencies of
/// both links.
///
/// # Panics
///
/// If an actor breaks a promise, or sends to an actor that does not exist.
pub fn run_actors<M: Message, R>(mut actors: Vec<Box<dyn Actor<M, R> + Send>>, latencies: &[Span]) -> Vec<Entry<R>> {
    assert_eq!(actors.len(), latencies.len(), "every actor has one link");
    let mut due: BTreeMap<Key, Due<M>> = BTreeMap::new();
    let mut sent = vec![0; actors.len()];
    let mut log = Vec::new();
    for number in 0..actors.len() {
        let key = Key { at: Stamp::ZERO, to: number, from: number, rank: 0, number: 0 };
        due.insert(key, Due { cause: Cause::Start, excuse: Stamp::ZERO });
    }

    while let Some((&Key { at: now, to: actor, .. }, _)) = due.first_key_value() {
        let mut batch = Vec::new();
        let mut excuse = Stamp::NEVER;
        while let Some(first) = due.first_entry().filter(|first| first.key().at == now && first.key().to == actor) {
            let from = ActorId(first.key().from as u32);
            let event = first.remove();
            excuse = excuse.min(event.excuse);
            batch.push(Event { from, cause: event.cause });
        }

        let mut out = Outbox::new();
        out.begin(now, Time::ZERO);
        actors[actor].handle_batch(now, &mut batch, &mut out);

        for action in out.actions {
            sent[actor] += 1;
            let (key, event) = match action {
                Action::Send { to, sent: leaves, rank, message } => {
                    let name = message.name();
                    assert!(leaves >= excuse, "{name} leaves {actor} at {leaves}, promised not before {excuse}");
                    let at = leaves.after(
                        link_latency(actor, actor, latencies, to) + link_latency(to.index(), actor, latencies, to),
                    );
                    let key = Key { at, to: to.index(), from: actor, rank, number: sent[actor] };
                    (key, Due { excuse: message.reaction().earliest(at), cause: Cause::Message(message) })
                }
                Action::Wake { at, token, floor } => {
                    assert!(floor >= excuse, "{actor} set a timer at {now} for {floor}, promised not before {excuse}");
                    let key = Key { at, to: actor, from: actor, rank: 0, number: sent[actor] };
                    (key, Due { cause: Cause::Timer(token), excuse: floor })
                }
            };
            if !key.at.is_never() {
                due.insert(key, event);
            }
        }
        log.extend(out.records.into_iter().map(|record| Entry { stamp: now, actor: ActorId(actor as u32), record }));
    }
    log
}

fn link_latency(one: usize, actor: usize, latencies: &[Span], to: ActorId) -> Span {
    if to.index() == actor { Span::ZERO } else { latencies[one] }
}

/// Total order of all events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    at: Stamp,
    to: usize,
    from: usize,
    rank: u16,
    number: u64,
}

struct Due<M> {
    cause: Cause<M>,
    /// Earliest stamp at which the receiver may send in reaction.
    excuse: Stamp,
}
