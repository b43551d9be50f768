//! Errors about files of results, in words.

use std::io;
use std::path::{Path, PathBuf};

use super::{MANIFEST, OF_AN_EXPERIMENT};
use crate::Failure;
use crate::disk::io_reason;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot {verb} {}: {}", path.display(), io_reason(error))]
    Io { verb: &'static str, path: PathBuf, error: io::Error },
    #[error(
        "{} exists and is not a result of Hansa (it has no {MANIFEST} of a run); it was not changed: choose another \
         --out",
        .0.display()
    )]
    NotAResult(PathBuf),
    #[error("{} {OF_AN_EXPERIMENT}; it was not changed: choose another --out", .0.display())]
    OfAnExperiment(PathBuf),
    #[error(
        "{} contains {name}, which was not written by a run; it was not changed: choose another --out",
        out.display()
    )]
    NotOurs { out: PathBuf, name: String },
    #[error("{} cannot be used as a folder for results", .0.display())]
    NoName(PathBuf),
    #[error(
        "the results for {} were abandoned: the process that started this run has ended, or has stopped it",
        .0.display()
    )]
    GivenUp(PathBuf),
}

pub fn io_error(verb: &'static str, path: &Path, error: io::Error) -> FileError {
    FileError::Io { verb, path: path.to_owned(), error }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        match error {
            FileError::Io { .. } => Failure::System(error.to_string()),
            // The process that has given it up is about to end this one.
            FileError::GivenUp(_) => Failure::Interrupted(error.to_string()),
            FileError::NotAResult(_)
            | FileError::OfAnExperiment(_)
            | FileError::NotOurs { .. }
            | FileError::NoName(_) => Failure::Input(error.to_string()),
        }
    }
}
