//! Puts a finished folder where another one is, so that at every moment the old one or the new one is there, whole:
//! whoever is killed, at whatever system call, and whenever the power goes.
//!
//! Linux exchanges two folders in one step. Some file systems cannot (NFS, 9P): there the old folder steps aside first,
//! and for an instant nothing is in its place. Whoever is killed just then leaves it aside, and [`put_back`], which
//! everybody calls before looking at a result, brings it back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::disk::Disk;
use super::stand_in;

/// Moves `new`, which must be on the disk already, to `out`. If something is there it is moved away in the same step,
/// to `kept` if that is given; says where to.
pub fn put_in_place(
    disk: &dyn Disk,
    new: &Path,
    out: &Path,
    replaces: bool,
    kept: Option<&Path>,
) -> io::Result<Option<PathBuf>> {
    if !replaces {
        return disk.rename(new, out).map(|()| None);
    }
    // What is exchanged for the old result gives it its name.
    let from = kept.unwrap_or(new);
    if kept.is_some() {
        disk.rename(new, from)?;
    }
    let Err(error) = disk.exchange(from, out) else { return Ok(Some(from.to_owned())) };
    if kept.is_some() {
        disk.rename(from, new)?;
    }
    if !is_unknown(&error) {
        return Err(error);
    }
    let aside = kept.map_or_else(|| stand_in::aside(new), Path::to_owned);
    disk.rename(out, &aside)?;
    if let Err(error) = disk.rename(new, out) {
        let _ = disk.rename(&aside, out);
        return Err(error);
    }
    Ok(Some(aside))
}

/// Whether the file system does not know what was asked of it.
fn is_unknown(error: &io::Error) -> bool {
    let unknown = [Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP, Errno::NOTSUP];
    error.raw_os_error().is_some_and(|raw| unknown.iter().any(|errno| errno.raw_os_error() == raw))
}

/// Brings back a result that stepped aside for one that never came; says whether there was one.
pub fn put_back(disk: &dyn Disk, out: &Path) -> io::Result<bool> {
    if fs::symlink_metadata(out).is_ok() {
        return Ok(false);
    }
    for new in stand_in::left_behind(out) {
        let aside = stand_in::aside(&new);
        if aside.exists() {
            disk.rename(&aside, out)?;
            return Ok(true);
        }
    }
    Ok(false)
}
