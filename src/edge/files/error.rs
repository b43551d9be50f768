//! What can go wrong with files of results, in words.

use std::io;
use std::path::{Path, PathBuf};

use super::MANIFEST;
use crate::edge::Failure;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot {verb} {}: {}", path.display(), plainly(error))]
    Io { verb: &'static str, path: PathBuf, error: io::Error },
    #[error(
        "{} exists and is not a result of Hansa (it has no {MANIFEST} of a run); it was not changed: choose another --out",
        .0.display()
    )]
    NotAResult(PathBuf),
    #[error("{} contains {name}, which was not written by a run; it was not changed: choose another --out", out.display())]
    NotOurs { out: PathBuf, name: String },
    #[error("{} cannot be used as a folder for results", .0.display())]
    NoName(PathBuf),
    #[error("the results for {} were abandoned: the process that started this run has ended, or has stopped it", .0.display())]
    GivenUp(PathBuf),
}

pub fn io_error(verb: &'static str, path: &Path, error: io::Error) -> FileError {
    FileError::Io { verb, path: path.to_owned(), error }
}

pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Input(format!("cannot read {}: {}", path.display(), plainly(error)))
}

/// What went wrong, without the error number.
pub fn plainly(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::FileTooLarge => "the file size limit is exceeded (see ulimit -f)".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        _ => error.to_string(),
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        match error {
            FileError::Io { .. } | FileError::GivenUp(_) => Failure::System(error.to_string()),
            FileError::NotAResult(_) | FileError::NotOurs { .. } | FileError::NoName(_) => {
                Failure::Input(error.to_string())
            }
        }
    }
}
