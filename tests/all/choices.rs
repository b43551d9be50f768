//! Choices that the source of an experiment leaves open, on the command line.

use crate::grid::{Scratch, hansa, hansa_ok, shipped, text};

#[test]
fn a_reproduction_judges_its_claims_under_all_variants() {
    let scratch = Scratch::new();
    let out = scratch.path("out").to_string_lossy().into_owned();
    let reproduce = |flag: &'static str| {
        ["reproduce", "reservation", "--requests=60", "--workloads=1", "--out", out.as_str(), flag].map(str::to_owned)
    };
    let all = hansa_ok(&reproduce("--choices"));
    let variants = ["usual", "rectangles=clip", "rectangles=open", "run-times=spread", "clip-and-spread"];
    for variant in variants {
        assert!(text(&all.stdout).contains(variant), "{variant}: {}", text(&all.stdout));
    }
    assert!(text(&all.stderr).contains("note: 5 variants of 13 runs each, 65 in all"), "{}", text(&all.stderr));
    let csv = std::fs::read_to_string(scratch.path("out").join("choices.csv")).unwrap();
    // A line for each claim under each variant, below the names of the columns.
    assert_eq!(csv.lines().count(), 1 + 9 * variants.len(), "{csv}");

    // The matrix of an earlier command does not stay beside results of one variant.
    hansa_ok(&reproduce("--choice=rectangles=clip"));
    assert!(!scratch.path("out").join("choices.csv").exists());
    let verdicts = std::fs::read_to_string(scratch.path("out").join("verdicts.txt")).unwrap();
    assert!(verdicts.contains("Rectangles end as under `clip`"), "{verdicts}");
}

#[test]
fn a_wrong_option_of_a_paper_is_refused_before_anything_runs() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    for (taken, expected) in [
        ("scan=first-misfits", "did you mean first-misfit?"),
        ("penalties=half", "did you mean penalty?"),
        ("traces=one-type,traces=other-seeds", "another option of traces is taken already"),
    ] {
        let output = hansa(&["reproduce", "dfrs", "--out", &out.to_string_lossy(), "--choice", taken]);
        let message = text(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(expected), "{taken}: {message}");
        assert!(!out.exists());
    }
}

#[test]
fn wrong_choices_are_refused_with_near_names() {
    let scratch = Scratch::new();
    let topology = shipped("market-40.toml");
    let head = format!("name = \"try\"\ntopology = {topology:?}\n[set]\nworkload.0.jobs = 5\n[vary]\nseed = [1, 2]\n");
    let choice = "[[choice]]\nname = \"edf\"\nabout = \"the deadline\"\noption = [{ name = \"initial\" }, \
                  { name = \"final\", set = { market.edf = \"final\" } }]\n";
    let file = |name: &str, text: &str| scratch.file(name, text).to_string_lossy().into_owned();
    let experiment = file("try.toml", &format!("{head}{choice}"));
    let wrong_key =
        file("wrong.toml", &format!("{head}{}", choice.replace("market.edf = \"final\"", "market.edff = 1")));
    let plain = file("plain.toml", &head);
    let program = file("program.toml", "name = \"x\"\nprogram = \"heft\"\n");
    let out = scratch.path("out").to_string_lossy().into_owned();
    for (file, flags, expected) in [
        (&experiment, &["--choice=edv=final"][..], "there is no choice \"edv\": expected edf; did you mean edf?"),
        (&experiment, &["--choice=edf=finl"], "expected initial or final; did you mean final?"),
        (&experiment, &["--choice=edf=final,edf=initial"], "another option of edf is taken already"),
        (&wrong_key, &["--choices"], "edff"),
        (&plain, &["--choices"], "--choices: this experiment has no choices"),
        (&program, &[], "a program makes its runs: use hansa reproduce"),
    ] {
        let output = hansa(&[&["sweep", file.as_str(), "--out", &out], flags].concat());
        let message = text(&output.stderr);
        assert!(output.status.code() == Some(2) && message.contains(expected), "{flags:?}: {message}");
    }
    let swept = hansa_ok(&["sweep", &experiment, "--out", &out, "--choices"]);
    assert!(text(&swept.stdout).contains("edf=final"), "{}", text(&swept.stdout));
    let rows = std::fs::read_to_string(scratch.path("out").join("runs.csv")).unwrap();
    assert!(rows.starts_with("run,variant,seed,") && rows.lines().count() == 5, "{rows}");
}
