//! `manifest.json`: origin and contents of a result. A folder without one is no result.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Names;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of Hansa.
    pub version: String,
    pub status: Status,
    pub command: Vec<String>,
    /// Layout of the run: `inline`, `processes`, `machines`, ...
    pub layout: String,
    pub seed: u64,
    pub topology_hash: String,
    /// The topology with every default filled in.
    pub topology: String,
    /// The files that the topology was read from.
    pub inputs: Vec<Input>,
    pub names: Names,
    /// Start in UTC.
    pub started: String,
    pub wall_seconds: f64,
    pub host: Host,
    /// All other files in the folder.
    pub files: Vec<Output>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub path: String,
    /// XXH3-128, as for every file here.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub name: String,
    pub bytes: u64,
    pub hash: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    pub name: String,
    pub cores: usize,
    /// Number of them that the router, and all processes started with it, may use.
    #[serde(default)]
    pub cores_used: usize,
    pub processor: String,
    pub kernel: String,
}

/// Completeness of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Status {
    Complete,
    /// Cause and time of the early end.
    Partial(String),
}

impl Manifest {
    pub fn json(&self) -> Vec<u8> {
        pretty_json(self)
    }
}

/// The manifest's hash of these bytes.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}

/// Indented JSON with a newline at the end.
pub fn pretty_json(value: &impl Serialize) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(value).expect("reports hold nothing that is not JSON");
    json.push(b'\n');
    json
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Complete => f.write_str("complete"),
            Status::Partial(why) => write!(f, "partial: {why}"),
        }
    }
}

impl From<Status> for String {
    fn from(status: Status) -> String {
        status.to_string()
    }
}

impl From<String> for Status {
    fn from(text: String) -> Status {
        match text.strip_prefix("partial: ") {
            None if text == "complete" => Status::Complete,
            why => Status::Partial(why.unwrap_or(&text).to_owned()),
        }
    }
}
