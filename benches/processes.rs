//! Runs as processes beside the same runs inline: how often the hub waits, what the run costs, and what two cores gain:
//! `cargo bench -- processes`, or with a name to measure the rows that contain it.
//!
//! Inline runs and processes take turns, so that all else that the machine does affects both; each figure is a median.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it waits for real processes")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::measure::{Scratch, cpu_of_children, median};
use serde_json::Value;

const HANSA: &str = env!("CARGO_BIN_EXE_hansa");
const ROUNDS: usize = 5;

/// A grid to measure, and the goals for it.
struct Row {
    name: &'static str,
    topology: String,
    /// Most waits of the hub per job.
    waits: f64,
    /// Most run seconds on one core, in those of the inline run; None if not limited.
    ratio: Option<f64>,
    /// Least speed-up of the whole program over the inline one with all cores; None if its sites compute little.
    speed_up: Option<f64>,
}

fn rows() -> Vec<Row> {
    // Several streams of the model's jobs for 64 nodes, one beside the other: the more, the higher the load.
    let queues = |scheduler: &str, sites: u32, streams: u32, jobs: u32, keys: &str| {
        let stream = format!("[[workload]]\nsource = \"lublin\"\njobs = {}\n{keys}", jobs / streams);
        format!(
            "name = \"processes\"\nseed = 1\n[batch]\ndispatch = \"round-robin\"\n\
             [[site]]\nname = \"site-{{}}\"\ncount = {sites}\ncores = 64\nlatency = \"5 ms\"\nmemory_gb = 8\n\
             scheduler = \"{scheduler}\"\n[[user]]\nname = \"alice\"\nlatency = \"5 ms\"\n{}",
            stream.repeat(streams as usize)
        )
    };
    let market = |jobs: u32| {
        format!(
            "name = \"processes\"\nseed = 1\n[market]\npolicy = \"fifo\"\n\
             [[site]]\nname = \"site-{{}}\"\ncount = 4\ncores = 1000\nkind = \"Kind1\"\n\
             [[user]]\nname = \"alice\"\n[[user]]\nname = \"bob\"\n\
             [[workload]]\nsource = \"market\"\njobs = {jobs}\nload = 0.7\n"
        )
    };
    let shipped = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("topologies").join(name);
        std::fs::read_to_string(path).expect("it is shipped")
    };
    let dfrs = "GreedyPM */per/opt=min/minvt=600";
    let light = "arrival_factor = 0.3\n";
    let needs = "needs = \"quad-core\"\n";
    // As in most logs: all jobs end early, and thousands of others move in the plan.
    let early = "overestimate = 2.0\n";
    let queue = |name, topology, speed_up| Row { name, topology, waits: 0.02, ratio: Some(2.5), speed_up };
    vec![
        queue("conservative, light load", queues("conservative", 4, 1, 40_000, light), None),
        queue("conservative, overload", queues("conservative", 4, 8, 40_000, early), Some(1.25)),
        queue("dfrs, light load", queues(dfrs, 4, 1, 12_000, &format!("{light}{needs}")), None),
        queue("dfrs, overload", queues(dfrs, 4, 6, 24_000, needs), Some(1.25)),
        queue("easy, one site", queues("easy", 1, 1, 40_000, ""), None),
        queue("market, 500,000 tasks", market(40_000), None),
        queue("market-paper", shipped("market-paper.toml"), None),
        Row {
            name: "provisioning",
            topology: shipped("provisioning.toml"),
            waits: f64::INFINITY,
            ratio: None,
            speed_up: None,
        },
    ]
}

/// Costs of one run.
struct Run {
    /// Seconds from the first event to the last.
    run: f64,
    /// Seconds until all have joined.
    join: f64,
    /// Wall seconds of the whole program.
    wall: f64,
    /// CPU seconds of all its processes.
    cpu: f64,
    waits: u64,
    jobs: u64,
    digest: String,
}

pub fn main(arguments: &[String]) {
    let wanted = arguments.iter().find(|argument| !argument.starts_with('-')).cloned();
    let scratch = Scratch::new("processes");
    println!(
        "{:<26}    jobs    waits  waits/job  run s: inline  one core  ratio  all cores   wall s: inline  all cores  speed-up   CPU s: inline  one core   join s",
        ""
    );
    let mut missed = 0;
    for row in rows().into_iter().filter(|row| wanted.as_ref().is_none_or(|wanted| row.name.contains(wanted.as_str())))
    {
        missed += measure(&row, &scratch.0);
    }
    println!("{missed} goals missed");
}

/// Measures a row, prints it, and returns the number of goals missed.
fn measure(row: &Row, folder: &Path) -> usize {
    let topology = folder.join("grid.toml");
    std::fs::write(&topology, &row.topology).expect("the scratch folder can be written");
    let flags: [&[&str]; 3] = [&["--inline"], &[], &["--cores", "all"]];
    let mut runs: [Vec<Run>; 3] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (runs, flags) in runs.iter_mut().zip(flags) {
            runs.push(run(&topology, &folder.join("out"), flags));
        }
    }
    let digests: Vec<&String> = runs.iter().flatten().map(|run| &run.digest).collect();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{}: the layouts disagree", row.name);
    let of = |at: usize, what: fn(&Run) -> f64| median(runs[at].iter().map(what).collect());
    let [inline, one, all] = [0, 1, 2].map(|at| of(at, |run| run.run));
    let [wall_inline, wall_all] = [0, 2].map(|at| of(at, |run| run.wall));
    let waits = of(1, |run| run.waits as f64);
    let per_job = waits / runs[1][0].jobs as f64;
    let ratio = one / inline;
    let speed_up = wall_inline / wall_all;
    println!(
        "{:<26} {:>7} {waits:>8} {per_job:>10.4} {inline:>14.3} {one:>9.3} {ratio:>6.2} {all:>10.3} {wall_inline:>16.3} {wall_all:>10.3} {speed_up:>9.2} {:>15.2} {:>9.2} {:>8.3}",
        row.name,
        runs[1][0].jobs,
        of(0, |run| run.cpu),
        of(1, |run| run.cpu),
        of(1, |run| run.join),
    );
    let mut missed = 0;
    let mut goal = |is_met: bool, text: String| {
        if !is_met {
            println!("    goal missed: {text}");
            missed += 1;
        }
    };
    goal(per_job <= row.waits, format!("at most {} waits per job", row.waits));
    if let Some(most) = row.ratio {
        goal(ratio <= most, format!("at most {most} times the inline run on one core"));
    }
    if let Some(least) = row.speed_up {
        goal(speed_up >= least, format!("at least {least} times as fast as inline with all cores"));
    }
    missed
}

fn run(topology: &Path, out: &Path, flags: &[&str]) -> Run {
    let before = cpu_of_children();
    let begun = Instant::now();
    let mut command = Command::new(HANSA);
    command.arg("run").arg(topology).arg("--out").arg(out).args(flags);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().expect("it starts");
    let wall = begun.elapsed().as_secs_f64();
    assert!(status.success(), "a measured run failed");
    let text = std::fs::read(out.join("summary.json")).expect("it has left a summary");
    let summary: Value = serde_json::from_slice(&text).expect("a summary is JSON");
    let number = |value: &Value| value.as_f64().unwrap_or_default();
    Run {
        run: number(&summary["run"]["run_seconds"]),
        join: number(&summary["run"]["join_seconds"]),
        wall,
        cpu: cpu_of_children() - before,
        waits: summary["run"]["hub_waits"].as_u64().unwrap_or_default(),
        jobs: summary["results"]["jobs"]["submitted"].as_u64().expect("a summary counts jobs"),
        digest: summary["results"]["digest"].as_str().expect("a summary has a digest").to_owned(),
    }
}
