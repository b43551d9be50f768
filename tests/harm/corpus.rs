//! Replays the corpus, and some thousand mutated files, through every reader of files. None may panic, take long, or
//! take more memory than a small file is worth.
//!
//! The corpus has one folder per reader; `events` and `results` come from honest runs of all grids, so that they have
//! every kind of record.

use std::panic::catch_unwind;
use std::path::Path;

use hansa_report::{Recorder, RunFacts, Status, SummaryFile, Tally};
use hansa_sim::kernel::Place;
use hansa_sim::random::{SplitMix64, mix_bits};
use hansa_sim::time::Stamp;
use hansa_sim::topology;

use crate::mutation::mutate;
use crate::{grids, memory, readers};

type Check = fn(&[u8]);

const READERS: &[(&str, Check)] = &[
    ("workflow", readers::workflow),
    ("swf", readers::swf),
    ("trace", readers::trace),
    ("batsim", readers::batsim),
    ("sacct", readers::sacct),
    ("slurm_events", readers::slurm_events),
    ("simgrid", readers::simgrid),
    ("topology", readers::topology),
    ("setting", readers::setting),
    ("experiment", readers::experiment),
    ("outside", readers::outside),
    ("events", readers::events),
    ("results", readers::results),
];

const MEMORY_MAX: usize = 64 << 20;

fn corpus(reader: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/harm/corpus").join(reader);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Log and summary of an honest run of each grid.
fn honest() -> Vec<(Vec<u8>, Vec<u8>)> {
    let run = |grid: grids::Grid| {
        let grids::Grid { topology, plan, names, .. } = grid;
        let mut place = Place::new(topology::build_actors(&topology, &plan.all()).unwrap(), plan.latencies);
        place.run_before(Stamp::NEVER, usize::MAX).unwrap();
        let mut recorder =
            Recorder::new(Tally::putting_aside(&topology, &names, Box::new(Vec::new()))).with_event_lines(&names);
        place.log().iter().take(80).for_each(|entry| recorder.record(entry).unwrap());
        let log = std::mem::take(recorder.pending_lines());
        let results = recorder.tally.summary(topology.seed, Status::Complete, recorder.digest());
        (log, serde_json::to_vec(&SummaryFile { results, run: RunFacts::default() }).unwrap())
    };
    grids::all().into_iter().map(run).collect()
}

fn replay(reader: &str, seeds: &[Vec<u8>]) {
    let (_, check) = READERS.iter().find(|(name, _)| *name == reader).expect("every reader is in the table");
    let count = if cfg!(unoptimised) { 150 } else { 4000 };
    let mut random = SplitMix64::new(mix_bits(reader.len() as u64));
    let mutants = (0..count).map(|number| {
        let mut bytes = seeds[number % seeds.len()].clone();
        mutate(&mut bytes, seeds, &mut random);
        bytes
    });
    let mut wrong = Vec::new();
    for bytes in seeds.iter().cloned().chain(mutants) {
        let (outcome, most) = memory::most(|| catch_unwind(|| check(&bytes)));
        if outcome.is_err() || most > MEMORY_MAX {
            wrong.push(format!("{most} bytes of memory for {:?}", String::from_utf8_lossy(&bytes)));
        }
    }
    assert!(wrong.is_empty(), "{reader}, {} of them:\n{}", wrong.len(), wrong[..wrong.len().min(9)].join("\n"));
}

#[test]
fn mutated_files_are_read_or_refused() {
    let wrong: Vec<_> = READERS[..11].iter().filter(|(r, _)| catch_unwind(|| replay(r, &corpus(r))).is_err()).collect();
    assert!(wrong.is_empty());
}

#[test]
fn mutated_results_are_read_or_refused() {
    let (logs, summaries): (Vec<_>, Vec<_>) = honest().into_iter().unzip();
    replay("events", &logs);
    replay("results", &summaries);
}

/// The corpus is valid, so that its mutations are nearly valid.
#[test]
fn the_corpus_itself_is_read() {
    use hansa_sim::workload::{batsim, sacct, slurm_events, swf, workflow};
    let texts = |reader| corpus(reader).into_iter();
    for bytes in texts("workflow") {
        workflow::read_workflow("some", &bytes).unwrap_or_else(|wrong| panic!("{}", wrong.of("some")));
    }
    assert!(texts("swf").all(|bytes| !swf::read_log(&bytes[..]).unwrap().jobs.is_empty()));
    assert!(texts("batsim").all(|bytes| !batsim::read_workload(&bytes[..]).unwrap().jobs.is_empty()));
    assert!(texts("sacct").all(|bytes| !sacct::read(&bytes, &Default::default()).unwrap().jobs.is_empty()));
    let events = |bytes: Vec<u8>| slurm_events::read(&bytes[..], Default::default()).unwrap();
    assert!(texts("slurm_events").all(|bytes| !events(bytes).jobs.is_empty()));
    assert!(
        texts("simgrid").all(|bytes| topology::simgrid::convert_platform("p", str::from_utf8(&bytes).unwrap()).is_ok())
    );
    for bytes in texts("topology") {
        let loaded = topology::read_topology("grid.toml", &[], &mut |_| Ok(bytes.clone()));
        loaded.unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    }
    for bytes in texts("experiment") {
        hansa_report::experiment::read_experiment("e.toml", &mut |_| Ok(bytes.clone()))
            .unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    }
}
