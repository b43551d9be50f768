//! Real transfers: the digest does not change, every load is counted and checked, and live runs work.

use std::fs;

use crate::grid::{Scratch, digest, expect_error, hansa, hansa_ok, json, shipped, text};

#[test]
fn loads_of_a_run_of_processes_arrive_and_change_nothing() {
    let scratch = Scratch::new();
    let live = shipped("live.toml");
    let run = |out: &str, flags: &[&str]| {
        let out = scratch.path(out);
        let mut arguments = vec!["run".into(), live.clone(), "--out".into(), out];
        arguments.extend(flags.iter().map(Into::into));
        hansa_ok(&arguments);
    };
    run("inline", &["--inline"]);
    run("scaled", &[]);
    run("nothing", &["--set", "network.payload=0"]);
    let summary = |out: &str| json(&scratch.path(out).join("summary.json"));
    assert_eq!(digest(&scratch.path("inline")), digest(&scratch.path("scaled")));
    assert_eq!(digest(&scratch.path("inline")), digest(&scratch.path("nothing")));
    assert_eq!(summary("scaled")["run"]["moved"]["flows"], 13);
    assert_eq!(summary("scaled")["run"]["moved"]["bytes"], 130_000);
    assert!(summary("nothing")["run"]["moved"].is_null());
    assert_eq!(summary("scaled")["results"]["transfers"]["flows"], 13);
    assert_eq!(summary("scaled")["results"]["transfers"]["bytes"], 130_000_000);

    let transfers = |out: &str| fs::read_to_string(scratch.path(out).join("transfers.csv")).unwrap();
    assert_eq!(transfers("inline"), transfers("scaled"));
    let first = "0,0-1,york,bath,10000000,0.1,0.105,0.905,12422360.248,12422360.248,1.000";
    assert_eq!(transfers("scaled").lines().nth(1), Some(first));
}

#[test]
fn a_live_run_measures_what_the_model_says_and_has_no_digest() {
    let scratch = Scratch::new();
    let small = fs::read_to_string(shipped("live.toml")).unwrap();
    let (first, _) = small.split_once("[[workload.job]]\narrive = \"6 s\"").unwrap();
    let small = first.replace("10_000_000", "1_000_000").replace("100 Mbps", "20 Mbps");
    let topology = scratch.file("live.toml", &small);
    let out = scratch.path("out");
    hansa_ok(&["run".into(), topology.clone(), "--out".into(), out.clone(), "--live".into(), "1".into()]);
    let summary = json(&out.join("summary.json"));
    assert_eq!(summary["results"]["digest"], "");
    let live = &summary["run"]["live"];
    assert_eq!(live["flows"], 5);
    // A busy machine is late, but not by half.
    assert!(live["median_error"].as_f64().unwrap() < 0.5, "{live}");
    assert_eq!(summary["run"]["moved"]["bytes"], 5_000_000);
    assert_eq!(fs::read_to_string(out.join("live.csv")).unwrap().lines().count(), 6);
    let verify = hansa(&["verify".into(), out.clone(), out.clone()]);
    expect_error(&verify, 2, "is a live run");
    hansa_ok(&["report".into(), out.clone()]);
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("Real bytes beside the model"));

    let without = hansa(&["run".into(), shipped("quickstart.toml"), "--live".into(), "1".into()]);
    expect_error(&without, 2, "quickstart.toml: a live run measures links");
    let cut = hansa(&["run".into(), shipped("cut-cable.toml"), "--live".into(), "1".into()]);
    assert_eq!(cut.status.code(), without.status.code());
    assert!(text(&cut.stderr).contains("cannot cut link trunk, which fails"), "{}", text(&cut.stderr));
    let inline = hansa(&["run".into(), topology, "--live".into(), "1".into(), "--inline".into()]);
    assert_eq!(inline.status.code(), Some(2));
}
