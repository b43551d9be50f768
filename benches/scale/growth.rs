//! Growth of time and memory with each quantity of a grid: sites, users, waiting jobs, links, bytes of files, jobs.
//!
//! Each run is a process of its own, since its peak memory is measured, bounded by [`LIMIT`] and [`MEMORY_KB`]. The
//! exponent is that of a power of the quantity between two rows: 1 is linear, and n log n is about 1.1. It is small
//! while the rest of a run costs more than the quantity.
//!
//! Costs that grow faster, with their reasons:
//!
//! - Conservative backfilling: a new job passes the records of the plan before its place, in blocks of 64, so a queue
//!   costs up to the square of its length, with a small factor. If walltimes are too long, each waiting job is put back
//!   when a job ends early, which costs the square without a small factor; the rows have exact walltimes.
//! - Workflows on sites, which plan with the latency and the bandwidth between each pair of them, and negotiation,
//!   where each user knows an offer of each site. Grids with links have at most 1,024 sites for the first reason.
//! - Reservations, slightly: a request looks at counts of each site, and those of 100,000 sites leave the caches.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "how long a process takes is what is measured"
)]

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::measure::cpu_of_children;
use hansa_sim::random::SplitMix64;

/// Longest wall time of a run.
const LIMIT: Duration = Duration::from_secs(300);

/// Most address space of a run, in KiB: 12 GB.
const MEMORY_KB: u64 = 12_000_000;

/// A quantity that grows while all else stays.
struct Growth {
    quantity: &'static str,
    /// System and policy of the grid.
    grid: &'static str,
    sizes: [u64; 3],
    /// Command that is measured.
    command: Subcommand,
    /// Writes the topology, and returns the number of units in it.
    lay: fn(u64, &Path) -> u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Subcommand {
    Run,
    Validate,
}

use Subcommand::{Run, Validate};

const ALL: &[Growth] = &[
    Growth::of("jobs", "market", [10_000, 40_000, 160_000], Run, market_jobs),
    Growth::of("jobs", "batch easy", [50_000, 200_000, 800_000], Run, queue_jobs),
    Growth::of("jobs", "workflow", [1_000, 4_000, 16_000], Run, workflows),
    Growth::of("sites", "market", SITES, Run, market_sites),
    Growth::of("sites", "batch easy", SITES, Run, |count, path| queues(path, count, 128, "easy", "")),
    Growth::of("sites", "batch dfrs", SITES, Run, shared_sites),
    Growth::of("sites", "reservation", SITES, Run, reserving_sites),
    Growth::of("users", "batch easy", [200, 2_000, 20_000], Run, users),
    Growth::of("waiting", "market", WAITING, Run, market_backlog),
    Growth::of("waiting", "batch fcfs", WAITING, Run, |jobs, path| backlog(path, jobs, "fcfs", 1.0)),
    Growth::of("waiting", "batch easy", WAITING, Run, |jobs, path| backlog(path, jobs, "easy", 2.0)),
    Growth::of("waiting", "batch conservative", [4_000, 40_000, 400_000], Run, |jobs, path| {
        backlog(path, jobs, "conservative", 1.0)
    }),
    Growth::of("links", "workflow", [1_000, 10_000, 100_000], Run, links),
    Growth::of("topology bytes", "market", FILES, Validate, table),
    Growth::of("log bytes", "batch easy", FILES, Run, log),
];

const SITES: [u64; 3] = [100, 10_000, 100_000];
const WAITING: [u64; 3] = [10_000, 100_000, 1_000_000];
const FILES: [u64; 3] = [2_000_000, 20_000_000, 200_000_000];

/// Measures all quantities, or one; with a number, only runs of this many jobs. 800,000 jobs of the market are ten
/// million tasks.
pub fn measure(quantity: Option<&str>, jobs: Option<u64>) {
    println!(
        "{:<15}{:<19}{:>11}{:>9}{:>10}{:>9}{:>10}{:>12}{:>12}{:>9}",
        "growth with", "grid", "n", "CPU s", "exponent", "peak MB", "exponent", "bytes each", "simulate s", "write s"
    );
    for growth in ALL.iter().filter(|growth| quantity.is_none_or(|quantity| growth.quantity.starts_with(quantity))) {
        let sizes = jobs.map_or_else(|| growth.sizes.to_vec(), |jobs| vec![jobs]);
        let mut before = None;
        for size in sizes {
            before = Some(growth.measure_size(size, before));
        }
    }
}

/// Cost of a run.
struct Cost {
    units: f64,
    cpu: f64,
    /// Peak memory in bytes.
    peak: f64,
}

impl Growth {
    const fn of(
        quantity: &'static str,
        grid: &'static str,
        sizes: [u64; 3],
        command: Subcommand,
        lay: fn(u64, &Path) -> u64,
    ) -> Growth {
        Growth { quantity, grid, sizes, command, lay }
    }

    fn measure_size(&self, size: u64, before: Option<Cost>) -> Cost {
        let scratch = tempfile::tempdir().expect("there is room for a topology");
        let topology = scratch.path().join("grid.toml");
        let units = (self.lay)(size, &topology) as f64;
        let out = scratch.path().join("out");
        let spent = cpu_of_children();
        let (peak, is_done) = watch(self.start(&topology, &out));
        let cost = Cost { units, cpu: cpu_of_children() - spent, peak: peak as f64 };
        print!("{:<15}{:<19}{units:>11}{:>9.2}", self.quantity, self.grid, cost.cpu);
        let exponent = |of: fn(&Cost) -> f64| {
            let before = before.as_ref()?;
            Some((of(&cost) / of(before)).ln() / (cost.units / before.units).ln())
        };
        let each = before.as_ref().map(|before| (cost.peak - before.peak) / (cost.units - before.units));
        print!("{:>10}{:>9.0}", optional(exponent(|cost| cost.cpu), 2), cost.peak / 1e6);
        print!("{:>10}{:>12}", optional(exponent(|cost| cost.peak), 2), optional(each, 0));
        if !is_done {
            println!("  not done: it failed, or took more than {} s", LIMIT.as_secs());
        } else if self.command == Validate {
            println!("{:>12}{:>9}", "-", "-");
        } else {
            let summary = read_summary(&out.join("summary.json"));
            let number = |path: &str| summary.pointer(path).and_then(Value::as_f64).expect("the summary has it");
            println!("{:>12.2}{:>9.2}", number("/run/run_seconds"), number("/run/write_seconds"));
        }
        cost
    }

    fn start(&self, topology: &Path, out: &Path) -> Child {
        let bounded = format!("ulimit -v {MEMORY_KB} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &bounded, env!("CARGO_BIN_EXE_hansa")]);
        match self.command {
            Run => command.args(["run", "--inline"]).arg(topology).arg("--out").arg(out),
            Validate => command.arg("validate").arg(topology),
        };
        command.stdout(Stdio::null()).spawn().expect("a shell starts")
    }
}

fn optional(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.decimals$}"))
}

/// Peak memory of a process in bytes, and true if it succeeds in time.
fn watch(mut child: Child) -> (u64, bool) {
    let begun = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let high = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = high.and_then(|words| words.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        if let Some(status) = child.try_wait().expect("our own child") {
            return (peak, status.success());
        }
        if begun.elapsed() > LIMIT {
            child.kill().expect("our own child");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn read_summary(path: &Path) -> Value {
    let bytes = fs::read(path).expect("the run has left a summary");
    serde_json::from_slice(&bytes).expect("a summary is JSON")
}

fn write_grid(path: &Path, parts: &[&str]) {
    fs::write(path, format!("name = \"growth\"\nseed = 1\n{}", parts.join("\n")))
        .expect("there is room for a topology");
}

/// Sites that share a prefix.
fn sites(prefix: &str, count: u64, rest: &str) -> String {
    format!("[[site]]\nname = \"{prefix}-{{}}\"\ncount = {count}\n{rest}")
}

const USER: &str = "[[user]]\nname = \"alice\"";

const MARKET_SOURCE: &str = "[[workload]]\nsource = \"market\"\nkind_share = 0.8\nkinds = [\"Kind1\", \"Kind2\"]";

/// Two kinds of sites, and the market paper's jobs.
fn market(path: &Path, sites_of_kind: [u64; 2], cores: u32, workload: &str) {
    let [usual, other] = sites_of_kind;
    let usual = sites("usual", usual, &format!("kind = \"Kind1\"\ncores = {cores}"));
    let other = sites("other", other, &format!("kind = \"Kind2\"\ncores = {cores}"));
    write_grid(path, &["[market]\nccr = 0.2", &usual, &other, USER, MARKET_SOURCE, workload]);
}

/// The market paper's experiment; a job has 12.5 tasks.
fn market_jobs(jobs: u64, path: &Path) -> u64 {
    market(path, [3, 1], 1000, &format!("jobs = {jobs}\nload = 1.0"));
    jobs
}

fn market_sites(count: u64, path: &Path) -> u64 {
    market(path, [count * 3 / 4, count / 4], 100, "jobs = 1000\nload = 1.0");
    count
}

/// Tasks that arrive ten times as fast as they run, so that nine of ten wait at the end of the arrivals.
fn market_backlog(tasks: u64, path: &Path) -> u64 {
    market(path, [3, 1], 1000, &format!("jobs = {}\nload = 10.0", tasks * 2 / 25));
    tasks
}

/// Jobs of a model in queues.
fn queues(path: &Path, count: u64, cores: u32, policy: &str, workload: &str) -> u64 {
    let sites = sites("site", count, &format!("cores = {cores}\nscheduler = \"{policy}\""));
    let source = "[[workload]]\nsource = \"lublin\"\ntypes = \"one\"";
    let workload = if workload.is_empty() { "jobs = 10_000\noverestimate = 2.0" } else { workload };
    write_grid(path, &["[batch]", &sites, USER, source, workload]);
    count
}

/// Jobs that keep a queue busy.
fn queue_jobs(jobs: u64, path: &Path) -> u64 {
    queues(path, 1, 128, "easy", &format!("jobs = {jobs}\nutilisation = 0.7"));
    jobs
}

/// Jobs that arrive a thousand times as fast as in the model, so that nearly all of them wait at once.
fn backlog(path: &Path, jobs: u64, policy: &str, overestimate: f64) -> u64 {
    let workload = format!("jobs = {jobs}\narrival_factor = 1000\noverestimate = {overestimate}");
    queues(path, 1, 128, policy, &workload);
    jobs
}

fn shared_sites(count: u64, path: &Path) -> u64 {
    let rest = "cores = 32\nmemory_gb = 8\nscheduler = \"GreedyPM */per/opt=min/minvt=600\"";
    let workload = "[[workload]]\nsource = \"lublin\"\njobs = 10_000\nneeds = \"quad-core\"";
    write_grid(path, &["[batch]", &sites("site", count, rest), USER, workload]);
    count
}

fn reserving_sites(count: u64, path: &Path) -> u64 {
    let workload = "[[workload]]\nsource = \"reservations\"\nrequests = 2_000";
    write_grid(path, &["[reservation]", &sites("site", count, "cores = 128"), USER, workload]);
    count
}

fn users(count: u64, path: &Path) -> u64 {
    let users = format!("[[user]]\nname = \"user-{{}}\"\ncount = {count}");
    let workload = "[[workload]]\nsource = \"lublin\"\njobs = 20_000\noverestimate = 2.0";
    write_grid(path, &["[batch]", &sites("site", 4, "cores = 128"), &users, workload]);
    count
}

/// Workflows that arrive one after the other, planned over links that they share.
fn workflows(count: u64, path: &Path) -> u64 {
    let link = |name: &str, a: u32, b: u32| {
        format!("[[link]]\nname = \"{name}\"\nbetween = [\"site-{a}\", \"site-{b}\"]\ncapacity = \"1 Gbps\"")
    };
    let workload = format!("[[workload]]\nsource = \"layered\"\nworkflows = {count}\ntasks = 40\nevery = \"30 s\"");
    let links = [link("north", 1, 2), link("south", 2, 3)];
    let sites = sites("site", 3, "cores = 16");
    write_grid(path, &["[workflow]\niterations = 5", &sites, &links[0], &links[1], USER, &workload]);
    count
}

/// A hundred sites on a tree of switches, and random links between these.
fn links(count: u64, path: &Path) -> u64 {
    const SITES: u64 = 100;
    let mut random = SplitMix64::new(1);
    let switches = count / 4;
    let names: Vec<String> = (0..switches).map(|switch| format!("\"switch-{switch}\"")).collect();
    let mut text = format!("[network]\nswitches = [{}]\n", names.join(", "));
    for link in 0..count {
        let (from, to) = if link < SITES {
            (format!("site-{}", link + 1), link)
        } else if link < SITES + switches - 1 {
            let below = link - SITES + 1;
            (format!("switch-{below}"), random.int(0, below - 1))
        } else {
            let one = random.int(1, switches - 1);
            (format!("switch-{one}"), random.int(0, one - 1))
        };
        write!(
            text,
            "[[link]]\nname = \"link-{link}\"\ncapacity = \"1 Gbps\"\nbetween = [\"{from}\", \"switch-{to}\"]\n"
        )
        .expect("a text grows");
    }
    let workload = "[[workload]]\nsource = \"layered\"\nworkflows = 200\ntasks = 40\nevery = \"30 s\"";
    write_grid(path, &["[workflow]", &sites("site", SITES, "cores = 4"), &text, USER, workload]);
    count
}

/// Jobs that the topology lists, two tasks each.
fn table(bytes: u64, path: &Path) -> u64 {
    let mut jobs = String::new();
    let mut number = 0;
    while (jobs.len() as u64) < bytes {
        let first = format!("{{ runtime = \"{} min\", cores = {} }}", number % 50 + 1, number % 7 + 1);
        let second = format!("{{ runtime = \"5 min\", cores = {} }}", number % 5 + 1);
        writeln!(jobs, "[[workload.job]]\narrive = \"{number} s\"\ntasks = [{first}, {second}]\nedges = [[0, 1]]")
            .expect("a text grows");
        number += 1;
    }
    let workload = format!("[[workload]]\nsource = \"table\"\n{jobs}");
    write_grid(path, &["[market]\nccr = 0.2", &sites("site", 1, "cores = 1000"), USER, &workload]);
    fs::metadata(path).expect("it was written").len()
}

/// A log of jobs beside the topology.
fn log(bytes: u64, path: &Path) -> u64 {
    let mut log = String::new();
    let mut number = 1;
    while (log.len() as u64) < bytes {
        let runtime = number % 3000 + 60;
        let cores = number % 32 + 1;
        writeln!(
            log,
            "{number} {} -1 {runtime} {cores} -1 -1 {cores} {} -1 1 {} 1 -1 1 -1 -1 -1",
            number * 60,
            runtime * 2,
            number % 100
        )
        .expect("a text grows");
        number += 1;
    }
    fs::write(path.with_file_name("log.swf"), &log).expect("there is room for a log");
    let workload = "[[workload]]\nsource = \"swf\"\nfile = \"log.swf\"";
    write_grid(path, &["[batch]", &sites("site", 1, "cores = 2048"), USER, workload]);
    log.len() as u64
}
