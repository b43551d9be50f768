//! Sweeps in shares: combined they equal, byte for byte, the sweep of one machine, and nothing else is accepted as a
//! share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::grid::{Scratch, expect_error, hansa, hansa_ok, shipped, text};

fn experiment(scratch: &Scratch, jobs: u32) -> String {
    let topology = shipped("market-40.toml");
    let experiment = format!(
        "name = \"try\"\ntopology = {topology:?}\n[set]\nworkload.0.jobs = {jobs}\n[vary]\nseed = [1, 2, 3]\nmarket.policy = [\"fifo\", \"srtf\", \"pvr\"]\n"
    );
    scratch.file(&format!("try-{jobs}.toml"), &experiment).to_string_lossy().into_owned()
}

struct Sweeps {
    scratch: Scratch,
    experiment: String,
    out: PathBuf,
}

impl Sweeps {
    fn new() -> Sweeps {
        let scratch = Scratch::new();
        Sweeps { experiment: experiment(&scratch, 40), out: scratch.path("out"), scratch }
    }

    fn sweep(&self, experiment: &str, flags: &[&str]) -> std::process::Output {
        hansa(&[&["sweep", experiment, "--out", &self.out.to_string_lossy()], flags].concat())
    }

    fn ok(&self, flags: &[&str]) -> String {
        let output = self.sweep(&self.experiment, flags);
        assert!(output.status.success(), "{flags:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Checks for a single message, and that no combined results exist.
    fn refused(&self, flags: &[&str]) -> String {
        let output = self.sweep(&self.experiment, flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", text(&output.stdout));
        assert!(!self.out.exists(), "{flags:?}");
        text(&output.stderr)
    }

    fn share(&self, name: &str) -> PathBuf {
        self.scratch.path("out.parts").join(name)
    }
}

#[test]
fn combined_shares_equal_the_sweep_of_one_machine() {
    let sweeps = Sweeps::new();
    let whole = sweeps.scratch.path("whole");
    hansa_ok(&["sweep", &sweeps.experiment, "--out", &whole.to_string_lossy()]);
    for part in ["--part=2/4", "--index=2/4", "--part=1/4", "--part=4/4"] {
        assert!(sweeps.ok(&[part]).contains("runs in"), "{part}");
    }
    sweeps.ok(&["--gather"]);
    same(&whole, &sweeps.out);

    // Copies from other machines, share by share.
    let folders: Vec<String> = (1..=4).map(|n| sweeps.share(&format!("{n}-of-4")).display().to_string()).collect();
    let flags: Vec<&str> = ["--gather"].into_iter().chain(folders.iter().map(String::as_str)).collect();
    let again = sweeps.scratch.path("again").display().to_string();
    hansa_ok(&[&["sweep", &sweeps.experiment, "--out", &again][..], &flags].concat());
    same(&whole, Path::new(&again));
}

fn same(a: &Path, b: &Path) {
    for file in ["runs.csv", "sweep.json", "means.csv", "sweep.html"] {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(read(a), read(b), "{file}");
    }
}

#[test]
fn more_shares_than_runs_are_no_harm() {
    let sweeps = Sweeps::new();
    for number in 1..=11 {
        sweeps.ok(&["--part", &format!("{number}/11")]);
    }
    assert!(sweeps.ok(&["--gather"]).contains("\n9 runs in "));
}

#[test]
fn missing_incomplete_and_foreign_shares_are_named() {
    let sweeps = Sweeps::new();
    assert!(sweeps.refused(&["--gather"]).contains("there is no share of a sweep in "));
    sweeps.ok(&["--part=1/3"]);
    assert!(sweeps.refused(&["--gather"]).contains("2 of 3 shares are missing: 2/3, 3/3"));
    sweeps.ok(&["--part=2/3"]);
    sweeps.ok(&["--part=3/3"]);

    let state = sweeps.share("2-of-3").join("sweep.json");
    let before = std::fs::read_to_string(&state).unwrap();
    std::fs::write(&state, before.replace("\"complete\"", "\"partial: not finished yet\"")).unwrap();
    let message = sweeps.refused(&["--gather", "--wait", "0.3"]);
    assert!(message.contains("share 2/3 in ") && message.contains("resume it with --part 2/3"), "{message}");
    // It continues as the message advises.
    sweeps.ok(&["--part=2/3"]);

    let rows = sweeps.share("2-of-3").join("runs.csv");
    let written = std::fs::read_to_string(&rows).unwrap();
    std::fs::write(&rows, written.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let message = sweeps.refused(&["--gather"]);
    assert!(message.contains("claims to be complete, but has only 1 of 3 runs"), "{message}");
    let other = std::fs::read_to_string(sweeps.share("1-of-3").join("runs.csv")).unwrap();
    std::fs::write(&rows, other).unwrap();
    assert!(sweeps.refused(&["--gather"]).contains("runs.csv:2: this is not a row of the experiment"));
    std::fs::write(&rows, written).unwrap();

    // A share of the experiment with more jobs.
    let changed = experiment(&sweeps.scratch, 50);
    let out = sweeps.scratch.path("elsewhere").display().to_string();
    hansa_ok(&["sweep", &changed, "--out", &out, "--part", "2/3"]);
    let foreign = sweeps.scratch.path("elsewhere.parts").display().to_string();
    let first = sweeps.share("1-of-3").display().to_string();
    let third = sweeps.share("3-of-3").display().to_string();
    let message = sweeps.refused(&["--gather", &first, &third, &foreign]);
    assert!(
        message.contains("elsewhere.parts/2-of-3 holds share 2/3 of an earlier version of this experiment"),
        "{message}"
    );
    let refused = sweeps.sweep(&changed, &["--part=1/3"]);
    expect_error(&refused, 2, "--fresh");
}

#[test]
fn a_folder_of_shares_may_be_given_with_one_of_them() {
    let sweeps = Sweeps::new();
    sweeps.ok(&["--part=1/1"]);
    let parts = sweeps.scratch.path("out.parts");
    let parts = parts.display().to_string();
    let copy = sweeps.scratch.path("copy");
    sweeps.ok(&["--gather", &parts, &sweeps.share("1-of-1").display().to_string()]);
    std::fs::create_dir(&copy).unwrap();
    for file in ["runs.csv", "sweep.json"] {
        std::fs::copy(sweeps.share("1-of-1").join(file), copy.join(file)).unwrap();
    }
    std::fs::remove_dir_all(&sweeps.out).unwrap();
    let message = sweeps.refused(&["--gather", &parts, &copy.display().to_string()]);
    assert!(message.contains("share 1/1 is in ") && message.contains("leave one of them out"), "{message}");

    // It is ambiguous which of two sets of shares is meant.
    sweeps.ok(&["--part=1/2"]);
    let message = sweeps.refused(&["--gather"]);
    assert!(message.contains("holds share 1/1, but ") && message.contains("share 1/2"), "{message}");
}

#[test]
fn only_existing_shares_can_be_requested() {
    let sweeps = Sweeps::new();
    for (flag, message) in [
        ("--part=0/4", "expected a share from 1/4 to 4/4"),
        ("--part=5/4", "expected a share from 1/4 to 4/4"),
        ("--index=4/4", "expected a share from 0/4 to 3/4"),
        ("--part=half", "expected a share such as 2/4"),
    ] {
        assert!(sweeps.refused(&[flag]).contains(message), "{flag}");
    }
    assert!(sweeps.refused(&["--part=1/4", "--gather"]).contains("cannot be used with"));
}

#[test]
fn a_gather_waits_for_shares_that_are_on_their_way() {
    let sweeps = Sweeps::new();
    sweeps.ok(&["--part=1/2"]);
    std::thread::scope(|scope| {
        let gathered = scope.spawn(|| sweeps.ok(&["--gather", "--wait", "60"]));
        std::thread::sleep(std::time::Duration::from_millis(400));
        assert!(!gathered.is_finished(), "a share is missing");
        sweeps.ok(&["--part=2/2"]);
        assert!(gathered.join().unwrap().contains("\n9 runs in "));
    });
}

/// A sweep, and an experiment of pieces.
#[test]
fn reproductions_have_shares_too() {
    let market = ["market", "--jobs", "40", "--workloads", "1"];
    let reservation = ["reservation", "--requests", "60", "--workloads", "2"];
    for (paper, rows) in [(&market[..], "17. "), (&reservation[..], "runs, tables and figures in")] {
        let scratch = Scratch::new();
        let reproduce = |out: &Path, flags: &[&str]| {
            let out = out.to_string_lossy();
            hansa(&[&["reproduce"], paper, &["--out", &out], flags].concat())
        };
        let whole = scratch.path("whole");
        let out = scratch.path("out");
        assert!(reproduce(&whole, &[]).status.success());
        assert!(reproduce(&out, &["--part=1/2"]).status.success());
        let missing = reproduce(&out, &["--gather"]);
        assert!(text(&missing.stderr).contains("1 of 2 shares are missing: 2/2"), "{}", text(&missing.stderr));
        assert!(!out.exists());
        assert!(reproduce(&out, &["--part=2/2"]).status.success());
        let gathered = reproduce(&out, &["--gather"]);
        assert!(text(&gathered.stdout).contains(rows), "{}", text(&gathered.stderr));
        let mut files = 0;
        for entry in std::fs::read_dir(&whole).unwrap() {
            let name = entry.unwrap().file_name();
            if name == "runs.jsonl" || name == "pieces.jsonl" || name == "jobs.bin" {
                // The first has the times that runs took, and the others the order in which pieces or runs ended.
                continue;
            }
            let read = |folder: &Path| std::fs::read(folder.join(&name)).unwrap();
            assert!(read(&whole) == read(&out), "{name:?} of {paper:?}");
            files += 1;
        }
        assert!(files > 5);

        // For one paper, but with another number of workloads.
        let other = scratch.path("other");
        let more = hansa(
            &[&["reproduce"], &paper[..3], &["--workloads", "3", "--out", &other.to_string_lossy(), "--part=2/2"]]
                .concat(),
        );
        assert!(more.status.success(), "{}", text(&more.stderr));
        let parts = |name: &str, share: &str| scratch.path(&format!("{name}.parts/{share}")).display().to_string();
        let foreign = reproduce(&out, &["--gather", &parts("out", "1-of-2"), &parts("other", "2-of-2")]);
        expect_error(&foreign, 2, "holds share 2/2 of an earlier version");
    }
}

#[test]
fn a_reproduction_makes_only_the_pieces_that_are_missing() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let reproduce = |more: &[&str]| {
        let words = ["reproduce", "reservation", "--requests", "60", "--workloads", "2", "--out"];
        let output = hansa(&[&words[..], &[&*out.to_string_lossy()], more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let pieces = out.join("pieces.jsonl");
    let files = || -> BTreeMap<String, Vec<u8>> {
        let file = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
        let paths = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| *path != pieces).map(file).collect()
    };
    assert_eq!(reproduce(&[]), "");
    let whole = files();
    let lines = || std::fs::read_to_string(&pieces).unwrap().lines().count();
    let all = lines() - 1;

    let kept = std::fs::read_to_string(&pieces).unwrap();
    let half: Vec<&str> = kept.split_inclusive('\n').take(1 + all / 2).collect();
    // A kill may cut the last line short.
    std::fs::write(&pieces, half.concat() + "[0,[{\"work").unwrap();
    std::fs::remove_file(out.join("report.html")).unwrap();
    let note = reproduce(&[]);
    assert!(note.contains(&format!("note: {} of {all} ", all / 2)), "{note}");
    assert!(files() == whole && lines() == 1 + all);
    let note = reproduce(&[]);
    assert!(note.contains(&format!("note: {all} of {all} ")), "{note}");
    assert_eq!(reproduce(&["--fresh"]), "");
    assert!(files() == whole && lines() == 1 + all);

    // Pieces of another size of the experiment are of no use.
    let words = ["reproduce", "reservation", "--requests", "50", "--workloads", "2", "--out"];
    let other = hansa(&[&words[..], &[&*out.to_string_lossy()]].concat());
    assert_eq!((other.status.success(), text(&other.stderr)), (true, String::new()));
    assert!(files() != whole);
}
