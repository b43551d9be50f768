//! The start of a run, from a command line to its processes: as many as a machine can hold, started gradually, and
//! ended at any time.

use std::process::Command;
use std::time::Duration;

use crate::grid::{HANSA, Process, Scratch, digest, expect_error, hansa, hansa_ok, json, text};

fn crowd(users: u32) -> String {
    format!(
        "name = \"crowd\"\nseed = 1\n[market]\npolicy = \"fifo\"\n[[site]]\nname = \"york\"\ncores = 1000\nkind = \"Kind1\"\n\
         [[user]]\nname = \"user-{{}}\"\ncount = {users}\n[[workload]]\nsource = \"market\"\njobs = 40\nload = 0.7\n"
    )
}

#[test]
fn ctrl_c_works_while_processes_start() {
    let scratch = Scratch::new();
    let topology = scratch.file("crowd.toml", &crowd(120));
    let out = scratch.path("out");
    let mut launcher = Process::start("hansa run", Command::new(HANSA).arg("run").arg(topology).arg("--out").arg(&out));
    launcher.await_text(" joined from ");
    launcher.signal("INT");
    let printed = launcher.end_with(130, Duration::from_secs(30));
    assert!(printed.matches(" joined from ").count() < 60 && !printed.contains("the run begins"), "{printed}");
    assert!(!out.exists(), "{printed}");
}

#[test]
fn more_processes_than_a_machine_can_hold_are_an_error_before_any_starts() {
    let scratch = Scratch::new();
    let topology = scratch.file("crowd.toml", &crowd(100_000));
    let out = scratch.path("out");
    let run = |flags: &[&str]| {
        let mut arguments = vec!["run".into(), topology.clone(), "--out".into(), out.clone()];
        arguments.extend(flags.iter().map(Into::into));
        let output = hansa(&arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(!out.exists());
        text(&output.stderr)
    };
    let printed = run(&[]);
    assert!(
        printed.contains("100002 processes") && printed.contains("--inline") && printed.contains("--processes"),
        "{printed}"
    );
    // No certificate holds this many names.
    let printed = run(&["--processes", "3"]);
    assert!(printed.contains("one process cannot play") && printed.contains("more processes"), "{printed}");
}

/// The limit is named, and the advised number of processes works.
#[test]
fn too_few_open_files_are_reported_with_a_number_of_processes_that_works() {
    let scratch = Scratch::new();
    let topology = scratch.file("crowd.toml", &crowd(40));
    let run = |files: u32, flags: &str| {
        let line = format!("ulimit -n {files}; exec \"$0\" run \"$1\" --out \"$2\" {flags}");
        let mut command = Command::new("sh");
        let output = command.args(["-c", &line, HANSA]).arg(&topology).arg(scratch.path("out")).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    for files in [64, 38] {
        let (code, printed) = run(files, "");
        assert_eq!(code, Some(2), "{printed}");
        let limit = format!("a process may have only {files} open files (ulimit -Hn): raise the hard limit");
        assert!(printed.contains(&limit) && !printed.contains("force"), "{printed}");
        let (_, advised) = printed.split_once("share processes with ").unwrap();
        let (code, printed) = run(files, advised.split_once(',').unwrap().0);
        assert_eq!(code, Some(0), "{printed}");
    }
}

/// The router does not take the folder for a flag, nor does a command that is copied from a message.
#[test]
fn a_folder_may_begin_with_a_dash() {
    let scratch = Scratch::new();
    let topology = scratch.file("crowd.toml", &crowd(1));
    for flag in ["--inline", "--quiet"] {
        let mut command = Command::new(HANSA);
        let command = command.current_dir(scratch.path("")).args(["run", "--out=-x", flag]).arg(&topology);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(scratch.path("-x/summary.json").is_file());
        assert_eq!(text(&output.stdout).contains("results in ./-x\n"), flag == "--inline");
    }
    let output = Command::new(HANSA).current_dir(scratch.path("")).args(["run", "--resume=-x"]).output().unwrap();
    expect_error(&output, 2, "./-x: there is nothing to resume: the run in it is complete");
}

#[test]
fn processes_are_grouped_as_requested_and_the_manifest_has_the_typed_command() {
    let scratch = Scratch::new();
    let topology = scratch.file("crowd.toml", &crowd(60));
    let run = |out: &str, flags: &[&str]| {
        let out = scratch.path(out);
        let mut arguments = vec!["run".into(), topology.clone(), "--out".into(), out.clone()];
        arguments.extend(flags.iter().map(Into::into));
        hansa_ok(&arguments);
        (digest(&out), json(&out.join("manifest.json")), json(&out.join("summary.json")))
    };
    let (inline, alone, _) = run("inline", &["--inline"]);
    let (shared, manifest, summary) = run("shared", &["--processes", "4"]);
    assert_eq!(shared, inline);
    assert_eq!(summary["run"]["waits"].as_object().unwrap().len(), 4, "{summary}");

    // The names that the launcher gives to processes do not matter.
    let typed = serde_json::json!(["run", topology, "--out", scratch.path("shared"), "--processes", "4"]);
    assert_eq!(manifest["command"].as_array().unwrap()[1..], typed.as_array().unwrap()[..]);
    assert_eq!(manifest["inputs"], alone["inputs"]);
    assert_eq!(manifest["host"]["cores"], alone["host"]["cores"]);
    assert_eq!(manifest["host"]["cores_used"], 1);
    assert_eq!(manifest["wall_seconds"], summary["run"]["wall_seconds"]);
    hansa_ok(&["report".into(), scratch.path("shared")]);
    let page = std::fs::read_to_string(scratch.path("shared").join("report.html")).unwrap();
    assert!(page.contains("--processes 4") && !page.contains("--held"));
}
