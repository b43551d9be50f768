//! The market's grid as processes beside the same run inline: number of the hub's waits, and their cost.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Failure;
use crate::run_dir::RunDir;

/// One load of the market's grid in both layouts.
pub struct GridLoad {
    pub load: f64,
    pub tasks: u64,
    pub inline_seconds: f64,
    pub processes_seconds: f64,
    pub waits: u64,
    pub messages_per_packet: f64,
    /// Label of each leaf, and seconds for which it blocked the hub.
    pub blocked: Vec<(String, f64)>,
}

/// Four clusters of a thousand cores, two users, and jobs with about this many tasks.
fn bench_topology(tasks: u32, load: f64) -> String {
    let sites = [("york", "Kind1"), ("durham", "Kind1"), ("leeds", "Kind1"), ("hull", "Kind2")];
    format!(
        "name = \"bench\"\nseed = 1\n[market]\npolicy = \"fifo\"\n{}\
         [[user]]\nname = \"alice\"\n[[user]]\nname = \"bob\"\n\
         [[workload]]\nsource = \"market\"\njobs = {}\nload = {load:?}\n",
        sites.map(|(name, kind)| site_text(name, kind)).concat(),
        tasks.div_ceil(25) * 2,
    )
}

fn site_text(name: &str, kind: &str) -> String {
    format!("[[site]]\nname = \"{name}\"\ncores = 1000\nkind = \"{kind}\"\n")
}

/// Runs both layouts, the better of `rounds` times each, and checks that they agree.
pub fn measure_grid(tasks: u32, load: f64, rounds: u32) -> Result<GridLoad, Failure> {
    let dir = RunDir::new()?;
    let folder = &dir.path;
    let file = folder.join("bench.toml");
    std::fs::write(&file, bench_topology(tasks, load)).map_err(|error| Failure::System(error.to_string()))?;
    let best = |inline: bool| -> Result<Value, Failure> {
        let mut best: Option<Value> = None;
        for _ in 0..rounds {
            let summary = run_layout(&file, &folder.join(if inline { "inline" } else { "processes" }), inline)?;
            if best.as_ref().is_none_or(|best| run_seconds(&summary) < run_seconds(best)) {
                best = Some(summary);
            }
        }
        best.ok_or_else(|| Failure::Internal("no round was run".to_owned()))
    };
    let inline = best(true)?;
    let processes = best(false)?;
    if inline["results"]["digest"] != processes["results"]["digest"] {
        return Err(Failure::Internal("the two layouts of the measured grid disagree".to_owned()));
    }
    let blocked = processes["run"]["blocked_seconds"].as_object().into_iter().flatten();
    Ok(GridLoad {
        load,
        tasks: inline["results"]["tasks"]["submitted"].as_u64().unwrap_or(0),
        inline_seconds: run_seconds(&inline),
        processes_seconds: run_seconds(&processes),
        waits: processes["run"]["hub_waits"].as_u64().unwrap_or(0),
        messages_per_packet: processes["run"]["messages_per_packet"].as_f64().unwrap_or(f64::NAN),
        blocked: blocked.map(|(label, seconds)| (label.clone(), seconds.as_f64().unwrap_or(f64::NAN))).collect(),
    })
}

fn run_layout(topology: &Path, out: &PathBuf, inline: bool) -> Result<Value, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::System(error.to_string()))?;
    let mut command = Command::new(program);
    command.arg("run").arg(topology).arg("--out").arg(out).args(inline.then_some("--inline"));
    let output = command.stdin(Stdio::null()).output().map_err(|error| Failure::System(error.to_string()))?;
    if !output.status.success() {
        return Err(Failure::Internal(format!("a measured run failed: {}", String::from_utf8_lossy(&output.stderr))));
    }
    let text = std::fs::read(out.join("summary.json")).map_err(|error| Failure::System(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| Failure::Internal(error.to_string()))
}

/// Seconds from the first event to the last, without the start of processes and the output.
fn run_seconds(summary: &Value) -> f64 {
    summary["run"]["run_seconds"].as_f64().unwrap_or(f64::NAN)
}
