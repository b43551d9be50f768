//! Topologies of texts and their logs, for tests of several crates.

use hansa_sim::kernel::{Entry, Place, judge};
use hansa_sim::protocol::Record;
use hansa_sim::time::{Span, Stamp, Time};
use hansa_sim::topology::{Roster, Topology, build_actors, read_topology};

pub fn second(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// The topology of a text that names no other file.
pub fn read_text(text: &str) -> Topology {
    let mut read = |_: &str| Ok(text.as_bytes().to_vec());
    read_topology("grid.toml", &[], &mut read).unwrap_or_else(|faults| panic!("{faults}\n{text}")).topology
}

/// Runs a grid in one place.
pub fn play(topology: &Topology) -> Vec<Entry<Record>> {
    let roster = Roster::of_topology(topology);
    let mut place = Place::new(build_actors(topology, &roster.all()).unwrap(), roster.latencies);
    assert_eq!(place.run_before(Stamp::NEVER, usize::MAX), Ok(false));
    place.take_log()
}

/// Runs a grid in the engine that checks every promise.
pub fn play_checked(topology: &Topology) -> Vec<Entry<Record>> {
    let roster = Roster::of_topology(topology);
    let actors = build_actors(topology, &roster.all()).unwrap();
    judge::run_actors(actors.into_iter().map(|(_, actor)| actor).collect(), &roster.latencies)
}
