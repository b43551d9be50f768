//! What may be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use super::super::launch::Cores;
use super::super::sweep::Sweeping;
use super::super::{EXIT_CODES, Failure, VERSION, bench, bound, generate, logs, plan};
use crate::experiment::reservation;
use crate::topology::Override;

#[derive(Parser)]
#[command(name = "hansa", version = VERSION, about = "A grid emulator: sites, a router and users as real processes, in deterministic virtual time", after_help = EXIT_CODES)]
pub(super) struct Hansa {
    #[command(flatten)]
    pub loudness: LoudnessArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// How much is said besides what was asked for.
#[derive(Args, Clone, Copy)]
pub(super) struct LoudnessArgs {
    /// Say nothing but what is wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more of what processes of a grid do; twice for still more (RUST_LOG says it more finely)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Run a topology: as local processes over QUIC, or in this one with --inline
    Run(RunArgs),
    /// Run every combination of an experiment's settings, on all cores; goes on where an earlier call was stopped
    Sweep {
        /// An experiment file: a topology, and what varies in it
        experiment: String,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Run a paper's experiment, draw its figures and check its claims
    Reproduce {
        #[command(subcommand)]
        paper: Paper,
    },
    /// Compare two result folders, and name the first event that differs
    Verify {
        /// A result folder
        a: PathBuf,
        /// Another one
        b: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Turn a result folder into a page to read (report.html) and a trace for Perfetto (trace.json), both put into it
    Report {
        /// A result folder
        out: PathBuf,
    },
    /// Plan a workflow on the grid of a topology, and print the schedule, or the plans that there are to choose from
    #[command(after_help = plan::policies())]
    Plan {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The workflow: WfFormat (JSON), DAX (XML), DOT, or a table of costs (JSON); it may be packed with gzip
        #[arg(long, value_name = "FILE")]
        workflow: String,
        /// Who plans, one of those below [default: that of the topology]
        #[arg(long, value_name = "NAME", value_parser = plan::policy)]
        policy: Option<plan::Policy>,
        /// What counts where users bargain, from 0 (an early end) to 1 (a low cost) [default: 0.5]
        #[arg(long, value_name = "NUMBER", value_parser = plan::alpha)]
        alpha: Option<f64>,
        /// Plan so long after the start, beside the jobs of users who only queue [default: at the start, on idle sites]
        #[arg(long, value_name = "TIME", value_parser = plan::moment)]
        at: Option<crate::time::Span>,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Draw cores, and transfers on links, over time; or the plans to choose from, cost against makespan
        #[arg(long, value_name = "FILE.svg", value_parser = plan::picture)]
        svg: Option<PathBuf>,
    },
    /// Make a workload of random jobs as a file: a workflow, or rigid jobs as a log, a Batsim workload, or requests
    Generate {
        #[command(subcommand)]
        what: Generated,
    },
    /// Turn files into others: a log of jobs (SWF) into a Batsim workload or back, a SimGrid platform into a topology
    Convert {
        /// What to convert; it may be packed with gzip
        file: String,
        /// What to make of a log of jobs [default: batsim of SWF, and swf of a Batsim workload]
        #[arg(long, value_enum)]
        to: Option<logs::Format>,
        /// Fail if anything is wrong with a log, instead of leaving that out and telling
        #[arg(long)]
        strict: bool,
        /// Where to write it [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Tell the largest stretch that no schedule of a workload of rigid jobs can avoid, where they share nodes
    Bound(bound::BoundArgs),
    /// Check a topology and list all that is wrong with it, and what of its logs a run would leave out
    Validate {
        #[command(flatten)]
        topology: TopologyArgs,
        /// Fail if anything is wrong with a log of jobs, as `run --strict` does
        #[arg(long)]
        strict: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a topology means, with every default filled in; without one, every name that a topology may use
    Show {
        /// A topology file, or - for one on standard input
        topology: Option<String>,
        /// Print the reference of all keys instead (Markdown)
        #[arg(long, conflicts_with_all = ["topology", "set", "seed"])]
        keys: bool,
        #[command(flatten)]
        overrides: OverrideArgs,
    },
    /// Print a JSON Schema of topologies, with which editors complete and check them
    Schema {
        /// Of experiments instead
        #[arg(long)]
        experiment: bool,
    },
    /// Write the docker-compose file that runs a topology with one container a role
    Compose {
        #[command(flatten)]
        topology: TopologyArgs,
        /// Where to write it [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// The image that docker/build made
        #[arg(long, value_name = "NAME", default_value = "hansa")]
        image: String,
    },
    /// Make a run's certificate authority and one identity a role
    Certs {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The folder to make
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Days until the identities expire
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// Sites, or users, that one process will play: NAME,NAME,... (repeatable)
        #[arg(long, value_name = "NAMES")]
        group: Vec<String>,
        /// Keep the authority's key (ca.key), to sign more identities later; who can read it can be anybody
        #[arg(long)]
        keep_authority: bool,
        /// Replace the identities that are there, and their authority
        #[arg(long)]
        renew: bool,
    },
    /// Measure this machine: the engine, a turn over QUIC, and a small grid in both layouts
    Bench {
        /// Tasks in the measured grid
        #[arg(long, default_value_t = 20_000)]
        tasks: u32,
    },
    /// Be a leaf of a measurement
    #[command(hide = true, name = bench::ECHO)]
    BenchEcho { arguments: Vec<String> },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or that of a command
    Man {
        /// The words of the command
        #[arg(conflicts_with = "out")]
        command: Vec<String>,
        /// Write all of them here instead, as hansa.1, hansa-run.1, ...
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Be the router of a run (the same as hansa-router)
    Router(RouterArgs),
    /// Play one or more sites of a run (the same as hansa-site)
    Site(MemberArgs),
    /// Play one or more users of a run (the same as hansa-user)
    User(MemberArgs),
}

#[derive(Subcommand)]
pub(super) enum Generated {
    /// Rigid jobs of Lublin and Feitelson, with sizes, run times that go with them, and a daily cycle
    Lublin(logs::Lublins),
    /// A layered workflow with the parameters of daggen
    Dag {
        #[command(flatten)]
        dag: generate::DagArgs,
        /// Where to write it: DOT as daggen writes it (.dot), or WfFormat 1.5 (.json) [default: DOT on standard output]
        #[arg(long, value_name = "FILE", value_parser = generate::workflow_file)]
        out: Option<PathBuf>,
    },
}

#[derive(Args)]
pub(super) struct OverrideArgs {
    /// Set a key of the topology, for example market.policy=fifo or site.york.cores=500 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The run's seed; the same as --set seed=N
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

#[derive(Args)]
pub(super) struct TopologyArgs {
    /// A topology file, or - for one on standard input
    pub topology: String,
    #[command(flatten)]
    pub overrides: OverrideArgs,
}

#[derive(Args)]
pub(super) struct ResultArgs {
    /// Where results go [default: out/NAME of the topology]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Let an earlier result stay, as DIR.1, DIR.2, ..., instead of replacing it
    #[arg(long)]
    pub keep: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub topology: TopologyArgs,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Run everything in this process, without a network
    #[arg(long)]
    pub inline: bool,
    /// Fail if anything is wrong with a log of jobs, as `strict = true` does for one of them
    #[arg(long)]
    pub strict: bool,
    /// How many sites, or users, share one process
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["inline", "processes"], value_parser = clap::value_parser!(u32).range(1..))]
    pub per_process: u32,
    /// Spread sites and users over so many processes, as evenly as may be [default: one each]
    #[arg(long, value_name = "N", conflicts_with = "inline", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
    /// Which cores the processes may use
    #[arg(long, value_enum, default_value_t = Cores::One, conflicts_with = "inline")]
    pub cores: Cores,
    /// Tie virtual time to the wall's clock times this, and move real bytes over links that are held to their capacity
    #[arg(long, value_name = "SPEED", conflicts_with = "inline", value_parser = speed)]
    pub live: Option<f64>,
    /// Take the run for stalled when no frame has moved for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub stall_after: f64,
}

#[derive(Subcommand)]
pub(super) enum Paper {
    /// Bidding policies for market-based HPC workflow scheduling: ten policies at loads from 0.7 to 1.4
    Market {
        /// As much as the paper: 10 workloads of 10,000 jobs [default: 3 of them]
        #[arg(long)]
        full: bool,
        /// How many jobs a workload has
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        jobs: Option<u32>,
        /// How many workloads to take the mean of
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        workloads: Option<u32>,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Network-aware HEFT scheduling for grid: random graphs planned, stretched and improved, beside the paper's tables
    Heft {
        /// As much as the paper: 20 draws of costs for each of 1,296 graphs [default: one of them]
        #[arg(long)]
        full: bool,
        /// Where the tables go
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-heft")]
        out: PathBuf,
        /// How many runs at a time [default: one a core]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
    },
    /// Resource availability-aware advance reservation: seven fit policies as sizes, arrivals and flexibility vary
    Reservation {
        /// How many requests a workload has
        #[arg(long, value_name = "N", default_value_t = reservation::FULL.requests, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        requests: u32,
        /// How many workloads to take the mean of
        #[arg(long, value_name = "N", default_value_t = reservation::FULL.workloads, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        workloads: u32,
        /// Where the tables and figures go
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-reservation")]
        out: PathBuf,
        /// How many runs at a time [default: one a core]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
    },
    /// Dynamic fractional resource scheduling: algorithms that share nodes against queues and a bound, beside the paper's tables
    Dfrs {
        /// As much as the paper: 100 traces, each also at nine loads, all weeks of a log [default: 60, 8 of them scaled, every 6th week]
        #[arg(long)]
        full: bool,
        /// A folder with a log of HPC2N, for the paper's weeks of a real cluster
        #[arg(long, value_name = "DIR")]
        logs: Option<PathBuf>,
        /// Where the tables and figures go
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-dfrs")]
        out: PathBuf,
        /// How many runs at a time [default: one a core]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
    },
    /// Provisioning based resource and application management: slots, prices, and reservations imitated by jobs
    Provisioning {
        /// As much as the thesis: 50 moments of a history, 10 on several sites [default: 12 and 6]
        #[arg(long)]
        full: bool,
        /// A folder with logs of both machines, CTC*.swf.gz and SDSC*.swf.gz [default: a model of such jobs]
        #[arg(long, value_name = "DIR")]
        logs: Option<PathBuf>,
        /// Where the tables and figures go
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-provisioning")]
        out: PathBuf,
        /// How many runs at a time [default: one a core]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        threads: Option<u16>,
    },
}

#[derive(Args)]
pub(super) struct SweepArgs {
    /// Where rows go [default: out/NAME of the experiment]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// How many runs at a time [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Throw away the rows that are there, instead of going on from them
    #[arg(long)]
    pub fresh: bool,
}

impl SweepArgs {
    pub fn sweeping(self) -> Sweeping {
        Sweeping { out: self.out, threads: self.threads.map(usize::from), fresh: self.fresh }
    }
}

/// The binary `hansa-router`.
#[derive(Parser)]
#[command(name = "hansa-router", version = VERSION, about = "Be the router of a run: message hub, clock and auctioneer", after_help = EXIT_CODES)]
pub(super) struct RouterProgram {
    #[command(flatten)]
    pub loudness: LoudnessArgs,
    #[command(flatten)]
    pub router: RouterArgs,
}

#[derive(Args)]
pub(super) struct RouterArgs {
    /// The topology file; the same for every process of the run
    #[arg(long, env = "HANSA_TOPOLOGY")]
    pub topology: String,
    /// The folder with the router's identity, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    pub identity: PathBuf,
    /// The address and UDP port to listen on; port 0 takes any free one, which is announced
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433")]
    pub bind: SocketAddr,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Take the run for stalled when no frame has moved for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub stall_after: f64,
    /// Give up when not everybody has joined after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds)]
    pub join_within: f64,
    /// Tie virtual time to the wall's clock times this, and move real bytes over links that are held to their capacity
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub live: Option<f64>,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// If this is root: give the results to the owner of this file; for containers
    #[arg(long, value_name = "FILE", hide = true)]
    pub owner_of: Option<PathBuf>,
    /// What the manifest calls this layout
    #[arg(long, default_value = "machines", hide = true)]
    pub layout: String,
    /// Leave when standard input closes: for launchers
    #[arg(long, hide = true)]
    pub held: bool,
    /// What the launcher was asked, for the manifest
    #[arg(long, value_name = "FILE", hide = true)]
    pub asked: Option<PathBuf>,
}

/// The binaries `hansa-site` and `hansa-user`.
#[derive(Parser)]
#[command(version = VERSION, after_help = EXIT_CODES)]
pub(super) struct MemberProgram {
    #[command(flatten)]
    pub loudness: LoudnessArgs,
    #[command(flatten)]
    pub member: MemberArgs,
}

#[derive(Args)]
pub(super) struct MemberArgs {
    /// The topology file; the same for every process of the run
    #[arg(long, env = "HANSA_TOPOLOGY")]
    pub topology: String,
    /// Whom to play; repeat it to play several in one process
    #[arg(long = "name", value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// The folder with the identity for these names, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    pub identity: PathBuf,
    /// Where the router listens: HOST:PORT
    #[arg(long, value_name = "HOST:PORT")]
    pub router: String,
    /// Give up when the router has not been found after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds)]
    pub join_within: f64,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// Leave when standard input closes: for launchers
    #[arg(long, hide = true)]
    pub held: bool,
}

impl LoudnessArgs {
    /// As it was given, for another process.
    pub fn flags(&self) -> Vec<String> {
        let quiet = self.quiet.then(|| "--quiet".to_owned());
        quiet.into_iter().chain((0..self.verbose).map(|_| "--verbose".to_owned())).collect()
    }
}

impl OverrideArgs {
    /// As they were given, for another process.
    pub fn flags(&self) -> Vec<String> {
        let set = self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
        let seed = self.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]);
        set.chain(seed).collect()
    }

    pub fn parse(&self) -> Result<Vec<Override>, Failure> {
        let seed = self.seed.iter().map(|seed| format!("seed={seed}"));
        let parse = |text: String| Override::parse(&text).map_err(|error| Failure::Input(error.to_string()));
        self.set.iter().cloned().chain(seed).map(parse).collect()
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (1e-3..=1e6).contains(&speed) => Ok(speed),
        _ => Err("expected a number of virtual seconds in a second, from 0.001 to 1000000".to_owned()),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e7 => Ok(seconds),
        _ => Err("expected a number of seconds above 0".to_owned()),
    }
}
