//! Flags of commands that make many runs: the papers' experiments, sweeps, and shares of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::shared::OverrideArgs;
use crate::Failure;
use crate::choosing::Choosing;
use crate::flag_values::{parse_count, some_time};
use crate::reproduce::Making;
use crate::sweep::{SweepPart, SweepShare, Sweeping};
use crate::what_if::WhatIfOptions;
use hansa_papers::{market, reservation};
use hansa_sim::time::Span;

#[derive(Subcommand)]
pub enum Paper {
    /// Bidding policies for market-based HPC workflow scheduling: ten policies at loads from 0.7 to 1.4
    #[command(mut_arg("out", |out| {
        out.help(
            "The folder for runs.csv, summary.csv, summary.txt, verdicts.txt, figures (SVG), the experiment for \
             `hansa sweep`, and report.html, a page with all of it [default: out/reproduce-market]",
        )
    }))]
    Market {
        /// The paper's scale: 10 workloads of 10,000 jobs [default: 3 workloads]
        #[arg(long)]
        full: bool,
        /// The number of jobs per workload
        #[arg(long, value_name = "N", default_value_t = market::FULL.jobs, value_parser = parse_count::<u32>(1..=1_000_000))]
        jobs: u32,
        /// The number of workloads to average over [default: 10 with --full, otherwise 3]
        #[arg(long, value_name = "N", value_parser = parse_count::<u32>(1..=1_000))]
        workloads: Option<u32>,
        #[command(flatten)]
        sweep: SweepArgs,
    },
    /// Network-aware HEFT scheduling for grid: random graphs planned, stretched and improved, beside the paper's tables
    Heft {
        /// The paper's scale: 20 draws of costs for each of 1,296 graphs [default: one draw]
        #[arg(long)]
        full: bool,
        /// The folder for runs.csv, tables.csv, tables.txt, verdicts.txt, figures (SVG), and report.html, a page with
        /// all of it
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-heft")]
        out: PathBuf,
        #[command(flatten)]
        choice: ChoiceArgs,
        #[command(flatten)]
        making: MakingArgs,
    },
    /// Resource availability-aware advance reservation: seven fit policies as sizes, arrivals and flexibility vary
    Reservation {
        /// The number of requests per workload
        #[arg(
            long, value_name = "N", default_value_t = reservation::FULL.requests,
            value_parser = parse_count::<u32>(1..=1_000_000)
        )]
        requests: u32,
        /// The number of workloads to average over
        #[arg(
            long, value_name = "N", default_value_t = reservation::FULL.workloads,
            value_parser = parse_count::<u32>(1..=1_000)
        )]
        workloads: u32,
        /// The folder for runs.csv, summary.csv, summary.txt, verdicts.txt, figures (SVG), and report.html, a page with
        /// all of it
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-reservation")]
        out: PathBuf,
        #[command(flatten)]
        choice: ChoiceArgs,
        #[command(flatten)]
        making: MakingArgs,
    },
    /// Dynamic fractional resource scheduling: algorithms that share nodes against queues and a bound, beside the
    /// paper's tables
    Dfrs {
        /// The paper's scale: 100 traces, each also at nine loads, all weeks of a log [default: 60 traces, 16 at each
        /// load, every 6th week; with --choices 20, 4 and every 12th]
        #[arg(long)]
        full: bool,
        /// A folder with a log of HPC2N, HPC2N*.swf.gz, for the paper's weeks of a real cluster and for the whole log
        #[arg(long, value_name = "DIR")]
        logs: Option<PathBuf>,
        /// The folder for runs.csv, tables.txt, verdicts.txt, figures (SVG), and report.html, a page with all of it
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-dfrs")]
        out: PathBuf,
        #[command(flatten)]
        choice: ChoiceArgs,
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
        /// Search for the queue of virtual reservations whose chances are those that the thesis prints, instead of
        /// running the experiment: calibration.csv has all that were tried, calibration.txt the best and their misfit
        #[arg(long, conflicts_with_all = ["logs", "choices"])]
        calibrate: bool,
        /// The folder for runs.csv, summary.csv, summary.txt, verdicts.txt, figures (SVG), and report.html, a page with
        /// all of it
        #[arg(long, value_name = "DIR", default_value = "out/reproduce-provisioning")]
        out: PathBuf,
        #[command(flatten)]
        choice: ChoiceArgs,
        #[command(flatten)]
        making: MakingArgs,
    },
}

impl Paper {
    /// The folder of logs that the experiment reads. None if it reads none.
    pub fn logs_folder(&self) -> Option<&Path> {
        match self {
            Paper::Dfrs { logs, .. } | Paper::Provisioning { logs, .. } => logs.as_deref(),
            Paper::Market { .. } | Paper::Heft { .. } | Paper::Reservation { .. } => None,
        }
    }
}

#[derive(Args)]
pub struct SweepArgs {
    /// The folder for rows, means and the page [default: out/NAME of the experiment]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The number of runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_count::<u16>(1..=1024))]
    pub threads: Option<u16>,
    /// Discard existing rows, instead of resuming from them
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    pub share: ShareArgs,
}

impl SweepArgs {
    pub fn into_sweeping(self) -> Sweeping {
        let share = self.share.into_share();
        let choosing = self.choice.into_choosing();
        Sweeping { out: self.out, threads: self.threads.map(usize::from), fresh: self.fresh, share, choosing }
    }
}

#[derive(Args)]
pub struct WhatIfArgs {
    /// A topology: the grid as it is
    pub topology: String,
    /// A change to try (repeatable): a file with lines for slurm.conf, which replace those with the same key, a script
    /// of sacctmgr, which replaces that of the site, or TOML with a table set of keys of the topology; SITE=FILE if
    /// several sites have a Slurm
    #[arg(long = "change", value_name = "FILE", required = true)]
    pub changes: Vec<String>,
    /// The number of phases: in each, all jobs are submitted a little later, and meet a scheduler that works in cycles
    /// at another moment of its cycles
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = parse_count::<u32>(1..=100))]
    pub phases: u32,
    /// The time over which the phases are spread: the longest cycle of a scheduler, at most an hour
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = some_time)]
    pub cycle: Duration,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// The folder for rows, the answer and the page [default: out/NAME-what-if of the topology]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The number of runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_count::<u16>(1..=1024))]
    pub threads: Option<u16>,
    /// Discard existing runs, instead of resuming from them
    #[arg(long)]
    pub fresh: bool,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Only print how many runs there would be, which are there already, and about how long the others take
    #[arg(long, conflicts_with = "gather")]
    pub dry_run: bool,
    #[command(flatten)]
    pub share: ShareArgs,
}

impl WhatIfArgs {
    pub fn into_options(self) -> Result<WhatIfOptions, Failure> {
        let cycle = u64::try_from(self.cycle.as_micros()).unwrap_or(u64::MAX);
        let cycle = Span::from_micros(cycle);
        if cycle > CYCLE_MAX {
            return Err(Failure::Input(format!("--cycle: expected a time up to {CYCLE_MAX}")));
        }
        let share = self.share.into_share();
        let choosing = Choosing::Taken(Vec::new());
        let threads = self.threads.map(usize::from);
        Ok(WhatIfOptions {
            topology: self.topology,
            overrides: self.overrides.parse()?,
            changes: self.changes,
            phases: self.phases,
            cycle,
            json: self.json,
            only_dry: self.dry_run,
            sweeping: Sweeping { out: self.out, threads, fresh: self.fresh, share, choosing },
        })
    }
}

/// Longest cycle over which phases are spread.
const CYCLE_MAX: Span = Span::from_secs(3_600);

/// Flags for the choices that the source of an experiment leaves open.
#[derive(Args)]
pub struct ChoiceArgs {
    /// Take other options of the choices that the paper leaves open, separated by commas; the page lists them all
    #[arg(long, value_name = "CHOICE=OPTION", value_delimiter = ',')]
    choice: Vec<String>,
    /// Run all options, one changed at a time, and print the claims' verdicts under each (choices.txt, choices.csv)
    #[arg(long, conflicts_with = "choice")]
    choices: bool,
}

impl ChoiceArgs {
    pub fn into_choosing(self) -> Choosing {
        if self.choices { Choosing::All } else { Choosing::Taken(self.choice) }
    }
}

/// Flags for the execution of a paper's experiment.
#[derive(Args)]
pub struct MakingArgs {
    /// The number of runs at a time [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_count::<u16>(1..=1024))]
    threads: Option<u16>,
    /// Make all runs again, also those that an earlier or interrupted command has made
    #[arg(long, conflicts_with = "gather")]
    fresh: bool,
    #[command(flatten)]
    share: ShareArgs,
}

impl MakingArgs {
    pub fn into_making(self, out: PathBuf) -> Making {
        Making { out, threads: self.threads.map(usize::from), fresh: self.fresh, share: self.share.into_share() }
    }
}

/// The share of an experiment that one of several machines runs.
#[derive(Args)]
pub struct ShareArgs {
    /// Run only share I of N (every N-th run), and write it to DIR.parts/I-of-N
    #[arg(long, value_name = "I/N", value_parser = SweepPart::parse)]
    pub part: Option<SweepPart>,
    /// Like --part, with shares counted from 0, as Kubernetes does
    #[arg(long, value_name = "I/N", value_parser = SweepPart::parse_from_zero, conflicts_with = "part")]
    pub index: Option<SweepPart>,
    /// Run nothing, but put together the shares in these folders [default: those in DIR.parts]
    #[arg(long, value_name = "SHARES", num_args = 0.., conflicts_with_all = ["part", "index", "threads"])]
    pub gather: Option<Vec<PathBuf>>,
    /// Wait up to this long for shares that are missing or incomplete, for example 10min
    #[arg(long, value_name = "TIME", requires = "gather", value_parser = some_time)]
    pub wait: Option<Duration>,
}

impl ShareArgs {
    fn into_share(self) -> SweepShare {
        let wait = self.wait.unwrap_or(Duration::ZERO);
        match (self.part.or(self.index), self.gather) {
            (Some(part), _) => SweepShare::Part(part),
            (None, Some(from)) => SweepShare::Gather { from, wait },
            (None, None) => SweepShare::Whole,
        }
    }
}
