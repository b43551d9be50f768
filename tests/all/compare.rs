//! `hansa compare`: result folders side by side, and its messages about wrong inputs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::grid::{Scratch, expect_error, hansa, hansa_ok, shipped, text};

/// Runs a shipped topology inline, with these settings.
fn run(topology: &str, out: &Path, settings: &[&str]) {
    let mut arguments: Vec<PathBuf> = vec!["run".into(), shipped(topology), "--inline".into(), "--quiet".into()];
    settings.iter().for_each(|setting| arguments.extend(["--set".into(), PathBuf::from(setting)]));
    arguments.extend(["--out".into(), out.to_owned()]);
    hansa_ok(&arguments);
}

fn compared(folders: &[&Path]) -> Value {
    let mut arguments: Vec<PathBuf> = vec!["compare".into(), "--json".into()];
    arguments.extend(folders.iter().map(|folder| (*folder).to_owned()));
    serde_json::from_slice(&hansa_ok(&arguments).stdout).unwrap()
}

#[test]
fn policies_are_compared_metric_by_metric_and_job_by_job() {
    let scratch = Scratch::new();
    let [easy, cons, fcfs] = ["easy", "conservative", "fcfs"].map(|policy| {
        let out = scratch.path(policy);
        run("batch.toml", &out, &[&format!("site.york.scheduler={policy}"), "workload.0.jobs=300"]);
        out
    });
    let json = compared(&[&easy, &cons, &fcfs]);
    assert_eq!(json["results"].as_array().unwrap().len(), 3);
    let setting = &json["settings"][0];
    assert_eq!(setting["key"], "site.york.scheduler");
    assert_eq!(setting["values"], serde_json::json!(["easy", "conservative", "fcfs"]));
    assert_eq!(json["settings"].as_array().unwrap().len(), 1, "{}", json["settings"]);

    // The metrics are those of the summaries.
    let wait = json["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "job_wait").unwrap();
    let summary = |out: &Path| crate::grid::json(&out.join("summary.json"))["results"]["job_wait"]["mean"].clone();
    assert_eq!(wait["values"], serde_json::json!([summary(&easy), summary(&cons), summary(&fcfs)]));
    let [first, _, third] = [&easy, &cons, &fcfs].map(|out| summary(out).as_f64().unwrap());
    assert_eq!(wait["differences"][1].as_f64().unwrap(), third - first);
    assert_eq!(wait["ratios"][1].as_f64().unwrap(), third / first);

    // Changes of jobs agree with the tables.
    let turnarounds = |out: &Path| -> Vec<(String, f64)> {
        let table = std::fs::read_to_string(out.join("jobs.csv")).unwrap();
        let rows = table.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
        rows.map(|row| (row[0].to_owned(), row[12].parse().unwrap())).collect()
    };
    let ours = turnarounds(&easy);
    let theirs = turnarounds(&fcfs);
    let differences: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| b.1 - a.1).collect();
    let count = |of: &dyn Fn(f64) -> bool| differences.iter().filter(|difference| of(**difference)).count();
    let changes = &json["jobs"][1];
    let turnaround = &changes["quantities"][0];
    assert_eq!((changes["matched"].as_u64(), &turnaround["name"]), (Some(300), &Value::from("turnaround")));
    assert_eq!(turnaround["better"], count(&|difference| difference < -1e-7));
    assert_eq!(turnaround["worse"], count(&|difference| difference > 1e-7));
    let largest = differences.iter().map(|difference| difference.abs()).fold(0.0, f64::max);
    assert!((changes["largest"][0]["difference"].as_f64().unwrap().abs() - largest).abs() < 1e-5);
    assert_eq!(changes["largest"].as_array().unwrap().len(), 10);

    // The first event is that of `hansa verify`.
    let verify = hansa(&["verify".into(), "--json".into(), easy.clone(), fcfs.clone()]);
    let verify: Value = serde_json::from_slice(&verify.stdout).unwrap();
    let here = &json["first_difference"][1];
    assert_eq!((&here["line"], &here["what"]), (&verify["difference"]["line"], &verify["difference"]["what"]));
    assert_eq!((&here["first"], &here["other"]), (&verify["difference"]["a"], &verify["difference"]["b"]));

    let page = scratch.path("page.html");
    let table = hansa_ok(&["compare".into(), easy.clone(), cons, fcfs, "--page".into(), page.clone()]);
    let table = text(&table.stdout);
    let is_of_a_table = |line: &&str| !line.starts_with("  ") && !line.contains('/');
    let widest = table.lines().filter(is_of_a_table).map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 100, "{widest} columns: {table}");
    for words in ["Setting that differs", "job_wait, s", "Quantiles of C - A", "First event of B that differs from A"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    for words in ["At a glance", "Busy cores and waiting tasks", "Change of turnaround, job by job", "conservative"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("http"), "a page loads nothing");
}

/// Requests are the same ones, whichever of their shapes they are booked in.
#[test]
fn requests_in_other_shapes_are_compared_job_by_job() {
    let scratch = Scratch::new();
    let [policy, thrifty] = ["policy", "thrifty"].map(|shape| {
        let out = scratch.path(shape);
        run("malleable.toml", &out, &[&format!("reservation.shape={shape}"), "workload.0.requests=200"]);
        out
    });
    let nodes = |out: &Path| -> Vec<String> {
        let table = std::fs::read_to_string(out.join("reservations.csv")).unwrap();
        table.lines().skip(1).map(|row| row.split(',').nth(6).unwrap().to_owned()).collect()
    };
    assert!(nodes(&policy) != nodes(&thrifty));
    let json = compared(&[&policy, &thrifty]);
    assert_eq!((&json["jobs"][0]["matched"], &json["jobs"][0]["unlike"]), (&Value::from(200), &Value::from(0)));
    assert!(!json["notes"].to_string().contains("differ in user, size"), "{}", json["notes"]);
}

#[test]
fn equal_runs_and_runs_of_other_systems_are_compared() {
    let scratch = Scratch::new();
    let [one, same, other] = ["one", "same", "other"].map(|name| scratch.path(name));
    run("batch.toml", &one, &["workload.0.jobs=50"]);
    run("batch.toml", &same, &["workload.0.jobs=50"]);
    run("quickstart.toml", &other, &[]);
    let json = compared(&[&one, &same, &other]);
    assert_eq!(json["verdicts"][0], "B is the same run as A: no event differs.");
    assert_eq!(json["first_difference"][0]["same"], true);
    // The market has values and starved jobs, the queue bounded stretches.
    let metric = |name: &str| {
        let metrics = json["metrics"].as_array().unwrap();
        metrics.iter().find(|metric| metric["name"] == name).unwrap()["values"].clone()
    };
    assert!(metric("value")[0].is_null() && metric("value")[2].is_number());
    assert_eq!((&json["jobs"][1]["only_in_first"], &json["jobs"][1]["only_in_other"]), (&0.into(), &50.into()));
    assert_eq!(
        json["verdicts"][1],
        "C against A: no verdict, as these are not runs of the same jobs: of 50 jobs with one number in both, 50 differ \
         in user, size, worth or times."
    );
    let notes = json["notes"].to_string();
    assert!(notes.contains("50 jobs of C are not in A"), "{notes}");
    assert!(
        notes.contains("50 differ in user, size, worth or times, so C is not compared with A job by job"),
        "{notes}"
    );
}

#[test]
fn a_result_that_was_edited_is_named() {
    let scratch = Scratch::new();
    let [one, edited] = ["one", "edited"].map(|name| scratch.path(name));
    run("batch.toml", &one, &["workload.0.jobs=50"]);
    run("batch.toml", &edited, &["workload.0.jobs=50"]);
    let jobs = edited.join("jobs.csv");
    let table = std::fs::read_to_string(&jobs).unwrap();
    std::fs::write(&jobs, table.replacen("COMPLETED", "completed", 1)).unwrap();
    let json = compared(&[&one, &edited]);
    assert_eq!(json["verdicts"][0], "No event of B differs from A, but files of B have been changed since.");
    assert!(json["notes"].to_string().contains("jobs.csv of B"), "{}", json["notes"]);
}

#[test]
fn results_of_another_version_are_read_with_a_warning() {
    let scratch = Scratch::new();
    let [this, other] = ["this", "other"].map(|name| scratch.path(name));
    run("batch.toml", &this, &["workload.0.jobs=20"]);
    run("batch.toml", &other, &["workload.0.jobs=20"]);
    let manifest = other.join("manifest.json");
    let content = std::fs::read_to_string(&manifest).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(content.contains(&version), "{content}");
    std::fs::write(&manifest, content.replacen(&version, "\"version\": \"0.0.9\"", 1)).unwrap();
    let warning = format!("other was made by Hansa 0.0.9, and this is Hansa {}\n", env!("CARGO_PKG_VERSION"));
    for (command, folders, rest) in [
        ("report", &[&other][..], &[][..]),
        ("why", &[&other][..], &["1"][..]),
        ("verify", &[&this, &other][..], &[][..]),
        ("compare", &[&this, &other][..], &[][..]),
    ] {
        let folders = folders.iter().map(|folder| folder.to_str().unwrap());
        let output = hansa(&[command].into_iter().chain(folders).chain(rest.iter().copied()).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{command}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr).matches(&warning).count(), 1, "{command}: {}", text(&output.stderr));
    }
    let output = hansa(&["why", this.to_str().unwrap(), "1"]);
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_partial_result_says_so() {
    let scratch = Scratch::new();
    let [whole, part] = ["whole", "part"].map(|name| scratch.path(name));
    run("batch.toml", &whole, &["workload.0.jobs=50"]);
    run("batch.toml", &part, &["workload.0.jobs=50"]);
    for (file, of) in [("manifest.json", "\"status\": \"complete\""), ("summary.json", "\"status\": \"complete\"")] {
        let path = part.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(of), "{text}");
        std::fs::write(path, text.replace(of, "\"status\": \"partial: interrupted at virtual time 3d\"")).unwrap();
    }
    let output = hansa_ok(&["compare".into(), whole, part, "--page".into(), scratch.path("page.html")]);
    let printed = text(&output.stdout);
    assert!(printed.contains("is partial, so its numbers would be different at the end: interrupted"), "{printed}");
    assert!(std::fs::read_to_string(scratch.path("page.html")).unwrap().contains("is partial:</strong> interrupted"));
}

#[test]
fn wrong_inputs_get_one_message_each() {
    let scratch = Scratch::new();
    let [one, other] = ["one", "other"].map(|name| scratch.path(name));
    run("batch.toml", &one, &["workload.0.jobs=20"]);
    run("batch.toml", &other, &["workload.0.jobs=20", "seed=2"]);
    let refused = |folders: &[&Path], expected: &str| {
        let page = scratch.path("page.html");
        let mut arguments: Vec<PathBuf> = vec!["compare".into()];
        arguments.extend(folders.iter().map(|folder| (*folder).to_owned()));
        let output = hansa(&[&arguments[..], &["--page".into(), page.clone()]].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected) && message.lines().count() == 1, "{expected}: {message}");
        assert!(output.stdout.is_empty() && !page.exists());
    };
    refused(&[&one, &one.join("..").join("one")], "are the same folder: expected different results");
    refused(&[&one, &scratch.path("nowhere")], "there is no folder");
    std::fs::create_dir(scratch.path("empty")).unwrap();
    refused(&[&one, &scratch.path("empty")], "is not a result folder: it has no manifest.json");
    refused(&[&one, &one.join("jobs.csv")], "is a file: expected the result folder in which it is");

    let table = std::fs::read_to_string(other.join("jobs.csv")).unwrap();
    let write = |text: &str| std::fs::write(other.join("jobs.csv"), text).unwrap();
    write(&table.replacen(",starting_time,", ",began,", 1));
    refused(&[&one, &other], "jobs.csv is damaged: it has no column `starting_time`");
    let third = table.lines().nth(2).unwrap();
    write(&table.replacen(third, &third.replacen(',', ",,", 1), 1));
    refused(&[&one, &other], "jobs.csv is damaged: row 3, expected ");
    write(&table.replacen(third, &format!("x{third}"), 1));
    refused(&[&one, &other], "row 3, column `job_id`: expected a number, found `x");
    write(&table.replacen(&format!("{third}\n"), "", 1));
    refused(&[&one, &other], "jobs.csv is damaged: it has 19 jobs, but the summary counts 20");
    let renumbered: Vec<String> = table
        .lines()
        .enumerate()
        .map(|(row, line)| if row == 0 { format!("{line}\n") } else { format!("9{line}\n") })
        .collect();
    // A prefix of the number: 1 becomes 91, 20 becomes 920.
    write(&renumbered.concat());
    refused(&[&one, &other], "have no job in common: expected results of the same jobs");

    write(&table);
    let events = std::fs::read_to_string(other.join("events.jsonl")).unwrap();
    std::fs::write(other.join("events.jsonl"), &events[..events.len() - 9]).unwrap();
    refused(&[&one, &other], "events.jsonl is damaged: ");
    std::fs::write(other.join("events.jsonl"), events).unwrap();
    hansa_ok(&["compare".as_ref(), one.as_os_str(), other.as_os_str()]);
}

#[test]
fn sweeps_are_compared_setting_by_setting() {
    let scratch = Scratch::new();
    let [one, other] = ["0.7", "0.9"].map(|load| {
        let market = shipped("market-40.toml");
        let text = format!(
            "name = \"try\"\ntopology = \"{}\"\nmetrics = [\"value\", \"job_wait\"]\n[set]\nworkload.0.jobs = 30\n\
             workload.0.load = {load}\n[vary]\nseed = [1, 2, 3]\nmarket.policy = [\"fifo\", \"srtf\"]\n",
            market.display()
        );
        let file = scratch.file(&format!("{load}.toml"), &text);
        let out = scratch.path(load);
        hansa_ok(&["sweep".into(), file, "--out".into(), out.clone(), "--quiet".into()]);
        out
    });
    let json = compared(&[&one, &other]);
    assert_eq!(json["keys"], serde_json::json!(["market.policy"]));
    let rows = |out: &Path| std::fs::read_to_string(out.join("runs.csv")).unwrap();
    let fifo = |out: &Path| -> Vec<f64> {
        let table = rows(out);
        let cells = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
        cells.filter(|row| row[2] == "fifo").map(|row| row[3].parse().unwrap()).collect()
    };
    let cell = &json["metrics"][0]["settings"][0]["differences"][0];
    let mean = |numbers: Vec<f64>| numbers.iter().sum::<f64>() / numbers.len() as f64;
    assert!((cell["first"].as_f64().unwrap() - mean(fifo(&one))).abs() < 1e-12, "{cell}");
    assert!((cell["other"].as_f64().unwrap() - mean(fifo(&other))).abs() < 1e-12, "{cell}");
    assert_eq!(cell["runs"], 3);

    let page = scratch.path("page.html");
    hansa_ok(&["compare".into(), one.clone(), other, "--page".into(), page.clone()]);
    assert!(std::fs::read_to_string(page).unwrap().contains("Sweeps side by side"));
    let run_folder = scratch.path("run");
    run("batch.toml", &run_folder, &["workload.0.jobs=20"]);
    let mixed = hansa(&["compare".into(), one, run_folder]);
    expect_error(&mixed, 2, "expected results of one kind");
}
