//! Cost of a journal in a run without faults, and time until a killed process is back: `cargo bench -- recovery`.
//!
//! Runs with and without a journal alternate, so that other load hits both. The baseline of a recovery is the time in
//! which one process computes the run up to then, all roles included.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it waits for real processes")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::measure::{Scratch, cpu_of_children, median};
use serde_json::Value;

const HANSA: &str = env!("CARGO_BIN_EXE_hansa");
/// In a short run the time to detect and restart a process dominates; in a long one, the time to recompute.
const JOBS: [u32; 2] = [20_000, 100_000];
const PAIRS: usize = 7;
const KILLS: usize = 5;

pub fn main() {
    let scratch = Scratch::new("recovery");
    let topology = scratch.0.join("grid.toml");
    for (place, jobs) in JOBS.into_iter().enumerate() {
        std::fs::write(&topology, grid(jobs)).unwrap();
        let alone: Vec<Run> = (0..3).map(|_| finish(start(&topology, &scratch.0, &["--inline"]))).collect();
        let inline = Run { seconds: median(alone.iter().map(|run| run.seconds).collect()), ..alone[0] };
        println!("{jobs} jobs on four sites; inline {:.2} s", inline.seconds);
        if place == 0 {
            journal(&topology, &scratch.0);
        }
        recovery(&topology, &scratch.0, &inline);
    }
}

/// Four clusters of a thousand cores, two users.
fn grid(jobs: u32) -> String {
    let site = |name: &str| format!("[[site]]\nname = \"{name}\"\ncores = 1000\nkind = \"Kind1\"\n");
    format!(
        "name = \"recovery\"\nseed = 1\n[market]\npolicy = \"fifo\"\n{}[[user]]\nname = \"alice\"\n[[user]]\nname = \"bob\"\n\
         [[workload]]\nsource = \"market\"\njobs = {jobs}\nload = 0.7\n",
        ["york", "durham", "leeds", "hull"].map(site).concat(),
    )
}

/// Duration of a run without faults, with a journal and without.
fn journal(topology: &Path, out: &Path) {
    let mut with = Vec::new();
    let mut without = Vec::new();
    for _ in 0..PAIRS {
        with.push(finish(start(topology, out, &[])));
        without.push(finish(start(topology, out, &["--patience", "0"])));
    }
    let of = |runs: &[Run], what: fn(&Run) -> f64| median(runs.iter().map(what).collect());
    println!("\n              journal   without   ratio (goal: 1.05 or less)");
    for (name, what) in [("run s", (|run| run.seconds) as fn(&Run) -> f64), ("CPU s", |run| run.cpu)] {
        let journal = of(&with, what);
        let none = of(&without, what);
        println!("{name:<12} {journal:>8.2} {none:>9.2} {:>7.3}", journal / none);
    }
    let spread =
        without.iter().map(|run| run.cpu).fold((f64::INFINITY, 0.0_f64), |(a, b), cpu| (a.min(cpu), b.max(cpu)));
    println!("CPU s of runs without differ by a factor of {:.3} among themselves", spread.1 / spread.0);
}

/// Time until each role is back after a kill.
fn recovery(topology: &Path, out: &Path, inline: &Run) {
    let whole = finish(start(topology, out, &[])).seconds;
    println!(
        "\nkilled         back after s, median and most   replayed inline s   ratio (goals: under 1 s, ratio under 1.2)"
    );
    for (role, victim) in [("a site", "york"), ("a user", "alice"), ("the router", ROUTER)] {
        let part = |at: usize| Duration::from_secs_f64(whole * (0.3 + 0.1 * at as f64));
        let mut back: Vec<Back> = (0..KILLS).map(|at| kill(topology, out, victim, part(at))).collect();
        back.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let Back { seconds, replayed } = back[back.len() / 2];
        // Jobs arrive evenly.
        let replayed = replayed / inline.end * inline.seconds;
        let most = back[back.len() - 1].seconds;
        println!("{role:<14} {seconds:>23.2} {most:>7.2} {replayed:>19.2} {:>7.2}", seconds / replayed);
    }
    println!();
}

struct Run {
    /// Wall time from the first event to the last.
    seconds: f64,
    /// Virtual time of the last event, in seconds.
    end: f64,
    /// CPU time of all processes.
    cpu: f64,
}

struct Started {
    child: Child,
    out: PathBuf,
    /// CPU time of all children before it.
    cpu: f64,
}

fn start(topology: &Path, folder: &Path, flags: &[&str]) -> Started {
    let out = folder.join("out");
    let mut command = Command::new(HANSA);
    command.arg("run").arg(topology).arg("--out").arg(&out).args(flags).env("RUST_LOG", "hansa=info");
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    Started { child, out, cpu: cpu_of_children() }
}

fn finish(mut run: Started) -> Run {
    // The pipe has to be read.
    std::io::copy(&mut run.child.stderr.take().unwrap(), &mut std::io::sink()).unwrap();
    assert!(run.child.wait().unwrap().success(), "a measured run failed");
    let summary: Value = serde_json::from_slice(&std::fs::read(run.out.join("summary.json")).unwrap()).unwrap();
    Run {
        seconds: summary["run"]["run_seconds"].as_f64().unwrap(),
        end: summary["results"]["end"].as_f64().unwrap(),
        cpu: cpu_of_children() - run.cpu,
    }
}

const ROUTER: &str = "router";

struct Back {
    /// Time from the signal until the run continues.
    seconds: f64,
    /// Virtual time at the kill, in seconds.
    replayed: f64,
}

/// Kills a process this long after the beginning of a run.
fn kill(topology: &Path, folder: &Path, victim: &str, after: Duration) -> Back {
    let mut run = start(topology, folder, &[]);
    let mut lines = BufReader::new(run.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut until = |text: &str| {
        lines.by_ref().find(|line| line.contains(text)).unwrap_or_else(|| panic!("the run has not said \"{text}\""))
    };
    until("the run begins");
    std::thread::sleep(after);
    let id = playing(run.child.id(), victim);
    let begun = Instant::now();
    assert!(Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap().success());
    let replayed = if victim == ROUTER {
        virtual_time(&until("the run goes on"))
    } else {
        let lost = virtual_time(&until("lost "));
        until("is back after");
        lost
    };
    let seconds = begun.elapsed().as_secs_f64();
    lines.for_each(drop);
    assert!(run.child.wait().unwrap().success(), "a run from which {victim} was killed has failed");
    Back { seconds, replayed }
}

/// Virtual time in a line, such as `12d 03:04:05`, in seconds.
fn virtual_time(line: &str) -> f64 {
    let (_, time) = line.split_once("virtual time ").unwrap();
    let part = |part: &str| part.trim_matches(|letter: char| !letter.is_ascii_digit()).parse::<f64>().unwrap();
    let (days, clock) = match time.split_once("d ") {
        Some((days, clock)) => (part(days), clock),
        None => (0.0, time),
    };
    let clock: Vec<f64> = clock.split([':', ' ']).take(3).map(part).collect();
    days * 86_400.0 + clock[0] * 3600.0 + clock[1] * 60.0 + clock[2]
}

/// Process of a role, out of those that a launcher has started.
fn playing(launcher: u32, name: &str) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children")).unwrap();
    let plays = |id: &u32| {
        let line = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split('\0').any(|word| word == name)
    };
    let mut ids = children.split_whitespace().filter_map(|id| id.parse().ok());
    ids.find(plays).expect("each plays somebody")
}
