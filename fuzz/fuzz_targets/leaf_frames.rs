//! A leaf that sends arbitrary frames: the hub accepts or refuses them, and never panics.

#![no_main]

use std::sync::Arc;

use hansa_sim::kernel::{ActorId, BoxedActor, Contact, Hub, Up};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::time::Span;
use hansa_sim::topology;
use libfuzzer_sys::fuzz_target;

const TOPOLOGY: &str = "name = 'fuzz'\nseed = 1\n[market]\npolicy = 'fifo'\n[[site]]\nname = 'york'\ncores = 4\nkind = 'a'\n\
    [[user]]\nname = 'alice'\n[[workload]]\nsource = 'table'\n[[workload.job]]\narrive = '1 min'\n\
    tasks = [{ runtime = '2 min', cores = 2, kind = 'a' }]\n";

fuzz_target!(|frames: Vec<(bool, Vec<u8>)>| {
    let read = &mut |_: &str| Ok(TOPOLOGY.as_bytes().to_vec());
    let topology = topology::read_topology("fuzz.toml", &[], read).expect("the topology is sound").topology;
    let router: Vec<(ActorId, BoxedActor<Message, Record>)> =
        topology::build_actors(&topology, &[ActorId(0)]).expect("the topology can be played");
    let latencies = Arc::from([Span::ZERO; 3]);
    let mut hub = Hub::new(router, &[vec![ActorId(1)], vec![ActorId(2)]], latencies);
    hub.flush(Contact::All, &mut |_, _| {});
    for (user, bytes) in frames {
        let Ok(up) = codec::decode_frame::<Up<Message, Record>>(&bytes) else { continue };
        if hub.receive(usize::from(user), up).is_err() {
            return;
        }
        for _ in 0..100 {
            match hub.advance(1) {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return,
            }
        }
        hub.flush(Contact::All, &mut |_, _| {});
    }
});
