//! Input of commands is a file or standard input, never something that they would wait for in vain; output arrives, or
//! they report that it does not.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::grid::{HANSA, Process, ROUTER, SITE, Scratch, USER, hansa_ok, shipped, text};

const SOON: Duration = Duration::from_secs(20);
const LOG: &str = "1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 -1 -1 -1 -1 -1\n2 1 -1 30 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1\n";

fn pipe(path: PathBuf) -> PathBuf {
    let _ = fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

type Words<'a> = [&'a dyn AsRef<std::ffi::OsStr>];

fn command(program: &str, arguments: &Words<'_>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments.iter().map(|argument| argument.as_ref()));
    command
}

/// Checks that it ends by itself, with this code and these words.
fn ends(program: &str, arguments: &Words<'_>, code: i32, words: &str) {
    let (found, printed) = Process::start("it", &mut command(program, arguments)).end(SOON);
    assert!(found == Some(code) && printed.contains(words), "{found:?}: {printed}");
}

#[test]
fn a_log_is_not_parsed_as_a_faulty_topology() {
    let scratch = Scratch::new();
    let log = scratch.file("g.swf", LOG);
    let words = "is not a topology: a [[workload]] with source = \"swf\" can name it as its file";
    ends(HANSA, &[&"run", &log, &"--inline"], 2, words);
    ends(HANSA, &[&"run", &scratch.path("gone.swf"), &"--inline"], 2, "there is no such file");
    // The content decides, not the name.
    let log = scratch.file("g.txt", LOG);
    for command in ["run", "validate"] {
        ends(HANSA, &[&command, &log], 2, "this is a log in the Standard Workload Format, not TOML");
    }
}

#[test]
fn a_pipe_without_a_writer_is_not_waited_for() {
    let scratch = Scratch::new();
    let log = pipe(scratch.path("g.swf"));
    const WORDS: &str = "this is not a regular file";
    ends(HANSA, &[&"convert", &log], 2, WORDS);
    ends(HANSA, &[&"bound", &"--nodes", &"4", &log], 2, WORDS);
    ends(HANSA, &[&"validate", &log], 2, WORDS);
    ends(HANSA, &[&"plan", &"--workflow", &log, &shipped("workflow.toml")], 2, WORDS);

    let topology = shipped("quickstart.toml");
    let identities = scratch.path("identities");
    for file in ["ca.pem", "cert.pem", "key.pem"] {
        let _ = fs::remove_dir_all(&identities);
        hansa_ok(&["certs".into(), topology.clone(), "--out".into(), identities.clone()]);
        let york = identities.join("york.site");
        pipe(york.join(file));
        let start: [&dyn AsRef<std::ffi::OsStr>; 8] =
            [&"--topology", &topology, &"--identity", &york, &"--name", &"york", &"--router", &"127.0.0.1:9"];
        ends(SITE, &start, 2, &format!("{file}: {WORDS}"));
    }

    let out = scratch.path("out");
    let run: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"run", &topology, &"--inline", &"--out", &out];
    ends(HANSA, &run, 0, "");
    // The kind of run is then unknown, but it is a result.
    pipe(out.join("summary.json"));
    ends(HANSA, &run, 0, "");
    pipe(out.join("manifest.json"));
    ends(HANSA, &run, 2, "is not a result of Hansa");
    fs::remove_dir_all(&out).unwrap();
    // A pipe with the name of the remains of a killed run.
    pipe(scratch.path("out.partial-1"));
    ends(HANSA, &run, 0, "");
}

#[test]
fn help_and_version_that_cannot_be_written_are_an_error() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (program, flags) in [
        (HANSA, &["--version"][..]),
        (HANSA, &["--help"]),
        (HANSA, &["run", "--help"]),
        (HANSA, &["help", "run"]),
        (ROUTER, &["--version"]),
        (SITE, &["--help"]),
        (USER, &["--version"]),
    ] {
        let ended = |command: &mut Command| command.args(flags).stdin(Stdio::null()).output().unwrap();
        let output = ended(Command::new(program).stdout(full()));
        let printed = text(&output.stderr);
        assert_eq!(
            (output.status.code(), printed.contains("the disk is full")),
            (Some(7), true),
            "{flags:?}: {printed}"
        );
        let fine = ended(&mut Command::new(program));
        let shown = text(&fine.stdout);
        let printed = text(&fine.stderr);
        assert!(fine.status.success() && !shown.is_empty() && printed.is_empty(), "{flags:?}: {shown}{printed}");
        assert!(!shown.contains('\x1b'), "{shown}");
    }
    let wrong = Command::new(HANSA).arg("rnu").output().unwrap();
    assert!(wrong.status.code() == Some(2) && wrong.stdout.is_empty(), "{}", text(&wrong.stderr));
    assert!(text(&wrong.stderr).contains("unrecognized subcommand"), "{}", text(&wrong.stderr));
}

/// Writes this to standard input after a delay.
fn with_late_input(arguments: &Words<'_>, input: &str, late: Duration) -> Output {
    let mut command = command(HANSA, arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(late);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn the_duration_of_a_run_includes_reading() {
    let scratch = Scratch::new();
    let shown = text(&hansa_ok(&[Path::new("show"), &shipped("quickstart.toml")]).stdout);
    let late = Duration::from_millis(700);
    let begun = Instant::now();
    let out = scratch.path("out");
    let output = with_late_input(&[&"run", &"-", &"--inline", &"--json", &"--out", &out], &shown, late);
    let whole = begun.elapsed().as_secs_f64();
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let wall_seconds = summary["run"]["wall_seconds"].as_f64().unwrap();
    // The program may begin a little after it was started.
    assert!(wall_seconds > 0.5 * late.as_secs_f64() && wall_seconds <= whole, "{wall_seconds} of {whole}");
}

#[test]
fn logs_and_workflows_may_come_through_standard_input() {
    let scratch = Scratch::new();
    let log = scratch.file("a.swf", LOG);
    let by_name = text(&hansa_ok(&[Path::new("convert"), &log]).stdout);
    let read = |arguments: &Words<'_>, input: &str| {
        let output = with_late_input(arguments, input, Duration::ZERO);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert_eq!(read(&[&"convert", &"-"], LOG), by_name);
    let back = read(&[&"convert", &"-"], &by_name);
    assert!(back.contains("made from standard input") && back.contains("\n2 1 -1 30"), "{back}");
    let platform = "<?xml version='1.0'?><platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\
                    <cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3\" speed=\"1Gf\" bw=\"125MBps\" lat=\"50us\"/></zone></platform>";
    let converted = read(&[&"convert", &"-"], platform);
    assert!(converted.contains("[[site]]") && converted.contains("name = \"platform\""), "{converted}");
    let bound = read(&[&"bound", &"--nodes", &"4", &"-"], LOG);
    assert!(bound.starts_with("-: 2 jobs on 4 nodes"), "{bound}");

    let mosaic = fs::read_to_string(shipped("mosaic.json")).unwrap();
    let topology = shipped("workflow.toml");
    // A command that reads a file does not read standard input, and may end before anything is written to it.
    let plan = |workflow: &dyn AsRef<std::ffi::OsStr>, input: &str| -> serde_json::Value {
        let arguments: [&dyn AsRef<std::ffi::OsStr>; 5] = [&"plan", &"--json", &"--workflow", workflow, &topology];
        serde_json::from_str(&read(&arguments, input)).unwrap()
    };
    let piped = plan(&"-", &mosaic);
    let by_name = plan(&shipped("mosaic.json"), "");
    assert!(piped["realistic"].as_f64().unwrap() > 0.0);
    assert_eq!((&piped["realistic"], &piped["tasks"]), (&by_name["realistic"], &by_name["tasks"]));
}

#[test]
fn the_ids_of_a_batsim_workload_are_names() {
    let scratch = Scratch::new();
    let job = |id: &str| format!("{{ \"id\": {id}, \"subtime\": 0, \"res\": 1, \"profile\": \"p\" }}");
    let run = |name: &str, ids: [&str; 3]| {
        let jobs = ids.map(job).join(", ");
        let text = format!(
            "{{ \"nb_res\": 4, \"jobs\": [{jobs}], \"profiles\": {{ \"p\": {{ \"type\": \"delay\", \"delay\": 9 }} }} }}"
        );
        scratch.file(&format!("{name}.json"), &text);
        let grid = format!(
            "name = \"{name}\"\n[batch]\n[[site]]\nname = \"york\"\ncores = 4\n[[user]]\nname = \"ann\"\n\
             [[workload]]\nsource = \"batsim\"\nfile = \"{name}.json\"\n"
        );
        let grid = scratch.file(&format!("{name}.toml"), &grid);
        let out = scratch.path(name);
        hansa_ok(&["run".into(), grid, "--inline".into(), "--out".into(), out.clone()]);
        let table = fs::read_to_string(out.join("jobs.csv")).unwrap();
        let ends =
            |line: &str| (line.split(',').next().unwrap().to_owned(), line.rsplit(',').next().unwrap().to_owned());
        table.lines().skip(1).map(ends).collect::<Vec<_>>()
    };
    let pairs = |pairs: [(&str, &str); 3]| pairs.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
    let rows = run("words", ["\"w0!a7\"", "\"w0!b\"", "\"3\""]);
    assert_eq!(rows, pairs([("1", "w0!a7"), ("2", "w0!b"), ("3", "")]));
    let mut rows = run("numbers", ["\"w0!12\"", "7", "\"8\""]);
    let mut expected = pairs([("12", "w0!12"), ("7", ""), ("8", "")]);
    expected.sort();
    rows.sort();
    assert_eq!(rows, expected);
}

#[test]
fn a_path_cannot_steer_the_terminal() {
    for arguments in [&["verify", "\x1b[2Jd", "x"][..], &["convert", "\x1b[2Jd"], &["validate", "\x1b[2Jd"]] {
        let output = Command::new(HANSA).args(arguments).output().unwrap();
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(!printed.contains('\x1b') && printed.contains("[2Jd"), "{printed:?}");
    }
}
