//! The folder `OUT.partial-PID`, in which a result is made. It belongs to one process and is removed at its end: by the
//! process, by a launcher, or by the next run, which knows from the free lock that no process uses it any more. (A
//! process number is no evidence: in containers each process may be number 1.)

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::OFlags;

use super::disk::{Disk, RealDisk, parent_folder, remove_tree};
use super::journal::JOURNAL;

const PARTIAL: &str = ".partial-";
const ASIDE: &str = ".replaced";

/// Shared between the thread that makes the result and the one that removes it when the process has to leave.
#[derive(Clone)]
pub struct PartialDir(Arc<Inner>);

struct Inner {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    stage: Mutex<PartialState>,
    /// The command that resumes the run from the journal in here, if that is possible.
    resume: Mutex<Option<String>>,
    /// Held for as long as the process lives; none where the file system has no locks.
    _lock: Option<File>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartialState {
    Making,
    /// The result is in its place, and the partial directory's name is used for something else now.
    Placed,
    /// The folder is removed, or about to be.
    GivenUp,
}

impl PartialDir {
    /// Makes the folder beside `out`.
    pub fn create(out: &Path, disk: Arc<dyn Disk>) -> io::Result<PartialDir> {
        let name = out.file_name().unwrap_or_default();
        // Process ids are reused.
        for attempt in 0..1000 {
            let mut partial = name.to_owned();
            partial.push(format!("{PARTIAL}{}", std::process::id()));
            if attempt > 0 {
                partial.push(format!("-{attempt}"));
            }
            let path = parent_folder(out).join(partial);
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let lock = match Lock::take(&path) {
                Lock::Held(lock) => Some(lock),
                Lock::Unknown => None,
                // Another process has taken it for a dead one's before it was locked.
                Lock::Taken | Lock::Gone => continue,
            };
            let stage = Mutex::new(PartialState::Making);
            let resume = Mutex::default();
            return Ok(PartialDir(Arc::new(Inner { path, disk, stage, resume, _lock: lock })));
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Makes something in the folder; `None` if it was given up before. So a removal of the folder sees all that there
    /// will ever be.
    pub fn while_making<T>(&self, make: impl FnOnce() -> T) -> Option<T> {
        let stage = self.stage();
        (*stage != PartialState::GivenUp).then(make)
    }

    /// Puts the result in its place (`place`), then does the rest (`after`). A removal of the folder has to wait until
    /// both are done. `None` if it was given up before.
    pub fn commit<P, T, E>(
        &self,
        place: impl FnOnce() -> Result<P, E>,
        after: impl FnOnce(P) -> Result<T, E>,
    ) -> Option<Result<T, E>> {
        let mut stage = self.stage();
        if *stage != PartialState::Making {
            return None;
        }
        Some(place().and_then(|placed| {
            *stage = PartialState::Placed;
            after(placed)
        }))
    }

    /// Sets the command that resumes the run from its journal, which then stays when the result is given up.
    pub fn resumable_by(&self, how: Option<String>) {
        *self.0.resume.lock().unwrap_or_else(PoisonError::into_inner) = how;
    }

    /// Removes the folder, unless the result is in its place. From then on the result cannot get there any more. A
    /// journal from which the run can resume stays, and the command for it is returned: it is always the same, as both
    /// the thread that ends the process and the one that makes the result may call this.
    pub fn give_up(&self) -> Option<String> {
        let mut stage = self.stage();
        let resume = self.0.resume.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if *stage == PartialState::Placed {
            return resume;
        }
        *stage = PartialState::GivenUp;
        let resume = resume.filter(|_| self.path().join(JOURNAL).exists());
        if resume.is_some() {
            leave_the_journal(&*self.0.disk, &self.0.path);
        } else {
            // Files without a lock, such as a journal, may be written in between, but not for long.
            let _ = (0..10).find(|_| remove_tree(&*self.0.disk, &self.0.path).is_ok());
        }
        resume
    }

    fn stage(&self) -> MutexGuard<'_, PartialState> {
        // After a panic, a half-made result is not in its place.
        self.0.stage.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The name of the folder that is set aside for this partial directory, where folders cannot be exchanged.
pub fn aside_path(partial: &Path) -> PathBuf {
    let mut aside = partial.as_os_str().to_owned();
    aside.push(ASIDE);
    PathBuf::from(aside)
}

/// Paths of the partial directories for `out`, including those of which only the folder set aside is left.
fn all_for(out: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let (Some(name), Ok(entries)) = (out.file_name(), fs::read_dir(parent_folder(out))) else { return found };
    for entry in entries.flatten() {
        let entry = entry.file_name();
        let Some(partial) = partial_of(entry.as_bytes(), name.as_bytes()) else { continue };
        found.push(parent_folder(out).join(OsString::from_vec(partial.to_vec())));
    }
    found.sort();
    found.dedup();
    found
}

/// The partial directories of dead processes.
pub fn left_behind(out: &Path) -> Vec<PathBuf> {
    let mut found = all_for(out);
    found.retain(|path| matches!(Lock::take(path), Lock::Held(_) | Lock::Gone));
    found
}

/// True if a process makes a result for this place.
pub fn is_in_the_making(out: &Path) -> bool {
    all_for(out).iter().any(|path| matches!(Lock::take(path), Lock::Taken))
}

/// Removes all of a partial directory but its journal.
pub fn leave_the_journal(disk: &dyn Disk, partial: &Path) {
    let Ok(entries) = fs::read_dir(partial) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.file_name() != Some(JOURNAL.as_ref())) {
        let _ = disk.remove_file(&path);
    }
}

/// The partial directories for `out` of dead processes with a journal; the latest comes last.
pub fn left_to_resume(out: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = left_behind(out).into_iter().filter_map(|path| Some((written_at(&path)?, path))).collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn written_at(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path.join(JOURNAL)).and_then(|found| found.modified()).ok()
}

/// The place of a partial directory, if it is one.
pub fn place_of(partial: &Path) -> Option<PathBuf> {
    let name = partial.file_name()?.as_bytes();
    let at = end_of_place(name)?;
    partial_of(name, &name[..at])?;
    Some(parent_folder(partial).join(OsString::from_vec(name[..at].to_vec())))
}

/// True if this is the partial directory of a process of this number.
pub fn is_of(partial: &Path, process: u32) -> bool {
    let name = partial.file_name().unwrap_or_default().as_bytes();
    let number = end_of_place(name).map(|at| &name[at + PARTIAL.len()..]);
    let first = number.and_then(|number| number.split(|byte| *byte == b'-').next());
    first == Some(process.to_string().as_bytes())
}

/// End of the place's name in the name of its partial directory.
fn end_of_place(partial: &[u8]) -> Option<usize> {
    partial.windows(PARTIAL.len()).rposition(|part| part == PARTIAL.as_bytes())
}

/// Removes the partial directories that dead processes have left for `out`, and returns them. A result that has to be
/// restored must have been before.
pub fn clear_left_behind(out: &Path) -> Vec<PathBuf> {
    let left = left_behind(out).into_iter().flat_map(|partial| [aside_path(&partial), partial]);
    left.filter(|path| match Lock::take(path) {
        Lock::Held(_lock) => remove_tree(&RealDisk, path).is_ok(),
        _ => false,
    })
    .collect()
}

/// The name `out.partial-12`, from that or from `out.partial-12.replaced`.
fn partial_of<'a>(entry: &'a [u8], out: &[u8]) -> Option<&'a [u8]> {
    let partial = entry.strip_suffix(ASIDE.as_bytes()).unwrap_or(entry);
    let number = partial.strip_prefix(out)?.strip_prefix(PARTIAL.as_bytes())?;
    let mut parts = number.split(|byte| *byte == b'-');
    let fits =
        parts.next().is_some_and(is_all_digits) && parts.next().is_none_or(is_all_digits) && parts.next().is_none();
    fits.then_some(partial)
}

fn is_all_digits(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(u8::is_ascii_digit)
}

/// Holder of a folder.
pub enum Lock {
    /// This process, until the lock is dropped.
    Held(File),
    /// Another live process.
    Taken,
    /// No process: the folder does not exist.
    Gone,
    /// Unknown: the file system does not support locks.
    Unknown,
}

impl Lock {
    pub fn take(folder: &Path) -> Lock {
        // Anything else of that name is not ours, and opening a pipe would block.
        let flags = (OFlags::DIRECTORY | OFlags::NONBLOCK).bits() as i32;
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(folder) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::Gone,
            Err(_) => return Lock::Unknown,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Lock::Taken,
            Err(TryLockError::Error(_)) => return Lock::Unknown,
        }
        // It may have been removed, and made again by another process, between the two.
        let is_same = fs::symlink_metadata(folder).is_ok_and(|there| {
            file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
        });
        if is_same { Lock::Held(file) } else { Lock::Gone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_taken_for_stand_ins() {
        let of =
            |entry: &str| partial_of(entry.as_bytes(), b"out").map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!(of("out.partial-12").as_deref(), Some("out.partial-12"));
        assert_eq!(of("out.partial-12-3.replaced").as_deref(), Some("out.partial-12-3"));
        for other in [
            "out",
            "out.partial-",
            "out.partial-x",
            "out.partial-1-",
            "out.partial-1-2-3",
            "out2.partial-1",
            "out.partial-1.tar",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn the_owner_of_a_stand_in_is_known() {
        for (partial, is_of_12) in [
            ("/x/out.partial-12", true),
            ("out.partial-12-3", true),
            ("out.partial-12.partial-12", true),
            ("out.partial-1", false),
            ("out.partial-1-12", false),
            ("out.partial-12.partial-7", false),
            ("12", false),
        ] {
            assert_eq!(is_of(Path::new(partial), 12), is_of_12, "{partial}");
        }
    }

    #[test]
    fn giving_up_again_leaves_the_journal_too() {
        let scratch = tempfile::TempDir::new().unwrap();
        let partial = PartialDir::create(&scratch.path().join("out"), Arc::new(RealDisk)).unwrap();
        partial.resumable_by(Some("with care".to_owned()));
        fs::write(partial.path().join(JOURNAL), "so far").unwrap();
        for _ in 0..2 {
            fs::write(partial.path().join("events.jsonl"), "half").unwrap();
            assert_eq!(partial.give_up().as_deref(), Some("with care"));
            let left: Vec<_> = fs::read_dir(partial.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(left, [JOURNAL]);
        }
        let of_no_use = PartialDir::create(&scratch.path().join("out"), Arc::new(RealDisk)).unwrap();
        fs::write(of_no_use.path().join(JOURNAL), "so far").unwrap();
        assert_eq!(of_no_use.give_up(), None);
        assert!(!of_no_use.path().exists());
    }

    #[test]
    fn what_the_dead_leave_is_cleared_and_what_the_living_use_is_not() {
        let scratch = tempfile::TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let living = PartialDir::create(&out, Arc::new(RealDisk)).unwrap();
        for dead in ["out.partial-1", "out.partial-1-7", "out.partial-2.replaced"] {
            fs::create_dir(scratch.path().join(dead)).unwrap();
            fs::write(scratch.path().join(dead).join("events.jsonl"), "half").unwrap();
        }
        fs::create_dir(scratch.path().join("out.partial-mine")).unwrap();
        assert_eq!(clear_left_behind(&out).len(), 3);
        assert!(living.path().is_dir() && scratch.path().join("out.partial-mine").is_dir());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 2);

        let path = living.path().to_owned();
        drop(living);
        assert_eq!(clear_left_behind(&out), [path]);
    }
}
