//! Workflows from the command line: planned, run, generated, refused.

use std::path::{Path, PathBuf};

use crate::grid::{Scratch, digest, expect_error, hansa, hansa_ok, json, shipped, text};

/// The shipped grid with only the first of its workflows, which then arrives at time zero.
fn one_workflow(scratch: &Scratch) -> PathBuf {
    let whole = std::fs::read_to_string(shipped("workflow.toml")).unwrap();
    let (one, _) = whole.rsplit_once("[[workload]]").unwrap();
    std::fs::copy(shipped("mosaic.json"), scratch.path("mosaic.json")).unwrap();
    scratch.file("one.toml", one)
}

fn plan(arguments: &[&str], workflow: &Path, topology: &Path) -> serde_json::Value {
    let mut all: Vec<&std::ffi::OsStr> = vec!["plan".as_ref(), "--json".as_ref(), "--workflow".as_ref()];
    all.extend([workflow.as_os_str(), topology.as_os_str()]);
    all.extend(arguments.iter().map(std::ffi::OsStr::new));
    serde_json::from_slice(&hansa_ok(&all).stdout).unwrap()
}

/// A run follows its plan to the microsecond, inline and as processes.
#[test]
fn a_run_takes_as_long_as_its_plan_says() {
    let scratch = Scratch::new();
    let topology = one_workflow(&scratch);
    for policy in ["heft", "network-heft"] {
        let planned = plan(&["--policy", policy], &shipped("mosaic.json"), &topology);
        let realistic = (planned["realistic"].as_f64().unwrap() * 1e6).round() as u64;
        assert!(!planned["transfers"].as_array().unwrap().is_empty(), "{planned}");
        let set = format!("workflow.policy={policy}");
        let mut digests = Vec::new();
        for (layout, flags) in [("inline", &["--inline"][..]), ("processes", &[])] {
            let out = scratch.path(&format!("{policy}-{layout}"));
            let mut arguments = vec!["run".as_ref(), topology.as_os_str(), "--out".as_ref(), out.as_os_str()];
            arguments.extend(["--set", &set].map(std::ffi::OsStr::new));
            arguments.extend(flags.iter().map(std::ffi::OsStr::new));
            hansa_ok(&arguments);
            let results = &json(&out.join("summary.json"))["results"];
            let makespan = (results["makespan"].as_f64().unwrap() * 1e6).round() as u64;
            assert_eq!(makespan, realistic, "{policy} {layout}: {results}");
            digests.push(digest(&out));
        }
        assert_eq!(digests[0], digests[1]);
    }
}

/// The paper's two examples, whose run times differ by site, take as long as their plans say, and have one digest in
/// both layouts.
#[test]
fn the_papers_examples_run_as_planned() {
    let scratch = Scratch::new();
    for (name, policy, model, expected) in [
        ("six-tasks", "heft", "ideal", 32.0),
        ("six-tasks", "heft", "tcp-parallel", 413.0 / 12.0),
        ("ten-tasks", "heft", "ideal", 102.0),
        ("ten-tasks", "network-heft", "ideal", 91.0),
        ("ten-tasks", "network-heft", "tcp-parallel", 1223.0 / 12.0),
    ] {
        let topology = shipped(&format!("{name}.toml"));
        let table = shipped(&format!("{name}.json"));
        let policy = format!("workflow.policy={policy}");
        let model = format!("network.model={model}");
        let settings = ["--set", &policy, "--set", &model];
        let planned = plan(&settings, &table, &topology)["realistic"].as_f64().unwrap();
        assert!((0.0..5e-6).contains(&(planned - expected + 1e-6)), "{name} {policy} {model}: {planned}");
        let mut digests = Vec::new();
        for (layout, flags) in [("inline", &["--inline"][..]), ("processes", &[])] {
            let out = scratch.path(&format!("{name}-{layout}"));
            let mut arguments = vec!["run".as_ref(), topology.as_os_str(), "--out".as_ref(), out.as_os_str()];
            arguments.extend(settings.iter().chain(flags).map(std::ffi::OsStr::new));
            hansa_ok(&arguments);
            let makespan = json(&out.join("summary.json"))["results"]["makespan"].as_f64().unwrap();
            assert!((makespan - planned).abs() < 1e-9, "{name} {policy} {model} {layout}: {makespan}, {planned}");
            digests.push(digest(&out));
        }
        assert_eq!(digests[0], digests[1], "{name} {policy} {model}");
    }
}

#[test]
fn the_papers_example_has_a_plan_of_91() {
    let planned = plan(&[], &shipped("ten-tasks.json"), &shipped("three-sites.toml"));
    let rounds: Vec<f64> =
        planned["rounds"].as_array().unwrap().iter().map(|round| round["realistic"].as_f64().unwrap()).collect();
    assert_eq!(planned["rounds"][0]["planned"].as_f64(), Some(80.0));
    assert!(rounds.iter().zip([102.0, 111.0, 91.0, 104.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{rounds:?}");
    let six = plan(&["--policy", "heft"], &shipped("six-tasks.json"), &shipped("three-sites.toml"));
    assert_eq!((six["planned"].as_f64(), six["realistic"].as_f64()), (Some(25.0), Some(32.0)));
    let tcp = ["--policy", "heft", "--set", "network.model=tcp-parallel"];
    let six = plan(&tcp, &shipped("six-tasks.json"), &shipped("three-sites.toml"));
    assert!((six["realistic"].as_f64().unwrap() - 413.0 / 12.0).abs() < 5e-6, "{six}");
}

/// No data crosses the links.
#[test]
fn costs_are_planned_for_a_single_site_that_has_links() {
    let scratch = Scratch::new();
    let topology = scratch.file(
        "one.toml",
        "name = \"one\"\n[workflow]\n[[site]]\nname = \"york\"\ncores = 1\n[[link]]\nname = \"uplink\"\n\
         capacity = \"1 Gbps\"\n[[user]]\nname = \"alice\"\n[[workload]]\nsource = \"layered\"\ntasks = 1\n",
    );
    let costs = scratch.file("costs.json", r#"{ "compute": { "a": [3], "b": [2] }, "edges": [["a", "b", 7]] }"#);
    let planned = plan(&[], &costs, &topology);
    assert_eq!((planned["planned"].as_f64(), planned["realistic"].as_f64()), (Some(5.0), Some(5.0)));
}

#[test]
fn generated_graphs_have_equal_plans_in_both_formats() {
    let scratch = Scratch::new();
    let mut plans = Vec::new();
    for name in ["dag.dot", "dag.json"] {
        let path = scratch.path(name);
        let flags = ["generate", "dag", "-n", "40", "--fat", "0.6", "--jump", "2", "--seed", "5", "--out"];
        let mut arguments: Vec<&std::ffi::OsStr> = flags.iter().map(std::ffi::OsStr::new).collect();
        arguments.push(path.as_os_str());
        hansa_ok(&arguments);
        let mut planned = plan(&[], &path, &shipped("workflow.toml"));
        planned["workflow"].take();
        plans.push(planned);
    }
    assert_eq!(plans[0], plans[1]);
    assert_eq!(plans[0]["tasks"].as_array().unwrap().len(), 40);
}

/// Each error has its place, and the exit code is that of an invalid input.
#[test]
fn bad_workflows_are_refused_with_their_place() {
    let scratch = Scratch::new();
    let bomb = format!(
        "<!DOCTYPE adag [<!ENTITY a \"ha\">{}]>\n<adag name=\"&j;\"/>",
        ('b'..='j')
            .map(|c| format!("<!ENTITY {c} \"{}\">", format!("&{};", (c as u8 - 1) as char).repeat(10)))
            .collect::<String>()
    );
    let deep = format!("{{\"schemaVersion\": \"1.5\", \"workflow\": {}", "[".repeat(200_000));
    let cases = [
        (
            "cycle.dot",
            "digraph G {\n a [size=1]\n b [size=1]\n a -> b [size=1]\n b -> a [size=1]\n}",
            "cycle: a -> b -> a",
        ),
        ("sizeless.dot", "digraph G {\n a [size=1]\n b [size=1]\n a -> b\n}", ":4:"),
        ("huge.dot", "digraph G {\n a [size=1e400]\n}", ":2:"),
        ("bomb.xml", &bomb, "bomb.xml:"),
        ("deep.json", &deep, "deep.json:1:"),
        (
            "twice.xml",
            "<adag>\n<job id=\"a\" runtime=\"1\"/>\n<job id=\"a\" runtime=\"1\"/>\n</adag>",
            ":3:1: two jobs",
        ),
    ];
    for (name, content, expected) in cases {
        let file = scratch.file(name, content);
        let arguments = [Path::new("plan"), Path::new("--workflow"), &file, &shipped("workflow.toml")];
        let refused = hansa(&arguments);
        let printed = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{name}: {printed}");
        assert!(printed.contains(expected) && printed.contains(name) && printed.len() < 1_000, "{name}: {printed}");
    }
    let missing = [Path::new("plan"), Path::new("--workflow"), Path::new("nowhere.json"), &shipped("workflow.toml")];
    let missing = hansa(&missing);
    expect_error(&missing, 2, "nowhere.json");
}

/// Faults of the jobs of a workload, in every command that finds them.
#[test]
fn jobs_that_cannot_run_are_reported_with_their_place() {
    let scratch = Scratch::new();
    let whole = std::fs::read_to_string(shipped("live.toml")).unwrap();
    let slow = whole.replace("100 Mbps", "1 bps").replace("10_000_000", "10_000_000_000");
    let line = slow.lines().position(|line| line == "[[workload]]").unwrap() + 1;
    let topology = scratch.file("slow.toml", &slow);
    let place = format!("\n --> {}:{line}:1\n", topology.display());
    let out = scratch.path("out");
    for command in [&["validate"][..], &["run"], &["run", "--inline"]] {
        let mut arguments: Vec<&std::ffi::OsStr> = command.iter().map(std::ffi::OsStr::new).collect();
        arguments.push(topology.as_os_str());
        if command[0] == "run" {
            arguments.extend(["--out".as_ref(), out.as_os_str()]);
        }
        let output = hansa(&arguments);
        let words = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {words}");
        assert!(words.contains("would take more than a thousand years over the slowest link"), "{command:?}: {words}");
        assert!(words.ends_with(&place), "{command:?}: {words}");
        assert!(!out.exists(), "{command:?}");
    }
    let workflow = shipped("mosaic.json");
    let slow = whole.replace("100 Mbps", "1 bps");
    let topology = scratch.file("slow.toml", &slow);
    let output = hansa(&["plan".as_ref(), "--workflow".as_ref(), workflow.as_os_str(), topology.as_os_str()]);
    expect_error(&output, 2, "mosaic.json: all data");
}

/// The plans to choose from, in every output format, and the messages for wrong requests.
#[test]
fn plans_for_negotiating_users_are_shown_and_drawn() {
    let scratch = Scratch::new();
    let workflow = shipped("layers.json");
    let topology = shipped("provisioning.toml");
    let svg = scratch.path("plans.svg");
    let flags = [
        "--policy=moga",
        "--at=10h",
        "--alpha=0.3",
        "--set=workload.0.arrival_factor=4",
        "--svg",
        svg.to_str().unwrap(),
    ];
    let planned = plan(&flags, &workflow, &topology);
    let plans = planned["plans"].as_array().unwrap();
    let chosen = planned["chosen"].as_u64().unwrap();
    assert!(plans.len() > 1 && (chosen as usize) < plans.len(), "{planned}");
    assert_eq!(planned["tasks"].as_array().unwrap().len(), 24);
    let picture = std::fs::read_to_string(&svg).unwrap();
    let document = roxmltree::Document::parse(&picture).unwrap();
    let of = |class| document.descendants().filter(|node| node.attribute("class") == Some(class)).count();
    assert_eq!((of("plan"), of("chosen")), (plans.len(), 1));

    // Without a policy, the first one of the topology's system is used.
    let mut arguments = vec!["plan".as_ref(), "--workflow".as_ref(), workflow.as_os_str(), topology.as_os_str()];
    let table = text(&hansa_ok(&arguments).stdout);
    assert!(table.contains("planned by moga: "), "{table}");
    assert!(table.contains("cost (processor-s)  makespan (s)  bookings") && table.contains("\n*"), "{table}");
    for (flags, expected) in [
        (&["--policy", "mogga"][..], "expected network-heft or heft or moga or greedy; did you mean moga?"),
        (&["--policy", "heft", "--at", "1 h"], "--at is for moga or greedy"),
        (&["--policy", "heft", "--alpha", "1"], "--alpha is for moga or greedy"),
        (&["--alpha", "1.1"], "expected a number from 0 (an early end) to 1 (a low cost)"),
        (&["--at", "soon"], "expected a time"),
        (&["--set", "site.york.cores=0"], "cores"),
    ] {
        let mut all = arguments.clone();
        all.extend(flags.iter().map(std::ffi::OsStr::new));
        let refused = hansa(&all);
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {}", text(&refused.stdout));
        assert!(text(&refused.stderr).contains(expected), "{flags:?}: {}", text(&refused.stderr));
    }
    let table = shipped("ten-tasks.json");
    arguments[2] = table.as_os_str();
    let refused = text(&hansa(&arguments).stderr);
    assert!(
        refused.contains("ten-tasks.json cannot be planned by moga on provisioning: a table of costs"),
        "{refused}"
    );
}
