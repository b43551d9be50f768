//! The command line of hansa: its commands and their flags.

mod experiments;
mod processes;
mod shared;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use self::experiments::{SweepArgs, WhatIfArgs};
use self::shared::{OverrideArgs, ResultArgs};
use super::super::cluster::Engine;
use super::super::launch::Cores;
use super::super::{EXIT_CODES, bench, bound, clock, generate, logs, plan, version_text, when};
use crate::flag_values::{folder_parser, parse_count, parse_speed, parse_time, some_time};

pub(super) use self::experiments::Paper;
pub(super) use self::processes::{MemberArgs, MemberProgram, RouterArgs, RouterProgram};
pub(super) use self::shared::VerbosityArgs;

/// Shown below the list of commands: where to find everything else.
const FIRST_STEPS: &str = "\
First steps:
  hansa run topologies/quickstart.toml --inline        a first grid, and its results in out/quickstart
  hansa show                                           every name that a topology may use
  hansa man run                                        the manual page of a command; hansa man --out DIR writes all
  hansa completions bash > hansa.bash                  completions for a shell, to be sourced
  hansa schema > hansa.schema.json                     for editors that complete and check topologies";

#[derive(Parser)]
#[command(name = "hansa", version = version_text(), about = "A grid emulator: sites, a router and users as real processes, in deterministic virtual time", after_help = format!("{FIRST_STEPS}\n\n{EXIT_CODES}"))]
pub(super) struct Hansa {
    #[command(flatten)]
    pub verbosity: VerbosityArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Run a topology: as local processes over QUIC, or in this process with --inline
    Run(RunArgs),
    /// Run every combination of an experiment's settings, on all cores, except those that earlier calls have run
    Sweep {
        /// An experiment file: a topology, and what varies in it
        experiment: String,
        /// The metric that decides which setting is best [default: turnaround]
        #[arg(long, value_name = "METRIC")]
        by: Option<String>,
        /// Only print how many runs there would be, which are there already, and about how long the others take
        #[arg(long, conflicts_with = "gather")]
        dry_run: bool,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Run an experiment with entrants and compare them: prints a table, writes a page and standings.csv
    Tournament {
        #[arg(help = "An experiment file with [[entrant]] tables")]
        experiment: String,
        /// Compare all other entrants with this one [default: the first one]
        #[arg(long, value_name = "NAME")]
        against: Option<String>,
        /// The metric that decides which entrant is best [default: turnaround]
        #[arg(long, value_name = "METRIC")]
        by: Option<String>,
        /// Only print how many runs there would be, which are there already, and about how long the others take
        #[arg(long, conflicts_with = "gather")]
        dry_run: bool,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Try changes of a grid before they are made: whose waits change by how much, on the same jobs
    Whatif(Box<WhatIfArgs>),
    /// Run a paper's experiment, draw its figures and check its claims
    Reproduce {
        #[command(subcommand)]
        paper: Paper,
    },
    /// Compare two result folders, and name the first event that differs
    Verify {
        /// A result folder
        a: PathBuf,
        /// Another result folder
        b: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare the results of two or more runs: metrics, jobs matched by number, use over time, settings that differ
    Compare {
        /// Result folders; the first is the one that all others are compared with
        #[arg(required = true, num_args = 2.., value_name = "DIR")]
        results: Vec<PathBuf>,
        /// The metric that decides which run is best [default: turnaround]
        #[arg(long, value_name = "METRIC")]
        by: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Write a page to read, too
        #[arg(long, value_name = "FILE.html")]
        page: Option<PathBuf>,
    },
    /// Add a page to read (report.html) to a result folder, and a trace on request
    Report {
        /// A result folder
        out: PathBuf,
        /// Add trace.json, too: all tasks and transfers in virtual time, for ui.perfetto.dev. It grows with the events
        /// (200,000 jobs: 130 MB)
        #[arg(long)]
        trace: bool,
    },
    /// Predict when a job would start if it were submitted at a moment of a run, a log, or a listing of Slurm
    When(Box<when::WhenArgs>),
    /// Explain what a job of a result waited for: in a queue, along the tasks of a workflow, for a reservation or a
    /// booking, in auctions, or paused
    ///
    /// A job of one task: what was ahead of it, what was free, and what went first; on shared nodes, also its yields
    /// and pauses. A job of several tasks: the chain that delayed its end, backwards, each interval with its cause. A
    /// refused request: the room that each site had. A negotiated job: claims and their answers. A task in a market
    /// that records its auctions: the bids that it lost.
    Why {
        /// A result folder
        out: PathBuf,
        /// Number of the job, as on the page and in jobs.csv; `12.3` is a task of a job, `#7` a number of the run
        job: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Plan a workflow on the grid of a topology, and print the schedule, or the plans to choose from
    #[command(after_help = plan::policy_help())]
    Plan {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The workflow: WfFormat (JSON), DAX (XML), DOT, or a table of costs (JSON); may be gzipped
        #[arg(long, value_name = "FILE")]
        workflow: String,
        /// The planning policy, one of those below [default: that of the topology]
        #[arg(long, value_name = "NAME", value_parser = plan::parse_policy)]
        policy: Option<plan::PlanningPolicy>,
        /// The objective for users who negotiate, from 0 (an early end) to 1 (a low cost) [default: 0.5]
        #[arg(long, value_name = "NUMBER", value_parser = plan::parse_alpha)]
        alpha: Option<f64>,
        /// Leave out plans that cost more, such as "40 core h"
        #[arg(long, value_name = "CORE TIME", value_parser = plan::parse_budget)]
        budget: Option<hansa_sim::grid::Area>,
        /// Leave out plans that end later than this after the moment of planning, such as "3 h"
        #[arg(long, value_name = "TIME", value_parser = plan::parse_deadline)]
        deadline: Option<hansa_sim::time::Span>,
        /// Plan at this virtual time, with the queued jobs that are then there [default: at the start, on idle sites]
        #[arg(long, value_name = "TIME", value_parser = plan::parse_moment)]
        at: Option<hansa_sim::time::Span>,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Draw cores and the transfers on links over time; or the plans to choose from, cost against makespan
        #[arg(long, value_name = "FILE.svg", value_parser = plan::parse_picture_path)]
        svg: Option<PathBuf>,
    },
    /// Generate random jobs as a file: a workflow, or rigid jobs as a log, a Batsim workload, or requests
    Generate {
        #[command(subcommand)]
        what: Generated,
    },
    /// Convert files: a log of jobs (SWF) to a Batsim workload or back, a dump of sacct to SWF, a SimGrid platform to a
    /// topology
    Convert {
        /// The file to convert; may be gzipped
        file: String,
        #[command(flatten)]
        slurm: logs::SlurmLogArgs,
        /// The format to write a log of jobs in [default: batsim for SWF, else swf]
        #[arg(long, value_enum)]
        to: Option<logs::LogFormat>,
        /// Fail if anything is wrong with a log, instead of skipping and reporting it
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        margins: logs::MarginArgs,
        /// With --to requests: the seed of the random numbers
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<u64>(0..=u64::MAX))]
        seed: u64,
        /// The file to write [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Compute a lower bound on the maximum stretch of any schedule of rigid jobs, even if jobs share nodes
    Bound(bound::BoundArgs),
    /// Check a topology and list all its errors, and which entries of its logs a run would skip; or check every run of
    /// an experiment
    #[command(mut_arg("topology", |arg| {
        arg.value_name("FILE").help("A topology file, or - for one on standard input, or an experiment")
    }))]
    Validate {
        #[command(flatten)]
        topology: TopologyArgs,
        /// Fail if a log of jobs has faults, a job can run at no site, or an external program is not installed
        #[arg(long)]
        strict: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the resolved topology, with every default filled in; without TOPOLOGY, list every name that a topology may
    /// use
    Show {
        /// A topology file, or - for one on standard input
        topology: Option<String>,
        /// Print the reference of all keys instead (Markdown)
        #[arg(long, conflicts_with_all = ["topology", "set", "seed"])]
        keys: bool,
        /// Print the reference of all columns of a result's tables instead (Markdown)
        #[arg(long, conflicts_with_all = ["topology", "set", "seed", "keys"])]
        columns: bool,
        #[command(flatten)]
        overrides: OverrideArgs,
    },
    /// Print a JSON Schema of topologies, for completion and checks in editors
    Schema {
        /// Print the schema of experiments instead
        #[arg(long)]
        experiment: bool,
        /// Print the schema of the conversation with external programs instead
        #[arg(long, conflicts_with = "experiment")]
        conversation: bool,
    },
    /// Write the docker-compose file that runs a topology with one container per role
    Compose {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The file to write [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// The image made by docker/build
        #[arg(long, value_name = "NAME", default_value = "hansa")]
        image: String,
    },
    /// Write the script or file that runs an experiment (or the reproduction of a paper) in shares on a cluster, or one
    /// topology across many machines
    Cluster {
        /// The software that manages the cluster
        #[arg(value_enum)]
        engine: Engine,
        /// An experiment, or a topology
        #[arg(required_unless_present = "reproduce")]
        file: Option<String>,
        /// Run the reproduction of a paper instead, with the arguments of `hansa reproduce`: market, or "dfrs --full"
        #[arg(long, value_name = "PAPER", conflicts_with = "file")]
        reproduce: Option<String>,
        #[command(flatten)]
        overrides: OverrideArgs,
        #[command(flatten)]
        cluster: ClusterArgs,
    },
    /// Make a run's certificate authority and one identity per role
    Certs {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The folder to create
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Days until the identities expire
        #[arg(long, default_value_t = 30, value_parser = parse_count::<u16>(1..=3650))]
        days: u16,
        /// Sites, or users, that one process will play: NAME,NAME,... (repeatable)
        #[arg(long, value_name = "NAMES")]
        group: Vec<String>,
        /// Keep the authority's key (ca.key), to sign more identities later; anyone reading it can impersonate any role
        #[arg(long)]
        keep_authority: bool,
        /// Replace existing identities and their authority
        #[arg(long)]
        renew: bool,
    },
    /// Run a command and its children in virtual time: whenever all of them sleep, the clock jumps to the next deadline
    #[command(after_help = clock::REACH, override_usage = "hansa clock [OPTIONS] <COMMAND>...")]
    Clock(clock::ClockArgs),
    /// Measure this machine: the engine, a round trip over QUIC, and a small grid inline and as processes
    Bench {
        /// Tasks in the measured grid
        #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = parse_count::<u32>(1..=10_000_000))]
        tasks: u32,
    },
    /// Act as a leaf of a measurement
    #[command(hide = true, name = bench::ECHO)]
    BenchEcho { arguments: Vec<String> },
    /// Print a completion script for a shell (bash, elvish, fish, powershell, zsh)
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Show the manual page of hansa, or of one of its commands
    Man {
        /// The command whose page to show, for example: reproduce market
        #[arg(conflicts_with = "out")]
        command: Vec<String>,
        /// Write all manual pages to this folder instead, as hansa.1, hansa-run.1, ...
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Run the router of a run (the same as hansa-router)
    Router(RouterArgs),
    /// Play one or more sites of a run (the same as hansa-site)
    Site(MemberArgs),
    /// Play one or more users of a run (the same as hansa-user)
    User(MemberArgs),
}

#[derive(Subcommand)]
pub(super) enum Generated {
    /// Rigid jobs of the model of Lublin and Feitelson, with sizes, correlated run times, and a daily cycle
    Lublin(logs::LublinArgs),
    /// A layered workflow with the parameters of daggen
    Dag {
        #[command(flatten)]
        dag: generate::DagArgs,
        /// The file to write: DOT like daggen's (.dot), or WfFormat 1.5 (.json) [default: DOT on standard output]
        #[arg(long, value_name = "FILE", value_parser = generate::workflow_file)]
        out: Option<PathBuf>,
    },
}

#[derive(Args)]
pub(super) struct TopologyArgs {
    /// A topology file, or - for one on standard input
    pub topology: String,
    #[command(flatten)]
    pub overrides: OverrideArgs,
}

#[derive(Args)]
pub(super) struct ClusterArgs {
    /// The number of shares of an experiment [default: 8, or the number of its runs if that is less]
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>(1..=u32::MAX))]
    pub parts: Option<u32>,
    /// The number of Slurm nodes over which the sites of a topology are spread [default: one per site]
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>(1..=u32::MAX))]
    pub nodes: Option<u32>,
    /// Cores of each share, or of each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<u16>(1..=1024))]
    pub cpus: u16,
    /// The folder for rows or results, on a file system that all nodes share [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// The path of hansa on the nodes [default: its path on this machine]
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// The image made by docker/build, under the name by which pods find it [default: hansa]
    #[arg(long, value_name = "NAME")]
    pub image: Option<String>,
    /// An existing persistent volume claim for the rows or results of pods [default: a new one]
    #[arg(long, value_name = "NAME")]
    pub claim: Option<String>,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Args)]
pub(super) struct RunArgs {
    /// A topology file, or - for one on standard input
    #[arg(required_unless_present = "resume")]
    pub topology: Option<String>,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// Continue a run that ended early; DIR is its --out folder
    #[arg(long, value_name = "DIR", value_parser = folder_parser(), conflicts_with_all = ["topology", "set", "seed", "out", "inline", "live", "strict", "per_process", "processes"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Add report.html, a page on the run, as `hansa report` does
    #[arg(long)]
    pub report: bool,
    /// Run everything in this process, without a network
    #[arg(long)]
    pub inline: bool,
    /// Fail if a log of jobs has faults, like `strict = true` in its workload, or if a job can run at no site
    #[arg(long)]
    pub strict: bool,
    /// Number of sites, or users, per process [default: 1 for up to 16 sites and users; more share 16 processes]
    #[arg(
        long, value_name = "N", conflicts_with_all = ["inline", "processes"], value_parser = parse_count::<u32>(1..=u32::MAX)
    )]
    pub per_process: Option<u32>,
    /// Spread sites and users over this many processes, as evenly as possible [default: see --per-process]
    #[arg(long, value_name = "N", conflicts_with = "inline", value_parser = parse_count::<u32>(1..=u32::MAX))]
    pub processes: Option<u32>,
    /// The cores that the processes may use
    #[arg(long, value_enum, default_value_t = Cores::One, conflicts_with = "inline")]
    pub cores: Cores,
    /// Pace virtual time at this multiple of real time, and send real bytes over links limited to their capacity
    /// [default: as fast as possible, with the model's times]
    #[arg(long, value_name = "SPEED", conflicts_with = "inline", value_parser = parse_speed)]
    pub live: Option<f64>,
    /// Consider the run stalled when no frame has moved for this long, for example 30s; name an actor that computes
    /// for as long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_time)]
    pub stall_after: Duration,
    /// Number of times that a process is restarted when it dies; 0 ends the run instead
    #[arg(
        long, value_name = "N", default_value_t = 3, conflicts_with_all = ["inline", "live"],
        value_parser = parse_count::<u32>(0..=u32::MAX)
    )]
    pub restarts: u32,
    /// Replace a process of sites or users that has been stopped (SIGSTOP) for this long, for example 30s
    /// [default: wait for it]
    #[arg(long, value_name = "TIME", conflicts_with = "inline", value_parser = parse_time)]
    pub replace_after: Option<Duration>,
    /// Longest absence of a lost process, for example 5min; 0 ends the run at once
    #[arg(long, value_name = "TIME", default_value = "60s", conflicts_with_all = ["inline", "live"], value_parser = parse_time)]
    pub patience: Duration,
}
