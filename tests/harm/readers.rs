//! Every reader of files: for any bytes it returns a value or an error; a value that it accepts can be written, and
//! read back as an equal one. Fuzz targets use these too.

#![allow(dead_code, reason = "a fuzz target is one of them")]

use std::collections::BTreeMap;

use hansa_report::experiment;
use hansa_report::{EventReader, EventWriter, Manifest, Names, SummaryFile, replay_log, summary_table};
use hansa_sim::grid::JobId;
use hansa_sim::kernel::ActorId;
use hansa_sim::protocol::outside::{
    Decision, HelloAnswer, SiteEvent, allocator, batsim as outside_batsim, bidder, manager, planner, shorten_output,
};
use hansa_sim::protocol::{Entrust, Message};
use hansa_sim::roles::outside::{CheckedProgram, ManagerProgram, ProgramManager};
use hansa_sim::roles::site::{Manager, SiteOrder, Tasks};
use hansa_sim::time::{Span, Time};
use hansa_sim::topology::{self, Override, Topology, simgrid};
use hansa_sim::workload::packed::Packed;
use hansa_sim::workload::{Rigid, Trace, batsim, sacct, slurm_events, swf, workflow};

pub fn workflow(bytes: &[u8]) {
    match workflow::read_workflow("dir/some.json", bytes) {
        Ok(workflow::WorkflowFile::Workflow(read)) => {
            let written = workflow::write::write_wfformat(&read);
            let again = workflow::read_workflow("again.json", written.as_bytes());
            assert!(matches!(again, Ok(workflow::WorkflowFile::Workflow(_))), "{again:?}\n{written}");
            let written = workflow::write::write_dot(&read);
            let again = workflow::read_workflow("again.dot", written.as_bytes());
            assert!(matches!(again, Ok(workflow::WorkflowFile::Workflow(_))), "{again:?}\n{written}");
        }
        Ok(workflow::WorkflowFile::Table(_)) => {}
        Err(wrong) => is_reported(&wrong.of("some.json")),
    }
}

pub fn swf(bytes: &[u8]) {
    let trace = swf::read_log(bytes).expect("bytes in memory can be read");
    trace.faults.first.iter().for_each(|fault| is_reported(&fault.what));
    let mut written = Vec::new();
    let jobs: Vec<Rigid> = trace.jobs.iter().collect();
    swf::write_log(&trace.header, &jobs, |piece| {
        written.extend_from_slice(piece);
        Ok::<(), std::convert::Infallible>(())
    })
    .expect("memory takes it");
    let again = swf::read_log(&written[..]).expect("bytes in memory can be read");
    assert_eq!(again.jobs, trace.jobs, "{}", String::from_utf8_lossy(&written));
}

/// A trace of failures, through the topology that names it.
pub fn trace(bytes: &[u8]) {
    const FAILS: &str = "name = 'fails'\n[market]\n[[site]]\nname = 'york'\ncores = 8\n[[user]]\nname = 'alice'\n\
        [[workload]]\nsource = 'table'\n[[workload.job]]\ntasks = [{ runtime = '1 min', cores = 2 }]\n\
        [[failure]]\nsite = 'york'\ntrace = 'trace.csv'\n";
    let read = &mut |path: &str| Ok(if path == "trace.csv" { bytes.to_vec() } else { FAILS.as_bytes().to_vec() });
    match topology::read_topology("grid.toml", &[], read) {
        Ok(loaded) => {
            loaded.notes.iter().for_each(|note| is_reported(note));
            // The written topology contains the outages, and needs no trace.
            let text = loaded.topology.to_toml();
            let again = load(text.as_bytes(), &[]).unwrap_or_else(|| panic!("what was written can be read\n{text}"));
            assert_eq!(again.hash(), loaded.topology.hash());
        }
        Err(diagnostics) => {
            is_reported(&diagnostics.to_string());
            assert!(diagnostics.to_string().len() < 4_000, "a fault is told in few words");
        }
    }
}

pub fn batsim(bytes: &[u8]) {
    match batsim::read_workload(bytes) {
        Ok(trace) => {
            trace.faults.first.iter().for_each(|fault| is_reported(&fault.what));
            let runnable: Vec<_> = trace.jobs.iter().filter(|job| job.check().is_ok()).collect();
            let written = batsim::write_workload(&runnable, 64);
            let again = batsim::read_workload(&written[..]).expect("what was written can be read");
            let meaning = |job: Rigid| (job.number, job.submit, job.nodes(), job.runs_for(), job.walltime());
            let same = again.jobs.iter().map(meaning).eq(runnable.into_iter().map(meaning));
            assert!(same, "{}", String::from_utf8_lossy(&written));
        }
        Err(wrong) => is_reported(&wrong.to_string()),
    }
}

pub fn sacct(bytes: &[u8]) {
    match sacct::read(bytes, &sacct::Form::default()) {
        Ok(trace) => is_log(&trace),
        Err(wrong) => is_reported(&wrong.to_string()),
    }
}

pub fn slurm_events(bytes: &[u8]) {
    is_log(&slurm_events::read(bytes, sacct::SizeIn::Nodes).expect("bytes in memory can be read"));
}

/// Checks that the jobs of a trace can be written as a log and read back.
fn is_log(trace: &Trace) {
    is_reported(&format!("{:#}", trace.faults));
    let mut written = Vec::new();
    trace.jobs.iter().for_each(|job| swf::write_job(&job, &mut written));
    let again = swf::read_log(&written[..]).expect("bytes in memory can be read");
    // Profiles and options of sbatch have no field in a log.
    let plain: Packed = trace.jobs.iter().map(|job| Rigid { profile: None, request: None, ..job }).collect();
    assert_eq!(again.jobs, plain, "{}", String::from_utf8_lossy(&written));
}

pub fn simgrid(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match simgrid::convert_platform("platform", text) {
        // A platform has links and sites, but no system for them.
        Ok(converted) => {
            converted.warnings.iter().for_each(|warning| is_reported(warning));
            drop(load(converted.toml.as_bytes(), &[]));
        }
        Err(wrong) => is_reported(&wrong.to_string()),
    }
}

pub fn topology(bytes: &[u8]) {
    if let Some(read) = load(bytes, &[]) {
        let text = read.to_toml();
        let again = load(text.as_bytes(), &[]).unwrap_or_else(|| panic!("what was written can be read\n{text}"));
        assert_eq!(again.to_toml(), text);
        assert_eq!(again.hash(), read.hash());
    }
}

pub fn setting(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    match Override::parse(text) {
        Ok(setting) => drop(load(GRID, &[setting])),
        Err(wrong) => is_reported(&wrong.to_string()),
    }
}

pub fn experiment(bytes: &[u8]) {
    match experiment::read_experiment("experiment.toml", &mut |_| Ok(bytes.to_vec())) {
        Ok(read) => assert_eq!(read.runs().take(10).count(), read.count().min(10)),
        Err(diagnostics) => is_reported(&diagnostics.to_string()),
    }
}

/// Lines of `events.jsonl`, one by one and as the log of a run.
pub fn events(bytes: &[u8]) {
    let topology = load(GRID, &[]).expect("this one is in order");
    let names = Names::of(&topology);
    let reader = EventReader::new(&names);
    let writer = EventWriter::new(&names);
    for line in bytes.split(|byte| *byte == b'\n') {
        match reader.read_entry(line) {
            Ok(entry) => {
                let mut written = Vec::new();
                writer.write(&entry, &mut written);
                let again = reader.read_entry(written.strip_suffix(b"\n").expect("a line ends"));
                assert_eq!(again.as_ref(), Ok(&entry), "{}", String::from_utf8_lossy(&written));
            }
            Err(wrong) => is_reported(&wrong.to_string()),
        }
    }
    match replay_log(&topology, &names, bytes) {
        Ok((tally, digest)) => drop(tally.summary(1, hansa_report::Status::Complete, digest)),
        Err(wrong) => is_reported(&wrong.to_string()),
    }
}

/// `summary.json` and `manifest.json`, as `hansa verify` and `hansa report` read them.
pub fn results(bytes: &[u8]) {
    if let Ok(summary) = serde_json::from_slice::<SummaryFile>(bytes) {
        assert!(!summary_table(&summary.results, Some(&summary.run)).is_empty());
    }
    if let Ok(manifest) = serde_json::from_slice::<Manifest>(bytes) {
        let again: Manifest = serde_json::from_slice(&manifest.json()).expect("what was written can be read");
        assert_eq!(again.names, manifest.names);
        drop(load(manifest.topology.as_bytes(), &[]));
    }
}

/// Messages of an external program, in any of the protocols: each is read or refused with a message; its actions are
/// within their limits.
pub fn outside(bytes: &[u8]) {
    let asked = Time::ZERO + Span::from_secs(60);
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = str::from_utf8(line) else { continue };
        if let Err(wrong) = serde_json::from_str::<HelloAnswer>(line) {
            is_reported(&shorten_output(&wrong.to_string()));
        }
        if let Ok(answer) = serde_json::from_str::<bidder::BidderAnswer>(line) {
            assert!(answer.bids.iter().all(|bid| bid.is_finite()), "{line}");
        }
        if let Ok(Err(why)) =
            serde_json::from_str::<allocator::AllocatorAnswer>(line).map(allocator::AllocatorAnswer::allocation)
        {
            is_reported(&why);
        }
        if let Ok(answer) = serde_json::from_str::<planner::PlannerAnswer>(line) {
            match answer.decision() {
                Ok(plans) => plans.iter().for_each(|plan| {
                    assert!(!matches!(plan, planner::UserAction::Call { at } if *at == Time::NEVER), "{line}");
                }),
                Err(why) => is_reported(&why),
            }
        }
        let manages = serde_json::from_str::<manager::ManagerAnswer>(line).map(|answer| answer.decision(asked));
        let schedules = serde_json::from_str::<outside_batsim::BatsimReply>(line).map(|reply| reply.decision(asked));
        for decision in manages.into_iter().chain(schedules) {
            match decision {
                Ok(decision) => obeyed(asked, decision),
                Err(wrong) => is_reported(&wrong),
            }
        }
        is_reported(&format!("`{}`", shorten_output(line)));
    }
}

/// Any action is carried out by a site or refused with a reason, and the site continues.
fn obeyed(asked: Time, decision: Decision) {
    assert!(decision.ready >= asked && decision.actions.iter().all(|(at, _)| (asked..=decision.ready).contains(at)));
    let messages = Decided { decision: Some(decision), refused: None };
    let mut managed = ProgramManager::new(Box::new(messages), 8);
    let site = Tasks::new(8);
    let mut orders = Vec::new();
    for job in 0..4 {
        let walltime = Span::from_secs(20);
        let runtime = Span::from_secs(10);
        let entrust = Entrust { job: JobId(job), nodes: 2, walltime, runtime, losses: 0 };
        managed.receive_message(asked, ActorId(0), Message::Entrust(entrust), &site, &mut orders);
    }
    managed.decide_orders(asked, &site, &mut orders);
    if let Some(wake) = managed.next_wake() {
        assert!(wake > asked, "nothing that is due is left over");
        managed.decide_orders(wake, &site, &mut orders);
    }
    let starts = orders.iter().filter(|order| matches!(order, SiteOrder::Start(_))).count();
    let kills = orders.iter().filter(|order| matches!(order, SiteOrder::Kill(_))).count();
    assert!(starts <= 4 && kills <= starts);
}

/// A program with a single answer.
struct Decided {
    decision: Option<Decision>,
    refused: Option<String>,
}

impl ManagerProgram for Decided {
    fn decide_on_events(&mut self, now: Time, _: &[(Time, SiteEvent)]) -> Decision {
        self.decision.take().unwrap_or(Decision { actions: Vec::new(), ready: now })
    }
}

impl CheckedProgram for Decided {
    fn refuse_answer(&mut self, _: Time, why: &str) {
        is_reported(why);
        self.refused = Some(why.to_owned());
    }

    fn has_failed(&self) -> bool {
        self.refused.is_some()
    }
}

/// A grid for logs and settings.
const GRID: &[u8] =
    b"name = 'grid'\n[market]\n[[site]]\nname = 'york'\ncores = 8\n[[site]]\nname = 'leeds'\ncores = 8\n\
    [[user]]\nname = 'alice'\n[[user]]\nname = 'bob'\n[[workload]]\nsource = 'table'\n[[workload.job]]\n\
    tasks = [{ runtime = '1 min', cores = 2 }]\n";

/// Files that topologies name have the content given here, and include nothing.
fn load(bytes: &[u8], settings: &[Override]) -> Option<Topology> {
    let files =
        BTreeMap::from([("grid.toml", bytes), ("log.swf", &b"1 0 -1 10 1 -1 -1 1 20 -1 1 7 1 -1 -1 -1 -1 -1\n"[..])]);
    let read = &mut |path: &str| files.get(path).map(|bytes| bytes.to_vec()).ok_or_else(|| "no such file".to_owned());
    match topology::read_topology("grid.toml", settings, read) {
        Ok(loaded) => Some(loaded.topology),
        Err(diagnostics) => {
            is_reported(&diagnostics.to_string());
            None
        }
    }
}

/// Checks that a message is printable.
fn is_reported(text: &str) {
    assert!(!text.is_empty() && text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}
