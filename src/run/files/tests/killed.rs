//! After a kill at any time of a placement, one result is complete.

use std::io;
use std::sync::Mutex;

use tempfile::TempDir;

use super::*;

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

    fn is_dead(&self) -> bool {
        self.calls.lock().unwrap().len() > self.dies_after
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
    fn exchange_folders(&self, a: &Path, b: &Path) -> io::Result<()> {
        if !self.exchanges {
            return Err(rustix::io::Errno::INVAL.into());
        }
        self.call("exchange", b, || RealDisk.exchange_folders(a, b))
    }

    fn rename_folder(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call("rename to", to, || RealDisk.rename_folder(from, to))
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
            let mut killed = 0;
            let mut old = 0;
            let mut new = 0;
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
                // A replaced result that stays is no failure.
                let finished = folder.finish(manifest()).is_ok() && !disk.is_dead();

                // Where folders can be exchanged, no recovery is needed.
                if !exchanges {
                    bring_back(&RealDisk, &out);
                }
                // A result that steps aside to stay can be found without being brought back.
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
                assert!(!keep || found.iter().flatten().any(|jobs| jobs == "old"), "{found:?} after {killed} calls");
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
            let partial = Arc::new(Mutex::new(None::<PartialDir>));
            let lifeline = Arc::new(Mutex::new(None));
            let to_clear = partial.clone();
            let thread = lifeline.clone();
            // Runs the thread that notices the launcher's end, as far as it gets between two calls.
            disk.between = Some(Box::new(move |number| {
                if number == at {
                    let partial = to_clear.lock().unwrap().clone().unwrap();
                    *thread.lock().unwrap() = Some(std::thread::spawn(move || _ = partial.give_up()));
                    std::thread::sleep(std::time::Duration::from_millis(3));
                }
            }));
            let folder = made(&Arc::new(disk), &out, "new");
            *partial.lock().unwrap() = Some(folder.partial_dir().clone());
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
    let home = scratch.path().file_name().unwrap().to_string_lossy().into_owned();
    let out = scratch.path().join("out");
    result(&out, "old");
    let disk = Arc::new(MortalDisk::new(true, usize::MAX));
    let folder = made(&disk, &out, "new");
    let partial = folder.partial_dir().path().file_name().unwrap().to_string_lossy().into_owned();
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
    assert_eq!(["out.1", "out.2", "out"].map(|name| whole(&scratch.path().join(name))), ["second", "third", "fourth"]);
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
