//! Exchanges a folder for a finished one, so that the old one or the new one is there at every moment, complete, even
//! if the process is killed at any system call or the power fails.
//!
//! Linux exchanges two folders in one step. Some file systems cannot (NFS, 9P): there the old folder is moved aside
//! first, and for an instant its place is empty. A process that is killed in that instant leaves it aside, and
//! [`put_back`], which is called before any use of a result, brings it back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::disk::Disk;
use super::partial_dir;

/// Moves `new`, which must be on the disk already, to `out`. An existing folder is moved away in the same step, to
/// `kept` if given; returns its new path.
pub fn put_in_place(
    disk: &dyn Disk,
    new: &Path,
    out: &Path,
    replaces: bool,
    kept: Option<&Path>,
) -> io::Result<Option<PathBuf>> {
    if !replaces {
        return disk.rename_folder(new, out).map(|()| None);
    }
    // The exchange gives the old result the path of the new one, so that is renamed to `kept` first.
    let from = kept.unwrap_or(new);
    if kept.is_some() {
        disk.rename_folder(new, from)?;
    }
    let Err(error) = disk.exchange_folders(from, out) else { return Ok(Some(from.to_owned())) };
    if kept.is_some() {
        disk.rename_folder(from, new)?;
    }
    if !is_unknown(&error) {
        return Err(error);
    }
    let aside = kept.map_or_else(|| partial_dir::aside_path(new), Path::to_owned);
    disk.rename_folder(out, &aside)?;
    if let Err(error) = disk.rename_folder(new, out) {
        let _ = disk.rename_folder(&aside, out);
        return Err(error);
    }
    Ok(Some(aside))
}

/// True if the file system does not support the operation.
fn is_unknown(error: &io::Error) -> bool {
    let unknown = [Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOTSUP];
    error.raw_os_error().is_some_and(|raw| unknown.iter().any(|errno| errno.raw_os_error() == raw))
}

/// Restores a result that was moved aside for a new one that never came; returns true if there was one.
pub fn put_back(disk: &dyn Disk, out: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(out).is_ok() {
        return Ok(false);
    }
    for new in partial_dir::left_behind(out) {
        let aside = partial_dir::aside_path(&new);
        if aside.exists() {
            disk.rename_folder(&aside, out)?;
            return Ok(true);
        }
    }
    Ok(false)
}
