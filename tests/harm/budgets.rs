//! Memory budgets of a run and of a peer.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

use hansa_report::{Names, Recorder, Status, Store, Tally};
use hansa_sim::kernel::{Place, Up};
use hansa_sim::protocol::{Message, Record, codec};
use hansa_sim::random::SplitMix64;
use hansa_sim::time::Stamp;
use hansa_sim::topology::{self, Roster};

use crate::lies::encoded;
use crate::mutation::mutate;
use crate::{grids, leaves, memory};

/// Sink for finished data, as in a run.
struct Aside(File);

impl Store for Aside {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, place)
    }
}

/// Tasks of a market of this many jobs, and peak memory of the run with its results.
fn market(jobs: u32) -> (u64, usize) {
    let text = format!(
        "name = \"many\"\n[market]\npolicy = \"fifo\"\n[[site]]\nname = \"york\"\ncores = 1000\n[[site]]\nname = \"leeds\"\n\
         cores = 1000\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"market\"\njobs = {jobs}\nload = 0.7\n"
    );
    let topology = topology::read_topology("grid.toml", &[], &mut |_| Ok(text.clone().into_bytes())).unwrap().topology;
    memory::most(|| {
        let plan = Roster::of_topology(&topology);
        let mut place = Place::new(topology::build_actors(&topology, &plan.all()).unwrap(), plan.latencies.clone());
        let store = Box::new(Aside(tempfile::tempfile().unwrap()));
        let mut recorder = Recorder::new(Tally::putting_aside(&topology, &Names::of(&topology), store));
        let mut started = 0;
        while place.run_before(Stamp::NEVER, 4096).unwrap() || !place.log().is_empty() {
            for entry in place.log() {
                started += u64::from(matches!(entry.record, Record::Started { .. }));
                recorder.record(entry).unwrap();
            }
            place.clear_log();
        }
        drop(recorder.tally.summary(1, Status::Complete, recorder.digest()));
        started
    })
}

/// If jobs end about as fast as they arrive, a run holds a window of them and a few bytes of each.
#[test]
fn a_million_tasks_fit_into_their_budget() {
    let jobs = if cfg!(unoptimised) { 10_000 } else { 84_000 };
    let (tasks, most) = market(jobs);
    println!("{tasks} tasks, {most} bytes");
    assert!(tasks > 2 * u64::from(jobs), "{tasks}");
    assert!(most < (64 << 20) + 32 * tasks as usize, "{most} bytes for {tasks} tasks");
}

/// A frame costs only what its bytes can hold, regardless of the lengths that it claims for its lists.
#[test]
fn a_frame_costs_no_more_than_a_multiple_of_its_bytes() {
    let grid = grids::all().remove(0);
    let mut frames = Vec::new();
    leaves::honest_run(&grid, &mut |_, frame| frames.push(encoded(frame)));
    let mut random = SplitMix64::new(5);
    for number in 0..20_000 {
        let mut bytes = frames[number % frames.len()].clone();
        mutate(&mut bytes, &frames, &mut random);
        let (_, most) = memory::most(|| codec::decode_frame::<Up<Message, Record>>(&bytes).is_ok());
        assert!(most <= 4096 + 200 * bytes.len(), "{most} bytes for a frame of {}", bytes.len());
    }
}
