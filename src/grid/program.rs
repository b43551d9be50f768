//! A program outside that decides in somebody's place.

use serde::Serialize;

use crate::time::Span;

/// How such a program is started, or reached, and how long it may think.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// The program and its arguments, as one would start it where that somebody is played; empty for one that runs
    /// already.
    pub command: Vec<String>,
    /// Where it listens, if that is not for us to choose.
    pub socket: String,
    /// On the clock of the wall: how long it may take to answer.
    pub timeout: Span,
}

impl Default for Program {
    fn default() -> Program {
        Program { command: Vec::new(), socket: String::new(), timeout: Span::from_secs(5) }
    }
}

/// Where a program listens, as ZeroMQ writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A host and a port.
    Tcp(String),
    /// The path of a socket of this machine.
    Ipc(String),
}

impl Endpoint {
    pub fn parse(text: &str) -> Option<Endpoint> {
        if let Some(path) = text.strip_prefix("ipc://") {
            return (!path.is_empty()).then(|| Endpoint::Ipc(path.to_owned()));
        }
        let address = text.strip_prefix("tcp://")?;
        let (host, port) = address.rsplit_once(':')?;
        // A star is where one listens, not where one calls.
        let is_host = !host.is_empty() && host != "*" && !host.contains(char::is_whitespace);
        (is_host && port.parse::<u16>().is_ok_and(|port| port > 0)).then(|| Endpoint::Tcp(address.to_owned()))
    }
}
