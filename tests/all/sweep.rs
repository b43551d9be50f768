//! Sweeps: interrupted, resumed, refused, and equal for any number of threads.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it waits for another process")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::grid::{HANSA, Scratch, expect_error, hansa, hansa_ok, json, shipped, text};

fn experiment(scratch: &Scratch, jobs: u32, seeds: &str) -> String {
    let topology = shipped("market-40.toml");
    let experiment = format!(
        "name = \"try\"\ntopology = {topology:?}\n[set]\nworkload.0.jobs = {jobs}\n[vary]\nseed = {seeds}\nmarket.policy = [\"fifo\", \"srtf\", \"pvr\"]\n"
    );
    scratch.file("try.toml", &experiment).to_string_lossy().into_owned()
}

fn sweep(experiment: &str, out: &Path, flags: &[&str]) -> std::process::Output {
    let out = out.to_string_lossy();
    hansa(&[&["sweep", experiment, "--out", &out], flags].concat())
}

fn runs(out: &Path) -> String {
    std::fs::read_to_string(out.join("runs.csv")).unwrap()
}

#[test]
fn rows_are_equal_with_any_number_of_threads() {
    let scratch = Scratch::new();
    let experiment = experiment(&scratch, 40, "[1, 2, 3, 4]");
    let one = scratch.path("one");
    let two = scratch.path("two");
    assert!(sweep(&experiment, &one, &["--threads", "1"]).status.success());
    assert!(sweep(&experiment, &two, &["--threads", "2"]).status.success());
    assert_eq!(runs(&one), runs(&two));
    assert_eq!(runs(&one).lines().count(), 1 + 12);
    let read = |out: &Path, file: &str| std::fs::read_to_string(out.join(file)).unwrap();
    for file in ["means.csv", "sweep.html"] {
        assert_eq!(read(&one, file), read(&two, file));
    }
    // The mean of a policy is that of its four rows.
    let column = |line: &str, number: usize| line.split(',').nth(number).unwrap().parse::<f64>().unwrap();
    let rows = runs(&one);
    let values: Vec<f64> = rows.lines().filter(|row| row.contains(",srtf,")).map(|row| column(row, 3)).collect();
    let means = read(&one, "means.csv");
    let mean = means.lines().find(|line| line.starts_with("srtf,value,4,")).unwrap();
    assert!((column(mean, 3) - values.iter().sum::<f64>() / 4.0).abs() < 1e-12, "{mean} of {values:?}");
    assert_eq!(json(&one.join("sweep.json"))["status"], "complete");
}

#[test]
fn claims_of_the_file_are_judged() {
    let scratch = Scratch::new();
    let path = experiment(&scratch, 40, "[1, 2, 3]");
    let claims = "[[claim]]\ntext = \"FIFO obtains some value\"\ncompare = [\"value(fifo) > 0\"]\n\
                  [[claim]]\ntext = \"FIFO obtains twice as much as SRTF\"\ncompare = [\"value(fifo) > 2 * value(srtf)\"]\n";
    let text_of = std::fs::read_to_string(&path).unwrap() + claims;
    std::fs::write(&path, &text_of).unwrap();
    let out = scratch.path("out");
    let done = sweep(&path, &out, &[]);
    let printed = text(&done.stdout);
    assert!(printed.contains("claims: 1 holds, 1 does not hold\n 1. holds "), "{printed}");
    let verdicts = std::fs::read_to_string(out.join("verdicts.txt")).unwrap();
    assert!(
        verdicts.contains("judged by 9 runs: 1 holds, 1 does not hold.") && verdicts.contains(" fails by "),
        "{verdicts}"
    );
    assert!(
        std::fs::read_to_string(out.join("sweep.html")).unwrap().contains("<a href=\"#claim-2\">FIFO obtains twice")
    );
    // Other claims need no new runs, and none leaves no verdicts behind.
    std::fs::write(&path, text_of.replace("> 2 *", "<= 2 *")).unwrap();
    let rows = runs(&out);
    let printed = text(&sweep(&path, &out, &[]).stdout);
    assert!(printed.contains("claims: 2 hold\n") && runs(&out) == rows, "{printed}");
    std::fs::write(&path, text_of.replace(claims, "")).unwrap();
    assert!(sweep(&path, &out, &[]).status.success() && !out.join("verdicts.txt").exists());
    std::fs::write(&path, text_of.replace("value(srtf)", "value(sjf)")).unwrap();
    let refused = sweep(&path, &out, &[]);
    expect_error(&refused, 2, "no axis has the value sjf");
}

#[test]
fn a_row_has_the_digest_of_its_run() {
    let scratch = Scratch::new();
    let experiment = experiment(&scratch, 40, "[9]");
    let out = scratch.path("sweep");
    let run = scratch.path("run").to_string_lossy().into_owned();
    assert!(sweep(&experiment, &out, &[]).status.success());
    let topology = shipped("market-40.toml").to_string_lossy().into_owned();
    hansa_ok(&["run", "--inline", &topology, "--seed", "9", "--set", "market.policy=srtf", "--out", &run]);
    let digest = json(&Path::new(&run).join("summary.json"))["results"]["digest"].as_str().unwrap().to_owned();
    let runs = runs(&out);
    let row = runs.lines().find(|line| line.starts_with("2,9,srtf,")).unwrap();
    assert!(row.ends_with(&digest), "{row} has not the digest {digest}");
}

#[test]
fn an_interrupted_sweep_continues_where_it_was() {
    let scratch = Scratch::new();
    let experiment = experiment(&scratch, 600, "[1, 2, 3, 4, 5, 6, 7, 8]");
    let out = scratch.path("out");
    let whole = scratch.path("whole");
    let mut child = start(&experiment, &out);
    let begun = Instant::now();
    while std::fs::read_to_string(out.join("runs.csv")).map_or(0, |rows| rows.lines().count()) < 4 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no rows came");
        assert!(child.try_wait().unwrap().is_none(), "it was over before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));

    for file in ["means.csv", "sweep.html"] {
        assert!(!out.join(file).exists(), "{file} is of all runs");
    }
    let partial = runs(&out);
    let kept: Vec<&str> = partial.lines().skip(1).collect();
    assert!((3..24).contains(&kept.len()), "{partial}");
    let numbers: Vec<usize> = kept.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    let state = json(&out.join("sweep.json"));
    assert!(state["status"].as_str().unwrap().starts_with("partial: interrupted"), "{state}");
    assert_eq!(state["done"], kept.len());

    // A row that was cut short when the machine failed is run again.
    std::fs::write(out.join("runs.csv"), &partial[..partial.len() - 3]).unwrap();
    assert!(sweep(&experiment, &out, &[]).status.success());
    assert!(sweep(&experiment, &whole, &[]).status.success());
    assert_eq!(runs(&out), runs(&whole));
}

#[test]
fn an_interrupt_is_no_fault_of_a_run_whose_program_is_still_waited_for() {
    let scratch = Scratch::new();
    let silent = "[\"sh\", \"-c\", \"echo > $HERE; exec sleep 60\"]";
    scratch.file(
        "silent.toml",
        &format!(
            "name = \"silent\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\nscheduler = \"external\"\n\
             command = {silent}\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"table\"\n\
             job = [{{ arrive = \"1 min\", tasks = [{{ runtime = \"10 min\", cores = 1 }}] }}]\n"
        ),
    );
    let experiment = scratch.file("try.toml", "name = \"try\"\ntopology = \"silent.toml\"\n[vary]\nseed = [1, 2]\n");
    let out = scratch.path("out");
    let here = scratch.path("here");
    let mut command = Command::new(HANSA);
    command.arg("sweep").arg(&experiment).args(["--threads", "1", "--out"]).arg(&out).env("HERE", &here);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !here.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no program was started");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{printed}");
    assert!(
        printed.contains("interrupted: 0 of 2 runs are in") && printed.contains("repeat the command to resume"),
        "{printed}"
    );
}

fn start(experiment: &str, out: &Path) -> Child {
    let mut command = Command::new(HANSA);
    command.args(["sweep", experiment, "--threads", "1", "--out"]).arg(out);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

const MARK: &str = "ffffffffffffffffffffffffffffffff";

/// Replaces the digests in a folder, so that it shows which runs are made again; returns `runs.csv`.
fn mark(out: &Path) -> String {
    let digests: Vec<String> = runs(out).lines().skip(1).map(|row| row[row.len() - MARK.len()..].to_owned()).collect();
    for file in ["runs.csv", "runs.jsonl"] {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        std::fs::write(out.join(file), digests.iter().fold(text, |text, digest| text.replace(digest, MARK))).unwrap();
    }
    runs(out)
}

#[test]
fn a_finished_sweep_is_not_run_again_and_another_one_is_refused() {
    let scratch = Scratch::new();
    let first = experiment(&scratch, 40, "[1, 2]");
    let out = scratch.path("out");
    assert!(sweep(&first, &out, &[]).status.success());
    let marked = mark(&out);
    assert!(sweep(&first, &out, &[]).status.success());
    assert_eq!(runs(&out), marked);

    // All of its runs have more jobs.
    let second = experiment(&scratch, 50, "[1, 2]");
    for flags in [&[][..], &["--dry-run"]] {
        let refused = sweep(&second, &out, flags);
        assert_eq!(refused.status.code(), Some(2));
        let message = text(&refused.stderr);
        assert!(
            message.contains("6 of 6 runs of an earlier version of this experiment") && message.contains("--fresh"),
            "{message}"
        );
        assert_eq!(runs(&out), marked);
    }
    assert!(sweep(&second, &out, &["--fresh"]).status.success());
    assert!(!runs(&out).contains(MARK));
}

#[test]
fn an_experiment_that_has_grown_runs_only_what_is_new() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let whole = scratch.path("whole");
    let vary = |rest: &str| {
        let topology = shipped("market-40.toml");
        let text = format!("name = \"try\"\ntopology = {topology:?}\n{rest}");
        scratch.file("try.toml", &text).to_string_lossy().into_owned()
    };
    let marked = |settings: &str| {
        let rows = runs(&out);
        let found = rows.lines().find(|row| row.split_once(',').unwrap().1.starts_with(settings)).unwrap();
        found.ends_with(MARK)
    };
    let all = ["answer.json", "jobs.bin", "means.csv", "runs.csv", "runs.jsonl", "sweep.html", "sweep.json"];
    let files = || {
        let mut names: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let jobs = "[set]\nworkload.0.jobs = 40\n";
    assert!(sweep(&vary(&format!("{jobs}[vary]\nseed = [1, 2]\n")), &out, &[]).status.success());
    mark(&out);

    // A value, in front of those that are there.
    let grown = sweep(&vary(&format!("{jobs}[vary]\nseed = [3, 1, 2]\n")), &out, &[]);
    let message = text(&grown.stderr);
    assert!(
        message.contains("the experiment has changed: 2 of 3 runs are in") && !message.contains("belong"),
        "{message}"
    );
    assert_eq!([marked("3,"), marked("1,"), marked("2,")], [false, true, true]);

    // Axes, and fewer metrics; what was fixed varies, and what varied is fixed. The topology's own policy is fifo.
    let axes = "metrics = [\"slr\", \"value\"]\n[set]\nseed = 1\n[vary]\nworkload.0.jobs = [20, 40]\nmarket.policy = [\"fifo\", \"srtf\"]\n";
    let dry = text(&sweep(&vary(axes), &out, &["--dry-run"]).stdout);
    assert!(dry.contains("4 runs (2 of workload.0.jobs, 2 of market.policy)"), "{dry}");
    assert!(dry.contains(": 1 there already, 3 to make\n") && dry.contains("2 earlier runs no longer belong"), "{dry}");
    assert!(dry.contains(", from the times of 1 run there\n"), "{dry}");
    let message = text(&sweep(&vary(axes), &out, &[]).stderr);
    assert!(message.contains("1 of 4 runs are in") && message.contains("2 earlier runs no longer belong"), "{message}");
    let kept = [marked("20,fifo,"), marked("20,srtf,"), marked("40,fifo,"), marked("40,srtf,")];
    assert_eq!(kept, [false, false, true, false]);
    assert_eq!(files(), all);

    // Rows that were left out come back, with metrics that were not recorded; nothing is run.
    let three = vary(&format!("{jobs}[vary]\nseed = [1, 2, 3]\n"));
    assert!(text(&sweep(&three, &out, &["--dry-run"]).stdout).contains(": 3 there already, 0 to make\n"));
    assert!(sweep(&three, &out, &[]).status.success() && sweep(&three, &whole, &[]).status.success());
    assert_eq!([marked("1,"), marked("2,"), marked("3,")], [true, true, false]);
    let unmarked =
        |rows: &str| -> Vec<String> { rows.lines().map(|row| row[..row.len() - MARK.len()].to_owned()).collect() };
    assert_eq!(unmarked(&runs(&out)), unmarked(&runs(&whole)));

    // A damaged line is named; one that was cut short is run again.
    let path = out.join("runs.jsonl");
    let made = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{made}{{\"inputs\": 3")).unwrap();
    assert!(sweep(&three, &out, &[]).status.success());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), made);
    std::fs::write(&path, format!("{{}}\n{made}")).unwrap();
    let refused = sweep(&three, &out, &[]);
    expect_error(&refused, 2, "runs.jsonl:1: this is not a run");

    // A folder of an earlier version of Hansa has rows only.
    std::fs::remove_file(&path).unwrap();
    let rows = mark_rows(&out);
    assert!(sweep(&three, &out, &[]).status.success());
    assert_eq!(runs(&out), rows);
    assert_eq!(std::fs::read_to_string(&path).unwrap().matches(MARK).count(), 3);
}

/// Like `mark`, for a folder that has rows only.
fn mark_rows(out: &Path) -> String {
    std::fs::write(out.join("runs.jsonl"), "").unwrap();
    let rows = mark(out);
    std::fs::remove_file(out.join("runs.jsonl")).unwrap();
    rows
}

#[test]
fn a_dry_run_writes_nothing_and_estimates() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let three = experiment(&scratch, 40, "[1, 2, 3]");
    let dry_run = |experiment: &str, flags: &[&str]| {
        let output = sweep(experiment, &out, &[&["--dry-run", "--threads", "2"], flags].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let dry = dry_run(&three, &[]);
    assert!(dry.starts_with("9 runs (3 of seed, 3 of market.policy) in "), "{dry}");
    assert!(dry.contains(": 0 there already, 9 to make\n  run 1: seed=1, market.policy=fifo\n"), "{dry}");
    assert!(dry.contains("about ") && dry.contains(" on 2 threads, from run 1 (seed=1, market.policy=fifo)"), "{dry}");
    let share = dry_run(&three, &["--part", "2/2"]);
    assert!(share.starts_with("share 2/2: 4 runs ("), "{share}");
    assert!(!out.exists() && !scratch.path("out.parts").exists());

    assert!(sweep(&three, &out, &[]).status.success());
    let before = runs(&out);
    let dry = dry_run(&experiment(&scratch, 40, "[1, 2, 3, 4, 5, 6, 7, 8]"), &[]);
    assert!(dry.contains(": 9 there already, 15 to make\n  run 10: seed=4"), "{dry}");
    assert!(dry.contains("  and 3 more\nabout ") && dry.contains(", from the times of 9 runs there\n"), "{dry}");
    assert!(!dry.contains("changes nothing"), "{dry}");
    assert_eq!(runs(&out), before);
    assert!(json(&out.join("sweep.json"))["runs"] == 9);
    assert!(dry_run(&experiment(&scratch, 40, "[1]"), &["--fresh"]).contains(": 0 there already, 3 to make"));

    // A workload that is written out draws from no seed.
    let table = "name = \"t\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n[[user]]\nname = \"ann\"\n[[workload]]\n\
                 source = \"table\"\njob = [{ arrive = \"1 min\", tasks = [{ runtime = \"10 min\", cores = 1 }] }]\n";
    scratch.file("table.toml", table);
    let seeds = scratch.file("seeds.toml", "name = \"seeds\"\ntopology = \"table.toml\"\n[vary]\nseed = [1, 2]\n");
    let seeds = seeds.to_string_lossy().into_owned();
    let out = scratch.path("seeds");
    let printed = sweep(&seeds, &out, &[]);
    assert!(text(&printed.stdout).contains("1 of 2 runs only repeat another run"), "{}", text(&printed.stdout));
    let dry = text(&sweep(&seeds, &out, &["--dry-run"]).stdout);
    assert!(
        dry.ends_with(
            "0 to make\nseed changes nothing in the runs that are there (equal digests): one value is enough\n"
        ),
        "{dry}"
    );
}

#[test]
fn nothing_is_written_for_an_experiment_with_faults() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let faulty = experiment(&scratch, 40, "[1, -2, 3, -4]");
    let refused = sweep(&faulty, &out, &[]);
    assert_eq!(refused.status.code(), Some(2));
    let message = text(&refused.stderr);
    assert_eq!(message.matches("error: seed:").count(), 2, "each fault is told once:\n{message}");
    assert!(!out.exists());
    let checked = hansa(&["validate", &faulty]);
    assert_eq!((checked.status.code(), text(&checked.stderr)), (Some(2), message));
}

#[test]
fn an_experiment_is_checked_without_being_run() {
    let scratch = Scratch::new();
    let fine = experiment(&scratch, 40, "[1, 2]");
    let printed = text(&hansa_ok(&["validate", &fine]).stdout);
    assert_eq!(printed, format!("{fine}: fine\n6 runs: 2 of seed, 3 of market.policy\n"));
    let json = text(&hansa_ok(&["validate", "--json", &fine]).stdout);
    assert!(json.contains("\"fine\": true") && json.contains("6 runs"), "{json}");
    // Errors of an experiment are reported as such, not as errors of a topology.
    let bare = scratch.file("bare.toml", "name = \"bare\"\ntopology = \"grid.toml\"\n");
    let refused = hansa(&[Path::new("validate"), &bare]);
    expect_error(&refused, 2, "vary: missing");
    let refused = hansa(&["validate", &fine, "--set", "seed=1"]);
    expect_error(&refused, 2, "is an experiment");
}

#[test]
fn what_an_experiment_lacks_is_reported_once_before_it_runs() {
    let scratch = Scratch::new();
    let topology = "name = \"absent\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n                    scheduler = \"external\"\ncommand = [\"no-such-program\"]\n                    [[user]]\nname = \"ann\"\n[[workload]]\nsource = \"lublin\"\njobs = 5\n";
    let topology = scratch.file("absent.toml", topology);
    let text_of = format!("name = \"a\"\ntopology = {topology:?}\n[vary]\nseed = [1, 2, 3]\n");
    let experiment = scratch.file("experiment.toml", &text_of);
    let validate = |flags: &[&str]| {
        let flags = flags.iter().map(PathBuf::from);
        hansa(&[PathBuf::from("validate"), experiment.clone()].into_iter().chain(flags).collect::<Vec<_>>())
    };
    let output = validate(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr).matches("no program no-such-program").count(), 1, "{}", text(&output.stderr));
    assert!(text(&validate(&["--json"]).stdout).contains("no-such-program"));
    assert_eq!(validate(&["--strict"]).status.code(), Some(8));
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("thesis.txt"), "years of work").unwrap();
    let refused = sweep(&experiment(&scratch, 40, "[1]"), &out, &["--fresh"]);
    expect_error(&refused, 2, "it was not changed");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
}

#[test]
fn runs_and_experiments_are_not_taken_for_each_other() {
    let scratch = Scratch::new();
    let experiment = experiment(&scratch, 40, "[1]");
    let topology = shipped("market-40.toml");
    let of_many = scratch.path("of-many");
    let of_one = scratch.path("of-one");
    let run = |out: &Path| {
        hansa(&["run".as_ref(), topology.as_os_str(), "--inline".as_ref(), "--out".as_ref(), out.as_ref()])
    };
    assert!(sweep(&experiment, &of_many, &[]).status.success() && run(&of_one).status.success());
    for (refused, why) in [
        (sweep(&experiment, &of_one, &[]), "of-one holds the results of a run, not of an experiment"),
        (run(&of_many), "of-many holds the results of an experiment, not of a run"),
        (hansa(&[Path::new("report"), &of_many]), "of-many holds the results of an experiment, not of a run"),
    ] {
        expect_error(&refused, 2, why);
    }
}

#[test]
fn quiet_mode_does_not_print_what_is_in_files() {
    let scratch = Scratch::new();
    let experiment = experiment(&scratch, 40, "[1]");
    let [rows, paper, run] = ["rows", "paper", "run"].map(|name| scratch.path(name).to_string_lossy().into_owned());
    let topology = shipped("market-40.toml").to_string_lossy().into_owned();
    hansa_ok(&["run", &topology, "--inline", "--out", &run]);
    for arguments in [
        &["sweep", &experiment, "--out", &rows][..],
        &["reproduce", "reservation", "--requests", "20", "--workloads", "1", "--out", &paper],
        &["report", &run],
    ] {
        let quiet = hansa_ok(&[arguments, &["-q"]].concat());
        assert_eq!((text(&quiet.stdout), text(&quiet.stderr)), Default::default(), "{arguments:?}");
    }
}

#[test]
fn the_market_is_reproduced_in_small() {
    let scratch = Scratch::new();
    let out = scratch.path("out").to_string_lossy().into_owned();
    let printed = hansa_ok(&["reproduce", "market", "--jobs", "60", "--workloads", "2", "--out", &out]);
    assert!(text(&printed.stdout).contains("17. "));
    let files = [
        "runs.csv",
        "summary.txt",
        "summary.csv",
        "verdicts.txt",
        "1-value-curve.svg",
        "2-value-remaining.svg",
        "3-value.svg",
        "4-value-detail.svg",
        "5-starved.svg",
        "6-starved-detail.svg",
        "7-slr-by-run-time.svg",
        "slr-by-work.svg",
        "value-to-best.svg",
        "utilisation.svg",
    ];
    for file in files {
        assert!(Path::new(&out).join(file).exists(), "{file} is missing");
    }
    // Its experiment is written as a file, and its rows are those of that file.
    let experiment = Path::new(&out).join("experiment.toml").to_string_lossy().into_owned();
    let again = scratch.path("again");
    assert!(sweep(&experiment, &again, &[]).status.success());
    assert_eq!(runs(Path::new(&out)), runs(&again));
}
