//! Sites whose jobs share nodes: the paper's own numbers through a whole run, with processes too, and errors of
//! topologies.

use serde_json::Value;

use crate::grid::{Scratch, digest, hansa, hansa_ok, json, shipped, text};

/// Four jobs on two nodes, worked by hand and by two other programs.
const FOUR: &str = r#"name = "four"
[batch]
[[site]]
name = "york"
cores = 2
scheduler = "GreedyPM */opt=min"
[[user]]
name = "alice"
[[workload]]
source = "table"
[[workload.job]]
tasks = [{ runtime = "300 s", cores = 2 }]
memory = 0.5
[[workload.job]]
tasks = [{ runtime = "1000 s", cores = 1 }]
cpu = 0.5
memory = 0.6
[[workload.job]]
arrive = "20 s"
tasks = [{ runtime = "40 s", cores = 1 }]
memory = 0.5
[[workload.job]]
arrive = "30 s"
tasks = [{ runtime = "100 s", cores = 2 }]
cpu = 0.5
memory = 0.3
"#;

fn run(scratch: &Scratch, topology: &str, flags: &[&str]) -> String {
    let topology = scratch.file("grid.toml", topology);
    let out = scratch.path("out");
    let mut arguments = vec!["run", topology.to_str().unwrap(), "--out", out.to_str().unwrap()];
    arguments.extend(flags);
    let output = hansa_ok(&arguments);
    text(&output.stdout) + &text(&output.stderr)
}

fn sites(scratch: &Scratch) -> Vec<Value> {
    sites_of(&json(&scratch.path("out").join("summary.json")))
}

fn sites_of(summary: &Value) -> Vec<Value> {
    summary["results"]["sharing"]["sites"].as_array().unwrap().clone()
}

/// A column of a table.
fn column(scratch: &Scratch, file: &str, name: &str) -> Vec<f64> {
    text_column(scratch, file, name).iter().map(|field| field.parse().unwrap()).collect()
}

fn text_column(scratch: &Scratch, file: &str, name: &str) -> Vec<String> {
    let table = std::fs::read_to_string(scratch.path("out").join(file)).unwrap();
    let at = table.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
    table.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
}

/// Nodes fail, jobs move from sites where they share nodes to one with a queue, and the sums of reports agree.
#[test]
fn costs_of_failures_on_shared_nodes_add_up() {
    let scratch = Scratch::new();
    let topology = std::fs::read_to_string("tests/all/digests/failing-dfrs.toml").unwrap();
    let images = ["york", "leeds"].map(|site| {
        let key = |key: &str| ["--set".to_owned(), format!("site.{site}.{key}")];
        [key("memory_gb=8"), key("image_bandwidth=1 Gbps")].concat()
    });
    let images: Vec<&str> = images.iter().flatten().map(String::as_str).collect();
    for (killed, images) in
        [("head", &[][..]), ("back", &[]), ("lost", &[]), ("head", &images), ("back", &images), ("lost", &images)]
    {
        let killed_so = format!("recovery.killed={killed}");
        run(&scratch, &topology, &[&["--inline", "--set", &killed_so], images].concat());
        let facts = json(&scratch.path("out").join("summary.json"));
        let failures = &facts["results"]["failures"];
        let number = |key: &str| failures[key].as_f64().unwrap();
        let parts = ["work_useful", "work_lost", "work_checkpoints", "work_unfinished"].map(number);
        assert!((parts.iter().sum::<f64>() - number("work")).abs() < 1e-3, "{killed}: {failures}");
        assert!(parts[1] > 0.0 && parts[2] > 0.0 && parts[3] == 0.0, "{killed}: {failures}");
        // Useful work is that of the jobs that ended; at the site with a queue their nodes are exclusive.
        let sites = text_column(&scratch, "sharing.csv", "site");
        let of = |name: &str| column(&scratch, "sharing.csv", name);
        let jobs = of("tasks").into_iter().zip(of("cpu")).zip(of("runtime")).zip(&sites);
        let work = |(((tasks, cpu), runtime), site): (((f64, f64), f64), &String)| {
            tasks * if site == "bath" { 1.0 } else { cpu } * runtime
        };
        let work: f64 = jobs.map(work).sum();
        // With `back`, a part of a job may have been done at a site of the other kind.
        let is_exact = killed != "back";
        assert!((work - parts[0]).abs() < if is_exact { 1e-2 } else { 0.1 * work }, "{killed}: {work}, {failures}");
        let sites = sites_of(&facts);
        let is_paused = |site: &Value| site["preemptions"].as_u64() > Some(0);
        assert_eq!(sites.iter().map(is_paused).collect::<Vec<_>>(), [true, true, false], "{killed}: {sites:?}");
        let lost: u64 =
            failures["sites"].as_array().unwrap().iter().map(|site| site["tasks_lost"].as_u64().unwrap()).sum();
        assert_eq!(failures["tasks_lost"].as_u64(), Some(lost), "{killed}");
    }
}

#[test]
fn a_whole_run_gives_the_worked_numbers() {
    let scratch = Scratch::new();
    for (name, ends, underutilisation, counts, gigabytes) in [
        ("GreedyPM */opt=min", [600.0, 1740.0, 460.0, 130.0], 0.427419, (2, 0), (8.8, 0.0)),
        ("MCB8 */opt=min", [1360.0, 1790.0, 510.0, 180.0], 1.366935, (2, 4), (8.8, 24.0)),
        ("MCB8/per/opt=min", [1540.0, 2180.0, 930.0, 180.0], 1.741935, (3, 3), (16.8, 16.8)),
        ("/stretch-per/opt=max", [1200.0, 2200.0, 1259.887640, 1350.564972], 1.484281, (0, 2), (0.0, 9.6)),
    ] {
        run(&scratch, FOUR, &["--inline", "--set", &format!("site.york.scheduler={name}")]);
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let ended = column(&scratch, "sharing.csv", "end");
        assert!(ended.iter().zip(ends).all(|(ended, end)| is_near(*ended, end)), "{name}: {ended:?}");
        let york = &sites(&scratch)[0];
        let number = |key: &str| york[key].as_f64().unwrap();
        assert!(is_near(number("underutilisation"), underutilisation), "{name}: {york}");
        assert_eq!(
            (york["preemptions"].as_u64(), york["migrations"].as_u64()),
            (Some(counts.0), Some(counts.1)),
            "{name}"
        );
        assert!(
            is_near(number("paused_gb"), gigabytes.0) && is_near(number("migrated_gb"), gigabytes.1),
            "{name}: {york}"
        );
        assert!(is_near(column(&scratch, "sharing.csv", "paused_gb").iter().sum(), gigabytes.0));
    }
    // J0 runs at half speed beside J1; then it shares a node, and so on: stretches follow from the ends.
    run(&scratch, FOUR, &["--inline"]);
    let stretches = column(&scratch, "sharing.csv", "stretch");
    assert_eq!(stretches, [2.0, 1.74, 11.0, 1.0]);
    assert_eq!(sites(&scratch)[0]["max_stretch"].as_f64(), Some(11.0));
}

#[test]
fn processes_agree_and_the_report_shows_both_sites() {
    let scratch = Scratch::new();
    let topology = std::fs::read_to_string(shipped("dfrs.toml")).unwrap();
    run(&scratch, &topology, &["--inline"]);
    let inline = digest(&scratch.path("out"));
    let both = sites(&scratch);
    let [york, leeds] = &both[..] else { panic!("{both:?}") };
    assert_eq!((york["shared"].as_bool(), leeds["shared"].as_bool()), (Some(false), Some(true)));
    let stretch = |site: &Value| site["max_stretch"].as_f64().unwrap();
    assert!(stretch(york) > 10.0 * stretch(leeds), "{both:?}");
    assert_eq!(york["preemptions"].as_u64(), Some(0));
    assert!(leeds["preemptions"].as_u64() > Some(0));
    let jobs = |site: &Value| site["jobs"].as_u64().unwrap();
    let rows = column(&scratch, "sharing.csv", "job").len() as u64;
    let schedule = json(&scratch.path("out").join("schedule.json"));
    assert_eq!(jobs(york) + jobs(leeds), rows);
    assert_eq!(rows + schedule["nb_jobs_rejected"].as_u64().unwrap(), schedule["nb_jobs"].as_u64().unwrap());

    let out = scratch.path("out");
    hansa_ok(&["report", out.to_str().unwrap()]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    for shown in
        ["Shared nodes", "Mean yield (CPU received / CPU needed)", "Stretch of jobs by their work", "Nodes of leeds"]
    {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("Nodes of york, as far"));
    std::fs::rename(&out, scratch.path("inline")).unwrap();
    run(&scratch, &topology, &[]);
    assert_eq!(digest(&out), inline);
    hansa_ok(&["verify", scratch.path("inline").to_str().unwrap(), out.to_str().unwrap()]);
}

/// Two nodes of 8 GB, whose images move at 100 Mbps: a GB takes 80 s.
#[test]
fn images_take_their_time_beside_the_penalty_or_instead_of_it() {
    let scratch = Scratch::new();
    let four = FOUR.replace("cores = 2\n", "cores = 2\nmemory_gb = 8\nimage_bandwidth = \"100 Mbps\"\n");
    // The third job is paused at 30 s, after 10 s, and resumed at 130 s: its 4 GB take 320 s. The second one is paused
    // at 20 s, and resumed at the end of the third one: its 4.8 GB take 384 s.
    for (name, ends) in [
        ("GreedyPM */penalty=0", [600.0, 1_844.0, 480.0, 130.0]),
        ("GreedyPM */penalty=10", [600.0, 1_864.0, 490.0, 130.0]),
    ] {
        run(&scratch, &four, &["--inline", "--set", &format!("site.york.scheduler={name}")]);
        assert_eq!(column(&scratch, "sharing.csv", "end"), ends, "{name}");
        let york = &sites(&scratch)[0];
        assert_eq!((york["preemptions"].as_u64(), york["paused_gb"].as_f64()), (Some(2), Some(8.8)), "{york}");
    }
    // With almost instant transfers, only the penalty remains.
    let set = ["--inline", "--set", "site.york.image_bandwidth=1000000 Tbps"];
    run(&scratch, &four, &set);
    let ended = column(&scratch, "sharing.csv", "end");
    assert!(ended.iter().zip([600.0, 1740.0, 460.0, 130.0]).all(|(a, b)| (a - b).abs() < 1e-5), "{ended:?}");
}

#[test]
fn processes_agree_where_images_take_time() {
    let scratch = Scratch::new();
    let topology = std::fs::read_to_string(shipped("dfrs.toml")).unwrap();
    let out = scratch.path("out");
    run(&scratch, &topology, &["--inline"]);
    let without = digest(&out);
    let set = ["--set", "site.leeds.image_bandwidth=2 Gbps"];
    run(&scratch, &topology, &[&["--inline"], &set[..]].concat());
    let inline = digest(&out);
    assert_ne!(inline, without);
    let leeds = sites(&scratch).remove(1);
    assert!(leeds["preemptions"].as_u64() > Some(0) && leeds["migrations"].as_u64() > Some(0), "{leeds}");
    run(&scratch, &topology, &set);
    assert_eq!(digest(&out), inline);
}

#[test]
fn a_site_that_becomes_a_queue_keeps_its_memory_setting() {
    let scratch = Scratch::new();
    let topology = std::fs::read_to_string(shipped("dfrs.toml")).unwrap();
    let plain = topology.replace("memory_gb = 8\n", "");
    let easy = ["--inline", "--set", "site.leeds.scheduler=easy-count"];
    assert!(!run(&scratch, &plain, &easy).contains("no effect"));
    let as_if_unsaid = digest(&scratch.path("out"));
    let printed = run(&scratch, &topology, &[&easy[..], &["--set", "site.leeds.image_bandwidth=1 Gbps"]].concat());
    let expected = "warning: memory_gb and image_bandwidth have no effect at leeds: jobs share no nodes there";
    assert!(printed.contains(expected), "{printed}");
    assert_eq!(digest(&scratch.path("out")), as_if_unsaid);
    let refused = hansa(&["run", shipped("dfrs.toml").to_str().unwrap(), "--inline", "--set", "scheduler=easy"]);
    let printed = text(&refused.stderr);
    assert!(printed.contains("did you mean `site.york.scheduler` or `site.leeds.scheduler`?"), "{printed}");
}

#[test]
fn jobs_that_can_never_run_are_refused_with_a_reason() {
    let scratch = Scratch::new();
    let more = "[[workload.job]]\ntasks = [{ runtime = \"1 s\", cores = 3 }]\nmemory = 0.6\n\
                [[workload.job]]\ntasks = [{ runtime = \"1 s\", cores = 4 }]\nmemory = 0.5\n";
    let printed = run(&scratch, &format!("{FOUR}{more}"), &["--inline"]);
    assert!(
        printed.contains("1: its tasks need more memory in all than the nodes of any site have that it may go to"),
        "{printed}"
    );
    let schedule = json(&scratch.path("out").join("schedule.json"));
    assert_eq!((schedule["nb_jobs"].as_u64(), schedule["nb_jobs_rejected"].as_u64()), (Some(6), Some(1)));
    assert_eq!(sites(&scratch)[0]["jobs"].as_u64(), Some(5));
}

#[test]
fn a_log_without_memory_and_a_short_period_are_warned_of() {
    let scratch = Scratch::new();
    scratch.file(
        "log.swf",
        "1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1\n2 9 -1 50 3 -1 900000 3 60 -1 1 1 1 -1 -1 -1 -1 -1\n",
    );
    let head = FOUR.split("[[workload]]").next().unwrap();
    let log = format!("{head}[[workload]]\nsource = \"swf\"\nfile = \"log.swf\"\nneeds = \"dual-core\"\n");
    let printed = run(&scratch, &log, &["--inline", "--set", "site.york.scheduler=/per/period=200"]);
    assert!(
        printed.contains("the memory of 1 job is unknown: assumed are 10 % of a node's for each processor"),
        "{printed}"
    );
    assert!(printed.contains("warning: site york, /per/opt=min/period=200: the period of"), "{printed}");
    assert_eq!(column(&scratch, "sharing.csv", "tasks"), [2.0, 3.0]);

    let topology = scratch.file("wrong.toml", &FOUR.replace("GreedyPM */opt=min", "GreedyM */per"));
    let refused = hansa(&["validate", topology.to_str().unwrap()]);
    let printed = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2));
    assert!(printed.contains("wrong.toml") && printed.contains("did you mean `Greedy"), "{printed}");
}

#[test]
fn impossible_needs_and_sites_are_reported_with_their_place() {
    let scratch = Scratch::new();
    let memory = "memory = 0.6";
    for (from, to, expected) in [
        (memory, "memory = 0", ["workload.0.job.1.memory", "above 0 and at most 1"]),
        (memory, "memory = 1.2", ["workload.0.job.1.memory", "above 0 and at most 1"]),
        (memory, "memory = nan", ["workload.0.job.1.memory", "above 0 and at most 1"]),
        ("cpu = 0.5\nmemory = 0.6", "cpu = 0", ["workload.0.job.1.cpu", "above 0 and at most 1"]),
        ("cpu = 0.5\nmemory = 0.6", "cpu = 1.01", ["workload.0.job.1.cpu", "above 0 and at most 1"]),
        ("cores = 2\nscheduler", "cores = 0\nscheduler", ["site.york.cores", "expected a whole number from 1"]),
        ("scheduler", "memory_gb = 0\nscheduler", ["site.york.memory_gb", "above zero"]),
        (
            "scheduler",
            "image_bandwidth = \"10 Gbps\"\nscheduler",
            ["site.york.memory_gb", "how much memory a node has"],
        ),
        ("scheduler", "memory_gb = 8\nimage_bandwidth = 10\nscheduler", ["site.york.image_bandwidth", "a capacity"]),
        ("GreedyPM */opt=min", "Greedy/stretch-per", ["site.york.scheduler", "cannot follow a policy"]),
        ("GreedyPM */opt=min", "GreedyPM */opt=mni", ["site.york.scheduler", "did you mean `min`?"]),
        ("GreedyPM */opt=min", "/per/period=0", ["site.york.scheduler", "above 0"]),
        (
            "[[user]]",
            "[[site.reserved]]\nstart = \"1 s\"\nend = \"2 s\"\ncores = 1\n[[user]]",
            ["site.york.reserved", "do not plan"],
        ),
    ] {
        assert!(FOUR.contains(from), "{from}");
        let topology = scratch.file("wrong.toml", &FOUR.replacen(from, to, 1));
        let refused = hansa(&["validate", topology.to_str().unwrap()]);
        let printed = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{to}: {printed}");
        assert!(
            printed.contains("wrong.toml:") && expected.iter().all(|part| printed.contains(part)),
            "{to}: {printed}"
        );
    }
}

#[test]
fn the_bound_of_topologies_and_logs_is_printed() {
    let scratch = Scratch::new();
    let topology = scratch.file("grid.toml", FOUR);
    let run_bound = |arguments: &[&str]| {
        let output = hansa(&[&["bound"], arguments].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    // 24.8 / 19, and at most a thousandth above.
    let (code, printed) = run_bound(&[topology.to_str().unwrap(), "--nodes", "2"]);
    let found =
        printed.split("bound").nth(1).and_then(|rest| rest.trim().split(':').next()?.parse::<f64>().ok()).unwrap();
    assert!(code == Some(0) && (1.305263..1.3066).contains(&found), "{printed}");
    assert!(printed.contains("4 jobs on 2 nodes"), "{printed}");
    assert!(printed.contains(": no schedule keeps every stretch at or below 1.3"), "{printed}");

    let log = "1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1\n2 0 -1 100 4 -1 -1 4 60 -1 1 1 1 -1 -1 -1 -1 -1\n\
               3 0 -1 100 9 -1 -1 9 60 -1 1 1 1 -1 -1 -1 -1 -1\n";
    let log = scratch.file("log.swf", log);
    let (_, printed) = run_bound(&[log.to_str().unwrap(), "--nodes", "8"]);
    assert!(
        printed.contains("bound         1: no job has to wait") && printed.contains("1 job, which could never run"),
        "{printed}"
    );
    // Pairs of processors on half as many nodes.
    let (_, printed) = run_bound(&[log.to_str().unwrap(), "--nodes", "2", "--needs", "dual-core"]);
    assert!(printed.contains("3 jobs on 2 nodes") && printed.contains("the memory of 3 jobs"), "{printed}");

    let (code, printed) = run_bound(&[log.to_str().unwrap(), "--nodes", "0"]);
    assert!(code == Some(2) && printed.contains("--nodes"), "{printed}");
    let (code, printed) = run_bound(&[shipped("quickstart.toml").to_str().unwrap(), "--nodes", "2"]);
    assert!(code == Some(2) && printed.contains("expected a workload of rigid jobs"), "{printed}");
}
