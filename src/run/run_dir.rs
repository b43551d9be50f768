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
    /// Lock by which other processes see that this one is alive.
    _lock: Lock,
}

impl RunDir {
    pub fn new() -> Result<RunDir, Failure> {
        let base = std::env::temp_dir();
        clear_dead_dirs(&base);
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

/// Removes the folders of launchers that were killed with all that they had started. Only a free lock is evidence of
/// that: process numbers are reused, and in containers each process may be number 1.
fn clear_dead_dirs(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_named = name.to_str().is_some_and(is_name_of_a_dir);
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == geteuid().as_raw());
        // The lock is held until the folder is gone.
        if is_named
            && is_ours
            && let Lock::Held(_lock) = Lock::take(&entry.path())
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// True for `hansa-PID-ATTEMPT`.
fn is_name_of_a_dir(name: &str) -> bool {
    let numbers = name.strip_prefix("hansa-").and_then(|numbers| numbers.split_once('-'));
    numbers.is_some_and(|(process, attempt)| process.parse::<u32>().is_ok() && attempt.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_folder_is_private_and_goes_with_its_run() {
        let dir = RunDir::new().unwrap();
        let path = dir.path.clone();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::write(path.join("log"), "text").unwrap();
        // Another run of this process has a folder of its own.
        let other = RunDir::new().unwrap();
        assert!(other.path != path && path.join("log").exists());
        drop(dir);
        assert!(!path.exists() && other.path.exists());
    }

    #[test]
    fn folders_of_dead_launchers_are_removed_though_their_numbers_are_in_use() {
        let base = tempfile::TempDir::new().unwrap();
        // The number of a process that lives: this one.
        let dead = base.path().join(format!("hansa-{}-0", std::process::id()));
        let alive = base.path().join(format!("hansa-{}-1", std::process::id()));
        let others = ["hansa-input-1", "hansa-1", "hansa-1-x"].map(|name| base.path().join(name));
        for folder in [&dead, &alive].into_iter().chain(&others) {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("topology.toml"), "").unwrap();
        }
        let lock = Lock::take(&alive);
        assert!(matches!(lock, Lock::Held(_)));
        clear_dead_dirs(base.path());
        assert!(!dead.exists());
        assert!(alive.join("topology.toml").exists());
        assert!(others.iter().all(|other| other.exists()));
        drop(lock);
        clear_dead_dirs(base.path());
        assert!(!alive.exists());
    }
}
