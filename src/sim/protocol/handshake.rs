//! Joining a run: the parties of a process, and what both sides must agree on before the first message.
//!
//! A refused peer reads the reason in the close of its connection, so a refusal has no type here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Name of the wire format. It is negotiated within TLS, before the first byte of a message, because the encoding
/// cannot distinguish versions.
pub const PROTOCOL: &str = "hansa/1";

/// Release of this program. Two releases may compute different results, so all processes of a run have one release.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// A member of a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Party {
    Router,
    Site(String),
    User(String),
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Router => f.write_str("the router"),
            member => write!(f, "{} {}", member.role(), member.name()),
        }
    }
}

impl Party {
    pub fn role(&self) -> &'static str {
        match self {
            Party::Router => "router",
            Party::Site(_) => "site",
            Party::User(_) => "user",
        }
    }

    /// Name without the role; the router's is its role.
    pub fn name(&self) -> &str {
        match self {
            Party::Router => self.role(),
            Party::Site(name) | Party::User(name) => name,
        }
    }

    /// Name for files and services, as a site and a user may share a name: `site-york`.
    pub fn slug(&self) -> String {
        match self {
            Party::Router => self.role().to_owned(),
            member => format!("{}-{}", member.role(), member.name()),
        }
    }
}

/// Label of the parties in one process: `site york`, `site york and durham`, `site york and 6 more`.
pub fn parties_label(parties: &[Party]) -> String {
    match parties {
        [] => "no member".to_owned(),
        [one] => one.to_string(),
        [first, second] => format!("{first} and {}", second.name()),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// Fingerprint of a checked topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyHash(pub [u8; 16]);

impl fmt::Display for TopologyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for TopologyHash {
    type Err = &'static str;

    /// Reads what [`fmt::Display`] writes.
    fn from_str(text: &str) -> Result<TopologyHash, &'static str> {
        let digits = Some(text).filter(|text| text.len() == 32).and_then(|text| u128::from_str_radix(text, 16).ok());
        digits.map(|digits| TopologyHash(digits.to_be_bytes())).ok_or("expected 32 hexadecimal digits")
    }
}

/// First frame of a new process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// All parties in this process.
    pub parties: Vec<Party>,
    pub topology: TopologyHash,
    pub release: String,
    /// Number of this process among those of its machine. A notice of its end is not taken for the end of its
    /// successor.
    pub process: u32,
}

impl Hello {
    pub fn new(parties: Vec<Party>, topology: TopologyHash) -> Hello {
        Hello { parties, topology, release: RELEASE.to_owned(), process: std::process::id() }
    }
}

/// The router's answer to a hello that it accepts; a process has joined once it arrives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Number of parties that the run still waits for.
    pub missing: u32,
    /// Names of the first of these parties, [`NAMED`] at most.
    pub awaited: Vec<Party>,
}

/// Number of parties that are named where all of them may be missing.
pub const NAMED: usize = 10;

/// Names the first of `count` parties: `site york, user alice and 3 more`.
pub fn list_parties(parties: &[Party], count: usize) -> String {
    let named = &parties[..parties.len().min(NAMED)];
    let mut text = named.iter().map(Party::to_string).collect::<Vec<_>>().join(", ");
    if count > named.len() {
        text.push_str(&format!(" and {} more", count - named.len()));
    }
    text
}
