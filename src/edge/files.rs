//! The folder that a run's results go into: there when it is whole, and not before.
//!
//! Everything is written to `OUT.partial-PID` beside the final place. Only [`ResultFolder::finish`] moves it there, once
//! all of it has reached the disk; a run that dies leaves nothing that looks like a result. A result that was there
//! before is replaced; whatever else is there is not touched.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt, chown};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::Failure;
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
}

/// A result folder in the making.
pub struct ResultFolder {
    /// As it was typed, for whoever is told.
    asked: PathBuf,
    out: PathBuf,
    partial: PathBuf,
    files: Vec<Output>,
    owner: Option<(u32, u32)>,
    finished: bool,
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
        let asked = out;
        // Renaming must replace what a link points at, not the link.
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
        let name = out.file_name().ok_or_else(|| FileError::NoName(out.clone()))?.to_owned();
        let parent = parent(&out);
        replaceable(&out)?;
        fs::create_dir_all(parent).map_err(|error| io_error("create", parent, error))?;

        // Process ids come round again, in containers at once: each run is process 1 of its own.
        for attempt in 0..1000 {
            let mut stand_in = name.clone();
            stand_in.push(format!(".partial-{}", std::process::id()));
            if attempt > 0 {
                stand_in.push(format!("-{attempt}"));
            }
            let partial = parent.join(stand_in);
            match fs::create_dir(&partial) {
                Ok(()) => {
                    let (asked, files) = (asked.to_owned(), Vec::new());
                    return Ok(ResultFolder { asked, out, partial, files, owner: None, finished: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io_error("create", &partial, error)),
            }
        }
        Err(FileError::NoName(out))
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
            self.give(&self.partial);
        }
        Ok(())
    }

    /// Where its files are until it is whole.
    pub fn unfinished(&self) -> &Path {
        &self.partial
    }

    /// A file for this run alone, which nobody else ever sees: it has no name.
    pub fn scratch(&self) -> Result<Scratch, FileError> {
        let path = self.partial.join(".aside");
        let open = OpenOptions::new().read(true).append(true).create_new(true).open(&path);
        let file = open.and_then(|file| fs::remove_file(&path).map(|()| file));
        Ok(Scratch(file.map_err(|error| io_error("create", &path, error))?))
    }

    pub fn writer(&self, name: &str) -> Result<ResultFile, FileError> {
        ResultFile::create(name, self.partial.join(name))
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
    pub fn finish(mut self, mut manifest: Manifest) -> Result<PathBuf, FileError> {
        manifest.files = self.files.clone();
        self.write(MANIFEST, &manifest.json())?;
        sync(&self.partial)?;

        let mut aside = self.partial.clone().into_os_string();
        aside.push(".replaced");
        let aside = PathBuf::from(aside);
        let replaces = replaceable(&self.out)?;
        if replaces {
            fs::rename(&self.out, &aside).map_err(|error| io_error("replace", &self.out, error))?;
        }
        if let Err(error) = fs::rename(&self.partial, &self.out) {
            if replaces {
                let _ = fs::rename(&aside, &self.out);
            }
            return Err(io_error("create", &self.out, error));
        }
        self.finished = true;
        sync(parent(&self.out))?;
        if replaces {
            fs::remove_dir_all(&aside).map_err(|error| io_error("remove the replaced", &aside, error))?;
        }
        Ok(self.asked.clone())
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
        if !self.finished {
            let _ = fs::remove_dir_all(&self.partial);
        }
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
pub fn verify(a: &Path, b: &Path) -> Result<(), Failure> {
    let sides = (open(a)?, open(b)?);
    if let Some(live) = [&sides.0, &sides.1].into_iter().find(|side| side.summary.run.live.is_some()) {
        let message = format!("{} is a live run: it measures, and has no digest to compare", live.name);
        return Err(Failure::Input(message));
    }
    let mut damage = changed_files(a, &sides.0.manifest)?;
    damage.extend(changed_files(b, &sides.1.manifest)?);
    let comparison = report::compare(sides.0, sides.1)
        .map_err(|error| Failure::System(format!("cannot read the events: {}", plainly(&error))))?;
    if comparison.same() && damage.is_empty() {
        let _ = io::stdout().write_all(comparison.to_string().as_bytes());
        return Ok(());
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
    if !folder.is_dir() {
        return Err(Failure::Input(format!("there is no folder {name}")));
    }
    if !folder.join(MANIFEST).exists() {
        return Err(Failure::Input(format!("{name} is not a result folder: it has no {MANIFEST}")));
    }
    let events = folder.join(EVENTS);
    let file = File::open(&events).map_err(|error| unreadable(&events, &error))?;
    Ok(Side {
        manifest: parse(&folder.join(MANIFEST))?,
        summary: parse::<SummaryFile>(&folder.join(SUMMARY))?,
        events: BufReader::with_capacity(BUFFER, file),
        name,
    })
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Failure> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| Failure::Input(format!("{} is damaged: {error}", path.display())))
}

/// Those files of a result that do not have the size and hash they were written with. The events are not among them:
/// the comparison has more to say about them.
fn changed_files(folder: &Path, manifest: &Manifest) -> Result<Vec<String>, Failure> {
    let mut changed = Vec::new();
    for output in manifest.files.iter().filter(|output| output.name != EVENTS) {
        let path = folder.join(&output.name);
        match hash_file(&path) {
            Ok((bytes, hash)) if (bytes, &hash) == (output.bytes, &output.hash) => {}
            Ok(_) => changed.push(path.display().to_string()),
            Err(error) => return Err(unreadable(&path, &error)),
        }
    }
    Ok(changed)
}

/// Size and hash of a file, as a manifest lists them.
pub fn hash_file(path: &Path) -> io::Result<(u64, String)> {
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
    let bytes = io::copy(&mut File::open(path)?, &mut sponge)?;
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
    match names.iter().find(|name| !ours.contains(name.as_str())) {
        None => Ok(true),
        Some(name) => Err(FileError::NotOurs { out: out.to_owned(), name: name.clone() }),
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
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
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        _ => error.to_string(),
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        match error {
            FileError::Io { .. } => Failure::System(error.to_string()),
            FileError::NotAResult(_) | FileError::NotOurs { .. } | FileError::NoName(_) => {
                Failure::Input(error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        folder.finish(manifest()).unwrap()
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
    fn verify_tells_what_is_missing_or_changed() {
        let scratch = TempDir::new().unwrap();
        let told = |a: &str, b: &str| {
            verify(&scratch.path().join(a), &scratch.path().join(b)).map_err(|failure| {
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
}
