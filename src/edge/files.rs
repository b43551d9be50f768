//! The folder that a run's results go into: there when it is whole, and not before.
//!
//! Everything is written to `OUT.partial-PID` beside the final place. Only [`ResultFolder::finish`] moves it there, once
//! all of it has reached the disk; a run that dies leaves nothing that looks like a result. A result that was there
//! before is replaced in the same step, or kept beside it; whatever else is there is not touched.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, chown};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;
use xxhash_rust::xxh3::Xxh3;

use super::commit::{Disk, RealDisk, put_back, put_in_place, remove_tree};
use super::input::open as open_file;
use super::stand_in::{self, Lock, StandIn, parent};
use super::{Failure, Loudness, loudness, tell};
use crate::report::{self, Manifest, Output, Side, Store, SummaryFile};

pub const MANIFEST: &str = "manifest.json";
pub const SUMMARY: &str = "summary.json";
pub const EVENTS: &str = "events.jsonl";
pub const JOBS: &str = "jobs.csv";

const BUFFER: usize = 1 << 18;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot {verb} {}: {}", path.display(), plainly(error))]
    Io { verb: &'static str, path: PathBuf, error: io::Error },
    #[error(
        "{} exists and is not a result of Hansa (it has no {MANIFEST} of a run); it was left as it is: choose another --out",
        .0.display()
    )]
    NotAResult(PathBuf),
    #[error("{} holds {name}, which no run has written; it was left as it is: choose another --out", out.display())]
    NotOurs { out: PathBuf, name: String },
    #[error("{} cannot be a folder for results", .0.display())]
    NoName(PathBuf),
    #[error("the results for {} were given up: whoever started this run is gone, or wants it gone", .0.display())]
    GivenUp(PathBuf),
}

/// A result folder in the making.
pub struct ResultFolder {
    /// As it was typed, for whoever is told.
    asked: PathBuf,
    out: PathBuf,
    stand_in: StandIn,
    disk: Arc<dyn Disk>,
    /// Folders above it that had to be made.
    made: Vec<PathBuf>,
    files: Vec<Output>,
    owner: Option<(u32, u32)>,
    keep_earlier: bool,
}

/// A result that is in its place.
#[derive(Debug)]
pub struct Placed {
    /// As it was typed.
    pub out: PathBuf,
    pub earlier: Option<Earlier>,
}

/// The result that was there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Earlier {
    pub started: String,
    pub digest: String,
    /// What somebody had made of it.
    pub made_from_it: Vec<&'static str>,
    /// Where it is now, if it was kept.
    pub kept: Option<PathBuf>,
}

/// A file of a result folder in the making.
pub struct ResultFile {
    name: String,
    path: PathBuf,
    file: BufWriter<File>,
    hasher: Xxh3,
    bytes: u64,
}

impl ResultFolder {
    /// Makes the folder's stand-in, after a look at what is in its place now.
    pub fn create(out: &Path) -> Result<ResultFolder, FileError> {
        ResultFolder::create_on(Arc::new(RealDisk), out)
    }

    fn create_on(disk: Arc<dyn Disk>, out: &Path) -> Result<ResultFolder, FileError> {
        let asked = out.to_owned();
        // Renaming must replace what a link points at, not the link.
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
        if out.file_name().is_none() {
            return Err(FileError::NoName(out));
        }
        clear_after_the_dead(&*disk, &out);
        replaceable(&out)?;
        let parent = parent(&out);
        let made = parent.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
        let made = made.map(Path::to_owned).collect();
        fs::create_dir_all(parent).map_err(|error| io_error("create", parent, error))?;
        let stand_in = StandIn::create(&out, disk.clone()).map_err(|error| io_error("create", &out, error))?;
        let files = Vec::new();
        Ok(ResultFolder { asked, out, stand_in, disk, made, files, owner: None, keep_earlier: false })
    }

    /// Lets a result that is there stay, under another name.
    pub fn keep_earlier(&mut self) {
        self.keep_earlier = true;
    }

    /// Gives the results to whoever owns `path`, if this process is root and so can; for containers, where the person
    /// at the keyboard is known only by what was mounted. A parent folder that belongs to root was made by the
    /// container engine for want of one, and is given along.
    pub fn give_to_owner_of(&mut self, path: &Path) -> Result<(), FileError> {
        let owner = fs::metadata(path).map_err(|error| io_error("read", path, error))?;
        if rustix::process::geteuid().is_root() {
            self.owner = Some((owner.uid(), owner.gid()));
            let parent = parent(&self.out);
            if fs::metadata(parent).is_ok_and(|found| found.uid() == 0) {
                self.give(parent);
            }
            self.give(self.stand_in.path());
        }
        Ok(())
    }

    /// Where its files are until it is whole.
    pub fn stand_in(&self) -> &StandIn {
        &self.stand_in
    }

    /// A file for this run alone, which nobody else ever sees: it has no name.
    pub fn scratch(&self) -> Result<Scratch, FileError> {
        let path = self.stand_in.path().join(".aside");
        let open = OpenOptions::new().read(true).append(true).create_new(true).open(&path);
        let file = open.and_then(|file| fs::remove_file(&path).map(|()| file));
        Ok(Scratch(file.map_err(|error| io_error("create", &path, error))?))
    }

    pub fn writer(&self, name: &str) -> Result<ResultFile, FileError> {
        ResultFile::create(name, self.stand_in.path().join(name))
    }

    /// Takes a file that has all its bytes.
    pub fn close(&mut self, file: ResultFile) -> Result<(), FileError> {
        let path = file.path.clone();
        self.files.push(file.finish()?);
        self.give(&path);
        Ok(())
    }

    /// Writes a small file in one go.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = self.writer(name)?;
        file.put(bytes)?;
        self.close(file)
    }

    /// Completes the manifest with the files, writes it, and moves the folder to its place.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<Placed, FileError> {
        manifest.files = self.files.clone();
        self.write(MANIFEST, &manifest.json())?;
        let new = self.stand_in.path();
        self.disk.sync(new).map_err(|error| io_error("write", new, error))?;

        let place = || {
            let earlier = replaceable(&self.out)?.then(|| Earlier::of(&self.out));
            // Whoever clears up after the dead must not take what we move away for theirs.
            let lock = Lock::take(&self.out);
            let kept = if self.keep_earlier && earlier.as_ref().is_some_and(Option::is_some) {
                Some(self.free_name()?)
            } else {
                None
            };
            let path = kept.as_ref().map(|(path, _)| path.as_path());
            let moved = put_in_place(&*self.disk, new, &self.out, earlier.is_some(), path);
            let earlier = earlier.flatten().map(|earlier| Earlier { kept: kept.map(|(_, told)| told), ..earlier });
            Ok((earlier, moved.map_err(|error| io_error("replace", &self.out, error))?, lock))
        };
        let after = |(earlier, moved, _lock): (Option<Earlier>, Option<PathBuf>, Lock)| {
            // Before what was there is removed: a power cut must not take both.
            let above = self.made.iter().map(|made| parent(made));
            for folder in [parent(&self.out)].into_iter().chain(above) {
                self.disk.sync(folder).map_err(|error| io_error("write", folder, error))?;
            }
            let is_kept = earlier.as_ref().is_some_and(|earlier| earlier.kept.is_some());
            if let Some(moved) = moved.filter(|_| !is_kept) {
                self.clear_away(&moved)?;
            }
            Ok(earlier)
        };
        let committed = self.stand_in.commit(place, after);
        let earlier = committed.ok_or_else(|| FileError::GivenUp(self.asked.clone()))??;
        Ok(Placed { out: self.asked.clone(), earlier })
    }

    /// Removes what the result has replaced.
    fn clear_away(&self, moved: &Path) -> Result<(), FileError> {
        if replaceable(moved).is_ok() {
            return remove_tree(&*self.disk, moved).map_err(|error| io_error("remove the replaced", moved, error));
        }
        // Somebody has put something into it in the last moment.
        let (path, told) = self.free_name()?;
        self.disk.rename(moved, &path).map_err(|error| io_error("keep", moved, error))?;
        tell(&format!("note: what was in {} is now in {}", self.asked.display(), told.display()));
        Ok(())
    }

    /// `OUT.1`, or the next that is free: as it is, and as it is told.
    fn free_name(&self) -> Result<(PathBuf, PathBuf), FileError> {
        let numbered = |path: &Path, number: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        let names = (1..10_000).map(|number| (numbered(&self.out, number), numbered(&self.asked, number)));
        let mut free = names.filter(|(path, _)| fs::symlink_metadata(path).is_err());
        free.next().ok_or_else(|| FileError::NoName(self.out.clone()))
    }

    // Some mounted file systems know no owners; results are none the worse for it.
    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            let _ = chown(path, Some(user), Some(group));
        }
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        self.stand_in.give_up();
    }
}

impl Earlier {
    /// What is known of the result in a folder; `None` if that is empty.
    fn of(folder: &Path) -> Option<Earlier> {
        let manifest: Manifest = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
        let summary = fs::read(folder.join(SUMMARY)).ok();
        let summary = summary.and_then(|json| serde_json::from_slice::<SummaryFile>(&json).ok());
        let digest = summary.map(|summary| summary.results.digest).unwrap_or_default();
        let made_from_it = MADE_FROM_RESULTS.into_iter().filter(|name| folder.join(name).exists()).collect();
        Some(Earlier { started: manifest.started, digest, made_from_it, kept: None })
    }
}

/// Puts right what processes have left that were killed while they made or placed results for `out`.
pub(super) fn clear_after_the_dead(disk: &dyn Disk, out: &Path) {
    bring_back(disk, out);
    for left in stand_in::clear(out) {
        tell(&format!("note: removed {}, left by a run that was killed", left.display()));
    }
}

fn bring_back(disk: &dyn Disk, out: &Path) {
    if put_back(disk, out).unwrap_or(false) {
        tell(&format!("note: put the result in {} back, which a run that was killed had taken aside", out.display()));
    }
}

/// What is over during a run, until its tables are made.
pub struct Scratch(File);

impl Store for Scratch {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn read_at(&self, place: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, place)
    }
}

impl ResultFile {
    fn create(name: &str, path: PathBuf) -> Result<ResultFile, FileError> {
        let file = File::create(&path).map_err(|error| io_error("create", &path, error))?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(ResultFile { name: name.to_owned(), path, file, hasher: Xxh3::new(), bytes: 0 })
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| io_error("write", &self.path, error))
    }

    fn finish(mut self) -> Result<Output, FileError> {
        let flushed = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        flushed.map_err(|error| io_error("write", &self.path, error))?;
        Ok(Output { name: self.name, bytes: self.bytes, hash: format!("{:032x}", self.hasher.digest128()) })
    }
}

/// Puts a file into a folder that is there already: whole, or as it was before.
pub(super) fn replace(
    path: &Path,
    fill: impl FnOnce(&mut ResultFile) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let name = path.file_name().ok_or_else(|| FileError::NoName(path.to_owned()))?.to_string_lossy().into_owned();
    let stand_in = path.with_file_name(format!(".{name}.partial-{}", std::process::id()));
    let filled = ResultFile::create(&name, stand_in.clone()).and_then(|mut file| {
        fill(&mut file)?;
        file.finish()?;
        fs::rename(&stand_in, path).map_err(|error| io_error("write", path, error))?;
        sync(parent(path))
    });
    if filled.is_err() {
        let _ = fs::remove_file(&stand_in);
    }
    filled
}

/// Compares two result folders: the outcome on standard output if they are the same run, a failure if not.
pub fn verify(a: &Path, b: &Path, json: bool) -> Result<(), Failure> {
    let sides = (open(a)?, open(b)?);
    if let Some(live) = [&sides.0, &sides.1].into_iter().find(|side| side.summary.run.live.is_some()) {
        let message = format!("{} is a live run: it measures, and has no digest to compare", live.name);
        return Err(Failure::Input(message));
    }
    let mut damage = changed_files(a, &sides.0.manifest)?;
    damage.extend(changed_files(b, &sides.1.manifest)?);
    let comparison = report::compare(sides.0, sides.1)
        .map_err(|error| Failure::System(format!("cannot read the events: {}", plainly(&error))))?;
    let same = comparison.same() && damage.is_empty();
    if json {
        super::print(&format!("{:#}\n", comparison.json(&damage)))?;
        return if same { Ok(()) } else { Err(Failure::Told(Failure::DIFFERENT)) };
    }
    if same {
        return if loudness() == Loudness::Quiet { Ok(()) } else { super::print(&comparison.to_string()) };
    }
    let mut text = comparison.to_string();
    for file in damage {
        text.push_str(&format!("{file} is not as it was written.\n"));
    }
    Err(Failure::Different(text.trim_end().to_owned()))
}

/// A result folder to read: a failure that says so if it is none.
pub(super) fn open(folder: &Path) -> Result<Side<BufReader<File>>, Failure> {
    let name = folder.display().to_string();
    let name = if name.len() > 1 { name.trim_end_matches('/').to_owned() } else { name };
    bring_back(&RealDisk, folder);
    if !folder.is_dir() {
        return Err(Failure::Input(format!("there is no folder {name}")));
    }
    if fs::symlink_metadata(folder.join(MANIFEST)).is_err() {
        return Err(Failure::Input(format!("{name} is not a result folder: it has no {MANIFEST}")));
    }
    let file = part(folder, EVENTS)?;
    Ok(Side {
        manifest: parse(folder, MANIFEST)?,
        summary: parse::<SummaryFile>(folder, SUMMARY)?,
        events: BufReader::with_capacity(BUFFER, file),
        name,
    })
}

fn parse<T: serde::de::DeserializeOwned>(folder: &Path, name: &str) -> Result<T, Failure> {
    let (path, mut bytes) = (folder.join(name), Vec::new());
    part(folder, name)?.read_to_end(&mut bytes).map_err(|error| unreadable(&path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::Input(format!("{} is damaged: {error}", path.display())))
}

/// A file of a result, which may come from anybody: what it names is in its folder, and is a file that has an end.
fn part(folder: &Path, name: &str) -> Result<File, Failure> {
    let path = folder.join(name);
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) || name.ends_with('/') {
        let manifest = folder.join(MANIFEST);
        let text = format!("{} is damaged: {name:?} is no file of this folder", manifest.display());
        return Err(Failure::Input(text));
    }
    let wrong = |what: &str| Failure::Input(format!("cannot read {}: it is {what}", path.display()));
    match open_file(&path, OFlags::NOFOLLOW) {
        Ok(file) if file.metadata().is_ok_and(|found| found.is_file()) => Ok(file),
        Ok(_) => Err(wrong("no regular file")),
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Err(wrong("a link, and a result has none"))
        }
        Err(error) => Err(unreadable(&path, &error)),
    }
}

/// Those files of a result that do not have the size and hash they were written with. The events are not among them:
/// the comparison has more to say about them.
fn changed_files(folder: &Path, manifest: &Manifest) -> Result<Vec<String>, Failure> {
    let mut changed = Vec::new();
    for output in manifest.files.iter().filter(|output| output.name != EVENTS) {
        let path = folder.join(&output.name);
        match hash(part(folder, &output.name)?) {
            Ok((bytes, hash)) if (bytes, &hash) == (output.bytes, &output.hash) => {}
            Ok(_) => changed.push(path.display().to_string()),
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    Ok(changed)
}

/// Size and hash of a file, as a manifest lists them.
fn hash(mut file: File) -> io::Result<(u64, String)> {
    struct Sponge(Xxh3);
    impl Write for Sponge {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut sponge = Sponge(Xxh3::new());
    let bytes = io::copy(&mut file, &mut sponge)?;
    Ok((bytes, format!("{:032x}", sponge.0.digest128())))
}

/// What `hansa report` adds to a result folder.
const MADE_FROM_RESULTS: [&str; 2] = ["report.html", "trace.json"];

/// Whether something is there that a result may replace; an error if something is there that it may not.
fn replaceable(out: &Path) -> Result<bool, FileError> {
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
    // Only what a run has written, or was made of it, may go: a stray note in the folder saves it.
    let manifest = fs::read(out.join(MANIFEST)).ok();
    let Some(manifest) = manifest.and_then(|json| serde_json::from_slice::<Manifest>(&json).ok()) else {
        return Err(FileError::NotAResult(out.to_owned()));
    };
    let ours = manifest.files.iter().map(|file| file.name.as_str()).chain([MANIFEST]).chain(MADE_FROM_RESULTS);
    let ours: BTreeSet<&str> = ours.collect();
    // A report that was killed leaves these.
    let half = |name: &str| MADE_FROM_RESULTS.iter().any(|made| name.starts_with(&format!(".{made}.partial-")));
    match names.iter().find(|name| !ours.contains(name.as_str()) && !half(name)) {
        None => Ok(true),
        Some(name) => Err(FileError::NotOurs { out: out.to_owned(), name: name.clone() }),
    }
}

fn sync(folder: &Path) -> Result<(), FileError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|error| io_error("write", folder, error))
}

fn io_error(verb: &'static str, path: &Path, error: io::Error) -> FileError {
    FileError::Io { verb, path: path.to_owned(), error }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Input(format!("cannot read {}: {}", path.display(), plainly(error)))
}

/// What went wrong, without the error number.
fn plainly(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::FileTooLarge => "a file may not be that long here (see ulimit -f)".to_owned(),
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tempfile::TempDir;

    use super::*;
    use crate::report::tests::{manifest, story, tally};
    use crate::report::{RunFacts, Status};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn result(out: &Path, jobs: &str) -> PathBuf {
        let mut folder = ResultFolder::create(out).unwrap();
        folder.write(JOBS, jobs.as_bytes()).unwrap();
        folder.finish(manifest()).unwrap().out
    }

    #[test]
    fn a_result_is_there_when_it_is_whole() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("deep").join("out");
        let mut folder = ResultFolder::create(&out).unwrap();
        let mut events = folder.writer(EVENTS).unwrap();
        events.put(b"one\n").unwrap();
        events.put(b"two\n").unwrap();
        folder.close(events).unwrap();
        assert!(!out.exists());
        folder.finish(manifest()).unwrap();

        assert_eq!(names(&out), [EVENTS, MANIFEST]);
        assert_eq!(names(out.parent().unwrap()), ["out"]);
        let found: Manifest = serde_json::from_slice(&fs::read(out.join(MANIFEST)).unwrap()).unwrap();
        let hash = report::manifest::hash(b"one\ntwo\n");
        assert_eq!(found.files, [Output { name: EVENTS.to_owned(), bytes: 8, hash }]);
        assert_eq!(found.status, Status::Complete);
    }

    #[test]
    fn a_run_that_dies_leaves_nothing() {
        let scratch = TempDir::new().unwrap();
        let mut folder = ResultFolder::create(&scratch.path().join("out")).unwrap();
        folder.write(JOBS, b"half").unwrap();
        drop(folder);
        assert!(names(scratch.path()).is_empty());
    }

    #[test]
    fn a_result_is_replaced_and_nothing_else_is() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        result(&out, "old");
        fs::write(out.join("report.html"), "made of it").unwrap();
        result(&out, "new");
        assert_eq!(fs::read_to_string(out.join(JOBS)).unwrap(), "new");
        assert_eq!(names(scratch.path()), ["out"]);
        assert_eq!(names(&out), [JOBS, MANIFEST]);

        let thesis = scratch.path().join("thesis");
        fs::create_dir(&thesis).unwrap();
        fs::write(thesis.join("chapter"), "1").unwrap();
        for taken in [thesis.clone(), thesis.join("chapter")] {
            let failure = Failure::from(ResultFolder::create(&taken).err().unwrap());
            assert_eq!(failure.exit_code(), 2, "{failure}");
            assert!(failure.to_string().contains("was left as it is"), "{failure}");
        }
        assert_eq!(names(&thesis), ["chapter"]);
        assert_eq!(names(scratch.path()), ["out", "thesis"]);

        let extension = scratch.path().join("extension");
        fs::create_dir(&extension).unwrap();
        fs::write(extension.join(MANIFEST), r#"{"name": "somebody else's"}"#).unwrap();
        assert!(matches!(ResultFolder::create(&extension), Err(FileError::NotAResult(_))));
        fs::write(out.join("note.txt"), "mine").unwrap();
        let refused = ResultFolder::create(&out).err().unwrap().to_string();
        assert!(refused.contains("note.txt"), "{refused}");
        assert_eq!(fs::read_to_string(out.join("note.txt")).unwrap(), "mine");
        fs::remove_file(out.join("note.txt")).unwrap();
        fs::remove_dir_all(&extension).unwrap();

        let empty = scratch.path().join("empty");
        fs::create_dir(&empty).unwrap();
        result(&empty, "new");
        assert_eq!(names(&empty), [JOBS, MANIFEST]);
    }

    #[test]
    fn what_turns_up_during_the_run_is_not_overwritten() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let folder = ResultFolder::create(&out).unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("thesis"), "1").unwrap();
        assert!(matches!(folder.finish(manifest()), Err(FileError::NotAResult(_))));
        assert_eq!(names(scratch.path()), ["out"]);
        assert_eq!(names(&out), ["thesis"]);
    }

    #[test]
    fn a_link_stays_a_link() {
        let scratch = TempDir::new().unwrap();
        let (real, link) = (scratch.path().join("real"), scratch.path().join("link"));
        result(&real, "old");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        result(&link, "new");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(real.join(JOBS)).unwrap(), "new");
    }

    #[test]
    fn a_full_disk_is_told_with_the_path() {
        let mut file = ResultFile::create(EVENTS, PathBuf::from("/dev/full")).unwrap();
        file.put(b"short").unwrap();
        let error = file.finish().unwrap_err();
        assert_eq!(error.to_string(), "cannot write /dev/full: the disk is full");
        assert_eq!(Failure::from(error).exit_code(), 7);

        let mut file = ResultFile::create(EVENTS, PathBuf::from("/dev/full")).unwrap();
        assert!(matches!(file.put(&vec![0; 2 * BUFFER]), Err(FileError::Io { .. })));
    }

    #[test]
    fn a_place_that_takes_no_folder_is_told_with_the_path() {
        let failure = Failure::from(ResultFolder::create(Path::new("/proc/hansa/out")).err().unwrap());
        assert_eq!(failure.exit_code(), 7);
        assert_eq!(failure.to_string(), "cannot create /proc/hansa: there is no such file or folder");
        assert_eq!(ResultFolder::create(Path::new("/")).err().unwrap().to_string(), "/ cannot be a folder for results");
    }

    #[test]
    fn a_folder_without_permission_is_left_alone() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = TempDir::new().unwrap();
        let locked = scratch.path().join("locked");
        fs::create_dir(&locked).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
        // Root may write everywhere.
        if !rustix::process::geteuid().is_root() {
            let error = ResultFolder::create(&locked.join("out")).err().unwrap().to_string();
            assert!(error.ends_with("permission denied"), "{error}");
        }
        assert!(names(&locked).is_empty());
    }

    #[test]
    fn root_gives_results_away() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let scratch = TempDir::new().unwrap();
        let (topology, mounted) = (scratch.path().join("topology.toml"), scratch.path().join("mounted"));
        fs::write(&topology, "").unwrap();
        fs::create_dir(&mounted).unwrap();
        chown(&topology, Some(1234), Some(1235)).unwrap();
        let mut folder = ResultFolder::create(&mounted.join("out")).unwrap();
        folder.give_to_owner_of(&topology).unwrap();
        folder.write(JOBS, b"").unwrap();
        folder.finish(manifest()).unwrap();
        for path in ["", "out", "out/jobs.csv", "out/manifest.json"] {
            let found = fs::metadata(mounted.join(path)).unwrap();
            assert_eq!((found.uid(), found.gid()), (1234, 1235), "{path}");
        }
    }

    #[test]
    fn verify_keeps_to_the_folder_and_to_files_that_end() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let mut folder = ResultFolder::create(&out).unwrap();
        [EVENTS, SUMMARY, JOBS].into_iter().for_each(|name| folder.write(name, b"{}").unwrap());
        folder.finish(manifest()).unwrap();
        let found: Manifest = parse(&out, MANIFEST).unwrap();
        let told = |name: &str| {
            let output = Output { name: name.to_owned(), ..found.files[0].clone() };
            let manifest = Manifest { files: vec![output], ..found.clone() };
            changed_files(&out, &manifest).unwrap_err().to_string()
        };
        for name in ["/dev/zero", "../secret", "..", "", "a/b", "\u{1b}[2J/"] {
            let text = told(name);
            assert!(text.ends_with("is no file of this folder") && !text.contains('\u{1b}'), "{text}");
        }
        std::os::unix::fs::symlink("/dev/zero", out.join("endless")).unwrap();
        assert!(told("endless").ends_with("endless: it is a link, and a result has none"), "{}", told("endless"));
        fs::create_dir(out.join("folder")).unwrap();
        assert!(told("folder").ends_with("folder: it is no regular file"));
        fs::remove_file(out.join(SUMMARY)).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, out.join(SUMMARY), rustix::fs::Mode::RWXU).unwrap();
        assert!(open(&out).err().unwrap().to_string().ends_with("summary.json: it is no regular file"));
    }

    #[test]
    fn verify_tells_what_is_missing_or_changed() {
        let scratch = TempDir::new().unwrap();
        let told = |a: &str, b: &str| {
            verify(&scratch.path().join(a), &scratch.path().join(b), false).map_err(|failure| {
                (failure.exit_code(), failure.to_string().replace(&format!("{}/", scratch.path().display()), ""))
            })
        };
        let whole = |name: &str| {
            let mut folder = ResultFolder::create(&scratch.path().join(name)).unwrap();
            let digest = crate::report::tests::write_events(&story(), |line| folder_put(&mut folder, line));
            let results = tally(&story()).summary(7, Status::Complete, digest);
            let summary = SummaryFile { results, run: RunFacts::default() };
            folder.write(SUMMARY, &report::manifest::pretty(&summary)).unwrap();
            folder.write(JOBS, b"").unwrap();
            folder.finish(manifest()).unwrap();
        };
        fn folder_put(folder: &mut ResultFolder, events: &[u8]) {
            folder.write(EVENTS, events).unwrap();
        }
        whole("a");
        whole("b");
        assert_eq!(told("a", "b"), Ok(()));
        assert_eq!(told("a", "c"), Err((2, "there is no folder c".to_owned())));

        fs::write(scratch.path().join("b").join(JOBS), "x").unwrap();
        let (code, text) = told("a", "b").unwrap_err();
        assert_eq!(code, 1);
        assert!(text.ends_with("b/jobs.csv is not as it was written."), "{text}");

        fs::write(scratch.path().join("b").join(SUMMARY), "{").unwrap();
        let (code, text) = told("a", "b").unwrap_err();
        assert!(code == 2 && text.starts_with("b/summary.json is damaged: "), "{text}");
        fs::remove_file(scratch.path().join("b").join(EVENTS)).unwrap();
        assert_eq!(told("a", "b"), Err((2, "cannot read b/events.jsonl: there is no such file or folder".to_owned())));
        fs::remove_file(scratch.path().join("b").join(MANIFEST)).unwrap();
        assert_eq!(told("a", "b"), Err((2, "b is not a result folder: it has no manifest.json".to_owned())));
    }

    /// The disk of a process that is killed: from some call on nothing happens any more. It may also lack what some file
    /// systems lack, and lets others act between two calls.
    struct MortalDisk {
        exchanges: bool,
        dies_after: usize,
        calls: Mutex<Vec<String>>,
        between: Option<Box<dyn Fn(usize) + Send + Sync>>,
    }

    impl MortalDisk {
        fn new(exchanges: bool, dies_after: usize) -> MortalDisk {
            MortalDisk { exchanges, dies_after, calls: Mutex::default(), between: None }
        }

        fn call(&self, what: &str, path: &Path, doing: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
            let number = {
                let mut calls = self.calls.lock().unwrap();
                calls.push(format!("{what} {}", path.file_name().unwrap().to_string_lossy()));
                calls.len()
            };
            if number > self.dies_after {
                return Err(io::Error::other("the process is dead"));
            }
            if let Some(between) = &self.between {
                between(number);
            }
            doing()
        }
    }

    impl Disk for MortalDisk {
        fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
            if !self.exchanges {
                return Err(rustix::io::Errno::INVAL.into());
            }
            self.call("exchange", b, || RealDisk.exchange(a, b))
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            self.call("rename to", to, || RealDisk.rename(from, to))
        }

        fn sync(&self, folder: &Path) -> io::Result<()> {
            self.call("sync", folder, || RealDisk.sync(folder))
        }

        fn remove_file(&self, path: &Path) -> io::Result<()> {
            self.call("remove", path, || RealDisk.remove_file(path))
        }

        fn remove_dir(&self, path: &Path) -> io::Result<()> {
            self.call("remove folder", path, || RealDisk.remove_dir(path))
        }
    }

    /// Fails unless a result is there with all that its manifest lists; says what its jobs are.
    fn whole(out: &Path) -> String {
        let manifest: Manifest = serde_json::from_slice(&fs::read(out.join(MANIFEST)).unwrap()).unwrap();
        assert_eq!(changed_files(out, &manifest).unwrap(), [""; 0]);
        fs::read_to_string(out.join(JOBS)).unwrap()
    }

    fn made(disk: &Arc<MortalDisk>, out: &Path, jobs: &str) -> ResultFolder {
        let mut folder = ResultFolder::create_on(disk.clone(), out).unwrap();
        folder.write(JOBS, jobs.as_bytes()).unwrap();
        folder.write(EVENTS, b"").unwrap();
        folder
    }

    #[test]
    fn whenever_the_process_is_killed_the_old_result_or_the_new_one_is_whole() {
        for exchanges in [true, false] {
            for keep in [true, false] {
                let (mut killed, mut old, mut new) = (0, 0, 0);
                loop {
                    let scratch = TempDir::new().unwrap();
                    let out = scratch.path().join("out");
                    result(&out, "old");
                    fs::write(out.join("report.html"), "made of it").unwrap();
                    let disk = Arc::new(MortalDisk::new(exchanges, killed));
                    let mut folder = made(&disk, &out, "new");
                    if keep {
                        folder.keep_earlier();
                    }
                    let finished = folder.finish(manifest()).is_ok();

                    // Where folders can be exchanged nobody has to do anything for it.
                    if !exchanges {
                        bring_back(&RealDisk, &out);
                    }
                    // One that steps aside to stay needs nobody to bring it back to be found.
                    let place =
                        if keep && !exchanges && !out.exists() { scratch.path().join("out.1") } else { out.clone() };
                    match whole(&place).as_str() {
                        "old" => old += 1,
                        "new" => new += 1,
                        other => panic!("{other}"),
                    }
                    if finished {
                        break;
                    }
                    // With nothing lost that was to be kept.
                    let found = [&out, &scratch.path().join("out.1")].map(|place| place.exists().then(|| whole(place)));
                    assert!(
                        !keep || found.iter().flatten().any(|jobs| jobs == "old"),
                        "{found:?} after {killed} calls"
                    );
                    // And the next run is as good as any, and clears up.
                    result(&out, "next");
                    assert_eq!(whole(&out), "next");
                    let left = names(scratch.path());
                    assert!(left == ["out"] || keep && left == ["out", "out.1"], "{left:?} after {killed} calls");
                    killed += 1;
                }
                assert!(old >= 2 && new >= 2 && killed >= if keep { 3 } else { 7 }, "{killed} {old} {new}");
            }
        }
    }

    #[test]
    fn whenever_the_launcher_is_killed_the_old_result_or_the_new_one_is_whole() {
        for exchanges in [true, false] {
            for at in 1..20 {
                let scratch = TempDir::new().unwrap();
                let out = scratch.path().join("out");
                result(&out, "old");
                let mut disk = MortalDisk::new(exchanges, usize::MAX);
                let (stand_in, lifeline) = (Arc::new(Mutex::new(None::<StandIn>)), Arc::new(Mutex::new(None)));
                let (to_clear, thread) = (stand_in.clone(), lifeline.clone());
                // What the thread does that hears of the launcher's end: it gets as far as it can between two calls.
                disk.between = Some(Box::new(move |number| {
                    if number == at {
                        let stand_in = to_clear.lock().unwrap().clone().unwrap();
                        *thread.lock().unwrap() = Some(std::thread::spawn(move || stand_in.give_up()));
                        std::thread::sleep(std::time::Duration::from_millis(3));
                    }
                }));
                let folder = made(&Arc::new(disk), &out, "new");
                *stand_in.lock().unwrap() = Some(folder.stand_in().clone());
                let finished = folder.finish(manifest());
                lifeline.lock().unwrap().take().map(std::thread::JoinHandle::join).transpose().unwrap();

                let found = whole(&out);
                assert_eq!(found, if finished.is_ok() { "new" } else { "old" }, "at call {at}");
                assert_eq!(names(scratch.path()), ["out"], "at call {at}");
            }
        }
    }

    #[test]
    fn a_power_cut_finds_the_new_result_on_the_disk_before_the_old_one_goes() {
        let scratch = TempDir::new().unwrap();
        let (home, out) =
            (scratch.path().file_name().unwrap().to_string_lossy().into_owned(), scratch.path().join("out"));
        result(&out, "old");
        let disk = Arc::new(MortalDisk::new(true, usize::MAX));
        let folder = made(&disk, &out, "new");
        let partial = folder.stand_in().path().file_name().unwrap().to_string_lossy().into_owned();
        folder.finish(manifest()).unwrap();
        let calls = disk.calls.lock().unwrap().clone();
        assert_eq!(calls[..3], [format!("sync {partial}"), "exchange out".to_owned(), format!("sync {home}")]);
        assert!(calls[3..].iter().all(|call| call.starts_with("remove")), "{calls:?}");
        drop(disk);

        // Folders that had to be made are known to those above them.
        let disk = Arc::new(MortalDisk::new(true, usize::MAX));
        made(&disk, &scratch.path().join("a").join("b").join("out"), "new").finish(manifest()).unwrap();
        let calls = disk.calls.lock().unwrap().clone();
        assert_eq!(
            calls[1..],
            ["rename to out".to_owned(), "sync b".to_owned(), "sync a".to_owned(), format!("sync {home}")]
        );
    }

    #[test]
    fn an_earlier_result_is_told_and_can_be_kept() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let placed = |keep: bool, jobs: &str| {
            let mut folder = ResultFolder::create(&out).unwrap();
            folder.write(JOBS, jobs.as_bytes()).unwrap();
            if keep {
                folder.keep_earlier();
            }
            folder.finish(manifest()).unwrap().earlier
        };
        assert_eq!(placed(true, "first"), None);
        fs::write(out.join("report.html"), "made of it").unwrap();
        let earlier = placed(false, "second").unwrap();
        assert_eq!((earlier.started, earlier.made_from_it), (manifest().started, vec!["report.html"]));
        assert_eq!(placed(true, "third").unwrap().kept, Some(scratch.path().join("out.1")));
        assert_eq!(placed(true, "fourth").unwrap().kept, Some(scratch.path().join("out.2")));
        assert_eq!(
            ["out.1", "out.2", "out"].map(|name| whole(&scratch.path().join(name))),
            ["second", "third", "fourth"]
        );
    }

    #[test]
    fn what_turns_up_in_the_last_moment_is_kept_aside() {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        result(&out, "old");
        let mut disk = MortalDisk::new(true, usize::MAX);
        let note = out.join("note.txt");
        disk.between = Some(Box::new(move |number| {
            if number == 2 {
                fs::write(&note, "mine").unwrap();
            }
        }));
        made(&Arc::new(disk), &out, "new").finish(manifest()).unwrap();
        assert_eq!(whole(&out), "new");
        assert_eq!(fs::read_to_string(scratch.path().join("out.1").join("note.txt")).unwrap(), "mine");
    }
}
