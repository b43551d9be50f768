//! What may be typed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::super::cluster::Engine;
use super::super::launch::Cores;
use super::super::reproduce::Making;
use super::super::sweep::{Part, Share, Sweeping};
use super::super::{EXIT_CODES, Failure, VERSION, bench, bound, generate, logs, plan};
use crate::experiment::reservation;
use crate::settings::units;
use crate::topology::Override;

/// What makes everything else easier to find.
const FIRST_STEPS: &str = "\
First steps:
  hansa run topologies/quickstart.toml --inline        a first grid, and its results in out/quickstart
  hansa show                                           every name that a topology may use
  hansa man run                                        the manual page of a command; hansa man --out DIR writes all
  hansa completions bash > hansa.bash                  completions for a shell, to be sourced
  hansa schema > hansa.schema.json                     for editors that complete and check topologies";

#[derive(Parser)]
#[command(name = "hansa", version = VERSION, about = "A grid emulator: sites, a router and users as real processes, in deterministic virtual time", after_help = format!("{FIRST_STEPS}\n\n{EXIT_CODES}"))]
pub(super) struct Hansa {
    #[command(flatten)]
    pub loudness: LoudnessArgs,
    #[command(subcommand)]
    pub command: Command,
}

/// How much is logged besides what was asked for.
#[derive(Args, Clone, Copy)]
pub(super) struct LoudnessArgs {
    /// Print only errors and warnings
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more of what the processes of a run do; repeat for more detail (RUST_LOG allows finer control)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Run a topology: as local processes over QUIC, or in this process with --inline
    Run(RunArgs),
    /// Run every combination of an experiment's settings, on all cores; resumes where an earlier call was stopped
    Sweep {
        /// An experiment file: a topology, and what varies in it
        experiment: String,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Run an experiment with entrants and compare them: prints a table, writes a page and standings.csv
    Tournament {
        /// An experiment file with [[entrant]] tables
        experiment: String,
        /// Compare all other entrants with this one [default: the first one]
        #[arg(long, value_name = "NAME")]
        against: Option<String>,
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
        /// Another result folder
        b: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a page to read (report.html) and a trace for Perfetto (trace.json) to a result folder
    Report {
        /// A result folder
        out: PathBuf,
    },
    /// Plan a workflow on the grid of a topology, and print the schedule, or the plans to choose from
    #[command(after_help = plan::policies())]
    Plan {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The workflow: WfFormat (JSON), DAX (XML), DOT, or a table of costs (JSON); may be gzipped
        #[arg(long, value_name = "FILE")]
        workflow: String,
        /// The planning policy, one of those below [default: that of the topology]
        #[arg(long, value_name = "NAME", value_parser = plan::policy)]
        policy: Option<plan::Policy>,
        /// For users who negotiate: what to optimise, from 0 (an early end) to 1 (a low cost) [default: 0.5]
        #[arg(long, value_name = "NUMBER", value_parser = plan::alpha, allow_negative_numbers = true)]
        alpha: Option<f64>,
        /// Plan this long after the start, beside the jobs of users who only queue [default: at the start, on idle sites]
        #[arg(long, value_name = "TIME", value_parser = plan::moment)]
        at: Option<crate::time::Span>,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Draw cores and the transfers on links over time; or the plans to choose from, cost against makespan
        #[arg(long, value_name = "FILE.svg", value_parser = plan::picture)]
        svg: Option<PathBuf>,
    },
    /// Generate random jobs as a file: a workflow, or rigid jobs as a log, a Batsim workload, or requests
    Generate {
        #[command(subcommand)]
        what: Generated,
    },
    /// Convert files: a log of jobs (SWF) to a Batsim workload or back, a SimGrid platform to a topology
    Convert {
        /// The file to convert; may be gzipped
        file: String,
        /// What to convert a log of jobs to [default: batsim for SWF, swf for a Batsim workload]
        #[arg(long, value_enum)]
        to: Option<logs::Format>,
        /// Fail if anything is wrong with a log, instead of skipping and reporting it
        #[arg(long)]
        strict: bool,
        /// Where to write it [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Compute a lower bound on the maximum stretch of any schedule of rigid jobs, even if jobs share nodes
    Bound(bound::BoundArgs),
    /// Check a topology and list all its errors, and which entries of its logs a run would skip
    Validate {
        #[command(flatten)]
        topology: TopologyArgs,
        /// Fail if anything is wrong with a log of jobs, as `run --strict` does, or if an external program is not here
        #[arg(long)]
        strict: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the resolved topology, with every default filled in; without TOPOLOGY, list every name that a topology may use
    Show {
        /// A topology file, or - for one on standard input
        topology: Option<String>,
        /// Print the reference of all keys instead (Markdown)
        #[arg(long, conflicts_with_all = ["topology", "set", "seed"])]
        keys: bool,
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
        /// Where to write it [default: standard output]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// The image made by docker/build
        #[arg(long, value_name = "NAME", default_value = "hansa")]
        image: String,
    },
    /// Write the script or file that runs an experiment (or the reproduction of a paper) in shares on a cluster, or one topology across many machines
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
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3650))]
        days: u16,
        /// Sites, or users, that one process will play: NAME,NAME,... (repeatable)
        #[arg(long, value_name = "NAMES")]
        group: Vec<String>,
        /// Keep the authority's key (ca.key), to sign more identities later; anyone who can read it can impersonate any role
        #[arg(long)]
        keep_authority: bool,
        /// Replace existing identities and their authority
        #[arg(long)]
        renew: bool,
    },
    /// Measure this machine: the engine, a round trip over QUIC, and a small grid inline and as processes
    Bench {
        /// Tasks in the measured grid
        #[arg(long, default_value_t = 20_000)]
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
    /// Where to write results [default: out/NAME of the topology]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Keep an earlier result as DIR.1, DIR.2, ..., instead of replacing it
    #[arg(long)]
    pub keep: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the log and the tables in one more format, besides JSON lines and CSV
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<MoreFormat>,
}

/// What results may be in besides what they are always in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MoreFormat {
    /// events.parquet, jobs.parquet and so on, for pandas, polars, DuckDB
    Parquet,
}

#[derive(Args)]
pub(super) struct ClusterArgs {
    /// The number of shares of an experiment [default: 8, or the number of its runs if that is less]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub parts: Option<u32>,
    /// The number of Slurm nodes over which the sites of a topology are spread [default: one per site]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,
    /// Cores of each share, or of each node
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: u16,
    /// Where to write rows or results, on a file system that all nodes share [default: out/NAME]
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
    /// Where to write it [default: standard output]
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
    /// Resume a run that ended early; this is the folder that holds its results, or would have held them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["topology", "set", "seed", "out", "inline", "live", "strict", "per_process", "processes"])]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Run everything in this process, without a network
    #[arg(long)]
    pub inline: bool,
    /// Fail if anything is wrong with a log of jobs, like `strict = true` in its workload
    #[arg(long)]
    pub strict: bool,
    /// How many sites, or users, share one process
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["inline", "processes"], value_parser = clap::value_parser!(u32).range(1..))]
    pub per_process: u32,
    /// Spread sites and users over this many processes, as evenly as possible [default: one process each]
    #[arg(long, value_name = "N", conflicts_with = "inline", value_parser = clap::value_parser!(u32).range(1..))]
    pub processes: Option<u32>,
    /// Which cores the processes may use
    #[arg(long, value_enum, default_value_t = Cores::One, conflicts_with = "inline")]
    pub cores: Cores,
    /// Pace virtual time at this multiple of real time, and send real bytes over links limited to their capacity
    #[arg(long, value_name = "SPEED", conflicts_with = "inline", value_parser = speed)]
    pub live: Option<f64>,
    /// Consider the run stalled when no frame has moved for this long, for example 30s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_time)]
    pub stall_after: Duration,
    /// How often each process is restarted when it dies; 0 ends the run instead
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with_all = ["inline", "live"])]
    pub restarts: u32,
    /// Replace a process of sites or users that has been stopped (SIGSTOP) for this long, for example 30s [default: wait for it]
    #[arg(long, value_name = "TIME", conflicts_with = "inline", value_parser = time)]
    pub replace_after: Option<Duration>,
    /// How long a lost process may take to come back, for example 5min; 0 ends the run at once
    #[arg(long, value_name = "TIME", default_value = "60s", conflicts_with_all = ["inline", "live"], value_parser = time)]
    pub patience: Duration,
}

/// How long to wait for a lost process.
#[derive(Args, Clone, Copy)]
pub(super) struct PatienceArgs {
    /// How long a lost process may take to come back, for example 5min; 0 ends the run at once
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub patience: Duration,
}

#[derive(Subcommand)]
pub(super) enum Paper {
    /// Bidding policies for market-based HPC workflow scheduling: ten policies at loads from 0.7 to 1.4
    Market {
        /// The paper's scale: 10 workloads of 10,000 jobs [default: 3 workloads]
        #[arg(long)]
        full: bool,
        /// The number of jobs per workload
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        jobs: Option<u32>,
        /// The number of workloads to average over
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
        workloads: Option<u32>,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Network-aware HEFT scheduling for grid: random graphs planned, stretched and improved, beside the paper's tables
    Heft {
        /// The paper's scale: 20 draws of costs for each of 1,296 graphs [default: one draw]
        #[arg(long)]
        full: bool,
        /// Where to write the tables
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-heft")]
        out: PathBuf,
        #[command(flatten)]
        making: MakingArgs,
    },
    /// Resource availability-aware advance reservation: seven fit policies as sizes, arrivals and flexibility vary
    Reservation {
        /// The number of requests per workload
        #[arg(long, value_name = "N", default_value_t = reservation::FULL.requests, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        requests: u32,
        /// The number of workloads to average over
        #[arg(long, value_name = "N", default_value_t = reservation::FULL.workloads, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        workloads: u32,
        /// Where to write the tables and figures
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-reservation")]
        out: PathBuf,
        #[command(flatten)]
        making: MakingArgs,
    },
    /// Dynamic fractional resource scheduling: algorithms that share nodes against queues and a bound, beside the paper's tables
    Dfrs {
        /// The paper's scale: 100 traces, each also at nine loads, all weeks of a log [default: 60, 8 of them scaled, every 6th week]
        #[arg(long)]
        full: bool,
        /// A folder with a log of HPC2N, for the paper's weeks of a real cluster
        #[arg(long, value_name = "DIR")]
        logs: Option<PathBuf>,
        /// Where to write the tables and figures
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-dfrs")]
        out: PathBuf,
        #[command(flatten)]
        making: MakingArgs,
    },
    /// Provisioning based resource and application management: slots, prices, and reservations imitated by jobs
    Provisioning {
        /// The thesis's scale: 50 moments of a history, 30 of several sites [default: 24 and 12]
        #[arg(long)]
        full: bool,
        /// A folder with logs of both machines, CTC*.swf.gz and SDSC*.swf.gz [default: a model of such jobs]
        #[arg(long, value_name = "DIR")]
        logs: Option<PathBuf>,
        /// Where to write the tables and figures
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-provisioning")]
        out: PathBuf,
        #[command(flatten)]
        making: MakingArgs,
    },
}

#[derive(Args)]
pub(super) struct SweepArgs {
    /// Where to write rows [default: out/NAME of the experiment]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The number of runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Discard existing rows, instead of resuming from them
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub share: ShareArgs,
}

impl Paper {
    /// The folder of logs that it reads.
    pub fn logs(&self) -> Option<&Path> {
        match self {
            Paper::Dfrs { logs, .. } | Paper::Provisioning { logs, .. } => logs.as_deref(),
            Paper::Market { .. } | Paper::Heft { .. } | Paper::Reservation { .. } => None,
        }
    }
}

impl SweepArgs {
    pub fn sweeping(self) -> Sweeping {
        let share = self.share.share();
        Sweeping { out: self.out, threads: self.threads.map(usize::from), fresh: self.fresh, share }
    }
}

/// How the experiment of a paper is made.
#[derive(Args)]
pub(super) struct MakingArgs {
    /// The number of runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    share: ShareArgs,
}

impl MakingArgs {
    pub fn making(self, out: PathBuf) -> Making {
        Making { out, threads: self.threads.map(usize::from), share: self.share.share() }
    }
}

/// Which part of an experiment one of several machines runs.
#[derive(Args)]
pub(super) struct ShareArgs {
    /// Run only share I of N (every N-th run), and write it to DIR.parts/I-of-N
    #[arg(long, value_name = "I/N", value_parser = Part::parse)]
    pub part: Option<Part>,
    /// The same, with shares counted from 0, as Kubernetes does
    #[arg(long, value_name = "I/N", value_parser = Part::parse_from_zero, conflicts_with = "part")]
    pub index: Option<Part>,
    /// Run nothing, but put together the shares in these folders [default: those in DIR.parts]
    #[arg(long, value_name = "SHARES", num_args = 0.., conflicts_with_all = ["part", "index", "threads"])]
    pub gather: Option<Vec<PathBuf>>,
    /// Wait up to this long for shares that are missing or incomplete, for example 10min
    #[arg(long, value_name = "TIME", requires = "gather", value_parser = some_time)]
    pub wait: Option<Duration>,
}

impl ShareArgs {
    fn share(self) -> Share {
        let wait = self.wait.unwrap_or(Duration::ZERO);
        match (self.part.or(self.index), self.gather) {
            (Some(part), _) => Share::Part(part),
            (None, Some(from)) => Share::Gather { from, wait },
            (None, None) => Share::Whole,
        }
    }
}

/// The binary `hansa-router`.
#[derive(Parser)]
#[command(name = "hansa-router", version = VERSION, about = "Run the router of a run: message hub, clock and auctioneer", after_help = EXIT_CODES)]
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
    /// The address and UDP port to listen on; port 0 takes any free one and prints it
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433")]
    pub bind: SocketAddr,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Consider the run stalled when no frame has moved for this long, for example 30s
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_time)]
    pub stall_after: Duration,
    /// Give up if some site or user has not joined after this long
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = some_time)]
    pub join_within: Duration,
    #[command(flatten)]
    pub patience: PatienceArgs,
    /// Resume a run whose router died; this is the folder that holds its results, or would have held them
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "live"])]
    pub resume: Option<PathBuf>,
    /// Go on with what an earlier router has left where the results go, if that is of this topology: for supervisors
    #[arg(long, hide = true, conflicts_with_all = ["resume", "live"])]
    pub go_on: bool,
    /// Pace virtual time at this multiple of real time, and send real bytes over links limited to their capacity
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    pub live: Option<f64>,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// If running as root: give the results to the owner of this file; for containers
    #[arg(long, value_name = "FILE", hide = true)]
    pub owner_of: Option<PathBuf>,
    /// What the manifest calls this layout
    #[arg(long, default_value = "machines", hide = true)]
    pub layout: String,
    /// Exit when standard input closes: for launchers
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
    /// The site or user to play (repeatable, to play several in one process)
    #[arg(long = "name", value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// The folder with the identity for these names, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    pub identity: PathBuf,
    /// Where the router listens: HOST:PORT
    #[arg(long, value_name = "HOST:PORT")]
    pub router: String,
    /// Give up if the router has not been found after this long
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = some_time)]
    pub join_within: Duration,
    /// How long to keep looking for a lost router before giving up, for example 5min; 0 gives up at once
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    pub patience: Duration,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// Exit when standard input closes: for launchers
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
        _ => Err("expected a number of virtual seconds per second, from 0.001 to 1000000".to_owned()),
    }
}

/// A time with its unit, or a number of seconds.
fn time(text: &str) -> Result<Duration, String> {
    let span = match units::span(text) {
        Err(units::SpanError::UnitMissing) => units::span(&format!("{text}s")),
        read => read,
    };
    let span = span.map_err(|error| format!("expected {error}, or a number of seconds"))?;
    Ok(Duration::from_micros(span.micros()))
}

/// The same for what must last: at most some months.
fn some_time(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(10_000_000);
    let lasts = |time: &Duration| !time.is_zero() && *time <= MOST;
    time(text).ok().filter(lasts).ok_or_else(|| {
        "expected a time above 0, such as 30s or 2min, or a number of seconds, of at most 10000000 s".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_or_are_seconds() {
        let seconds = |read: Result<Duration, String>| read.map(|time| time.as_secs_f64());
        for read in [time, some_time] {
            for (text, expected) in
                [("4s", 4.0), ("4", 4.0), ("60", 60.0), ("1.5", 1.5), ("2 min", 120.0), ("250ms", 0.25)]
            {
                assert_eq!(seconds(read(text)), Ok(expected), "{text}");
            }
            for wrong in ["", "s", "-1", "4 fortnights", "soon"] {
                assert!(read(wrong).is_err_and(|error| error.contains("or a number of seconds")), "{wrong}");
            }
        }
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert!(some_time("0").is_err() && some_time("200 d").is_err());
    }
}
