//! The schemas for editors, checked with an independent validator, and the reference of keys.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::grid::{Scratch, hansa_ok, text};
use crate::skip::skip;

/// Prints a line for each file: its path, and its first error if there is one.
const VALIDATE: &str = r#"
import json, sys, tomllib
import jsonschema
schema = json.load(open(sys.argv[1]))
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
for path in sys.argv[2:]:
    errors = [error.message for error in validator(schema).iter_errors(tomllib.load(open(path, "rb")))]
    print(path, "FINE" if not errors else "WRONG " + errors[0].replace("\n", " ")[:200])
"#;

fn python() -> String {
    std::env::var("HANSA_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// True if Python has the package `jsonschema`; in CI it must.
fn has_validator() -> bool {
    let python = Command::new(python()).args(["-c", "import jsonschema, tomllib"]).stderr(Stdio::null()).status();
    let has = python.is_ok_and(|status| status.success());
    assert!(has || std::env::var_os("CI").is_none(), "the schema needs a validator: pip install jsonschema");
    if !has {
        skip("no Python 3.11 here has jsonschema (PyPI; $HANSA_PYTHON says which Python)");
    }
    has
}

/// Result of the validator for each file.
fn verdicts(schema: &Path, files: &[String]) -> Vec<String> {
    let output = Command::new(python()).arg("-c").arg(VALIDATE).arg(schema).args(files).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(str::to_owned).collect()
}

fn toml_files(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    files
}

#[test]
fn shipped_files_match_the_schema_and_faulty_ones_do_not() {
    if !has_validator() {
        return;
    }
    let scratch = Scratch::new();
    let of_topologies = scratch.file("topology.json", &text(&hansa_ok(&["schema"]).stdout));
    let of_experiments = scratch.file("experiment.json", &text(&hansa_ok(&["schema", "--experiment"]).stdout));

    let mut fine = toml_files("topologies");
    assert!(fine.len() > 8, "{fine:?}");
    // A resolved topology has all defaults, so the schema has to know every key that the writer knows.
    for file in fine.clone() {
        let name = Path::new(&file).file_name().unwrap().to_str().unwrap().to_owned();
        let resolved = scratch.file(&name, &text(&hansa_ok(&["show", file.as_str()]).stdout));
        fine.push(resolved.to_str().unwrap().to_owned());
    }
    let mut experiments = [toml_files("experiments"), toml_files("experiments/papers")].concat();
    // Their runs are made by programs, so they have no topology.
    experiments.retain(|file| !std::fs::read_to_string(file).unwrap().contains("\nprogram = "));
    assert!(experiments.len() > 8, "{experiments:?}");
    for verdict in [verdicts(&of_topologies, &fine), verdicts(&of_experiments, &experiments)].concat() {
        assert!(verdict.ends_with(" FINE"), "{verdict}");
    }

    let quickstart = std::fs::read_to_string(&fine[fine.iter().position(|f| f.ends_with("quickstart.toml")).unwrap()]);
    let quickstart = quickstart.unwrap();
    let wrong = [
        ("[[site]]", "[markt]\npolicy = \"fifo\"\n[[site]]"),
        ("policy = \"fifo\"", "policy = \"fifoo\""),
        ("policy = \"fifo\"", "polcy = \"fifo\""),
        ("policy = \"fifo\"", "policy = \"fifo\"\ntick = 60"),
        ("policy = \"fifo\"", "policy = \"fifo\"\ntick = \"0 s\""),
        ("policy = \"fifo\"", "policy = \"fifo\"\nccr = -1"),
        ("latency = \"5 ms\"", "latency = \"5 sec\""),
        ("latency = \"5 ms\"", "latency = 5"),
        ("cores = 64", "cores = 0"),
        ("cores = 64", "cores = \"many\""),
        ("source = \"market\"", "source = \"markt\""),
        ("source = \"market\"", "source = \"lublin\""),
        ("source = \"market\"", ""),
        ("name = \"quickstart\"", "name = \"Quick Start\""),
        ("name = \"quickstart\"", ""),
        ("name = \"quickstart\"", "name = \"quickstart\"\nhansa = \"99.1\""),
    ];
    let files: Vec<String> = wrong
        .iter()
        .enumerate()
        .map(|(number, (fine, fault))| {
            assert!(quickstart.contains(fine), "{fine}");
            let file = scratch.file(&format!("wrong-{number}.toml"), &quickstart.replacen(fine, fault, 1));
            file.to_str().unwrap().to_owned()
        })
        .collect();
    for (verdict, fault) in verdicts(&of_topologies, &files).iter().zip(wrong) {
        assert!(verdict.contains(" WRONG "), "{fault:?}: {verdict}");
    }
    let policies = experiments.iter().find(|file| file.ends_with("policies-40.toml")).expect("it is shipped");
    let experiment = std::fs::read_to_string(policies).unwrap();
    let wrong =
        [("[vary]", "[varied]"), ("metrics = [\"value\"", "metrics = [\"valu\""), ("topology =", "topologie =")];
    let files: Vec<String> = wrong
        .iter()
        .enumerate()
        .map(|(number, (fine, fault))| {
            assert!(experiment.contains(fine), "{fine}");
            let file = scratch.file(&format!("experiment-{number}.toml"), &experiment.replacen(fine, fault, 1));
            file.to_str().unwrap().to_owned()
        })
        .collect();
    for (verdict, fault) in verdicts(&of_experiments, &files).iter().zip(wrong) {
        assert!(verdict.contains(" WRONG "), "{fault:?}: {verdict}");
    }
}

/// A Python validator of lines: for each file the first wrong line, with the schema's names of the alternatives.
const VALIDATE_LINES: &str = r#"
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
validator = jsonschema.validators.validator_for(schema)
validator.check_schema(schema)
for path in sys.argv[2:]:
    wrong = [line for line in open(path) if not validator(schema).is_valid(json.loads(line))]
    print(path, "WRONG " + wrong[0].strip() if wrong else "FINE")
"#;

/// Part of a manager that counts free nodes, where nodes fail.
const RECORDS_FAILURES: &str = r#"elif event["event"] == "lost":
                free += nodes[event["job"]]
                queue.append(event["job"])
            elif event["event"] == "nodes":
                runs = [run.split("-") for part in event["down"] for run in part["nodes"].split()]
                down = sum(int(run[-1]) - int(run[0]) + 1 for run in runs)
                free += globals().get("was_down", 0) - down
                was_down = down
            "#;

/// The messages of Hansa and its examples match the schema, line by line; faulty lines do not.
#[test]
fn messages_of_programs_and_hansa_match_the_schema_of_the_protocol() {
    if !has_validator() {
        return;
    }
    let scratch = Scratch::new();
    let schema = scratch.file("conversation.json", &text(&hansa_ok(&["schema", "--conversation"]).stdout));
    let mut fine = Vec::new();
    let manager = std::fs::read_to_string(crate::grid::shipped("manager.py")).unwrap();
    let before = "elif event[\"event\"] == \"recalled\":";
    assert!(manager.contains(before));
    let recording = scratch.file("manager.py", &manager.replace(before, &format!("{RECORDS_FAILURES}{before}")));
    let fails = "[[failure]]\nsite = \"york\"\nmtbf = \"4 d\"\nmttr = \"1 h\"\n";
    let stories = [
        ("foreign-bidder.toml", "", &["bidder"][..]),
        ("foreign-allocator.toml", "", &["allocator"]),
        ("foreign-site.toml", "", &["manager", "planner"]),
        ("foreign-site.toml", fails, &["manager", "planner"]),
    ];
    for (number, (topology, more, programs)) in (0..).zip(stories) {
        let mut written = std::fs::read_to_string(crate::grid::shipped(topology)).unwrap() + more;
        for program in programs {
            let [printed, answered] =
                ["said", "answered"].map(|what| scratch.path(&format!("{program}-{what}-{number}.jsonl")));
            let receives = !more.is_empty() && *program == "manager";
            let path = if receives { recording.clone() } else { crate::grid::shipped(&format!("{program}.py")) };
            let through =
                format!("tee {} | python3 {} | tee {}", printed.display(), path.display(), answered.display());
            let direct = format!("[\"python3\", \"{program}.py\"]");
            assert!(written.contains(&direct), "{topology}");
            written = written.replace(&direct, &format!("[\"sh\", \"-c\", {through:?}]"));
            fine.extend([printed, answered]);
        }
        let topology = scratch.file(topology, &written);
        let out = scratch.path("out");
        hansa_ok(&["run".as_ref(), topology.as_os_str(), "--inline".as_ref(), "--out".as_ref(), out.as_os_str()]);
    }
    let wrong = [
        r#"{"type":"hello","version":2}"#,
        r#"{"type":"manage","ask":1,"orders":[{"order":"start"}]}"#,
        r#"{"type":"manage","ask":1,"orders":[{"order":"start","job":0,"nodes":"0,3"}]}"#,
        r#"{"type":"manage","ask":1,"orders":[],"why":"no"}"#,
        r#"{"type":"plan","ask":1,"orders":[{"order":"kill","job":0}]}"#,
        r#"{"type":"bids","ask":1,"bids":["much"]}"#,
        r#"{"type":"allocate","ask":1}"#,
        r#"{"type":"allocate","ask":1,"candidate":-1}"#,
        r#"{"type":"allocate","ask":1,"candidate":null,"nodes":"0-3"}"#,
    ];
    let wrong =
        (0..).zip(wrong).map(|(number, line)| scratch.file(&format!("wrong-{number}.jsonl"), &format!("{line}\n")));
    let wrong: Vec<_> = wrong.collect();
    let output = Command::new(python()).args(["-c", VALIDATE_LINES]).arg(schema).args(&fine).args(&wrong).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let verdicts: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    assert_eq!(verdicts.len(), fine.len() + wrong.len());
    for (number, verdict) in verdicts.iter().enumerate() {
        assert_eq!(verdict.ends_with(" FINE"), number < fine.len(), "{verdict}");
    }
    for file in &fine {
        assert!(std::fs::read_to_string(file).unwrap().lines().count() > 10, "{} has some lines", file.display());
    }
    let received = std::fs::read_to_string(scratch.path("manager-said-3.jsonl")).unwrap();
    let events = ["\"event\":\"lost\"", "\"event\":\"nodes\",\"down\":[{\"nodes\""];
    assert!(events.iter().all(|event| received.contains(event)), "all there is to say has been said");
}

/// `HANSA_GOLDEN=write` renews them.
#[test]
fn the_references_equal_the_output_of_the_program() {
    for (page, flag) in [("docs/keys.md", "--keys"), ("docs/columns.md", "--columns")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let printed = text(&hansa_ok(&["show", flag]).stdout).to_string();
        if std::env::var("HANSA_GOLDEN").is_ok_and(|word| word == "write") {
            std::fs::write(&path, &printed).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == printed,
            "{page} is not what `hansa show {flag}` prints: renew it (`hansa show {flag} > {page}`), and look at what has \
             changed"
        );
    }
}
