//! An external bid policy: its effect on a run, and the end of a run whose program fails.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{Scratch, digest, expect_error, hansa, hansa_ok, shipped, text};
use crate::skip::has_python;

/// Forty jobs with a bidder that is started by this command.
fn topology(scratch: &Scratch, bidder: &str) -> PathBuf {
    let shipped = std::fs::read_to_string(shipped("foreign-bidder.toml")).unwrap();
    let (head, rest) = shipped.split_once("[market.bidder]\n").unwrap();
    let (_, grid) = rest.split_once("[[site]]").unwrap();
    scratch.file("bidder.toml", &format!("{head}[market.bidder]\n{bidder}\n[[site]]{grid}"))
}

fn run(topology: &Path, out: PathBuf, flags: &[&str]) -> Output {
    let mut arguments: Vec<PathBuf> = vec!["run".into(), topology.to_owned(), "--out".into(), out];
    arguments.extend(flags.iter().map(PathBuf::from));
    hansa(&arguments)
}

#[test]
fn a_program_that_bids_like_a_policy_gives_its_digest_in_every_layout() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    let srtf = scratch.path("srtf");
    hansa_ok(&[
        "run".as_ref(),
        shipped("market-40.toml").as_os_str(),
        "--inline".as_ref(),
        "--set".as_ref(),
        "market.policy=srtf".as_ref(),
        "--out".as_ref(),
        srtf.as_os_str(),
    ]);
    let program = shipped("bidder.py");
    for ask in ["once", "always"] {
        let settings = format!("command = [\"python3\", {program:?}]\nask = \"{ask}\"\nwinner = \"smallest\"\n");
        let topology = topology(&scratch, &settings);
        for (layout, flags) in [("inline", &["--inline"][..]), ("processes", &[])] {
            let out = scratch.path(&format!("{ask}-{layout}"));
            let ran = run(&topology, out.clone(), flags);
            assert!(ran.status.success(), "{}", text(&ran.stderr));
            assert_eq!(digest(&out), digest(&srtf), "{ask} {layout}");
        }
    }
}

/// Counts the tasks that it receives, and the most at one time of jobs that it does not know to be over.
const FORGETFUL: &str = r#"
import json, sys
tasks, heard, most = set(), 0, 0
for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        answer = {"type": "hello", "version": 1}
    else:
        for name in said["over"]:
            tasks.remove(name)
        tasks.update(task["task"] for task in said["new"])
        heard, most = heard + len(said["new"]), max(most, len(tasks))
        answer = {"type": "bids", "ask": said["ask"], "bids": [1.0] * len(said["queue"])}
    print(json.dumps(answer), flush=True)
open(sys.argv[1], "w").write(f"{heard} {most}")
"#;

#[test]
fn a_program_is_told_what_it_may_forget() {
    if !has_python() {
        return;
    }
    let scratch = Scratch::new();
    let program = scratch.file("forgetful.py", FORGETFUL);
    let counts = scratch.path("counts");
    let topology = topology(&scratch, &format!("command = [\"python3\", {program:?}, {counts:?}]\nask = \"always\"\n"));
    let ran = run(&topology, scratch.path("out"), &["--inline", "--set", "workload.0.jobs=200"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let counts = std::fs::read_to_string(counts).unwrap();
    let (received, most) = counts.split_once(' ').unwrap();
    let [received, most] = [received, most].map(|count| count.parse::<usize>().unwrap());
    assert!(received > 1000 && most < received / 2, "{most} of {received} tasks");
}

#[test]
fn a_program_that_fails_ends_the_run_and_is_named() {
    const HELLO: &str = "read q; echo '{\\\"type\\\":\\\"hello\\\",\\\"version\\\":1}';";
    let cases = [
        ("exit 3".to_owned(), "has ended before the run was over (exit status: 3)"),
        ("read q; echo hello".to_owned(), "answers `hello`, which is not a valid answer"),
        ("read q; echo '{\\\"type\\\":\\\"hello\\\",\\\"version\\\":9}'; cat".to_owned(), "speaks version 9"),
        (
            format!("{HELLO} read q; exit 0"),
            "has ended before the run was over (exit status: 0), at virtual time 00:02:00",
        ),
        (format!("{HELLO} read q; exec sleep 60"), "has not answered within 2 s, at virtual time 00:02:00"),
        (
            format!("{HELLO} read q; echo '{{\\\"type\\\":\\\"bids\\\",\\\"ask\\\":1,\\\"bids\\\":[1,2,3]}}'; cat"),
            "gives 3 bids for",
        ),
        (
            format!("{HELLO} read q; echo '{{\\\"type\\\":\\\"bids\\\",\\\"ask\\\":7,\\\"bids\\\":[1]}}'; cat"),
            "answers question 7 when asked question 1",
        ),
        (
            format!("{HELLO} read q; echo '{{\\\"type\\\":\\\"bids\\\",\\\"ask\\\":1,\\\"bids\\\":[NaN]}}'; cat"),
            "which is not a valid answer",
        ),
    ];
    for (script, expected) in cases {
        for flags in [&["--inline"][..], &[]] {
            let scratch = Scratch::new();
            let settings = format!("command = [\"sh\", \"-c\", \"{script}\"]\ntimeout = \"2 s\"\n");
            let topology = topology(&scratch, &settings);
            let ran = run(&topology, scratch.path("out"), flags);
            let printed = text(&ran.stderr);
            assert_eq!(ran.status.code(), Some(8), "{script}: {printed}");
            assert!(printed.contains("the bidder `sh -c ") && printed.contains(expected), "{script}: {printed}");
            let summary = std::fs::read_to_string(scratch.path("out").join("summary.json"));
            assert!(summary.is_err() || summary.is_ok_and(|text| text.contains("partial")), "{script}");
        }
    }
    let scratch = Scratch::new();
    let topology = topology(&scratch, "command = [\"no-such-program\"]\n");
    let ran = run(&topology, scratch.path("out"), &["--inline"]);
    expect_error(&ran, 8, "cannot start the bidder `no-such-program`");
}

/// A program that ignores the end of its input, and would run forever.
#[test]
fn no_bidder_outlives_a_run_that_is_killed() {
    const UNREAD: &str =
        "read q; echo '{\\\"type\\\":\\\"hello\\\",\\\"version\\\":1}'; trap '' PIPE; while :; do sleep 0.1; done";
    for flags in [&["--inline"][..], &[]] {
        let scratch = Scratch::new();
        let mark = format!("bidder-{}-{}", std::process::id(), flags.len());
        let settings = format!("command = [\"sh\", \"-c\", \"{UNREAD}\", \"{mark}\"]\ntimeout = \"60 s\"\n");
        let topology = topology(&scratch, &settings);
        let mut run = Command::new(env!("CARGO_BIN_EXE_hansa"))
            .args(["run".as_ref(), topology.as_os_str(), "--out".as_ref(), scratch.path("out").as_os_str()])
            .args(flags)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lives = || {
            let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
            processes.any(|entry| {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&command).contains(&mark)
            })
        };
        let within = |seconds: u64, is_met: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(seconds) && !is_met() {
                std::thread::sleep(Duration::from_millis(20));
            }
            is_met()
        };
        assert!(within(30, &lives), "the bidder starts");
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(within(30, &|| !lives()), "the bidder ends, {flags:?}");
    }
}
