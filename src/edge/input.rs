//! Topology files, read from disk.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::gzip::{INFLATED_MAX, inflate, read_lines, without_mark};
use super::{Failure, outside};
use crate::topology::{self, Loaded, Override, Topology};
use crate::workload::Source;
use crate::workload::rigids::{Origin, Rigids};

/// What stands for the path of a topology that is in no file of its own.
const WRITTEN_OUT: &str = "journal";

/// What stands for standard input in the place of a topology's path.
const STANDARD_INPUT: &str = "-";

/// Reads and checks a topology; what is wrong with it is told all at once.
pub fn load_topology(path: &str, overrides: &[Override]) -> Result<Loaded, Failure> {
    load_by(topology::load, path, overrides)
}

/// A topology as [`written_out`] has written it.
pub fn load_text(text: &str) -> Result<Topology, Failure> {
    let read = &mut |path: &str| match path {
        WRITTEN_OUT => Ok(text.as_bytes().to_vec()),
        path => read(path).map_err(|error| plainly(&error)),
    };
    let loaded = topology::load(WRITTEN_OUT, &[], read);
    loaded.map(|loaded| loaded.topology).map_err(|complaints| Failure::Input(complaints.to_string()))
}

/// The same, for who brings the work along.
pub fn load_grid(path: &str, overrides: &[Override]) -> Result<Loaded, Failure> {
    load_by(topology::load_idle, path, overrides)
}

type Load = fn(&str, &[Override], &mut topology::Read<'_>) -> Result<Loaded, topology::Complaints>;

fn load_by(load: Load, path: &str, overrides: &[Override]) -> Result<Loaded, Failure> {
    let read = &mut |path: &str| match path {
        STANDARD_INPUT => unpacked(std::io::stdin().lock()).map_err(|error| plainly(&error)),
        path => read(path).map_err(|error| plainly(&error)),
    };
    let mut loaded = load(path, overrides, read).map_err(|complaints| {
        let is_experiment = path != STANDARD_INPUT && is_written(path, "vary");
        let instead = is_experiment.then(|| format!("{path} is an experiment: use hansa sweep {path}"));
        Failure::Input(instead.unwrap_or_else(|| complaints.to_string()))
    })?;
    loaded.inputs.extend(outside::files(&loaded.topology, path));
    Ok(loaded)
}

/// Whether a file is TOML with this key: what is wrong with it may be no more than what it was taken for.
pub fn is_written(path: &str, key: &str) -> bool {
    let text = read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.and_then(|text| text.parse::<toml::Table>().ok()).is_some_and(|table| table.contains_key(key))
}

/// A topology file that means exactly this wherever it lies: logs are named by their whole paths, and so are files beside it
/// that are programs of sites and users.
pub fn written_out(topology: &Topology, written_in: &str) -> String {
    let mut topology = topology.clone();
    outside::find_files(&mut topology, written_in);
    for workload in &mut topology.workloads {
        if let Source::Rigid(Rigids { origin: Origin::Swf(log) | Origin::Batsim(log), .. }) = &mut workload.source
            && let Ok(path) = std::path::absolute(&log.path)
        {
            log.path = path.to_string_lossy().into_owned();
        }
    }
    topology.to_toml()
}

/// Where the results of a topology go if nobody says otherwise.
pub fn default_out(topology: &Topology) -> PathBuf {
    PathBuf::from("out").join(&topology.name)
}

/// Reads a file, packed or not, but no more of it than any topology has, and nothing that never ends.
pub fn read(path: &str) -> std::io::Result<Vec<u8>> {
    let file = open(path.as_ref(), OFlags::empty())?;
    if !file.metadata()?.is_file() {
        let kind = if file.metadata()?.is_dir() { ErrorKind::IsADirectory } else { ErrorKind::InvalidInput };
        return Err(kind.into());
    }
    if file.metadata()?.len() > READ_MAX {
        return Err(std::io::Error::other(format!("there is more than {} MiB in it", READ_MAX >> 20)));
    }
    unpacked(file.take(READ_MAX))
}

fn unpacked(input: impl Read) -> std::io::Result<Vec<u8>> {
    Ok(without_mark(inflate(read_lines(input)?, READ_MAX)?))
}

/// Opens a file to read, without waiting for whoever may write to it.
pub fn open(path: &Path, flags: OFlags) -> std::io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// More than any topology has, as the reader of topologies says, and any log.
const READ_MAX: u64 = INFLATED_MAX;

/// Without the number that the operating system gives it.
pub fn plainly(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::InvalidInput => "this is not a regular file".to_owned(),
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "this is a folder".to_owned(),
        _ => error.to_string(),
    }
}
