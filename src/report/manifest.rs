//! `manifest.json`: where a result comes from and what belongs to it. A folder without one is no result.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Names;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of Hansa.
    pub version: String,
    pub status: Status,
    pub command: Vec<String>,
    /// Where the actors ran: `inline`, `processes`, `machines`, ...
    pub layout: String,
    pub seed: u64,
    pub topology_hash: String,
    /// The topology with every default filled in.
    pub topology: String,
    /// The files that the topology was read from.
    pub inputs: Vec<Input>,
    pub names: Names,
    /// In UTC.
    pub started: String,
    pub wall_seconds: f64,
    pub host: Host,
    /// Everything else in the folder.
    pub files: Vec<Output>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    pub path: String,
    /// XXH3-128, as of every file here.
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
    /// How many of them the router, and whoever was started with it, may use.
    #[serde(default)]
    pub cores_used: usize,
    pub processor: String,
    pub kernel: String,
}

/// Whether the run came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Status {
    Complete,
    /// What cut it short, and when.
    Partial(String),
}

impl Manifest {
    pub fn json(&self) -> Vec<u8> {
        pretty(self)
    }
}

/// The hash that the manifest gives for these bytes.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}

/// JSON for people: indented, with a newline at the end.
pub fn pretty(value: &impl Serialize) -> Vec<u8> {
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
