//! What every reader of files promises of any bytes, for fuzz targets and for the test that replays the seeds: a value or an
//! error in words, and never a panic; and what was read and can be written is read again as it was.

use hansa::topology::{self, simgrid};
use hansa::workload::{batsim, swf, workflow};

pub type Check = fn(&[u8]);

/// By the folder of their seeds.
#[allow(dead_code, reason = "a fuzz target takes one of them")]
pub const READERS: &[(&str, Check)] = &[
    ("batsim", read_batsim),
    ("events", read_events),
    ("simgrid", read_simgrid),
    ("swf", read_swf),
    ("topology", read_topology),
    ("workflow", read_workflow),
];

pub fn read_swf(bytes: &[u8]) {
    let Ok(trace) = swf::read(bytes) else { return };
    let mut written = Vec::new();
    let put = |piece: &[u8]| {
        written.extend_from_slice(piece);
        Ok::<(), ()>(())
    };
    swf::write(&trace.header, &trace.jobs, put).expect("memory takes all");
    let again = swf::read(&written[..]).expect("what was written can be read");
    assert_eq!(again.jobs.len(), trace.jobs.len());
    assert!(again.faults.is_empty(), "{}", again.faults);
}

pub fn read_batsim(bytes: &[u8]) {
    match batsim::read(bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(trace) => {
            let again = batsim::read(&batsim::write(&trace.jobs, 4)[..]).expect("what was written can be read");
            let told = |jobs: &[hansa::workload::Rigid]| {
                jobs.iter().map(|job| (job.nodes(), job.walltime(), job.user)).collect::<Vec<_>>()
            };
            assert_eq!(told(&again.jobs), told(&trace.jobs));
        }
    }
}

pub fn read_workflow(bytes: &[u8]) {
    if let Err(error) = workflow::read("w", bytes) {
        assert!(!error.of("w").is_empty());
    }
}

pub fn read_simgrid(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = simgrid::convert("platform", text) {
        assert!(!error.to_string().is_empty());
    }
}

pub fn read_topology(bytes: &[u8]) {
    let read = &mut |path: &str| if path == "fuzz.toml" { Ok(bytes.to_vec()) } else { Err("no such file".to_owned()) };
    match topology::load("fuzz.toml", &[], read) {
        Ok(loaded) => {
            let text = loaded.topology.to_toml();
            let read = &mut |_: &str| Ok(text.clone().into_bytes());
            let again = topology::load("fuzz.toml", &[], read).expect("what was written can be read").topology;
            assert_eq!(again.to_toml(), text);
        }
        Err(complaints) => assert!(!complaints.to_string().is_empty()),
    }
}

const GRID: &str = "name = 'fuzz'\nseed = 1\n[market]\npolicy = 'fifo'\n[[site]]\nname = 'york'\ncores = 4\n[[user]]\nname = 'ann'\n\
                    [[workload]]\nsource = 'table'\n[[workload.job]]\ntasks = [{ runtime = '2 min', cores = 2 }]\n";

/// A log of events as `verify` and `report` read it, over the grid of [`GRID`].
pub fn read_events(bytes: &[u8]) {
    let read = &mut |_: &str| Ok(GRID.as_bytes().to_vec());
    let topology = topology::load("fuzz.toml", &[], read).expect("the topology is sound").topology;
    let names = hansa::report::Names::of(&topology);
    match hansa::report::replay(&topology, &names, bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok((tally, digest)) => {
            let summary = tally.summary(1, hansa::report::Status::Complete, digest);
            assert!(summary.jobs.submitted <= bytes.len() as u64);
            tally.trace(|_| Ok::<(), ()>(())).expect("nothing fails");
        }
    }
}
