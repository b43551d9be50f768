//! Flags of the processes of a run: the router, and processes that play sites and users.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};

use super::shared::{OverrideArgs, ResultArgs, VerbosityArgs};
use crate::flag_values::{folder_parser, host_and_port, parse_address, parse_speed, parse_time, some_time};
use crate::{EXIT_CODES, version_text};
use hansa_sim::protocol::handshake::TopologyHash;

/// The binary `hansa-router`.
#[derive(Parser)]
#[command(name = "hansa-router", version = version_text(), about = "Run the router of a run: message hub, clock and auctioneer", after_help = EXIT_CODES)]
pub struct RouterProgram {
    #[command(flatten)]
    pub verbosity: VerbosityArgs,
    #[command(flatten)]
    pub router: RouterArgs,
}

#[derive(Args)]
pub struct RouterArgs {
    /// The topology file; the same for every process of the run
    #[arg(long, env = "HANSA_TOPOLOGY")]
    pub topology: String,
    /// The folder with the router's identity, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    pub identity: PathBuf,
    /// The address and UDP port to listen on; port 0 takes any free one and prints it
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:4433", value_parser = parse_address)]
    pub bind: SocketAddr,
    #[command(flatten)]
    pub results: ResultArgs,
    /// Consider the run stalled when no frame has moved for this long, for example 30s; name an actor that computes
    /// for as long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = some_time)]
    pub stall_after: Duration,
    /// Give up if any site or user has not joined after this long
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = some_time)]
    pub join_within: Duration,
    /// Longest absence of a lost process, for example 5min; 0 ends the run at once
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub patience: Duration,
    /// Continue a run whose router died; DIR is its --out folder
    #[arg(long, value_name = "DIR", value_parser = folder_parser(), conflicts_with_all = ["out", "live"])]
    pub resume: Option<PathBuf>,
    /// Resume the run that an earlier router has left in the folder of the results, if it has this topology: for
    /// supervisors
    #[arg(long, hide = true, conflicts_with_all = ["resume", "live"])]
    pub go_on: bool,
    /// Pace virtual time at this multiple of real time, and send real bytes over links limited to their capacity
    /// [default: as fast as possible, with the model's times]
    #[arg(long, value_name = "SPEED", value_parser = parse_speed)]
    pub live: Option<f64>,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// If running as root: give the results to the owner of this file; for containers
    #[arg(long, value_name = "FILE", hide = true)]
    pub owner_of: Option<PathBuf>,
    /// The folder that the summary names as that of the results: for containers, which see it under another path
    #[arg(long, value_name = "DIR", hide = true)]
    pub shown_out: Option<PathBuf>,
    /// Name of this layout in the manifest
    #[arg(long, default_value = "machines", hide = true)]
    pub layout: String,
    /// Folder with the jobs of the workloads, which are then not read or drawn again: for launchers
    #[arg(long, value_name = "DIR", hide = true)]
    pub jobs: Option<PathBuf>,
    /// Exit when standard input closes: for launchers
    #[arg(long, hide = true)]
    pub held: bool,
    /// File with the launcher's command line, for the manifest
    #[arg(long, value_name = "FILE", hide = true)]
    pub asked: Option<PathBuf>,
}

/// The binaries `hansa-site` and `hansa-user`.
#[derive(Parser)]
#[command(version = version_text(), after_help = EXIT_CODES)]
pub struct MemberProgram {
    #[command(flatten)]
    pub verbosity: VerbosityArgs,
    #[command(flatten)]
    pub member: MemberArgs,
}

#[derive(Args)]
pub struct MemberArgs {
    /// The topology file; the same for every process of the run
    #[arg(long, env = "HANSA_TOPOLOGY")]
    pub topology: String,
    /// The site or user to play (repeatable, to play several in one process)
    #[arg(long = "name", value_name = "NAME", required = true)]
    pub names: Vec<String>,
    /// The folder with the identity for these names, made by `hansa certs`
    #[arg(long, value_name = "DIR", env = "HANSA_IDENTITY")]
    pub identity: PathBuf,
    /// Address of the router: HOST:PORT
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub router: String,
    /// Give up if the router has not been found after this long
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = some_time)]
    pub join_within: Duration,
    /// Longest search for a lost router before giving up, for example 5min; 0 gives up at once
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub patience: Duration,
    #[command(flatten)]
    pub overrides: OverrideArgs,
    /// The hash of the whole topology, if the file lacks its workloads: for launchers
    #[arg(long, value_name = "HASH", hide = true)]
    pub topology_hash: Option<TopologyHash>,
    /// Folder with the jobs of the workloads, which are then not read or drawn again: for launchers
    #[arg(long, value_name = "DIR", hide = true, conflicts_with = "topology_hash")]
    pub jobs: Option<PathBuf>,
    /// Exit when standard input closes: for launchers
    #[arg(long, hide = true)]
    pub held: bool,
}
