//! The command lines. Each command parses its flags, calls the library once and turns the outcome into an exit code.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, CommandFactory, Parser, Subcommand};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use super::bench::Effort;
use super::inline;
use super::input::{default_out, load_topology, written_out};
use super::launch::{Cores, Launch, launch};
use super::member::{Membership, take_part};
use super::route::{Routing, check_live, route};
use super::sweep::Sweeping;
use super::{
    EXIT_CODES, Failure, bench, bound, certs, compose, convert, files, generate, logs, plan, print, report, reproduce,
    runtime, signals, sweep, tell,
};
use crate::catalog;
use crate::experiment::{dfrs, heft, market, provisioning, reservation};
use crate::protocol::handshake::Party;
use crate::topology::{self, Override};

#[derive(Parser)]
#[command(name = "hansa", version, about = "A grid emulator: sites, a router and users as real processes, in deterministic virtual time", after_help = EXIT_CODES)]
struct Hansa {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
    },
    /// Turn a result folder into a page to read (report.html) and a trace for Perfetto (trace.json), both put into it
    Report {
        /// A result folder
        out: PathBuf,
    },
    /// Plan a workflow on the grid of a topology, and print the schedule
    Plan {
        #[command(flatten)]
        topology: TopologyArgs,
        /// The workflow: WfFormat (JSON), DAX (XML), DOT, or a table of costs (JSON); it may be packed with gzip
        #[arg(long, value_name = "FILE")]
        workflow: String,
        /// heft, or network-heft [default: that of the topology, or network-heft]
        #[arg(long, value_name = "NAME", value_parser = plan::policy)]
        policy: Option<crate::systems::heft::Policy>,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Draw cores, and transfers on links, over time
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
    /// Check a topology and list all that is wrong with it
    Validate(TopologyArgs),
    /// Show what a topology means, with every default filled in; without one, every name that a topology may use
    Show {
        /// A topology file
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
    /// Print the manual page
    Man,
    /// Be the router of a run (the same as hansa-router)
    Router(RouterArgs),
    /// Play one or more sites of a run (the same as hansa-site)
    Site(MemberArgs),
    /// Play one or more users of a run (the same as hansa-user)
    User(MemberArgs),
}

#[derive(Subcommand)]
enum Generated {
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
struct OverrideArgs {
    /// Set a key of the topology, for example market.policy=fifo or site.york.cores=500 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// The run's seed; the same as --set seed=N
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Args)]
struct TopologyArgs {
    /// A topology file
    topology: String,
    #[command(flatten)]
    overrides: OverrideArgs,
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    topology: TopologyArgs,
    /// Where results go [default: out/NAME of the topology]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Let an earlier result stay, as DIR.1, DIR.2, ..., instead of replacing it
    #[arg(long)]
    keep: bool,
    /// Run everything in this process, without a network
    #[arg(long)]
    inline: bool,
    /// Fail if anything is wrong with a log of jobs, as `strict = true` does for one of them
    #[arg(long)]
    strict: bool,
    /// How many sites, or users, share one process
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "inline", value_parser = clap::value_parser!(u32).range(1..))]
    per_process: u32,
    /// Which cores the processes may use
    #[arg(long, value_enum, default_value_t = Cores::One, conflicts_with = "inline")]
    cores: Cores,
    /// Tie virtual time to the wall's clock times this, and move real bytes over links that are held to their capacity
    #[arg(long, value_name = "SPEED", conflicts_with = "inline", value_parser = speed)]
    live: Option<f64>,
    /// Take the run for stalled when no frame has moved for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    stall_after: f64,
}

#[derive(Subcommand)]
enum Paper {
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
struct SweepArgs {
    /// Where rows go [default: out/NAME of the experiment]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many runs at a time [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Throw away the rows that are there, instead of going on from them
    #[arg(long)]
    fresh: bool,
}

impl SweepArgs {
    fn sweeping(self) -> Sweeping {
        Sweeping { out: self.out, threads: self.threads.map(usize::from), fresh: self.fresh }
    }
}

#[derive(Parser)]
#[command(name = "hansa-router", version, about = "Be the router of a run: message hub, clock and auctioneer", after_help = EXIT_CODES)]
struct RouterArgs {
    /// The topology file; the same for every process of the run
    #[arg(long, env = "HANSA_TOPOLOGY")]
    topology: String,
    /// The folder with the router's identity, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    identity: PathBuf,
    /// The address and UDP port to listen on; port 0 takes any free one, which is announced
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433")]
    bind: SocketAddr,
    /// Where results go [default: out/NAME of the topology]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Let an earlier result stay, as DIR.1, DIR.2, ..., instead of replacing it
    #[arg(long)]
    keep: bool,
    /// Take the run for stalled when no frame has moved for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    stall_after: f64,
    /// Give up when not everybody has joined after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, value_parser = seconds)]
    join_within: f64,
    /// Tie virtual time to the wall's clock times this, and move real bytes over links that are held to their capacity
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    live: Option<f64>,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// If this is root: give the results to the owner of this file; for containers
    #[arg(long, value_name = "FILE", hide = true)]
    owner_of: Option<PathBuf>,
    /// What the manifest calls this layout
    #[arg(long, default_value = "machines", hide = true)]
    layout: String,
    /// Leave when standard input closes: for launchers
    #[arg(long, hide = true)]
    held: bool,
}

#[derive(Parser)]
struct MemberArgs {
    /// The topology file; the same for every process of the run
    #[arg(long, env = "HANSA_TOPOLOGY")]
    topology: String,
    /// Whom to play; repeat it to play several in one process
    #[arg(long = "name", value_name = "NAME", required = true)]
    names: Vec<String>,
    /// The folder with the identity for these names, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    identity: PathBuf,
    /// Where the router listens: HOST:PORT
    #[arg(long, value_name = "HOST:PORT")]
    router: String,
    /// Give up when the router has not been found after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    join_within: f64,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// Leave when standard input closes: for launchers
    #[arg(long, hide = true)]
    held: bool,
}

/// Entry of the binary `hansa`.
pub fn hansa() -> ExitCode {
    signals::survive_limits();
    outcome(dispatch(Hansa::parse().command))
}

/// Entry of the binary `hansa-router`.
pub fn router() -> ExitCode {
    signals::survive_limits();
    outcome(be_router(RouterArgs::parse()))
}

/// Entry of the binary `hansa-site`.
pub fn site() -> ExitCode {
    member("hansa-site", "Play one or more sites of a run", Party::Site)
}

/// Entry of the binary `hansa-user`.
pub fn user() -> ExitCode {
    member("hansa-user", "Play one or more users of a run", Party::User)
}

fn member(name: &'static str, about: &'static str, role: fn(String) -> Party) -> ExitCode {
    use clap::FromArgMatches;
    let command =
        MemberArgs::command().name(name).version(env!("CARGO_PKG_VERSION")).about(about).after_help(EXIT_CODES);
    match MemberArgs::from_arg_matches(&command.get_matches()) {
        Ok(args) => outcome(be_member(args, role)),
        Err(error) => error.exit(),
    }
}

fn dispatch(command: Command) -> Result<(), Failure> {
    match command {
        Command::Run(args) => run(args),
        Command::Sweep { experiment, sweep: args } => sweep::sweep(&experiment, &args.sweeping()),
        Command::Reproduce { paper: Paper::Market { full, jobs, workloads, sweep } } => {
            let usual = if full { market::FULL } else { market::SMALL };
            let jobs = jobs.unwrap_or(usual.jobs);
            let extent = market::Extent { jobs, workloads: workloads.unwrap_or(usual.workloads), ..usual };
            reproduce::market(extent, &sweep.sweeping())
        }
        Command::Reproduce { paper: Paper::Heft { full, out, threads } } => {
            let extent = if full { heft::FULL } else { heft::SMALL };
            reproduce::heft(extent, &out, threads.map(usize::from))
        }
        Command::Reproduce { paper: Paper::Reservation { requests, workloads, out, threads } } => {
            let extent = reservation::Extent { workloads, requests };
            reproduce::reservation(extent, &out, threads.map(usize::from))
        }
        Command::Reproduce { paper: Paper::Dfrs { full, logs, out, threads } } => {
            let extent = if full { dfrs::FULL } else { dfrs::SMALL };
            reproduce::dfrs(extent, logs.as_deref(), &out, threads.map(usize::from))
        }
        Command::Reproduce { paper: Paper::Provisioning { full, logs, out, threads } } => {
            let extent = if full { provisioning::FULL } else { provisioning::SMALL };
            reproduce::provisioning(extent, logs.as_deref(), &out, threads.map(usize::from))
        }
        Command::Plan { topology, workflow, policy, json, svg } => {
            let overrides = topology.overrides.parse()?;
            plan::plan(&plan::Wish { topology: topology.topology, overrides, workflow, policy, json, svg })
        }
        Command::Generate { what: Generated::Dag { dag, out } } => generate::dag(&dag, out.as_deref()),
        Command::Generate { what: Generated::Lublin(lublin) } => logs::generate(&lublin),
        Command::Bound(args) => bound::tell(&args),
        Command::Convert { file, to, strict, out } => convert::convert(&file, to, strict, out.as_deref()),
        Command::Verify { a, b } => files::verify(&a, &b),
        Command::Report { out } => report::report(&out),
        Command::Validate(args) => {
            let loaded = load_topology(&args.topology, &args.overrides.parse()?)?;
            warn(&loaded.topology);
            topology::check_jobs(&loaded.topology).map_err(|error| Failure::Input(loaded.tell(&error)))?;
            print(&format!("{}: fine\n", args.topology)).and_then(|()| print(&loaded.topology.in_short()))
        }
        Command::Show { keys: true, .. } => print(&catalog::keys()),
        Command::Show { topology: None, .. } => print(&catalog::listing()),
        Command::Show { topology: Some(topology), overrides, .. } => {
            print(&written_out(&load_topology(&topology, &overrides.parse()?)?.topology))
        }
        Command::Schema { experiment } => {
            let schema = if experiment { catalog::experiment_schema() } else { catalog::topology_schema() };
            print(&format!("{schema:#}\n"))
        }
        Command::Compose { topology, out, image } => {
            let loaded = load_topology(&topology.topology, &topology.overrides.parse()?)?;
            let flags = topology.overrides.flags();
            compose::write(&loaded.topology, Path::new(&topology.topology), &image, &flags, out.as_deref())
        }
        Command::Certs { topology, out, days, group, keep_authority, renew } => {
            let loaded = load_topology(&topology.topology, &topology.overrides.parse()?)?;
            certs::make(&loaded.topology, &out, days, &group, keep_authority, renew)
        }
        Command::Bench { tasks } => bench::bench(&Effort::quick(tasks)),
        Command::BenchEcho { arguments } => bench::echo(&arguments),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Hansa::command(), "hansa", &mut text);
            print(&String::from_utf8_lossy(&text))
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Hansa::command())
                .render(&mut text)
                .map_err(|error| Failure::Internal(error.to_string()))?;
            print(&String::from_utf8_lossy(&text))
        }
        Command::Router(args) => be_router(args),
        Command::Site(args) => be_member(args, Party::Site),
        Command::User(args) => be_member(args, Party::User),
    }
}

fn run(args: RunArgs) -> Result<(), Failure> {
    let loaded = load_topology(&args.topology.topology, &args.topology.overrides.parse()?)?;
    warn(&loaded.topology);
    if args.strict {
        logs::check(&loaded.topology)?;
    }
    if args.inline {
        return inline::run(&loaded, args.out, args.keep);
    }
    if args.live.is_some() {
        check_live(&loaded.topology, &args.topology.topology)?;
    }
    let out = args.out.unwrap_or_else(|| default_out(&loaded.topology));
    let mut router_flags = vec![
        "--out".to_owned(),
        out.to_string_lossy().into_owned(),
        "--stall-after".to_owned(),
        args.stall_after.to_string(),
    ];
    let mut cores = args.cores;
    if let Some(speed) = args.live {
        router_flags.extend(["--live".to_owned(), speed.to_string()]);
        // Whoever measures must not make processes wait for each other's turn on one core.
        cores = Cores::All;
    }
    if args.keep {
        router_flags.push("--keep".to_owned());
    }
    let (topology, per_process) = (&loaded.topology, args.per_process as usize);
    let stall_after = Duration::from_secs_f64(args.stall_after);
    let ended = runtime()?.block_on(launch(Launch { topology, per_process, cores, out, router_flags, stall_after }));
    if let Err(Failure::Told(Failure::INPUT)) = ended
        && let Err(error) = topology::check_jobs(&loaded.topology)
        && let Some(place) = loaded.place(&error)
    {
        // The router has said what is wrong, but it has not seen the file.
        tell(&format!(" --> {place}"));
    }
    ended
}

fn warn(topology: &topology::Topology) {
    topology.warnings().iter().for_each(|warning| tell(&format!("warning: {warning}")));
}

fn be_router(args: RouterArgs) -> Result<(), Failure> {
    log_to_stderr();
    let routing = Routing {
        overrides: args.overrides.parse()?,
        topology: args.topology,
        identity: args.identity,
        bind: args.bind,
        out: args.out,
        owner_of: args.owner_of,
        layout: args.layout,
        stall_after: Duration::from_secs_f64(args.stall_after),
        live: args.live,
        join_within: Duration::from_secs_f64(args.join_within),
        keep: args.keep,
        held: args.held,
    };
    route(routing)
}

fn be_member(args: MemberArgs, role: fn(String) -> Party) -> Result<(), Failure> {
    log_to_stderr();
    let membership = Membership {
        overrides: args.overrides.parse()?,
        topology: args.topology,
        parties: args.names.into_iter().map(role).collect(),
        identity: args.identity,
        router: args.router,
        join_within: Duration::from_secs_f64(args.join_within),
        held: args.held,
    };
    take_part(&membership)
}

impl OverrideArgs {
    /// As they were given, for another process.
    fn flags(&self) -> Vec<String> {
        let set = self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
        let seed = self.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]);
        set.chain(seed).collect()
    }

    fn parse(&self) -> Result<Vec<Override>, Failure> {
        let seed = self.seed.iter().map(|seed| format!("seed={seed}"));
        let parse = |text: String| Override::parse(&text).map_err(|error| Failure::Input(error.to_string()));
        self.set.iter().cloned().chain(seed).map(parse).collect()
    }
}

fn outcome(end: Result<(), Failure>) -> ExitCode {
    match end {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let text = failure.to_string();
            // Two results that differ are an answer.
            if matches!(failure, Failure::Different(_)) {
                tell(&text);
            } else if !text.is_empty() {
                tell(&if text.starts_with("error") { text } else { format!("error: {text}") });
            }
            ExitCode::from(failure.exit_code())
        }
    }
}

/// What the processes of a grid have to say goes to standard error; RUST_LOG chooses how much.
fn log_to_stderr() {
    let usual = Targets::new().with_target("hansa", LevelFilter::WARN);
    let wanted = std::env::var("RUST_LOG").ok().and_then(|wanted| wanted.parse().ok());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    tracing_subscriber::registry().with(lines.with_filter(wanted.unwrap_or(usual))).init();
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
