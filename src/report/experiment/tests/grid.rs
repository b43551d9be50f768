//! Grids with sites and users as actors, for experiments that are computed without one: both paths have to agree.

use hansa_report::{Names, Status, Summary, Tally};
use hansa_sim::kernel::{Entry, Place};
use hansa_sim::protocol::Record;
use hansa_sim::time::Stamp;
use hansa_sim::topology::{Roster, Topology, build_actors, read_topology};

/// Runs the topology of a text in this process; returns its summary and its log.
pub fn run(text: &str) -> (Summary, Vec<Entry<Record>>) {
    let mut read = |_: &str| Ok(text.as_bytes().to_vec());
    let topology =
        read_topology("grid.toml", &[], &mut read).unwrap_or_else(|faults| panic!("{faults}\n{text}")).topology;
    summary_and_log(&topology)
}

/// Runs a topology in this process; returns its summary and its log.
pub fn summary_and_log(topology: &Topology) -> (Summary, Vec<Entry<Record>>) {
    let roster = Roster::of_topology(topology);
    let mut place = Place::new(build_actors(topology, &roster.all()).unwrap(), roster.latencies.clone());
    while place.run_before(Stamp::NEVER, 4_096).unwrap() {}
    let log = place.take_log();
    let mut tally = Tally::new(topology, &Names::of(topology));
    log.iter().for_each(|entry| tally.add(entry).unwrap_or_else(|wrong| panic!("{entry:?}: {wrong}")));
    (tally.summary(topology.seed, Status::Complete, String::new()), log)
}
