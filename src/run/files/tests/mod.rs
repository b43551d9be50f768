mod killed;

use tempfile::TempDir;

use super::read::{changed_files, parse_file};
use super::*;
use crate::Failure;
use crate::story::{manifest, story, tally, write_events};
use hansa_report;
use hansa_report::{RunFacts, Status};

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
    let mut events = folder.create_file(EVENTS).unwrap();
    events.append_bytes(b"one\n").unwrap();
    events.append_bytes(b"two\n").unwrap();
    folder.close(events).unwrap();
    assert!(!out.exists());
    folder.finish(manifest()).unwrap();

    assert_eq!(names(&out), [EVENTS, MANIFEST]);
    assert_eq!(names(out.parent().unwrap()), ["out"]);
    let found: Manifest = serde_json::from_slice(&fs::read(out.join(MANIFEST)).unwrap()).unwrap();
    let hash = hansa_report::manifest::hash(b"one\ntwo\n");
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
        assert!(failure.to_string().contains("was not changed"), "{failure}");
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

/// Root may write everywhere, so a disk stands in for the folder that cannot be emptied.
struct ReadOnly;

impl Disk for ReadOnly {
    fn exchange_folders(&self, a: &Path, b: &Path) -> io::Result<()> {
        RealDisk.exchange_folders(a, b)
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename_folder(from, to)
    }

    fn sync(&self, folder: &Path) -> io::Result<()> {
        RealDisk.sync(folder)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        // The owner of a folder may always let itself write into it.
        let mode = fs::metadata(path.parent().unwrap())?.mode();
        if mode & 0o200 == 0 || path.ends_with("locked.csv") {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        RealDisk.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove_dir(path)
    }
}

#[test]
fn an_earlier_result_that_cannot_be_removed_is_no_failure_of_the_new_one() {
    for (name, stays) in [(JOBS, false), ("locked.csv", true)] {
        let scratch = TempDir::new().unwrap();
        let out = scratch.path().join("out");
        let make = |text: &str| {
            let mut folder = ResultFolder::create_on(Arc::new(ReadOnly), &out).unwrap();
            folder.write(name, text.as_bytes()).unwrap();
            folder.finish(manifest()).unwrap()
        };
        make("old");
        fs::set_permissions(&out, Permissions::from_mode(0o555)).unwrap();
        make("new");
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), "new");
        assert_eq!(names(scratch.path()).len(), if stays { 2 } else { 1 }, "{:?}", names(scratch.path()));
    }
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
    let real = scratch.path().join("real");
    let link = scratch.path().join("link");
    result(&real, "old");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    result(&link, "new");
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(real.join(JOBS)).unwrap(), "new");
}

#[test]
fn a_full_disk_is_told_with_the_path() {
    let mut file = ResultFile::create(EVENTS, PathBuf::from("/dev/full")).unwrap();
    file.append_bytes(b"short").unwrap();
    let error = file.end().finish().unwrap_err();
    assert_eq!(error.to_string(), "cannot write /dev/full: the disk is full");
    assert_eq!(Failure::from(error).exit_code(), 7);

    let mut file = ResultFile::create(EVENTS, PathBuf::from("/dev/full")).unwrap();
    let piece = vec![0; file::BUFFER];
    let message =
        (0..10).find_map(|_| file.append_bytes(&piece).err()).expect("no more than some buffers wait for the disk");
    assert_eq!(message.to_string(), "cannot write /dev/full: the disk is full");
    assert_eq!(file.append_bytes(&piece).unwrap_err().to_string(), message.to_string());
    assert_eq!(file.end().finish().unwrap_err().to_string(), message.to_string());
}

#[test]
fn a_file_is_what_was_put_into_it_however_it_came() {
    let scratch = TempDir::new().unwrap();
    for length in [0, 1, file::BUFFER - 1, file::BUFFER, file::BUFFER + 1, 20 * file::BUFFER + 7] {
        let bytes: Vec<u8> = (0..length).map(|at| (at / 3) as u8).collect();
        for piece in [1000, file::BUFFER, 3 * file::BUFFER] {
            let path = scratch.path().join("file");
            let mut file = ResultFile::create("file", path.clone()).unwrap();
            bytes.chunks(piece).for_each(|piece| file.append_bytes(piece).unwrap());
            let Output { name, bytes: count, hash } = file.end().finish().unwrap();
            assert_eq!((name.as_str(), count), ("file", length as u64));
            assert_eq!(hash, format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes)));
            assert!(fs::read(path).unwrap() == bytes, "{length} bytes in pieces of {piece}");
        }
    }
}

#[test]
fn a_place_that_takes_no_folder_is_told_with_the_path() {
    let failure = Failure::from(ResultFolder::create(Path::new("/proc/hansa/out")).err().unwrap());
    assert_eq!(failure.exit_code(), 7);
    assert_eq!(failure.to_string(), "cannot create /proc/hansa: there is no such file or folder");
    assert_eq!(
        ResultFolder::create(Path::new("/")).err().unwrap().to_string(),
        "/ cannot be used as a folder for results"
    );
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
    let topology = scratch.path().join("topology.toml");
    let mounted = scratch.path().join("mounted");
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
    let found: Manifest = parse_file(&out, MANIFEST).unwrap();
    let message = |name: &str| {
        let output = Output { name: name.to_owned(), ..found.files[0].clone() };
        let manifest = Manifest { files: vec![output], ..found.clone() };
        changed_files(&out, &manifest).unwrap_err().to_string()
    };
    for name in ["/dev/zero", "../secret", "..", "", "a/b", "\u{1b}[2J/"] {
        let text = message(name);
        assert!(text.ends_with("is not a file of this folder") && !text.contains('\u{1b}'), "{text}");
    }
    std::os::unix::fs::symlink("/dev/zero", out.join("endless")).unwrap();
    assert!(message("endless").ends_with("endless: it is a link, and a result has none"), "{}", message("endless"));
    fs::create_dir(out.join("folder")).unwrap();
    assert!(message("folder").ends_with("folder: it is not a regular file"));
    fs::remove_file(out.join(SUMMARY)).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, out.join(SUMMARY), rustix::fs::Mode::RWXU).unwrap();
    assert!(open_result(&out).err().unwrap().to_string().ends_with("summary.json: it is not a regular file"));
}

#[test]
fn verify_tells_what_is_missing_or_changed() {
    let scratch = TempDir::new().unwrap();
    let verify = |a: &str, b: &str| {
        verify_results(&scratch.path().join(a), &scratch.path().join(b), false).map_err(|failure| {
            (failure.exit_code(), failure.to_string().replace(&format!("{}/", scratch.path().display()), ""))
        })
    };
    let whole = |name: &str| {
        let mut folder = ResultFolder::create(&scratch.path().join(name)).unwrap();
        let digest = write_events(&story(), |line| folder_put(&mut folder, line));
        let results = tally(&story()).summary(7, Status::Complete, digest);
        let summary = SummaryFile { results, run: RunFacts::default() };
        folder.write(SUMMARY, &hansa_report::manifest::pretty_json(&summary)).unwrap();
        folder.write(JOBS, b"").unwrap();
        folder.finish(manifest()).unwrap();
    };
    fn folder_put(folder: &mut ResultFolder, events: &[u8]) {
        folder.write(EVENTS, events).unwrap();
    }
    whole("a");
    whole("b");
    assert_eq!(verify("a", "b"), Ok(()));
    assert_eq!(verify("a", "c"), Err((2, "there is no folder c".to_owned())));
    let file = format!("a/{EVENTS}");
    assert_eq!(verify("a", &file), Err((2, format!("{file} is a file: expected the result folder in which it is"))));

    fs::write(scratch.path().join("b").join(JOBS), "x").unwrap();
    let (code, text) = verify("a", "b").unwrap_err();
    assert_eq!(code, 1);
    assert!(text.ends_with("b/jobs.csv has been changed since it was written."), "{text}");

    fs::write(scratch.path().join("b").join(SUMMARY), "{").unwrap();
    let (code, text) = verify("a", "b").unwrap_err();
    assert!(code == 2 && text.starts_with("b/summary.json is damaged: "), "{text}");
    fs::remove_file(scratch.path().join("b").join(EVENTS)).unwrap();
    assert_eq!(verify("a", "b"), Err((2, "cannot read b/events.jsonl: there is no such file or folder".to_owned())));
    fs::remove_file(scratch.path().join("b").join(MANIFEST)).unwrap();
    assert_eq!(verify("a", "b"), Err((2, "b is not a result folder: it has no manifest.json".to_owned())));
}
