//! The folder of a run's results: it appears when it is complete, and not before.
//!
//! Everything is written to `OUT.partial-PID` beside the final place. Only [`ResultFolder::finish`] moves it there,
//! once all of it has reached the disk; a run that dies leaves nothing that looks like a result. An earlier result is
//! replaced in the same step, or kept beside it; other contents of the place are not touched.

mod error;
mod file;
mod read;
mod shelf;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::error::FileError;
use self::error::io_error;
pub use self::file::{EndedFile, ResultFile, Scratch};
pub use self::read::verify_results;
pub(super) use self::read::{changed_names, name_of, open_part, open_result};
pub use self::shelf::Shelf;
use super::commit::{put_back, put_in_place};
use super::disk::{Disk, RealDisk, io_reason, parent_folder, remove_tree};
use super::err;
use super::input::read_plain;
use super::journal::{Head, JOURNAL};
use super::partial_dir::{self, Lock, PartialDir};
use hansa_report::{Manifest, Output, SummaryFile};

pub const MANIFEST: &str = "manifest.json";
pub const SUMMARY: &str = "summary.json";
pub const EVENTS: &str = "events.jsonl";
pub const JOBS: &str = "jobs.csv";
pub const PAGE: &str = "report.html";
pub const TRACE: &str = "trace.json";
/// The state of a sweep, in the folder of an experiment.
pub const STATE: &str = "sweep.json";

/// Description of a folder of an experiment that was given instead of one of a run.
const OF_AN_EXPERIMENT: &str = "holds the results of an experiment, not of a run";

/// Files that `hansa report` adds to a result folder.
const MADE_FROM_RESULTS: [&str; 2] = [PAGE, TRACE];

/// A result folder in progress.
pub struct ResultFolder {
    /// The path as it was typed, for messages.
    asked: PathBuf,
    out: PathBuf,
    partial: PartialDir,
    disk: Arc<dyn Disk>,
    /// Parent folders that had to be made.
    made: Vec<PathBuf>,
    files: Vec<Output>,
    owner: Option<(u32, u32)>,
    keep_earlier: bool,
}

/// A result that is in its place.
#[derive(Debug)]
pub struct Placed {
    /// The path as it was typed.
    pub out: PathBuf,
    pub earlier: Option<Earlier>,
}

/// The earlier result in this place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub started: String,
    pub digest: String,
    /// Reports that were made from the earlier result.
    pub made_from_it: Vec<&'static str>,
    /// Present place of the earlier result, if it was kept.
    pub kept: Option<PathBuf>,
}

impl ResultFolder {
    /// Makes the folder's partial directory, after a check of the present contents of its place.
    pub fn create(out: &Path) -> Result<ResultFolder, FileError> {
        ResultFolder::create_on(Arc::new(RealDisk), out)
    }

    fn create_on(disk: Arc<dyn Disk>, out: &Path) -> Result<ResultFolder, FileError> {
        let asked = out.to_owned();
        // Renaming must replace the target of a link, not the link.
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
        if out.file_name().is_none() {
            return Err(FileError::NoName(out));
        }
        clear_after_the_dead(&*disk, &out);
        is_replaceable(&out)?;
        let parent = parent_folder(&out);
        let made = parent.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = made.map(Path::to_owned).collect();
        fs::create_dir_all(parent).map_err(|error| io_error("create", parent, error))?;
        let partial = PartialDir::create(&out, disk.clone()).map_err(|error| io_error("create", &out, error))?;
        let files = Vec::new();
        Ok(ResultFolder { asked, out, partial, disk, made, files, owner: None, keep_earlier: false })
    }

    /// Keeps an earlier result under another name.
    pub fn keep_earlier(&mut self) {
        self.keep_earlier = true;
    }

    pub fn keeps_earlier(&self) -> bool {
        self.keep_earlier
    }

    /// Gives the results to the owner of `path`, if this process is root and so can. It is for containers, where the
    /// owner of a mounted folder is the only sign of the user. A parent folder that belongs to root was made by the
    /// container engine because it was missing, and is given away, too.
    pub fn give_to_owner_of(&mut self, path: &Path) -> Result<(), FileError> {
        let owner = fs::metadata(path).map_err(|error| io_error("read", path, error))?;
        if rustix::process::geteuid().is_root() {
            self.owner = Some((owner.uid(), owner.gid()));
            let parent = parent_folder(&self.out);
            if fs::metadata(parent).is_ok_and(|found| found.uid() == 0) {
                self.give_to_owner(parent);
            }
            self.give_to_owner(self.partial.path());
        }
        Ok(())
    }

    /// The final place, as it was typed.
    pub fn typed_path(&self) -> &Path {
        &self.asked
    }

    /// The place of its files until it is complete.
    pub fn partial_dir(&self) -> &PartialDir {
        &self.partial
    }

    /// A file for this run alone, invisible to all others: it has no name.
    pub fn scratch_file(&self) -> Result<Scratch, FileError> {
        let path = self.partial.path().join(".aside");
        let open = OpenOptions::new().read(true).append(true).create_new(true).open(&path);
        let file = open.and_then(|file| fs::remove_file(&path).map(|()| file));
        Ok(Scratch::new(file.map_err(|error| io_error("create", &path, error))?))
    }

    /// The complete files, in the order of their completion.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }

    /// A set of files that grow while the result is made.
    pub fn open_shelf(&self) -> Shelf {
        Shelf::new(self.partial.clone())
    }

    pub fn create_file(&self, name: &str) -> Result<ResultFile, FileError> {
        ResultFile::create_in(&self.partial, name)
    }

    /// Takes a complete file.
    pub fn close(&mut self, file: ResultFile) -> Result<(), FileError> {
        self.take_ended(file.end())
    }

    /// Takes a complete file that may already be on its way to the disk.
    pub fn take_ended(&mut self, file: EndedFile) -> Result<(), FileError> {
        let path = file.path.clone();
        self.files.push(file.finish()?);
        self.give_to_owner(&path);
        Ok(())
    }

    /// Writes a small file in one go.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = self.create_file(name)?;
        file.append_bytes(bytes)?;
        self.close(file)
    }

    /// Completes the manifest with the files, writes it, and moves the folder to its place.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<Placed, FileError> {
        manifest.files = self.files.clone();
        self.write(MANIFEST, &manifest.json())?;
        self.give_to_owner(&self.partial.path().join(JOURNAL));
        let new = self.partial.path();
        self.disk.sync(new).map_err(|error| io_error("write", new, error))?;

        let place = || {
            let earlier = is_replaceable(&self.out)?.then(|| Earlier::read_result(&self.out));
            // A cleanup after dead processes must not take the moved folder for theirs.
            let lock = Lock::take(&self.out);
            let kept = if self.keep_earlier && earlier.as_ref().is_some_and(Option::is_some) {
                Some(self.free_name()?)
            } else {
                None
            };
            let path = kept.as_ref().map(|(path, _)| path.as_path());
            let moved = put_in_place(&*self.disk, new, &self.out, earlier.is_some(), path);
            let earlier = earlier.flatten().map(|earlier| Earlier { kept: kept.map(|(_, shown)| shown), ..earlier });
            Ok((earlier, moved.map_err(|error| io_error("replace", &self.out, error))?, lock))
        };
        let committed = self.partial.commit(place, |(earlier, moved, _lock)| {
            // The sync comes before the removal of the earlier result: a power cut must not take both.
            let above = self.made.iter().map(|made| parent_folder(made));
            for folder in [parent_folder(&self.out)].into_iter().chain(above) {
                self.disk.sync(folder).map_err(|error| io_error("write", folder, error))?;
            }
            let is_kept = earlier.as_ref().is_some_and(|earlier| earlier.kept.is_some());
            if let Some(moved) = moved.filter(|_| !is_kept) {
                self.clear_away(&moved)?;
            }
            Ok(earlier)
        });
        let earlier = committed.ok_or_else(|| FileError::GivenUp(self.asked.clone()))??;
        Ok(Placed { out: self.asked.clone(), earlier })
    }

    /// Removes the result that has been replaced.
    fn clear_away(&self, moved: &Path) -> Result<(), FileError> {
        if is_replaceable(moved).is_ok() {
            // Its owner may have removed the right to write into it.
            let _ = fs::set_permissions(moved, Permissions::from_mode(0o700));
            // The new result is in its place and complete, so this is no failure of the run.
            if let Err(error) = remove_tree(&*self.disk, moved) {
                err::warning(&format!(
                    "the result in {} is complete, but the one that it replaced is left in {}, which cannot be \
                     removed: {}",
                    self.asked.display(),
                    moved.display(),
                    io_reason(&error)
                ));
            }
            return Ok(());
        }
        // A file has been put into it at the last moment.
        let (path, shown) = self.free_name()?;
        self.disk.rename_folder(moved, &path).map_err(|error| io_error("keep", moved, error))?;
        let asked = self.asked.display();
        let shown = shown.display();
        err::warning(&format!("the contents of {asked} are now in {shown}: a file had been put there meanwhile"));
        Ok(())
    }

    /// `OUT.1`, or the next free name: the real path, and the one for messages.
    fn free_name(&self) -> Result<(PathBuf, PathBuf), FileError> {
        let names = (1..10_000).map(|number| (numbered_path(&self.out, number), numbered_path(&self.asked, number)));
        let mut free = names.filter(|(path, _)| fs::symlink_metadata(path).is_err());
        free.next().ok_or_else(|| FileError::NoName(self.out.clone()))
    }

    // Some mounted file systems have no owners; results are none the worse for it.
    fn give_to_owner(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            let _ = chown(path, Some(user), Some(group));
        }
    }
}

fn numbered_path(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        self.partial.give_up();
    }
}

impl Earlier {
    /// Facts about the result in a folder; `None` if that is empty.
    fn read_result(folder: &Path) -> Option<Earlier> {
        let manifest: Manifest = serde_json::from_slice(&read_plain(&folder.join(MANIFEST)).ok()?).ok()?;
        let summary = read_plain(&folder.join(SUMMARY)).ok();
        let summary = summary.and_then(|json| serde_json::from_slice::<SummaryFile>(&json).ok());
        let digest = summary.map(|summary| summary.results.digest).unwrap_or_default();
        let made_from_it = MADE_FROM_RESULTS.into_iter().filter(|name| folder.join(name).exists()).collect();
        Some(Earlier { started: manifest.started, digest, made_from_it, kept: None })
    }
}

/// Cleans up after processes that were killed while they made or placed results for `out`.
pub(super) fn clear_after_the_dead(disk: &dyn Disk, out: &Path) {
    bring_back(disk, out);
    for left in partial_dir::clear_left_behind(out) {
        err::note(&format!("note: removed {}, left by a run that ended early", left.display()));
    }
}

/// Like `clear_after_the_dead`, but keeps journals from which a run can resume. Returns the journal's folder of this
/// dead process, which may not have taken over the `earlier` one that it was to resume. Others may have died of a run
/// for the same place.
pub(super) fn settle_after_the_dead(
    disk: &dyn Disk,
    out: &Path,
    process: u32,
    earlier: Option<&Path>,
) -> Option<PathBuf> {
    let mut resumable = partial_dir::left_to_resume(out);
    // A run without a head in its journal has not begun.
    resumable.retain(|left| Head::read_head(&left.join(JOURNAL)).is_ok());
    if resumable.is_empty() {
        clear_after_the_dead(disk, out);
    }
    resumable.iter().for_each(|left| partial_dir::leave_the_journal(disk, left));
    let own = resumable.iter().rfind(|left| partial_dir::is_of(left, process));
    own.or_else(|| resumable.iter().find(|left| Some(left.as_path()) == earlier)).cloned()
}

fn bring_back(disk: &dyn Disk, out: &Path) {
    if put_back(disk, out).unwrap_or(false) {
        err::note(&format!(
            "note: restored the result in {}, which a run that was killed had moved aside",
            out.display()
        ));
    }
}

/// True if a result in this place may be replaced; an error if other contents are there.
fn is_replaceable(out: &Path) -> Result<bool, FileError> {
    match fs::symlink_metadata(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io_error("look at", out, error)),
        Ok(found) if !found.is_dir() => return Err(FileError::NotAResult(out.to_owned())),
        Ok(_) => {}
    }
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(out).map_err(|error| io_error("read", out, error))? {
        names.insert(entry.map_err(|error| io_error("read", out, error))?.file_name().to_string_lossy().into_owned());
    }
    if names.is_empty() {
        return Ok(true);
    }
    // Only files of a run, or made from it, may be removed: a stray note in the folder protects it.
    let manifest = read_plain(&out.join(MANIFEST)).ok();
    let Some(manifest) = manifest.and_then(|json| serde_json::from_slice::<Manifest>(&json).ok()) else {
        return Err(match names.contains(STATE) {
            true => FileError::OfAnExperiment(out.to_owned()),
            false => FileError::NotAResult(out.to_owned()),
        });
    };
    let ours = manifest.files.iter().map(|file| file.name.as_str());
    let ours = ours.chain([MANIFEST, JOURNAL]).chain(MADE_FROM_RESULTS);
    let ours: BTreeSet<&str> = ours.collect();
    // A report that was killed leaves these.
    match names.iter().find(|name| !ours.contains(name.as_str()) && !is_partial_output(name)) {
        None => Ok(true),
        Some(name) => Err(FileError::NotOurs { out: out.to_owned(), name: name.clone() }),
    }
}

fn is_partial_output(name: &str) -> bool {
    MADE_FROM_RESULTS.iter().any(|made| name.starts_with(&format!(".{made}.partial-")))
}
