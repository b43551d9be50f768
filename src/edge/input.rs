//! Topology files, read from disk.

use std::path::PathBuf;

use super::Failure;
use crate::topology::{self, Loaded, Override, Topology};

/// Reads and checks a topology; what is wrong with it is told all at once.
pub fn load_topology(path: &str, overrides: &[Override]) -> Result<Loaded, Failure> {
    let read = &mut |path: &str| std::fs::read(path).map_err(|error| plainly(&error));
    topology::load(path, overrides, read).map_err(|complaints| Failure::Input(complaints.to_string()))
}

/// Where the results of a topology go if nobody says otherwise.
pub fn default_out(topology: &Topology) -> PathBuf {
    PathBuf::from("out").join(&topology.name)
}

/// Without the number that the operating system gives it.
pub fn plainly(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        std::io::ErrorKind::IsADirectory => "this is a folder".to_owned(),
        _ => error.to_string(),
    }
}
