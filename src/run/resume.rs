//! Runs that ended early and left a journal from which they can continue: in the folder of their results, which are
//! marked as partial, or in the unfinished folder of a process that was killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Failure;
use super::disk::{RealDisk, io_reason, remove_tree};
use super::files::MANIFEST;
use super::input::read_plain;
use super::journal::{Head, JOURNAL};
use super::partial_dir::{Lock, is_in_the_making, left_to_resume, place_of};
use hansa_report::{Manifest, Status};
use hansa_sim::protocol::handshake::RELEASE;

/// A run that can be resumed.
pub struct Resumable {
    /// Final folder of its results.
    pub out: PathBuf,
    pub head: Head,
    /// Folder of its journal.
    pub folder: PathBuf,
    /// Keeps other processes from resuming or removing the run.
    _lock: Lock,
}

impl Resumable {
    /// Finds the run to resume whose results belong in this folder, or whose unfinished folder this is.
    pub fn find(folder: &Path) -> Result<Resumable, Failure> {
        let out = place_of(folder).unwrap_or_else(|| folder.to_owned());
        let out = fs::canonicalize(&out).unwrap_or(out);
        let holds = |folder: &PathBuf| folder.join(JOURNAL).is_file();
        let found = if place_of(folder).is_some() {
            Some(folder.to_owned()).filter(holds)
        } else {
            // A process that is being killed may still hold the run, so its end is waited for.
            wait_until(
                || !is_in_the_making(&out),
                || format!("{}: another process is still running or resuming a run for this folder", out.display()),
            )?;
            left_to_resume(&out).pop().or_else(|| Some(out.clone()).filter(holds))
        };
        let taken = || Failure::Input(format!("{}: another process is resuming this run", folder.display()));
        let Some(found) = found else {
            return Err(if is_in_the_making(&out) { taken() } else { nothing_to_resume(folder, &out) });
        };
        let mut lock = Lock::Gone;
        wait_until(
            || {
                lock = Lock::take(&found);
                !matches!(lock, Lock::Taken)
            },
            || format!("{}: another process is still at work on this run", folder.display()),
        )?;
        // Several processes may have waited for the lock: the first has moved the journal away.
        if !holds(&found) {
            return Err(taken());
        }
        let head = Head::read_head(&found.join(JOURNAL))?;
        if head.release != RELEASE {
            return Err(Failure::Input(format!(
                "{}: this run was started by release {}; this is release {RELEASE}, which may behave differently and \
                 cannot resume it",
                folder.display(),
                head.release
            )));
        }
        Ok(Resumable { out, head, folder: found, _lock: lock })
    }

    /// Moves the journal into the folder of the run that continues.
    pub fn move_journal(self, partial: &Path) -> Result<(), Failure> {
        let from = self.folder.join(JOURNAL);
        let to = partial.join(JOURNAL);
        fs::rename(&from, &to).map_err(|error| {
            let from = from.display();
            let to = to.display();
            Failure::System(format!("cannot move {from} to {to}: {}", io_reason(&error)))
        })?;
        if self.folder != self.out {
            let _ = remove_tree(&RealDisk, &self.folder);
        }
        Ok(())
    }
}

/// Status of the run whose results are in this folder. None if there are no readable results.
pub fn status_of(out: &Path) -> Option<Status> {
    let manifest = read_plain(&out.join(MANIFEST)).ok()?;
    Some(serde_json::from_slice::<Manifest>(&manifest).ok()?.status)
}

/// Waits for a condition, at most as long as a killed process may take to end.
fn wait_until(mut is_so: impl FnMut() -> bool, otherwise: impl Fn() -> String) -> Result<(), Failure> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > LEAVES_WITHIN {
            return Err(Failure::Input(otherwise()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

const LEAVES_WITHIN: Duration = Duration::from_secs(3);

fn nothing_to_resume(folder: &Path, out: &Path) -> Failure {
    let why = match status_of(out) {
        Some(Status::Complete) => "the run in it is complete",
        Some(_) => "there is no journal with the partial results (a run inline keeps none)",
        None => "expected a folder that holds the results of a run that ended early, or would have held them",
    };
    Failure::Input(format!("{}: there is nothing to resume: {why}", folder.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::partial_dir::PartialDir;

    #[test]
    fn who_resumes_what_another_process_resumes_is_told_so() {
        let scratch = tempfile::TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let dead = scratch.path().join("out.partial-1");
        fs::create_dir(&dead).unwrap();
        let refused = || Resumable::find(&dead).err().unwrap().to_string();
        assert!(refused().contains("there is nothing to resume"), "{}", refused());
        // The first process has moved the journal into its own folder.
        let winner = PartialDir::create(&out, Arc::new(RealDisk)).unwrap();
        fs::write(winner.path().join(JOURNAL), "").unwrap();
        assert!(refused().ends_with("out.partial-1: another process is resuming this run"), "{}", refused());
    }
}
