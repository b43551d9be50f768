//! Flags that several commands share.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use crate::Failure;
use crate::flag_values::{folder_parser, parse_count};
use hansa_sim::topology::Override;

/// Heading of the flags of all commands, which stand apart from a command's own.
const COMMON: &str = "Common options";

/// Amount of output besides the requested one.
#[derive(Args, Clone, Copy)]
pub struct VerbosityArgs {
    /// Print only errors, warnings, and output that is not saved to a file (JSON, a plan, a schema)
    #[arg(short, long, global = true, help_heading = COMMON, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more of what the processes of a run do; repeat for more detail (RUST_LOG allows finer control)
    #[arg(short, long, global = true, help_heading = COMMON, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Args)]
pub struct OverrideArgs {
    /// Set a key of the topology, for example market.policy=fifo or site.york.cores=500 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The run's seed; the same as --set seed=N
    #[arg(long, value_name = "N", value_parser = parse_count::<u64>(0..=u64::MAX))]
    pub seed: Option<u64>,
}

impl OverrideArgs {
    /// The flags as typed, for another process.
    pub fn flags(&self) -> Vec<String> {
        let set = self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]);
        let seed = self.seed.iter().flat_map(|seed| ["--seed".to_owned(), seed.to_string()]);
        set.chain(seed).collect()
    }

    pub fn parse(&self) -> Result<Vec<Override>, Failure> {
        if let (Some(seed), Some(set)) = (self.seed, self.set.iter().find(|set| set.starts_with("seed="))) {
            return Err(Failure::Input(format!(
                "--seed {seed} and --set {set} set the same key: expected one of them"
            )));
        }
        let seed = self.seed.iter().map(|seed| format!("seed={seed}"));
        self.set
            .iter()
            .cloned()
            .chain(seed)
            .map(|text| Override::parse(&text).map_err(|error| Failure::Input(error.to_string())))
            .collect()
    }
}

#[derive(Args)]
pub struct ResultArgs {
    /// The folder for results [default: out/NAME of the topology]
    #[arg(long, value_name = "DIR", value_parser = folder_parser())]
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

/// Formats of results besides the standard ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MoreFormat {
    /// events.parquet, jobs.parquet and so on, for pandas, polars, DuckDB
    Parquet,
}
