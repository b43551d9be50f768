//! The folder that a launcher keeps for the processes that it starts.

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::process::geteuid;

use super::Failure;
use super::partial_dir::Lock;

/// A private folder for the topology and logs; gone when the run is over, or when the next one begins.
pub struct RunDir {
    pub path: PathBuf,
    /// Tells others that we live.
    _lock: Lock,
}

impl RunDir {
    pub fn new() -> Result<RunDir, Failure> {
        let base = std::env::temp_dir();
        clear_dead_nests(&base);
        for attempt in 0u32.. {
            let path = base.join(format!("hansa-{}-{attempt}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => match Lock::take(&path) {
                    Lock::Taken | Lock::Gone => {}
                    lock => return Ok(RunDir { path, _lock: lock }),
                },
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {}
                Err(error) => return Err(Failure::System(format!("cannot create {}: {error}", path.display()))),
            }
        }
        unreachable!("the loop ends by returning")
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the nests of launchers that were killed with all that they had started.
fn clear_dead_nests(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(number) = name.to_str().and_then(|name| name.strip_prefix("hansa-")?.split('-').next()) else {
            continue;
        };
        let is_number = number.parse::<u32>().is_ok();
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
        if is_number
            && is_ours
            && !Path::new("/proc").join(number).exists()
            && matches!(Lock::take(&entry.path()), Lock::Held(_))
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
