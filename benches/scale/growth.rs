//! Costs that grow with the number of jobs, and the cost of output beside the simulation.
//!
//! Each run is a process of its own, since its memory and its total wall time are measured.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "how long a process takes is what is measured"
)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const MARKET: &str = "topologies/market-paper.toml";

/// Jobs of a model in a queue that they keep busy.
const QUEUE: &str = r#"
name = "queue"
[batch]
[[site]]
name = "york"
cores = 128
[[user]]
name = "alice"
[[user]]
name = "bob"
[[workload]]
source = "lublin"
jobs = 1
nodes = 128
utilisation = 0.7
"#;

/// Workflows that arrive one after the other, planned over links that they share.
const STREAM: &str = r#"
name = "stream"
[workflow]
iterations = 5
[[site]]
name = "site-{}"
count = 3
cores = 16
[[link]]
name = "north"
between = ["site-1", "site-2"]
capacity = "1 Gbps"
[[link]]
name = "south"
between = ["site-2", "site-3"]
capacity = "1 Gbps"
[[user]]
name = "alice"
[[workload]]
source = "layered"
workflows = 1
tasks = 40
every = "30 s"
"#;

/// The market paper's experiment with this many jobs, of which 800,000 are ten million tasks; as many jobs of a model
/// in a queue, each of one task; and a stream of workflows.
pub fn measure(asked: Option<u64>) {
    let scratch = tempfile::tempdir().expect("there is room for a topology");
    let [queue, stream] = [("queue.toml", QUEUE), ("stream.toml", STREAM)].map(|(name, text)| {
        let path = scratch.path().join(name);
        fs::write(&path, text).expect("there is room for a topology");
        path
    });
    println!(
        "{:>8}{:>10}{:>10}{:>9}{:>12}{:>12}{:>9}{:>11}{:>8}{:>8}",
        "", "jobs", "tasks", "peak MB", "bytes/task", "simulate s", "write s", "write/sim", "told s", "wall s"
    );
    for (what, topology, count, sizes) in [
        ("market", Path::new(MARKET), "jobs", [10_000, 40_000, 160_000]),
        ("queue", &queue, "jobs", [50_000, 200_000, 800_000]),
        ("stream", &stream, "workflows", [1_000, 4_000, 16_000]),
    ] {
        let sizes = asked.map_or_else(|| sizes.to_vec(), |jobs| vec![jobs]);
        sizes.into_iter().for_each(|jobs| grown(what, topology, (count, jobs)));
    }
}

fn grown(what: &str, topology: &Path, (count, jobs): (&str, u64)) {
    let scratch = tempfile::tempdir().expect("there is room for results");
    let out = scratch.path().join("out");
    let begun = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_hansa"))
        .args(["run", "--inline"])
        .arg(topology)
        .args(["--set", &format!("workload.0.{count}={jobs}"), "--out"])
        .arg(&out)
        .stdout(Stdio::null())
        .spawn()
        .expect("hansa starts");
    let peak = watch(child);
    let wall = begun.elapsed().as_secs_f64();
    let summary = read(&out.join("summary.json"));
    let number = |path: &str| summary.pointer(path).and_then(Value::as_f64).expect("the summary has it");
    let tasks = number("/results/tasks/submitted");
    let run = number("/run/run_seconds");
    let write = number("/run/write_seconds");
    println!(
        "{what:>8}{jobs:>10}{tasks:>10}{:>9.0}{:>12.0}{run:>12.2}{write:>9.2}{:>11.2}{:>8.2}{wall:>8.2}",
        peak as f64 / 1e6,
        peak as f64 / tasks,
        write / run,
        number("/run/wall_seconds"),
    );
}

/// Peak memory of a process, in bytes.
fn watch(mut child: Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = high.and_then(|words| words.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        if let Some(status) = child.try_wait().expect("our own child") {
            assert!(status.success(), "the run fails");
            return peak;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn read(path: &Path) -> Value {
    let bytes = fs::read(path).expect("the run has left a summary");
    serde_json::from_slice(&bytes).expect("a summary is JSON")
}
