//! An external program that makes decisions.

use serde::Serialize;

use crate::time::Span;

/// Command or address of an external program, and its time limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The program and its arguments, as started on the host of the process that it decides for; empty for a program
    /// that runs already.
    pub command: Vec<String>,
    /// Address of the program; empty if we choose it.
    pub socket: String,
    /// Wall time that it may take to answer.
    pub timeout: Span,
    /// Settings of a Slurm; ignored for other programs.
    pub slurm: SlurmCluster,
}

/// A Slurm cluster of its own that manages a site.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SlurmCluster {
    /// Folder with the files of a site's own Slurm; empty for a cluster of alike nodes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub site: String,
    /// Script of sacctmgr with its accounts; empty for that of the folder.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub accounts: String,
    /// Slurm's user of jobs whose own user it does not know; empty if there must be none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unknown_users: String,
    /// Number of its nodes, which share the cores of the site equally; 0 for a node a core.
    pub nodes: u32,
    /// File with lines for its slurm.conf; empty if there are none.
    pub conf: String,
    /// File with lines that replace those of its slurm.conf with the same meaning; empty if there are none.
    pub change: String,
    /// Virtual time that a reading of a clock takes its programs if no other time has passed; zero for none.
    pub charge: Span,
    /// Folder of Slurm's programs; empty if they are where the system looks for programs.
    pub programs: String,
}

impl SlurmCluster {
    /// Most nodes of a cluster: each is a daemon under one clock.
    pub const NODES_MAX: u32 = 1000;
    /// Largest virtual time that may be charged for a reading of the clock.
    pub const CHARGE_MAX: Span = Span::from_micros(1000);

    /// Number of its nodes, at a site with this many cores and no files of its own.
    pub fn node_count(&self, cores: u32) -> u32 {
        if self.nodes == 0 { cores } else { self.nodes }
    }
}

impl Default for Program {
    fn default() -> Program {
        Program {
            command: Vec::new(),
            socket: String::new(),
            timeout: Span::from_secs(5),
            slurm: SlurmCluster::default(),
        }
    }
}

/// Address of a program, in ZeroMQ's notation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host and port.
    Tcp(String),
    /// Path of a local socket.
    Ipc(String),
}

impl Endpoint {
    pub fn parse(text: &str) -> Option<Endpoint> {
        if let Some(path) = text.strip_prefix("ipc://") {
            return (!path.is_empty()).then(|| Endpoint::Ipc(path.to_owned()));
        }
        let address = text.strip_prefix("tcp://")?;
        let (host, port) = address.rsplit_once(':')?;
        // A star is valid for listening, not for connecting.
        let is_host = !host.is_empty() && host != "*" && !host.contains(char::is_whitespace);
        (is_host && port.parse::<u16>().is_ok_and(|port| port > 0)).then(|| Endpoint::Tcp(address.to_owned()))
    }
}
